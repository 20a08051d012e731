"""Thin modules over other libraries: polars, DuckDB, Hugging Face, scikit-learn, datatrove."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearprint

from .conftest import needs


def texts_of(count: int, seed: int = 3) -> list[str]:
    """Texts of which about half are near an earlier one."""
    source = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        words = source.choice(texts).split() if texts and source.random() < 0.6 else []
        words = words or [f"w{source.randrange(300)}" for _ in range(12)]
        for _ in range(source.randrange(3)):
            words[source.randrange(len(words))] = f"w{source.randrange(300)}"
        texts.append(" ".join(words))
    return texts


def test_a_module_is_imported_when_it_is_asked_for() -> None:
    program = """
import sys, nearprint
libraries = {"polars", "duckdb", "datasets", "sklearn", "datatrove", "pandas", "pyarrow", "ray", "dask"}
print(sorted(libraries & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_an_import_takes_few_modules_beyond_numpy() -> None:
    program = """
import sys, numpy
before = set(sys.modules)
import nearprint
print(len(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and int(done.stdout) <= 80, (done.stdout, done.stderr)


def test_the_modules_are_thin() -> None:
    folder = Path(nearprint.__file__).parent
    for name in ("datatrove", "duckdb", "huggingface", "polars", "sklearn"):
        assert len((folder / f"{name}.py").read_text("utf-8").splitlines()) <= 80, name


def test_namespaces_of_polars() -> None:
    needs("polars")
    import polars

    import nearprint.polars

    texts = texts_of(60)
    expected = nearprint.dedup(texts, similarity=0.8)
    for frame in (polars.DataFrame({"body": texts}), polars.LazyFrame({"body": texts})):
        own: Any = frame
        kept, annotated = own.nearprint.dedup("body", similarity=0.8), own.nearprint.annotate("body", similarity=0.8)
        assert type(kept) is type(annotated) is type(frame)
        assert kept.lazy().collect()["body"].to_list() == [
            text for text, is_kept in zip(texts, expected["kept"]) if is_kept
        ]
        assert annotated.lazy().collect()["duplicate_of"].to_list() == expected["duplicate_of"].tolist()
        assert own.nearprint.pairs("body").rows() == [tuple(row.values()) for row in nearprint.pairs(texts).to_pylist()]
        assert own.nearprint.clusters("body").height == len(nearprint.clusters(texts))


@pytest.mark.parametrize("recipe", ["simhash", "minhash", "simhash width=128"])
def test_expressions_of_polars(recipe: str) -> None:
    needs("polars")
    import polars

    import nearprint.polars

    frame = polars.DataFrame({"a": [*texts_of(9), None], "b": [None, *texts_of(9, 4)]})
    columns: Any = [polars.col("a"), polars.col("b")]
    prints = [column.nearprint.fingerprint(recipe) for column in columns]
    made = frame.select(*prints, prints[0].nearprint.distance(prints[1]).alias("distance"))
    assert made.dtypes == [polars.UInt64 if recipe == "simhash" else polars.Binary] * 2 + [polars.UInt32]
    for name in ("a", "b"):
        there = nearprint.Result({"fingerprint": nearprint.fingerprint(frame[name].drop_nulls(), recipe)}).to_polars()
        assert made[name].drop_nulls().to_list() == there["fingerprint"].to_list()
        assert made[name].is_null().to_list() == frame[name].is_null().to_list()
    expected = nearprint.distance(made["a"][1:9], made["b"][1:9])
    assert made["distance"].to_list() == [None, *expected.tolist(), None]
    query: Any = made.lazy().select(polars.col("a").nearprint.distance("b"))  # type: ignore[attr-defined]
    assert query.collect().to_series().to_list() == made["distance"].to_list()
    one: Any = polars.col("a").first()
    own: Any = polars.col("a")
    assert made.select(own.nearprint.distance(one)).to_series()[0] == 0
    nothing = frame.head(0).select(prints[0])
    assert nothing.height == 0 and nothing.dtypes == made.dtypes[:1]


def test_functions_of_duckdb(tmp_path: Path) -> None:
    needs("duckdb")
    import duckdb
    import pyarrow

    import nearprint.duckdb

    for recipe, kind in (("simhash", "UBIGINT"), ("minhash", "BLOB")):
        connection = duckdb.connect()
        nearprint.duckdb.register(connection, recipe=recipe)
        other = "nearprint_fingerprint('something else')"
        rows = connection.sql(
            f"SELECT nearprint_fingerprint(t) AS print, nearprint_distance(print, {other})"
            " FROM (VALUES ('one two three four'), ('something else'), (NULL)) AS of_texts(t)"
        )
        assert str(rows.types[0]) == kind
        found = rows.fetchall()
        prints = nearprint.fingerprint(["one two three four", "something else"], recipe)
        assert [row[1] for row in found] == [int(nearprint.distance(prints[:1], prints[1:])[0]), 0, None]
        assert found[2][0] is None
    texts = texts_of(5000)
    keys = [f"{number}" for number in range(len(texts))]
    with nearprint.build(tmp_path / "corpus.np", texts, keys=keys, similarity=0.8) as database:
        connection = duckdb.connect()
        nearprint.duckdb.register(connection, database)
        query = pyarrow.table({"t": [*texts, None, "words that are nowhere else"]})
        found = connection.sql("SELECT t, nearprint_find(t) FROM query").fetchall()
        expected: dict[int, list[str]] = {}
        for row in database.find(texts):
            expected.setdefault(row["query"], []).append(row["key"])
        answers = dict(found)
        assert query.num_rows == len(found) and answers[None] is None and answers["words that are nowhere else"] == []
        assert all(answers[text] == expected[number] for number, text in enumerate(texts))
        with pytest.raises(nearprint.InputError, match="no other recipe"):
            nearprint.duckdb.register(duckdb.connect(), database, "simhash")
        # A notebook registers them again.
        nearprint.duckdb.register(connection, database)
        assert dict(connection.sql("SELECT t, nearprint_find(t) FROM query").fetchall()) == answers
    with nearprint.create(tmp_path / "plain.np") as plain, pytest.raises(nearprint.InputError, match="with a recipe"):
        nearprint.duckdb.register(duckdb.connect(), plain)


def test_regression_distances_of_nothing_were_refused() -> None:
    needs("polars")
    needs("duckdb")
    import duckdb
    import polars

    import nearprint.duckdb
    import nearprint.polars

    connection = duckdb.connect()
    nearprint.duckdb.register(connection)
    one = "nearprint_fingerprint('one two three four')"
    for text, where, expected in (("NULL::VARCHAR", "", [(None,), (None,)]), ("'a b c d'", " WHERE n > 9", [])):
        rows = f"SELECT nearprint_distance(nearprint_fingerprint(t), {one}) FROM (SELECT {text} AS t, n"
        assert connection.sql(f"{rows} FROM (VALUES (1), (2)) AS of_numbers(n){where})").fetchall() == expected
    frame = polars.DataFrame({"t": ["one two three four", "five six"], "n": [1, 2]})
    for recipe in ("minhash", "simhash"):
        column: Any = polars.col("t")
        prints: Any = polars.col("p")
        made = frame.with_columns(column.nearprint.fingerprint(recipe).alias("p")).head(0)
        own = recipe if recipe == "minhash" else None
        for other in (prints, prints.first()):
            assert made.select(prints.nearprint.distance(other, recipe=own)).to_series().drop_nulls().to_list() == []


def test_results_in_the_cache_of_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets: Any = pytest.importorskip("datasets", reason="Hugging Face has no wheel for every Python")
    import nearprint.huggingface

    texts = texts_of(60)
    expected = nearprint.dedup(texts, similarity=0.8)
    datasets.Dataset.from_dict({"body": texts}).save_to_disk(str(tmp_path / "rows"))
    calls = []
    decide = nearprint.Kept.decide

    def counted(self: nearprint.Kept, *given: Any, **named: Any) -> Any:
        calls.append(len(given[0]))
        return decide(self, *given, **named)

    monkeypatch.setattr(nearprint.Kept, "decide", counted)
    for run in range(2):
        rows = datasets.load_from_disk(str(tmp_path / "rows"))
        unique = nearprint.huggingface.unique(rows, text="body", similarity=0.8)
        annotated = nearprint.huggingface.annotate(rows, text="body", similarity=0.8)
        assert unique["body"][:] == [text for text, is_kept in zip(texts, expected["kept"]) if is_kept]
        assert annotated["kept"][:] == expected["kept"].tolist()
        assert annotated["duplicate_of"][:] == expected["duplicate_of"].tolist()
        kept = [one is None for one in annotated["similarity"][:]]
        assert kept == expected["kept"].tolist(), "regression: it was NaN for a kept row"
        assert sum(calls) == 120, f"run {run} decides, and later ones read"
    assert len(nearprint.huggingface.unique(rows, text="body", similarity=0.95)) > len(unique)
    assert sum(calls) == 180
    with pytest.raises(nearprint.InputError, match="is a column already"):
        nearprint.huggingface.annotate(annotated, text="body")
    for call in (nearprint.huggingface.unique, nearprint.huggingface.annotate):
        with pytest.raises(TypeError, match="a DatasetDict, where a Dataset is wanted"):
            call(datasets.DatasetDict({"train": rows}), text="body")


def test_a_transformer_of_scikit_learn() -> None:
    needs("sklearn")
    import pandas
    from sklearn.base import clone
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    from nearprint.sklearn import NearDuplicateRemover

    texts = texts_of(40)
    expected = nearprint.dedup(texts, similarity=0.8)
    kept = np.flatnonzero(expected["kept"])
    remover = clone(NearDuplicateRemover(0.8))
    assert remover.get_params()["similarity"] == 0.8
    for given in (texts, np.array(texts), np.array(texts, object)):
        assert list(remover.fit_transform(given)) == [texts[place] for place in kept]
        assert list(pickle.loads(pickle.dumps(remover)).transform(given)) == [texts[place] for place in kept]
    rows, labels = remover.fit_resample(texts, list(range(40)))
    assert rows == [texts[place] for place in kept] and labels == kept.tolist()
    for wrong in ([0, 1], list(range(41))):
        with pytest.raises(ValueError, match=f"40 texts, and {len(wrong)} values of y"):
            remover.fit_resample(texts, wrong)
    assert remover.kept_.tolist() == expected["kept"].tolist()
    assert remover.duplicate_of_.tolist() == expected["duplicate_of"].tolist()
    frame = pandas.DataFrame({"body": texts, "label": range(40)})
    by_text = NearDuplicateRemover(0.8, text="body").fit_transform(frame)
    assert by_text["label"].tolist() == kept.tolist()
    words = make_pipeline(NearDuplicateRemover(0.8), TfidfVectorizer()).fit_transform(texts)
    assert words.shape[0] == len(kept)


def test_blocks_of_datatrove(tmp_path: Path) -> None:
    needs("datatrove")
    from datatrove.data import Document

    from nearprint.datatrove import FingerprintWriter, NearDuplicateFilter, unite

    texts, tasks = texts_of(300), 4
    documents = [Document(text, f"{number:05}") for number, text in enumerate(texts)]
    expected = [doc.id for doc, kept in zip(documents, nearprint.dedup(texts, similarity=0.8)["kept"]) if kept]
    one = NearDuplicateFilter(similarity=0.8)
    assert [doc.id for doc in pickle.loads(pickle.dumps(one))(iter(documents))] == expected
    assert one(iter([])) is not None and one.filter.__doc__ is None
    recipe, runs, united = "minhash near=0.8", str(tmp_path / "runs"), str(tmp_path / "united.np")
    parts = [documents[rank::tasks] for rank in range(tasks)]
    for rank in [*range(tasks), 1]:
        # The task that is repeated replaces what it has written.
        passed = list(FingerprintWriter(runs, recipe)(iter(parts[rank]), rank, tasks))
        assert passed == parts[rank]
    dropped = unite(runs, united, recipe)
    assert dropped == 300 - len(expected) and unite(runs, united, recipe) == 0
    left = [doc.id for rank in range(tasks) for doc in NearDuplicateFilter(united)(iter(parts[rank]), rank, tasks)]
    assert sorted(left) == expected


def test_regression_annotated_rows_without_any_lacked_the_new_columns() -> None:
    datasets: Any = pytest.importorskip("datasets", reason="Hugging Face has no wheel for every Python")
    import nearprint.huggingface

    rows = datasets.Dataset.from_dict({"text": ["one two three"], "n": [1]})
    full = nearprint.huggingface.annotate(rows)
    for empty in (rows.select([]), datasets.Dataset.from_dict({"text": [], "n": []}, rows.features)):
        annotated = nearprint.huggingface.annotate(empty)
        assert len(annotated) == 0 and annotated.features == full.features
        assert datasets.concatenate_datasets([annotated, full])["kept"][:] == [True]
        assert len(nearprint.huggingface.unique(empty)) == 0
        by_dedup = nearprint.dedup(empty, table="annotated")
        assert by_dedup.column_names == ["text", "n", "kept", "duplicate_of", "similarity", "group", "group_size"]
