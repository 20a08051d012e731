"""Deduplication from Python: lists, tables and files, by one implementation."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import random
import threading
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import nearprint

DAY = datetime.datetime(2026, 11, 25)


def texts_of(count: int) -> list[str]:
    """Texts; half are earlier ones with some words changed."""
    source = random.Random(5)
    words = [f"word{number}" for number in range(400)]
    texts: list[str] = []
    for index in range(count):
        text = source.choice(texts).split() if index % 2 and texts else source.choices(words, k=60)
        for _ in range(source.randrange(6)):
            text[source.randrange(len(text))] = source.choice(words)
        texts.append(" ".join(text))
    return texts


def test_lists_tables_and_files_give_the_same(tmp_path: Path) -> None:
    texts, scores = texts_of(300), [index * 7 % 31 for index in range(300)]
    expected = nearprint.dedup(texts, keep=scores)
    assert 50 < expected["kept"].sum() < 250
    assert (expected["kept"] == (expected["duplicate_of"] == -1)).all()
    table = pyarrow.table({"body": texts, "score": scores})
    frame = table.to_pandas()
    for given in (table, table.to_reader(), frame, polars.DataFrame(frame), {"body": texts, "score": scores}):
        found = nearprint.dedup(given, text="body", keep="max:score")
        assert found["duplicate_of"].tolist() == expected["duplicate_of"].tolist()
    pages, unique = tmp_path / "pages.jsonl", tmp_path / "unique.jsonl"
    pages.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    report = nearprint.dedup_files(pages, unique, text="body", keep="max:score", group_size=True)
    assert (report.read, report.kept) == (300, expected["kept"].sum())
    assert sum(report.by_similarity) == report.duplicates and report.copies is not None
    kept = [json.loads(line) for line in unique.read_text().splitlines()]
    assert [row["body"] for row in kept] == frame[expected["kept"]]["body"].tolist()
    assert [row["group_size"] for row in kept] == expected["group_size"][expected["kept"]].tolist()
    clusters = np.where(expected["kept"], np.arange(300), expected["duplicate_of"])
    assert (expected["group"] == clusters).all()
    assert expected["group_size"].tolist() == [(clusters == one).sum() for one in clusters]


def test_the_first_and_the_longest(tmp_path: Path) -> None:
    texts = ["one two three four five six seven", "one two three four five six seven eight", "other words, all of them"]
    first = nearprint.dedup(pandas.Series(texts))
    assert first["duplicate_of"].tolist() == [-1, 0, -1]
    assert np.isnan(first["similarity"]).tolist() == [True, False, True] and 0.5 < first["similarity"][1] <= 1
    assert nearprint.dedup(np.array(texts), keep="longest")["duplicate_of"].tolist() == [1, -1, -1]
    assert nearprint.dedup(texts, keep=[None, 5, None])["duplicate_of"].tolist() == [1, -1, -1]
    assert nearprint.dedup(texts, similarity="contained:0.99")["kept"].all()
    assert nearprint.dedup(texts, similarity=0.99)["kept"].all()
    assert nearprint.dedup([texts[0]] * 3, recipe="simhash", k=0)["duplicate_of"].tolist() == [-1, 0, 0]
    assert len(nearprint.dedup([])) == 0
    assert nearprint.dedup(["", "", "a b"], min_words=1)["kept"].tolist() == [False, False, True]


def test_databases_remember_and_jobs_resume(tmp_path: Path) -> None:
    pages, out, database = tmp_path / "pages.jsonl", tmp_path / "out.jsonl", tmp_path / "seen.np"
    pages.write_text("".join(json.dumps({"url": str(at), "text": text}) + "\n" for at, text in enumerate(texts_of(50))))
    options: dict[str, Any] = {"database": database, "key": "url", "duplicates": tmp_path / "duplicates.tsv"}
    first = nearprint.dedup_files([pages], out, **options)
    again = nearprint.dedup_files([pages], out, **options)
    assert again.already_complete and (again.kept, again.read) == (first.kept, 50)
    with nearprint.open(database) as opened:
        assert len(opened) == first.kept and opened.recipe == nearprint.recipe_line("minhash")
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(pages.read_bytes())
    later = nearprint.dedup_files([copy], tmp_path / "later.jsonl", **{**options, "annotate": True})
    assert later.kept == 0 and len((tmp_path / "later.jsonl").read_text().splitlines()) == 50


def test_misfits_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{")

    def refused(why: str, texts: Any, **options: Any) -> None:
        with pytest.raises((nearprint.InputError, TypeError), match=why):
            nearprint.dedup(texts, **options)

    refused("item 1: NoneType", ["a", None])
    refused("one text", "a")
    refused("1 values for 2", ["a", "b"], keep=[1])
    refused("3 values for 2", ["a", "b"], keep=[1, 2, 3])
    refused("item 0: list", ["a"], keep=[["b"]])
    refused('item 1: "b" cannot be ordered', ["a", "b"], keep=[1, "b"])
    refused('item 0: "noon" is no date', {"text": ["a"], "date": ["noon"]}, keep="newest:date")
    refused("'kept', 'annotated' or None", {"text": ["a"]}, table="all")
    refused("a table is wanted, not list", ["a"], table="kept")
    refused("read once", pyarrow.table({"text": ["a"]}).to_reader(), table="kept")
    refused("'error', 'keep' or 'skip'", ["a"], missing="mask")
    refused("a database, which is not given", ["a"], keys=["b"])
    refused("only one of them", {"text": ["a"]}, keys=["b"], key="text", database=tmp_path / "none.np")
    refused("1 keys for 2", ["a", "b"], keys=["b"], database=tmp_path / "none.np")
    refused("item 0: float is no key", ["a"], keys=[1.5], database=tmp_path / "none.np")
    refused("no column 'text', but a", {"a": ["b"]})
    refused("no column 'b'", {"text": ["b"]}, keep="max:b")
    refused("a table is wanted, not list", ["a"], keep="max:b")
    refused("first, last, longest", ["a"], keep="best")
    refused("first, last, longest", ["a"], keep="longest:")
    refused("recipe", ["a"], recipe="none")
    refused("only one of them", ["a"], k=3, similarity=0.5)
    refused("0 to 1", ["a"], similarity=5)
    refused("similarity: a number is wanted, not list", ["a"], similarity=[0.5])
    refused("contained:S", ["a"], similarity="cosine:1")
    refused("no valid Unicode", ["\ud800"])
    with pytest.raises(nearprint.InputError, match=r"bad\.jsonl:1"):
        nearprint.dedup_files(tmp_path / "bad.jsonl", tmp_path / "out")
    with pytest.raises(nearprint.InputError, match='input_format: "xml": no format'):
        nearprint.dedup_files(tmp_path / "bad.jsonl", tmp_path / "out", input_format="xml")


def test_progress_and_interruption(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts_of(3000)))
    seen: list[Any] = []
    nearprint.dedup_files(pages, tmp_path / "out", progress=lambda *reached: seen.append(reached))
    assert seen[-1][0] in ("reading", "merging", "tables")

    def stop(*_: Any) -> None:
        raise KeyError("enough")

    # One file under several names is read once.
    copies = [tmp_path / f"{number}.jsonl" for number in range(50)]
    for copy in copies:
        copy.write_bytes(pages.read_bytes())
    with pytest.raises(KeyError, match="enough"):
        nearprint.dedup_files(copies, tmp_path / "other", progress=stop)


def test_regression_values_of_any_kind_have_one_order() -> None:
    texts = ["one two three four five six seven"] * 5

    def first_kept(keep: Any, **columns: Any) -> list[int]:
        given: Any = {"text": texts, **columns} if columns else texts
        found = nearprint.dedup(given, keep=keep)
        for table in (pyarrow.table, pandas.DataFrame, polars.DataFrame) if columns else ():
            assert nearprint.dedup(table(given), keep=keep)["group"].tolist() == found["group"].tolist()
        return np.flatnonzero(found["kept"]).tolist()

    days = [DAY + datetime.timedelta(days=day) for day in (3, 9, 4, 9, 1)]
    assert first_kept("newest:day", day=days) == [1] and first_kept("oldest:day", day=days) == [4]
    assert first_kept("max:day", day=[day.date() for day in days]) == [1]
    assert first_kept(pandas.Series([pandas.NaT, *days[1:]])) == [1]
    assert first_kept(np.array(["NaT", "2026-01-03", "NaT", "2026-01-01", "NaT"], "datetime64[ns]")) == [1]
    iso = ["2026-11-25T00:00:00+01:00", "2026-11-24T23:30:00Z", "2026-11-24T23:00:00+00:00", None, None]
    assert first_kept("newest:day", day=iso) == [1] and first_kept("oldest:day", day=iso) == [3]
    # Floats do not distinguish these.
    large = [2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1, -(2**63)]
    assert first_kept("max:number", number=large) == [3] and first_kept("min:number", number=large) == [4]
    assert first_kept([2**64, 2**70, decimal.Decimal(2**70) + 1, 3.5, None]) == [2]
    for missing in (None, float("nan"), np.nan, pandas.NA, pandas.NaT, np.float32("nan")):
        assert first_kept([missing, -1, missing, -5, missing]) == [1]
    assert first_kept("max:score", score=[float("nan"), 1.0, float("-inf"), None, float("inf")]) == [4]
    assert first_kept("min:score", score=[2.0, float("nan"), 1.0, None, 0.0]) == [1]
    assert first_kept("max:name", name=["a", "z", None, "zz", ""]) == [3]
    assert first_kept("longest:name", name=["a", "zz", None, "yyy", ""]) == [3]
    assert first_kept("last") == [4] and first_kept("first") == [0]
    assert first_kept("max:flag", flag=[False, None, True, False, True]) == [2]


def test_regression_texts_are_ordered_as_the_command_orders_them(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    for values, keeps in (
        (["9", "10", "8.5"], ("max:value", "min:value", "newest:value")),
        (["2026-01-01T10:00+02:00", "2026-01-01T09:00Z", "2026-W01"], ("max:value", "newest:value", "oldest:value")),
        (["9", "10", "b"], ("max:value", "min:value")),
    ):
        rows = [{"text": "a b c d", "value": value} for value in values]
        pages.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for keep in keeps:
            nearprint.dedup_files(pages, tmp_path / "out.jsonl", keep=keep)
            (written,) = (tmp_path / "out.jsonl").read_text().splitlines()
            table = {name: [row[name] for row in rows] for name in ("text", "value")}
            for given in (table, pandas.DataFrame(table), polars.DataFrame(table)):
                (kept,) = np.flatnonzero(nearprint.dedup(given, keep=keep)["kept"])
                assert rows[kept] == json.loads(written), (values, keep)


def test_regression_short_texts_are_set_aside(tmp_path: Path) -> None:
    texts = ["one two three four five"] * 2 + ["a b c", "a b c", "z"]
    for options in ({"min_words": 4}, {"min_features": 2}):
        pages = tmp_path / "pages.jsonl"
        pages.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        report = nearprint.dedup_files(pages, tmp_path / "out.jsonl", **options)  # type: ignore[arg-type]
        for given in ({}, {"keep": "last"}, {"database": tmp_path / f"{next(iter(options))}.np"}):
            found = nearprint.dedup(texts, **options, **given)  # type: ignore[call-overload]
            assert (found["kept"].sum(), report.kept, report.skipped) == (1, 1, 3), (options, given)
            assert found["group"].tolist()[2:] == [-1] * 3 and found["group_size"].tolist()[2:] == [0] * 3
        kept = nearprint.Kept(**options)  # type: ignore[arg-type]
        assert kept(texts) == [True, False, False, False, False]


def test_the_shortest_and_the_last() -> None:
    texts = ["one two three four five six seven", "one two three four five six seven eight", "other words, all of them"]
    assert nearprint.dedup(texts, keep="shortest")["duplicate_of"].tolist() == [-1, 0, -1]
    assert nearprint.dedup(texts, keep="last")["duplicate_of"].tolist() == [1, -1, -1]


def test_regression_missing_texts_do_not_fail_a_table() -> None:
    texts = ["one two three four", None, "One two three four", float("nan"), pandas.NA]
    for given in (texts, pandas.Series(texts, dtype=object), {"text": texts}, polars.Series([*texts[:3], None, None])):
        for keep in ("first", "last", "longest"):
            found = nearprint.dedup(given, missing="keep", keep=keep)
            assert found["kept"].tolist() == [keep != "last", True, keep == "last", True, True]
            assert found["group"].tolist() == ([2, 1, 2, 3, 4] if keep == "last" else [0, 1, 0, 3, 4])
            assert found["group_size"].tolist() == [2, 1, 2, 1, 1]
            found = nearprint.dedup(given, missing="skip", keep=keep)
            assert found["kept"].tolist() == [keep != "last", False, keep == "last", False, False]
            assert found["group_size"].tolist() == [2, 0, 2, 0, 0]
            assert found["group"].tolist()[1] == found["duplicate_of"].tolist()[1] == -1
    assert nearprint.dedup([None, None], missing="keep")["kept"].all()
    with pytest.raises(nearprint.InputError, match=r"item 1: NoneType.*missing='keep'"):
        nearprint.dedup(texts)


def test_other_writers_are_waited_for(tmp_path: Path) -> None:
    path, pages = tmp_path / "seen.np", tmp_path / "pages.jsonl"
    pages.write_text('{"url": "a", "text": "one two three"}\n')

    def files(wait: float) -> nearprint.Deduplication:
        return nearprint.dedup_files(pages, tmp_path / "unique.jsonl", database=path, key="url", wait=wait)

    calls: list[Callable[[float], Any]] = [
        files,
        lambda wait: nearprint.dedup(["four five six"], database=path, wait=wait),
        lambda wait: nearprint.Kept(path, wait=wait)("seven eight nine"),
    ]
    nearprint.dedup(["zero"], database=path)
    for call in calls:
        with nearprint.open(path) as other:
            other.checkpoint = b""
            with pytest.raises(nearprint.LockedError):
                call(0)
            ending = threading.Timer(0.2, other.close)
            ending.start()
            call(60)
            ending.join()
    with pytest.raises(nearprint.InputError, match="wait"):
        files(-1)


def test_regression_a_repeated_key_named_another_text(tmp_path: Path) -> None:
    one, other = "one two three four five six", "red green blue white black pink"
    found = nearprint.dedup([one, other, one], database=tmp_path / "a", keys=["x", "x", "x"])
    assert found["duplicate_of"].tolist() == [-1, -1, 0] and found["group"].tolist() == [0, 1, 0]
    nearprint.dedup([one], database=tmp_path / "b", keys=["u"])
    found = nearprint.dedup([other, one], database=tmp_path / "b", keys=["u", "w"])
    assert found["duplicate_of"].tolist() == [-1, -1] and found["duplicate_key"].tolist() == [None, "u"]


def test_regression_texts_are_not_compared_with_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "one two three\n\nfour five six"}))
    nearprint.trim_files([tmp_path / "in.jsonl"], tmp_path / "out.jsonl", database=tmp_path / "seen.np")
    with pytest.raises(nearprint.InputError, match="remembers paragraphs"):
        nearprint.dedup(["one two three"], database=tmp_path / "seen.np")
    with pytest.raises(nearprint.InputError, match="remembers paragraphs"):
        nearprint.Kept(database=tmp_path / "seen.np")(["one two three"])
    with pytest.raises(nearprint.InputError, match="remembers paragraphs"):
        nearprint.against(["one two three"], tmp_path / "seen.np")


def test_regression_a_limit_below_that_of_the_database_was_silent(tmp_path: Path) -> None:
    seen = tmp_path / "seen.np"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearprint.dedup(["one two three four"], database=seen, similarity=0.9)
        nearprint.dedup(["two three four five"], database=seen)
        nearprint.dedup(["three four five six"], similarity=0.3)
    with pytest.warns(UserWarning, match=r"seen.np: made for a similarity of 0.9: 24% of the pairs at 0.5 are missed"):
        nearprint.dedup(["four five six seven"], database=seen, similarity=0.5)
    with pytest.warns(UserWarning, match="24%"):
        nearprint.Kept(database=seen, similarity=0.5)(["five six seven eight"])


def test_regression_similarities_of_simhashes_were_unknown_to_against(tmp_path: Path) -> None:
    seen, texts = tmp_path / "seen.np", ["one two three four five six seven eight nine", "ten eleven twelve"]
    nearprint.dedup(texts, database=seen, recipe="simhash")
    asked = [texts[1], texts[0] + " nine", "thirteen fourteen"]
    found, decided = nearprint.against(asked, seen, k=20), nearprint.dedup(asked, database=seen, k=20)
    assert found["kept"].tolist() == [False, False, True] == decided["kept"].tolist()
    assert found["similarity"].tolist()[:2] == decided["similarity"].tolist()[:2] and found["similarity"][0] == 1
    assert 0.5 < found["similarity"][1] < 1 and math.isnan(found["similarity"][2])


def test_regression_a_misspelt_field_left_a_database(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "one two three", "url": "u"}))
    misspelt: list[dict[str, Any]] = [{"key": "ulr"}, {"text": "txt"}]
    for wrong in misspelt:
        with pytest.raises(nearprint.InputError):
            nearprint.dedup_files(tmp_path / "in.jsonl", tmp_path / "out", database=tmp_path / "seen.np", **wrong)
        assert not (tmp_path / "seen.np").exists() and not (tmp_path / "out").exists()


@pytest.mark.parametrize("by", ["paragraph", "line"])
def test_regression_paragraphs_were_stored_among_texts(tmp_path: Path, by: Any) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "one two three\n\nfour five six"}))
    seen = tmp_path / "seen.np"
    nearprint.dedup(["seven eight nine"], database=seen)
    jobs: list[dict[str, Any]] = [{}, {"restart": True}, {"dry_run": True}]
    for options in jobs:
        with pytest.raises(nearprint.InputError, match="remembers records, which are compared only with records"):
            nearprint.trim_files(
                [tmp_path / "in.jsonl"], tmp_path / "out", database=seen, by=by, recipe="minhash", **options
            )
    assert not (tmp_path / "out").exists()
    assert len(nearprint.open(seen)) == 1
    assert nearprint.dedup(["ten eleven twelve"], database=seen)["kept"].all()


@pytest.mark.parametrize("similarity", [-1, "contained:0.7"])
def test_regression_a_similarity_of_pairs_was_called_a_recipe(similarity: Any) -> None:
    with pytest.raises((nearprint.InputError, TypeError), match=r"^similarity"):
        nearprint.pairs(["one two three", "four five six"], similarity=similarity)


def test_regression_a_column_that_was_asked_for_twice_was_refused_by_polars(tmp_path: Path) -> None:
    frame = polars.DataFrame({"text": ["a b c d e", "a b c d e f", "x y z"], "u": [1, 2, 3]})
    for index, (given, make) in enumerate(((frame, list), (frame.lazy(), list), (frame.to_arrow(), list))):
        path = str(tmp_path / f"{index}.np")
        found = nearprint.dedup(given, keep="longest:text", key="text", similarity=0.5, database=path)
        assert make(found["kept"]) == [False, True, True]
        found = nearprint.dedup(given, keep="max:u", key="u", similarity=0.5, database=path + "2")
        assert make(found["kept"]) == [False, True, True]


def test_regression_times_and_durations_had_an_order_in_some_libraries_only() -> None:
    texts = ["one two three"] * 4
    times = [datetime.time(1), None, datetime.time(23, 59, 59, 1), datetime.time(23, 59, 59)]
    spans = [datetime.timedelta(days=1), None, datetime.timedelta(days=2, microseconds=1), datetime.timedelta(days=2)]
    wide = polars.DataFrame({"text": texts, "at": [1, None, 2**70 + 1, 2**70]}, schema_overrides={"at": polars.Int128})
    tables = [
        wide,
        *(
            make({"text": texts, "at": values})
            for values in (times, spans)
            for make in (pandas.DataFrame, polars.DataFrame)
        ),
    ]
    for table in tables:
        assert list(nearprint.dedup(table, keep="max:at")["kept"]) == [False, False, True, False], table
        assert list(nearprint.dedup(table, keep="min:at")["kept"]) == [False, True, False, False], table
    nanoseconds = [pandas.Timedelta(value, "ns") for value in (5, 7, 6, -8)]
    assert list(nearprint.dedup(texts, keep=nanoseconds)["kept"]) == [False, True, False, False]


def test_regression_a_decimal_that_is_no_number_was_refused() -> None:
    texts = ["one two three four five"] * 3
    for nothing in ("NaN", "sNaN"):
        values = [decimal.Decimal(nothing), decimal.Decimal("1E+5"), 3]
        for keep, kept in ((values, [False, True, False]), (values[:1] * 3, [True, False, False])):
            assert nearprint.dedup(texts, keep=keep)["kept"].tolist() == kept
        assert nearprint.dedup({"text": texts, "value": values}, keep="min:value")["kept"].tolist()[0]


@pytest.mark.parametrize("count", [999, 2500])
def test_regression_progress_in_another_order_ended_before_its_total(count: int, tmp_path: Path) -> None:
    texts = [f"text {index} of several words {index}" for index in range(count)]
    seen: list[Any] = []
    nearprint.dedup(texts, keep="longest", progress=lambda *reached: seen.append(reached))
    assert seen[-1] == ("deduplicating", count, count)
    pages = tmp_path / "in.jsonl"
    pages.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for options in ({"keep": "longest"}, {"group_size": True, "annotate": True}):
        seen.clear()
        nearprint.dedup_files(pages, tmp_path / "out.jsonl", progress=lambda *reached: seen.append(reached), **options)
        assert seen[-1][1] == seen[-1][2], options


def test_regression_values_of_splits_were_compared_as_they_are_stored(tmp_path: Path) -> None:
    """A table may have parts whose columns have other units or scales."""
    datasets: Any = pytest.importorskip("datasets", reason="Hugging Face has no wheel for every Python")
    texts = ["one two three four five six"]

    def kept_of(*values: pyarrow.Array, keep: str = "max:value") -> list[bool]:
        splits = {
            f"s{at}": datasets.Dataset(pyarrow.table({"text": texts, "value": value}))
            for at, value in enumerate(values)
        }
        return list(nearprint.dedup(datasets.DatasetDict(splits), keep=keep)["kept"].tolist())

    # 2001 in seconds, 1970 in milliseconds, and a day of 2000.
    times = [
        pyarrow.array([10**9], pyarrow.timestamp("s")),
        pyarrow.array([10**10], pyarrow.timestamp("ms", "UTC")),
        pyarrow.array([11_000], pyarrow.date32()),
    ]
    for keep, kept in (("newest:value", [True, False, False]), ("oldest:value", [False, True, False])):
        assert kept_of(*times, keep=keep) == kept
    assert kept_of(times[1], pyarrow.array(["1999-12-31"])) == [False, True]
    numbers = [decimal.Decimal(value) for value in ("1.5", "1.25", "-300")]
    kinds = [pyarrow.decimal128(5, 1), pyarrow.decimal256(50, 2), pyarrow.decimal128(5, 0)]
    decimals = [pyarrow.array([value], kind) for value, kind in zip(numbers, kinds)]
    assert kept_of(*decimals) == [True, False, False] and kept_of(*decimals, keep="min:value") == [False, False, True]
    assert kept_of(*decimals, pyarrow.array([2])) == [False, False, False, True]
    times_of_day = pyarrow.array([3600], pyarrow.time32("s")), pyarrow.array([3_599_000_000], pyarrow.time64("us"))
    assert kept_of(*times_of_day) == [True, False]
    spans = pyarrow.array([2], pyarrow.duration("s")), pyarrow.array([1999], pyarrow.duration("ms"))
    assert kept_of(*spans) == [True, False]
    assert kept_of(pyarrow.array([None], pyarrow.timestamp("s")), times[1]) == [False, True]
    with pytest.raises(nearprint.InputError, match="keep: "):
        kept_of(times[0], pyarrow.array([5]))
    for unfit in ((1, 2), ("a",), (1.5,)):
        with pytest.raises(nearprint.InputError, match="tuple, where a number, a date or a text is wanted"):
            nearprint.dedup(texts, keep=[unfit])


@pytest.mark.parametrize("key", ["1", 2])
def test_regression_a_flag_is_no_key(key: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="keys: item 1: bool is no key"):
        nearprint.dedup(["one two three", "four five six"], keys=[key, True], database=tmp_path / "seen.np")
