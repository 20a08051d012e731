"""Spark against one machine, on a cluster of two executors that the tests start."""

from __future__ import annotations

import datetime
import json
import math
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest

import nearprint

from .conftest import GRAPHS, documents, mixed, near_duplicates, numbers_of, rows_of, sliding, variants

if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    if os.environ.get("NEARPRINT_REQUIRE_ALL") and "java" not in os.environ.get("NEARPRINT_MAY_SKIP", "").split():
        raise RuntimeError("Spark needs Java, and no test may be skipped here")
    pytest.skip("Spark needs Java", allow_module_level=True)
pytest.importorskip("pyspark", reason="this Python has no pyspark")

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from nearprint import _nearprint, partition, spark
from nearprint._kept import settings_of as kept_settings
from nearprint._settings import settings_of
from nearprint.spark import _candidates, _join, _runs
from nearprint.spark._columns import Near
from nearprint.spark._packed import numbers_of_partitions, packed_rows, unpacked

FULL = bool(os.environ.get("NEARPRINT_FULL"))

#: The classes of this module go to the executors, which cannot import it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class Kind(NamedTuple):
    """What near means."""

    width: int
    k: int
    bands: Optional[str] = None

    @property
    def spark(self) -> dict[str, Any]:
        return {"k": self.k, "bands": self.bands, "width": self.width}

    @property
    def plain(self) -> dict[str, Any]:
        return {"k": self.k, "bands": self.bands}


