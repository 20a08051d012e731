"""Conversion of arguments to the form of the native module: arrays of 64-bit words.

The least significant word of a fingerprint is first.
"""

from __future__ import annotations

import operator
import os
import pathlib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._errors import InputError

Words = npt.NDArray[np.uint64]

#: One fingerprint: an ``int``, a hexadecimal ``str``, ``bytes`` with the most significant byte first, a
#: NumPy number, or one row of an array of wide fingerprints.
Fingerprint = Union[int, str, bytes, bytearray, memoryview, np.generic, npt.NDArray[Any]]

#: A key: a text, or a number, which stands for its digits.
Key = Union[str, int, "np.integer[Any]"]

WIDTHS = (64, 128, 256, 320)

#: The types of pandas' values for missing ones.
_MISSING = ("NAType", "NaTType")

#: The largest number of threads that is accepted.
_MOST_THREADS = 1024

#: Type names, in pandas, polars and pyarrow, of columns that are read as lists: texts, objects, and
#: integers that NumPy does not have.
_LISTED = ("str", "object", "large_string", "int128", "uint128", "categorical", "enum", "dictionary<values=str")


def path_of(path: Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]) -> str:
    """A path as text, with the home of a user instead of a leading ``~``."""
    try:
        return os.path.expanduser(os.fsdecode(path))
    except TypeError as error:
        hint = "; that of an open database is database.path" if hasattr(path, "path") else ""
        raise TypeError(f"path: {error}{hint}") from None


def place_of(path: Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]) -> str:
    """The path of a database that stays open: absolute, so that it names the same folder after ``os.chdir``."""
    given = path_of(path)
    # ``..`` stays: what it leads to depends on links. An empty path names no folder.
    return str(pathlib.Path.cwd() / given) if given else given


def words_of(
    fingerprints: Any, width: Optional[int] = None, width_of_lists: Optional[int] = None, signed: bool = False
) -> tuple[Words, int]:
    """The words of many fingerprints, row by row in one flat array, and the width.

    If ``width`` is not given, an array, bytes or hexadecimal digits determine it. Other lists have ``width_of_lists``;
    if that is not given either, the smallest width that fits all items. With ``signed``, int64 are bit patterns.
    """
    if width is not None:
        check_width(width)
    array = _array_of(fingerprints, "fingerprints", signed)
    if array is None:
        return _words_of_list(fingerprints, width, width_of_lists)
    words = _rows(array, signed)
    found = 64 if words.ndim == 1 else 64 * words.shape[1]
    if not len(words):
        # Many columns without rows have no width.
        return words.reshape(-1), width or max(found, width_of_lists or 64)
    if width is not None and found != width:
        raise InputError(f"fingerprints of {found} bits, where {width} bits are wanted")
    return words.reshape(-1), found


def words_of_one(fingerprint: Fingerprint, width: int) -> Words:
    """The words of one fingerprint."""
    if isinstance(fingerprint, (bytes, bytearray, memoryview)):
        fingerprint = bytes(fingerprint)
        if len(fingerprint) * 8 != width:
            raise InputError(f"{len(fingerprint)} bytes, where a fingerprint has {width // 8}")
        fingerprint = int.from_bytes(fingerprint, "big")
    if isinstance(fingerprint, np.ndarray):
        if fingerprint.ndim == 0:
            fingerprint = fingerprint[()]
        else:
            words, _ = words_of(fingerprint[np.newaxis], width)
            return words
    if isinstance(fingerprint, np.floating):
        raise TypeError(f"{fingerprint!r} is no fingerprint: an int is wanted")
    return _nearprint.words_of_list([fingerprint], width)


def is_one(fingerprints: Any, width: int) -> bool:
    """Whether the value is one fingerprint of a width, and not several."""
    if isinstance(fingerprints, (int, str, bytes, bytearray, memoryview, np.generic)):
        return True
    if not isinstance(fingerprints, np.ndarray) or fingerprints.ndim > 1:
        return False
    if fingerprints.ndim == 1 and fingerprints.dtype == np.uint8:
        return width > 64 and len(fingerprints) == width // 8
    return fingerprints.ndim == 0 or (width > 64 and fingerprints.dtype.kind in "ui")


def number(words: Words) -> int:
    """The fingerprint with these words as a number."""
    return sum(int(word) << (64 * place) for place, word in enumerate(words))


