"""Every form that fingerprints may have, and every form that they may not."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import nearprint

from .conftest import near_duplicates, numbers_of, rows_of


def forms(numbers: list[int], width: int) -> dict[str, Any]:
    """The same fingerprints in every form that has a place for them."""
    array = rows_of(numbers, width)
    in_bytes = [number.to_bytes(width // 8, "big") for number in numbers]
    all_forms = {
        "array": array,
        "every second": np.repeat(array, 2, axis=0)[::2],
        "big-endian": array.astype(">u8"),
        "list": numbers,
        "generator": (number for number in numbers),
        "tuple": tuple(numbers),
        "list of bytes": in_bytes,
        "bytes": np.frombuffer(b"".join(in_bytes), np.uint8).reshape(len(numbers), -1),
        "digits": [f"{number:0{width // 4}x}" for number in numbers],
        "0x": [f"0x{number:0{width // 4}X}" for number in numbers],
        "object": np.array(numbers, dtype=object),
        "pandas objects": pandas.Series(numbers, dtype=object),
        "pandas texts": pandas.Series([f"{number:0{width // 4}x}" for number in numbers]),
        "polars texts": polars.Series([f"{number:0{width // 4}x}" for number in numbers]),
        "pyarrow texts": pyarrow.array([f"{number:0{width // 4}x}" for number in numbers]),
        "pyarrow bytes": pyarrow.array(in_bytes, pyarrow.binary(width // 8)),
        "chunks of bytes": pyarrow.chunked_array([in_bytes[:1], in_bytes[1:]], pyarrow.binary(width // 8)),
        "polars bytes": polars.Series(in_bytes),
        "large bytes": pyarrow.array(in_bytes, pyarrow.large_binary()),
        "slice of bytes": pyarrow.array(in_bytes[:1] + in_bytes, pyarrow.binary(width // 8))[1:],
    }
    if width == 64:
        all_forms |= {
            "numpy numbers": list(array),
            "column": array.reshape(-1, 1),
            "pyarrow": pyarrow.array(numbers, pyarrow.uint64()),
            "pyarrow chunks": pyarrow.chunked_array([numbers[:5], numbers[5:]], pyarrow.uint64()),
            "polars": polars.Series(numbers, dtype=polars.UInt64),
            "pandas": pandas.Series(array),
            "pandas nullable": pandas.Series(array).astype("UInt64"),
            "masked": np.ma.MaskedArray(array, np.zeros(len(array), bool)),
            "unaligned": np.frombuffer(b"\0" + array.tobytes(), np.uint64, offset=1),
            "pyarrow ragged bytes": pyarrow.array(in_bytes),
            "capsule": OnlyCapsule(pyarrow.array(numbers, pyarrow.uint64())),
        }
        numbers_of_words = pyarrow.array(numbers, pyarrow.uint64())
        all_forms["dictionary"] = numbers_of_words.dictionary_encode()
        all_forms["pandas categories"] = pandas.Series(array).astype("category")
    else:
        all_forms["list of rows"] = list(array)
    in_words = pyarrow.array(array.reshape(len(numbers), -1).tolist(), pyarrow.list_(pyarrow.uint64()))
    all_forms |= {
        "lists": in_words,
        "slice of lists": pyarrow.concat_arrays([in_words, in_words])[len(numbers) :],
        "chunks of lists": pyarrow.chunked_array([in_words[:4], in_words[4:]]),
        "large lists": in_words.cast(pyarrow.large_list(pyarrow.uint64())),
        "lists of one size": in_words.cast(pyarrow.list_(pyarrow.uint64(), width // 64)),
        "polars lists": polars.Series(in_words),
        "pandas lists": pandas.Series(in_words, dtype=pandas.ArrowDtype(in_words.type)),
        "lists of bytes": pyarrow.array([list(one) for one in in_bytes], pyarrow.list_(pyarrow.uint8())),
        "dictionary of bytes": pyarrow.array(in_bytes, pyarrow.binary(width // 8)).dictionary_encode(),
        "dictionary of texts": pyarrow.array([f"{number:0{width // 4}x}" for number in numbers]).dictionary_encode(),
        "categories": pandas.Series([f"0x{number:x}" for number in numbers], dtype="category"),
        "polars categories": polars.Series([f"0x{number:x}" for number in numbers], dtype=polars.Categorical),
    }
    return all_forms


class OnlyCapsule:
    """An Arrow array of a library that is not known by name."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def test_every_form_is_read(width: int, tmp_path: Path) -> None:
    numbers = near_duplicates(width, 20)
    for index, (form, given) in enumerate(forms(numbers, width).items()):
        with nearprint.build(tmp_path / str(index), given, ids=range(20), width=width) as database:
            rows = database.rows().table()
            found = sorted(zip(rows["id"].tolist(), numbers_of(rows["fingerprint"])))
            assert found == list(enumerate(numbers)), form