KINDS = [Kind(64, 3), Kind(256, 36, "6x16")]
if FULL:
    KINDS += [Kind(128, 2)] + [Kind(64, k) for k in (0, 1, 2, 4, 5, 6, 7, 8)]
    KINDS += [Kind(width, k) for width in (128, 256) for k in (0, 4, 8)] + [Kind(64, 5, "2x8"), Kind(256, 60, "8x20")]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("nearprint")
    settings = {
        "spark.ui.enabled": "false",
        "spark.local.dir": str(home),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.shuffle.partitions": "4",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Compilation of small queries takes longer than they do.
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def column_of(numbers: list[Optional[int]], width: int) -> pa.Array:
    """Fingerprints as Spark has them."""
    if width == 64:
        return pa.array([None if one is None else one - (one >> 63 << 64) for one in numbers], pa.int64())
    return pa.array([None if one is None else one.to_bytes(width // 8, "big") for one in numbers], pa.binary())


def frame(session: SparkSession, numbers: list[Optional[int]], width: int) -> DataFrame:
    """Rows with ids from both ends of their range, fingerprints, and scores, some of them equal."""
    ids = [index if index % 2 else -(2**62) + index for index in range(len(numbers))]
    scores = [None if index % 7 == 3 else float(index * 7919 % 13) for index in range(len(numbers))]
    table = pa.table({"id": pa.array(ids, pa.int64()), "fingerprint": column_of(numbers, width), "score": scores})
    return session.createDataFrame(table)


def numbers_in(column: Any, width: int) -> list[Any]:
    if width == 64:
        return [None if one is None else one % (1 << 64) for one in column.to_pylist()]
    return [None if one is None else int.from_bytes(one, "big") for one in column.to_pylist()]


def pairs_in(df: DataFrame, width: int) -> list[tuple[int, int, int]]:
    table = df.toArrow()
    return sorted(zip(numbers_in(table["a"], width), numbers_in(table["b"], width), table["distance"].to_pylist()))


def sample(kind: Kind, count: int) -> list[Optional[int]]:
    """Near numbers on both sides of the middle, a dense ball, equal ones, zero, the largest, and nulls."""
    source = random.Random(kind.width + kind.k)
    numbers: list[Optional[int]] = [*near_duplicates(kind.width, count)]
    hub = source.getrandbits(kind.width)
    numbers += [hub ^ 1 << source.randrange(kind.width) for _ in range(count // 8)]
    numbers += [0, 0, (1 << kind.width) - 1, 1 << kind.width - 1, hub, hub, None, None]
    source.shuffle(numbers)
    return numbers


def near(a: int, b: int, kind: Kind) -> Optional[int]:
    """The distance of two numbers that are near, by the definition."""
    if kind.bands is None:
        found = bin(a ^ b).count("1")
        return found if found <= kind.k else None
    pair = nearprint.find_all([a, b], width=kind.width, **kind.plain)
    if len(pair):
        return int(pair["distance"][0])
    return 0 if a == b != 0 else None


def clusters_of(ids: list[int], numbers: list[Optional[int]], kind: Kind, path: Path) -> dict[int, int]:
    """The smallest fingerprint of the cluster of each row, on one machine."""
    rows = [(one, number) for one, number in zip(ids, numbers) if number is not None]
    layout = "auto" if kind.bands is None else f"bands:{kind.bands}"
    prints = rows_of([number for _, number in rows], kind.width)
    with nearprint.build(path, prints, [one % (1 << 64) for one, _ in rows], k=kind.k, layout=layout) as database:
        table = database.clusters(kind.k).table()
    members = list(zip(table["cluster"].tolist(), numbers_of(table["fingerprint"]), table["id"].tolist()))
    smallest: dict[int, int] = {}
    for cluster, number, _ in members:
        smallest[cluster] = min(number, smallest.get(cluster, number))
    return {one - (one >> 63 << 64): smallest[cluster] for cluster, _, one in members}


def kept_of(ids: list[int], numbers: list[Optional[int]], scores: list[Any], kind: Kind) -> dict[int, Any]:
    """What each dropped row duplicates, and their distance: by the definition."""
    order = sorted(range(len(ids)), key=lambda at: (-(float("-inf") if scores[at] is None else scores[at]), ids[at]))
    kept: list[int] = []
    dropped = {}
    for at in order:
        number = numbers[at]
        found = []
        for place, other in enumerate(kept):
            distance = None if number is None else near(numbers[other] or 0, number, kind)
            if distance is not None:
                found.append((distance, place))
        if found:
            distance, place = min(found)
            dropped[ids[at]] = distance, ids[kept[place]]
        elif number is not None:
            kept.append(at)
    return dropped


def check_clusters(rows: list[Any]) -> None:
    """A cluster is a kept row, and all rows that duplicate it."""
    sizes = Counter(row["group"] for row in rows)
    for row in rows:
        assert row["group"] == (row.id if row.duplicate_of is None else row.duplicate_of)
        assert row.group_size == sizes[row["group"]]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_same_as_on_one_machine(kind: Kind, session: SparkSession, tmp_path: Path) -> None:
    numbers = sample(kind, 120)
    df = frame(session, numbers, kind.width).repartition(3).persist()
    present = [number for number in numbers if number is not None]
    expected = nearprint.find_all(present, width=kind.width, **kind.plain)
    pairs = sorted(zip(numbers_of(expected["a"]), numbers_of(expected["b"]), expected["distance"].tolist()))
    assert len(pairs) >= 10 * min(kind.k, 3)
    ids = [row.id for row in df.collect()]
    by_id = {row.id: row for row in df.collect()}
    listed = numbers_in(df.toArrow()["fingerprint"], kind.width)
    clusters = clusters_of(ids, listed, kind, tmp_path / "one.np")
    dropped = kept_of(ids, listed, [by_id[one].score for one in ids], kind)
    assert len(dropped) > 10
    settings = [(4, 12), (1, None), (16, 40)]
    for partitions, split_above in settings if FULL else settings[:1]:
        options: dict[str, Any] = {**kind.spark, "partitions": partitions, "split_above": split_above}
        assert pairs_in(spark.pairs(df, **options), kind.width) == pairs, options
        found = spark.clusters(df, **options).toArrow()
        assert dict(zip(found["id"].to_pylist(), numbers_in(found["cluster"], kind.width))) == clusters, options
        assert len(found) == len(clusters)
        rows = spark.dedup(df, keep="max:score", annotate=True, **options).collect()
        assert len(rows) == len(ids)
        assert {row.id: (row.distance, row.duplicate_of) for row in rows if row.duplicate_of is not None} == dropped
        sizes = Counter(row["group"] for row in rows)
        assert all(
            row["group"] == (row.duplicate_of or row.id) and row.group_size == sizes[row["group"]] for row in rows
        )
        kept = spark.dedup(df, keep="max:score", **options)
        assert kept.columns == df.columns
        assert sorted(row.id for row in kept.collect()) == sorted(set(ids) - dropped.keys())
    df.unpersist()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_pairs_between_two_tables(kind: Kind, session: SparkSession) -> None:
    numbers = sample(kind, 120)
    ones, others = numbers[::2], [*numbers[1::2], numbers[0]]
    expected = []
    for a in {one for one in ones if one is not None}:
        for b in {one for one in others if one is not None}:
            distance = near(a, b, kind)
            if distance is not None:
                expected.append((a, b, distance))
    assert len(expected) > 5
    tables = (frame(session, ones, kind.width), frame(session, others, kind.width))
    for partitions, split_above in ((3, 12), (1, None)):
        found = spark.pairs_between(*tables, **kind.spark, partitions=partitions, split_above=split_above)
        assert pairs_in(found, kind.width) == sorted(expected)


def test_each_task_of_a_join_has_a_partition(session: SparkSession) -> None:
    for count in (1, 2, 7, 200):
        numbers = session.createDataFrame(pa.table({"task": numbers_of_partitions(count)}))
        placed = numbers.repartition(count, "task").select("task", sf.spark_partition_id().alias("at")).collect()
        assert [task for task, at in sorted(placed, key=lambda row: row.at)] == numbers_of_partitions(count).tolist()
        assert [row.at for row in sorted(placed, key=lambda row: row.at)] == list(range(count))


def test_large_groups_are_found_in_a_sample(session: SparkSession) -> None:
    source = random.Random(5)
    large = {source.getrandbits(48) for _ in range(30_000)}
    numbers = [*large, *(source.getrandbits(64) for _ in range(10_000))]
    df = frame(session, [*numbers], 64)
    found = _join._large_groups(df.select("fingerprint"), Near(3, None, 64), 16_384)
    assert set(found) <= set(partition.block_keys([0], 3)["group"].tolist())
    assert len(found) == 1 and 3 <= found.popitem()[1] <= 5
    expected = nearprint.find_all(numbers, 3)
    pairs = sorted(zip(numbers_of(expected["a"]), numbers_of(expected["b"]), expected["distance"].tolist()))
    assert pairs_in(spark.pairs(df, 3, split_above=16_384), 64) == pairs
    between = spark.pairs_between(df, df.limit(100), 3, split_above=16_384, partitions=3).count()
    assert between == spark.pairs_between(df, df.limit(100), 3, split_above=None).count() >= 100


def test_packed_rows_keep_groups_and_fingerprints() -> None:
    source = np.random.default_rng(3)
    for width, count in ((64, 0), (64, 5000), (256, 3000), (320, 3000)):
        groups = source.integers(0, 2**63, count, np.uint64)
        words = source.integers(0, 2**64, (count, width // 64), np.uint64)
        batches = [
            packed_rows(groups[start : start + 700], words[start : start + 700], side, numbers_of_partitions(3))
            for side, start in enumerate(range(0, count, 700))
            if side < 2
        ]
        assert all(len(row) <= 1 << 13 for batch in batches for row in batch.column(1).to_pylist())
        found, there = unpacked(batches, Near(3, None, width))
        whole = np.column_stack([groups[:1400], words[:1400]])
        whole[700:, 0] += np.uint64(1 << 63)
        assert sorted(np.column_stack([found, there]).tolist()) == sorted(whole.tolist())


def path_of_length(count: int) -> list[Optional[int]]:
    """Numbers that are near the one before, on both sides of the middle."""
    return [(index ^ index >> 1) << 49 for index in range(count)]


def test_clusters_of_paths_and_balls(session: SparkSession) -> None:
    ball = [1 << a | 1 << b for a in range(64) for b in range(a)]
    long: list[Optional[int]] = path_of_length(20_000)
    for numbers, k in ((ball, 4), (long, 1)):
        found = spark.clusters(frame(session, [*numbers], 64), k, partitions=4, split_above=1000).toArrow()
        assert len(found) == len(numbers)
        assert set(numbers_in(found["cluster"], 64)) == {min(one for one in numbers if one is not None)}


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1]], ids=str)
def test_clusters_without_the_driver(kind: Kind, session: SparkSession) -> None:
    numbers = sample(kind, 100)
    if kind.width == 64:
        numbers += path_of_length(20_000 if FULL else 200)
    df = frame(session, numbers, kind.width)
    united = spark.clusters(df, **kind.spark, partitions=2)
    by_stars = spark.clusters(df, **kind.spark, partitions=2, driver_pairs=0)
    assert sorted(map(str, united.collect())) == sorted(map(str, by_stars.collect()))


def test_tables_without_pairs(session: SparkSession) -> None:
    equal, alone = [7] * 50, [1, 0xFF << 40]
    cases: list[tuple[list[Any], int, int]] = [(equal, 50, 1), (alone, 0, 2), ([], 0, 0), ([None, None], 0, 2)]
    for numbers, clusters, kept in cases:
        df = frame(session, [*numbers], 64).repartition(5)
        assert spark.pairs(df, 3).count() == 0
        assert spark.clusters(df, 3).count() == clusters
        assert spark.dedup(df, 3).count() == kept


def test_fingerprints_of_texts(session: SparkSession) -> None:
    texts = [
        "the quick brown fox jumps over the lazy dog",
        None,
        "",
        "天地玄黄 宇宙洪荒",
        "another text, of seven or eight words",
    ]
    df = session.createDataFrame(pa.table({"id": list(range(5)), "body": texts}))
    for recipe in ("minhash", "simhash", "cjk width=128"):
        width = 64 if recipe == "simhash" else 256 if recipe == "minhash" else 128
        table = spark.fingerprint(df, "body", recipe=recipe, out="print").orderBy("id").toArrow()
        expected: list[Any] = numbers_of(nearprint.fingerprint([text or "" for text in texts], recipe))
        # Nothing is near a missing text, or one without words.
        expected[1] = expected[2] = None
        assert numbers_in(table["print"], width) == expected
        assert table.column_names == ["id", "body", "print"]


def decided(df: DataFrame, **options: Any) -> list[int]:
    """The number of the text that each of some texts duplicates, or -1."""
    rows = spark.dedup(df, text="text", annotate=True, **options).orderBy("id").collect()
    check_clusters(rows)
    return [-1 if row.duplicate_of is None else row.duplicate_of for row in rows]


def test_regression_texts_without_features_are_near_only_copies(session: SparkSession) -> None:
    texts = ["red car sale", "blue house rent", "", "two more words", "red car sale", None, "one text of five words"]
    df = session.createDataFrame(pa.table({"id": list(range(len(texts))), "text": texts}))
    for recipe in ("simhash-py", "minhash short=none shingle=4"):
        expected = nearprint.dedup([text or "" for text in texts], recipe=recipe)["duplicate_of"].tolist()
        assert expected == [-1, -1, -1, -1, 0, -1, -1]
        assert decided(df, recipe=recipe) == expected, recipe
        near: dict[str, Any] = {"k": 3} if recipe == "simhash-py" else {"similarity": 0.5}
        prints = spark.fingerprint(df, "text", recipe=recipe).persist()
        assert spark.pairs(prints, **near).count() == 0
        assert sorted(row.id for row in spark.clusters(prints, **near).collect()) == [0, 4]


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)} or {(word,) for word in words}


def similar(texts: list[str], order: list[int], least: float) -> list[tuple[int, float]]:
    """What each text duplicates, and their similarity, by comparing candidates with all kept ones."""
    line, k = _nearprint.PairJudge(kept_settings(similarity=least)).candidates()
    prints = numbers_of(nearprint.fingerprint(texts, line))
    pairs = nearprint.find_all(prints, k, width=256, bands=_nearprint.recipe_line(line)[2])
    near_prints = set(zip(numbers_of(pairs["a"]), numbers_of(pairs["b"]))) | {(one, one) for one in prints}
    sets, found = [shingles(text) for text in texts], [(-1, math.nan)] * len(texts)
    kept: list[int] = []
    for at in order:
        best = 0.0
        for other in kept:
            if (min(prints[at], prints[other]), max(prints[at], prints[other])) not in near_prints:
                continue
            similarity = len(sets[at] & sets[other]) / max(len(sets[at] | sets[other]), 1)
            if similarity >= least and similarity > best:
                best, found[at] = similarity, (other, similarity)
        if not best:
            kept.append(at)
    return found


def test_documents_are_decided_exactly(session: SparkSession) -> None:
    texts = documents(300)
    scores = [at * 7919 % 40 for at in range(len(texts))]
    df = session.createDataFrame(pa.table({"id": list(range(300)), "text": texts, "score": scores})).repartition(3)
    order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))
    for least, keep, in_order in ((0.7, None, list(range(300))), (0.5, "max:score", order)):
        expected = similar(texts, in_order, least)
        of = [other for other, _ in expected]
        assert 50 < sum(one >= 0 for one in of) < 250
        library = nearprint.dedup(texts, keep=None if keep is None else scores, similarity=least)
        assert library["kept"].tolist() == [one < 0 for one in of]
        # Of equally similar texts, the library takes the first of the list, also where others are decided first.
        assert np.allclose(library["similarity"], [alike for _, alike in expected], atol=1e-4, equal_nan=True)
        assert keep is not None or library["duplicate_of"].tolist() == of
        for partitions in (1, 4, 16) if keep is None or FULL else (5,):
            options: dict[str, Any] = {"keep": keep, "similarity": least, "partitions": partitions}
            assert decided(df, **options) == of, options
    # What was left out last has the similarities of the definition, and goes without annotation.
    left = spark.dedup(df, text="text", annotate=True, **options).where("duplicate_of is not null").collect()
    assert [(row.id, round(row.similarity, 4)) for row in sorted(left)] == [
        (at, round(similarity, 4)) for at, (other, similarity) in enumerate(expected) if other >= 0
    ]
    # The column of texts is taken where none has fingerprints.
    kept = spark.dedup(df, **options)
    assert kept.columns == df.columns
    assert sorted(row.id for row in kept.collect()) == [at for at, (other, _) in enumerate(expected) if other < 0]


def with_ids(session: SparkSession, texts: list[Any]) -> DataFrame:
    return session.createDataFrame(pa.table({"id": list(range(len(texts))), "text": texts}))


@pytest.mark.parametrize("name", GRAPHS)
def test_edges_decide_as_one_machine(name: str, session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, least = GRAPHS[name]
    df = with_ids(session, texts)
    expected = nearprint.dedup(texts, missing="keep")
    assert sum(expected["duplicate_of"] >= 0) >= least
    # In parts of few vertices, in rounds of few edges, and on the driver.
    monkeypatch.setattr(_candidates, "PART_VERTICES", 5)
    for options in ({"partitions": 3, "driver_pairs": 0, "split_above": 50}, {"partitions": 8, "split_above": None}):
        rows = spark.dedup(df, text="text", annotate=True, **options).orderBy("id").collect()
        check_clusters(rows)
        of = [-1 if row.duplicate_of is None else row.duplicate_of for row in rows]
        assert of == expected["duplicate_of"].tolist(), options
        similarity = np.array([math.nan if row.similarity is None else row.similarity for row in rows])
        assert np.allclose(similarity, expected["similarity"], atol=1e-9, equal_nan=True)


def test_decisions_do_not_depend_on_the_number_of_partitions(session: SparkSession) -> None:
    texts = mixed(sliding(40), variants(20, 2), documents(60), ["equal text of some words"] * 20)
    columns = {"text": texts, "score": [None if at % 9 == 4 else at * 7919 % 23 for at in range(len(texts))]}
    df = session.createDataFrame(pa.table({"id": [f"{at:04}" for at in range(len(texts))], **columns}))
    for keep in ("first", "last", "max:score"):
        expected = nearprint.dedup(columns, keep=keep, missing="keep")["kept"].tolist()
        assert 10 < sum(expected) < len(texts) - 40
        each: list[dict[str, Any]] = [{"partitions": 1}, {"partitions": 6, "driver_pairs": 0}]
        for options in each:
            kept = spark.dedup(df.repartition(3), text="text", keep=keep, **options)
            found = {row.id for row in kept.collect()}
            assert [f"{at:04}" in found for at in range(len(texts))] == expected, (keep, options)


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "simhash", "k": 6},
        {"recipe": "simhash", "k": 12, "similarity": "edit:0.8"},
        {"similarity": "contained:0.9"},
        {"similarity": 1.0, "recipe": "minhash clean=html,lower"},
        {"k": 20},
    ],
    ids=str,
)
def test_all_measures_are_those_of_one_machine(options: dict[str, Any], session: SparkSession) -> None:
    pages = [f"<p>{text}</p><script>{at % 3}</script>" for at, text in enumerate(documents(20)[2:] * 2)]
    texts = mixed(documents(60), pages, ["a b c d e f g h", "a b c d e f g h i j k l m n", "b c d e"])
    expected = nearprint.dedup(texts, missing="keep", **options)
    assert 5 < sum(expected["duplicate_of"] >= 0) < len(texts) - 20
    for more in ({}, {"driver_pairs": 0, "partitions": 2}):
        assert decided(with_ids(session, texts), **options, **more) == expected["duplicate_of"].tolist(), more


