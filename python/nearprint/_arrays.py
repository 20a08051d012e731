"""What callers have, as what the native module takes: arrays of 64-bit words, the least significant one first."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._errors import InputError

Words = npt.NDArray[np.uint64]

#: One fingerprint: an ``int``, a hexadecimal ``str``, ``bytes`` with the most significant byte first, a NumPy number,
#: or one row of an array of wide fingerprints.
Fingerprint = Union[int, str, bytes, np.generic, npt.NDArray[Any]]

WIDTHS = (64, 128, 256)

#: How the types of columns of texts, and of whatever, are called in pandas, polars and pyarrow.
_TEXTS = ("str", "object", "large_string")


def words_of(fingerprints: Any, width: Optional[int] = None) -> tuple[Words, int]:
    """The words of many fingerprints, row by row in one flat array, and the width.

    Without a width it is the one that the array says; that of texts by their length; of numbers the smallest
    that all of them fit.
    """
    if width is not None:
        check_width(width)
    array = _array_of(fingerprints)
    if array is None:
        return _words_of_list(fingerprints, width)
    words = _rows(array)
    found = 64 if words.ndim == 1 else 64 * words.shape[1]
    if width is not None and found != width:
        raise InputError(f"fingerprints of {found} bits, where {width} bits are wanted")
    return words.reshape(-1), found


def words_of_one(fingerprint: Fingerprint, width: int) -> Words:
    """The words of one fingerprint."""
    if isinstance(fingerprint, bytes):
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
    """Whether this is one fingerprint and not a list of them."""
    if isinstance(fingerprints, (int, str, bytes, np.generic)):
        return True
    if not isinstance(fingerprints, np.ndarray):
        return False
    return fingerprints.ndim == 0 or (width > 64 and fingerprints.ndim == 1)


def number(words: Words) -> int:
    """The number that the words of one fingerprint are."""
    return sum(int(word) << (64 * place) for place, word in enumerate(words))


def ids_of(ids: Any, count: Optional[int]) -> Words:
    """Ids as uint64, as many as there are rows."""
    if isinstance(ids, (int, np.integer)) and not isinstance(ids, bool):
        ids = [ids]
    if not isinstance(ids, np.ndarray) and _is_arrow(ids):
        array: Words = _nearprint.ids_of_arrow(ids)
    elif isinstance(ids, np.ndarray) or hasattr(ids, "to_numpy"):
        array = _unsigned(np.asarray(ids), "ids")
        if array.ndim != 1:
            raise InputError(f"ids: shape {array.shape}, where (n,) is wanted")
    else:
        array = _nearprint.words_of_list(list(ids), 64, False)
    if count is not None and len(array) != count:
        raise InputError(f"{len(array)} ids for {count} fingerprints")
    return array


def strings_of(texts: Any, count: int, what: str) -> list[str]:
    """Keys or texts, as many as there are rows."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{what}: a list of str is wanted")
    listed = listed_of(texts)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"{what}: item {index}: {type(text).__name__} is no str")
    if len(listed) != count:
        raise InputError(f"{len(listed)} {what} for {count} fingerprints")
    return listed


