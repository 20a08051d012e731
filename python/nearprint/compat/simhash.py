"""simhash-py's functions, with its results and errors, faster.

Programs written for it run unchanged after::

    import sys
    import nearprint.compat.simhash
    sys.modules["simhash"] = nearprint.compat.simhash
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Union

import numpy as np

from .. import _nearprint
from .._arrays import check_threads
from .._texts import shingle

__all__ = ["compute", "find_all", "num_differing_bits", "shingle", "unsigned_hash"]

#: Bits of a hash, and so the most blocks that it can be cut into.
_BITS = 64


def unsigned_hash(obj: Union[str, bytes]) -> int:
    """The first 8 bytes of the MD5 digest of ``obj`` as a number, the most significant first. A ``str`` is UTF-8."""
    return _nearprint.unsigned_hash(obj.encode("utf-8") if isinstance(obj, str) else obj)


def compute(hashes: Iterable[int]) -> int:
    """The simhash of 64-bit hashes: a bit is set iff more hashes have it than not.

    Raises ``OverflowError`` for a number below 0 or of more than 64 bits, ``TypeError`` for what is no number.
    """
    return int(_nearprint.simhash(_words(hashes), None, _BITS)[0])


def num_differing_bits(a: int, b: int) -> int:
    """The number of bits in which two 64-bit hashes differ. Raises as :func:`compute`."""
    return int(_nearprint.distances(_words([a]), _words([b]), _BITS)[0])


def find_all(hashes: Iterable[int], number_of_blocks: int, different_bits: int) -> list[tuple[int, int]]:
    """All pairs of distinct hashes that differ in at most ``different_bits`` bits, each as ``(smaller, larger)``.

    ``number_of_blocks`` is checked, and has no part in the search. The order is not that of simhash-py, which has none.

    Raises ``ValueError`` when there are not more blocks than bits, or more than 64; else as :func:`compute`.
    """
    words = _words(hashes)
    blocks, bits = operator.index(number_of_blocks), operator.index(different_bits)
    if blocks < 0 or bits < 0:
        raise OverflowError("number_of_blocks and different_bits must not be negative")
    if blocks > _BITS:
        raise ValueError(f"number_of_blocks must be at most {_BITS}, not {blocks}")
    if blocks <= bits:
        raise ValueError(f"number_of_blocks must be above different_bits: {blocks} <= {bits}")
    found: list[tuple[int, int]] = []
    for block in _nearprint.find_all(words, _BITS, bits, check_threads(None), None):
        found += _nearprint.tuples(block)
    return found


def _words(hashes: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    if type(hashes) is np.ndarray and hashes.dtype == np.uint64 and hashes.ndim == 1:
        return np.require(hashes, requirements=["C", "A"])
    try:
        return _nearprint.words_of_list(hashes if type(hashes) is list else list(hashes), _BITS, False)
    except ValueError as error:
        raise OverflowError(str(error)) from None