def test_tasks_that_die_change_nothing(session: SparkSession, tmp_path: Path) -> None:
    texts = documents(120)
    marker = str(tmp_path / "died")

    def die_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    df = with_ids(session, texts).repartition(3)
    dying = df.mapInArrow(die_once, df.schema)
    assert decided(dying, driver_pairs=0) == nearprint.dedup(texts)["duplicate_of"].tolist()
    assert os.path.exists(marker)


def test_a_report_counts_what_was_done(session: SparkSession) -> None:
    texts = [*variants(30, 1), *["one text that half of the rows have"] * 31, None]
    reports: list[spark.DedupReport] = []
    each: list[dict[str, Any]] = [{}, {"driver_pairs": 0}]
    for options in each:
        spark.dedup(with_ids(session, texts), text="text", report=reports.append, **options)
    # The variants have the same words but one, and are candidates of each other.
    pairs = 31 * 30 // 2
    assert reports[0] == spark.DedupReport(63, 32, reports[0].largest_group, pairs, pairs, 0)
    assert 20 < reports[0].largest_group <= 31
    assert reports[1] == reports[0]._replace(rounds=1)


@pytest.mark.parametrize("name", ["count", "cluster", "group", "doc.id", "ID", "a`b"])
def test_regression_columns_may_have_any_name(name: str, session: SparkSession, tmp_path: Path) -> None:
    words = "one two three four five six"
    texts = [words, words + " seven", "quite another text of words", None]
    table = pa.table({name: [7, 8, 9, 10], "text.en": texts, "print.x": [1, 3, 0xFFFFF << 20, None]})
    df = session.createDataFrame(table)
    for options in ({"text": "text.en"}, {"fingerprint": "print.x", "k": 3}):
        kept = spark.dedup(df, id=name, **options)
        assert kept.columns == df.columns and sorted(row[0] for row in kept.collect()) == [7, 9, 10]
        if name == "group":
            with pytest.raises(nearprint.InputError, match="group: is a column already"):
                spark.dedup(df, id=name, annotate=True, **options)
        else:
            rows = sorted(spark.dedup(df, id=name, annotate=True, **options).collect())
            assert [(row.duplicate_of, row["group"], row.group_size) for row in rows] == [
                (None, 7, 2), (7, 7, 2), (None, 9, 1), (None, 10, 1)
            ]  # fmt: skip
    if name == "cluster":
        with pytest.raises(nearprint.InputError, match="another column of this name"):
            spark.clusters(df, 3, id=name, fingerprint="print.x")
    else:
        clusters = spark.clusters(df, 3, id=name, fingerprint="print.x")
        assert clusters.columns == [name, "fingerprint", "cluster"]
        assert sorted(map(tuple, clusters.collect())) == [(7, 1, 1), (8, 3, 1)]
    assert spark.pairs(df, 3, fingerprint="print.x").count() == 1
    assert spark.fingerprint(df, "text.en").where("fingerprint is null").count() == 1
    with nearprint.build(tmp_path / "known.np", [1]) as database:
        assert [row.query for row in spark.query(df, database.path, 0, id=name, fingerprint="print.x").collect()] == [7]


