"""Deduplication: pairs are decided, and what is kept follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from .._edges import Decided
from .._errors import InputError
from .._kept import settings_of
from .._order import Order, common_kind
from .._settings import Similarity, check_count
from .._sources import Missing
from ._candidates import Candidates, Compared, Fingerprints, Texts
from ._columns import Batches, check_new, exact, named, near_of, type_of
from ._components import DRIVER_PAIRS
from ._edges import DRIVER_ROWS, materialized
from ._join import SPLIT_ABOVE, placed_by


def dedup(
    df: DataFrame,
    k: Optional[int] = None,
    *,
    id: str = "id",
    text: Optional[str] = None,
    fingerprint: str = "fingerprint",
    keep: Optional[str] = None,
    missing: Missing = "keep",
    annotate: bool = False,
    recipe: str = "minhash",
    similarity: Optional[Similarity] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
    split_above: Optional[int] = SPLIT_ABOVE,
    driver_pairs: int = DRIVER_PAIRS,
    report: Optional[Callable[[DedupReport], Any]] = None,
) -> DataFrame:
    """The rows of ``df`` that are not near an earlier kept one, as :func:`nearprint.dedup` keeps them.

    ``text`` names a column of texts, by default ``text`` where there is no ``k`` and no column of fingerprints. Two
    texts are near if the Jaccard similarity of their sets of features is at least ``similarity``, by default 0.7;
    features are three-word shingles, unless ``recipe`` has others. Fingerprints only find candidates. So no text below
    the limit is left out, and few above it are kept: see :func:`nearprint.dedup`, whose ``recipe``, ``k`` and
    ``similarity`` these are.

    Otherwise a column of fingerprints is compared, and near means a distance of at most ``k`` bits. Where
    the fingerprints are made of texts, this estimates whether texts are similar.

    Rows are decided in the order of their ids, which are integers or texts, and unique: the first of several near rows
    is kept. ``keep`` chooses another one: ``"last"``, ``"longest"`` or ``"shortest"`` text, ``"max:COLUMN"``,
    ``"min:COLUMN"``, ``"newest:COLUMN"`` or ``"oldest:COLUMN"``; of equally good ones, the one with the smallest id.
    Null and NaN are the smallest values. Rows without a text or a fingerprint are kept, or with ``missing="skip"`` left
    out; ``"error"`` looks for them first. The number of partitions changes no result:
    :func:`nearprint.dedup` keeps the same rows of the texts in the order of their ids.

    With ``annotate`` all rows are returned, with columns ``duplicate_of``, the id of the nearest kept row (of equally
    near ones, that which is decided first); ``similarity`` for texts, or ``distance``; ``group``, the id of the kept
    row; and ``group_size``, the number of rows of the group, the kept one included. For kept rows the first two are
    null.

    Rows that nothing distinguishes are one vertex. Pairs of vertices that have groups in common, and that one machine
    would compare, meet their evidence, such as sets of features, and become edges or nothing. What is kept follows
    from edges alone: of up to ``driver_pairs`` of them on the driver, of more in rounds over those that are undecided,
    and after 12 rounds one task for each connected component of these. Texts never leave the task that reads them,
    unless ``similarity`` is of texts, such as ``"edit:0.8"``.

    This function runs the work up to the decisions; of tables of up to 1,000,000 rows, all but the selection of rows.
    What it needs later is stored by the executors (``DataFrame.localCheckpoint``), or in the folder for checkpoints if
    Spark has one, which survives the loss of an executor. ``df`` is computed three times, so persist it if it is
    expensive. ``report`` is called with a :class:`DedupReport` before this function returns; what it counts is
    computed once more for it. Other arguments and exceptions as for :func:`pairs`; ``InputError`` also for ids that are
    null or occur twice, which is looked at first.
    """
    id_type = type_of(df, id)
    if not isinstance(id_type, StringType) and id_type.simpleString() not in _INTEGERS:
        raise InputError(f"{id}: {id_type.simpleString()}, where integers or texts are wanted")
    if text is None and k is None and _has_texts_alone(df, fingerprint):
        text = "text"
    if text is not None:
        by: Compared = Texts.of(df, text, settings_of(recipe=recipe, k=k, similarity=similarity))
    elif similarity is not None:
        raise InputError("similarity: is of texts, and text= names their column; fingerprints have k")
    else:
        by = Fingerprints(near_of(df, fingerprint, k, None, bands, width), fingerprint)
    if annotate:
        check_new(df, "duplicate_of", by.nearness.name, "group", "group_size")
    most = check_count(driver_pairs, "driver_pairs", 0)
    df = _present(df, by.column, missing)
    rank = _rank(df, keep, text)
    count = _count(df, id, partitions)
    numbers = _Numbers.of(df, id, *rank)
    made = numbers.in_place_of_ids(by.made(df.select(exact(df, id).alias("id"), named(by.column).alias("value"))))
    candidates = Candidates.of(materialized(made), by, count, (partitions, split_above))
    graph = candidates.graph()
    if graph.num_edges <= most and count <= DRIVER_ROWS:
        table, rounds = numbers.table_of(graph.decided_here(), by.nearness, annotate), 0
        result = sf.broadcast(df.sparkSession.createDataFrame(table, numbers.schema(by.nearness, annotate)))
    else:
        decided, rounds = graph.decided((most, partitions), annotate)
        result = numbers.replaced_by_ids(decided, by.nearness, annotate)
    if report is not None:
        report(DedupReport(count, *candidates.counts(), graph.num_edges, rounds))
    if not annotate:
        return df.join(result, exact(df, id) == sf.col(_ID), "left_anti")
    of_ids = {"duplicate_of": sf.col("duplicate_of"), "group": sf.coalesce("group", exact(df, id))}
    columns = {name: column.cast(id_type) for name, column in of_ids.items()}
    columns["group_size"] = sf.coalesce("group_size", sf.lit(1))
    return df.join(result, exact(df, id) == sf.col(_ID), "left").withColumns(columns).drop(_ID)


def _has_texts_alone(df: DataFrame, fingerprint: str) -> bool:
    """Whether a table has the column ``text`` and none of fingerprints, of which no other name is given."""
    names = {name.lower() for name in df.columns}
    return fingerprint == "fingerprint" and "text" in names and "fingerprint" not in names


class DedupReport(NamedTuple):
    """What a deduplication has counted."""

    rows: int
    #: Rows that differ in what is compared.
    vertices: int
    #: The most fingerprints that have a group in common, before it is split.
    largest_group: int
    #: Pairs of vertices that were compared.
    candidates: int
    #: Pairs that are near.
    edges: int
    #: Rounds over edges; none if the driver has decided.
    rounds: int


#: The ids of what is decided, beside the columns of the table.
_ID = "nearprint_id"
_INTEGERS = {"bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16(), "tinyint": pa.int8()}


_NEARNESS = {"distance": pa.int32(), "similarity": pa.float64()}


class _Numbers(NamedTuple):
    """Numbers of rows, in the order in which they are decided: their ids, or of a table."""

    id: StructField
    #: ``id`` and ``number``.
    table: Optional[DataFrame]
    #: Whether the largest id is the first.
    is_descending: bool

    @classmethod
    def of(cls, df: DataFrame, id: str, rank: Optional[Column], order: list[Column], is_descending: bool) -> _Numbers:
        rows = df.select(exact(df, id).alias("id"), (sf.lit(0) if rank is None else rank).alias("rank"))
        field = StructField(_ID, rows.schema["id"].dataType)
        if rank is None and field.dataType.simpleString() in _INTEGERS:
            return cls(field, None, is_descending)
        ranks = rows.orderBy(*order)
        # A second time, the order of partitions would have other limits.
        table = materialized(ranks.select("id", sf.monotonically_increasing_id().alias("number")))
        return cls(field, table, is_descending)

    def in_place_of_ids(self, df: DataFrame) -> DataFrame:
        """Rows with ``number`` instead of ``id``."""
        if self.table is not None:
            return df.join(self.table, "id").drop("id")
        number = sf.col("id").cast(LongType())
        return df.withColumn("number", sf.bitwise_not(number) if self.is_descending else number).drop("id")

    def schema(self, nearness: StructField, annotate: bool) -> StructType:
        """The columns of what became of rows."""
        if not annotate:
            return StructType([self.id])
        of_ids = [StructField(name, self.id.dataType) for name in ("duplicate_of", "group")]
        return StructType([self.id, of_ids[0], nearness, of_ids[1], StructField("group_size", LongType())])

    def table_of(self, decided: Decided, nearness: StructField, annotate: bool) -> pa.Table:
        """As :meth:`replaced_by_ids`, on the driver."""
        known = None if self.table is None else self.table.toArrow().sort_by("number").combine_chunks()

        def ids(numbers: Any, mask: Any = None) -> pa.Array:
            if known is None:
                made = np.invert(numbers) if self.is_descending else numbers
                return pa.array(made, mask=mask).cast(_INTEGERS[self.id.dataType.simpleString()])
            return known["id"].take(pa.array(np.searchsorted(known["number"].to_numpy(), numbers), mask=mask))

        if not annotate:
            return pa.table({_ID: ids(decided.number)})
        kept, sizes = np.unique(decided.of, return_counts=True)
        group = np.concatenate([decided.of, kept])
        near = np.concatenate([getattr(decided, nearness.name), np.zeros(len(kept))])
        is_kept = np.arange(len(group)) >= len(decided.of)
        return pa.table(
            {
                _ID: ids(np.concatenate([decided.number, kept])),
                "duplicate_of": ids(group, is_kept),
                nearness.name: pa.array(near, mask=is_kept).cast(_NEARNESS[nearness.name]),
                "group": ids(group),
                "group_size": pa.array(sizes[np.searchsorted(kept, group)] + 1),
            }
        )

    def replaced_by_ids(self, decided: DataFrame, nearness: StructField, annotate: bool) -> DataFrame:
        """The ids of rows that are left out; with ``annotate`` all rows of groups, with what becomes of them."""
        if not annotate:
            return self._with_ids(decided.select("number"), {"number": _ID})
        sizes = decided.groupBy("of").agg((sf.count("*") + 1).alias("group_size"))
        near = sf.col(nearness.name).cast(nearness.dataType)
        others = decided.join(sizes, "of").select(
            "number", sf.col("of").alias("duplicate_of"), near, sf.col("of").alias("group"), "group_size"
        )
        kept = sizes.select(
            sf.col("of").alias("number"),
            sf.lit(None).cast(LongType()).alias("duplicate_of"),
            sf.lit(None).cast(nearness.dataType).alias(nearness.name),
            sf.col("of").alias("group"),
            "group_size",
        )
        roles = {"number": _ID, "duplicate_of": "duplicate_of", "group": "group"}
        return self._with_ids(others.unionByName(kept), roles).select(*self.schema(nearness, annotate).names)

    def _with_ids(self, df: DataFrame, roles: dict[str, str]) -> DataFrame:
        """Replaces columns of numbers by ids, with names of their own."""
        for column, name in roles.items():
            if self.table is not None:
                ids = self.table.select(sf.col("id").alias("nearprint_of"), sf.col("number").alias(column))
                df = df.join(ids, column, "left").drop(column).withColumnRenamed("nearprint_of", name)
                continue
            number = sf.bitwise_not(column) if self.is_descending else sf.col(column)
            df = df.withColumn("nearprint_of", number.cast(self.id.dataType)).drop(column)
            df = df.withColumnRenamed("nearprint_of", name)
        return df


def _present(df: DataFrame, column: str, missing: Missing) -> DataFrame:
    """The rows that are decided or kept."""
    if missing not in ("error", "keep", "skip"):
        raise InputError(f"missing = {missing!r}: 'error', 'keep' or 'skip' is wanted")
    if missing == "skip":
        return df.where(named(column).isNotNull())
    if missing == "error" and df.where(named(column).isNull()).limit(1).count():
        raise InputError(f"{column}: some are null; missing='keep' or missing='skip' accepts them")
    return df


def _rank(df: DataFrame, keep: Optional[str], text: Optional[str]) -> tuple[Optional[Column], list[Column], bool]:
    """A column by which rows are ordered, the order of rows with their ``rank`` and ``id``, and whether ids descend."""
    order = Order.of(keep)
    rank, id = sf.col("rank"), sf.col("id")
    if order.kind in ("first", "last"):
        is_last = order.kind == "last"
        return None, [id.desc() if is_last else id], is_last
    column = order.column or text
    if column is None:
        raise InputError(f"keep = {keep!r}: text= names the column of texts")
    kind, value = type_of(df, column), named(column)
    if isinstance(kind, (ArrayType, MapType, StructType)):
        raise InputError(f"{column}: {kind.simpleString()}, which has no order")
    if order.kind in ("longest", "shortest") and isinstance(kind, (BinaryType, StringType)):
        value = sf.char_length(value)
    elif isinstance(kind, (DoubleType, FloatType)):
        # Adding zero makes the negative zero the positive one.
        value = sf.when(~sf.isnan(value), value + sf.lit(0.0))
    elif isinstance(kind, StringType):
        value = _key_of_texts(df, order, column)
    return value, [rank.desc_nulls_last() if order.is_descending else rank.asc_nulls_first(), id], False


def _key_of_texts(df: DataFrame, order: Order, column: str) -> Column:
    """A column of bytes in the order of texts, which may all be numbers, or dates."""

    def kinds(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = " ".join(order.kinds(batch.column(0).to_pylist()))
            yield pa.RecordBatch.from_arrays([pa.array([found], pa.string())], ["kinds"])

    found = df.select(named(column)).mapInArrow(kinds, StructType([StructField("kinds", StringType())])).toArrow()
    kind = common_kind(column, [some.split() for some in found["kinds"].unique().to_pylist()])
    if kind == "text":
        # Some collations ignore case.
        return named(column).cast(BinaryType())

    def keys(texts: pa.Array) -> pa.Array:
        return pa.array(order.keys(texts.to_pylist(), kind), pa.binary())

    made: Any = arrow_udf
    key: Column = made(keys, BinaryType())(named(column))
    return key


def _count(df: DataFrame, id: str, partitions: Optional[int]) -> int:
    """The number of rows. Raises ``InputError`` if an id is null or occurs twice."""
    ids, count = df.select(exact(df, id).alias("id")), LongType()
    schema = StructType([StructField("rows", count), ids.schema["id"], StructField("count", count)])
    # Spark would take four times as long to plan and compile an aggregation.
    placed = placed_by(ids, partitions, "id")
    counted = placed.mapInArrow(_most_frequent, schema).toArrow()
    for value, occurs in zip(counted["id"].to_pylist(), counted["count"].to_pylist()):
        if value is None or occurs > 1:
            shown = "null" if value is None else repr(value)
            raise InputError(f"{id}: {shown} occurs {occurs} times; ids are unique")
    return sum(counted["rows"].to_pylist())


def _most_frequent(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The number of ids, the most frequent one or null, and how often it occurs."""
    columns = [batch.column(0) for batch in batches if batch.num_rows]
    if not columns:
        return
    ids = pa.chunked_array(columns)
    counted = ids.value_counts()
    counts = counted.field("counts").to_numpy()
    at = int(np.argmax(counts))
    if ids.null_count:
        at = counted.field("values").to_pylist().index(None)
    worst = [counted.field("values").slice(at, 1), pa.array(counts[at : at + 1], pa.int64())]
    yield pa.RecordBatch.from_arrays([pa.array([len(ids)], pa.int64()), *worst], ["rows", "id", "count"])
