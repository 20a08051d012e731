"""Fingerprints against another implementation, made of nothing but docs/minhash.md."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable

import numpy as np
import pytest
import xxhash

import nearprint

MASK = 2**64 - 1

# First and last characters of the ranges of single characters.
SINGLE = """
0E00-0EFF 1000-109F 1100-11FF 1780-17FF 1950-19DF 1A20-1AAF 2E80-A4CF A960-A97F A9E0-A9FF AA60-AADF AC00-D7FF
F900-FAFF FF66-FFDF 16FE0-1B2FF 20000-3FFFF
"""
RANGES = [tuple(int(end, 16) for end in ends.split("-")) for ends in SINGLE.split()]

WORDS = """
the of copy near 3.14 1,2 snake_case don't __ - x́ É İstanbul ΟΔΟΣ straße naïve ｆｕｌｌ हिन्दी עברית العربية ½ ²
Debianの日本語v2テスト 한국어 문서 ที่นี่ 中文 我们中出了一个叛徒 カタカナ a\u200db 🙂 e\u0301\u0302
"""


def tokens(text: str) -> list[tuple[str, bool]]:
    """Step 1 and 2: tokens, and whether each is a single character."""
    found, word = [], ""
    for c in unicodedata.normalize("NFC", text).lower() + " ":
        kind = unicodedata.category(c)
        belongs = kind[0] in "LNM" or kind == "Pc" or c in "\u200c\u200d"
        single = belongs and any(first <= ord(c) <= last for first, last in RANGES)
        if belongs and not single:
            word += c
            continue
        if any(unicodedata.category(c)[0] in "LN" for c in word):
            found.append((word, False))
        word = ""
        if single:
            found.append((c, True))
    return found


def features(text: str) -> list[str]:
    """Step 3, with `shingle=3,1-2 short=tokens`."""
    found = tokens(text)
    runs = [found[at : at + (2 if single else 3)] for at, (_, single) in enumerate(found)]
    whole = [run for run in runs if len(run) == (2 if run[0][1] else 3)]
    characters = [token for token, single in found if single or not whole]
    return [" ".join(token for token, _ in run) for run in whole] + characters


def mix(x: int) -> int:
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & MASK
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def bins(hashes: Iterable[int], count: int, first: int) -> list[int]:
    """Steps 4 and 5."""
    values: dict[int, int] = {}
    for hashed in hashes:
        place, value = divmod(hashed * count, 2**64)
        values[place] = min(values.get(place, MASK), value, MASK - 1)
    filled = []
    for j in range(count):
        attempt, place = 0, j
        while place not in values:
            attempt += 1
            place = mix(2**32 * (first + j) + attempt) * count >> 64
        filled.append(values[place])
    return filled


def fingerprint(text: str, bands: int, bits: int, rows: int, width: int) -> int:
    hashes = [xxhash.xxh3_64_intdigest(feature.encode()) for feature in features(text)]
    if not hashes:
        return 0
    values = bins([(hashed << 32 | hashed >> 32) & MASK for hashed in hashes], bands * rows, 0)
    parts = []
    for band in range(bands):
        x = band
        for value in values[band * rows : (band + 1) * rows]:
            x = mix(x ^ value)
        parts.append(f"{x >> 64 - bits:0{bits}b}")
    sketch = bins(hashes, width - bands * bits, bands * rows)
    parts.insert(1, "".join(str(mix(value ^ mix(bit)) >> 63) for bit, value in enumerate(sketch)))
    return int("".join(parts), 2)


@pytest.mark.parametrize(
    ("recipe", "bands"),
    [
        ("minhash", (10, 16, 2, 256)),
        ("minhash hash=minhash:6x24,2", (6, 24, 2, 256)),
        ("minhash hash=minhash:4x24,2 width=128", (4, 24, 2, 128)),
    ],
)
def test_fingerprints_equal_their_definition(recipe: str, bands: tuple[int, int, int, int]) -> None:
    chosen, words_of_texts = random.Random(7), WORDS.split()
    texts = [" ".join(chosen.choices(words_of_texts, k=chosen.randrange(40))) for _ in range(300)]
    made = np.asarray(nearprint.fingerprint(texts, recipe=recipe)).reshape(len(texts), -1)
    for text, words in zip(texts, made):
        expected = fingerprint(text, *bands)
        assert sum(int(word) << 64 * at for at, word in enumerate(words)) == expected, text
