"""Pairs: fingerprints are placed by their groups, and every task joins a partition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, Optional

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from .. import _nearprint
from .._arrays import Words
from .._errors import InputError
from .._result import Blocks
from .._settings import check_count
from ._columns import (
    DISTANCE,
    Batches,
    Near,
    column_of,
    distances_of,
    named,
    near_of,
    type_of,
    words_in,
)
from ._packed import MOST_TASKS, OTHER_SIDE, PACKED, ROWS, gathered, numbers_of_partitions, packed_rows, unpacked

#: Which of some pairs of fingerprints, given as words, are wanted.
Choose = Callable[[Words, Words], Any]

#: Groups of more fingerprints are split.
SPLIT_ABOVE = 1 << 20
_MOST_PARTS = 256
#: Large groups are looked for in a sample that has about so many fingerprints of them.
_COUNTED = 4096


def pairs(
    df: DataFrame,
    k: Optional[int] = None,
    *,
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
    split_above: Optional[int] = SPLIT_ABOVE,
) -> DataFrame:
    """The pairs of :func:`nearprint.find_all`, each once: columns ``a``, ``b``, ``distance``, with a below b.

    Numbers are compared as unsigned. ``similarity`` is for MinHash fingerprints, whose ``bands`` are by default
    the bands of the recipe ``minhash``; a ``k`` without bands is the distance of whole fingerprints. ``binary`` columns
    have 256 bits, or 320 if the bands need them, unless ``width`` says otherwise.

    The rows are shuffled by their groups: k + 1 of them a fingerprint, or one for each band. A task holds one
    partition in memory, several times over; ``partitions`` is their number, by default Spark's choice.
    A group of more than about ``split_above`` fingerprints is split among several tasks. This function looks for such
    groups in a sample, for which ``df`` is computed; ``None`` splits none, and computes nothing yet.

    Raises ``InputError`` for invalid arguments and columns.
    """
    near = near_of(df, fingerprint, k, similarity, bands, width)
    return joined(present(df, fingerprint), near, (partitions, split_above), forest=False)


def pairs_between(
    a: DataFrame,
    b: DataFrame,
    k: Optional[int] = None,
    *,
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
    split_above: Optional[int] = SPLIT_ABOVE,
) -> DataFrame:
    """The pairs of a fingerprint of ``a`` and one of ``b``, equal ones included: columns ``a``, ``b``, ``distance``.

    Exact, where ``approxSimilarityJoin`` of Spark ML is not. Arguments and exceptions as for :func:`pairs`.
    """
    near = near_of(a, fingerprint, k, similarity, bands, width)
    if type_of(a, fingerprint) != type_of(b, fingerprint):
        raise InputError(f"{fingerprint}: the two tables have fingerprints of different widths")

    def join(batches: Batches) -> Iterator[pa.RecordBatch]:
        groups, words = unpacked(batches, near)
        is_other = groups >= OTHER_SIDE
        ones = groups[~is_other], words[~is_other].reshape(-1)
        others = groups[is_other] - OTHER_SIDE, words[is_other].reshape(-1)
        yield from _pair_batches(_nearprint.join_between(ones, others, near.width, (near.k, near.bands), 1, None), near)

    sides = [present(df, fingerprint) for df in (a, b)]
    return _placed(sides, near, (partitions, split_above)).mapInArrow(join, _pair_schema(near))


def present(df: DataFrame, column: str) -> DataFrame:
    """The values of a column that are not null."""
    return df.select(named(column).alias("fingerprint")).where(sf.col("fingerprint").isNotNull())


def _groups(df: DataFrame, near: Near) -> DataFrame:
    """The groups of the fingerprints of a column, each as often as there are fingerprints in a batch that have it."""

    def add(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = _nearprint.block_keys(_distinct([batch], near), near.width, (near.k, near.bands), {})
            yield pa.RecordBatch.from_arrays([column_of(found["group"])], ["group"])

    return df.mapInArrow(add, StructType([StructField("group", LongType())]))


def _distinct(batches: list[pa.RecordBatch], near: Near) -> Words:
    """The different fingerprints of batches, as words."""
    return words_in(pa.chunked_array([batch.column(0) for batch in batches]).unique(), near.width)


def _large_groups(df: DataFrame, near: Near, split_above: Optional[int]) -> dict[int, int]:
    """The groups of more than about ``split_above`` fingerprints, with their numbers of parts.

    Counts the groups of a sample of the fingerprints, in which a large group has about ``_COUNTED``.
    """
    if split_above is None:
        return {}
    most = check_count(split_above, "split_above", 1)
    one_in = max(most // _COUNTED, 1)
    sample = df.where(sf.pmod(sf.xxhash64("fingerprint"), sf.lit(one_in)) == 0)
    large = _groups(sample, near).groupBy("group").count().where(sf.col("count") > most // one_in)
    # About two parts meet in a group.
    return {row[0]: min(_MOST_PARTS, math.ceil(2 * row[1] * one_in / most)) for row in large.collect()}


def _placed(sides: list[DataFrame], near: Near, settings: tuple[Optional[int], Optional[int]]) -> DataFrame:
    """The fingerprints of one or two columns, packed, and each task with all of its groups."""
    partitions, split_above = settings
    session = sides[0].sparkSession
    usual = session.conf.get("spark.sql.shuffle.partitions") or ""
    count = check_count(partitions or (int(usual) if usual.isdecimal() else 200), "partitions", 1, 2**31 - 1)
    numbers = numbers_of_partitions(min(count, MOST_TASKS))
    large = _large_groups(reduce(DataFrame.unionByName, sides), near, split_above)
    rows, words_of_row = ROWS // near.groups, near.width // 64
    step = max(rows // max(large.values(), default=1), 1) * words_of_row

    def packed(side: int) -> DataFrame:
        def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
            for some in gathered(batches, rows):
                words = _distinct(some, near)
                for start in range(0, len(words), step):
                    part = words[start : start + step]
                    found = _nearprint.block_keys(part, near.width, (near.k, near.bands), large)
                    yield packed_rows(found["group"], found["fingerprint"], side, numbers)

        return sides[side].mapInArrow(pack, PACKED)

    return placed_by(reduce(DataFrame.unionByName, map(packed, range(len(sides)))), partitions, "task")


def placed_by(df: DataFrame, partitions: Optional[int], by: str) -> DataFrame:
    """Places rows by the hash of a value, so that a repeated task gets the same rows."""
    if partitions is None:
        return df.repartition(by)
    return df.repartition(check_count(partitions, "partitions", 1, 2**31 - 1), by)


def joined(
    df: DataFrame,
    near: Near,
    settings: tuple[Optional[int], Optional[int]],
    forest: bool,
    choose: Optional[Choose] = None,
) -> DataFrame:
    """The pairs of the fingerprints of a column that ``choose`` chooses, or a spanning forest of those of each task."""

    def join(batches: Batches) -> Iterator[pa.RecordBatch]:
        groups, words = unpacked(batches, near)
        if len(groups):
            rows = groups, words.reshape(-1)
            stream = _nearprint.join_blocks(rows, near.width, (near.k, near.bands), forest, 1, None)
            yield from _pair_batches(stream, near, choose)

    return _placed([df], near, settings).mapInArrow(join, _pair_schema(near))


def largest_group(df: DataFrame, near: Near) -> int:
    """The number of fingerprints of a column in the group that has the most."""
    counted = _groups(df.select("fingerprint").distinct(), near).groupBy("group").count()
    found = counted.agg(sf.max("count").alias("largest")).first()
    return (found and found.largest) or 0


def _pair_schema(near: Near) -> StructType:
    return StructType([StructField("a", near.type), StructField("b", near.type), DISTANCE])


def _pair_batches(stream: _nearprint.Stream, near: Near, choose: Optional[Choose] = None) -> Iterator[pa.RecordBatch]:
    for block in Blocks(stream):
        columns = [column_of(block["a"]), column_of(block["b"]), distances_of(block)]
        made = pa.RecordBatch.from_arrays(columns, _pair_schema(near).names)
        if choose is not None:
            made = made.filter(pa.array(choose(*(block[end].reshape(-1) for end in ("a", "b")))))
        yield made
