"""Makes chinese.zst from the dictionary and the document frequencies of jieba, or checks it.

    pip install jieba==0.42.1 zstandard
    python make.py [--check]

The file is a Zstandard frame. Numbers are little-endian, and all words are in the order of their UTF-8:

    u32, f64 ...      inverse document frequencies, the most frequent one first
    u32               number of words
    u8 ...            for each word, the bytes that it shares with the beginning of the word before
    u8 ...            for each word, its other bytes
    u32, bytes        those other bytes
    LEB128 ...        for each word, 1 + its count in the dictionary, or 0 if it is not there
    LEB128 ...        for each word, 1 + the index of its inverse document frequency, or 0
"""

import struct
import sys
from collections import Counter
from pathlib import Path

import jieba
import zstandard

HERE = Path(__file__).parent


def made():
    folder = Path(jieba.__file__).parent
    counts = {}
    for line in (folder / "dict.txt").read_text(encoding="utf-8").splitlines():
        word, count, _ = line.split(" ")
        counts[word] = int(count)
    idf = {}
    for line in (folder / "analyse/idf.txt").read_text(encoding="utf-8").splitlines():
        word, value = line.split(" ")
        idf[word] = float(value)
    values = [value for value, _ in sorted(Counter(idf.values()).items(), key=lambda item: (-item[1], item[0]))]
    index = {value: at for at, value in enumerate(values)}
    words = sorted({*counts, *idf}, key=str.encode)

    shared, rest, before = [], [], b""
    for word in map(str.encode, words):
        common = next((at for at, (a, b) in enumerate(zip(word, before)) if a != b), min(len(word), len(before)))
        shared.append(common)
        rest.append(word[common:])
        before = word
    others = b"".join(rest)
    return b"".join(
        [
            struct.pack("<I", len(values)),
            struct.pack(f"<{len(values)}d", *values),
            struct.pack("<I", len(words)),
            bytes(shared),
            bytes(map(len, rest)),
            struct.pack("<I", len(others)),
            others,
            *(leb128(1 + counts[word] if word in counts else 0) for word in words),
            *(leb128(1 + index[idf[word]] if word in idf else 0) for word in words),
        ]
    )


def leb128(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def main():
    content, file = made(), HERE / "chinese.zst"
    if "--check" not in sys.argv:
        file.write_bytes(zstandard.ZstdCompressor(level=22).compress(content))
    elif zstandard.ZstdDecompressor().decompress(file.read_bytes()) != content:
        sys.exit(f"{file} is not what jieba {jieba.__version__} has")


main()
