"""What programs written for simhash-py rely on."""

from __future__ import annotations

import hashlib
import inspect
import operator
import pickle
import random
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import nearprint
import nearprint.compat.simhash as simhash

from .conftest import distance


class Index:
    """A number that is no ``int``."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def test_hashes() -> None:
    for text in ("", "abc", "é天"):
        expected = int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "big")
        assert simhash.unsigned_hash(text) == simhash.unsigned_hash(text.encode()) == expected
    for unfit in (3, None, [1]):
        with pytest.raises(TypeError):
            simhash.unsigned_hash(unfit)  # type: ignore[arg-type]


def test_regression_the_example_of_the_readme_hashes_shingles() -> None:
    """A shingle is a list of words. simhash-py's README hashes it as it is."""
    doc = "the quick brown fox jumps over the lazy dog"
    shingles = simhash.shingle(doc.split(" "), window=4)
    made = simhash.compute(map(simhash.unsigned_hash, shingles))
    assert made == nearprint.fingerprint([doc], "simhash-py")[0]
    assert simhash.unsigned_hash(["a", "b"]) == simhash.unsigned_hash(("a", "b")) == simhash.unsigned_hash("a b")


def test_regression_tokens_may_be_bytes() -> None:
    words = ["é", "天", "a"]
    shingles: list[Any] = [[word.encode() for word in words], ("é", b"\xe5\xa4\xa9", "a")]
    for shingle in shingles:
        assert simhash.unsigned_hash(shingle) == simhash.unsigned_hash(words) == simhash.unsigned_hash(" ".join(words))
    for unfit in ([1], [b"a", None], [1.5]):
        with pytest.raises(TypeError):
            simhash.unsigned_hash(unfit)  # type: ignore[arg-type]


def test_floats_and_bools_are_no_hashes() -> None:
    unfits: list[Any] = [[1.5, 2], [True, 2], np.array([1.5, 2]), np.array([True, False]), [np.float64(1), 2]]
    for unfit in unfits:
        with pytest.raises(TypeError, match="an int is wanted"):
            simhash.find_all(unfit, 4, 3)
        with pytest.raises(TypeError, match="an int is wanted"):
            simhash.compute(unfit)


def test_compute() -> None:
    assert simhash.compute([]) == 0
    assert simhash.compute([0xDEADBEEF] * 100) == 0xDEADBEEF
    assert simhash.compute([0xABCD, 0xBCDE, 0xCDEF]) == 0xADCF
    source = random.Random(1)
    hashes = [source.getrandbits(64) for _ in range(101)]
    counts = [sum(hash_ >> bit & 1 for hash_ in hashes) for bit in range(64)]
    expected = sum(1 << bit for bit, count in enumerate(counts) if count > 50)
    for form in (hashes, iter(hashes), (hash_ for hash_ in hashes), set(hashes), np.array(hashes, np.uint64)):
        assert simhash.compute(form) == expected
    assert simhash.compute([1, 2]) == 0 and simhash.compute([1, 3]) == 1
    for beyond in (-1, 2**64):
        with pytest.raises(OverflowError):
            simhash.compute([beyond])
    for unfit in ("a", "0x07", None, 1.5):
        with pytest.raises(TypeError):
            simhash.compute([unfit])  # type: ignore[list-item]


def test_num_differing_bits() -> None:
    assert simhash.num_differing_bits(0xDEADBEEF, 0xDEADBEAD) == 2
    assert simhash.num_differing_bits(0, 2**64 - 1) == 64
    for one in (np.uint64(2**64 - 1), np.int8(1), Index(3)):
        for other in (5, np.uint8(7)):
            expected = distance(operator.index(one), operator.index(other))
            for found in (simhash.num_differing_bits(one, other), simhash.num_differing_bits(b=one, a=other)):
                assert type(found) is int and found == expected
    for beyond in (-1, 2**64, np.int64(-1), Index(2**64)):
        for arguments in ((beyond, 0), (0, beyond)):
            with pytest.raises(OverflowError, match=re.escape(str(operator.index(beyond)))):
                simhash.num_differing_bits(*arguments)
    unfits: list[Any] = ["a", b"a", None, 1.5, np.float64(1), True, np.array([1]), [1]]
    for unfit in unfits:
        for arguments in ((unfit, 0), (0, unfit)):
            with pytest.raises(TypeError):
                simhash.num_differing_bits(*arguments)
    with pytest.raises(TypeError):
        simhash.num_differing_bits(1)  # type: ignore[call-arg]


def test_functions_are_sent_to_other_processes() -> None:
    for name in simhash.__all__:
        function = getattr(simhash, name)
        assert function.__doc__ and pickle.loads(pickle.dumps(function)) is function
    assert list(inspect.signature(simhash.num_differing_bits).parameters) == ["a", "b"]


