"""What is imported as ``simhash``: the functions of simhash-py, and the classes of the package simhash 2.

Programs for either of them run unchanged after::

    import sys
    import nearprint.compat.simhash
    sys.modules["simhash"] = nearprint.compat.simhash

An index is durable with ``SimhashIndex(..., path="index.np")``. Its ``bucket_size`` counts no empty buckets, which a
query leaves in the original.

One difference of functions: floats and bools are no hashes. simhash-py takes them as whole numbers, so that 1.5 is 1.
Here they raise ``TypeError``.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np

from .. import _nearprint
from .._arrays import check_threads
from .._nearprint import num_differing_bits
from .._texts import shingle
from ._simhash_index import Simhash, SimhashIndex

__all__ = ["Simhash", "SimhashIndex", "compute", "find_all", "num_differing_bits", "shingle", "unsigned_hash"]

#: The number of bits of a hash, and the largest number of blocks.
_BITS = 64
#: Lists up to this length take at most some milliseconds, so that no other thread searches them.
_SHORT_LIST = 1024


def unsigned_hash(obj: Union[str, bytes, Sequence[str], Sequence[bytes]]) -> int:
    """The first 8 bytes of the MD5 digest of ``obj`` as a number, the most significant first. A ``str`` is UTF-8.

    A list of words, such as a shingle, is hashed as its words with a space between them.
    """
    if isinstance(obj, (list, tuple)):
        obj = b" ".join(word.encode("utf-8") if isinstance(word, str) else word for word in obj)
    return _nearprint.unsigned_hash(obj.encode("utf-8") if isinstance(obj, str) else obj)  # type: ignore[arg-type]


def compute(hashes: Iterable[int]) -> int:
    """The simhash of 64-bit hashes: a bit is set if more than half of the hashes have it.

    Raises ``OverflowError`` for a number below 0 or of more than 64 bits, ``TypeError`` for an item
    that is not an integer: also for a float or a bool.
    """
    if type(hashes) is not list:
        if _is_array_of_words(hashes):
            return int(_nearprint.simhash(_words(hashes), None, _BITS)[0])
        hashes = list(hashes)
    try:
        return _nearprint.simhash_of_list(hashes)
    except ValueError as error:
        raise OverflowError(str(error)) from None


def find_all(hashes: Iterable[int], number_of_blocks: int, different_bits: int) -> list[tuple[int, int]]:
    """All pairs of distinct hashes that differ in at most ``different_bits`` bits, each as ``(smaller, larger)``.

    ``number_of_blocks`` is checked, and does not affect the search. The order of the pairs is not
    specified, as in simhash-py.

    Raises ``ValueError`` unless there are more blocks than bits, and for more than 64 blocks;
    otherwise as :func:`compute`.
    """
    words = _words(hashes)
    blocks, bits = operator.index(number_of_blocks), operator.index(different_bits)
    if blocks < 0 or bits < 0:
        raise OverflowError("number_of_blocks and different_bits must not be negative")
    if blocks > _BITS:
        raise ValueError(f"number_of_blocks must be at most {_BITS}, not {blocks}")
    if blocks <= bits:
        raise ValueError(f"number_of_blocks must be above different_bits: {blocks} <= {bits}")
    if len(words) <= _SHORT_LIST:
        return _nearprint.pairs_of_short_list(words, bits)
    found: list[tuple[int, int]] = []
    for block in _nearprint.find_all(words, _BITS, (bits, None), check_threads(None), None):
        found += _nearprint.tuples(block)
    return found


def _is_array_of_words(hashes: Any) -> bool:
    return type(hashes) is np.ndarray and hashes.dtype == np.uint64 and hashes.ndim == 1


def _words(hashes: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    if _is_array_of_words(hashes):
        return np.require(hashes, requirements=["C", "A"])
    listed = hashes if type(hashes) is list else list(hashes)
    try:
        return _nearprint.words_of_list(listed, _BITS, False)
    except ValueError as error:
        raise OverflowError(str(error)) from None
