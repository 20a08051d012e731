"""Rows as arguments: columns, or tables in one batch or many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _nearprint
from ._arrays import encoded, ids_of, in_order, strings_of, words_of
from ._errors import InputError


class Names(NamedTuple):
    """The names of columns in a table of rows."""

    fingerprint: Optional[str] = None
    id: Optional[str] = None
    key: Optional[str] = None
    text: Optional[str] = None


class Rows(NamedTuple):
    """Columns of rows, as users give them."""

    fingerprints: Any
    ids: Any = None
    keys: Any = None
    texts: Any = None

    def batches(self, names: Names) -> Iterator[Rows]:
        """The rows in batches. If ``fingerprints`` is a table, its columns have these names."""
        columns = table_batches(self.fingerprints)
        if columns is None:
            given = [name for name in names if name is not None]
            if given:
                raise InputError(f"the column {given[0]!r}: a table is wanted, not {type(self.fingerprints).__name__}")
            return iter([self])
        if any(column is not None for column in self[1:]):
            raise InputError("ids, keys, texts: a table has them as columns; id=, key= and text= name these")
        chosen = names._replace(fingerprint=names.fingerprint or "fingerprint")
        return (Rows(*(_column(batch, name) for name in chosen)) for batch in columns)

    def native(self, width: Optional[int], of_lists: int = 64, signed: bool = False) -> tuple[dict[str, Any], int]:
        """The rows for the native module, and their width."""
        words, width = words_of(self.fingerprints, width, of_lists, signed)
        count = len(words) * 64 // width
        if self.texts is not None and self.keys is None:
            raise InputError("texts: they are kept under keys, which are not given")
        rows = {
            "words": words,
            "ids": None if self.ids is None else ids_of(self.ids, count, signed),
            "keys": None if self.keys is None else strings_of(_listed(self.keys), count, "keys"),
            "texts": None if self.texts is None else _bytes_of(_listed(self.texts), count),
        }
        return rows, width


def table_batches(value: Any) -> Optional[Iterator[Mapping[str, Any]]]:
    """The batches of a table, each with its columns by name; ``None`` for anything else.

    A table is a mapping of columns, a frame of pandas, or Arrow data with named columns: of pyarrow, polars, DuckDB
    and others. A stream is read batch by batch.
    """
    if isinstance(value, Mapping):
        return iter([value])
    kind = type(value)
    if kind.__module__.split(".")[0] == "pandas" and hasattr(kind, "columns"):
        return iter([{str(name): value[name] for name in value.columns}])
    has_names = any(hasattr(kind, name) for name in ("columns", "column_names", "read_next_batch", "table"))
    if not has_names or not (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")):
        return None
    batches = _nearprint.Batches.of(value)
    return iter(batches)


def fingerprint_batches(fingerprints: Any, name: Optional[str]) -> Iterator[Any]:
    """The fingerprints of a column, or of a table in batches."""
    return (rows.fingerprints for rows in Rows(fingerprints).batches(Names(name)))


def _column(batch: Mapping[str, Any], name: Optional[str]) -> Any:
    if name is None:
        return None
    try:
        return batch[name]
    except KeyError:
        raise InputError(f"the table has no column {name!r}, but {', '.join(map(str, batch)) or 'none'}") from None


def _listed(values: Any) -> Any:
    return _nearprint.strings_of_arrow(values) if isinstance(values, _nearprint.ArrowColumn) else values


def _bytes_of(texts: Any, count: int) -> list[bytes]:
    """Texts in UTF-8, one for each row."""
    listed = in_order(texts, "texts")
    if len(listed) != count:
        raise InputError(f"{len(listed)} texts for {count} fingerprints")
    for index, text in enumerate(listed):
        if isinstance(text, str):
            listed[index] = encoded(text, "texts", index)
        elif not isinstance(text, bytes):
            raise TypeError(f"texts: item {index}: {type(text).__name__} is no text: a str or bytes is wanted")
    return listed


#: No rows.
NOTHING = Rows(np.empty(0, np.uint64))
