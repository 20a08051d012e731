"""Databases against brute force, and what they keep."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearprint

from .conftest import distance, near_duplicates, numbers_of, pairs_by_force, pairs_of, rows_of

Filled = tuple[nearprint.Database, list[int]]


def by_force(numbers: list[int], query: int, k: int) -> list[tuple[int, int, int]]:
    """Distance, number and id of every row within k bits, in order."""
    rows = ((distance(query, number), number, 1000 + index) for index, number in enumerate(numbers))
    return sorted(row for row in rows if row[0] <= k)


def found(result: nearprint.Result) -> list[tuple[int, int, int]]:
    """The same of a result."""
    return list(zip(result["distance"].tolist(), numbers_of(result["fingerprint"]), result["id"].tolist()))


def test_queries_find_what_comparing_finds(filled: Filled, width: int) -> None:
    database, numbers = filled
    queries = near_duplicates(width, 20, seed=1) + numbers[:20]
    for k in (0, 1, 3, 8, width):
        batch = database.query_batch(queries, k)
        assert batch.columns == ("query", "id", "fingerprint", "distance")
        for index, query in enumerate(queries):
            expected = by_force(numbers, query, k)
            assert found(database.query(query, k)) == expected
            here = batch["query"] == index
            assert found(nearprint.Result({name: array[here] for name, array in batch.items()})) == expected


def test_nearest_rows_come_first(filled: Filled, width: int) -> None:
    database, numbers = filled
    for query in near_duplicates(width, 5, seed=2):
        expected = by_force(numbers, query, width)[:4]
        assert found(database.nearest(query, 4)) == expected
        within = [row for row in expected if row[0] <= 20]
        assert found(database.nearest(query, 4, max_k=20)) == within
    many = database.nearest(numbers[:3], 2)
    assert many["query"].tolist() == [0, 0, 1, 1, 2, 2]
    assert len(database.nearest(numbers[0], 0)) == 0


def test_pairs_and_clusters(filled: Filled, width: int) -> None:
    database, numbers = filled
    for k in (0, 3, 6):
        assert pairs_of(database.pairs(k).table()) == pairs_by_force(numbers, k)
        rows = database.pairs(k, ids=True).table()
        by_id = {frozenset(pair) for pair in zip(rows["id_a"].tolist(), rows["id_b"].tolist())}
        ids = range(1000, 1300)
        assert by_id == {
            frozenset((a, b)) for a in ids for b in ids if a < b and distance(numbers[a - 1000], numbers[b - 1000]) <= k
        }
        clusters = database.clusters(k).table()
        assert {id_ for pair in by_id for id_ in pair} == set(clusters["id"].tolist())
        of_id = dict(zip(clusters["id"].tolist(), clusters["cluster"].tolist()))
        assert all(of_id[a] == of_id[b] for a, b in map(tuple, by_id))
        assert sorted(set(of_id.values())) == list(range(len(set(of_id.values()))))
        assert clusters["fingerprint"].shape[1:] == (() if width == 64 else (width // 64,))


def test_two_databases_are_crossed(filled: Filled, width: int, tmp_path: Path) -> None:
    database, numbers = filled
    others = near_duplicates(width, 50, seed=3) + numbers[:10]
    with nearprint.build(tmp_path / "other.np", others, width=width) as other:
        crossed = pairs_of(database.cross(other, 4).table())
        expected = {(a, b, distance(a, b)) for a in numbers for b in others if distance(a, b) <= 4}
        assert crossed == expected
        rows = database.cross(other, 4, ids=True).table()
        assert all(numbers[id_ - 1000] == a for id_, a in zip(rows["id_a"].tolist(), numbers_of(rows["a"])))
        assert all(others[id_] == b for id_, b in zip(rows["id_b"].tolist(), numbers_of(rows["b"])))
    narrow = nearprint.create(tmp_path / "narrow.np", width=64 if width > 64 else 128)
    with narrow, pytest.raises(nearprint.InputError, match="bits"):
        database.cross(narrow)


@settings(max_examples=25, deadline=None)
@given(
    width=st.sampled_from((64, 128, 256, 320)),
    steps=st.lists(st.tuples(st.sampled_from("aaaduc"), st.integers(0, 40), st.integers(0, 15)), max_size=40),
    k=st.integers(0, 6),
)
def test_a_living_database_is_a_set_of_rows(width: int, steps: list[tuple[str, int, int]], k: int) -> None:
    """Adds, deletes, upserts and commits in any order, against a set."""
    palette = near_duplicates(width, 41, seed=5)
    rows: set[tuple[int, int]] = set()
    with tempfile.TemporaryDirectory() as home:
        with nearprint.create(pathlib.Path(home) / "corpus.np", width=width, memtable_rows=4) as database:
            for step, which, id_ in steps:
                if step == "a":
                    assert database.add([palette[which]], [id_]).tolist() == [id_]
                    rows.add((palette[which], id_))
                elif step == "c":
                    database.commit()
                else:
                    rows = {row for row in rows if row[1] != id_}
                    if step == "d":
                        database.delete([id_])
                    else:
                        database.upsert(palette[which], id_)
                        rows.add((palette[which], id_))
            database.commit()
            for query in palette[:5]:
                expected = sorted((distance(query, number), number, id_) for number, id_ in rows)
                assert found(database.query(query, k)) == [row for row in expected if row[0] <= k]
            stored = database.rows().table()
            assert set(zip(numbers_of(stored["fingerprint"]), stored["id"].tolist())) == rows
            assert len(database) == len(rows)
        with nearprint.open(pathlib.Path(home) / "corpus.np") as again:
            assert len(again) == len(rows)


def test_ids_are_given(path: Path) -> None:
    with nearprint.create(path) as database:
        assert database.add([5, 6]).tolist() == [0, 1]
        assert database.add(7).tolist() == [2]
        assert database.add(np.array([8], np.uint64), ids=np.arange(9, 10)).dtype == np.uint64
        assert database.add([9]).tolist() == [10]
        assert database.add([]).tolist() == []


def test_a_write_waits_for_another_writer(path: Path) -> None:
    first = nearprint.create(path)
    first.add([1])
    with nearprint.open(path, wait=0.2) as second, pytest.raises(nearprint.LockedError):
        second.add([2])
    ending = threading.Timer(0.2, first.close)
    ending.start()
    with nearprint.open(path, wait=60) as third:
        third.add([3])
    ending.join()
    with nearprint.open(path) as database:
        assert len(database) == 2
    for wait in (-1, float("nan")):
        with pytest.raises(nearprint.InputError, match="wait"):
            nearprint.open(path, wait=wait)


def test_rows_are_deleted_by_keys_and_by_ranges_of_ids(path: Path) -> None:
    with nearprint.create(path, keys=True) as database:
        database.add([1, 2, 3, 4], keys=["a/1", "a/2", "b/1", "b/2"], ids=[10, 20, 30, 40])
        database.add([5], [50])
        assert database.delete_keys("none") == 0
        assert database.delete_keys(["a/1", "b/2"]) == 2
        assert database.delete_key_prefix("a/") == 1
        with pytest.raises(TypeError, match="prefix: a text is wanted, not int"):
            database.delete_key_prefix(5)  # type: ignore[arg-type]
        assert database.delete_ids(50, 2**64 - 1) == 1
        with pytest.raises(nearprint.InputError, match="last"):
            database.delete_ids(0, -1)
        with pytest.raises(nearprint.InputError, match="first = 5, last = 3: the first id is above"):
            database.delete_ids(5, 3)
        database.commit()
        assert database.rows().table()["id"].tolist() == [30]
        # Numbers go out as they came in.
        database.add([6, 7, 8], keys=[10, 11, 12])
        database.commit()
        assert len(database.ids_of_key(10)) == len(database.ids_of_key(np.int64(11))) == 1
        assert (database.delete_keys(12), database.delete_keys([np.int64(10), "11"])) == (1, 2)
        wrong: Any
        for wrong in (1.5, None, True, ["b/1"]):
            with pytest.raises(TypeError, match="is no key"):
                database.ids_of_key(wrong)


def test_reads_see_what_was_committed(path: Path) -> None:
    with nearprint.create(path) as database, nearprint.open(path) as reader:
        database.add([1])
        assert len(database) == 0
        database.commit()
        assert (len(database), len(reader)) == (1, 0)
        reader.refresh()
        assert len(reader) == 1
        with pytest.raises(nearprint.LockedError):
            reader.add([2])
        blocks = database.rows()
        database.add([3])
        database.commit()
        assert len(blocks.table()) == 1
    with nearprint.open(path) as again:
        again.add([2])
        again.flush()
        assert len(again.stats()["runs"]) == 2
        again.compact()
        assert len(again.stats()["runs"]) == 1


def test_an_exception_forgets_what_was_not_committed(path: Path) -> None:
    with pytest.raises(RuntimeError), nearprint.create(path) as database:
        database.add([1])
        database.commit()
        database.add([2])
        raise RuntimeError
    with nearprint.open(path) as database:
        assert len(database) == 1
        database.add([3])
    with nearprint.open(path) as database:
        assert len(database) == 2


def test_a_closed_database_says_so(path: Path) -> None:
    database = nearprint.create(path)
    database.close()
    database.close()
    assert database.closed and "closed" in repr(database)
    asks: list[Callable[[], object]] = [
        database.stats,
        database.commit,
        database.verify,
        database.rows,
        database.pairs,
        database.compact,
        database.refresh,
        lambda: len(database),
        lambda: database.query(1),
        lambda: database.add([1]),
        lambda: database.delete([1]),
        lambda: database.query_batch([1]),
        lambda: database.checkpoint,
        lambda: database.__enter__(),
    ]
    for ask in asks:
        with pytest.raises(nearprint.Error, match="closed"):
            ask()


@pytest.mark.parametrize("newcomer_width", [64, 128])
def test_regression_a_handle_is_one_database(path: Path, newcomer_width: int) -> None:
    """Reads after a commit, and ``refresh``, answered from whatever stood at the path."""
    away = path.with_name("away.np")
    with nearprint.create(path) as database:
        database.add([11])
        database.commit()
        assert len(database.query(11, 0)) == 1
        database.add([12])
        database.commit()
        path.rename(away)
        with nearprint.create(path, k=9, width=newcomer_width, keys=True) as newcomer:
            newcomer.add([99], keys=["new"])
        told = "corpus.np: the database was moved, removed or replaced"
        for _ in range(2):
            for read in (lambda: database.query(11, 0), lambda: database.query_batch([99], 0), database.refresh):
                with pytest.raises(nearprint.Error, match=told):
                    read()
        with pytest.raises(nearprint.Error, match=told):
            database.verify()
        assert (database.k, database.keeps_keys, database.kind) == (3, False, "hamming")
        path.rename(path.with_name("newcomer.np"))
        away.rename(path)
        database.refresh()
        assert len(database.query(12, 0)) == 1
        assert database.verify().sound


def test_regression_no_read_is_from_before_an_own_commit(path: Path) -> None:
    """After a read had failed, later ones answered from before the commit."""
    away = path.with_name("away.np")
    with nearprint.build(path, [1, 2, 3], ids=[1, 2, 3]) as database:
        reads: list[Callable[[], Any]] = [
            lambda: database.query(1, 0),
            lambda: database.query_batch([1], 0),
            lambda: database.nearest(1),
            lambda: database.rows().table(),
            lambda: database.pairs(64).table(),
            lambda: len(database),
        ]
        for read in reads:
            read()
        database.delete([1])
        database.commit()
        path.rename(away)
        for read in reads * 2:
            with pytest.raises(nearprint.Error):
                read()
        away.rename(path)
        assert len(database.query(1, 0)) == 0 and len(database) == 2
        path.rename(away)
        with pytest.raises(nearprint.Error):
            database.refresh()
        with pytest.raises(nearprint.Error):
            database.query(2, 0)
        away.rename(path)
        assert len(database.query(2, 0)) == 1


def test_keys_and_texts(path: Path) -> None:
    with nearprint.create(path, keys=True, texts=True) as database:
        assert (database.keeps_keys, database.keeps_texts) == (True, True)
        assert database.stats()["keys"] == "keys and texts"
        (first, second) = database.add([1, 2], keys=["a", "é"], texts=["one", b"two"])
        database.add([1], ids=[first], keys=["c"])
        database.add([7], ids=[5])
        database.add(9, keys="nine", texts="9")
        database.commit()
        result = database.query(1, 0)
        assert list(zip(result["id"].tolist(), result["key"].tolist())) == [(first, "a"), (first, "c")]
        assert database.query(7, 0)["key"].tolist() == [None]
        assert database.keys_of(1, first) == ["a", "c"]
        assert database.keys_of(1, 12345) == []
        assert database.texts_of(1, first) == {"a": "one", "c": ""}
        assert database.ids_of_key("é").tolist() == [second]
        assert database.ids_of_key("nothing").tolist() == []
        database.add([8], ids=[6], keys=["own"])
        database.upsert([3], keys=["é"])
        database.commit()
        assert database.ids_of_key("own").tolist() == []
        assert database.ids_of_key("own", everywhere=True).tolist() == [6]
        assert database.fingerprints_of(second).tolist() == [3]
        keys = database.rows().table()["key"].tolist()
        assert sorted(keys, key=str) == [None, "a", "c", "nine", "own", "é"]
        table = database.query_batch([1, 7], 0).to_arrow()
        assert table["key"].to_pylist() == ["a", "c", None]
    with nearprint.build(path.with_name("built.np"), [1, 2], keys=["a", "b"]) as built:
        assert built.query(1, 0)["key"].tolist() == ["a"]
        assert (built.keeps_keys, built.keeps_texts) == (True, False)


def test_regression_a_text_is_the_same_whoever_has_stored_it(tmp_path: Path) -> None:
    """Those of documents were given as Zstandard frames."""
    texts = {"long": "the quick brown fox jumps over the lazy dog " * 9, "first": "\x01" + "x" * 32, "one": "one"}
    with nearprint.create(tmp_path / "a.np", recipe="minhash", texts=True) as database:
        database.add_texts(list(texts.values()), keys=list(texts))
        database.commit()
        rows = database.rows().table()
        found = [database.texts_of(row, id) for row, id in zip(rows["fingerprint"], rows["id"].tolist())]
        assert {key: text for row in found for key, text in row.items()} == texts
    with nearprint.create(tmp_path / "b.np", texts=True) as database:
        ids = database.add([1, 2, 3], keys=list(texts), texts=list(texts.values()))
        database.commit()
        for row, (id, key) in enumerate(zip(ids, texts), 1):
            assert database.texts_of(row, id) == {key: texts[key]}


def test_checkpoints_are_kept(path: Path) -> None:
    with nearprint.create(path) as database:
        assert database.checkpoint is None
        database.checkpoint = b"half"
        assert database.checkpoint == b"half"
        database.commit()
    with nearprint.open(path) as database:
        assert database.checkpoint == b"half"
        database.checkpoint = None
        database.commit()
        assert database.checkpoint is None


def test_what_a_database_is(path: Path) -> None:
    with nearprint.create(path, k=5, recipe="cjk width=128", layout="rotations:4") as database:
        assert (database.k, database.width, database.path) == (5, 128, str(path))
        assert database.recipe == nearprint.recipe_line("cjk width=128")
        assert (nearprint.width_of(path), bool(database), len(database)) == (128, True, 0)
        stats = database.stats()
        assert (stats["layout"], stats["rows"], stats["runs"]) == ("rotations:4", 0, [])
        database.add([1 << 100])
        database.commit()
        explanation = database.explain()
        assert explanation.k == 5 and explanation.runs and str(explanation) == explanation.text != ""
        assert "128 bits" in repr(database)


def test_copies_and_runs(path: Path, tmp_path: Path) -> None:
    with nearprint.build(path, [1, 2, 3]) as database:
        database.backup(tmp_path / "copy.np")
        with pytest.raises(nearprint.Error, match="exists"):
            database.backup(tmp_path / "copy.np")
        nearprint.build(tmp_path / "runs", [4, 5], first_id=100, runs_only=True).close()
        assert database.ingest(tmp_path / "runs") == nearprint.IngestReport(1, 0, 2)
        assert database.ingest([tmp_path / "runs"]) == nearprint.IngestReport(0, 1, 0)
        assert sorted(database.rows().table()["id"].tolist()) == [0, 1, 2, 100, 101]
    with nearprint.open(tmp_path / "copy.np") as copy:
        assert len(copy) == 3


def squared(database: nearprint.Database) -> tuple[str, int]:
    return database.path, len(database) ** 2


def test_databases_are_pickled_by_their_path(path: Path) -> None:
    with nearprint.build(path, [1, 2, 3]) as database:
        database.add([4])
        copy = pickle.loads(pickle.dumps(database))
        assert len(copy) == 3 and copy.path == os.path.abspath(path), "what was not committed stays here"
        database.commit()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.map(squared, [database]) == [(os.path.abspath(path), 16)]
    with pytest.raises(nearprint.Error, match="closed"):
        pickle.dumps(database)


def test_the_home_of_a_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    nearprint.build("~/corpus.np", [1, 2]).close()
    assert len(nearprint.open(tmp_path / "corpus.np")) == len(nearprint.open("~/corpus.np")) == 2


def test_regression_a_handle_keeps_its_folder_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    nearprint.build(there / "x.np", [999]).close()
    makes: list[Callable[[], Any]] = [lambda: nearprint.build("x.np", [1, 2, 3]), lambda: nearprint.open("x.np")]
    for make in makes:
        monkeypatch.chdir(here)
        with make() as database:
            monkeypatch.chdir(there)
            assert database.path == str(here / "x.np")
            database.add([8])
            database.commit()
            assert database.activity()["locked"] and len(pickle.loads(pickle.dumps(database))) == len(database)
            assert database.verify().files > 0
    assert len(nearprint.open(here / "x.np")) == 5 and len(nearprint.open("x.np")) == 1
    monkeypatch.chdir(here)
    with nearprint.Kept("kept.np") as kept, nearprint.open("x.np").follow("second.np") as follower:
        monkeypatch.chdir(there)
        assert kept("one two three four five") and not follower.update().changed
    assert sorted(os.listdir(here)) == ["kept.np", "second.np", "x.np"] and os.listdir(there) == ["x.np"]


def test_results_are_cut_and_listed(path: Path) -> None:
    wide = [1 << 200 | 5, 7]
    rows = nearprint.build(path, wide, ids=[10, 11], width=256).rows().table()
    assert sorted(rows.to_pylist(), key=lambda row: row["id"]) == [
        {"fingerprint": wide[0], "id": 10},
        {"fingerprint": wide[1], "id": 11},
    ]
    assert len(rows.head(1)) == len(rows[1:]) == 1 and len(rows.head(-1)) == 0
    assert rows[:1].to_pylist() == rows.to_pylist()[:1]
    assert rows.to_polars()["id"].to_list() == rows["id"].tolist()


def test_runs_are_known_by_their_rows_or_by_a_name(path: Path, tmp_path: Path) -> None:
    for name, identity in [("a", None), ("b", None), ("c", "task 1"), ("d", "task 1")]:
        nearprint.build(tmp_path / name, [4, 5], ids=[1, 2], runs_only=True, identity=identity).close()
    with nearprint.create(path) as database:
        assert database.ingest([tmp_path / name for name in "abcd"]) == nearprint.IngestReport(2, 2, 4)
    with pytest.raises(nearprint.InputError, match="runs_only"):
        nearprint.build(tmp_path / "e", [1], identity="task 1")


def test_damage_is_found(path: Path) -> None:
    numbers = near_duplicates(64, 5000)
    with nearprint.build(path, numbers) as database:
        assert database.verify().sound
        largest = max(path.iterdir(), key=lambda file: file.stat().st_size)
        with largest.open("r+b") as file:
            file.seek(largest.stat().st_size // 2)
            file.write(b"damage!!")
        report = database.verify()
        assert not report.sound and report.damage[0].file == str(largest)
    with nearprint.open(path) as database:
        with pytest.raises(nearprint.CorruptionError) as caught:
            database.rows().table()
            database.query_batch(numbers, 8)
        assert caught.value.file == str(largest) and caught.value.section and caught.value.offset


def test_what_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(nearprint.Error, match="no database"):
        nearprint.open(tmp_path / "none")
    nearprint.create(tmp_path / "one.np").close()
    with pytest.raises(nearprint.Error, match="exists"):
        nearprint.create(tmp_path / "one.np")
    with pytest.raises(nearprint.Error, match="exists"):
        nearprint.build(tmp_path / "one.np", [1])


def test_tables_go_elsewhere(filled: Filled, width: int) -> None:
    import pandas
    import polars

    database, numbers = filled
    result = database.query_batch(numbers[:10], 3)
    assert dict(result).keys() == {"query", "id", "fingerprint", "distance"} == set(result.columns)
    assert "id" in result and "key" not in result and str(len(result)) in repr(result)
    table = result.to_arrow()
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert table["id"].to_pylist() == frame["id"].tolist() == result["id"].tolist()
    assert polars.DataFrame(result)["id"].to_list() == result["id"].tolist()
    given = [
        number if width == 64 else number.to_bytes(width // 8, "big") for number in numbers_of(result["fingerprint"])
    ]
    assert table["fingerprint"].to_pylist() == frame["fingerprint"].tolist() == given
    again = nearprint.find_all(table["fingerprint"], 0, width=width)
    assert len(again) == 0
    with pytest.raises(KeyError):
        result["colour"]


def test_blocks_come_one_by_one(path: Path) -> None:
    array = np.arange(200_000, dtype=np.uint64) << np.uint64(20)
    with nearprint.build(path, array) as database:
        blocks = list(database.rows())
        assert len(blocks) > 1 and sum(map(len, blocks)) == 200_000
        assert np.array_equal(database.rows().table()["fingerprint"], array)
        stream = database.pairs(4)
        assert len(next(stream)) >= 1 << 16
        stream.close()
        assert list(stream) == []


def test_results_do_not_depend_on_threads(path: Path) -> None:
    array = rows_of(near_duplicates(64, 30_000), 64)
    tables = []
    for threads in (1, 2, 5):
        with nearprint.build(path.with_name(str(threads)), array, threads=threads) as database:
            tables.append([database.query_batch(array, 3), database.pairs().table(), database.clusters().table()])
    for table in zip(*tables):
        for other in table[1:]:
            assert all(np.array_equal(table[0][name], other[name]) for name in other.columns)


def test_a_damaged_database_is_repaired(filled: tuple[nearprint.Database, list[int]], tmp_path: Path) -> None:
    database, numbers = filled
    database.close()
    damaged, saved = Path(database.path), tmp_path / "saved.np"
    table = next(iter(sorted(damaged.glob("*-t0.seg"))))
    table.write_bytes(bytes(table.stat().st_size))
    with pytest.raises(nearprint.CorruptionError) as raised:
        nearprint.open(damaged)
    assert raised.value.file == str(table)
    stages: set[str] = set()
    salvage = nearprint.repair(damaged, saved, progress=lambda stage, done, total: stages.add(stage))
    assert stages
    assert salvage.made
    assert salvage.complete
    assert salvage.rows == len(numbers)
    assert (salvage.lost_rows, salvage.lost_fingerprints) == (0, 0)
    if nearprint.width_of(saved) == 64:
        # Wide fingerprints stand in the file of rows, too.
        assert salvage.recovered == len(set(numbers))
        assert {finding.kind for finding in salvage.findings} == {"damaged", "recovered"}
        assert {finding.file for finding in salvage.findings} == {table.name}
    with nearprint.open(saved) as database:
        rows = database.rows().table()
        expected = sorted(zip(numbers, range(1000, 1300)))
        assert list(zip(numbers_of(rows["fingerprint"]), rows["id"].tolist())) == expected
    with pytest.raises(nearprint.Error):
        nearprint.repair(damaged, saved)
    with pytest.raises(nearprint.Error):
        nearprint.repair(tmp_path / "nowhere", tmp_path / "other")


def test_repair_returns_fingerprints_whose_ids_are_lost(tmp_path: Path) -> None:
    damaged, numbers = tmp_path / "damaged.np", near_duplicates(64, 300)
    nearprint.build(damaged, numbers).close()
    next(iter(damaged.glob("*.rows"))).unlink()
    for wanted in (True, False):
        found = nearprint.repair(damaged, tmp_path / f"{wanted}.np", fingerprints=wanted)
        assert not found.complete and found.without_id == len(set(numbers))
        assert wanted == (found.fingerprints is not None)
        if found.fingerprints is not None:
            assert sorted(numbers_of(found.fingerprints)) == sorted(set(numbers))
            with nearprint.build(tmp_path / "again.np", found.fingerprints) as again:
                assert len(again) == len(set(numbers))


def test_repair_finds_the_schema_in_the_runs_if_the_manifest_is_lost(tmp_path: Path) -> None:
    damaged, saved = tmp_path / "damaged.np", tmp_path / "saved.np"
    nearprint.create(damaged, k=2).close()
    with nearprint.open(damaged) as database:
        database.add([1, 2], [5, 6])
    (damaged / "MANIFEST").unlink()
    salvage = nearprint.repair(damaged, saved, k=5)
    assert (salvage.made, salvage.rows) == (True, 2)
    with nearprint.open(saved) as database:
        assert database.k == 2
        assert database.rows().table()["id"].tolist() == [5, 6]


def test_a_recipe_can_be_given_later(path: Path) -> None:
    with nearprint.create(path) as database:
        assert database.recipe is None
        with pytest.raises(nearprint.InputError, match="128 bits"):
            database.set_recipe("simhash width=128")
        database.set_recipe("cjk")
        assert database.recipe == nearprint.recipe_line("cjk")
        with pytest.raises(nearprint.InputError, match="another recipe"):
            database.set_recipe("simhash")
    with nearprint.open(path) as database:
        assert database.recipe == nearprint.recipe_line("cjk")


def test_blocks_keep_their_columns(path: Path) -> None:
    with nearprint.build(path, [1, 3]) as database:
        with database.pairs(3) as blocks:
            first = next(blocks)
            assert first["a"].tolist() == [1]
            rest = blocks.table()
        assert len(rest) == 0
        assert rest.columns == first.columns
        assert rest["a"].dtype == np.uint64
        with pytest.raises(StopIteration):
            next(blocks)
        blocks = database.rows()
    assert blocks.table()["id"].tolist() == [0, 1]


def test_the_version_is_told() -> None:
    assert nearprint.__version__


def test_regression_limits_come_before_keys(tmp_path: Path) -> None:
    prints = np.full(1000, 7, np.uint64)
    keys = [f"key {number}" for number in range(1000)]
    with nearprint.build(tmp_path / "many.np", prints, keys=keys, kind="hamming") as database:
        first = database.query(7, 0, 3)
        assert len(first) == len(first["key"]) == 3
        everything = database.query(7, 0)
        assert [first["id"][row] for row in range(3)] == [everything["id"][row] for row in range(3)]
        assert len(database.query(7, 0, 5000)["id"]) == 1000


def test_keys_have_hashes(tmp_path: Path) -> None:
    digests = [bytes(range(32)), b"\xff\x00"]
    with nearprint.create(tmp_path / "made.np", hashes=True) as database:
        assert (database.keeps_keys, database.keeps_texts, database.keeps_hashes) == (True, False, True)
        assert database.stats()["keys"] == "keys and hashes"
        database.add([7, 8], keys=["a", "b"], texts=digests)
        with pytest.raises(nearprint.InputError, match="hashes of texts"):
            database.add([9], keys=["c"], texts=[bytes(33)])
        database.commit()
        (id_of_b,) = database.ids_of_key("b").tolist()
        assert database.hashes_of(8, id_of_b) == {"b": digests[1]}
    with nearprint.build(tmp_path / "built.np", [7, 8], keys=["a", "b"], texts=digests, hashes=True) as database:
        assert database.keeps_hashes
        assert database.hashes_of(7, database.ids_of_key("a").tolist()[0]) == {"a": digests[0]}
    with pytest.raises(nearprint.InputError, match="one of them"):
        nearprint.create(tmp_path / "both.np", texts=True, hashes=True)


def test_regression_a_text_is_not_stored_as_features(tmp_path: Path) -> None:
    text = "\x02 a text of more than a few ordinary words"
    with nearprint.build(tmp_path / "features.np", [text], keys=["a"]) as database:
        prints = nearprint.fingerprint([text])
        with pytest.raises(nearprint.InputError, match='"b": the database stores features'):
            database.add(prints, keys=["b"], texts=[text])
        # What another database has stored is stored again.
        ((features),) = database.hashes_of(prints[0], database.ids_of_key("a").tolist()[0]).values()
        database.add(prints, keys=["c"], texts=[features])
        database.commit()
        assert sorted(database.find(text)["key"]) == ["a", "c"]


def test_batches_have_a_limit_for_each_query(tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "many.np", np.full(100, 7, np.uint64), kind="hamming") as database:
        found = database.query_batch([7, 6], 3, limit=2)
        assert (found["query"].tolist(), found["id"].tolist()) == ([0, 0, 1, 1], [0, 1, 0, 1])
        with pytest.raises(nearprint.InputError, match="limit"):
            database.query_batch([7], 3, limit=-1)


def test_events_add_up_to_what_is_stored(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    with nearprint.create(tmp_path / "db", memtable_rows=100, background_merges=False, on_event=seen.append) as db:
        for first in range(0, 1000, 50):
            db.add(np.arange(first, first + 50, dtype=np.uint64) << np.uint64(40))
            db.commit()
    flushes = [event for event in seen if event["event"] == "flush"]
    merges = [event for event in seen if event["event"] == "merge"]
    assert sum(event["rows"] for event in flushes) == 1000 == len(nearprint.open(tmp_path / "db"))
    assert all(event["bytes"] > 0 and event["seconds"] > 0 for event in flushes + merges)
    assert merges and all(event["runs"] > 1 for event in merges)


def test_a_last_commit_in_the_future_is_told(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    nearprint.create(tmp_path / "db").close()
    before = datetime.now(timezone.utc)
    ahead = before + timedelta(hours=1)
    os.utime(tmp_path / "db" / "MANIFEST", (ahead.timestamp(), ahead.timestamp()))
    with nearprint.open(tmp_path / "db", on_event=seen.append) as db:
        db.add([1])
    clock, *_ = seen
    assert clock["event"] == "clock"
    assert abs(clock["last_commit"] - ahead) < timedelta(seconds=1)
    # Rounded down to a millisecond.
    assert before - timedelta(seconds=1) < clock["now"] < before + timedelta(minutes=50)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_of_a_listener_loses_nothing(tmp_path: Path) -> None:
    def listen(event: dict[str, Any]) -> None:
        raise ValueError("no room for events")

    with nearprint.create(tmp_path / "db", merges=False, merge_rate=1, on_event=listen) as db:
        db.add([1, 2, 3])
        db.flush()
    assert len(nearprint.open(tmp_path / "db")) == 3
    with pytest.raises(TypeError, match="on_event: a callable"):
        nearprint.open(tmp_path / "db", on_event=3)  # type: ignore[arg-type]


LISTENING = """
    import sys
    import nearprint

    path, seen = sys.argv[1], []

    def listen(event):
        assert len(database) == database.stats()["rows"] <= 150
        other.add([event["rows"]])
        for call in (database.commit, lambda: database.add([1]), lambda: database.checkpoint, database.close):
            try:
                call()
            except nearprint.Error as error:
                seen.append(str(error))

    other = nearprint.create(path + ".other")
    with nearprint.create(path, memtable_rows=100, background_merges=False, on_event=listen) as database:
        database.add(range(150))
        database.flush()
    other.close()
    assert seen and all("a listener was called by the writer, which waits for it" in one for one in seen), seen
    assert len(nearprint.open(path)) == 150 and len(nearprint.open(path + ".other")) == len(seen) // 4
