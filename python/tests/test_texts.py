"""Texts to fingerprints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import nearprint
from nearprint.compat.simhash import unsigned_hash

TEXTS = ["the quick brown fox jumps over the lazy dog", "", "one two three four", "天地玄黄，宇宙洪荒", "a"] * 50


def test_every_form_of_texts_gives_the_same() -> None:
    expected = nearprint.fingerprint(TEXTS)
    assert expected.dtype == np.uint64 and expected.shape == (250, 4)
    forms = [
        tuple(TEXTS),
        (text for text in TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pyarrow.array(TEXTS),
        pyarrow.array(TEXTS, pyarrow.large_string()),
        pyarrow.array(TEXTS, pyarrow.string_view()),
        pyarrow.chunked_array([TEXTS[:99], TEXTS[99:]]),
        polars.Series(TEXTS),
        pandas.Series(TEXTS),
        pandas.Series(TEXTS, dtype=object),
        pandas.Series(TEXTS, dtype="string"),
        pandas.Index(TEXTS),
    ]
    for form in forms:
        assert np.array_equal(nearprint.fingerprint(form), expected), type(form)
    for threads in (1, 2, 7, 1000):
        assert np.array_equal(nearprint.fingerprint(TEXTS, threads=threads), expected)


def test_regression_a_table_is_no_column_of_texts() -> None:
    columns = {"text": ["a b c", "d e f"]}
    tables = [columns, pandas.DataFrame(columns), polars.LazyFrame(columns), pyarrow.table(columns)]
    for table in tables:
        name = type(table).__name__
        with pytest.raises(TypeError, match=f"texts: a {name}, where one of its columns is wanted"):
            nearprint.fingerprint(table)
        with pytest.raises(TypeError, match=f"fingerprints: a {name}, where one of its columns is wanted"):
            nearprint.find_all(table, 3)


def test_recipes_have_widths() -> None:
    for width, shape in ((64, (250,)), (128, (250, 2)), (256, (250, 4))):
        made = nearprint.fingerprint(TEXTS, f"cjk width={width}")
        assert made.shape == shape
        assert np.array_equal(nearprint.fingerprint(pyarrow.array(TEXTS), f"cjk width={width}"), made)
    assert nearprint.fingerprint([], "width=256").shape == (0, 4)
    assert nearprint.recipe_line("minhash") == nearprint.recipe_line("shingle=3,1-2")
    assert nearprint.fingerprint(["x y"], "simhash-py shingle=2")[0] == unsigned_hash("x y")


def test_missing_texts() -> None:
    for column in (
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        ["a", pandas.NA, "b"],
        pyarrow.array(["a", None, "b"]),
        polars.Series(["a", None, "b"]),
        pandas.Series(["a", None, "b"]),
        pandas.Series(["a", None, "b"], dtype=object),
        pandas.Series(["a", None, "b"], dtype="string"),
    ):
        with pytest.raises(nearprint.InputError, match="1 texts are missing, the first at 1"):
            nearprint.fingerprint(column)
        masked = nearprint.fingerprint(column, "simhash", missing="mask")
        assert np.ma.getmaskarray(masked).tolist() == [False, True, False]
        expected = nearprint.fingerprint(["a", "b"], "simhash")
        assert masked.compressed().tolist() == expected.tolist()
        assert np.ma.getmaskarray(nearprint.fingerprint(column, "simhash", missing="keep")).tolist() == [
            False,
            True,
            False,
        ]
        dropped = nearprint.fingerprint(column, "simhash", missing="skip")
        assert dropped.tolist() == expected.tolist() and dropped.recipe == expected.recipe
    wide = nearprint.fingerprint(["a", None], "width=128", missing="mask")
    assert np.ma.getmaskarray(wide).tolist() == [[False, False], [True, True]]
    nothing = pyarrow.array([None, None])
    assert np.ma.getmaskarray(nearprint.fingerprint(nothing, missing="mask")).all()


def test_bad_texts_are_refused() -> None:
    with pytest.raises(TypeError, match="item 1: int is no text"):
        nearprint.fingerprint(["a", 1])
    with pytest.raises(TypeError, match="decode"):
        nearprint.fingerprint([b"a"])
    with pytest.raises(TypeError, match="one text"):
        nearprint.fingerprint("a")
    with pytest.raises(TypeError, match=r"UInt64|texts are wanted"):
        nearprint.fingerprint(pyarrow.array([1]))
    with pytest.raises(TypeError):
        nearprint.fingerprint(3)
    with pytest.raises(nearprint.InputError, match="item 1 is no valid Unicode"):
        nearprint.fingerprint(["fine", "lone \ud800 surrogate"])
    with pytest.raises(nearprint.InputError, match="none of minhash"):
        nearprint.fingerprint(["a"], "soup")
    with pytest.raises(nearprint.InputError, match="missing"):
        nearprint.fingerprint(["a"], missing="drop")  # type: ignore[call-overload]


def test_progress_is_told() -> None:
    told: list[tuple[str, int, object]] = []
    nearprint.fingerprint(["a b c"] * 20_000, progress=lambda *reached: told.append(reached))
    assert told[-1] == ("fingerprinting", 20_000, 20_000)


def test_categories_and_nothing_are_columns_of_texts() -> None:
    expected = nearprint.fingerprint(["one two three", "four five six", "one two three"])
    texts = ["one two three", "four five six", "one two three"]
    for column in (
        pandas.Series(texts, dtype="category"),
        polars.Series(texts, dtype=polars.Categorical),
        pyarrow.array(texts).dictionary_encode(),
    ):
        assert np.array_equal(nearprint.fingerprint(column), expected)
    few = pyarrow.array(["one two three", None, "four five six"]).dictionary_encode()
    assert np.ma.getmaskarray(nearprint.fingerprint(few, missing="keep"))[:, 0].tolist() == [False, True, False]
    unused = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([None], pyarrow.int8()), pyarrow.array([], pyarrow.string())
    )
    assert np.ma.getmaskarray(nearprint.fingerprint(unused, missing="keep")).all()
    for missing in (polars.Series([None, None]), pyarrow.nulls(2), pandas.Series([None, pandas.NaT], dtype=object)):
        assert np.ma.getmaskarray(nearprint.fingerprint(missing, missing="mask")).all()
    with pytest.raises(TypeError, match="one text"):
        nearprint.fingerprint(np.array("abc"))


def test_regression_what_is_masked_does_not_get_into_a_database(path: Path) -> None:
    masked = nearprint.fingerprint(["one two three", None], missing="mask")
    with pytest.raises(nearprint.InputError, match="compress_rows"):
        nearprint.build(path, masked)
    rest = np.ma.compress_rows(masked)  # type: ignore[no-untyped-call]
    with nearprint.build(path, rest) as database:
        assert len(database) == 1 and database.width == 256
    narrow = nearprint.fingerprint(["one two three", None], "simhash", missing="mask")
    with pytest.raises(nearprint.InputError, match="compressed"):
        nearprint.build(path, narrow)


def test_regression_keys_of_texts_are_refused_where_none_are_stored(tmp_path: Path) -> None:
    with nearprint.create(tmp_path / "a.np", recipe="minhash") as database:
        for given in ({"keys": ["doc-1"]}, {"key": "name"}):
            with pytest.raises(nearprint.InputError, match="stores no keys"):
                database.add_texts({"text": ["one two three four"], "name": ["doc-1"]}, **given)
        assert len(database.add_texts(["one two three four"])) == 1


@pytest.mark.parametrize("item", [1, 1.5, b"bytes", ["a"]])
def test_what_is_no_text_is_a_type_error_of_every_call(item: Any) -> None:
    calls: list[Any] = [nearprint.fingerprint, nearprint.dedup, nearprint.pairs, nearprint.clusters]
    for call in (*calls, nearprint.Kept(), lambda texts: nearprint.dedup({"text": texts})):
        with pytest.raises(TypeError, match=f"item 1: {type(item).__name__}"):
            call(["a text", item])


@pytest.mark.parametrize("dtype", [object, np.str_])
def test_regression_masked_texts_had_the_fingerprint_of_what_fills_their_place(dtype: Any) -> None:
    texts = np.ma.MaskedArray(
        np.array(["one two three", "hidden words here", "four five six"], dtype), [False, True, False]
    )
    listed = ["one two three", None, "four five six"]
    for missing in ("keep", "skip"):
        found, expected = (nearprint.fingerprint(given, missing=missing) for given in (texts, listed))
        assert np.ma.getmaskarray(found).tolist() == np.ma.getmaskarray(expected).tolist()
        assert np.ma.filled(found, 0).tolist() == np.ma.filled(expected, 0).tolist()
    with pytest.raises(nearprint.InputError, match="1 texts are missing, the first at 1"):
        nearprint.fingerprint(texts)
    assert nearprint.dedup(texts, missing="skip")["kept"].tolist() == [True, False, True]


@pytest.mark.parametrize(
    "gaps", [[], [None, None], pandas.Series([None, None], dtype=object), pyarrow.nulls(2, "string")]
)
def test_regression_a_column_of_gaps_was_taken_for_fingerprints(tmp_path: Path, gaps: Any) -> None:
    with nearprint.build(tmp_path / "db", gaps, missing="skip") as database:
        assert len(database) == 0 and database.recipe is not None