def listed_of(values: Any) -> list[Any]:
    """A list of whatever is a column: of an array, an Arrow array, a series or any iterable."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def check_width(width: int) -> int:
    """Refuses what is no width."""
    if width not in WIDTHS:
        raise InputError(f"width {width}: fingerprints have 64, 128 or 256 bits")
    return width


def check_k(k: Any, width: int) -> int:
    """Refuses what is no distance."""
    try:
        k = operator.index(k)
    except TypeError:
        raise TypeError(f"k: an int is wanted, not {type(k).__name__}") from None
    if not 0 <= k <= width:
        raise InputError(f"k = {k}: fingerprints of {width} bits differ by 0 to {width}")
    return int(k)


def check_threads(threads: Optional[int]) -> int:
    """The number of threads; all cores where none is said."""
    if threads is None:
        return os.cpu_count() or 1
    if operator.index(threads) < 1:
        raise InputError(f"threads = {threads}: at least 1 is wanted")
    return operator.index(threads)


def _is_arrow(values: Any) -> bool:
    return hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")


def _array_of(fingerprints: Any) -> Optional[npt.NDArray[Any]]:
    """An array, where it is one already or is made of Arrow data; nothing for a list."""
    if isinstance(fingerprints, np.ndarray):
        return None if fingerprints.dtype == object else fingerprints
    if isinstance(fingerprints, (str, bytes, int, np.generic)):
        raise TypeError(f"one {type(fingerprints).__name__}, where a list or an array of fingerprints is wanted")
    if hasattr(fingerprints, "to_numpy"):
        kind = str(getattr(fingerprints, "dtype", getattr(fingerprints, "type", None))).lower()
        if kind.startswith(_TEXTS):
            return None
        array = _primitive(fingerprints)
        if array is not None:
            return array
    if _is_arrow(fingerprints):
        return _nearprint.fingerprints_of_arrow(fingerprints)[0]
    return None


def _primitive(column: Any) -> Optional[npt.NDArray[Any]]:
    """The numbers of a column of pyarrow, polars or pandas, without a copy where it has one chunk and no nulls."""
    nulls = getattr(column, "null_count", getattr(column, "hasnans", 0))
    if (nulls() if callable(nulls) else nulls) and not str(getattr(column, "dtype", "")).startswith("float"):
        raise InputError("fingerprints: some are null")
    if "pyarrow" in type(column).__module__ and not str(column.type).startswith(("uint", "int")):
        return None
    array = np.asarray(column.to_numpy())
    return array if array.dtype.kind in "uif" else None


def _rows(array: npt.NDArray[Any]) -> Words:
    """Rows of words: shape (n,), (n, 2) or (n, 4), contiguous."""
    if array.ndim == 0:
        raise InputError("fingerprints: shape (), where a list or an array of them is wanted")
    if array.dtype == np.uint8:
        return _rows_of_bytes(array)
    array = _unsigned(array, "fingerprints")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] in (2, 4)):
        raise InputError(
            f"fingerprints: shape {array.shape}, where uint64 has (n,) for 64 bits, (n, 2) for 128 and (n, 4) for 256"
        )
    return array


def _rows_of_bytes(array: npt.NDArray[np.uint8]) -> Words:
    if array.ndim != 2 or array.shape[1] not in (8, 16, 32):
        raise InputError(
            f"fingerprints: shape {array.shape}, where uint8 has the bytes of fingerprints, the most significant one "
            "first: (n, 8), (n, 16) or (n, 32)"
        )
    words = np.ascontiguousarray(array).view(">u8")[:, ::-1].astype(np.uint64)
    return words.reshape(-1) if words.shape[1] == 1 else words


def _unsigned(array: npt.NDArray[Any], what: str) -> Words:
    """The numbers as uint64, as they are where they are that."""
    if array.dtype.kind not in "ui":
        if array.size == 0:
            return np.empty(array.shape, np.uint64)
        raise TypeError(f"{what}: an array of {array.dtype}, where uint64 is wanted")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise InputError(
            f"{what}: {array.min()} is negative; for numbers that went through signed ones, give array.view('uint64')"
        )
    return np.ascontiguousarray(array, dtype=np.uint64)


def _words_of_list(fingerprints: Iterable[Any], width: Optional[int]) -> tuple[Words, int]:
    listed = fingerprints if type(fingerprints) is list else listed_of(fingerprints)
    if listed and isinstance(listed[0], (np.ndarray, list, tuple)):
        return words_of(np.asarray(listed), width)
    if listed and isinstance(listed[0], bytes):
        return _words_of_bytes(listed, width)
    if width is None:
        width = _width_of_list(listed)
    return _nearprint.words_of_list(listed, width), width


def _words_of_bytes(listed: list[Any], width: Optional[int]) -> tuple[Words, int]:
    lengths = {len(item) if isinstance(item, bytes) else -1 for item in listed}
    if len(lengths) > 1:
        raise InputError("fingerprints: bytes of different lengths, or something else among them")
    rows = np.frombuffer(b"".join(listed), np.uint8).reshape(len(listed), -1)
    return words_of(rows, width)


def _width_of_list(listed: list[Any]) -> int:
    """64 bits where the list does not say anything else."""
    bits = 64
    for item in listed:
        if isinstance(item, str):
            bits = max(bits, 4 * len(item.removeprefix("0x")))
        elif isinstance(item, int):
            bits = max(bits, item.bit_length())
    return next((width for width in WIDTHS if bits <= width), WIDTHS[-1])
