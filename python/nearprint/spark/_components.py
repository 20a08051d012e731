"""Clusters: every task finds a spanning forest of its pairs, and these are united."""

from __future__ import annotations

from typing import Any, Optional

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from .. import _nearprint
from .._errors import InputError
from .._settings import check_count
from ._columns import Near, column_of, named, near_of, type_of, words_in
from ._join import SPLIT_ABOVE, joined, present

#: Up to this many pairs of local forests are united on the driver: 640 MB of fingerprints of 256 bits.
DRIVER_PAIRS = 10_000_000


def clusters(
    df: DataFrame,
    k: Optional[int] = None,
    *,
    id: str = "id",
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
    split_above: Optional[int] = SPLIT_ABOVE,
    driver_pairs: int = DRIVER_PAIRS,
) -> DataFrame:
    """The connected components of the pairs, without single rows: columns ``id``, ``fingerprint``, ``cluster``.

    ``cluster`` is the smallest fingerprint of the component, so that it depends on nothing else. Rows of equal
    fingerprints are near each other.

    Each task finds a spanning forest of its pairs. Up to ``driver_pairs`` pairs of these are united on the driver,
    more by large-star and small-star (Kiveris et al., 2014), in a number of rounds that grows with the logarithm of
    the longest path. This function runs that part of the work; ``df`` is computed again for the rest, so persist it
    if it is expensive. Other arguments and exceptions as for :func:`pairs`.
    """
    near = near_of(df, fingerprint, k, similarity, bands, width)
    type_of(df, id)
    if id.lower() in ("fingerprint", "cluster"):
        raise InputError(f"id = {id!r}: the result has another column of this name")
    forests = joined(present(df, fingerprint), near, (partitions, split_above), forest=True)
    labels = _labels_of(forests, near, driver_pairs)
    rows = df.select(named(id).alias("id"), named(fingerprint).alias("fingerprint"))
    rows = rows.where(sf.col("fingerprint").isNotNull())
    # The fingerprint 0 of a text without a token is not even near itself.
    several = sf.col("count") > 1
    if near.bands is not None:
        several &= sf.col("fingerprint") != sf.lit(0 if near.width == 64 else bytes(near.width // 8))
    clustered = (
        rows.groupBy("fingerprint")
        .count()
        .join(labels, "fingerprint", "left")
        .where(sf.col("cluster").isNotNull() | several)
        .select("fingerprint", sf.coalesce("cluster", "fingerprint").alias("cluster"))
    )
    return rows.join(clustered, "fingerprint").select(sf.col("id").alias(id), "fingerprint", "cluster")


def _labels_of(forests: DataFrame, near: Near, driver_pairs: int) -> DataFrame:
    """The ends of pairs, each with the smallest end of its connected component."""
    most = check_count(driver_pairs, "driver_pairs", 0)
    forests = forests.select("a", "b").persist()
    try:
        if forests.count() > most:
            return labels_by_stars(forests, near)
        ends = forests.toArrow()
    finally:
        forests.unpersist()
    found = _nearprint.components(words_in(ends["a"], near.width), words_in(ends["b"], near.width), near.width)
    table = pa.table({name: column_of(found[name]) for name in ("fingerprint", "cluster")})
    schema = StructType([StructField(name, near.type) for name in table.column_names])
    return forests.sparkSession.createDataFrame(table, schema)


def labels_by_stars(pairs: DataFrame, near: Near) -> DataFrame:
    """The same by alternating large-star and small-star, until nothing changes.

    Edges are (u, v) with v below u. Both operations keep the components; in the end every member points to the
    smallest one.
    """
    flip = sf.lit(-(1 << 63))

    def ordered(column: Column) -> Column:
        """Maps unsigned order to signed order, and back again. Bytes are compared as unsigned."""
        return column.bitwiseXOR(flip) if near.width == 64 else column

    pairs = pairs.select(ordered(sf.col("b")).alias("u"), ordered(sf.col("a")).alias("v")).localCheckpoint()
    edges, before = pairs, None
    while (state := _state_of(edges)) != before:
        before = state
        edges = _small_star(_large_star(edges)).localCheckpoint()
    # The stars leave out what is a pair with itself alone.
    several = edges.unionByName(edges.select(sf.col("v").alias("u"), "v")).unionByName(pairs.where("u = v"))
    members = several.groupBy("u").agg(sf.min("v").alias("v"))
    return members.select(ordered(sf.col("u")).alias("fingerprint"), ordered(sf.col("v")).alias("cluster"))


def _state_of(edges: DataFrame) -> tuple[Any, ...]:
    return tuple(edges.select(sf.count("*"), sf.sum(sf.xxhash64("u", "v").cast("decimal(38,0)"))).first() or ())


def _large_star(edges: DataFrame) -> DataFrame:
    """Joins the larger neighbours of every node to the smallest of its neighbours and itself."""
    both = edges.unionByName(edges.select(sf.col("v").alias("u"), sf.col("u").alias("v")))
    least = both.groupBy("u").agg(sf.min("v").alias("least"))
    joined = both.join(least, "u").where(sf.col("v") > sf.col("u"))
    return joined.select(sf.col("v").alias("u"), sf.least("u", "least").alias("v")).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Joins the smaller neighbours of every node, and itself, to the smallest of them."""
    least = edges.groupBy("u").agg(sf.min("v").alias("least"))
    smaller = edges.join(least, "u").where(sf.col("v") != sf.col("least"))
    rest = smaller.select(sf.col("v").alias("u"), sf.col("least").alias("v"))
    return rest.unionByName(least.select("u", sf.col("least").alias("v"))).distinct()
