"""Lists that are spread over tasks, against one list."""

from __future__ import annotations

import multiprocessing
import random
from typing import Any, Optional

import numpy as np
import pyarrow
import pytest

import nearprint
from nearprint import partition

from .conftest import numbers_of


def prints_of(width: int, count: int, seed: int) -> list[int]:
    """Fingerprints near each other, some equal, on both sides of the middle; a third shares its first bits."""
    numbers = random.Random(seed)
    hub = numbers.getrandbits(width)
    made: list[int] = [0, (1 << width) - 1, 1 << width - 1]
    for _ in range(count):
        base = numbers.choice([numbers.choice(made), hub, numbers.getrandbits(width)])
        for _ in range(numbers.randrange(4)):
            base ^= 1 << numbers.randrange(width)
        made.append(base)
    return made


def tuples(pairs: Any) -> list[tuple[int, int, int]]:
    return sorted(zip(numbers_of(pairs["a"]), numbers_of(pairs["b"]), pairs["distance"].tolist()))


def components(pairs: Any) -> list[list[int]]:
    chosen = partition.forest(pairs["a"], pairs["b"])
    sets: dict[int, set[int]] = {}
    for a, b in zip(numbers_of(pairs["a"][chosen]), numbers_of(pairs["b"][chosen])):
        joined = sets.get(a, {a}) | sets.get(b, {b})
        sets.update(dict.fromkeys(joined, joined))
    return sorted(sorted(members) for members in {id(members): members for members in sets.values()}.values())


