"""Fingerprints with their groups on the way to the tasks that join them, many to a row: rows are what costs Spark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from .._arrays import Words
from ._columns import Batches, Near

Numbers = npt.NDArray[np.int32]

#: Fingerprints with their groups that are packed at a time.
ROWS = 1 << 18
#: They have numbers of at most so many tasks.
MOST_TASKS = 1 << 16
#: The bytes of a row, so that a batch of ten thousand rows stays below 100 MB.
_BYTES = 1 << 13
PACKED = StructType([StructField("task", IntegerType()), StructField("rows", BinaryType())])
#: The highest bit of a group is the side of a fingerprint.
OTHER_SIDE = np.uint64(1 << 63)


def gathered(batches: Batches, rows: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches in lists that have at least so many rows, but for the last list."""
    gathered: list[pa.RecordBatch] = []
    for batch in batches:
        gathered.append(batch)
        if sum(map(len, gathered)) >= rows:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def packed_rows(groups: Words, words: Words, side: int, numbers: Numbers) -> pa.RecordBatch:
    """Rows of one task each: its number, and words of groups with their fingerprints."""
    task = ((groups * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) % np.uint64(len(numbers))).astype(np.uint16)
    order = np.argsort(task, kind="stable")
    task = task[order]
    entries = np.column_stack([groups + np.uint64(side) * OTHER_SIDE, words])[order]
    size, places = entries.shape[1] * 8, np.arange(len(task))
    is_first = np.append(True, task[1:] != task[:-1])[: len(task)]
    within = places - np.maximum.accumulate(np.where(is_first, places, 0))
    starts = np.flatnonzero(within % (_BYTES // size) == 0)
    offsets = (np.append(starts, len(task)) * size).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(entries)]
    column = pa.BinaryArray.from_buffers(pa.binary(), len(starts), buffers)
    return pa.RecordBatch.from_arrays([pa.array(numbers[task[starts]]), column], PACKED.names)


def unpacked(batches: Batches, near: Near) -> tuple[Words, Words]:
    """The groups, with sides in their highest bits, and the fingerprints, as words."""
    rows = [np.frombuffer(row, np.uint64) for batch in batches for row in batch.column(1).to_pylist()]
    entries = np.concatenate([np.empty(0, np.uint64), *rows]).reshape(-1, 1 + near.width // 64)
    return np.ascontiguousarray(entries[:, 0]), np.ascontiguousarray(entries[:, 1:])


def numbers_of_partitions(count: int) -> Numbers:
    """For each of ``count`` partitions a number that ``DataFrame.repartition`` places there.

    Spark takes the remainder of MurmurHash3 of the number, with the seed 42. Other numbers would be placed unevenly.
    """
    found = np.full(count, -1, np.int32)
    first = 0
    while (found < 0).any():
        numbers = np.arange(first, first + 4 * count, dtype=np.int32)
        found[_murmur3(numbers) % count] = numbers
        first += len(numbers)
    return found


def _murmur3(numbers: Numbers) -> Numbers:
    """MurmurHash3 of 32 bits, signed, of numbers of 32 bits, with the seed 42 (Appleby, 2010)."""

    def rotated(value: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
        return value << np.uint32(bits) | value >> np.uint32(32 - bits)

    value = rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    value = rotated(value ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64) ^ np.uint32(4)
    for bits, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        value = (value ^ value >> np.uint32(bits)) * np.uint32(factor)
    return value.astype(np.int32)