def test_regression_rows_are_ordered_as_on_one_machine(session: SparkSession) -> None:
    texts = ["one two three four five six seven"] * 5
    days = [None, "2026-11-24", "2026-11-25T00:00:00+02:00", "2026-11-24T23:30:00Z", "2026-11-01"]
    columns: dict[str, Any] = {
        "score": [math.nan, 1.0, None, -math.inf, 2.0],
        "large": [2**53, 2**53 + 1, None, -(2**63), 2**53],
        "day": days,
        "time": [day and datetime.datetime.fromisoformat(day.replace("Z", "+00:00")) for day in days],
    }
    columns["time"] = [one and one.astimezone(datetime.timezone.utc) for one in columns["time"]]
    df = session.createDataFrame(pa.table({"id": list(range(5)), "text": texts, **columns}))
    orders = [f"{kind}:{name}" for name in ("score", "large", "time") for kind in ("max", "min")]
    for keep in (*orders, "newest:day", "oldest:time", "longest", "shortest", "last", "longest:day"):
        expected = nearprint.dedup({"text": texts, **columns}, keep=keep)["kept"].tolist()
        if keep != "newest:day":
            assert [row.id for row in spark.dedup(df, text="text", keep=keep).collect()] == [expected.index(True)], keep
    assert [row.id for row in spark.dedup(df, text="text", keep="newest:day").collect()] == [3]
    df = session.createDataFrame(pa.table({"id": [1, 2], "text": ["a", None]}))
    assert spark.dedup(df, text="text").count() == 2
    assert spark.dedup(df, text="text", missing="skip").count() == 1
    with pytest.raises(nearprint.InputError, match="text: some are null"):
        spark.dedup(df, text="text", missing="error")