def spread(prints: Any, k: int, tasks: int, most: Optional[int], **kind: Any) -> tuple[Any, Any]:
    """The pairs and the forest of all tasks."""
    keyed = partition.block_keys(prints, k, **kind)
    if most is not None:
        groups, counts = np.unique(keyed["group"], return_counts=True)
        split = {int(group): -(-int(count) // most) for group, count in zip(groups, counts) if count > most}
        keyed = partition.block_keys(prints, k, split, **kind)
    found: list[list[Any]] = [[], []]
    for task in range(tasks):
        mine = keyed["group"] % tasks == task
        for forest in (False, True):
            rows = keyed["group"][mine], keyed["fingerprint"][mine]
            found[forest].append(partition.join_blocks(*rows, k, forest, **kind))
    tables = [{name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns} for parts in found]
    return tables[0], tables[1]


@pytest.mark.parametrize(
    ("width", "k", "bands"),
    [(64, 0, None), (64, 3, None), (64, 8, None), (128, 5, None), (256, 2, None), (256, 36, "6x16")],
)
def test_all_tasks_find_what_one_list_has(width: int, k: int, bands: Optional[str]) -> None:
    prints = prints_of(width, 500, k)
    kind: dict[str, Any] = {"width": width, "bands": bands}
    expected = nearprint.find_all(prints, k, **kind)
    assert bands is not None or k == 0 or len(expected) > 100
    clusters = nearprint.find_clusters(prints, k, **kind)
    grouped: dict[int, list[int]] = {}
    for cluster, value in zip(clusters["cluster"].tolist(), numbers_of(clusters["fingerprint"])):
        grouped.setdefault(cluster, []).append(value)
    for tasks, most in [(1, None), (4, None), (16, 40), (3, 9)]:
        pairs, forest = spread(prints, k, tasks, most, **kind)
        assert tuples(pairs) == tuples(expected), (tasks, most)
        assert components(forest) == sorted(grouped.values()), (tasks, most)


def test_a_dense_ball_has_a_small_forest() -> None:
    ball = [1 << a | 1 << b for a in range(64) for b in range(a)]
    keyed = partition.block_keys(ball, 4)
    rows = keyed["group"], keyed["fingerprint"]
    pairs, forest = partition.join_blocks(*rows, 4), partition.join_blocks(*rows, 4, forest=True)
    assert len(pairs) == len(ball) * (len(ball) - 1) // 2
    assert len(forest) < len(pairs) // 50
    assert len(partition.forest(forest["a"], forest["b"])) == len(ball) - 1


def test_groups_go_through_arrow_and_signed_columns() -> None:
    prints = prints_of(64, 200, 1)
    table = pyarrow.table(partition.block_keys(np.array(prints, np.uint64), 3))
    assert table.column_names == ["group", "fingerprint"] and table.num_rows == 4 * len(prints)
    expected = tuples(nearprint.find_all(prints, 3))
    groups = table["group"].combine_chunks()
    assert tuples(partition.join_blocks(groups, table["fingerprint"], 3, threads=None)) == expected
    signed = groups.cast(pyarrow.int64())
    assert tuples(partition.join_blocks(signed, table["fingerprint"].combine_chunks(), 3)) == expected


def test_nothing_has_no_pairs() -> None:
    keyed = partition.block_keys(np.empty(0, np.uint64), 3)
    assert len(keyed) == 0
    assert len(partition.join_blocks(keyed["group"], keyed["fingerprint"], 3)) == 0
    assert len(partition.forest(np.empty(0, np.uint64), np.empty(0, np.uint64))) == 0


def test_misfits_are_refused() -> None:
    with pytest.raises(nearprint.InputError, match="0 parts"):
        partition.block_keys([1], 3, {1: 0})
    with pytest.raises(nearprint.InputError, match="group -5"):
        partition.block_keys([1], 3, {-5: 2})
    with pytest.raises(nearprint.InputError, match="masked"):
        partition.join_blocks(np.ma.array([1], mask=[True]), [1], 3)
    with pytest.raises(nearprint.Error, match="64 tables"):
        partition.block_keys([1], 64)
    with pytest.raises(nearprint.InputError, match="2 groups and 1 fingerprints"):
        partition.join_blocks([1, 2], [1], 3)
    with pytest.raises(nearprint.InputError, match="at least 0"):
        partition.join_blocks([-1], [1], 3)
    with pytest.raises(nearprint.InputError, match="integers"):
        partition.join_blocks([0.5], [1], 3)
    with pytest.raises(nearprint.InputError, match="no such group"):
        partition.join_blocks([1 << 62], [1], 3)
    with pytest.raises(nearprint.InputError, match="1 ends of 64 bits, and 2"):
        partition.forest([1], [1, 2])


def join(task: tuple[Any, Any]) -> Any:
    return dict(partition.join_blocks(*task, 3))


def test_tasks_run_in_other_processes() -> None:
    prints = prints_of(64, 300, 2)
    keyed = partition.block_keys(prints, 3)
    chosen = [keyed["group"] % 4 == task for task in range(4)]
    tasks = [(keyed["group"][mine], keyed["fingerprint"][mine]) for mine in chosen]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.map(join, tasks)
    assert sorted(row for part in parts for row in tuples(part)) == tuples(nearprint.find_all(prints, 3))


def test_regression_groups_of_minhash_lost_the_recipe() -> None:
    texts = [f"w{number} " + " ".join(f"c{number // 2}_{word}" for word in range(40)) for number in range(400)]
    prints = nearprint.fingerprint(texts)
    expected = nearprint.find_all(prints, k=12)
    keyed = partition.block_keys(prints, k=12)
    split = partition.split_blocks(keyed["group"], keyed["fingerprint"], np.ones(len(keyed), np.uint64), k=12)
    for rows in (keyed, split):
        found = 0
        for task in range(4):
            own = rows["group"] % np.uint64(4) == task
            found += len(partition.join_blocks(rows["group"][own], rows["fingerprint"][own], k=12))
        assert found == len(expected) > 100
    plain = partition.block_keys(np.asarray(prints), k=12, bands="10x16")
    assert np.array_equal(plain["fingerprint"], np.asarray(keyed["fingerprint"]))
    assert not hasattr(plain["fingerprint"], "recipe")
