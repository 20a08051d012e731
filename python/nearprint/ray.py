"""The functions of nearprint over datasets of Ray, with the results of one machine.

Fingerprints are integers of 64 bits, or bytes of 128, 256 and 320 bits, the most significant one first. The number of
blocks changes no result. The pairs that connect clusters are united on the driver: for a fingerprint that is
near others, up to k + 1 pairs, or one for each band. So are those from which deduplication decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import pandas as pd
import pyarrow as pa
from ray.data import Dataset, from_pandas
from ray.data.block import BlockAccessor

from . import _distributed
from ._distributed import Engine, Make, Near, Source
from ._settings import Similarity, check_count
from ._sources import Missing

__all__ = ["clusters", "dedup", "pairs"]


class _Ray:
    """Blocks, and groups of rows."""

    def map(self, rows: Any, make: Make) -> Any:
        return rows.map_batches(lambda block: make(_frame(block)), batch_format=None, batch_size=None)

    def place(self, rows: Any, make: Make, tasks: int) -> Any:
        return rows.groupby(_distributed.TASK, num_partitions=tasks).map_groups(make, batch_format="pandas")

    def union(self, rows: Any, others: Any) -> Any:
        return rows.union(others)

    def stored(self, rows: Any) -> Any:
        return rows.materialize()

    def collect(self, rows: Any) -> Any:
        return rows.to_pandas()


def _frame(block: Any) -> Any:
    """A block as a frame of pandas. Integers beside nulls are objects: as floats, they would lose digits."""
    frame = BlockAccessor.for_block(block).to_pandas()
    for name in getattr(getattr(block, "schema", None), "names", ()):
        column = block[name]
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = column.to_pandas(integer_object_nulls=True)
    return frame


_ENGINE = _Ray()


class _Nothing:
    """A frame of pandas without rows: Ray calls no function for it, and forgets its columns."""

    def map(self, rows: Any, make: Make) -> Any:
        return make(rows)

    def place(self, rows: Any, make: Make, tasks: int) -> Any:
        return make(rows)

    def union(self, rows: Any, others: Any) -> Any:
        return pd.concat([rows, others])

    def stored(self, rows: Any) -> Any:
        return rows

    def collect(self, rows: Any) -> Any:
        return rows


def _worked(rows: Dataset, columns: list[str], work: Callable[[Engine, Any], Any]) -> Dataset:
    """The result of some work over rows, which have these columns."""
    if rows.count():
        made: Dataset = work(_ENGINE, rows)
        return made
    return from_pandas(work(_Nothing(), pd.DataFrame({name: [] for name in columns})))


def _materialized(rows: Any) -> Any:
    if not hasattr(rows, "materialize"):
        raise TypeError(f"a data set of Ray is wanted, not {type(rows).__module__}.{type(rows).__name__}")
    return rows.materialize()


def _columns(rows: Dataset, names: list[str], new: tuple[str, ...] = ()) -> list[str]:
    """The columns, among which are these, and none that is new. A data set without rows may not know its columns."""
    columns = list(rows.columns() or dict.fromkeys(names))
    _distributed.check_columns(names, columns, new)
    return columns


def _tasks(rows: Any, partitions: Optional[int]) -> int:
    return max(rows.num_blocks(), 1) if partitions is None else check_count(partitions, "partitions", 1)


def pairs(
    rows: Dataset,
    k: Optional[int] = None,
    *,
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
) -> Dataset:
    """The pairs of :func:`nearprint.find_all`, each once: columns ``a``, ``b``, ``distance``, with a below b.

    ``similarity`` is for MinHash fingerprints, whose ``bands`` are by default the bands of the recipe ``minhash``.
    Fingerprints have 64 bits, with bands 256 or 320, as they need, unless ``width`` says otherwise.
    ``partitions`` is the number of tasks.

    Raises ``InputError`` for invalid arguments and columns.
    """
    rows = _materialized(rows)
    columns, tasks = _columns(rows, [fingerprint]), _tasks(rows, partitions)
    source = Source(Near.of(k, similarity, bands, width), fingerprint)
    return _worked(rows, columns, lambda engine, rows: _distributed.pairs(engine, rows, source, tasks))


def clusters(
    rows: Dataset,
    k: Optional[int] = None,
    *,
    id: str = "id",
    fingerprint: str = "fingerprint",
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    partitions: Optional[int] = None,
) -> Dataset:
    """The connected components of the pairs, without single rows: columns ``id``, ``fingerprint``, ``cluster``.

    ``cluster`` is the smallest fingerprint of the component. Rows of equal fingerprints are near each other. Other
    arguments and exceptions as for :func:`pairs`.
    """
    rows = _materialized(rows)
    columns, tasks = _columns(rows, [id, fingerprint]), _tasks(rows, partitions)
    source = Source(Near.of(k, similarity, bands, width), fingerprint)
    return _worked(rows, columns, lambda engine, rows: _distributed.clusters(engine, rows, source, id, tasks))


def dedup(
    rows: Dataset,
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
) -> Dataset:
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
    rows = _materialized(rows)
    tasks = _tasks(rows, partitions)
    how = _distributed.decisions_of((id, text), keep, (recipe, k, similarity), annotate, missing)
    columns = _columns(rows, how.columns, how.new)
    if rows.count():
        types = dict(zip(columns, rows.schema().types))
        _distributed.check_rows(_ENGINE, rows.select_columns, types, how, tasks)
    return _worked(rows, columns, lambda engine, rows: _distributed.dedup(engine, rows, how, tasks))
