"""Functions that need no database: pairs, clusters and distances of fingerprints in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import check_threads, in_order, is_one, words_of, words_of_one
from ._carried import bands_for, carried_width
from ._errors import InputError
from ._progress import Progress, listening
from ._result import Blocks, Result
from ._settings import near_of

if TYPE_CHECKING:
    import pandas

#: One fingerprint, but for rows of arrays.
One = Union[int, str, bytes, "np.generic[Any]"]


def find_all(
    fingerprints: Any,
    k: Optional[int] = None,
    threads: Optional[int] = None,
    *,
    similarity: Optional[float] = None,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    progress: Progress = None,
) -> Result:
    """All pairs of distinct fingerprints that differ in at most ``k`` bits: columns ``a``, ``b``, ``distance``.

    ``fingerprints`` is one of:

    * a NumPy array of uint64 and shape (n,) for 64 bits, (n, 2) for 128, (n, 4) for 256, (n, 5) for 320, the least
      significant word first; or of uint8 and shape (n, 8), (n, 16), (n, 32), (n, 40), the most significant
      byte first;
    * an Arrow array of uint64 or fixed_size_binary, a column of pyarrow, polars or pandas;
    * an Arrow column of lists of words, the least significant word first, or of a dictionary;
    * an iterable of ints, of ``bytes``, or of hexadecimal texts, with all digits or after ``0x``.

    An array determines the width. Ints have 64 bits, unless one of them needs more or ``width`` is
    given.

    With ``bands``, such as ``"6x16"``, a pair has an equal band, and the distance is the distance
    of sketches: see docs/minhash.md; ``similarity`` (0.7) may take the place of ``k``. An array of
    :func:`fingerprint` carries its bands; ``numpy.asarray`` drops them. Without bands all bits are compared, which
    finds hardly any near texts by MinHash.

    Each pair is listed once, with ``a < b``; the list is not sorted by them. Equal fingerprints count once. The result
    does not depend on ``threads``.

    Raises ``InputError`` for invalid fingerprints or an invalid k, ``TypeError`` for other types.
    """
    words, found = words_of(fingerprints, width)
    near = near_of(fingerprints, found, k, similarity, bands)
    with listening(progress) as listener:
        return Blocks(_nearprint.find_all(words, found, near, check_threads(threads), listener)).table()


def find_clusters(
    fingerprints: Any,
    k: Optional[int] = None,
    threads: Optional[int] = None,
    *,
    similarity: Optional[float] = None,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    progress: Progress = None,
) -> Result:
    """The connected components of the pairs within ``k`` bits, without single fingerprints.

    Columns ``cluster`` (0, 1, ...) and ``fingerprint``. Clusters are ordered by their smallest
    fingerprint, and their fingerprints ascend. Arguments and exceptions as for :func:`find_all`.
    """
    words, found = words_of(fingerprints, width)
    near = near_of(fingerprints, found, k, similarity, bands)
    with listening(progress) as listener:
        return Blocks(_nearprint.find_clusters(words, found, near, check_threads(threads), listener)).table()


@overload
def distance(a: One, b: One, *, width: Optional[int] = None, bands: Optional[str] = None) -> int: ...
@overload
def distance(
    a: Iterable[Any], b: Any, *, width: Optional[int] = None, bands: Optional[str] = None
) -> npt.NDArray[np.uint32]: ...
@overload
def distance(
    a: Any, b: Iterable[Any], *, width: Optional[int] = None, bands: Optional[str] = None
) -> npt.NDArray[np.uint32]: ...
def distance(
    a: Any, b: Any, *, width: Optional[int] = None, bands: Optional[str] = None
) -> Union[int, npt.NDArray[np.uint32]]:
    """The number of bits in which fingerprints differ; with ``bands``, in which their sketches differ.

    Returns an ``int`` for two fingerprints. For arrays or lists, as in :func:`find_all`, returns
    uint32 of shape (n,): row by row, or one against all. One row of an array of wide fingerprints
    needs ``width``: without it, an array of shape (2,) is two fingerprints of 64 bits. ``bands`` are as in
    :func:`find_all`. An array of :func:`fingerprint`, and a row of it, carries its own width and bands.

    Raises ``InputError`` for lists of different lengths or widths.
    """
    bands = bands_for(b, bands_for(a, bands))
    bands_for(a, bands)
    width = width or carried_width(a) or carried_width(b)
    one_a, one_b = (is_one(value, 64 if width is None else width) for value in (a, b))
    # An iterator can be read only once.
    a, b = (value if one or hasattr(value, "__len__") else list(value) for value, one in ((a, one_a), (b, one_b)))
    words_a, width_a = _words(a, one_a, width)
    words_b, width_b = _words(b, one_b, width)
    if width_a != width_b and len(words_a) and len(words_b):
        if not (one_a or one_b):
            raise InputError(f"fingerprints of {width_a} bits and of {width_b} bits; say width={max(width_a, width_b)}")
        width_a = max(width_a, width_b)
        (words_a, _), (words_b, _) = _words(a, one_a, width_a), _words(b, one_b, width_a)
    count_a, count_b = (len(words) * 64 // width_a for words in (words_a, words_b))
    if count_a != count_b and not (one_a or one_b):
        raise InputError(f"{count_a} fingerprints and {count_b}: as many are wanted, or one, such as a[0]")
    if not count_a or not count_b:
        return np.empty(0, np.uint32)
    words_a, words_b = (_compared(words, width_a, bands) for words in (words_a, words_b))
    distances = _nearprint.distances(words_a, words_b, width_a)
    return int(distances[0]) if one_a and one_b else distances


@overload
def distance_matrix(
    fingerprints: Any,
    labels: None = None,
    *,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    threads: Optional[int] = None,
) -> npt.NDArray[np.uint16]: ...
@overload
def distance_matrix(
    fingerprints: Any,
    labels: Iterable[Any],
    *,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    threads: Optional[int] = None,
) -> pandas.DataFrame: ...
def distance_matrix(
    fingerprints: Any,
    labels: Optional[Iterable[Any]] = None,
    *,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    threads: Optional[int] = None,
) -> Union[npt.NDArray[np.uint16], pandas.DataFrame]:
    """The distances between all fingerprints, as of :func:`distance`: uint16 of shape (n, n).

    With ``labels``, one for each fingerprint, returns a ``pandas.DataFrame`` with the labels as index
    and columns.

    Raises ``InputError`` for a wrong number of labels, ``ImportError`` for labels without pandas,
    ``MemoryError`` if the matrix does not fit in memory; otherwise as :func:`find_all`.
    """
    bands = bands_for(fingerprints, bands)
    words, width = words_of(fingerprints, width)
    words, count = _compared(words, width, bands), len(words) * 64 // width
    if labels is not None:
        labels = in_order(labels, "labels")
        if len(labels) != count:
            raise InputError(f"{len(labels)} labels for {count} fingerprints")
    matrix = np.empty((count, count), np.uint16)
    _nearprint.fill_distance_matrix(words, width, check_threads(threads), matrix)
    if labels is None:
        return matrix
    import pandas

    return pandas.DataFrame(matrix, index=labels, columns=labels)


def _compared(words: npt.NDArray[np.uint64], width: int, bands: Optional[str]) -> npt.NDArray[np.uint64]:
    """The bits that a distance counts."""
    return words if bands is None else _nearprint.sketches(words, width, bands)


def _words(value: Any, one: bool, width: Optional[int]) -> tuple[Any, int]:
    if not one:
        return words_of(value, width)
    if width is not None:
        return words_of_one(value, width), width
    if isinstance(value, np.ndarray):
        return words_of(value[np.newaxis] if value.ndim else value.reshape(1).tolist())
    return words_of([value.item() if isinstance(value, np.generic) else value])