def test_widths_are_found_out() -> None:
    for width in (64, 128, 256, 320):
        numbers = [2 ** (width - 1), 2 ** (width - 1) + 1]
        for form, given in forms(numbers, width).items():
            found = nearprint.find_all(given, 1)
            assert numbers_of(found["a"]) == [numbers[0]], form
            assert found["a"].shape == ((1,) if width == 64 else (1, width // 64)), form


def test_one_fingerprint_has_many_forms(filled: tuple[nearprint.Database, list[int]], width: int) -> None:
    database, numbers = filled
    number = numbers[0]
    ones: list[Any] = [
        number,
        hex(number) if width == 64 else f"0x{number:0{width // 4}x}",
        f"0b{number:0{width}b}",
        number.to_bytes(width // 8, "big"),
        rows_of([number], width)[0],
    ]
    for one in ones:
        assert 1000 in database.query(one, 0)["id"], one


BAD: list[tuple[Any, Any, str]] = [
    ([-1], ValueError, "item 0: -1 is negative"),
    ([1, 2**64], ValueError, "item 1: .* does not fit in 64 bits"),
    ([1.0], TypeError, "item 0: float"),
    ([1, None], TypeError, "item 1: NoneType"),
    ([True], TypeError, "item 0: bool"),
    (["12"], ValueError, "2 digits"),
    (["0xzz"], ValueError, "not a fingerprint"),
    (["0x" + "f" * 17], ValueError, "does not fit"),
    (["é" * 16], ValueError, "item 0"),
    ([b"12345678", b"1234567"], ValueError, "different lengths"),
    (7, TypeError, "one int"),
    ("0x07", TypeError, "one str"),
    (None, TypeError, "NoneType"),
    (np.array([1.5]), TypeError, "float64"),
    (np.array([True]), TypeError, "bool"),
    (np.array(["a"]), TypeError, "<U1"),
    (np.array([-1]), ValueError, "-1 is negative"),
    (np.zeros((2, 3), np.uint64), ValueError, r"\(2, 3\)"),
    (np.zeros((2, 2), np.uint64), ValueError, "128 bits"),
    (np.zeros((2, 2, 2), np.uint64), ValueError, r"\(2, 2, 2\)"),
    (np.zeros((), np.uint64), ValueError, r"\(\)"),
    (np.zeros(8, np.uint8), ValueError, "uint8"),
    (np.zeros((1, 7), np.uint8), ValueError, "uint8"),
    (np.zeros((1, 16), np.uint8), ValueError, "128 bits"),
    ([np.zeros(2, np.uint64), np.zeros(3, np.uint64)], ValueError, "rows of different lengths"),
    ([[2**64, 1], [1, 2]], ValueError, "item 0: .* does not fit in 64 bits"),
    (np.array([[2**64, 1]], dtype=object), ValueError, "does not fit in 64 bits"),
    ([(1, 2), (3,)], ValueError, "rows of different lengths"),
    (pyarrow.array([1, None], pyarrow.uint64()), ValueError, "null"),
    (pyarrow.array([1.5]), TypeError, "Float64"),
    (pyarrow.array(["a"]), ValueError, "1 digits"),
    (pyarrow.array([b"abc"], pyarrow.binary(3)), ValueError, "3 bytes"),
    (pyarrow.array([b"12345678", b"1234567890123456"]), ValueError, "16 bytes"),
    (polars.Series([1, None], dtype=polars.UInt64), ValueError, "null"),
    (polars.Series(["a"]), ValueError, "1 digits"),
    (polars.Series([b"a"]), ValueError, "1 bytes"),
    (pandas.DataFrame({"a": [1]}), (TypeError, ValueError), "one of its columns|no column 'fingerprint', but a"),
    (polars.DataFrame({"a": [1]}), (TypeError, ValueError), "one of its columns|no column 'fingerprint', but a"),
    (polars.LazyFrame({"a": [1]}), (TypeError, ValueError), "one of its columns|no column 'fingerprint', but a"),
    (pyarrow.table({"a": [1]}), (TypeError, ValueError), "one of its columns|no column 'fingerprint', but a"),
    (np.ma.MaskedArray(np.arange(2, dtype=np.uint64), [False, True]), ValueError, "masked"),
    (memoryview(b"12"), (TypeError, ValueError), "memoryview|2 bytes"),
    (5.0, TypeError, "a list or an array is wanted, not float"),
    (polars.Series([1, 2**70], dtype=polars.Int128), ValueError, "does not fit"),
    (pandas.Series([1, None], dtype="UInt64"), ValueError, "null"),
    (pandas.Series(["a", 1.5], dtype=object), ValueError, "1 digits"),
    (pandas.Series([1.5]), TypeError, "float64"),
    (pandas.Series([-3]), ValueError, "-3 is negative"),
    (pyarrow.array([[1], None], pyarrow.list_(pyarrow.uint64())), ValueError, "null"),
    (pyarrow.array([[1], [None]], pyarrow.list_(pyarrow.uint64())), ValueError, "nulls among them: 1"),
    (pyarrow.array([[1], [1, 2]], pyarrow.list_(pyarrow.uint64())), ValueError, "lists of different lengths"),
    (pyarrow.array([[1, 2, 3]], pyarrow.list_(pyarrow.uint64())), ValueError, "lists of 3, where"),
    (pyarrow.array([["a"]]), TypeError, "Utf8"),
]


@pytest.mark.parametrize("given, error, why", BAD, ids=[repr(bad[0])[:40] for bad in BAD])
def test_bad_fingerprints_are_refused(given: Any, error: Any, why: str, path: Path) -> None:
    with nearprint.create(path) as database:
        for refuse in (database.add, database.query_batch, lambda bad: nearprint.find_all(bad, 3, width=64)):
            if refuse == database.add and isinstance(given, (int, str, np.ndarray)) and np.ndim(given) == 0:
                continue
            with pytest.raises(error, match=why) as caught:
                refuse(given)
            assert error is not ValueError or caught.type in (nearprint.InputError, ValueError)
        database.commit()
        assert len(database) == 0


def test_bad_single_fingerprints_are_refused(path: Path) -> None:
    with nearprint.create(path) as database:
        for bad in (-1, 2**64, "0x1ff" * 9, b"1234567", [1, 2], np.zeros(2, np.uint64)):
            with pytest.raises((ValueError, TypeError)):
                database.query(bad)  # type: ignore[arg-type]
        for unfit in (1.0, None, True, np.float64(3)):
            with pytest.raises(TypeError):
                database.query(unfit)  # type: ignore[arg-type]


def test_bad_ids_and_keys_are_refused(path: Path) -> None:
    with nearprint.create(path, keys=True) as database:
        for bad in ([1], [1, 2, 3], [-1, 2], [2**64, 1], np.array([1, -2]), np.zeros((2, 1), np.uint64)):
            with pytest.raises(nearprint.InputError):
                database.add([1, 2], ids=bad)
        for unfit in ([1.5, 2], ["a", "b"], np.array([1.5, 2]), [None, 1]):
            with pytest.raises((TypeError, ValueError)):
                database.add([1, 2], ids=unfit)
        with pytest.raises(TypeError):
            database.add([1, 2], keys=["a", 3])
        with pytest.raises(TypeError):
            database.add([1, 2], keys="ab")
        with pytest.raises(nearprint.InputError, match="1 keys for 2"):
            database.add([1, 2], keys=["a"])
        with pytest.raises(nearprint.InputError, match="without texts"):
            database.add([1], keys=["a"], texts=["b"])
        with pytest.raises(nearprint.InputError, match="65,536"):
            database.add([1], keys=["a" * 65537])
        with pytest.raises(nearprint.InputError, match="ids or keys"):
            database.upsert([1])
        database.commit()
        assert len(database) == 0


def test_bad_settings_are_refused(path: Path) -> None:
    for settings in (
        {"k": 65},
        {"k": -1},
        {"width": 96},
        {"layout": "tree"},
        {"memory": 5},
        {"recipe": "soup"},
        {"recipe": "simhash-py", "width": 128},
        {"threads": -1},
    ):
        with pytest.raises(nearprint.InputError):
            nearprint.create(path, **settings)
    for unfit in ({"k": 1.5}, {"k": "3"}, {"width": "64"}, {"memory": "1G"}, {"colour": 1}):
        with pytest.raises(TypeError):
            nearprint.create(path, **unfit)
    assert not path.exists()


def test_bad_questions_are_refused(path: Path) -> None:
    with nearprint.build(path, [1, 2, 3]) as database:
        for ask in (
            lambda k: database.query(1, k),
            lambda k: database.query_batch([1], k),
            database.pairs,
            database.clusters,
            database.explain,
            lambda k: database.nearest(1, 1, k),
        ):
            with pytest.raises(nearprint.InputError):
                ask(65)
            with pytest.raises(nearprint.InputError):
                ask(-1)
            with pytest.raises(TypeError):
                ask(1.5)  # type: ignore[arg-type]
        with pytest.raises(nearprint.InputError):
            database.nearest(1, -1)
        with pytest.raises(nearprint.InputError):
            database.query(1, limit=-1)
        with pytest.raises(TypeError):
            database.cross("other.np")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            database.verify(progress=3)  # type: ignore[arg-type]


def test_small_integers_of_every_type_are_read() -> None:
    columns: list[Any] = [np.array([1, 2], kind) for kind in ("u2", "u4", "i1", "i8", ">i4")]
    columns += [pandas.Series([1, 2], dtype=kind) for kind in ("uint8", "int32", "UInt16", "Int64")]
    columns += [polars.Series([1, 2], dtype=kind) for kind in (polars.UInt8, polars.Int32, polars.Int128)]
    columns += [pyarrow.array([1, 2], kind) for kind in (pyarrow.uint8(), pyarrow.int16(), pyarrow.uint64())]
    columns += [OnlyCapsule(pyarrow.array([1, 2], pyarrow.int32())), pyarrow.chunked_array([[1], [2]])]
    for column in columns:
        assert nearprint.find_all(column, 2)["a"].tolist() == [1], column


EMPTY: list[Any] = [[], np.array([]), pandas.Series([], dtype=float), polars.Series([]), pyarrow.array([])]


def test_ids_have_as_many_forms(path: Path) -> None:
    forms_of_ids: list[Any] = [
        [7, 8],
        (7, 8),
        iter([7, 8]),
        range(7, 9),
        np.array([7, 8], np.int32),
        np.array([7, 8], object),
        np.frombuffer(b"\0" + np.array([7, 8], np.uint64).tobytes(), np.uint64, offset=1),
        pandas.Series([7, 8], dtype="int32"),
        pandas.Series([7, 8], dtype=object),
        polars.Series([7, 8], dtype=polars.UInt32),
        pyarrow.array([7, 8], pyarrow.uint64()),
        pyarrow.chunked_array([[7], [8]]),
        OnlyCapsule(pyarrow.array([7, 8], pyarrow.uint16())),
    ]
    with nearprint.create(path) as database:
        for ids in forms_of_ids:
            assert database.add([1, 2], ids=ids).tolist() == [7, 8], ids
        largest = pandas.Series([1, 2**64 - 1], dtype=object)
        assert database.add([1, 2], ids=largest).tolist() == [1, 2**64 - 1]
        for unfit in (b"ab", bytearray(2), {7, 8}, {7: 1, 8: 2}, ["0x07", "0x08"]):
            with pytest.raises(TypeError, match="ids"):
                database.add([1, 2], ids=unfit)
        masked = np.ma.MaskedArray([7, 8], [False, True])
        with pytest.raises(nearprint.InputError, match="ids: some are masked"):
            database.delete(masked)
        for empty in EMPTY:
            database.delete(empty)


def test_regression_an_iterator_of_texts_or_batches_was_one_of_fingerprints(tmp_path: Path) -> None:
    texts = ["one two three four", "other words than those"]
    with nearprint.build(tmp_path / "texts.np", (text for text in texts)) as database:
        assert len(database) == 2 and database.find(texts[1])["id"].tolist() == [1]
    table = pyarrow.table({"fingerprint": [3, 9], "id": [5, 6]})
    with nearprint.build(tmp_path / "batches.np", (batch for batch in table.to_batches(1))) as database:
        assert database.rows().table()["id"].tolist() == [5, 6]
    with nearprint.build(tmp_path / "numbers.np", iter([3, 9])) as database:
        assert len(database) == 2


def test_an_open_database_in_place_of_a_path_gets_a_hint(path: Path) -> None:
    with nearprint.create(path, recipe="minhash", features=True) as database:
        given: Any = database
        calls: list[Any] = [
            lambda: nearprint.open(given),
            lambda: nearprint.dedup(["a text"], database=given),
            lambda: nearprint.against(["a text"], given),
            lambda: nearprint.dedup_files("pages.jsonl", "unique.jsonl", database=given),
            lambda: nearprint.dedup_files("pages.jsonl", "unique.jsonl", against=given),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"path: .*not Database; that of an open database is database\.path"):
                call()


def test_build_leaves_out_missing_texts(tmp_path: Path) -> None:
    texts = ["one two three four", None, "other words than those"]
    tables: list[Any] = [texts, {"text": texts, "key": ["a", "b", "c"]}, polars.DataFrame({"text": texts})]
    for at, table in enumerate(tables):
        with pytest.raises(nearprint.InputError, match=r"item 1: NoneType.*; missing='skip' accepts it"):
            nearprint.build(tmp_path / "none.np", table)
        with nearprint.build(tmp_path / str(at), table, ids=[7, 8, 9], missing="skip") as database:
            assert database.find([texts[0], texts[2]])["id"].tolist() == [7, 9] and len(database) == 2
    keep: Any = "keep"
    for wrong, why in ((texts, "missing = 'keep': 'error' or 'skip' is wanted"), ([1, 2], "missing: is of texts")):
        with pytest.raises(nearprint.InputError, match=why):
            nearprint.build(tmp_path / "none.np", wrong, missing=keep)
    assert not (tmp_path / "none.np").exists()


def test_regression_a_similarity_of_simhashes_was_dropped(tmp_path: Path) -> None:
    with pytest.raises(nearprint.InputError, match="similarity: needs MinHash fingerprints"):
        nearprint.build(tmp_path / "texts.np", ["one two three"], recipe="simhash", similarity=0.7)
    assert not list(tmp_path.iterdir())


def test_empty_columns_are_read() -> None:
    for empty in EMPTY:
        assert len(nearprint.find_all(empty, 3)) == 0
        assert nearprint.fingerprint(empty).shape == (0, 4)


def test_regression_numbers_in_object_arrays_are_rows_of_their_own(path: Path) -> None:
    with nearprint.create(path, width=128) as database:
        given = np.array([1, 2], dtype=object)
        assert len(database.add(given)) == 2
        database.commit()
        assert database.query_batch(given, 0)["query"].tolist() == [0, 1]


def test_regression_words_above_2_to_the_63_are_not_floats() -> None:
    found = nearprint.find_all([[2**63 + 1, 1], [2**63, 1]], 1)
    assert found["a"].tolist() == [[2**63, 1]]


def test_regression_texts_behind_a_prefix_may_have_fewer_digits(width: int, tmp_path: Path) -> None:
    found = nearprint.find_all([hex(1), hex(3)], 3, width=width)
    assert (numbers_of(found["a"]), numbers_of(found["b"])) == ([1], [3])
    with nearprint.build(tmp_path / "a.np", [hex(1)], width=width, kind="hamming") as database:
        assert len(database.query("0X3")) == len(database.query_batch(["0x3"])) == 1


def test_regression_an_upper_case_prefix_is_no_digit() -> None:
    texts = ["0X0000000000000001", "0X0000000000000003"]
    assert nearprint.find_all(texts, 3)["a"].tolist() == [1]


def test_regression_digits_may_begin_as_binary_ones_do(tmp_path: Path) -> None:
    digits = ["0b10110010110101", "0B00000000000011", "0b65b04f4c4de02d"]
    with nearprint.build(tmp_path / "x.np", digits) as database:
        assert numbers_of(database.rows().table()["fingerprint"]) == sorted(int(one, 16) for one in digits)
    assert nearprint.distance("0b10110010110101", 0x0B10110010110101) == 0
    assert nearprint.distance("0b1011", 0b1011) == 0


def test_texts_are_texts(path: Path) -> None:
    with nearprint.create(path, keys=True, texts=True) as database:
        unfits: list[Any] = [[5, 10], "ab", np.array([1, 2]), [None, "a"], [["a"], ["b"]], {"a", "b"}]
        for unfit in unfits:
            with pytest.raises(TypeError, match="texts"):
                database.add([1, 2], keys=["a", "b"], texts=unfit)
        for index, fit in enumerate((["x", b"y"], pyarrow.array(["x", "y"]), pandas.Series(["x", "y"]))):
            database.add([1, 2], ids=[index, index], keys=["a", "b"], texts=fit)
            database.commit()
            assert database.texts_of(1, index) == {"a": "x"}
            assert database.texts_of(2, index) == {"b": "y"}
        with pytest.raises(nearprint.InputError, match="keys: item 1 is no valid Unicode"):
            database.add([1, 2], keys=["a", "\ud800"])


def test_regression_a_refused_batch_leaves_nothing(path: Path) -> None:
    with nearprint.create(path, keys=True) as database:
        with pytest.raises(nearprint.InputError, match="keys: item 1"):
            database.add([1, 2], keys=["fine", "x" * 70_000])
        database.commit()
        assert len(database) == 0


def test_arrays_say_how_wide_a_new_database_is(tmp_path: Path) -> None:
    array = rows_of([1, 2**127], 128)
    with nearprint.build(tmp_path / "a", array) as database:
        assert database.width == 128
    with nearprint.build(tmp_path / "b", [1, 2]) as database:
        assert database.width == 64
    with pytest.raises(nearprint.InputError, match="128 bits, where 64"):
        nearprint.build(tmp_path / "c", array, width=64)


def test_regression_too_many_threads_are_refused(path: Path) -> None:
    for threads in (0, -1, 2**40, 2**70):
        for call in (
            lambda threads: nearprint.fingerprint(["a"], threads=threads),
            lambda threads: nearprint.find_all([1], 3, threads=threads),
            lambda threads: nearprint.create(path, threads=threads),
        ):
            with pytest.raises(nearprint.InputError, match="threads = "):
                call(threads)


def test_regression_a_checkpoint_is_bytes(path: Path) -> None:
    with nearprint.create(path) as database:
        database.checkpoint = b"here"
        unfits: list[Any] = [0, False, "", [], "abc"]
        for unfit in unfits:
            with pytest.raises(TypeError, match="checkpoint: bytes"):
                database.checkpoint = unfit
        assert database.checkpoint == b"here"
        database.checkpoint = b""
        assert database.checkpoint is None


class Released:
    """Arrow data that another consumer took out of its capsules: all of it, or the schema alone."""

    def __init__(self, data: Any, taken: str) -> None:
        if taken == "stream":
            capsule = data.__arrow_c_stream__()
            self.__arrow_c_stream__ = lambda requested_schema=None: capsule
            pyarrow.chunked_array(self)
            return
        capsules = data.__arrow_c_array__()
        self.__arrow_c_array__ = lambda requested_schema=None: capsules
        if taken == "array":
            pyarrow.array(self)
            return
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # A schema has seven members before `release`. In what is released they say nothing.
        members = (ctypes.c_uint64 * 8).from_address(pointer(capsules[0], b"arrow_schema"))
        for at in range(8):
            members[at] = 0 if at == 7 else 16


@pytest.mark.parametrize("taken", ["schema", "array", "stream"])
def test_regression_released_arrow_data_is_refused(taken: str, path: Path) -> None:
    for given, call in (
        (pyarrow.array([1, 2, 3], pyarrow.uint64()), lambda data: nearprint.build(path, data)),
        (pyarrow.array(["one two three"]), nearprint.fingerprint),
    ):
        data = pyarrow.chunked_array([given]) if taken == "stream" else given
        with pytest.raises(ValueError, match="released"):
            call(Released(data, taken))


def test_regression_ids_of_texts_were_not_those_of_their_rows(tmp_path: Path) -> None:
    texts = ["one two three", "four five six"]
    for ids in ([7, 8, 9], [7], (number for number in (7, 8, 9))):
        with pytest.raises(nearprint.InputError, match=r"[13] ids for 2 texts"):
            nearprint.build(tmp_path / "wrong.np", texts, ids=ids)
        assert not (tmp_path / "wrong.np").exists()
    for rows in (texts, [1, 2]):
        with pytest.raises(nearprint.Error, match="no automatic id is left"):
            nearprint.build(tmp_path / "wrong.np", rows, first_id=2**64 - 1)
    with nearprint.build(tmp_path / "last.np", texts, first_id=2**64 - 2) as database:
        assert sorted(database.rows().table()["id"].tolist()) == [2**64 - 2, 2**64 - 1]
    labelled = pandas.Series([10, 11], index=[1.5, 0.5])
    with nearprint.build(tmp_path / "labels.np", texts, ids=labelled) as database:
        assert sorted(database.rows().table()["id"].tolist()) == [10, 11]


@pytest.mark.parametrize("store", ["hashes", "features", "keys"])
def test_regression_texts_without_words_were_near_by_their_keys(store: Any, tmp_path: Path) -> None:
    table = {"text": ["", "", "x y z", "..."], "id": [5, 6, 7, 8]}
    ways: list[Any] = [("ids", table["text"], {"ids": table["id"]}), ("column", table, {"id": "id"})]
    for name, rows, options in ways:
        with nearprint.build(tmp_path / name, rows, store=store, **options) as database:
            assert len(database.pairs(ids=True).table()) == 0
            assert sorted(database.rows().table()["id"].tolist()) == [5, 6, 7, 8]


def test_regression_columns_without_rows_had_64_bits(tmp_path: Path) -> None:
    prints = nearprint.fingerprint(["one two three four", "alpha beta gamma delta"])
    table = nearprint.Result({"id": np.array([1, 2], np.uint64), "fingerprint": prints}).to_arrow()
    plain = table.set_column(1, "fingerprint", table["fingerprint"].cast(pyarrow.binary()))

    def reader(table: Any, *lengths: int) -> Any:
        batch = table.to_batches()[0]
        return pyarrow.RecordBatchReader.from_batches(table.schema, [batch.slice(0, length) for length in lengths])

    empty: list[Any] = [
        [],
        {"fingerprint": []},
        plain.slice(0, 0),
        plain.slice(0, 0)["fingerprint"],
        plain.slice(0, 0).to_pandas(),
        plain.slice(0, 0).to_pandas()["fingerprint"],
        polars.from_arrow(plain.slice(0, 0)),
        polars.from_arrow(plain).lazy().filter(polars.col("id") > 9),  # type: ignore[union-attr]
        reader(plain, 0),
        reader(plain),
    ]
    for index, rows in enumerate(empty):
        options: dict[str, Any] = {} if hasattr(rows, "read_next_batch") else {"recipe": "minhash"}
        if options:
            with nearprint.build(tmp_path / f"empty-{index}.np", rows, recipe="minhash") as database:
                assert len(database) == len(database.query_batch(rows)) == len(database.add(rows)) == 0
    with nearprint.build(tmp_path / "rows.np", table, recipe="minhash") as database:
        for rows in empty[-2:]:
            assert len(database.query_batch(rows)) == 0
        for one in (table, plain):
            assert database.query_batch(reader(one, 2, 0, 1))["query"].tolist() == [0, 1, 2]
    for lengths in ((0, 1, 0), (1, 0)):
        with nearprint.build(tmp_path / f"{lengths}.np", reader(plain, *lengths), recipe="minhash") as database:
            assert len(database) == 1
    nothing: list[Any] = [[], plain.slice(0, 0)["fingerprint"], np.empty((0, 4), np.uint64)]
    for a in nothing:
        for b in (*nothing, prints[0]):
            assert nearprint.distance(a, b, width=256, bands="10x16").tolist() == []
    with pytest.raises(nearprint.InputError, match="fingerprints of 64 bits"):
        nearprint.build(tmp_path / "narrow.np", np.empty((1, 1), np.uint64), recipe="minhash")


MISALIGNED = """
    import numpy as np, pyarrow as pa
    import nearprint

    def misaligned(values):
        return pa.py_buffer(b"\\0" + values.tobytes()).slice(1)

    bytes_of = pa.py_buffer(b"ab")
    offsets = np.array([0, 1, 2])
    arrays = [
        pa.Array.from_buffers(kind, 2, [None, misaligned(offsets.astype(size)), bytes_of])
        for kind, size in ((pa.string(), np.int32), (pa.large_string(), np.int64), (pa.binary(), np.int32))
    ]
    indexes = pa.array([0, 1], pa.int32())
    arrays.append(pa.DictionaryArray.from_arrays(indexes, arrays[0]))
    arrays += [pa.chunked_array([array]) for array in arrays]
    for array in arrays:
        for call in (lambda: nearprint.fingerprint(array), lambda: nearprint.pairs(pa.table({"text": array}))):
            try:
                call()
            except nearprint.Error as error:
                assert "are not aligned" in str(error), error
            else:
                raise AssertionError(array.type)
    # Arrow copies numbers.
    numbers = pa.Array.from_buffers(pa.uint64(), 2, [None, misaligned(np.array([1, 3], np.uint64))])
    assert len(nearprint.find_all(numbers, k=3)) == 1
"""


def test_regression_offsets_that_are_not_aligned_ended_the_process() -> None:
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MISALIGNED)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_row_has_a_key_that_is_a_number(tmp_path: Path) -> None:
    with nearprint.create(tmp_path / "k.np", keys=True) as database:
        database.add(7, keys=5)
        database.commit()
        assert database.rows().table()["key"] == ["5"]
        with pytest.raises(TypeError, match="item 1: str is no key: a number is wanted, as before it"):
            database.add([1, 2], keys=[1, "b"])
