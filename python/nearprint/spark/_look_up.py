"""Look-ups in a database by every task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from .. import _database
from .._database import Path
from .._errors import InputError
from ._columns import DISTANCE, Batches, Near, column_of, distances_of, named, shaped, type_of, words_in


def query(
    df: DataFrame,
    path: Path,
    k: Optional[int] = None,
    *,
    id: str = "id",
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
) -> DataFrame:
    """The rows of a database near each row of ``df``: columns ``query``, ``id``, ``fingerprint``, ``distance``.

    ``query`` is the id of the row of ``df``. Ids of the database have the bits of the number; ``key`` is there if
    the database stores keys. Every task opens the database at ``path``, on a disk of its machine or a shared one, and
    reads the pages it needs.

    Raises ``InputError`` as :meth:`nearprint.Database.query`, and for columns of another width.
    """
    with _database.open(path) as database:
        place, width = database.path, database.width
        has_keys = database.keeps_keys
        most = database._k_of(k, similarity)
    kind = type_of(df, fingerprint)
    if isinstance(kind, LongType) != (width == 64) or not isinstance(kind, (LongType, BinaryType)):
        raise InputError(f"{fingerprint}: {kind.simpleString()}, where the database has {width} bits")
    fields = [StructField("query", type_of(df, id)), StructField("id", LongType()), StructField("fingerprint", kind)]
    fields += [DISTANCE] + [StructField("key", StringType())] * has_keys

    def look_up(batches: Batches) -> Iterator[pa.RecordBatch]:
        with _database.open(place, threads=1) as database:
            for batch in batches:
                found = database.query_batch(shaped(words_in(batch.column(1), width), Near(most, None, width)), most)
                columns = [batch.column(0).take(pa.array(found["query"]))]
                columns += [column_of(found["id"]), column_of(found["fingerprint"]), distances_of(found)]
                if has_keys:
                    columns.append(pa.array(found["key"], pa.string()))
                yield pa.RecordBatch.from_arrays(columns, [field.name for field in fields])

    rows = df.select(named(id).alias("id"), named(fingerprint).alias("value")).where(sf.col("value").isNotNull())
    return rows.mapInArrow(look_up, StructType(fields))
