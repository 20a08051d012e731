"""Candidates: pairs of vertices that have groups in common. Each becomes an edge, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, DoubleType, StringType, StructField, StructType

from .. import _nearprint
from .._errors import InputError
from ._columns import DISTANCE, Batches, Near, column_of, type_of
from ._edges import EDGES, Graph, materialized
from ._join import Choose, joined, largest_group

#: Vertices of one fingerprint are compared in parts of about this many.
PART_VERTICES = 4096


class Fingerprints(NamedTuple):
    """A column of fingerprints, which are near within a distance."""

    near: Near
    column: str
    compares_evidence: bool = False
    prefers_similar: bool = False
    choose: Optional[Choose] = None

    @property
    def nearness(self) -> StructField:
        return DISTANCE

    def made(self, df: DataFrame) -> DataFrame:
        """Of rows of ``id`` and ``value``, the ids, ``digest`` and ``fingerprint`` of those that others may be near."""
        found = df.select("id", sf.col("value").alias("digest"), sf.col("value").alias("fingerprint"))
        is_there = sf.col("fingerprint").isNotNull()
        if self.near.bands is not None:
            # The fingerprint 0 of a text without a token is near nothing.
            is_there &= sf.col("fingerprint") != sf.lit(0 if self.near.width == 64 else bytes(self.near.width // 8))
        return found.where(is_there)

    def edges(self, pairs: DataFrame) -> DataFrame:
        return pairs.select("a", "b", "distance", sf.lit(1.0).alias("similarity"), sf.lit(1.0).alias("reverse"))


class Texts(NamedTuple):
    """A column of texts, which are compared as documents."""

    near: Near
    column: str
    settings: dict[str, Any]
    compares_evidence: bool
    prefers_similar: bool

    @classmethod
    def of(cls, df: DataFrame, column: str, settings: dict[str, Any]) -> Texts:
        if not isinstance(type_of(df, column), StringType):
            raise InputError(f"{column}: {type_of(df, column).simpleString()}, where texts are wanted")
        judge = _nearprint.PairJudge(settings)
        line, k = judge.candidates()
        _, width, bands = _nearprint.recipe_line(line)
        return cls(Near(k, bands, width), column, settings, *judge.compares())

    @property
    def nearness(self) -> StructField:
        return StructField("similarity", DoubleType())

    @property
    def choose(self) -> Choose:
        settings = self.settings
        return lambda a, b: _nearprint.PairJudge(settings).are_candidates(a, b)

    def made(self, df: DataFrame) -> DataFrame:
        """Of rows of ``id`` and ``value``, what those are compared by that others may be near."""
        settings, compares_evidence = self.settings, self.compares_evidence

        def make(batches: Batches) -> Iterator[pa.RecordBatch]:
            judge = _nearprint.PairJudge(settings)
            for batch in batches:
                places, words, evidence, digests = judge.documents(batch.column(1))
                columns = [batch.column(0).take(pa.array(places)), column_of(digests), column_of(words)]
                if compares_evidence:
                    columns.append(pa.array(evidence))
                yield pa.RecordBatch.from_arrays(columns, names)

        fields = [df.schema["id"], StructField("digest", BinaryType()), StructField("fingerprint", self.near.type)]
        schema = StructType([*fields, *[StructField("evidence", BinaryType())] * compares_evidence])
        names = schema.names
        return df.mapInArrow(make, schema)

    def edges(self, pairs: DataFrame) -> DataFrame:
        """Those of some pairs that are near, by their evidence."""
        settings = self.settings

        def judge(batches: Batches) -> Iterator[pa.RecordBatch]:
            judge = _nearprint.PairJudge(settings)
            for batch in batches:
                a, b, distances, *evidence = batch.columns
                of_a, of_b = evidence or [pa.nulls(len(a))] * 2
                reverse, own = judge.similarities(of_a, of_b, distances.to_numpy().astype(np.uint32))
                found = pa.RecordBatch.from_arrays([a, b, distances, pa.array(own), pa.array(reverse)], EDGES.names)
                yield found.filter(pa.array(~(np.isnan(own) & np.isnan(reverse))))

        return pairs.mapInArrow(judge, EDGES)


Compared = Union[Fingerprints, Texts]


class Candidates(NamedTuple):
    """The vertices of a table, and the pairs of them that are compared."""

    by: Compared
    #: All rows that others may be near: ``number``, ``digest``, ``fingerprint``, and ``evidence`` where it is compared.
    made: DataFrame
    #: Of each digest the first ``number`` as ``vertex``, and its ``fingerprint``.
    vertices: DataFrame
    #: ``a`` below ``b``, and the ``distance`` of their fingerprints.
    pairs: DataFrame

    @classmethod
    def of(cls, made: DataFrame, by: Compared, count: int, settings: tuple[Optional[int], Optional[int]]) -> Candidates:
        partitions, split_above = settings
        # No group has more rows than the table.
        parts_above = None if split_above is None or count <= split_above else split_above
        vertices = made.groupBy("digest").agg(
            sf.min("number").alias("vertex"), sf.first("fingerprint").alias("fingerprint")
        )
        vertices = materialized(vertices)
        pairs = joined(vertices.select("fingerprint"), by.near, (partitions, parts_above), False, by.choose)
        parts = None
        if by.compares_evidence:
            counted = vertices.groupBy("fingerprint").count().where("count > 1")
            equal = [sf.col("fingerprint").alias("a"), sf.col("fingerprint").alias("b"), sf.lit(0).alias("distance")]
            pairs = pairs.unionByName(counted.select(*equal))
            if count > PART_VERTICES:
                number = sf.ceil(sf.col("count") / PART_VERTICES).cast("int")
                parts = counted.select("fingerprint", number.alias("parts")).where("parts > 1")
        return cls(by, made, vertices, _of_vertices(pairs, vertices, parts))

    def graph(self) -> Graph:
        """The edges: pairs that are near."""
        pairs = self.pairs
        if self.by.compares_evidence:
            for end in ("a", "b"):
                evidence = self.made.select(sf.col("number").alias(end), sf.col("evidence").alias(f"of_{end}"))
                pairs = pairs.join(evidence, end)
            pairs = pairs.select("a", "b", "distance", "of_a", "of_b")
        edges = materialized(self.by.edges(pairs))
        rows, vertices = self.made.select("number", "digest"), self.vertices.select("digest", "vertex")
        return Graph(rows, vertices, edges, edges.count(), self.by.prefers_similar)

    def counts(self) -> tuple[int, int, int]:
        """The numbers of vertices, of fingerprints in the largest group, and of pairs."""
        largest = largest_group(self.vertices.select("fingerprint"), self.by.near)
        return self.vertices.count(), largest, self.pairs.count()


def _of_vertices(pairs: DataFrame, vertices: DataFrame, parts: Optional[DataFrame]) -> DataFrame:
    """The pairs of vertices of pairs of fingerprints, ``a`` below ``b``. Those that have ``parts`` are compared part
    by part, so that no task has all vertices of a fingerprint twice."""
    if parts is None:
        vertices = vertices.withColumn("part", sf.lit(1))
        pairs = pairs.select("a", "b", "distance", sf.lit(1).alias("part_a"), sf.lit(1).alias("part_b"))
    else:
        parts = sf.broadcast(parts)
        vertices = vertices.join(parts, "fingerprint", "left").fillna(1, ["parts"])
        vertices = vertices.withColumn("part", sf.pmod(sf.xxhash64("vertex"), "parts") + 1)
        for end in ("a", "b"):
            of_end = parts.select(sf.col("fingerprint").alias(end), "parts")
            pairs = pairs.join(of_end, end, "left").fillna(1, ["parts"])
            pairs = pairs.withColumn(f"part_{end}", sf.explode(sf.sequence(sf.lit(1), "parts"))).drop("parts")
    for end in ("a", "b"):
        of_end = vertices.select(
            sf.col("fingerprint").alias(end),
            sf.col("part").alias(f"part_{end}"),
            sf.col("vertex").alias(f"vertex_{end}"),
        )
        pairs = pairs.join(of_end, [end, f"part_{end}"])
    # Of two parts of a fingerprint both orders are there.
    once = pairs.where("a != b or vertex_a < vertex_b")
    return once.select(
        sf.least("vertex_a", "vertex_b").alias("a"), sf.greatest("vertex_a", "vertex_b").alias("b"), "distance"
    )
