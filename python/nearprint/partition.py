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
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from . import _nearprint
from ._arrays import Words, check_k, check_threads, words_of
from ._errors import InputError
from ._progress import Progress, listening
from ._result import Blocks, Result

__all__ = ["block_keys", "forest", "join_blocks"]

#: The most parts of a group.
_MOST_PARTS = 256


def block_keys(
    fingerprints: Any,
    k: int,
    split: Optional[Mapping[int, int]] = None,
    *,
    width: Optional[int] = None,
    bands: Optional[str] = None,
) -> Result:
    """The groups of each fingerprint: columns ``group`` (uint64, below 2**63) and ``fingerprint``.

    A fingerprint has k + 1 groups, or with ``bands``, such as ``"6x16"``, one for each band. Two fingerprints that
    are near have a group in common. With bands, the fingerprint 0 is near nothing and has no group.

    ``split`` maps a group that too many fingerprints have to a number of parts, from 1 to 256: other groups take
    its place, each with about two of the parts, and each of its fingerprints has that number of them. It has to be
    the same for all fingerprints of the list.

    Raises ``InputError`` for invalid fingerprints, a k of 64 or more without bands, or invalid parts.
    """
    words, width = words_of(fingerprints, width)
    parts = {_check_group(group): _check_parts(count) for group, count in dict(split or {}).items()}
    return Result(_nearprint.block_keys(words, width, (check_k(k, width), bands), parts))


def join_blocks(
    groups: Any,
    fingerprints: Any,
    k: int,
    forest: bool = False,
    threads: Optional[int] = 1,
    *,
    width: Optional[int] = None,
    bands: Optional[str] = None,
    progress: Progress = None,
) -> Result:
    """The pairs that are reported at some groups: columns ``a``, ``b``, ``distance``, with ``a < b``.

    ``groups`` and ``fingerprints`` are rows of :func:`block_keys` in any order: all rows with these groups.
    Repeated rows count once. Groups may be int64, too. ``k`` and ``bands`` have to be those of ``block_keys``: with
    another ``k`` pairs are missing, which cannot always be noticed.

    With ``forest``, only some of the pairs are reported: those of all tasks have the same connected components as
    all pairs, and where many fingerprints are near each other, they are few.

    Raises ``InputError`` for groups that no ``block_keys`` with this ``k`` has, and for more or fewer groups than
    fingerprints.
    """
    words, width = words_of(fingerprints, width)
    numbers = _groups(groups)
    if len(numbers) * (width // 64) != len(words):
        raise InputError(f"{len(numbers)} groups and {len(words) * 64 // width} fingerprints")
    with listening(progress) as listener:
        near = check_k(k, width), bands
        stream = _nearprint.join_blocks(numbers, words, width, near, forest, check_threads(threads), listener)
        return Blocks(stream).table()


def forest(a: Any, b: Any, *, width: Optional[int] = None) -> Any:
    """Which of some pairs connect all that the pairs connect: a spanning forest.

    ``a`` and ``b`` are the ends of the pairs. Returns the indexes of the chosen pairs, ascending, as int64: a pair is
    among them if the pairs before it do not connect its ends.

    Raises ``InputError`` for ends of different numbers or widths.
    """
    words_a, width_a = words_of(a, width)
    words_b, width_b = words_of(b, width)
    if width_a != width_b or len(words_a) != len(words_b):
        counts = len(words_a) * 64 // width_a, len(words_b) * 64 // width_b
        raise InputError(f"{counts[0]} ends of {width_a} bits, and {counts[1]} of {width_b}")
    return _nearprint.forest(words_a, words_b, width_a)


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
