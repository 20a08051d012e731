"""Fingerprints of a column of texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from .. import _nearprint
from .._errors import InputError
from .._texts import stored_fingerprints
from ._columns import Batches, check_new, column_of, type_of


def fingerprint(df: DataFrame, text: str, *, recipe: str = "minhash", out: str = "fingerprint") -> DataFrame:
    """The rows of ``df`` with the fingerprint of a column of texts; null for null, and for a text without tokens.

    As in a deduplication on one machine, a text without features, which are the shingles or keywords that the recipe
    compares, has a fingerprint of all its tokens instead of 0: only texts with the same tokens are near it.

    Raises ``InputError`` for an invalid recipe, a column that is missing or has no texts, and if there is a column
    ``out`` already.
    """
    line, width, _ = _nearprint.recipe_line(recipe)
    if not isinstance(type_of(df, text), StringType):
        raise InputError(f"{text}: {type_of(df, text).simpleString()}, where texts are wanted")
    check_new(df, out)

    names, place = [*df.columns, out], df.columns.index(text)

    def add(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = batch.column(place)
            made, near_nothing = stored_fingerprints(texts, line, threads=1)
            mask = np.zeros(len(texts), bool)
            mask[near_nothing] = True
            yield pa.RecordBatch.from_arrays([*batch.columns, column_of(made, mask)], names)

    kind = LongType() if width == 64 else BinaryType()
    schema = StructType([*df.schema.fields, StructField(out, kind)])
    # Spark reads a dot in the name of a column as the way into a structure here.
    return df.toDF(*(f"c{index}" for index in range(len(df.columns)))).mapInArrow(add, schema)