@pytest.mark.parametrize(
    ("values", "keeps"),
    [
        (["1e3", "9", None, " 500 ", "10"], ("max", "newest")),
        (["9", "10", None, "2026-11-01", "é"], ("max",)),
        (["2024-01-02T00:00:00+05:00", "2024-01-01T23:00:00Z", None, "2024-W01-1"], ("newest", "oldest")),
        ([3, 1, None, 10], ("longest",)),
    ],
)
def test_regression_texts_of_numbers_were_ordered_as_strings(
    values: list[Any], keeps: tuple[str, ...], session: SparkSession
) -> None:
    columns = {"text": ["one two three four five six seven"] * len(values), "value": values}
    df = session.createDataFrame(pa.table({"id": list(range(len(values))), **columns}))
    for keep in keeps:
        # A missing value is the smallest.
        for there in (df, df.where("value is not null"))[: 1 + (keep == keeps[0])]:
            table = there.orderBy("id").toArrow()
            expected = nearprint.dedup(table, keep=f"{keep}:value")["kept"].tolist().index(True)
            found = spark.dedup(there, text="text", keep=f"{keep}:value").collect()
            assert [row.id for row in found] == [table["id"].to_pylist()[expected]], keep
    if "é" in values:
        with pytest.raises(nearprint.InputError, match="keep: value: numbers, dates or texts"):
            spark.dedup(df, text="text", keep="newest:value")


