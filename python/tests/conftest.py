"""What tests share."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearprint

WIDTHS = (64, 128, 256, 320)


def needs(library: str) -> None:
    """Skips a test without a library, unless no test may be skipped."""
    if find_spec(library) is None:
        may_skip = library in os.environ.get("NEARPRINT_MAY_SKIP", "").split()
        assert may_skip or not os.environ.get("NEARPRINT_REQUIRE_ALL"), "no test may be skipped here"
        pytest.skip(f"{library} is not installed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be made."""
    return tmp_path / "corpus.np"


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest) -> int:
    """Each width in turn."""
    value: int = request.param
    return value


def near_duplicates(width: int, count: int, seed: int = 7) -> list[int]:
    """Numbers; every third differs from an earlier one in up to four bits, and every tenth repeats one."""
    source = random.Random(seed)
    numbers: list[int] = []
    for index in range(count):
        if index % 10 == 9:
            numbers.append(source.choice(numbers))
        elif index % 3 == 2:
            flips = (1 << source.randrange(width) for _ in range(source.randrange(1, 5)))
            number = source.choice(numbers)
            for flip in flips:
                number ^= flip
            numbers.append(number)
        else:
            numbers.append(source.getrandbits(width))
    return numbers


def rows_of(numbers: list[int], width: int) -> Any:
    """The array that stands for the numbers: (n,), (n, 2), (n, 4) or (n, 5)."""
    words = width // 64
    rows = [[number >> (64 * place) & (2**64 - 1) for place in range(words)] for number in numbers]
    array = np.array(rows, dtype=np.uint64).reshape(len(numbers), words)
    return array.reshape(-1) if words == 1 else array


def numbers_of(array: Any) -> list[int]:
    """The numbers that an array of any of these shapes stands for."""
    rows = array.reshape(len(array), array.shape[1] if array.ndim == 2 else 1).tolist()
    return [sum(word << (64 * place) for place, word in enumerate(row)) for row in rows]


def distance(a: int, b: int) -> int:
    """The number of bits in which two numbers differ."""
    return bin(a ^ b).count("1")


def pairs_by_force(numbers: list[int], k: int) -> set[tuple[int, int, int]]:
    """All pairs of distinct numbers within k bits, and their distances."""
    distinct = sorted(set(numbers))
    found = set()
    for index, a in enumerate(distinct):
        for b in distinct[index + 1 :]:
            if distance(a, b) <= k:
                found.add((a, b, distance(a, b)))
    return found


def pairs_of(result: nearprint.Result) -> set[tuple[int, int, int]]:
    """The pairs of a table."""
    return set(zip(numbers_of(result["a"]), numbers_of(result["b"]), result["distance"].tolist()))


@pytest.fixture
def filled(path: Path, width: int) -> Iterator[tuple[nearprint.Database, list[int]]]:
    """A database of 300 numbers with ids from 1000 on, and the numbers."""
    numbers = near_duplicates(width, 300)
    with nearprint.build(path, numbers, ids=range(1000, 1300), width=width) as database:
        yield database, numbers


def documents(count: int) -> list[str]:
    """Texts: many copies with some other words, some with the same words, and some without any."""
    source = random.Random(5)
    words = [f"word{number}" for number in range(400)]
    texts = ["", "two words"]
    for index in range(count - len(texts)):
        text = source.choice(texts).split() if index % 2 else source.choices(words, k=60)
        for _ in range(source.randrange(6) if len(text) > 2 else 0):
            text[source.randrange(len(text))] = source.choice(words)
        texts.append(" ".join(text))
    return texts


def sliding(count: int) -> list[str]:
    """Texts that are near the one before and the one after, and no others."""
    return [" ".join(f"word{at + place}" for place in range(12)) for at in range(count)]


def variants(count: int, changes: int) -> list[str]:
    """A text, and others with some other words: with two, they are near the first and not each other."""
    words = [f"word{place}" for place in range(40)]
    texts = [" ".join(words)]
    for number in range(count):
        changed = list(words)
        for change in range(changes):
            changed[10 + 20 * change] = f"other{number}"
        texts.append(" ".join(changed))
    return texts


def mixed(*lists: list[str]) -> list[Any]:
    """Texts of several kinds in any order, one of them missing and one empty."""
    texts: list[Any] = [*(text for texts in lists for text in texts), None, ""]
    random.Random(8).shuffle(texts)
    return texts


#: Each with the rows that are left out, at least.
GRAPHS: dict[str, tuple[list[Any], int]] = {
    "chain": (sliding(1000), 500),
    "chain in any order": (mixed(sliding(1000)), 450),
    "stars": (mixed(variants(150, 2), documents(100)), 100),
    "template": (mixed(variants(200, 1), documents(200)), 200),
    "equal texts": (mixed(["one text that half of the rows have"] * 300, documents(300)), 300),
}
