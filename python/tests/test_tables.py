"""Results as tables of other libraries, and tables of other libraries as rows."""

from __future__ import annotations

import datetime
import decimal
import errno
import gc
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import nearprint

from .conftest import near_duplicates, numbers_of, rows_of


def fetched(sql: str, **tables: Any) -> list[Any]:
    """The rows of a query over some tables, by their names."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(sql).fetchall()


@pytest.fixture
def database(path: Path) -> Iterator[nearprint.Database]:
    numbers = rows_of(near_duplicates(64, 70_000), 64)
    with nearprint.build(path, numbers, keys=[f"k{index}" for index in range(len(numbers))]) as database:
        yield database


def test_results_are_tables_of_other_libraries() -> None:
    for width in (64, 128, 256, 320):
        found = nearprint.find_all(rows_of(near_duplicates(width, 500), width), 3)
        assert len(found) > 20
        values = [row["distance"] for row in found]
        for table in (polars.DataFrame(found), pyarrow.table(found), found.to_pandas()):
            assert list(getattr(table, "column_names", None) or table.columns) == ["a", "b", "distance"]
            assert list(np.asarray(table["distance"])) == values == found["distance"].tolist()
        assert fetched("select count(*), sum(distance) from found", found=found) == [(len(found), sum(values))]
        assert [row["a"] for row in found] == numbers_of(found["a"])
    assert len(nearprint.find_all([], 3).to_polars()) == 0


def test_streams_are_tables_of_other_libraries(database: nearprint.Database) -> None:
    count = len(database)
    assert count > 65_536, "more than one block"
    counts = "select count(*), count(distinct id), max(key) from stream"
    assert fetched(counts, stream=database.rows())[0][:2] == (count, count)
    assert pyarrow.table(database.rows()).num_rows == polars.DataFrame(database.rows()).height == count
    assert pyarrow.RecordBatchReader.from_stream(database.rows()).schema.names == ["id", "fingerprint", "key"]
    assert len(database.rows().to_pandas()) == database.rows().to_arrow().num_rows == count
    reader = database.rows()
    pyarrow.RecordBatchReader.from_stream(reader)
    assert sum(len(block) for block in reader) == count, "looking at the schema takes nothing away"
    assert database.pairs(0).to_polars().columns == ["a", "b", "distance"]
    assert database.rows().to_pylist()[0].keys() == {"id", "fingerprint", "key"}


def test_regression_pandas_does_not_read_rows(database: nearprint.Database) -> None:
    """It would make a row of each block, numbers of wide fingerprints, and lose the columns of an empty table."""
    for table in (database.pairs(0), database.pairs(0).table()):
        makers: list[Any] = [pandas.DataFrame, np.asarray]
        for make in makers:
            with pytest.raises(TypeError, match="to_pandas"):
                make(table)
    assert list(database.pairs(0).to_pandas().columns) == ["a", "b", "distance"]


def test_regression_exhausted_streams_have_their_columns(database: nearprint.Database) -> None:
    for stream in (database.rows(), database.rows()):
        assert pyarrow.table(stream).num_rows == len(database)
        assert pyarrow.table(stream).column_names == list(stream.to_polars().columns) == ["id", "fingerprint", "key"]
        assert stream.table().columns == tuple(stream.to_pandas().columns) == ("id", "fingerprint", "key")
        stream.close()
        assert stream.table().columns == ("id", "fingerprint", "key")


def test_an_error_of_a_stream_goes_through_arrow(database: nearprint.Database) -> None:
    def stop(stage: str, done: int, total: Any) -> None:
        raise ValueError("stop here")

    with pytest.raises(Exception, match="stop here"):
        pyarrow.table(database.pairs(5, progress=stop))


def tables() -> dict[str, Any]:
    """Rows with bit patterns of fingerprints and ids, and keys, in one form after the other."""
    count = 3000
    prints = rows_of(near_duplicates(64, count), 64).view(np.int64)
    plain = {"print": prints, "number": np.arange(count) - 1000, "url": [f"u{index}" for index in range(count)]}
    arrow = pyarrow.table(plain)
    return {
        "dict": plain,
        "pandas": pandas.DataFrame(plain),
        "pyarrow": arrow,
        "batch": arrow.to_batches()[0],
        "reader": arrow.to_reader(max_chunksize=700),
        "polars": polars.DataFrame(plain),
        "duckdb": duckdb.from_arrow(arrow),
        "result": nearprint.Result({name: np.asarray(column) for name, column in plain.items()}),
    }


@pytest.mark.parametrize("kind", tables())
def test_tables_are_rows(kind: str, tmp_path: Path) -> None:
    names: dict[str, Any] = {"fingerprint": "print", "id": "number", "key": "url"}
    plain = tables()["dict"]
    with nearprint.build(tmp_path / "built.np", tables()[kind], **names, signed=True) as built:
        assert len(built) == 3000
        with nearprint.create(tmp_path / "added.np", keys=True) as added:
            ids = added.add(tables()[kind], **names, signed=True)
            assert ids.tolist() == plain["number"].view(np.uint64).tolist()
            added.commit()
            assert list(added.rows().table()) == list(built.rows().table())
        found = built.query_batch(tables()[kind], 3, fingerprint="print", signed=True)
        expected = built.query_batch(plain["print"].view(np.uint64), 3)
        assert list(found) == list(expected) and found["query"].tolist()[-1] == 2999


def test_batches_of_a_stream_are_not_collected(tmp_path: Path) -> None:
    most = 0

    def batches() -> Iterator[pyarrow.RecordBatch]:
        nonlocal most
        for _ in range(50):
            yield pyarrow.record_batch({"fingerprint": np.random.default_rng(1).integers(0, 2**63, 20_000)})
            most = max(most, pyarrow.total_allocated_bytes())

    before = pyarrow.total_allocated_bytes()
    schema = pyarrow.schema({"fingerprint": pyarrow.int64()})
    with nearprint.build(tmp_path / "built.np", pyarrow.RecordBatchReader.from_batches(schema, batches())) as built:
        assert built.stats()["rows"] == 1_000_000
    assert most - before < 20 * 20_000 * 8
    empty = pyarrow.RecordBatchReader.from_batches(schema, iter([]))
    with nearprint.build(tmp_path / "empty.np", empty) as built:
        assert len(built) == 0
        assert len(built.query_batch(pyarrow.RecordBatchReader.from_batches(schema, iter([])))) == 0


def test_regression_iterators_of_batches_were_no_tables(tmp_path: Path) -> None:
    table = pyarrow.table({"fingerprint": pyarrow.array([1, 2**40 - 1], pyarrow.uint64()), "key": ["a", "b"]})
    with nearprint.create(tmp_path / "db.np", keys=True) as database:
        assert len(database.add(iter(table.to_batches(1)), key="key")) == 2
        assert len(database.upsert(batch for batch in table.to_batches(1))) == 2
        database.commit()
        found = database.query_batch(iter(table.select(["fingerprint"]).to_batches(1)))
        assert (found["query"].tolist(), found["key"].tolist()) == ([0, 1], ["a", "b"])
        assert not database.insert_if_new(iter(table.to_batches(1)), k=0).inserted.any()
        assert len(database) == 2


def test_misfits_of_tables_are_refused(tmp_path: Path) -> None:
    table = pyarrow.table({"print": [1, -1], "key": ["a", None]})

    def refused(why: str, given: Any, **options: Any) -> None:
        with pytest.raises((nearprint.InputError, TypeError), match=why):
            nearprint.build(tmp_path / "none.np", given, **options)

    refused("no column 'fingerprint', but print, key", table)
    refused("no column 'id'", table, fingerprint="print", id="id", signed=True)
    refused("signed=True", table, fingerprint="print")
    refused("item 1: NoneType is no key", table, fingerprint="print", key="key", signed=True)
    refused("a table has them as columns", table, ids=[1, 2])
    refused("a table is wanted, not list", [1, 2], fingerprint="print")
    refused("nulls among them", pyarrow.table({"fingerprint": [1, None]}))
    assert not (tmp_path / "none.np").exists()
    with nearprint.create(tmp_path / "some.np") as database:
        with pytest.raises(nearprint.InputError, match="only one of them"):
            database.nearest(1, 2, k=2)
        with pytest.raises(nearprint.InputError, match="ids or keys are needed"):
            database.upsert(table.select(["print"]), fingerprint="print", signed=True)


def test_a_stream_that_fails_builds_nothing(tmp_path: Path) -> None:
    def batches() -> Iterator[pyarrow.RecordBatch]:
        yield pyarrow.record_batch({"fingerprint": [1, 2]})
        raise ValueError("the source is gone")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"fingerprint": pyarrow.int64()}), batches())
    with pytest.raises(Exception, match="the source is gone"):
        nearprint.build(tmp_path / "none.np", reader)
    assert list(tmp_path.iterdir()) == []


def test_texts_are_found_by_the_recipe(tmp_path: Path) -> None:
    texts = ["the quick brown fox jumps over the lazy dog", "something else altogether, of seven words"]
    prints = nearprint.fingerprint(texts)
    with nearprint.build(tmp_path / "pages.np", prints, ids=[5, 6], recipe="minhash") as database:
        assert database.find("The quick brown fox jumps over the lazy dog!")["id"].tolist() == [5]
        found = database.find(texts[::-1], similarity=0.9)
        assert (found["query"].tolist(), found["id"].tolist()) == ([0, 1], [6, 5])
        with pytest.raises(nearprint.InputError, match=r"find\(\) takes texts"):
            database.query(texts[0])
        assert database.find([texts[0]] * 2, similarity=0.0, limit=1)["query"].tolist() == [0, 1]
    with nearprint.create(tmp_path / "plain.np") as database, pytest.raises(nearprint.InputError, match="no recipe"):
        database.find("text")


def test_errors_of_paths_are_those_of_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no database there") as missing:
        nearprint.open(tmp_path / "none.np")
    assert missing.value.errno == errno.ENOENT
    nearprint.create(tmp_path / "one.np").close()
    with pytest.raises(FileExistsError, match="exists") as exists:
        nearprint.create(tmp_path / "one.np")
    assert exists.value.errno == errno.EEXIST
    with pytest.raises(FileExistsError, match="exists"):
        nearprint.build(tmp_path / "one.np", [1])


def test_rows_and_columns_are_chosen() -> None:
    result = nearprint.find_all([0, 1, 3, 7], 1)
    assert result[0] == result[-3] == {"a": 0, "b": 1, "distance": 1} == next(iter(result))
    with pytest.raises(IndexError):
        result[3]
    assert result[np.int64(1)]["b"] == 3
    assert result[["b", "a"]].columns == ("b", "a") and len(result[["a"]]) == 3
    for rows in (result["a"] > 0, [1, 2], np.array([1, 2]), [False, True, True], slice(1, None)):
        assert result[rows]["b"].tolist() == [3, 7]
    assert len(result[[]]) == 0 and result[[]].columns == result.columns
    misfits: list[Any] = [[True], 1.5, None, [[1]], "c"]
    for misfit in misfits:
        with pytest.raises((IndexError, TypeError, KeyError)):
            result[misfit]
    assert result._ipython_key_completions_() == ["a", "b", "distance"]
    frame = pandas.DataFrame({"text": ["a b c", "d e f"]}, index=["x", "y"])
    assert list(nearprint.dedup(frame)[[1]].to_pandas().index) == ["y"]


def test_tables_and_reports_are_printed(tmp_path: Path) -> None:
    result = nearprint.find_all([0, 1, 6 << 40], 1)
    shown = str(result).splitlines()
    assert shown[0].split() == ["a", "b", "distance"] and shown[-1] == "[1 rows]"
    assert shown[1].split() == ["0" * 16, "0" * 15 + "1", "1"]
    wide = nearprint.find_all([2**127, 2**127 + 1], 1).hexadecimal()
    assert wide["a"].tolist() == ["8" + "0" * 31] and nearprint.find_all([*wide["a"], *wide["b"]], 1).columns
    assert wide.to_pandas()["b"].tolist() == ["8" + "0" * 30 + "1"]
    assert "0 rows" in repr(nearprint.find_all([], 1))
    long = nearprint.Result({"key": np.array(["long " * 90, "a\nb"], object)})
    assert [len(line) for line in str(long).splitlines()] == [40, 40, 40, 8]
    with nearprint.build(tmp_path / "corpus.np", [1, 2]) as database:
        assert "id, fingerprint" in repr(database.rows()) and database.rows().columns == ("id", "fingerprint")
        assert database.rows()._repr_html_().startswith("<pre>&lt;nearprint.Blocks")
        assert database.explain()._repr_html_().startswith("<pre>")
    (tmp_path / "pages.txt").write_text("one two three four\nOne two three four!\nother words\n")
    done = nearprint.dedup_files(tmp_path / "pages.txt", tmp_path / "out.txt", input_format="lines")
    assert str(done).splitlines()[0] == "3 records read: 2 kept, 1 duplicate (1 copy, 0 near) in 1 group"
    assert "<th>read</th><td>3</td>" in done._repr_html_()


def test_results_are_shown_in_notebooks() -> None:
    result = nearprint.Result({"id": np.arange(20, dtype=np.uint64), "key": np.array(["<b>"] * 20, object)})
    shown = result._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>" not in shown and "<p>20 rows</p>" in shown
    assert shown.count("<tr>") == 11


def test_regression_columns_of_a_table_have_one_length() -> None:
    with pytest.raises(nearprint.InputError, match=r"one length: 'text' has 3, 'n' has 2"):
        nearprint.dedup({"text": ["a b c", "a b c", "d e f"], "n": [1, 2]}, table="annotated")


@pytest.mark.parametrize("make", [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_regression_ids_and_keys_of_a_table_are_not_dropped(make: Any, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"id": [30, 10, 20], "fingerprint": [1, 2, 4], "key": ["c", "a", "b"]}
    with nearprint.build(tmp_path / "built.np", make(columns)) as built:
        assert built.keeps_keys
        assert [(row["id"], row["key"]) for row in built.rows().table()] == [(30, "c"), (10, "a"), (20, "b")]
        with nearprint.build(tmp_path / "again.np", built.rows()) as again:
            assert again.rows().table().to_pylist() == built.rows().table().to_pylist()
    with nearprint.create(tmp_path / "added.np") as added:
        with pytest.raises(nearprint.InputError, match="made without keys"):
            added.add(make(columns))
        ids = added.add(make({name: columns[name] for name in ("id", "fingerprint")}))
        assert ids.tolist() == [30, 10, 20]
        assert added.upsert(make({"id": [30], "fingerprint": [7]})).tolist() == [30]
        with pytest.raises(nearprint.InputError, match="ids or keys are needed"):
            added.upsert(make({"fingerprint": [7]}))
        with pytest.raises((nearprint.InputError, TypeError), match="key= takes texts as keys"):
            added.add(make({"id": ["x"], "fingerprint": [7]}))
        for delete in (added.delete_keys, added.delete_key_prefix):
            with pytest.raises(nearprint.InputError, match="made without keys"):
                delete("c")
        with pytest.raises((nearprint.InputError, TypeError), match="delete_keys and others take keys"):
            added.delete(["x"])
        with pytest.raises(nearprint.InputError, match=r"no column 'fingerprint', but body; fingerprint= .* text= of"):
            added.add(make({"body": ["a text"]}))
    # Whoever names one of them has chosen.
    with nearprint.build(tmp_path / "named.np", make(columns), key="key") as named:
        assert named.keeps_keys
        assert set(named.rows().table()["id"].tolist()).isdisjoint(columns["id"])


def test_regression_the_ids_of_a_table_of_texts_are_those_that_are_named(tmp_path: Path) -> None:
    texts = pandas.DataFrame({"number": [5, 6], "text": ["one two three four five", "six seven eight nine ten"]})
    with nearprint.build(tmp_path / "x.np", texts, id="number") as database:
        assert sorted(database.rows().table()["id"].tolist()) == [5, 6]
        assert database.find("one two three four five")["id"].tolist() == [5]
    with pytest.raises(nearprint.InputError, match="ids and id"):
        nearprint.build(tmp_path / "y.np", texts, [1, 2], id="number")


@pytest.mark.parametrize("make", [list, pandas.Series, polars.Series, pyarrow.array])
@pytest.mark.parametrize("width", [64, 128, 256, 320])
def test_regression_digits_and_bytes_have_their_width(make: Any, width: int, tmp_path: Path) -> None:
    numbers = [1, 2**width - 1]
    for index, column in enumerate(
        ([f"{number:0{width // 4}x}" for number in numbers], [number.to_bytes(width // 8, "big") for number in numbers])
    ):
        for rows in (make(column), {"fingerprint": make(column)}, polars.DataFrame({"fingerprint": column})):
            path = tmp_path / f"{index}.np"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                with nearprint.build(path, rows) as database:
                    assert database.width == width
                    assert numbers_of(database.rows().table()["fingerprint"]) == numbers
            shutil.rmtree(path)


def test_hexadecimal_results_are_rows(tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "x.np", rows_of(near_duplicates(128, 100), 128)) as database:
        rows = database.rows().table()
        with nearprint.build(tmp_path / "y.np", rows.hexadecimal()) as again:
            assert again.width == 128 and again.rows().table().to_pylist() == rows.to_pylist()


def test_regression_texts_that_cannot_be_read_make_no_database(tmp_path: Path) -> None:
    def texts() -> Iterator[str]:
        yield "one text"
        raise RuntimeError("the source has failed")

    with pytest.raises(RuntimeError):
        nearprint.dedup(texts(), database=tmp_path / "x.np")
    with pytest.raises(nearprint.InputError, match="no column 'text'"):
        nearprint.dedup({"words": ["one text"]}, database=tmp_path / "x.np")
    assert not list(tmp_path.iterdir())


def test_regression_a_query_over_a_stream_is_read_back() -> None:
    # DuckDB releases the interpreter's lock while it reads the stream inside of a call of ours: the process ended.
    program = """
