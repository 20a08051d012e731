"""Texts and features to fingerprints."""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Optional, TypeVar

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import check_threads, listed_of, number, without_mask, words_of
from ._errors import InputError
from ._progress import Progress, listening

T = TypeVar("T")


def fingerprint(
    texts: Any,
    recipe: str = "default",
    *,
    threads: Optional[int] = None,
    missing: Literal["error", "mask"] = "error",
    progress: Progress = None,
) -> npt.NDArray[np.uint64]:
    """The fingerprints of texts, made on all cores.

    ``texts`` is an iterable of ``str``, an Arrow array of strings (pyarrow, polars, anything with
    ``__arrow_c_array__`` or ``__arrow_c_stream__``), a pandas or NumPy column, also of categories. ``recipe`` is a name
    (``default``, ``cjk``, ``chinese``, ``simhash-py``, ``seomoz-cpp``, ``notebook``), parts such as ``"shingle=4
    width=128"``, or both: ``"cjk shingle=3"``. A text without words has the fingerprint 0.

    Returns uint64 of shape (n,), or (n, 2) and (n, 4) for recipes of 128 and 256 bits, the least significant word
    first. With ``missing="mask"`` that is a ``numpy.ma.MaskedArray`` in which ``None``, NaN and NA are masked.

    Raises ``InputError`` for a missing text, unless they are masked, and for what is no recipe; ``TypeError`` for an
    item that is no text.
    """
    if isinstance(texts, (str, bytes)) or getattr(texts, "ndim", 1) != 1:
        raise TypeError("texts: one text or a table, where a list of texts is wanted")
    if missing not in ("error", "mask"):
        raise InputError(f"missing = {missing!r}: 'error' or 'mask' is wanted")
    workers = check_threads(threads)
    if isinstance(texts, np.ma.MaskedArray) and np.ma.is_masked(texts):
        texts = texts.filled(None)
    if hasattr(texts, "__len__") and len(texts) == 0:
        texts = []
    is_arrow = (hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__")) and not _is_listed(texts)
    with listening(progress) as listener:
        if is_arrow:
            made, absent = _nearprint.fingerprint_arrow(texts, recipe, workers, listener)
        else:
            listed = texts if type(texts) is list else listed_of(texts, "texts")
            made, absent = _nearprint.fingerprint_list(listed, recipe, workers, listener)
    if missing == "error":
        if absent:
            raise InputError(f"{len(absent)} texts are missing, the first at {absent[0]}; missing='mask' masks them")
        return made
    mask = np.zeros(made.shape, bool)
    mask[absent] = True
    masked: npt.NDArray[np.uint64] = np.ma.MaskedArray(made, mask)
    return masked


def _is_listed(texts: Any) -> bool:
    """Whether this is a column that is read as a list: of Python objects, of nothing, of categories."""
    kind = str(getattr(texts, "dtype", getattr(texts, "type", ""))).lower()
    return kind.startswith(("object", "null", "categor", "enum", "dictionary"))


def recipe_line(recipe: str) -> str:
    """A recipe as databases keep it: one line, the same for all recipes that make the same fingerprints.

    Raises ``InputError`` for what is no recipe.
    """
    return _nearprint.recipe_line(recipe)[0]


def simhash(hashes: Any, weights: Any = None, *, width: Optional[int] = None) -> int:
    """The simhash of the hashes of features: a bit is set iff the weights of the hashes that have it exceed the others.

    ``hashes`` is what :func:`find_all` takes, ``weights`` numbers, as many, of up to 10^15; nine digits behind the
    point count. Without weights all hashes weigh the same.

    Raises ``InputError`` for another number of weights, and for weights that are no numbers.
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
    """The lists of ``window`` neighbouring tokens, from the first to the last; none where there are fewer tokens.

    Raises ``ValueError`` for a window below 1 when it is iterated over.
    """
    window = operator.index(window)
    if window < 1:
        raise InputError(f"window = {window}: at least 1 is wanted")
    latest: deque[T] = deque(maxlen=min(window, sys.maxsize))
    for token in tokens:
        latest.append(token)
        if len(latest) == window:
            yield list(latest)
