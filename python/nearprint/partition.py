"""Pairs of a list that is spread over many tasks, for any engine that moves rows: Ray, Dask, ``multiprocessing``.

Each fingerprint is replicated to some groups. Rows with the same group go to the same task, and each task joins
what it receives. All tasks together report the pairs of :func:`nearprint.find_all`, each once, however groups are
assigned to tasks::

    from nearprint import partition

    keyed = partition.block_keys(prints, k=3)
    tasks = keyed["group"] % 16
    for task in range(16):
        mine = tasks == task
        pairs = partition.join_blocks(keyed["group"][mine], keyed["fingerprint"][mine], k=3)

``nearprint.spark`` is made of these functions.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import Words, check_threads, check_width, words_of
from ._carried import bands_for, carried_recipe, carrying
from ._errors import InputError
from ._progress import Progress, listening
from ._result import Blocks, Result
from ._settings import near_of

__all__ = ["Kept", "block_keys", "components", "forest", "join_between", "join_blocks", "split_blocks"]

#: The most parts of a group.
_MOST_PARTS = 256


def block_keys(
    fingerprints: Any,
    k: Optional[int] = None,
    split: Optional[Mapping[int, int]] = None,
    *,
    similarity: Optional[float] = None,
    width: Optional[int] = None,
    bands: Optional[str] = None,
) -> Result:
    """The groups of each fingerprint: columns ``group`` (uint64, below 2**63) and ``fingerprint``, which carries the
    recipe of fingerprints that do.

    A fingerprint has k + 1 groups, or with ``bands``, such as ``"6x16"``, one for each band. Two fingerprints that
    are near have a group in common. With bands, the fingerprint 0 is near nothing and has no group, and
    ``similarity`` (0.7) may take the place of ``k``, as in :func:`nearprint.find_all`; so in all functions here.

    ``split`` maps a group that too many fingerprints have to a number of parts, from 1 to 256: other groups take
    its place, each with about two of the parts, and each of its fingerprints has that number of them. It has to be
    the same for all fingerprints of the list.

    Raises ``InputError`` for invalid fingerprints, a k of 64 or more without bands, or invalid parts.
    """
    words, width = words_of(fingerprints, width)
    parts = {_check_group(group): _check_parts(count) for group, count in dict(split or {}).items()}
    near = near_of(fingerprints, width, k, similarity, bands)
    return _carrying(_nearprint.block_keys(words, width, near, parts), fingerprints)


def split_blocks(
    groups: Any,
    fingerprints: Any,
    parts: Any,
    k: Optional[int] = None,
    *,
    similarity: Optional[float] = None,
    width: Optional[int] = None,
    bands: Optional[str] = None,
) -> Result:
    """Rows of :func:`block_keys` whose groups are split afterwards, as ``split`` does in advance.

    ``parts`` has the number of parts of the group of each row; 1 leaves the row as it is. It has to be the same for
    all rows of a group, in all tasks. Columns and exceptions as for ``block_keys``.
    """
    words, width = words_of(fingerprints, width)
    counts = np.ascontiguousarray(parts)
    numbers = _check_rows(groups, words, width)
    if counts.shape != numbers.shape or counts.dtype.kind not in "ui":
        raise InputError(
            f"parts: {counts.dtype} of shape {counts.shape}, where each of {len(numbers)} rows has a number"
        )
    if counts.size and not 1 <= counts.min() <= counts.max() <= _MOST_PARTS:
        raise InputError(f"{counts.min()} to {counts.max()} parts: a group has 1 to {_MOST_PARTS}")
    near = near_of(fingerprints, width, k, similarity, bands)
    return _carrying(_nearprint.split_blocks(numbers, words, counts.astype(np.uint64), width, near), fingerprints)


def join_blocks(
    groups: Any,
    fingerprints: Any,
    k: Optional[int] = None,
    forest: bool = False,
    threads: Optional[int] = 1,
    *,
    similarity: Optional[float] = None,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    progress: Progress = None,
) -> Result:
    """The pairs that are reported at some groups: columns ``a``, ``b``, ``distance``, with ``a < b``.

    ``groups`` and ``fingerprints`` are rows of :func:`block_keys` in any order: all rows with these groups.
    Repeated rows count once. Groups may be int64, too. ``k``, ``similarity`` and ``bands`` must be the same as for
    ``block_keys``: with another ``k`` pairs are missing, which is not always detected.

    With ``forest``, groups of more than 64 fingerprints report only some of their pairs, fewer than fingerprints. The
    pairs of all tasks together have the same connected components as all pairs, and some come from several tasks.

    Raises ``InputError`` for groups that no ``block_keys`` with this ``k`` has, and for more or fewer groups than
    fingerprints.
    """
    words, width = words_of(fingerprints, width)
    numbers = _check_rows(groups, words, width)
    near = near_of(fingerprints, width, k, similarity, bands)
    with listening(progress) as listener:
        rows = numbers, words
        return Blocks(_nearprint.join_blocks(rows, width, near, forest, check_threads(threads), listener)).table()


def join_between(
    groups: Any,
    fingerprints: Any,
    other_groups: Any,
    other_fingerprints: Any,
    k: Optional[int] = None,
    threads: Optional[int] = 1,
    *,
    similarity: Optional[float] = None,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    progress: Progress = None,
) -> Result:
    """The pairs between two lists that are reported at some groups: columns ``a``, ``b``, ``distance``.

    ``a`` is a fingerprint of the first list and ``b`` one of the second; they may be equal. With bands, the fingerprint
    0 is near nothing. Arguments and exceptions as for :func:`join_blocks`; groups that are split have the same number
    of parts in both lists.
    """
    ones, width = words_of(fingerprints, width)
    others, _ = words_of(other_fingerprints, width)
    near = near_of(fingerprints, width, k, similarity, bands_for(other_fingerprints, bands))
    rows = _check_rows(groups, ones, width), ones
    other_rows = _check_rows(other_groups, others, width), others
    with listening(progress) as listener:
        return Blocks(_nearprint.join_between(rows, other_rows, width, near, check_threads(threads), listener)).table()


def forest(a: Any, b: Any, *, width: Optional[int] = None) -> npt.NDArray[np.int64]:
    """Which of some pairs connect all that the pairs connect: a spanning forest.

    ``a`` and ``b`` are the ends of the pairs. Returns the indexes of the chosen pairs, ascending, as int64: a pair is
    among them if the pairs before it do not connect its ends.

    Raises ``InputError`` for ends of different numbers or widths.
    """
    return _nearprint.forest(*_ends(a, b, width))


def components(a: Any, b: Any, *, width: Optional[int] = None) -> Result:
    """The connected components of some pairs: columns ``fingerprint``, ascending, and ``cluster``.

    ``cluster`` is the smallest fingerprint of the component, so that it does not depend on the order of pairs.

    Raises ``InputError`` for ends of different numbers or widths.
    """
    return Result(_nearprint.components(*_ends(a, b, width)))


class Kept:
    """The fingerprints of a stream that are not near an earlier kept one.

    They are stored in a temporary folder. If a task has all fingerprints that are near each other, such as whole
    components, its decisions are the same as on one machine. Equal fingerprints are near, except 0 with bands.
    :func:`nearprint.spark.fingerprint` makes different fingerprints for different texts without features.
    """

    def __init__(
        self,
        k: Optional[int] = None,
        *,
        similarity: Optional[float] = None,
        width: int = 64,
        bands: Optional[str] = None,
    ) -> None:
        self._width, self._bands = check_width(width), bands
        near = near_of(None, self._width, k, similarity, bands)
        self._kept = _nearprint.KeptFingerprints.temporary(width, near)

    def decide(self, fingerprints: Any) -> Result:
        """Decides fingerprints in order: columns ``duplicate_of`` and ``distance``.

        ``duplicate_of`` is the number of the nearest kept fingerprint, the first of several, or -1 if this one is kept.
        Fingerprints are numbered over all calls, from 0. ``distance`` is 0 for kept ones.
        """
        words, _ = words_of(fingerprints, self._width)
        if bands_for(fingerprints, self._bands) != self._bands:
            raise InputError("the fingerprints have bands: Kept(k, width=..., bands=...)")
        return Result(self._kept.decide(words))


def _ends(a: Any, b: Any, width: Optional[int]) -> tuple[Words, Words, int]:
    words_a, width_a = words_of(a, width)
    words_b, width_b = words_of(b, width)
    if width_a != width_b or len(words_a) != len(words_b):
        counts = len(words_a) * 64 // width_a, len(words_b) * 64 // width_b
        raise InputError(f"{counts[0]} ends of {width_a} bits, and {counts[1]} of {width_b}")
    return words_a, words_b, width_a


def _carrying(found: dict[str, Any], fingerprints: Any) -> Result:
    """Groups whose fingerprints carry the recipe of those that they are of."""
    recipe = carried_recipe(fingerprints)
    if recipe is not None:
        found["fingerprint"] = carrying(found["fingerprint"], recipe)
    return Result(found)


def _check_rows(groups: Any, words: Words, width: int) -> Words:
    numbers = _groups(groups)
    if len(numbers) * (width // 64) != len(words):
        raise InputError(f"{len(numbers)} groups and {len(words) * 64 // width} fingerprints")
    return numbers


def _groups(groups: Any) -> Words:
    if np.ma.isMaskedArray(groups) and np.ma.is_masked(groups):
        raise InputError("groups: a value is masked")
    array = np.asarray(groups)
    if array.size == 0:
        return np.empty(0, np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "ui":
        raise InputError(f"groups: integers are wanted, not {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise InputError(f"group {array.min()}: a group is at least 0")
    return np.ascontiguousarray(array, np.uint64)


def _check_group(group: Any) -> int:
    number = operator.index(group)
    if not 0 <= number < 1 << 63:
        raise InputError(f"group {number}: a group is at least 0 and below 2**63")
    return number


def _check_parts(parts: Any) -> int:
    count = operator.index(parts)
    if not 1 <= count <= _MOST_PARTS:
        raise InputError(f"{count} parts: a group has 1 to {_MOST_PARTS}")
    return count
