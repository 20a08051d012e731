"""The functions of nearprint over data frames of Dask, with the results of one machine.

Fingerprints are integers of 64 bits, or bytes of 128, 256 and 320 bits, the most significant one first. The number of
partitions changes no result. The pairs that connect clusters are united on the driver: for a fingerprint that is
near others, up to k + 1 pairs, or one for each band. So are those from which deduplication decides.
"""

from __future__ import annotations

from typing import Any, Optional

from dask.dataframe import DataFrame, concat

from . import _distributed
from ._distributed import Make, Near, Source
from ._settings import Similarity, check_count
from ._sources import Missing

__all__ = ["clusters", "dedup", "pairs"]


class _Dask:
    """Partitions, and shuffles."""

    def map(self, rows: Any, make: Make) -> Any:
        return rows.map_partitions(make, meta=make(rows._meta))

    def place(self, rows: Any, make: Make, tasks: int) -> Any:
        return rows.shuffle(_distributed.TASK, npartitions=tasks).map_partitions(make, meta=make(rows._meta))

    def union(self, rows: Any, others: Any) -> Any:
        return concat([rows, others])  # type: ignore[no-untyped-call]

    def stored(self, rows: Any) -> Any:
        return rows.persist()

    def collect(self, rows: Any) -> Any:
        return rows.compute()


_ENGINE = _Dask()


def _tasks(df: Any, partitions: Optional[int]) -> int:
    if not hasattr(df, "npartitions"):
        raise TypeError(f"a data frame of Dask is wanted, not {type(df).__module__}.{type(df).__name__}")
    tasks: int = df.npartitions
    return tasks if partitions is None else check_count(partitions, "partitions", 1)


def pairs(
    df: DataFrame,
    k: Optional[int] = None,
    *,
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
) -> DataFrame:
    """The pairs of :func:`nearprint.find_all`, each once: columns ``a``, ``b``, ``distance``, with a below b.

    ``similarity`` is for MinHash fingerprints, whose ``bands`` are by default the bands of the recipe ``minhash``.
    Fingerprints have 64 bits, with bands 256 or 320, as they need, unless ``width`` says otherwise.
    ``partitions`` is the number of tasks.

    Raises ``InputError`` for invalid arguments and columns.
    """
    tasks, columns = _tasks(df, partitions), list(df.columns)
    _distributed.check_columns([fingerprint], columns)
    source = Source(Near.of(k, similarity, bands, width), fingerprint)
    result: DataFrame = _distributed.pairs(_ENGINE, df, source, tasks)
    return result


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
) -> DataFrame:
    """The connected components of the pairs, without single rows: columns ``id``, ``fingerprint``, ``cluster``.

    ``cluster`` is the smallest fingerprint of the component. Rows of equal fingerprints are near each other. Other
    arguments and exceptions as for :func:`pairs`.
    """
    tasks, columns = _tasks(df, partitions), list(df.columns)
    _distributed.check_columns([id, fingerprint], columns)
    source = Source(Near.of(k, similarity, bands, width), fingerprint)
    result: DataFrame = _distributed.clusters(_ENGINE, df, source, id, tasks)
    return result


def dedup(
    df: DataFrame,
    *,
    id: str = "id",
    text: str = "text",
    keep: Optional[str] = None,
    missing: Missing = "keep",
    annotate: bool = False,
    recipe: str = "minhash",
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    partitions: Optional[int] = None,
) -> DataFrame:
    """The rows whose texts are not near an earlier kept one, as :func:`nearprint.dedup` keeps them, in any order.

    Rows are decided in the order of their ids, which are integers or texts, and unique; ``keep`` chooses others, as for
    :func:`nearprint.dedup`. Rows without a text are kept, or with ``missing="skip"`` left out; ``"error"`` looks for
    them first, and a value that is no text is a ``TypeError``. With ``annotate`` all rows are returned, with columns
    ``duplicate_of``, the id of the kept row, and null for a kept one; ``similarity``; ``group``, the id of the kept
    row; and ``group_size``. Texts are compared exactly: pairs of fingerprints meet the sets of features of both rows.
    The driver decides from the pairs that are near, and from the ids of rows that are not alone. Texts never leave the
    task that reads them, unless ``similarity`` is of texts. This function runs the work up to the decisions. Other
    arguments are as for :func:`nearprint.dedup`, exceptions as for :func:`pairs`.
    """
    tasks, columns = _tasks(df, partitions), list(df.columns)
    how = _distributed.decisions_of((id, text), keep, (recipe, k, similarity), annotate, missing)
    _distributed.check_columns(how.columns, columns, how.new)
    _distributed.check_rows(_ENGINE, df.__getitem__, df.dtypes, how, tasks)
    result: DataFrame = _distributed.dedup(_ENGINE, df, how, tasks)
    return result
