"""Deduplication: documents whose fingerprints are connected are decided in order by one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from .. import _nearprint, partition
from .._arrays import Words
from .._errors import InputError
from .._kept import settings_of
from .._order import Order
from .._sources import Missing
from .._texts import stored_fingerprints
from ._columns import DISTANCE, Batches, Near, check_new, column_of, named, near_of, shaped, type_of, words_in
from ._components import DRIVER_PAIRS, Labels, labels_of
from ._join import SPLIT_ABOVE, joined, placed_by, present
from ._texts import fingerprint as with_fingerprints

#: The numbers of the rows that some rows duplicate, -1 for kept ones, and how near they are.
_Decided = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]


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
    similarity: Optional[float] = None,
    confirm: Optional[str] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
    split_above: Optional[int] = SPLIT_ABOVE,
    driver_pairs: int = DRIVER_PAIRS,
) -> DataFrame:
    """The rows of ``df`` that are not near an earlier kept one, as :func:`nearprint.dedup` keeps them.

    ``text`` names a column of texts. Two texts are near if the Jaccard similarity of their sets of features is at least
    ``similarity``, by default 0.7; features are three-word shingles, unless ``recipe`` has others. Fingerprints only
    find candidates. So no text below the limit is left out, and few above it are kept: see :func:`nearprint.dedup`,
    whose ``recipe``, ``k``, ``similarity`` and ``confirm`` these are.

    Without ``text``, a column of fingerprints is compared, and near means a distance of at most ``k`` bits. Where
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

    The groups of each fingerprint are shuffled, and once each row whose fingerprint is near another one, to the task
    that decides all rows that are connected. Other rows stay where they are. A task remembers kept texts on its disk.
    As :func:`clusters`, this function runs a part of the work; of tables of up to 1,000,000 rows, all but the selection
    of rows. ``df`` is computed four times, so persist it if it is expensive. Other arguments and exceptions as for
    :func:`pairs`; ``InputError`` also for ids that are null or occur twice, which is looked at first.
    """
    id_type = type_of(df, id)
    if not isinstance(id_type, StringType) and id_type.simpleString() not in ("bigint", "int", "smallint", "tinyint"):
        raise InputError(f"{id}: {id_type.simpleString()}, where integers or texts are wanted")
    if text is not None:
        by: Union[_Fingerprints, _Texts] = _Texts.of(df, text, recipe, (k, similarity, confirm))
    elif similarity is not None or confirm is not None:
        raise InputError("similarity, confirm: are of texts, and text= names their column; fingerprints have k")
    else:
        by = _Fingerprints(near_of(df, fingerprint, k, None, bands, width), fingerprint)
    if annotate:
        check_new(df, "duplicate_of", by.nearness.name, "group", "group_size")
    df = _present(df, by.column, missing)
    rank, first = _rank(df, keep, text)
    count = _count(df, id, partitions)
    # No group has more rows than the table, and no forest more pairs than groups.
    parts_above = None if split_above is None or count <= split_above else split_above
    forests = joined(
        present(df, by.column), by.near, (partitions, parts_above), forest=True, words_of=by.words_of, repeated=True
    )
    labels = labels_of(forests, by.near, driver_pairs, count * by.near.groups)
    rows = df.select(named(id).alias("id"), rank.alias("rank"), named(by.column).alias("value"))
    placed = placed_by(by.labelled(rows, labels), partitions, "cluster").sortWithinPartitions(*first)
    of_ids = [StructField(name, id_type) for name in (_ID, "duplicate_of")]
    clusters = [StructField("group", id_type), StructField("group_size", LongType())]
    schema = StructType([*of_ids, by.nearness, *clusters])
    decided = placed.select("id", "value").mapInArrow(_deciding(by, schema, annotate), schema)
    decided = decided if annotate else decided.select(_ID)
    if count <= min(driver_pairs, DRIVER_ROWS):
        decided = sf.broadcast(df.sparkSession.createDataFrame(decided.toArrow(), decided.schema))
    if not annotate:
        return df.join(decided, named(id) == sf.col(_ID), "left_anti")
    alone = {"group": sf.coalesce("group", named(id)), "group_size": sf.coalesce("group_size", sf.lit(1))}
    return df.join(decided, named(id) == sf.col(_ID), "left").withColumns(alone).drop(_ID)


#: What is decided of a table of at most this many rows goes through the driver.
DRIVER_ROWS = 1_000_000
#: Up to this many fingerprints with clusters are sent to all tasks.
TASK_LABELS = 1_000_000
#: The ids of what is decided, beside the columns of the table.
_ID = "nearprint_id"


def _present(df: DataFrame, column: str, missing: Missing) -> DataFrame:
    """The rows that are decided or kept."""
    if missing not in ("error", "keep", "skip"):
        raise InputError(f"missing = {missing!r}: 'error', 'keep' or 'skip' is wanted")
    if missing == "skip":
        return df.where(named(column).isNotNull())
    if missing == "error" and df.where(named(column).isNull()).limit(1).count():
        raise InputError(f"{column}: some are null; missing='keep' or missing='skip' accepts them")
    return df


class _Fingerprints(NamedTuple):
    """A column of fingerprints, which are near within a distance."""

    near: Near
    column: str

    @property
    def nearness(self) -> StructField:
        return DISTANCE

    def words_of(self, column: Any) -> Words:
        return words_in(column, self.near.width)

    def labelled(self, df: DataFrame, labels: Labels) -> DataFrame:
        """The rows with a ``value`` that is near another one, with its ``cluster``."""
        return df.join(labels.rows.withColumnRenamed("fingerprint", "value"), "value")

    def decider(self) -> Callable[[int, Any], _Decided]:
        """Decides the values of rows in order; the number of the first one comes with them."""
        kept = partition.Kept(self.near.k, width=self.near.width, bands=self.near.bands)

        def decide(_: int, column: Any) -> _Decided:
            found = kept.decide(shaped(self.words_of(column), self.near))
            return found["duplicate_of"], found["distance"].astype(np.int32)

        return decide


class _Texts(NamedTuple):
    """A column of texts, which are compared as documents."""

    near: Near
    column: str
    recipe: str
    options: tuple[Optional[int], Optional[float], Optional[str]]

    @classmethod
    def of(
        cls,
        df: DataFrame,
        column: str,
        recipe: str,
        options: tuple[Optional[int], Optional[float], Optional[str]],
    ) -> _Texts:
        if not isinstance(type_of(df, column), StringType):
            raise InputError(f"{column}: {type_of(df, column).simpleString()}, where texts are wanted")
        line, k = _decider(recipe, options).candidates()
        _, width, bands = _nearprint.recipe_line(line)
        return cls(Near(k, bands, width), column, line, options)

    @property
    def nearness(self) -> StructField:
        return StructField("similarity", DoubleType())

    def words_of(self, column: Any) -> Words:
        made, near_nothing = stored_fingerprints(column, self.recipe, threads=1)
        words: Words = np.delete(made, near_nothing, axis=0).reshape(-1)
        return words

    def labelled(self, df: DataFrame, labels: Labels) -> DataFrame:
        """The rows with a ``value`` whose fingerprint is near another one, with its ``cluster``."""
        table, recipe = labels.table, self.recipe
        if table is None or len(table) > TASK_LABELS:
            return with_fingerprints(df, "value", recipe=recipe).join(labels.rows, "fingerprint")
        members, clusters = table["fingerprint"], table["cluster"]

        def label(batches: Batches) -> Iterator[pa.RecordBatch]:
            places = dict(zip(members.to_pylist(), range(len(members))))
            for batch in batches:
                made, near_nothing = stored_fingerprints(batch.column("value"), recipe, threads=1)
                found = [places.get(one, -1) for one in column_of(made).to_pylist()]
                chosen = np.array(found, np.int64)
                chosen[near_nothing] = -1
                rows = np.flatnonzero(chosen >= 0)
                columns = batch.take(pa.array(rows)).columns
                of = clusters.take(pa.array(chosen[rows])).combine_chunks()
                yield pa.RecordBatch.from_arrays([*columns, of], names)

        schema = StructType([*df.schema.fields, StructField("cluster", self.near.type)])
        names = schema.names
        return df.mapInArrow(label, schema)

    def decider(self) -> Callable[[int, Any], _Decided]:
        decider = _decider(self.recipe, self.options)
        return lambda first, texts: decider.decide_texts(np.arange(first, first + len(texts)), texts)


def _decider(recipe: str, options: tuple[Optional[int], Optional[float], Optional[str]]) -> _nearprint.Deduplicator:
    k, similarity, confirm = options
    settings = settings_of(recipe=recipe, k=k, similarity=similarity, confirm=confirm, threads=1)
    return _nearprint.Deduplicator.open(None, settings)


def _deciding(
    by: Union[_Fingerprints, _Texts], schema: StructType, annotate: bool
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What a task does with ids and values in order: decides them, and returns duplicates, or all rows."""

    def decide(batches: Batches) -> Iterator[pa.RecordBatch]:
        decider, count = by.decider(), 0
        ids: list[Any] = []
        decided: list[_Decided] = []
        for batch in batches:
            ids.append(batch.column(0))
            decided.append(decider(count, batch.column(1)))
            count += batch.num_rows
        if not ids:
            return
        keys, of = pa.chunked_array(ids), np.concatenate([numbers for numbers, _ in decided])
        nearness, is_kept = np.concatenate([near for _, near in decided]), of < 0
        cluster = np.where(is_kept, np.arange(count), of)
        size = np.bincount(cluster, minlength=count)[cluster]
        rows = np.arange(count) if annotate else np.flatnonzero(~is_kept)
        columns = [keys, keys.take(pa.array(of, mask=is_kept)), pa.array(nearness, mask=is_kept)]
        columns += [keys.take(pa.array(cluster)), pa.array(size.astype(np.int64))]
        yield from pa.table(dict(zip(schema.names, columns))).take(pa.array(rows)).to_batches()

    return decide


