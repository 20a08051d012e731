"""Fingerprints of texts and of features."""

from __future__ import annotations

import operator
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Optional, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import check_threads, listed_of, number, refuse_table, without_mask, words_of
from ._carried import Fingerprints, carrying
from ._errors import InputError
from ._progress import Progress, listening
from ._settings import check_count

T = TypeVar("T")


@overload
def fingerprint(
    texts: Any,
    recipe: str = "minhash",
    *,
    min_features: int = 0,
    threads: Optional[int] = None,
    missing: Literal["error", "skip"] = "error",
    progress: Progress = None,
) -> Fingerprints: ...
@overload
def fingerprint(
    texts: Any,
    recipe: str = "minhash",
    *,
    min_features: int = 0,
    threads: Optional[int] = None,
    missing: Literal["keep", "mask"],
    progress: Progress = None,
) -> np.ma.MaskedArray[Any, np.dtype[np.uint64]]: ...
def fingerprint(
    texts: Any,
    recipe: str = "minhash",
    *,
    min_features: int = 0,
    threads: Optional[int] = None,
    missing: Literal["error", "keep", "skip", "mask"] = "error",
    progress: Progress = None,
) -> Any:
    """The fingerprints of texts, computed on all cores.

    ``texts`` is an iterable of ``str``, an Arrow array of strings (pyarrow, polars, anything with
    ``__arrow_c_array__`` or ``__arrow_c_stream__``), or a pandas or NumPy column, also of categories.
    ``recipe`` is a name (``minhash``, ``simhash``, ``cjk``, ``chinese``, ``simhash-py``, ``seomoz-cpp``,
    ``notebook``, ``exact``), parts such as ``"shingle=4 width=128"``, or both: ``"cjk shingle=3"``.

    Returns uint64 of shape (n,), or (n, 2), (n, 4) and (n, 5) for recipes of 128, 256 and 320 bits, the least
    significant word first. The array carries its recipe: :func:`build`, :func:`find_all` and others compare the
    fingerprints as the recipe wants. ``None``, NaN, NA and nulls are missing texts: with ``missing="keep"`` (or
    ``"mask"``) returns a ``numpy.ma.MaskedArray``, in which they are masked; ``"skip"`` leaves them out.

    A text without features, which are the shingles or keywords that the recipe compares, has the fingerprint 0. In
    MinHash, 0 is near nothing. With other recipes such texts are near each other; a ``UserWarning`` gives their
    number. Texts with fewer than ``min_features`` count as missing: 1 with ``missing="skip"`` leaves them out.
    :func:`dedup` and others that take texts find only copies of them.

    Raises ``InputError`` for a missing text, unless missing texts are kept or dropped, and for an invalid
    recipe; ``TypeError`` for an item that is not a text.
    """
    least = check_count(min_features, "min_features")
    made, absent, few = _fingerprints(texts, recipe, (False, max(least, 1)), threads, missing, progress)
    line, _, bands = _nearprint.recipe_line(recipe)
    if few and least == 0 and bands is None:
        what = f"{len(few)} of the texts have no feature, and the fingerprint 0, so that they are near each other"
        ways = "min_features=1 with missing='skip' leaves them out"
        warnings.warn(f"{what}; {ways}", UserWarning, stacklevel=2)
    if least:
        absent = sorted({*absent, *few})
    carried = carrying(made, line)
    if missing == "skip":
        return carrying(np.delete(made, absent, axis=0), line)
    if missing == "error":
        if absent:
            what = f"are missing or have fewer than {least} features" if least else "are missing"
            ways = "missing='keep' masks them, and missing='skip' leaves them out"
            raise InputError(f"{len(absent)} texts {what}, the first at {absent[0]}; {ways}")
        return carried
    mask = np.zeros(made.shape, bool)
    mask[absent] = True
    masked: Any = np.ma.MaskedArray(carried, mask)
    masked.recipe = line
    result: Fingerprints = masked
    return result


def stored_fingerprints(texts: Any, recipe: str, threads: Optional[int] = None) -> tuple[Any, list[int]]:
    """The fingerprints under which a deduplication stores texts, and the indexes of texts that nothing is near.

    A text without features has a fingerprint of all its tokens, so that only copies are near. Nothing is near missing
    texts, and texts without tokens.
    """
    made, absent, empty = _fingerprints(texts, recipe, (True, 1), threads, "keep", None)
    return made, sorted({*absent, *empty})


def _fingerprints(
    texts: Any,
    recipe: str,
    how: tuple[bool, int],
    threads: Optional[int],
    missing: str,
    progress: Progress,
) -> tuple[npt.NDArray[np.uint64], list[int], list[int]]:
    """Fingerprints, the places of missing texts, and of those with few features or, if they are stored, no token."""
    refuse_table(texts, "texts")
    if isinstance(texts, (str, bytes)) or getattr(texts, "ndim", 1) != 1:
        raise TypeError("texts: one text or a table, where a list of texts is wanted")
    if missing not in ("error", "keep", "skip", "mask"):
        raise InputError(f"missing = {missing!r}: 'error', 'keep' or 'skip' is wanted")
    workers = check_threads(threads)
    if hasattr(texts, "__len__") and len(texts) == 0:
        texts = []
    is_arrow = (hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__")) and not _is_listed(texts)
    with listening(progress) as listener:
        if is_arrow:
            return _nearprint.fingerprint_arrow(texts, recipe, how, workers, listener)
        listed = texts if type(texts) is list else listed_of(texts, "texts")
        return _nearprint.fingerprint_list(listed, recipe, how, workers, listener)


def _is_listed(texts: Any) -> bool:
    """Whether a column is read as a list: a column of Python objects, of nulls, or of categories of pandas."""
    kind = str(getattr(texts, "dtype", getattr(texts, "type", ""))).lower()
    return kind in ("object", "null", "category")


def recipe_line(recipe: str) -> str:
    """A recipe as databases store it: one line, the same for all spellings of a recipe.

    Raises ``InputError`` for an invalid recipe.
    """
    return _nearprint.recipe_line(recipe)[0]


def simhash(hashes: Any, weights: Any = None, *, width: Optional[int] = None) -> int:
    """The simhash of the hashes of features.

    A bit is set if the hashes with this bit have more weight than those without. ``hashes`` is as in
    :func:`find_all`; ``weights`` is a number up to 10^15 for each hash, with nine decimal places. By default
    all weights are equal.

    Raises ``InputError`` for a wrong number of weights, and for a weight that is NaN or too large.
    """
    words, width = words_of(hashes, width)
    if weights is not None:
        weights = np.asarray(without_mask(weights, "weights"))
        if weights.dtype.kind not in "iuf":
            raise TypeError(f"weights: {weights.dtype}, where numbers are wanted")
        weights = np.require(weights, np.float64, ["C", "A"])
        if weights.shape != (len(words) * 64 // width,):
            raise InputError(f"{weights.size} weights for {len(words) * 64 // width} hashes")
    return number(_nearprint.simhash(words, weights, width))


def shingle(tokens: Iterable[T], window: int = 4) -> Iterator[list[T]]:
    """All lists of ``window`` consecutive tokens, in order; none for fewer tokens.

    The iteration raises ``ValueError`` for a window below 1.
    """
    window = operator.index(window)
    if window < 1:
        raise InputError(f"window = {window}: at least 1 is wanted")
    latest: deque[T] = deque(maxlen=min(window, sys.maxsize))
    for token in tokens:
        latest.append(token)
        if len(latest) == window:
            yield list(latest)