def test_regression_a_k_that_no_task_accepts_is_refused_by_the_driver(session: SparkSession) -> None:
    df = frame(session, [1, 2], 64)
    for call in (spark.pairs, spark.clusters, spark.dedup):
        with pytest.raises(nearprint.InputError, match="k = 64"):
            call(df, 64)


def test_regression_a_missing_column_of_fingerprints_was_one_of_another_type(
    session: SparkSession, tmp_path: Path
) -> None:
    pages = session.createDataFrame([("a", "one two three")], "url string, text string")
    with pytest.raises(nearprint.InputError, match="there is no column 'fingerprint', but url, text"):
        spark.build_runs(pages, str(tmp_path / "runs"), key="url")


@pytest.mark.parametrize("width", [64, 256])
def test_look_ups_in_a_database(width: int, session: SparkSession, tmp_path: Path) -> None:
    numbers = near_duplicates(width, 200)
    keys = [f"key {index}" for index in range(200)]
    with nearprint.build(tmp_path / "known.np", rows_of(numbers, width), keys=keys) as database:
        expected = database.query_batch(rows_of(numbers[50:], width), 3)
    df = frame(session, [None, *numbers[50:]], width)
    table = spark.query(df.repartition(3), tmp_path / "known.np", 3).toArrow()
    ids = [row.id for row in df.collect()][1:]
    found = zip(*(table[name].to_pylist() for name in ("query", "key", "distance")))
    assert sorted(found) == sorted(
        zip([ids[at] for at in expected["query"]], expected["key"].tolist(), expected["distance"].tolist())
    )
    assert sorted(numbers_in(table["fingerprint"], width)) == sorted(numbers_of(expected["fingerprint"]))