@pytest.mark.parametrize("blocks", [4, 5, 9, 64])
def test_find_all(blocks: int) -> None:
    source = random.Random(blocks)
    hashes = [source.getrandbits(64) for _ in range(300)]
    hashes += [hash_ ^ (1 << source.randrange(64)) ^ (1 << source.randrange(64)) for hash_ in hashes] + hashes[:50]
    given = list(hashes)
    expected = sorted(
        {(a, b) for a in hashes for b in hashes if a < b and distance(a, b) <= 3},
    )
    for form in (given, set(given), iter(given), np.array(given, np.uint64)):
        found = simhash.find_all(form, blocks, 3)
        assert sorted(found) == expected
        assert isinstance(found, list) and all(type(pair) is tuple and type(pair[0]) is int for pair in found)
    assert given == hashes


@pytest.mark.parametrize("count", [1, 47, 48, 1023, 1024])
def test_find_all_of_short_and_long_lists(count: int) -> None:
    """Short lists are searched without a thread, and tiny ones all with all."""
    hashes = [number << 20 for number in range(count)]
    expected = {(hash_ & ~(1 << bit), hash_) for hash_ in hashes for bit in range(64) if hash_ >> bit & 1}
    found = simhash.find_all(hashes[::-1] + hashes[:1], 4, 1)
    assert len(found) == len(expected) and set(found) == expected
    assert all(type(pair) is tuple and type(pair[0]) is int for pair in found)


def test_exceptions_of_iterables_are_those_of_the_caller() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    for call in (simhash.compute, partial(simhash.find_all, number_of_blocks=4, different_bits=3)):
        with pytest.raises(ValueError, match=r"^broken$"):
            call(broken())


def test_find_all_refuses() -> None:
    for blocks, bits in ((3, 3), (65, 3), (0, 0), (2, 3)):
        with pytest.raises(ValueError):
            simhash.find_all([1, 2], blocks, bits)
    for beyond in (-1, 2**64):
        with pytest.raises(OverflowError):
            simhash.find_all([beyond], 4, 3)
    assert simhash.find_all([], 4, 3) == []
    assert simhash.find_all([0, 2**64 - 1], 64, 63) == []


def test_shingle() -> None:
    assert isinstance(simhash.shingle([1]), types.GeneratorType)
    assert list(simhash.shingle(range(6))) == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert list(simhash.shingle(range(3), 4)) == []
    assert list(simhash.shingle(iter("ab"), window=1)) == [["a"], ["b"]]
    for window in (0, -1):
        refused = simhash.shingle([1], window)
        with pytest.raises(ValueError):
            list(refused)


def test_stands_in_for_the_module() -> None:
    program = """
        import re
        import sys
        import nearprint.compat.simhash
        sys.modules["simhash"] = nearprint.compat.simhash

        import simhash
        from simhash import compute, find_all, num_differing_bits, shingle, unsigned_hash

        def fingerprint(text):
            words = re.split(r"\\W+", text.lower())
            return compute(map(unsigned_hash, (" ".join(some).encode("utf-8") for some in shingle(words))))

        texts = {
            "first": "a database of fingerprints that answers which of those stored are near another one " * 3,
            "again": "a database of fingerprints that answers which of those stored are near another one " * 3 + "!",
            "other": "nothing here has anything to do with what stands above, and so it is far from it",
        }
        prints = {name: fingerprint(text) for name, text in texts.items()}
        assert num_differing_bits(prints["first"], prints["again"]) <= 3
        assert num_differing_bits(prints["first"], prints["other"]) > 3
        assert all(a < b for a, b in find_all(list(prints.values()), 6, 3))
        print(simhash.__name__)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "nearprint.compat.simhash\n"), done.stderr


def test_regression_arrays_are_read_as_lists_are() -> None:
    for beyond in ([-1], [1, 2**64]):
        for form in (beyond, tuple(beyond), np.array(beyond, object)):
            with pytest.raises(OverflowError):
                simhash.compute(form)
    with pytest.raises(OverflowError):
        simhash.compute(np.array([-1]))
    assert simhash.compute(np.array([1, 2, 3], np.uint8)) == 3
    unfits: list[Any] = [np.zeros((1, 8), np.uint8), np.zeros((2, 1), np.uint64), np.array([1.5]), [1.5]]
    for unfit in unfits:
        with pytest.raises(TypeError):
            simhash.compute(unfit)
    with pytest.raises(OverflowError):
        simhash.find_all([-1], 3, 3)
    for blocks, bits in ((-1, 3), (3, -1)):
        with pytest.raises(OverflowError):
            simhash.find_all([1], blocks, bits)
    with pytest.raises(TypeError):
        simhash.find_all([1], 4.5, 1)  # type: ignore[arg-type]
