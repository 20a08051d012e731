"""What the recipe `simhash-py` computes, in plain Python: megabytes a second.

Takes a file of documents, one a line: python3 benches/peers/simhash_py_style.py FILE [MEGABYTES]
The last line is the exclusive or of all fingerprints.
"""

import hashlib
import sys
import time


def unsigned_hash(text):
    return int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "big")


def compute(hashes):
    ones = [0] * 64
    for value in hashes:
        for bit in range(64):
            ones[bit] += value >> bit & 1
    return sum(1 << bit for bit in range(64) if 2 * ones[bit] > len(hashes))


def fingerprint(text, window=4):
    tokens = text.split(" ")
    windows = range(len(tokens) - window + 1)
    return compute([unsigned_hash(" ".join(tokens[at : at + window])) for at in windows])


def main():
    most = float(sys.argv[2]) * 1e6 if len(sys.argv) > 2 else 1e6
    documents, size = [], 0
    with open(sys.argv[1], encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if size >= most:
                break
            documents.append(line.rstrip("\n"))
            size += len(documents[-1].encode())
    started = time.perf_counter()
    check = 0
    for document in documents:
        check ^= fingerprint(document)
    print(f"{size / 1e6 / (time.perf_counter() - started):.3f} MB/s")
    print(check)


if __name__ == "__main__":
    main()