class Dying(_runs._Task):
    """A task whose attempts die at some places, the first time that they come by."""

    def _first(self, what: str) -> bool:
        try:
            os.close(os.open(f"{os.path.dirname(self.store.folder)}/{what}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def _publish(self, built: str, part: str) -> None:
        if part == "part-00000" and self._first("before"):
            os.kill(os.getpid(), signal.SIGKILL)
        super()._publish(built, part)
        if part == "part-00001" and self._first("after"):
            os.kill(os.getpid(), signal.SIGKILL)


def test_runs_of_tasks_that_die_are_built_once(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = sample(KINDS[0], 800)
    df = frame(session, numbers, 64)
    home = tmp_path / "shared"
    monkeypatch.setattr(_runs, "_Task", Dying)
    runs = Path(spark.build_runs(df, str(home), partitions=4))
    assert {path.name for path in home.iterdir()} == {runs.name, "before", "after"}
    assert sorted(path.name for path in runs.iterdir()) == ["RUNS.json", *(f"part-0000{part}" for part in range(4))]
    monkeypatch.undo()
    database = tmp_path / "one.np"
    rows = sum(number is not None for number in numbers)
    assert spark.ingest(database, str(runs)) == nearprint.IngestReport(4, 0, rows)
    assert spark.ingest(database, str(runs)) == nearprint.IngestReport(0, 4, 0)
    again = spark.build_runs(df, str(home), partitions=4)
    assert spark.ingest(database, again) == nearprint.IngestReport(0, 4, 0)
    with nearprint.open(database) as opened:
        assert opened.stats()["rows"] == len(opened) == rows
        assert sorted(numbers_of(opened.rows().table()["fingerprint"])) == sorted(
            number for number in numbers if number is not None
        )
        assert opened.verify().damage == []


def test_of_two_attempts_at_a_time_one_counts(tmp_path: Path) -> None:
    """Spark begins no second attempt on the host of the first, and all executors of the tests have one host."""
    (tmp_path / "unfinished").mkdir()
    settings = settings_of(width=64, threads=1)
    batch = pa.record_batch({"fingerprint": list(range(50_000)), "id": list(range(50_000))})
    task = _runs._Task(_runs._Store(str(tmp_path), {}), 64, settings)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: next(task.run([batch])).column(0).to_pylist(), range(4)))
    assert parts == [["part-00000"]] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-00000", "unfinished"]
    assert list((tmp_path / "unfinished").iterdir()) == []
    with nearprint.create(tmp_path / "one.np") as database:
        assert database.ingest(tmp_path / "part-00000").rows == 50_000


class Failing(_runs._Task):
    """A task that fails after it has published its run."""

    def _publish(self, built: str, part: str) -> None:
        super()._publish(built, part)
        raise ValueError("as told")


def test_a_job_that_fails_leaves_nothing(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_runs, "_Task", Failing)
    with pytest.raises(Exception, match="as told"):
        spark.build_runs(frame(session, [1, 2, 3], 64), str(tmp_path / "shared"))
    assert list((tmp_path / "shared").iterdir()) == []


def test_runs_have_keys_texts_and_bands(session: SparkSession, tmp_path: Path) -> None:
    texts = ["one text of some words that is there twice", "one text of some words that is there twice", "another"]
    df = session.createDataFrame(pa.table({"url": ["a", "b", "c"], "text": texts}))
    runs = spark.build_runs(
        spark.fingerprint(df, "text"), str(tmp_path), id=None, key="url", text="text", recipe="minhash", partitions=2
    )
    spark.ingest(tmp_path / "pages.np", runs)
    with nearprint.open(tmp_path / "pages.np") as database:
        assert database.kind == "bands" and database.keeps_texts
        assert sorted(database.find(texts[0])["key"]) == ["a", "b"]
    with pytest.raises(nearprint.NotFoundError, match=r"RUNS\.json"):
        spark.ingest(tmp_path / "pages.np", str(tmp_path))


def test_runs_go_through_object_storage(session: SparkSession, tmp_path: Path) -> None:
    server_of = pytest.importorskip("moto.server", reason="moto has no wheel for every Python").ThreadedMotoServer
    server = server_of(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        options = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
        s3fs = pytest.importorskip("s3fs")
        files = s3fs.S3FileSystem(**options)
        files.mkdir("bucket")
        df = frame(session, sample(KINDS[0], 300), 64)
        runs = spark.build_runs(df, "s3://bucket/runs/", partitions=3, storage_options=options)
        assert runs.startswith("s3://bucket/runs/runs-")
        spark.ingest(tmp_path / "stored.np", runs, storage_options=options)
        plain = spark.build_runs(df, str(tmp_path / "plain"), partitions=3)
        assert spark.ingest(tmp_path / "stored.np", plain) == nearprint.IngestReport(0, 3, 0)
        listed = files.find("bucket")
        assert sum(name.endswith("/MANIFEST") for name in listed) == 3
        folder = runs[len("s3://") :]
        files.pipe_file(f"{folder}/part-00009-{'0' * 32}/..%2fescaped", b"")
        files.pipe_file(
            f"{folder}/RUNS.json",
            json.dumps(
                {**json.loads(files.cat_file(f"{folder}/RUNS.json")), "parts": [f"part-00009-{'0' * 32}"]}
            ).encode(),
        )
        with pytest.raises(nearprint.InputError, match="is no file of a run"):
            spark.ingest(tmp_path / "stored.np", runs, storage_options=options)
    finally:
        server.stop()


def test_lists_of_runs_come_from_outside(tmp_path: Path) -> None:
    schema = {"k": 3, "width": 64, "layout": "auto", "recipe": None, "keys": False, "texts": False}
    for content, why in (
        ({"parts": ["../../etc"], "schema": schema}, "'../../etc' is no run"),
        ({"parts": ["part-00001/../.."], "schema": schema}, "is no run"),
        ({"parts": [7], "schema": schema}, "7 is no run"),
        ({"parts": [], "schema": {**schema, "threads": 1}}, "no settings"),
        ([], "no list of runs"),
    ):
        (tmp_path / "RUNS.json").write_text(json.dumps(content))
        with pytest.raises(nearprint.InputError, match=why):
            spark.ingest(tmp_path / "one.np", str(tmp_path))
    (tmp_path / "RUNS.json").write_text("{")
    with pytest.raises(nearprint.InputError, match=r"RUNS\.json"):
        spark.ingest(tmp_path / "one.np", str(tmp_path))
    assert not (tmp_path / "one.np").exists()


def test_the_program_of_the_page_runs(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parent.parent.parent / "docs/beyond-one-machine.md"
    program = page.read_text("utf-8").split("```python\n")[1].split("```")[0]
    for place in ("/shared/", "s3://bucket/"):
        assert place in program
        program = program.replace(place, f"{tmp_path}/elsewhere/")
    texts = ["one two three four five six", "one two three four five six seven", "some words of something else"]
    df = session.createDataFrame(pa.table({"url": ["a", "b", "c"], "text": texts, "score": [1.0, 2.0, None]}))
    (tmp_path / "elsewhere").mkdir()
    nearprint.build(tmp_path / "elsewhere/seen.np", texts[:1], keys=["z"]).close()
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"pages": df, "today": spark.fingerprint(df.where("url = 'a'"), "text")}
    exec(compile(program, "the program of the page", "exec"), names)
    assert sorted(row["url"] for row in names["unique"].collect()) == ["b", "c"]
    assert [names[name].count() for name in ("pairs", "labels", "new", "known")] == [1, 2, 2, 1]
    with nearprint.open("seen.np") as database:
        assert sorted(database.rows().table()["key"]) == ["a", "b", "c"]


def test_misfits_are_refused(session: SparkSession, tmp_path: Path) -> None:
    df = frame(session, [1, 2], 64)
    wide = frame(session, [1, 2], 128)
    without_id = df.limit(1).selectExpr("cast(null as bigint) id", "fingerprint", "score")
    for why, call in (
        ("no column 'print'", lambda: spark.pairs(df, 3, fingerprint="print")),
        ("double, where fingerprints", lambda: spark.pairs(df, 3, fingerprint="score")),
        ("k, or similarity", lambda: spark.pairs(df)),
        ("width 256: fingerprint is bigint", lambda: spark.pairs(df, 3, width=256)),
        ("different widths", lambda: spark.pairs_between(df, wide, 3)),
        ("65", lambda: spark.pairs(df, 65)),
        ("text= names", lambda: spark.dedup(df, similarity=0.7)),
        ("bigint, where texts", lambda: spark.dedup(df, text="id")),
        ("keep = 'best'", lambda: spark.dedup(df, 3, keep="best")),
        ("no column 'best'", lambda: spark.dedup(df, 3, keep="max:best")),
        (
            "distance: is a column already",
            lambda: spark.dedup(df.withColumnRenamed("score", "distance"), 3, annotate=True),
        ),
        ("occurs 2 times", lambda: spark.dedup(df.unionByName(df), 3)),
        ("id: null occurs 1 times", lambda: spark.dedup(df.unionByName(without_id), 3)),
        ("bigint, where texts", lambda: spark.fingerprint(df, "id")),
        (
            "is a column already",
            lambda: spark.fingerprint(df.withColumnRenamed("id", "t").selectExpr("string(t) t"), "t", out="t"),
        ),
        ("id or key", lambda: spark.build_runs(df, str(tmp_path), id=None)),
        ("no column 'url'", lambda: spark.build_runs(df, str(tmp_path), key="url")),
        ("score: double, where texts", lambda: spark.build_runs(df, str(tmp_path), key="score")),
        ("id: bigint, where texts", lambda: spark.build_runs(df, str(tmp_path), text="id")),
        ("double, where ids", lambda: spark.build_runs(df, str(tmp_path), id="score")),
    ):
        with pytest.raises(nearprint.InputError, match=why):
            call()
    with pytest.raises(Exception, match=r"16 bytes|256 bits"):
        spark.pairs(wide, 3).count()
    nearprint.create(tmp_path / "wide.np", width=128).close()
    with pytest.raises(nearprint.InputError, match="bigint, where the database has 128"):
        spark.query(df, tmp_path / "wide.np", 3)
    assert [path.name for path in tmp_path.iterdir()] == ["wide.np"]


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI_AI", "UTF8_BINARY_RTRIM"])
def test_regression_rows_were_lost_whose_ids_are_equal_to_a_collation(collation: str, session: SparkSession) -> None:
    ids = ["doc", "DOC", "d\u00f6c", "doc ", "e", "E"]
    texts = ["one two three four five six"] * 2 + [f"other words of text number {at} alone" for at in range(4)]
    plain = session.createDataFrame(pa.table({"id": ids, "text": texts, "score": [1, 2, 3, 4, 5, 6]}))
    df = plain.withColumn("id", sf.collate("id", collation))
    drivers: list[dict[str, Any]] = [{}, {"driver_pairs": 0}]
    for keep, kept in ((None, ids[1:]), ("last", [ids[0], *ids[2:]]), ("max:score", ids[1:])):
        for driver in drivers:
            found = spark.dedup(df, text="text", keep=keep, **driver)
            assert found.schema == df.schema
            assert sorted(row.id for row in found.collect()) == sorted(kept)
    rows = spark.dedup(df, text="text", annotate=True)
    of = {row.id: (row.duplicate_of, row.group, row.group_size) for row in rows.collect()}
    assert of == {**{id: (None, id, 1) for id in ids}, "doc": ("DOC", "DOC", 2), "DOC": (None, "DOC", 2)}
    assert {rows.schema[name].dataType for name in ("id", "duplicate_of", "group")} == {df.schema["id"].dataType}
    with pytest.raises(nearprint.InputError, match="'doc' occurs 2 times"):
        spark.dedup(df.unionByName(df.where("score = 1")), text="text")


def test_regression_texts_of_bytes_and_keys_with_a_collation_were_refused(
    session: SparkSession, tmp_path: Path
) -> None:
    texts = [b"one text of some words", b"another", None]
    table = pa.table({"url": ["a", "A", "b"], "fingerprint": [1, 2, 3], "text": pa.array(texts, pa.binary())})
    df = session.createDataFrame(table).withColumn("url", sf.collate("url", "UTF8_LCASE"))
    spark.ingest(tmp_path / "pages.np", spark.build_runs(df, str(tmp_path / "r"), id=None, key="url", text="text"))
    with nearprint.open(tmp_path / "pages.np") as database:
        found = {
            key: text
            for row in database.rows().table()
            for key, text in database.texts_of(row["fingerprint"], row["id"]).items()
        }
    assert found == {"a": "one text of some words", "A": "another", "b": ""}
