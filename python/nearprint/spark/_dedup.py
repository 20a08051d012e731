"""Deduplication: the rows of a cluster are decided in order by one task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from .. import partition
from .._errors import InputError
from ._columns import DISTANCE, Batches, near_of, shaped, type_of, words_in
from ._components import DRIVER_PAIRS, members
from ._join import SPLIT_ABOVE, placed_by


def dedup(
    df: DataFrame,
    k: Optional[int] = None,
    *,
    id: str = "id",
    fingerprint: str = "fingerprint",
    keep: Optional[str] = None,
    annotate: bool = False,
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
    split_above: Optional[int] = SPLIT_ABOVE,
    driver_pairs: int = DRIVER_PAIRS,
) -> DataFrame:
    """The rows of ``df`` that are not near an earlier kept one, as ``nearprint dedup`` keeps them.

    ``keep`` chooses one of several near rows: ``"max:COLUMN"`` the one with the largest number (as a double; null is
    the smallest), ``"longest:COLUMN"`` the one with the longest text; by default, and of equally good ones, the one
    with the smallest ``id``. Ids are integers or texts, and unique. Rows without a fingerprint are kept.

    With ``annotate`` all rows are returned, with columns ``duplicate_of``, the id of the nearest kept row (the smallest
    id of equally near ones), and ``distance``; both are null for kept rows.

    As :func:`clusters`, this function runs a part of the work. The rows of a cluster are then decided by one task,
    which remembers the kept ones on its disk. Exceptions as for :func:`pairs`; ``InputError`` also for ids that are
    null or occur twice, which is looked at first.
    """
    near = near_of(df, fingerprint, k, similarity, bands, width)
    id_type = type_of(df, id)
    if not isinstance(id_type, StringType) and id_type.simpleString() not in ("bigint", "int", "smallint", "tinyint"):
        raise InputError(f"{id}: {id_type.simpleString()}, where integers or texts are wanted")
    if annotate and {"duplicate_of", "distance"} & set(df.columns):
        raise InputError("duplicate_of, distance: annotate adds columns of these names, and there is one already")
    rank = _rank(df, keep)
    _check_ids(df, id)
    columns = [sf.col(id).alias("id"), rank.alias("rank")]
    rows = members(df, columns, fingerprint, near, (partitions, split_above, driver_pairs))
    placed = placed_by(rows, partitions, "cluster").sortWithinPartitions(sf.col("rank").desc(), sf.col("id"))
    schema = StructType([StructField(id, id_type), StructField("duplicate_of", id_type), DISTANCE])

    def decide(batches: Batches) -> Iterator[pa.RecordBatch]:
        kept = partition.Kept(near.k, width=near.width, bands=near.bands)
        kept_ids: list[Any] = []
        for batch in batches:
            ids = batch.column(0).to_pylist()
            found = kept.decide(
                shaped(words_in(batch.column(batch.schema.get_field_index("fingerprint")), near.width), near)
            )
            nearest: dict[int, tuple[Any, int]] = {}
            duplicates = set(found["index"].tolist())
            kept_ids.extend(one for index, one in enumerate(ids) if index not in duplicates)
            for index, of, distance in zip(*(found[name].tolist() for name in ("index", "of", "distance"))):
                candidate = kept_ids[of], distance
                nearest[index] = min(nearest.get(index, candidate), candidate)
            rows = [(ids[index], *nearest[index]) for index in sorted(nearest)]
            columns = zip(*rows) if rows else ((), (), ())
            types = batch.schema.field(0).type, batch.schema.field(0).type, pa.int32()
            arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types)]
            yield pa.RecordBatch.from_arrays(arrays, schema.names)

    duplicates = placed.mapInArrow(decide, schema)
    return df.join(duplicates, id, "left" if annotate else "left_anti")


def _rank(df: DataFrame, keep: Optional[str]) -> Column:
    kind, _, column = (keep or "").partition(":")
    if keep is None:
        return sf.lit(0.0)
    if kind not in ("max", "longest") or not column:
        raise InputError(f"keep = {keep!r}: 'max:COLUMN' or 'longest:COLUMN' is wanted")
    of_column = type_of(df, column)
    if kind == "longest":
        if not isinstance(of_column, StringType):
            raise InputError(f"{column}: {of_column.simpleString()}, where texts are wanted")
        return sf.coalesce(sf.char_length(column), sf.lit(0)).cast(DoubleType())
    # Adding zero makes the negative zero the positive one.
    return sf.coalesce(sf.col(column).cast(DoubleType()) + sf.lit(0.0), sf.lit(float("-inf")))


def _check_ids(df: DataFrame, id: str) -> None:
    repeated = df.groupBy(id).count().where((sf.col("count") > 1) | sf.col(id).isNull()).limit(1).collect()
    if repeated:
        value, count = repeated[0]
        raise InputError(f"{id}: {'null' if value is None else repr(value)} occurs {count} times; ids are unique")