def _rank(df: DataFrame, keep: Optional[str], text: Optional[str]) -> tuple[Column, list[Column]]:
    """A column by which rows are ordered, and the order of rows with their ``rank`` and ``id``."""
    order = Order.of(keep)
    rank, id = sf.col("rank"), sf.col("id")
    if order.kind in ("first", "last"):
        return sf.lit(0), [id if order.kind == "first" else id.desc()]
    column = order.column or text
    if column is None:
        raise InputError(f"keep = {keep!r}: text= names the column of texts")
    kind, value = type_of(df, column), named(column)
    if isinstance(kind, (ArrayType, MapType, StructType)):
        raise InputError(f"{column}: {kind.simpleString()}, which has no order")
    if order.kind in ("longest", "shortest"):
        value = sf.char_length(value)
    elif isinstance(kind, (DoubleType, FloatType)):
        # Adding zero makes the negative zero the positive one.
        value = sf.when(~sf.isnan(value), value + sf.lit(0.0))
    elif isinstance(kind, StringType) and order.kind in ("newest", "oldest"):
        value = value.cast(TimestampType())
    return value, [rank.desc_nulls_last() if order.is_descending else rank.asc_nulls_first(), id]


def _count(df: DataFrame, id: str, partitions: Optional[int]) -> int:
    """The number of rows. Raises ``InputError`` if an id is null or occurs twice."""
    count = LongType()
    schema = StructType([StructField("rows", count), StructField("id", type_of(df, id)), StructField("count", count)])
    # Spark would take four times as long to plan and compile an aggregation.
    placed = placed_by(df.select(named(id).alias("id")), partitions, "id")
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
