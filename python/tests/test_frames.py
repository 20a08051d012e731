"""Texts as the unit: lists and tables of every library, against brute force over exact similarities."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import pickle
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest

import nearprint

#: It has no wheel for every Python.
datasets: Any = importlib.import_module("datasets") if find_spec("datasets") else None
needs_datasets = pytest.mark.skipif(datasets is None, reason="Hugging Face is not installed")
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)} or {tuple(words)}


def similarity(a: str, b: str) -> float:
    """The share of the shingles of three words in common."""
    return len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))


def texts_of(count: int, seed: int = 3) -> list[str]:
    """Texts; half are earlier ones with some words changed."""
    source = random.Random(seed)
    texts: list[str] = []
    for index in range(count):
        words = source.choice(texts).split() if index % 2 else [f"word{source.randrange(300)}" for _ in range(60)]
        for _ in range(source.randrange(4) if index % 2 else 0):
            words[source.randrange(60)] = f"word{source.randrange(300)}"
        texts.append(" ".join(words))
    return texts


def from_hugging_face(table: Any) -> list[Any]:
    return [dict(row) for row in table]


#: Makes a table of columns, and lists the rows of one, for every kind.
KINDS: dict[str, Any] = {
    "dict": (dict, lambda table: [dict(zip(table, row)) for row in zip(*table.values())]),
    "pandas": (lambda columns: pandas.DataFrame(columns).set_index("id", drop=False), lambda t: t.to_dict("records")),
    "polars": (polars.DataFrame, lambda table: table.to_dicts()),
    "lazy": (polars.LazyFrame, lambda table: table.collect().to_dicts()),
    "pyarrow": (pyarrow.table, lambda table: table.to_pylist()),
    "batch": (pyarrow.record_batch, lambda table: table.to_pylist()),
    "dataset": (lambda columns: pyarrow.dataset.dataset(pyarrow.table(columns)), lambda t: t.to_table().to_pylist()),
    "duckdb": (
        lambda columns: duckdb.from_arrow(pyarrow.table(columns)),
        lambda table: pyarrow.table(table).to_pylist(),
    ),
}
OF_HUGGING_FACE: dict[str, Any] = {
    "hugging face": (lambda columns: datasets.Dataset.from_dict(columns), from_hugging_face),
    "hugging face stream": (
        lambda columns: datasets.Dataset.from_dict(columns).to_iterable_dataset(),
        from_hugging_face,
    ),
    "hugging face splits": (
        lambda columns: datasets.DatasetDict(
            {
                name: datasets.Dataset.from_dict({key: column[start::2] for key, column in columns.items()})
                for start, name in enumerate(("train", "test"))
            }
        ),
        lambda table: [row for split in table.values() for row in from_hugging_face(split)],
    ),
}
KINDS.update(OF_HUGGING_FACE if datasets else {})


@hypothesis.given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=3, max_size=9).map(" ".join), min_size=1, max_size=12),
    st.sampled_from(sorted(KINDS)),
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_frames_of_every_kind_have_the_decisions_of_lists(texts: list[str], kind: str) -> None:
    make, rows_of = KINDS[kind]
    order = list(range(len(texts)))
    columns = {"id": order, "text": texts}
    if kind == "hugging face splits":
        order = order[::2] + order[1::2]
    ordered = [texts[at] for at in order]
    decided = nearprint.dedup(ordered, similarity=0.6)
    # What is left out is as near as it says, and copies are left out: by the definition.
    for at, (of, near) in enumerate(zip(decided["duplicate_of"].tolist(), decided["similarity"].tolist())):
        copies = [other for other in range(at) if shingles(ordered[other]) == shingles(ordered[at])]
        if of < 0:
            assert not copies
        else:
            assert near == pytest.approx(similarity(ordered[at], ordered[of])) and near >= 0.6
    kept = [order[at] for at in np.flatnonzero(decided["kept"])]
    table = make(columns)
    found = nearprint.dedup(table, similarity=0.6)
    for name, column in decided.items():
        assert np.array_equal(found[name], column, equal_nan=name == "similarity"), name
    unique = nearprint.dedup(table, similarity=0.6, table="kept")
    assert type(unique) is type(table)
    assert [(row["id"], row["text"]) for row in rows_of(unique)] == [(at, texts[at]) for at in kept]
    annotated = nearprint.dedup(table, similarity=0.6, table="annotated")
    assert type(annotated) is type(table)
    assert [(row["id"], row["kept"], row["duplicate_of"]) for row in rows_of(annotated)] == list(
        zip(order, decided["kept"].tolist(), decided["duplicate_of"].tolist())
    )


def test_regression_a_query_is_run_once() -> None:
    """Decisions were given to rows by their places in another run."""
    texts = [" ".join(f"word{number * 5 + at}" for at in range(5)) for number in range(3000) for _ in range(2)]
    rows = pyarrow.table({"n": range(6000), "text": texts})
    connection = duckdb.connect()
    connection.register("rows", rows)
    shuffled = connection.sql("select * from rows order by random()")
    lazy = polars.DataFrame(rows).lazy()
    calls: list[int] = []

    def another_order(frame: polars.DataFrame) -> polars.DataFrame:
        calls.append(len(calls))
        return frame.sample(fraction=1, shuffle=True, seed=len(calls))

    queries: list[tuple[Any, Any]] = [
        (shuffled, lambda table: pyarrow.table(table).to_pylist()),
        (lazy.map_batches(another_order), lambda table: table.collect().to_dicts()),
        (lazy.unique(), lambda table: table.collect(engine="streaming").to_dicts()),
    ]
    for table, rows_of in queries:
        kept = rows_of(nearprint.dedup(table, table="kept"))
        assert len(kept) == len({row["text"] for row in kept}) == 3000
        annotated = rows_of(nearprint.dedup(table, table="annotated"))
        assert len({row["text"] for row in annotated if row["kept"]}) == 3000
        assert len({row["n"] for row in annotated}) == 6000
    assert len(calls) == 2
    # A part of the rows and of the columns of what was held.
    unique = nearprint.dedup(lazy.unique(), table="kept", keep="max:n")
    assert unique.filter(polars.col("n") < 100).select("n").sort("n").collect()["n"].to_list() == list(range(1, 100, 2))
    assert unique.head(3).collect().height == 3


def test_regression_queries_of_polars_before_1_34(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(polars.LazyFrame, "collect_batches")
    lazy = polars.LazyFrame({"text": ["one two three four", "one two three four", "something else"]})
    kept = nearprint.dedup(lazy, table="kept")
    assert kept.collect()["text"].to_list() == ["one two three four", "something else"]


@needs_datasets
def test_regression_a_stream_in_another_order_is_refused() -> None:
    texts, source = texts_of(3000), random.Random(1)

    def generated() -> Any:
        yield from ({"text": text} for text in source.sample(texts, len(texts)))

    stream = datasets.IterableDataset.from_generator(generated)
    for returned in ("kept", "annotated"):
        with pytest.raises(nearprint.InputError, match="another order"):
            list(nearprint.dedup(stream, table=returned))


def test_regression_columns_are_those_that_are_meant(tmp_path: Path) -> None:
    twice = pandas.DataFrame([["one two", "three four"]] * 3, columns=["text", "text"])
    for table in (twice, pyarrow.table([["a"], ["b"]], names=["text", "text"])):
        for call in (nearprint.dedup, nearprint.pairs, nearprint.Kept().decide):
            with pytest.raises(nearprint.InputError, match="2 columns 'text'"):
                call(table)
    with pytest.raises(nearprint.InputError, match="2 columns 'fingerprint'"):
        nearprint.build(tmp_path / "a.np", pandas.DataFrame([[1, 2]], columns=["fingerprint"] * 2))
    assert nearprint.dedup(pandas.DataFrame({"text": ["a"], "column_names": ["b"]}))["kept"].tolist() == [True]
    for name in sorted(KINDS):
        table = KINDS[name][0]({"id": [1, 2], "text": ["a b c", "d e f"], "similarity": [7, 8]})
        with pytest.raises(nearprint.InputError, match="similarity: is a column already"):
            nearprint.dedup(table, table="annotated")
        assert [row["similarity"] for row in KINDS[name][1](nearprint.dedup(table, table="kept"))] == [7, 8]


def test_regression_a_frame_of_pandas_keeps_its_index() -> None:
    frame = pandas.DataFrame({"text": ["one two three four", "One two three four", "other words"]}, index=list("xyz"))
    joined = frame.join(nearprint.dedup(frame).to_pandas())
    assert joined["kept"].tolist() == [True, False, True] and list(joined.index) == list("xyz")
    assert list(nearprint.dedup(frame["text"])[1:].to_pandas().index) == list("yz")
    assert list(nearprint.dedup(frame, table="kept").index) == list("xz")


def test_pairs_and_clusters_of_texts_are_exact() -> None:
    texts = texts_of(120)
    expected = {
        (a, b): similarity(texts[a], texts[b])
        for a, b in itertools.combinations(range(120), 2)
        if similarity(texts[a], texts[b]) >= 0.7
    }
    for given in (texts, pandas.Series(texts), {"text": texts}, pyarrow.array(texts)):
        found = nearprint.pairs(given, similarity=0.7)
        pairs = dict(zip(zip(found["a"].tolist(), found["b"].tolist()), found["similarity"].tolist()))
        assert pairs == pytest.approx(expected) and list(pairs) == sorted(pairs)
    clusters = nearprint.clusters(texts, similarity=0.7)
    roots = list(range(120))
    for a, b in sorted(expected):
        smaller, larger = sorted((roots[a], roots[b]))
        roots = [smaller if root == larger else root for root in roots]
    members = {at for pair in expected for at in pair}
    assert list(zip(clusters["cluster"].tolist(), clusters["index"].tolist())) == sorted(
        (roots[at], at) for at in members
    )
    estimated = nearprint.pairs(texts, k=20)
    assert estimated.columns == ("a", "b", "distance") and estimated["distance"].max() <= 20
    assert len(nearprint.pairs([None, "a b c", None], missing="keep")) == len(nearprint.clusters([])) == 0
    assert nearprint.pairs(["a b c d", "a b c d"], recipe="simhash").to_pylist() == [{"a": 0, "b": 1, "distance": 0}]


def test_a_database_of_texts(tmp_path: Path) -> None:
    texts = texts_of(60)
    with nearprint.build(tmp_path / "corpus.np", texts, keys=[f"u{at}" for at in range(60)]) as database:
        assert database.stats()["keys"] == "keys and features"
        assert database.recipe == nearprint.recipe_line("minhash") and len(database) == 60
        for given in (texts, pandas.DataFrame({"text": texts}), pyarrow.array(texts)):
            found = database.find(given, similarity=0.8)
            expected = {
                (a, f"u{b}"): similarity(texts[a], texts[b])
                for a, b in itertools.product(range(60), repeat=2)
                if similarity(texts[a], texts[b]) >= 0.8
            }
            pairs = dict(zip(zip(found["query"].tolist(), found["key"]), found["similarity"].tolist()))
            assert pairs == pytest.approx(expected)
        added = database.add_texts({"text": ["some new words here", "more"], "url": ["new", 7]}, key="url")
        database.commit()
        assert database.ids_of_key("new").tolist() == [added[0]] and len(database.ids_of_key("7")) == 1
        missing: Any = ["a b c", None]
        assert len(database.add_texts(missing, missing="skip")) == 1
        with pytest.raises(nearprint.InputError, match="item 1: NoneType"):
            database.add_texts(missing)
        with pytest.raises(nearprint.InputError, match="1 keys for 2"):
            database.add_texts(["a", "b"], ["c"])
    for store, storage in (("texts", "keys and texts"), ("hashes", "keys and hashes"), ("keys", "keys")):
        options: dict[str, Any] = {"store": store, "similarity": 0.8}
        with nearprint.build(tmp_path / f"{store}.np", texts, **options) as database:
            assert database.stats()["keys"] == storage and "near=0.8" in str(database.recipe)
            assert 7 in database.find(texts[7])["id"]
    with nearprint.build(tmp_path / "own.np", pandas.Series(texts), range(100, 160), recipe="simhash") as database:
        assert 103 in database.find(texts[3], 0)["id"] and database.kind == "hamming"
    with nearprint.build(tmp_path / "prints.np", ["0x1", "0x2"]) as database:
        assert database.recipe is None, "hexadecimal texts are fingerprints"
    with pytest.raises(nearprint.InputError, match="these are texts"):
        nearprint.build(tmp_path / "refused.np", texts, width=64)
    with pytest.raises(nearprint.InputError, match="compares none"):
        nearprint.build(tmp_path / "refused.np", texts, recipe="simhash", store="features")
    assert not (tmp_path / "refused.np").exists()


def test_batches_of_every_day_are_compared_with_those_before(tmp_path: Path) -> None:
    texts, seen = texts_of(90), tmp_path / "seen.np"
    days = [
        pandas.DataFrame({"text": texts[day::3], "url": [f"u{at}" for at in range(day, 90, 3)]}) for day in range(3)
    ]
    at_once = nearprint.dedup([text for day in days for text in day["text"]])
    urls = [url for day in days for url in day["url"]]
    start = 0
    for day in days:
        found = nearprint.dedup(day, database=seen, key="url")
        part = at_once[start : start + len(day)]
        assert found["kept"].tolist() == part["kept"].tolist()
        expected = [None if of < 0 else urls[of] for of in part["duplicate_of"].tolist()]
        assert found["duplicate_key"].tolist() == expected
        here = [-1 if of < start else of - start for of in part["duplicate_of"].tolist()]
        assert found["duplicate_of"].tolist() == here
        start += len(day)
    again = nearprint.dedup(days[0], database=seen, key="url")
    assert not again["kept"].any() and (again["group"] == -1).all() and not again["group_size"].any()
    before = sorted((path.name, path.read_bytes()) for path in seen.iterdir() if path.is_file())
    met = nearprint.against([*texts, "quite another text of some words"], seen)
    assert met["kept"].tolist() == [False] * 90 + [True] and met["duplicate_key"][90] is None
    for text, key, near in zip(texts, met["duplicate_key"], met["similarity"].tolist()):
        assert near == pytest.approx(similarity(text, texts[int(key[1:])])) and near >= 0.7
    assert sorted((path.name, path.read_bytes()) for path in seen.iterdir() if path.is_file()) == before
    assert len(nearprint.against(days[0], seen, table="kept")) == 0
    assert nearprint.against(polars.DataFrame({"text": ["new words"]}), seen, table="kept").height == 1
    assert nearprint.against([None, "new words"], seen, missing="skip")["kept"].tolist() == [False, True]
    # What fails keeps nothing.
    failing = pandas.DataFrame({"text": ["entirely new words in here", None]})
    with pytest.raises(nearprint.InputError, match="item 1"):
        nearprint.dedup(failing, database=seen)
    assert nearprint.against(["entirely new words in here"], seen)["kept"].all()


def test_what_is_kept_goes_into_any_engine(tmp_path: Path) -> None:
    texts = texts_of(60)
    expected = nearprint.dedup(texts)
    kept = nearprint.Kept()
    first = kept.decide(texts[:30])
    assert first["duplicate_of"].tolist() == [
        None if of < 0 else str(of) for of in expected["duplicate_of"][:30].tolist()
    ]
    assert first["similarity"].tolist() == pytest.approx(expected["similarity"][:30].tolist(), nan_ok=True)
    # A copy has everything that was kept before it was made, with evidence.
    copies = [pickle.loads(pickle.dumps(kept)), kept]
    for copy in copies:
        assert copy(texts[30:]) == expected["kept"][30:].tolist()
    assert kept(texts[0]) is False and kept("some words of a new text") is True
    missing: Any = ["a b c d", None]
    assert kept(missing) == [True, True]
    assert kept.decide(missing, missing="skip")["kept"].tolist() == [False, False]

    unique = [text for text, is_kept in zip(texts, expected["kept"]) if is_kept]
    assert list(pandas.Series(texts)[nearprint.Kept()(pandas.Series(texts))]) == unique

    with nearprint.Kept(tmp_path / "kept.np", similarity=0.8) as durable:
        assert durable.decide(["one two three four five"], ["a"])["kept"].all()
        copy = pickle.loads(pickle.dumps(durable))
    assert copy.decide(["one two three four five"])["duplicate_of"].tolist() == ["a"]
    copy.close()
    with pytest.raises(KeyError), nearprint.Kept(tmp_path / "kept.np") as durable:
        durable.decide(["words that are not kept after an error"])
        raise KeyError
    assert nearprint.against(["words that are not kept after an error"], tmp_path / "kept.np")["kept"].all()


@needs_datasets
def test_regression_one_object_sees_every_row_of_hugging_face(tmp_path: Path) -> None:
    texts = texts_of(60)
    expected = nearprint.dedup(texts)["kept"].tolist()
    unique = [text for text, is_kept in zip(texts, expected) if is_kept]
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(str(tmp_path / "rows"))
    # Rows with files have a cache.
    for _ in range(2):
        rows, kept = datasets.load_from_disk(str(tmp_path / "rows")), nearprint.Kept()
        assert rows.filter(kept, input_columns="text", batched=True)["text"][:] == unique
        assert kept.decide(texts)["kept"].tolist() == [False] * 60, "it was called"
    rows = datasets.load_from_disk(str(tmp_path / "rows"))
    for given in (rows, rows.to_iterable_dataset()):
        for batched in (False, True):
            assert [row["text"] for row in given.filter(nearprint.Kept(), batched=batched)] == unique
        assert [row["text"] for row in given.filter(nearprint.Kept(), input_columns="text", batched=True)] == unique
    of_a_row: Any = nearprint.Kept()
    assert list(pandas.DataFrame({"text": texts}).apply(of_a_row, axis=1)) == expected
    assert nearprint.Kept()({"text": None}) is True
    row: Any = {"text": texts[0]}
    for call in (nearprint.dedup, nearprint.Kept().decide):
        with pytest.raises(TypeError, match="one text"):
            call(row)
    with pytest.raises(nearprint.Error, match="another copy"):
        rows.filter(nearprint.Kept(), input_columns="text", batched=True, num_proc=2)
    kept = nearprint.Kept()
    first, second = pickle.loads(pickle.dumps(kept)), pickle.loads(pickle.dumps(kept))
    assert first(texts) == expected and first(texts[0]) is False
    for copy in (second, pickle.loads(pickle.dumps(second))):
        with pytest.raises(nearprint.Error, match="another copy"):
            copy(texts)
    assert pickle.loads(pickle.dumps(first))(texts[0]) is False


@needs_datasets
def test_map_takes_the_columns_of_kept() -> None:
    rows, kept = datasets.Dataset.from_dict({"text": ["a b c d", "A b c d!", "other"]}), nearprint.Kept()
    mapped = rows.map(lambda batch: dict(kept.decide(batch["text"]).items()), batched=True)
    assert mapped["kept"][:] == [True, False, True] and mapped["duplicate_of"][:] == [None, "0", None]


def test_an_iterator_of_batches_is_read_once(tmp_path: Path) -> None:
    table = pyarrow.table({"text": ["a b c d", "A b c d!", "other"], "key": ["x", "y", "z"], "rank": [1, 2, 3]})

    def batches() -> Iterator[Any]:
        yield from table.to_batches(1)

    assert nearprint.dedup(batches())["kept"].tolist() == [True, False, True]
    found = nearprint.dedup(batches(), keep="max:rank", key="key", database=tmp_path / "seen.np")
    assert found["kept"].tolist() == [False, True, True] and found["duplicate_key"].tolist() == ["y", None, None]
    assert nearprint.pairs(batches(), similarity=0.7)["b"].tolist() == [1]
    with nearprint.build(tmp_path / "all.np", batches()) as database:
        assert database.find("other")["key"].tolist() == ["z"]
    with pytest.raises(nearprint.InputError, match="a generator is read once"):
        nearprint.dedup(batches(), table="kept")
    with pytest.raises(nearprint.InputError, match="no column 'text', but other"):
        nearprint.dedup(itertools.chain(batches(), [pyarrow.record_batch({"other": [1]})]))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_regression_copies_of_a_gone_object_all_kept_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    texts = ["one two three four five", "one two three four five", "six seven eight nine ten"]
    gone = pickle.dumps(nearprint.Kept())
    first, second = pickle.loads(gone), pickle.loads(gone)
    assert first(texts) == [True, False, True]
    with pytest.raises(nearprint.Error, match="another copy"):
        second(texts)
    program = f"import pickle; print(pickle.loads({gone!r})(['one two three four five']))"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 1 and "another copy" in child.stderr
    # One after another decides.
    del first, second
    gc.collect()
    assert pickle.loads(gone)(texts) == [True, False, True]
    gc.collect()
    assert os.listdir(tmp_path) == []
    # What others have put there stays.
    third = pickle.loads(gone)
    name = "-".join(third._claim.split(os.sep)[-2:])
    (tmp_path / name).write_text("not ours")
    assert third(texts) == [True, False, True]
    del third
    gc.collect()
    assert (tmp_path / name).read_text() == "not ours"


def test_an_unfinished_job_is_not_forgotten(tmp_path: Path) -> None:
    with nearprint.create(tmp_path / "seen.np", recipe="minhash", keys=True) as database:
        database.checkpoint = b"a job"
    for call in (partial(nearprint.dedup, database=tmp_path / "seen.np"), nearprint.Kept(tmp_path / "seen.np")):
        with pytest.raises(nearprint.Error, match="an unfinished job has to be finished first"):
            call(["a b c"])
    with nearprint.open(tmp_path / "seen.np") as database:
        assert database.checkpoint == b"a job"


def test_types_are_those_of_the_arguments(tmp_path: Path) -> None:
    """mypy, which reads this file, knows the type of each result, and each misspelt name."""
    texts = texts_of(9)
    frame, lazy = pandas.DataFrame({"text": texts}), polars.LazyFrame({"text": texts})
    kept: pandas.DataFrame = nearprint.dedup(frame, table="kept", database=tmp_path / "seen.np")
    query: polars.LazyFrame = nearprint.dedup(lazy, table="annotated")
    found: nearprint.Result = nearprint.dedup(lazy)
    near: nearprint.Result = nearprint.pairs(frame)
    left: pandas.DataFrame = nearprint.against(frame, tmp_path / "seen.np", table="kept")
    met: nearprint.Result = nearprint.against(frame, tmp_path / "seen.np")
    assert len(kept) == found["kept"].sum() and query.collect().height == len(met) == 9 and len(left) == 0
    assert near.columns == ("a", "b", "similarity")
    with pytest.raises(TypeError, match="simlarity"):
        nearprint.Kept(simlarity=0.8)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="simlarity"):
        nearprint.dedup(frame, simlarity=0.8)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="text_field"):
        nearprint.dedup_files(tmp_path, tmp_path / "out.jsonl", text_field="body")  # type: ignore[call-arg]


def test_regression_columns_of_views_are_filtered() -> None:
    """pyarrow has no function that takes rows of them."""
    columns = {"text": pyarrow.array(["a b c d", "A b c d!", "other"], pyarrow.string_view())}
    table = pyarrow.table({**columns, "bytes": pyarrow.array([b"1", b"2", None], pyarrow.binary_view())})
    expected = table.slice(0, 1).to_pylist() + table.slice(2).to_pylist()
    for given in (table, table.to_batches()[0], pyarrow.dataset.dataset(table)):
        kept: Any = nearprint.dedup(given, table="kept")
        assert kept.schema == table.schema
        assert (kept if hasattr(kept, "to_pylist") else kept.to_table()).to_pylist() == expected
    assert nearprint.dedup(dict(columns), table="kept")["text"].to_pylist() == ["a b c d", "other"]


def test_regression_columns_of_nulls_of_polars() -> None:
    frame = polars.DataFrame({"text": ["a b c d", "A b c d!", "other"], "none": [None] * 3})
    for given in (frame, frame.lazy()):
        assert nearprint.dedup(given, table="kept").lazy().collect().equals(frame[[0, 2]])
        assert nearprint.dedup(given, table="annotated").lazy().collect().width == 7
        assert nearprint.dedup(given, keep="max:none")["kept"].sum() == 2
        assert nearprint.dedup(given, text="none", missing="keep")["kept"].all()
        with pytest.raises(nearprint.InputError, match="item 0: NoneType"):
            nearprint.dedup(given, text="none")


def test_regression_kept_rows_passed_a_filter_by_similarity() -> None:
    """NaN is larger than all numbers in polars and in DuckDB."""
    texts = ["one two three four five six", "one two three four five six seven", "something else"]
    frame = polars.DataFrame({"text": texts})
    annotated = nearprint.dedup(frame, table="annotated")
    assert annotated.filter(polars.col("similarity") >= 0.8).height == 1
    relation = nearprint.dedup(duckdb.from_arrow(frame.to_arrow()), table="annotated")
    assert len(relation.filter("similarity >= 0.8")) == 1
    for result in (nearprint.dedup(texts).to_polars(), polars.DataFrame(nearprint.dedup(texts).to_arrow())):
        assert result["similarity"].null_count() == 2, result


def test_values_of_keep_are_those_of_a_label_of_several_levels_or_go_by_position() -> None:
    texts = ["a b c d", "A b c d!", "other"]
    frame = pandas.DataFrame({("page", "text"): texts, ("page", "rank"): [1, 2, 3]})
    by_position = pandas.Series([1, 2, 3], index=[2, 1, 0])
    for keep in ("max:('page', 'rank')", frame["page", "rank"], by_position):
        assert nearprint.dedup(frame, text=("page", "text"), keep=keep)["kept"].tolist() == [False, True, True]


def test_regression_labels_of_several_levels(tmp_path: Path) -> None:
    texts = ["a b c d", "A b c d!", "other"]
    frame = pandas.DataFrame({("page", "text"): texts, ("page", "url"): ["a", "b", "c"], ("score", ""): [1, 2, 3]})
    found = nearprint.dedup(frame, text=("page", "text"), key=("page", "url"), database=tmp_path / "seen.np")
    assert found["kept"].tolist() == [True, False, True] and found["duplicate_key"].tolist() == [None, "a", None]
    kept = nearprint.dedup(frame, text=("page", "text"), keep="max:score", table="kept")
    assert kept.equals(frame[[False, True, True]])
    annotated = nearprint.dedup(frame, text=("page", "text"), table="annotated")
    assert annotated["kept"].tolist() == [True, False, True] and len(frame.columns) == 3
    assert nearprint.dedup(pandas.DataFrame({("text", ""): texts}))["kept"].sum() == 2
    assert len(nearprint.pairs(frame, text=("page", "text"))) == 1
    with pytest.raises(nearprint.InputError, match="no column 'page'"):
        nearprint.dedup(frame, text="page")


def test_regression_lists_of_batches_and_scanners() -> None:
    table = pyarrow.table({"text": ["a b c d", "A b c d!", "other"]})
    batches = table.to_batches(max_chunksize=2)
    for given in (batches, tuple(batches), pyarrow.dataset.dataset(table).scanner()):
        assert nearprint.dedup(given)["kept"].tolist() == [True, False, True]
        assert len(nearprint.pairs(given)) == 1
    assert pyarrow.Table.from_batches(nearprint.dedup(batches, table="kept")).num_rows == 2
    assert pyarrow.Table.from_batches(nearprint.dedup(batches, table="annotated")).num_columns == 6
    with pytest.raises(nearprint.InputError, match="Scanner is read once"):
        nearprint.dedup(pyarrow.dataset.dataset(table).scanner(), table="kept")


def test_regression_a_relation_is_returned_on_a_connection(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.sql("CREATE TABLE pages AS SELECT 'a b c d' AS text, i FROM range(3) AS numbers(i)")
    kept = nearprint.dedup(connection.table("pages"), table="kept", con=connection)
    assert connection.sql("SELECT i FROM kept JOIN pages USING (i)").fetchall() == [(0,)] and kept.types
    nearprint.build(tmp_path / "seen.np", ["quite other words"]).close()
    rest = nearprint.against(connection.table("pages"), tmp_path / "seen.np", table="kept", con=connection)
    assert connection.sql("SELECT count(*) FROM rest").fetchall() == [(3,)] and rest.types
    for given, table in ((connection.table("pages"), None), (pandas.DataFrame({"text": ["a"]}), "kept")):
        with pytest.raises(nearprint.InputError, match="con: is for the table"):
            nearprint.dedup(given, table=table, con=connection)  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [*KINDS, "dict of arrays", "reader", "scanner", "batches"])
def test_regression_a_table_with_texts_becomes_a_database(tmp_path: Path, kind: str) -> None:
    columns = {"id": [1, 2], "text": ["one two three four", "one two three five six"]}
    arrow = pyarrow.table(columns)
    others = {
        "dict of arrays": {name: np.array(column) for name, column in columns.items()},
        "reader": arrow.to_reader(),
        "scanner": pyarrow.dataset.dataset(arrow).scanner(),
        "batches": arrow.to_batches(),
    }
    table = others[kind] if kind in others else KINDS[kind][0](columns)
    with nearprint.build(tmp_path / "corpus.np", table) as database:
        assert len(database) == 2 and database.find("one two three four")["similarity"].tolist() == [1.0]
    with nearprint.build(tmp_path / "prints.np", {"fingerprint": [1, 2], "text": ["a", "b"]}) as database:
        assert database.recipe is None and len(database) == 2
