"""Fingerprints in the columns of Spark and of Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructField

from .. import _nearprint
from .._arrays import Words, check_k, check_width, words_of
from .._errors import InputError
from .._result import Result
from .._settings import DEFAULT_SIMILARITY, distance_of, wide_width

Batches = Iterable[pa.RecordBatch]


class Near(NamedTuple):
    """When fingerprints are near, and their width."""

    k: int
    bands: Optional[str]
    width: int

    @property
    def type(self) -> DataType:
        return LongType() if self.width == 64 else BinaryType()

    @property
    def groups(self) -> int:
        """The groups of a fingerprint."""
        return self.k + 1 if self.bands is None else int(self.bands.partition("x")[0])


DISTANCE = StructField("distance", IntegerType())


#: Fingerprints in memory are near within fewer bits.
_MOST_BITS = 63


def near_of(
    df: DataFrame,
    fingerprint: str,
    k: Optional[int],
    similarity: Optional[float],
    bands: Optional[str],
    width: Optional[int],
) -> Near:
    kind = type_of(df, fingerprint)
    if not isinstance(kind, (LongType, BinaryType)):
        raise InputError(f"{fingerprint}: {kind.simpleString()}, where fingerprints are bigint or binary")
    if k is None and similarity is None and bands is None:
        raise InputError("k, or similarity for MinHash fingerprints, is needed")
    if bands is None and similarity is not None:
        bands = _nearprint.recipe_line("minhash")[2]
    found = 64 if isinstance(kind, LongType) else check_width(width or wide_width(bands))
    if width not in (None, found):
        raise InputError(f"width {width}: {fingerprint} is {kind.simpleString()}")
    if bands is not None and k is None and similarity is None:
        similarity = DEFAULT_SIMILARITY
    distance = distance_of(k, similarity, bands, found)
    assert distance is not None
    return Near(check_k(distance, _MOST_BITS if bands is None else found), bands, found)


def named(column: str) -> Column:
    """A column of a table, whatever is in its name."""
    return sf.col("`" + column.replace("`", "``") + "`")


def exact(df: DataFrame, column: str) -> Column:
    """A column of ids. Texts are compared by their bytes: to some collations, different ones are equal."""
    return named(column).cast(StringType()) if isinstance(type_of(df, column), StringType) else named(column)


def check_new(df: DataFrame, *names: str) -> None:
    """Refuses names of new columns that a table has already. Spark does not distinguish cases."""
    there = {column.lower() for column in df.columns}
    for name in names:
        if name.lower() in there:
            raise InputError(f"{name}: is a column already, and the name of a new one")


def type_of(df: DataFrame, column: str) -> DataType:
    if not hasattr(df, "schema"):
        raise TypeError(f"a data frame of Spark is wanted, not {type(df).__module__}.{type(df).__name__}")
    if column not in df.columns:
        raise InputError(f"there is no column {column!r}, but {', '.join(df.columns)}")
    return df.schema[column].dataType


def words_in(column: Any, width: int) -> Words:
    """The words of a column of fingerprints without nulls."""
    if width == 64:
        return np.ascontiguousarray(column.to_numpy(), np.int64).view(np.uint64)
    return words_of(column, width)[0] if len(column) else np.empty(0, np.uint64)


def shaped(words: Words, near: Near) -> Words:
    return words if near.width == 64 else words.reshape(-1, near.width // 64)


def column_of(words: Any, mask: Any = None) -> Any:
    """Numbers as bigint, fingerprints of several words as binary."""
    if words.ndim == 1:
        return pa.array(words.view(np.int64), mask=mask)
    in_order = np.ascontiguousarray(words[:, ::-1].astype(">u8"))
    size = in_order.shape[1] * 8
    plain = pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(in_order), [None, pa.py_buffer(in_order)])
    column = plain.cast(pa.binary())
    if mask is None or not mask.any():
        return column
    return pc.if_else(pa.array(mask), pa.scalar(None, pa.binary()), column)


def distances_of(found: Result) -> Any:
    return pa.array(found["distance"].astype(np.int32))