"""


def test_regression_a_listener_waited_for_its_own_call(tmp_path: Path) -> None:
    program = [sys.executable, "-c", textwrap.dedent(LISTENING), str(tmp_path / "rows.np")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_activity_names_the_writer(tmp_path: Path) -> None:
    before = datetime.now(timezone.utc) - timedelta(seconds=5)
    with nearprint.create(tmp_path / "db") as db:
        assert db.activity()["locked"] is False
        db.add([1])
        db.commit()
        found = nearprint.open(tmp_path / "db").activity()
        assert found["locked"] and f"process {os.getpid()}" in found["writer"]
        assert before < found["last_commit"] < datetime.now(timezone.utc) + timedelta(seconds=5)


def test_a_short_log_stays(tmp_path: Path) -> None:
    for ids in ([1, 2], [3]):
        options: dict[str, Any] = {"keep_log": 4096}
        path = tmp_path / "db"
        with nearprint.open(path, **options) if path.exists() else nearprint.create(path, **options) as db:
            db.add(ids, ids)
    assert sorted(file.name for file in path.iterdir()) == ["LOCK", "MANIFEST", "wal-00000002.log"]
    assert sorted(nearprint.open(path).query(1, 1)["id"]) == [1, 3]
    with pytest.raises(ValueError, match="keep_log"):
        nearprint.open(path, keep_log=-1)


def test_regression_several_ids_were_counted_against_a_fingerprint(tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "db", [1, 2], ids=[10, 20]) as database:
        assert database.fingerprints_of(10).tolist() == [1]
        with pytest.raises(nearprint.InputError, match="id: 2 ids, where one is wanted"):
            database.fingerprints_of([10, 20])  # type: ignore[arg-type]


def test_regression_an_interrupt_while_numpy_is_loaded_was_a_panic() -> None:
    program = """
import nearprint, numpy.lib

def interrupted(*_):
    raise KeyboardInterrupt

numpy.lib.NumpyVersion.__init__ = interrupted
assert len(nearprint.find_all([1, 2], k=2)) == 1
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
