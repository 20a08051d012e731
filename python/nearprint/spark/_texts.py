"""Fingerprints of a column of texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from .. import _nearprint
from .._errors import InputError
from .._texts import fingerprint as fingerprint_texts
from ._columns import Batches, column_of, type_of


def fingerprint(df: DataFrame, text: str, *, recipe: str = "minhash", out: str = "fingerprint") -> DataFrame:
    """The rows of ``df`` with the fingerprint of a column of texts; null for null.

    Raises ``InputError`` for an invalid recipe, a column that is missing or has no texts, and if there is a column
    ``out`` already.
    """
    line, width, _ = _nearprint.recipe_line(recipe)
    if not isinstance(type_of(df, text), StringType):
        raise InputError(f"{text}: {type_of(df, text).simpleString()}, where texts are wanted")
    if out in df.columns:
        raise InputError(f"{out}: is a column already; out= takes another name")

    def add(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = batch.column(batch.schema.get_field_index(text))
            made = fingerprint_texts(texts, line, threads=1, missing="mask")
            mask = np.ma.getmaskarray(made).reshape(len(texts), -1)[:, 0]
            yield batch.append_column(out, column_of(np.ma.getdata(made), mask))

    kind = LongType() if width == 64 else BinaryType()
    return df.mapInArrow(add, StructType([*df.schema.fields, StructField(out, kind)]))
