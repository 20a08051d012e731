"""Lists in memory, against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearprint

from .conftest import distance, near_duplicates, numbers_of, pairs_by_force, pairs_of, rows_of


@settings(max_examples=60, deadline=None)
@given(data=st.data(), width=st.sampled_from((64, 128, 256, 320)), k=st.integers(0, 12), threads=st.integers(1, 3))
def test_pairs_of_any_list(data: st.DataObject, width: int, k: int, threads: int) -> None:
    numbers = data.draw(st.lists(st.integers(0, 2**width - 1) | st.integers(0, 40), max_size=30))
    flipped = [number ^ (1 << data.draw(st.integers(0, width - 1))) for number in numbers[:5]]
    numbers += flipped
    table = nearprint.find_all(numbers, k, threads, width=width)
    assert pairs_of(table) == pairs_by_force(numbers, k)
    assert len(table) == len(pairs_of(table))


def test_pairs_of_more(width: int) -> None:
    numbers = near_duplicates(width, 6000)
    array = rows_of(numbers, width)
    found = pairs_of(nearprint.find_all(array, 3))
    words = array.reshape(len(numbers), -1)
    expected = set()
    for index, row in enumerate(words):
        bits = np.unpackbits((words[:index] ^ row).view(np.uint8), axis=1).sum(axis=1)
        for other in np.flatnonzero((bits <= 3) & (bits > 0)):
            a, b = sorted((numbers[index], numbers[other]))
            expected.add((a, b, int(bits[other])))
    assert found == expected


def test_clusters_are_what_pairs_connect(width: int) -> None:
    numbers = near_duplicates(width, 400)
    table = nearprint.find_clusters(numbers, 4)
    members: dict[int, set[int]] = {}
    for cluster, number in zip(table["cluster"].tolist(), numbers_of(table["fingerprint"])):
        members.setdefault(cluster, set()).add(number)
    joined: dict[int, set[int]] = {}
    for a, b, _ in pairs_by_force(numbers, 4):
        together = joined.get(a, {a}) | joined.get(b, {b})
        joined |= dict.fromkeys(together, together)
    assert {frozenset(cluster) for cluster in members.values()} == {frozenset(cluster) for cluster in joined.values()}
    smallest = [min(members[cluster]) for cluster in sorted(members)]
    assert smallest == sorted(smallest)


def test_empty_lists(width: int) -> None:
    empties: list[Any] = [[], np.empty(0, np.uint64), ()]
    for empty in empties:
        assert len(nearprint.find_all(empty, 3)) == len(nearprint.find_clusters(empty, 3)) == 0
        assert nearprint.distance_matrix(empty).shape == (0, 0)
        assert nearprint.simhash(empty) == 0
    assert nearprint.find_all([], 3, width=width).columns == ("a", "b", "distance")


def test_distances(width: int) -> None:
    numbers = near_duplicates(width, 30)
    array = rows_of(numbers, width)
    assert nearprint.distance(numbers[0], numbers[1]) == distance(numbers[0], numbers[1])
    assert nearprint.distance(5, 2 ** (width - 1)) == 3
    assert nearprint.distance(array, array[::-1].copy()).tolist() == [
        distance(a, b) for a, b in zip(numbers, reversed(numbers))
    ]
    assert nearprint.distance(array, numbers[3]).tolist() == [distance(a, numbers[3]) for a in numbers]
    assert nearprint.distance(1, array).tolist() == [distance(a, 1) for a in numbers]
    assert nearprint.distance(f"0x{numbers[0]:0{width // 4}x}", numbers[0]) == 0
    matrix = nearprint.distance_matrix(array)
    assert matrix.tolist() == [[distance(a, b) for b in numbers] for a in numbers]
    labels = [f"page {index}" for index in range(30)]
    frame = nearprint.distance_matrix(array, labels=labels)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.loc["page 3", "page 9"] == distance(numbers[3], numbers[9])
    with pytest.raises(nearprint.InputError, match="1 labels for 30"):
        nearprint.distance_matrix(array, labels=["a"])
    with pytest.raises(TypeError, match="labels: a list or an array is wanted, not int"):
        nearprint.distance_matrix(array, labels=5)  # type: ignore[call-overload]
    with pytest.raises(nearprint.InputError, match=r"29 fingerprints and 30|30 fingerprints and 29"):
        nearprint.distance(array, array[1:])
    with pytest.raises(nearprint.InputError, match="bits"):
        nearprint.distance(array, np.zeros((30, 8 // (width // 64)), np.uint64))


def test_numpy_numbers_have_distances() -> None:
    array = np.array([1, 7], np.uint64)
    assert nearprint.distance(array[0], array[1]) == 2
    assert isinstance(nearprint.distance(array[0], 7), int)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), width=st.sampled_from((64, 128, 256, 320)))
def test_simhash_is_what_the_weights_say(data: st.DataObject, width: int) -> None:
    hashes = data.draw(st.lists(st.integers(0, 2**width - 1), max_size=8))
    weights = data.draw(st.lists(st.integers(-9, 9), min_size=len(hashes), max_size=len(hashes)))

    def expected(weights: list[int]) -> int:
        bits = range(width)
        sums = (sum(weight if hash_ >> bit & 1 else -weight for hash_, weight in zip(hashes, weights)) for bit in bits)
        return sum(1 << bit for bit, total in enumerate(sums) if total > 0)

    assert nearprint.simhash(hashes, width=width) == expected([1] * len(hashes))
    assert nearprint.simhash(hashes, weights, width=width) == expected(weights)
    assert nearprint.simhash(rows_of(hashes, width), np.array(weights, np.float32)) == expected(weights)


def test_bad_weights_are_refused() -> None:
    bad: list[Any] = [[1], [1, 2, 3], [1, float("nan")], [1, 1e16], [1, float("inf")], [[1, 2]]]
    for weights in bad:
        with pytest.raises(ValueError):
            nearprint.simhash([1, 2], weights)
    with pytest.raises((TypeError, ValueError)):
        nearprint.simhash([1, 2], ["a", "b"])


def test_shingles() -> None:
    assert list(nearprint.shingle("abcd", 3)) == [["a", "b", "c"], ["b", "c", "d"]]
    with pytest.raises(ValueError):
        list(nearprint.shingle("abcd", 0))
    for k in (65, -1):
        with pytest.raises(nearprint.InputError):
            nearprint.find_all([1], k)
        with pytest.raises(nearprint.InputError):
            nearprint.find_clusters([1], k)
    with pytest.raises(nearprint.InputError):
        nearprint.find_all([1], 3, threads=0)
    with pytest.raises(nearprint.InputError):
        nearprint.find_all([1], 3, width=32)


def test_a_matrix_is_the_same_on_any_number_of_threads(width: int) -> None:
    array = rows_of(near_duplicates(width, 37), width)
    once = nearprint.distance_matrix(array, threads=1)
    for threads in (2, 3, 36, 37, 38, 100):
        assert np.array_equal(nearprint.distance_matrix(array, threads=threads), once)
    assert nearprint.distance_matrix([]).shape == (0, 0)


def test_regression_a_matrix_beyond_memory_is_an_error() -> None:
    with pytest.raises(MemoryError):
        nearprint.distance_matrix(np.arange(1 << 24, dtype=np.uint64))


def test_regression_rows_of_wide_fingerprints_have_one_distance() -> None:
    array = rows_of([2**100 + 1, 2**100 + 2], 128)
    assert nearprint.distance(array[0], array[1], width=128) == 2
    assert nearprint.distance(array[0], array, width=128).tolist() == [0, 2]
    assert nearprint.distance(array[0], 2**100, width=128) == 1
    with pytest.raises(nearprint.InputError, match="say width=128"):
        nearprint.distance([1], [2**100])


def test_regression_a_generator_is_read_once() -> None:
    assert nearprint.distance((number for number in [1, 2]), 2**100).tolist() == [2, 2]


def test_numbers_of_numpy_have_a_distance() -> None:
    for kind in (np.uint8, np.int8, np.uint64):
        assert nearprint.distance(kind(5), kind(3)) == 2


def test_weights_are_numbers() -> None:
    for unfit in (["1", "2"], np.array(["2024", "2025"], "datetime64[Y]"), [1j, 2]):
        with pytest.raises(TypeError, match="weights"):
            nearprint.simhash([1, 2], unfit)
    with pytest.raises(nearprint.InputError, match="weights: some are masked"):
        nearprint.simhash([1, 2], np.ma.MaskedArray([1, 2], [False, True]))


def test_windows_are_numbers_of_any_kind() -> None:
    for window in (2, np.int64(2)):
        assert list(nearprint.shingle("abc", window)) == [["a", "b"], ["b", "c"]]  # type: ignore[arg-type]
    assert list(nearprint.shingle("abc", 10**30)) == []