def ids_of(ids: Any, count: Optional[int], signed: bool = False) -> Words:
    """Ids as uint64, one for each row. With ``signed``, int64 are bit patterns."""
    if isinstance(ids, (int, np.integer)) and not isinstance(ids, bool):
        ids = [ids]
    array = _array_of(ids, "ids", signed)
    if array is not None:
        array = _unsigned(array, "ids", signed)
        if array.ndim != 1:
            raise InputError(f"ids: shape {array.shape}, where (n,) is wanted")
    else:
        listed = in_order(ids, "ids") if count is not None else listed_of(ids, "ids")
        try:
            array = _nearprint.words_of_list(listed, 64, False)
        except (TypeError, InputError) as error:
            are_texts = any(isinstance(one, str) for one in listed[:1])
            given = "key= takes texts as keys, and keys= a list of them"
            ways = "delete_keys and others take keys" if count is None else given
            hint = f"; {ways}" if are_texts else ""
            raise type(error)(f"ids: {error}{hint}") from None
    if count is not None and len(array) != count:
        raise InputError(f"{len(array)} ids for {count} fingerprints")
    return array


def id_of(id: Any) -> int:
    """One id."""
    ids = ids_of(id, None)
    if len(ids) != 1:
        raise InputError(f"id: {len(ids)} ids, where one is wanted")
    return int(ids[0])


def keys_of(keys: Any, count: int, may_be_missing: bool = False) -> list[Optional[str]]:
    """Keys, one for each row: texts, or the digits of numbers if all are numbers.

    ``None`` for a missing one, where that is possible.
    """
    listed = in_order(keys, "keys")
    are_numbers = isinstance(next((key for key in listed if not is_missing(key)), None), (int, np.integer))
    for index, key in enumerate(listed):
        if is_missing(key):
            if not may_be_missing:
                raise TypeError(f"keys: item {index}: {type(key).__name__} is no key; rows without a key need ids")
            listed[index] = None
        elif isinstance(key, str) and not are_numbers:
            encoded(key, "keys", index)
        elif are_numbers and isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            listed[index] = str(int(key))
        else:
            raise no_key(key, index, "a number is wanted, as before it" if are_numbers else "a text is wanted")
    if len(listed) != count:
        raise InputError(f"{len(listed)} keys for {count} fingerprints")
    return listed


def no_key(key: Any, index: int, wanted: str = "a text is wanted") -> TypeError:
    """The error of a value that is no key."""
    is_float = isinstance(key, (float, np.floating))
    hint = "; integers beside missing ones have the type 'Int64' in pandas" if is_float else ""
    return TypeError(f"keys: item {index}: {type(key).__name__} is no key: {wanted}{hint}")


def key_of(key: Key) -> str:
    """One key: a text, or the digits of a number."""
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return str(int(key))
    if isinstance(key, str):
        return key
    raise TypeError(f"{key!r} is no key: a text is wanted")


def encoded(text: str, what: str, index: int) -> bytes:
    """A text in UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what}: item {index} is no valid Unicode: {error.reason}") from None


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: ``None``, NaN, NA or NaT."""
    return (
        value is None
        or (isinstance(value, (float, np.floating)) and value != value)
        or type(value).__name__ in _MISSING
    )


def in_order(values: Any, what: str) -> list[Any]:
    """A list of the values of rows, in their order."""
    if isinstance(values, (str, AbstractSet, Mapping)):
        raise TypeError(f"{what}: one for each fingerprint, in their order, is wanted, not a {type(values).__name__}")
    return listed_of(values, what)