import duckdb, nearprint, tempfile
with tempfile.TemporaryDirectory() as home:
    with nearprint.build(home + "/a.np", range(1000), k=1) as a:
        for number in range(30):
            rows = a.rows()
            some = duckdb.sql("SELECT * FROM rows WHERE id > 9")
            nearprint.build(f"{home}/{number}.np", some).close()
        pairs = a.pairs()
        assert len(nearprint.build(home + "/b.np", duckdb.sql("SELECT a AS fingerprint FROM pairs"))) > 0
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_regression_rows_without_features_were_never_found(tmp_path: Path) -> None:
    texts = ["one two three four five six seven", "completely different words in here now"]
    made = nearprint.build(tmp_path / "a.np", texts, keys=["x", "y"])
    with made, nearprint.create(tmp_path / "b.np", recipe="minhash", features=True) as database:
        for given in (made.rows(), made.rows().table().to_pandas()):
            with pytest.raises(nearprint.InputError, match=r"stores features of texts.*add_texts"):
                database.add(given)
        with pytest.raises(nearprint.InputError, match="stores features of texts"):
            database.add(nearprint.fingerprint(texts), keys=["x", "y"])
        with pytest.raises(nearprint.InputError, match="add_texts"):
            database.add(texts, keys=["x", "y"])
        database.add_texts(texts, keys=["x", "y"])
        database.commit()
        assert database.find(texts[0])["key"].tolist() == ["x"]
        with pytest.raises(nearprint.InputError, match="missing='skip' accepts") as refused:
            database.add_texts([None])
    with nearprint.create(tmp_path / "c.np", recipe="minhash", texts=True) as database:
        with pytest.warns(UserWarning, match=r"stores texts, without which .* add_texts\(\) stores them"):
            database.add(nearprint.fingerprint(texts), keys=["x", "y"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            database.upsert(nearprint.fingerprint(texts), keys=["x", "y"], texts=texts)
        database.commit()
        assert database.find(texts[0])["key"].tolist() == ["x"]
        assert "keep" not in str(refused.value)


def test_regression_a_limit_counts_rows(tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "a.np", [7, 7, 6], ids=[1, 1, 2], keys=["a", "b", "c"]) as database:
        for found in (database.query(7, 3, limit=1), database.query_batch([7], 3, limit=1), database.nearest(7)):
            assert sorted(found["key"].tolist()) == ["a", "b"]


def test_regression_frames_of_wide_fingerprints_have_their_width(tmp_path: Path) -> None:
    prints = nearprint.fingerprint(["one two three four five six seven", "completely different words in here now"])
    frame = pandas.DataFrame({"fingerprint": list(np.asarray(prints))})
    with nearprint.build(tmp_path / "x.np", frame, kind="hamming") as database:
        assert database.width == 256
    with pytest.raises(nearprint.InputError, match="width= sets another width"):
        nearprint.build(tmp_path / "y.np", [2**100])


def test_files_that_are_missing_are_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nope\.jsonl"):
        nearprint.dedup_files(tmp_path / "nope.jsonl", tmp_path / "out.jsonl")


def test_regression_keys_of_a_table_of_texts_are_not_dropped(tmp_path: Path) -> None:
    rows = {"text": ["one two three four", "five six seven eight"], "key": ["a", "b"]}
    with nearprint.build(tmp_path / "x.np", pandas.DataFrame(rows)) as database:
        assert sorted(database.rows().table()["key"].tolist()) == ["a", "b"]
        database.add_texts({"text": ["nine ten eleven twelve"], "key": ["c"]})
        database.commit()
        assert database.find("nine ten eleven twelve")["key"].tolist() == ["c"]
        # Rows without features and without keys are found by nobody, either.
        with pytest.raises(nearprint.InputError, match="stores features"):
            database.add(np.ones((1, 4), np.uint64))


def test_regression_one_wrong_value_makes_no_texts_of_fingerprints(tmp_path: Path) -> None:
    digits = [f"{number:016x}" for number in (1, 2, 3)]
    for wrong in ("n/a", " 000000000000000", "000000000000000g", "0" * 17):
        with pytest.raises(nearprint.InputError, match="item 3"):
            nearprint.build(tmp_path / "x.np", [*digits, wrong])
        with pytest.raises(nearprint.InputError, match="item 3"):
            nearprint.find_all([*digits, wrong], 3)
    assert not list(tmp_path.iterdir())
    with nearprint.build(tmp_path / "x.np", ["added", "dead beef and more words"]) as database:
        assert database.recipe is not None


def test_kept_texts_that_are_forgotten_are_warned_of(tmp_path: Path) -> None:
    kept = nearprint.Kept(tmp_path / "x.np")
    assert kept(["one two three four"]) == [True]
    with pytest.warns(ResourceWarning, match="1 kept texts that were not committed"):
        del kept
        gc.collect()
    with warnings.catch_warnings(), nearprint.Kept(tmp_path / "y.np") as stored:
        warnings.simplefilter("error")
        assert stored(["one two three four"]) == [True]
    with nearprint.open(tmp_path / "y.np") as database:
        assert len(database) == 1


def test_regression_rows_with_and_without_keys_go_back_in(tmp_path: Path) -> None:
    with nearprint.create(tmp_path / "a.np", keys=True) as made:
        made.add([1], keys=["a"])
        made.add([100, 101], ids=[5, 6])
        made.commit()
        rows = made.rows().table().to_pylist()
        with nearprint.build(tmp_path / "b.np", made.rows()) as built:
            assert built.rows().table().to_pylist() == rows
        with nearprint.create(tmp_path / "c.np", keys=True) as added:
            assert sorted(added.add(made.rows().table().to_pandas()).tolist()) == sorted(row["id"] for row in rows)
            added.commit()
            assert added.rows().table().to_pylist() == rows
            with pytest.raises(TypeError, match="inserted apart"):
                added.insert_if_new(made.rows(), 0)
            with pytest.raises(TypeError, match="need ids"):
                added.add({"fingerprint": [1, 2], "key": ["a", None]})


@pytest.mark.parametrize("make", [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_regression_numbers_are_keys(make: Any, tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "x.np", make({"fingerprint": [1, 2], "key": [10, 20]})) as database:
        assert database.rows().table()["key"].tolist() == ["10", "20"]
    with nearprint.build(tmp_path / "y.np", {"fingerprint": [1, 2], "id": [5, 6], "key": [None, 20]}) as database:
        assert database.rows().table()["key"].tolist() == [None, "20"]


def test_regression_a_stream_that_is_not_returned_stores_nothing(tmp_path: Path) -> None:
    day = pyarrow.table({"text": ["one two three four five six", "something else altogether here"]})
    for table in ("kept", "annotated"):
        with pytest.raises(nearprint.InputError, match="read once"):
            nearprint.dedup(day.to_reader(), table=table, database=tmp_path / "x.np")
    assert not list(tmp_path.iterdir())
    assert nearprint.dedup(day, table="kept", database=tmp_path / "x.np").num_rows == 2


def test_regression_what_is_filtered_after_the_block_is_refused(tmp_path: Path) -> None:
    with nearprint.Kept(tmp_path / "x.np") as kept:
        lazy = filter(kept, ["one two three four five six"])
    with pytest.raises(nearprint.Error, match="its `with` block has ended"):
        list(lazy)
    with kept:
        assert kept(["one two three four five six"]) == [True]
    with nearprint.open(tmp_path / "x.np") as database:
        assert len(database) == 1


def test_regression_columns_of_a_printed_result_were_cut_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {name: np.array([16629034431890738719], np.uint64) for name in ("one", "two", "three")}
    monkeypatch.setenv("COLUMNS", "50")
    result = nearprint.Result(columns)
    assert str(result).splitlines()[1:] == ["16629034431890738719  16629034431890738719", "[1 rows, and columns three]"]
    monkeypatch.setenv("COLUMNS", "70")
    assert str(result).splitlines()[0].split() == ["one", "two", "three"]


def test_regression_an_older_row_with_a_key_replaced_a_newer_one_without(tmp_path: Path) -> None:
    """Of the rows of one id, the last one stays: rows with keys came before all others."""
    rows = [(10, 1, "a"), (20, 1, None), (30, 2, None), (40, 2, "b"), (50, 3, "c"), (60, 3, None), (70, 3, None)]
    fingerprints, ids, keys = (list(column) for column in zip(*rows))
    for make in (dict, pandas.DataFrame, pyarrow.table):
        with nearprint.create(tmp_path / make.__name__, keys=True) as database:
            table = make({"fingerprint": fingerprints, "id": ids, "key": keys})
            assert database.upsert(table).tolist() == ids
            database.commit()
            found = [(row["fingerprint"], row["id"], row["key"]) for row in database.rows().table().to_pylist()]
            assert found == [(20, 1, None), (40, 2, "b"), (70, 3, None)]


def test_regression_texts_of_rows_without_a_key_were_dropped(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"fingerprint": [1, 2], "id": [5, 6], "key": ["a", None]}
    with nearprint.create(tmp_path / "x.np", keys=True, texts=True) as database:
        for call in (database.add, database.upsert):
            with pytest.raises(
                nearprint.InputError, match="texts: item 1: the row has no key, and texts are kept under"
            ):
                call({**rows, "text": ["first", "second"]}, text="text")
        assert len(database) == 0
        for number, nothing in enumerate((None, "", b"")):
            database.add({**rows, "id": [5, 10 + number], "text": ["first", nothing]}, text="text")
        database.commit()
        assert len(database) == 4 and database.texts_of(1, 5) == {"a": "first"}
        with pytest.raises(TypeError, match="texts: item 0: NoneType is no text"):
            database.add({**rows, "text": [None, None]}, text="text")
    with pytest.raises(nearprint.InputError, match="item 1: the row has no key"):
        nearprint.build(tmp_path / "y.np", {**rows, "text": ["first", "second"]}, text="text")


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([decimal.Decimal("1.50"), decimal.Decimal("2.25")]),
        pyarrow.array([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]),
        pyarrow.array([1, 2], pyarrow.timestamp("ms")),
        pyarrow.array([1, 2], pyarrow.time64("us")),
        pyarrow.array([1, 2], pyarrow.duration("s")),
        pyarrow.array([1.0, 2.0]),
        pyarrow.array([True, False]),
    ],
    ids=lambda column: str(column.type),
)
def test_regression_keys_and_ids_were_the_digits_that_decimals_and_dates_are_stored_as(
    column: pyarrow.Array, tmp_path: Path
) -> None:
    texts = ["one two three four", "other words than those"]
    for table in (pyarrow.table, polars.from_arrow, lambda table: table.to_pandas()):
        prints: Any = pyarrow.table({"fingerprint": [1, 2], "value": column})
        of_texts: Any = pyarrow.table({"text": texts, "value": column})
        if table is not pyarrow.table:
            prints, of_texts = table(prints), table(of_texts)
        calls: list[Any] = [
            lambda prints=prints: nearprint.build(tmp_path / "a.np", prints, key="value"),
            lambda prints=prints: nearprint.build(tmp_path / "b.np", prints, id="value"),
            lambda of_texts=of_texts: nearprint.build(tmp_path / "c.np", of_texts, key="value"),
            lambda of_texts=of_texts: nearprint.build(tmp_path / "d.np", of_texts, id="value"),
            lambda of_texts=of_texts: nearprint.dedup(of_texts, key="value", database=tmp_path / "e.np"),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"^(keys|ids): "):
                call()
    for kind in (pyarrow.string(), pyarrow.large_string()):
        if pyarrow.types.is_duration(column.type) or pyarrow.types.is_boolean(column.type):
            continue
        made = pyarrow.table({"fingerprint": [1, 2], "key": column.cast(kind)})
        with nearprint.build(tmp_path / f"{kind}.np", made) as database:
            assert sorted(database.rows().table()["key"].tolist()) == sorted(column.cast(kind).to_pylist())


def test_integers_of_duckdb_are_keys_and_ids(tmp_path: Path) -> None:
    """Large ones are decimals in Arrow, without places."""
    columns = "(n + 1)::HUGEINT AS value, 'text number ' || n AS text"
    rows = duckdb.sql(f"SELECT {columns} FROM range(2) AS all_rows(n)")
    with nearprint.build(tmp_path / "keys.np", rows, key="value") as database:
        assert sorted(database.rows().table()["key"].tolist()) == ["1", "2"]
    with nearprint.build(tmp_path / "ids.np", rows, id="value") as database:
        assert sorted(database.rows().table()["id"].tolist()) == [1, 2]


def test_regression_numbers_beside_missing_ones_had_an_error_without_a_way_out(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"fingerprint": [1, 2], "id": [5, 6], "key": [7, None]})
    texts = pandas.DataFrame({"text": ["one two three", "four five six"], "key": [7, 1.5]})
    for call in (
        lambda: nearprint.build(tmp_path / "x.np", frame),
        lambda: nearprint.dedup(texts, key="key", database=tmp_path / "y.np"),
    ):
        with pytest.raises(TypeError, match=r"item 0: float is no key: a text is wanted; integers .* 'Int64'"):
            call()
    with nearprint.build(tmp_path / "z.np", frame.astype({"key": "Int64"})) as database:
        assert database.rows().table()["key"].tolist() == ["7", None]
