"""What is kept of vertices, by edges: pairs that were decided before anything is connected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from .. import _edges
from ._columns import Batches, Near
from ._components import labels_by_stars
from ._join import placed_by

#: Rounds before what is undecided goes by its components. A chain of rows in order would need half as many as rows.
MOST_ROUNDS = 12
#: What is decided of a table of at most this many rows goes through the driver.
DRIVER_ROWS = 1_000_000

#: See :class:`nearprint._edges.Edges`.
EDGES = StructType(
    [
        StructField("a", LongType()),
        StructField("b", LongType()),
        StructField("distance", IntegerType()),
        StructField("similarity", DoubleType()),
        StructField("reverse", DoubleType()),
    ]
)
_VERTEX = StructType([StructField("vertex", LongType())])


def materialized(df: DataFrame) -> DataFrame:
    """A table that is computed now. In the folder for checkpoints, if there is one, it survives executors."""
    if df.sparkSession.sparkContext.getCheckpointDir() is not None:
        return df.checkpoint()
    return df.localCheckpoint()


class Graph(NamedTuple):
    """Vertices, and the edges between them."""

    #: ``number`` and ``digest`` of all rows that others may be near, and ``digest`` and ``vertex`` of the first ones.
    rows: DataFrame
    vertices: DataFrame
    edges: DataFrame
    num_edges: int
    prefers_similar: bool

    def decided_here(self) -> _edges.Decided:
        """What becomes of rows that are left out, on the driver."""
        rows, edges = self.rows.toArrow(), self.edges.toArrow()
        numbers = rows["number"].to_numpy()
        order = np.argsort(numbers)
        codes = rows["digest"].combine_chunks().dictionary_encode().indices.to_numpy()
        _, first, places = np.unique(codes[order], return_index=True, return_inverse=True)
        columns = _edges.Edges(*(edges[name].to_numpy() for name in EDGES.names))
        vertices = numbers[order][first][places.reshape(-1)]
        return _edges.decided((numbers[order], vertices), columns, self.prefers_similar)

    def decided(self, settings: tuple[int, Optional[int]], annotate: bool) -> tuple[DataFrame, int]:
        """The rows that are left out, and the number of rounds. With ``annotate``, also what becomes of them: see
        :class:`nearprint._edges.Decided`."""
        driver_pairs, partitions = settings
        out, rounds = self._left_out(driver_pairs, partitions)
        rows = self.rows.join(self.vertices, "digest").select("number", "vertex")
        rows = rows.join(out.withColumn("is_out", sf.lit(True)), "vertex", "left")
        if annotate:
            return self._nearest(rows, out), rounds
        return rows.where("is_out or number != vertex").select("number"), rounds

    def _left_out(self, driver_pairs: int, partitions: Optional[int]) -> tuple[DataFrame, int]:
        """The vertices that are near a kept one before them, and the number of rounds."""
        edges = self.edges.where(~sf.isnan("similarity")).select("a", "b")
        left, rounds = edges.count(), 0
        out = self.edges.sparkSession.createDataFrame(pa.table({"vertex": pa.array([], pa.int64())}), _VERTEX)
        while left > driver_pairs and rounds < MOST_ROUNDS:
            # Nothing undecided is before them.
            kept = edges.select("a").join(edges.select(sf.col("b").alias("a")), "a", "left_anti").distinct()
            found = materialized(edges.join(kept, "a", "left_semi").select(sf.col("b").alias("vertex")).distinct())
            out = out.unionByName(found)
            edges = edges.join(found, edges["a"] == found["vertex"], "left_anti")
            edges = materialized(edges.join(found, edges["b"] == found["vertex"], "left_anti"))
            left, rounds = edges.count(), rounds + 1
        if left > driver_pairs:
            labels = labels_by_stars(edges, Near(0, None, 64)).withColumnRenamed("fingerprint", "a")
            placed = placed_by(edges.join(labels, "a").select("a", "b", "cluster"), partitions, "cluster")
            out = out.unionByName(placed.mapInArrow(_left_out_of_components, _VERTEX))
        elif left:
            table = edges.toArrow()
            found_here = _edges.left_out(table["a"].to_numpy(), table["b"].to_numpy())
            out = out.unionByName(out.sparkSession.createDataFrame(pa.table({"vertex": found_here}), _VERTEX))
        return materialized(out), rounds

    def _nearest(self, rows: DataFrame, out: DataFrame) -> DataFrame:
        """What becomes of rows that are left out, of all rows with ``is_out`` where their vertex is among ``out``."""
        copies = rows.where("is_out is null and number != vertex").select(
            "number", sf.col("vertex").alias("of"), sf.lit(0).alias("distance"), sf.lit(1.0).alias("similarity")
        )
        ends = {"similarity": ("b", "a"), "reverse": ("a", "b")}
        near = [
            self.edges.where(~sf.isnan(similarity)).select(
                sf.col(new).alias("vertex"),
                sf.col(kept).alias("of"),
                "distance",
                sf.col(similarity).alias("similarity"),
            )
            for similarity, (new, kept) in ends.items()
        ]
        both = near[0].unionByName(near[1])
        both = both.join(out.withColumnRenamed("vertex", "of"), "of", "left_anti")
        nearness = -sf.col("similarity") if self.prefers_similar else sf.col("distance")
        candidate = sf.struct(nearness.alias("nearness"), "of", "distance", "similarity")
        nearest = (
            rows.where("is_out")
            .select("number", "vertex")
            .join(both, "vertex")
            .where("of < number")
            .groupBy("number")
            .agg(sf.min(candidate).alias("nearest"))
        )
        return nearest.select("number", "nearest.of", "nearest.distance", "nearest.similarity").unionByName(copies)


def _left_out_of_components(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The vertices that are left out, of the edges of whole components."""
    received = list(batches)
    if received:
        edges = pa.Table.from_batches(received)
        found = _edges.left_out(edges["a"].to_numpy(), edges["b"].to_numpy())
        yield pa.RecordBatch.from_arrays([pa.array(found)], _VERTEX.names)