def listed_of(values: Any, what: str) -> list[Any]:
    """A list of the values of a column: an array, an Arrow array, a series or any iterable."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        raise TypeError(f"{what}: a list or an array is wanted, not {type(values).__name__}")
    if isinstance(values, _nearprint.ArrowColumn):
        try:
            return values.tolist()
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    try:
        return list(values)
    except TypeError:
        if hasattr(values, "__iter__"):
            raise
        raise TypeError(f"{what}: a list or an array is wanted, not {type(values).__name__}") from None


def check_width(width: int) -> int:
    """Refuses an invalid width."""
    if not isinstance(width, (int, np.integer)):
        raise TypeError(f"width: an int is wanted, not {type(width).__name__}")
    if width not in WIDTHS:
        raise InputError(f"width {width}: fingerprints have 64, 128, 256 or 320 bits")
    return width


def check_k(k: Any, width: int) -> int:
    """Refuses an invalid distance."""
    try:
        k = operator.index(k)
    except TypeError:
        raise TypeError(f"k: an int is wanted, not {type(k).__name__}") from None
    if not 0 <= k <= width:
        raise InputError(f"k = {k}: fingerprints of {width} bits differ by 0 to {width}")
    return int(k)


def check_threads(threads: Optional[int]) -> int:
    """The number of threads, by default all cores."""
    if threads is None:
        return min(os.cpu_count() or 1, _MOST_THREADS)
    try:
        count = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads: an int is wanted, not {type(threads).__name__}") from None
    if not 1 <= count <= _MOST_THREADS:
        raise InputError(f"threads = {count}: 1 to {_MOST_THREADS} are wanted")
    return count


def without_mask(values: Any, what: str) -> Any:
    """The data of a masked array, which must not have masked values."""
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            without = "array.compressed()" if values.ndim == 1 else "numpy.ma.compress_rows(array)"
            raise InputError(f"{what}: some are masked; {without} leaves them out")
        return np.asarray(values.data)
    return values


def _is_arrow(values: Any) -> bool:
    return hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")


def refuse_table(values: Any, what: str) -> None:
    """Raises ``TypeError`` for a table where a column is wanted."""
    if isinstance(values, Mapping) or any(hasattr(type(values), name) for name in ("columns", "column_names")):
        library = type(values).__module__.partition(".")[0]
        hint = {
            "dask": "; nearprint.dask takes data frames of Dask",
            "pyspark": "; nearprint.spark takes those of Spark",
        }
        raise TypeError(f"{what}: a {type(values).__name__}, where one of its columns is wanted{hint.get(library, '')}")


def _array_of(values: Any, what: str, signed: bool) -> Optional[npt.NDArray[Any]]:
    """The values as an array, if they are an array or Arrow data; ``None`` for a list."""
    if isinstance(values, np.ndarray):
        values = np.asarray(without_mask(values, what))
        return None if values.dtype == object else values
    if isinstance(values, (str, bytes, bytearray, memoryview, int, np.generic)):
        raise TypeError(f"{what}: one {type(values).__name__}, where a list or an array of them is wanted")
    refuse_table(values, what)
    if hasattr(values, "to_numpy"):
        if len(values) == 0:
            return np.empty(0, np.uint64)
        kind = str(getattr(values, "dtype", getattr(values, "type", None))).lower()
        if kind.startswith(_LISTED):
            return None
        if kind.startswith(("list<", "large_list<", "fixed_size_list<")) and not _is_arrow(values):
            # Older pandas makes an array of all items, which may be one of floats.
            values = values.array.__arrow_array__()
        array = _primitive(values, what)
        if array is not None or kind == "category":
            return array
    if isinstance(values, _nearprint.ArrowColumn) and values.has_texts():
        return None
    if _is_arrow(values):
        if what == "ids":
            return _nearprint.ids_of_arrow(values, signed)
        return _nearprint.fingerprints_of_arrow(values, signed)[0]
    return None


def _primitive(column: Any, what: str) -> Optional[npt.NDArray[Any]]:
    """The numbers of a column of pyarrow, polars or pandas.

    A column of one chunk without nulls is not copied.
    """
    nulls = getattr(column, "null_count", getattr(column, "hasnans", 0))
    if (nulls() if callable(nulls) else nulls) and not str(getattr(column, "dtype", "")).startswith("float"):
        raise InputError(f"{what}: some are null")
    if "pyarrow" in type(column).__module__ and not str(column.type).startswith(("uint", "int")):
        return None
    array = np.asarray(column.to_numpy())
    if array.dtype == np.uint8:
        # Bytes of fingerprints have two dimensions, so these are small numbers.
        return array.astype(np.uint64)
    return array if array.dtype.kind in "uif" else None


def _rows(array: npt.NDArray[Any], signed: bool) -> Words:
    """Rows of words: shape (n,), (n, 2), (n, 4) or (n, 5), contiguous."""
    if array.ndim == 0:
        raise InputError("fingerprints: shape (), where a list or an array of them is wanted")
    if array.dtype == np.uint8:
        return _rows_of_bytes(array)
    array = _unsigned(array, "fingerprints", signed)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] in (2, 4, 5)):
        raise InputError(
            f"fingerprints: shape {array.shape}, where uint64 has (n,) for 64 bits, (n, 2) for 128, "
            "(n, 4) for 256 and (n, 5) for 320"
        )
    return array


def _rows_of_bytes(array: npt.NDArray[np.uint8]) -> Words:
    if array.ndim != 2 or array.shape[1] not in (8, 16, 32, 40):
        raise InputError(
            f"fingerprints: shape {array.shape}, where uint8 has the bytes of fingerprints, the most significant one "
            "first: (n, 8), (n, 16), (n, 32) or (n, 40)"
        )
    words = np.ascontiguousarray(array).view(">u8")[:, ::-1].astype(np.uint64)
    return words.reshape(-1) if words.shape[1] == 1 else words


def _unsigned(array: npt.NDArray[Any], what: str, signed: bool) -> Words:
    """The numbers as uint64. An array of 64-bit numbers is not copied."""
    if array.dtype.kind not in "ui":
        if array.size == 0:
            return np.empty(array.shape, np.uint64)
        raise TypeError(f"{what}: an array of {array.dtype}, where uint64 is wanted")
    if signed and array.dtype == np.int64:
        return np.require(array, np.int64, ["C", "A"]).view(np.uint64)
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        hint = (
            "for numbers that went through signed ones, give array.view('uint64'), or signed=True to build, add and "
            "query_batch"
            if array.dtype == np.int64
            else f"and {array.dtype} has no 64 bits"
        )
        raise InputError(f"{what}: {array.min()} is negative; {hint}")
    return np.require(array, np.uint64, ["C", "A"])


def _words_of_list(
    fingerprints: Iterable[Any], width: Optional[int], width_of_lists: Optional[int]
) -> tuple[Words, int]:
    listed = fingerprints if type(fingerprints) is list else listed_of(fingerprints, "fingerprints")
    if listed and isinstance(listed[0], (np.ndarray, list, tuple)):
        return _words_of_rows(listed, width)
    if listed and isinstance(listed[0], bytes):
        return _words_of_bytes(listed, width)
    hint = ""
    if width is None and width_of_lists is not None:
        hint = "; width= sets another width"
        width = max(width_of_lists, _width_of_list([item for item in listed[:1] if isinstance(item, str)]))
    if width is None:
        width = _width_of_list(listed)
    try:
        return _nearprint.words_of_list(listed, width), width
    except InputError as error:
        if "does not fit" in str(error):
            raise InputError(f"{error}{hint}") from None
        raise


def _words_of_rows(listed: list[Any], width: Optional[int]) -> tuple[Words, int]:
    """The words of fingerprints that are lists of words."""
    if all(isinstance(row, np.ndarray) and row.dtype == np.uint8 for row in listed):
        return words_of(np.stack(listed), width)
    rows = [listed_of(row, "fingerprints") for row in listed]
    if len({len(row) for row in rows}) > 1:
        raise InputError("fingerprints: rows of different lengths")
    words = _nearprint.words_of_list([word for row in rows for word in row], 64, False)
    return words_of(words.reshape(len(rows), -1), width)


def _words_of_bytes(listed: list[Any], width: Optional[int]) -> tuple[Words, int]:
    lengths = {len(item) if isinstance(item, bytes) else -1 for item in listed}
    if len(lengths) > 1:
        raise InputError("fingerprints: bytes of different lengths, or something else among them")
    rows = np.frombuffer(b"".join(listed), np.uint8).reshape(len(listed), -1)
    return words_of(rows, width)


def _width_of_list(listed: list[Any]) -> int:
    """The smallest width that fits all items."""
    bits, has_digits = 64, False
    for item in listed:
        if isinstance(item, str):
            is_binary = item[:2] in ("0b", "0B") and len(item) - 2 in WIDTHS
            has_prefix = is_binary or item[:2] in ("0x", "0X")
            # All digits are there without a prefix: another number of them is a wrong item.
            if has_prefix or not has_digits:
                digits = item[2:] if has_prefix else item
                bits = max(bits, len(digits) if is_binary else 4 * len(digits))
            has_digits = has_digits or not has_prefix
        elif isinstance(item, int):
            bits = max(bits, item.bit_length())
    return next((width for width in WIDTHS if bits <= width), WIDTHS[-1])
