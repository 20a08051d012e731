"""Pairs: fingerprints are placed by their groups, and every task joins a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Optional

import numpy as np
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
    groups_of,
    named,
    near_of,
    type_of,
    words_in,
)

#: Which of some pairs of fingerprints, given as words, are wanted.
Choose = Callable[[Words, Words], Any]

#: Groups of more fingerprints are split.
SPLIT_ABOVE = 1 << 20
_MOST_PARTS = 256


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
    A group of more than ``split_above`` fingerprints is split among several tasks, which costs a count of all groups;
    ``None`` splits none.

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
    sides = [_keyed(present(df, fingerprint), near).withColumn("side", sf.lit(side)) for side, df in enumerate((a, b))]
    keyed = _split(sides[0].unionByName(sides[1]), near, split_above, ["side"])

    def join(batches: Batches) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        table = pa.Table.from_batches(received)
        side = table["side"].to_numpy()
        groups, words = groups_of(table["group"]), words_in(table["fingerprint"], near.width)
        words = words.reshape(len(side), -1)
        ones, others = ((groups[side == of], words[side == of].reshape(-1)) for of in (0, 1))
        yield from _pair_batches(_nearprint.join_between(ones, others, near.width, (near.k, near.bands), 1, None), near)

    return placed_by(keyed, partitions).mapInArrow(join, _pair_schema(near))


def present(df: DataFrame, column: str) -> DataFrame:
    """The values of a column that are not null."""
    return df.select(named(column).alias("fingerprint")).where(sf.col("fingerprint").isNotNull())


def _keyed(df: DataFrame, near: Near) -> DataFrame:
    """The fingerprints of a column with their groups, those of a batch once."""

    def add(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            words = words_in(batch.column(0), near.width).view(np.dtype((np.void, near.width // 8)))
            rows = np.unique(words).view(np.uint64)
            yield _keyed_batch(_nearprint.block_keys(rows, near.width, (near.k, near.bands), {}))

    return df.mapInArrow(add, _keyed_schema(near))


def _keyed_schema(near: Near) -> StructType:
    return StructType([StructField("group", LongType()), StructField("fingerprint", near.type)])


def _keyed_batch(columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [column_of(columns[name]) for name in ("group", "fingerprint")], ["group", "fingerprint"]
    )


def _split(keyed: DataFrame, near: Near, split_above: Optional[int], others: list[str]) -> DataFrame:
    """Rows whose groups have at most about ``split_above`` rows, with the other columns."""
    if split_above is None:
        return keyed
    most = check_count(split_above, "split_above", 1)
    # About two parts meet in a group.
    parts = sf.least(sf.lit(_MOST_PARTS), sf.ceil(2 * sf.col("count") / most)).cast("int")
    large = keyed.groupBy("group").count().where(sf.col("count") > most).select("group", parts.alias("parts"))
    counted = keyed.join(sf.broadcast(large), "group", "left").fillna(1, ["parts"])

    def divide(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = {name: batch.column(index) for index, name in enumerate(batch.schema.names)}
            counts = columns["parts"].to_numpy()
            groups, words = groups_of(columns["group"]), words_in(columns["fingerprint"], near.width)
            divided = _nearprint.split_blocks(groups, words, counts.astype(np.uint64), near.width, (near.k, near.bands))
            made = _keyed_batch(divided)
            # A row becomes as many as its group has parts.
            places = pa.array(np.repeat(np.arange(len(counts)), counts))
            for name in others:
                made = made.append_column(name, columns[name].take(places))
            yield made

    fields = [keyed.schema[name] for name in others]
    return counted.mapInArrow(divide, StructType([*_keyed_schema(near).fields, *fields]))


def placed_by(df: DataFrame, partitions: Optional[int], by: str = "group") -> DataFrame:
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
    partitions, split_above = settings
    keyed = _split(_keyed(df, near), near, split_above, [])

    def join(batches: Batches) -> Iterator[pa.RecordBatch]:
        rows = [(groups_of(batch.column(0)), words_in(batch.column(1), near.width)) for batch in batches]
        if rows:
            whole = np.concatenate([groups for groups, _ in rows]), np.concatenate([words for _, words in rows])
            stream = _nearprint.join_blocks(whole, near.width, (near.k, near.bands), forest, 1, None)
            yield from _pair_batches(stream, near, choose)

    return placed_by(keyed, partitions).mapInArrow(join, _pair_schema(near))


def largest_group(df: DataFrame, near: Near) -> int:
    """The number of fingerprints of a column in the group that has the most."""
    keyed = _keyed(df.select("fingerprint").distinct(), near)
    found = keyed.groupBy("group").count().agg(sf.max("count").alias("largest")).first()
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
