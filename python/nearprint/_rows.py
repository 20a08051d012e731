"""Rows as arguments: columns, or tables in one batch or many."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import encoded, ids_of, in_order, is_missing, keys_of, words_of
from ._errors import InputError
from ._tables import checked, read_once, table_of


class Names(NamedTuple):
    """The names of columns in a table of rows."""

    fingerprint: Optional[str] = None
    id: Optional[str] = None
    key: Optional[str] = None
    text: Optional[str] = None

    def among(self, there: Container[str]) -> Names:
        """The names to read. If neither ids nor keys are named, they have the names that results give them."""
        id, key = self.id, self.key
        if id is None and key is None:
            id, key = (name if name in there else None for name in ("id", "key"))
        return Names(self.fingerprint or "fingerprint", id, key, self.text)


class Rows(NamedTuple):
    """Columns of rows, as users give them."""

    fingerprints: Any
    ids: Any = None
    keys: Any = None
    texts: Any = None

    def batches(self, names: Names) -> Iterator[Rows]:
        """The rows in batches. If ``fingerprints`` is a table, its columns have these names."""
        fingerprints = read_once(self.fingerprints)
        table = table_of(fingerprints)
        if table is None:
            given = [name for name in names if name is not None]
            if given:
                raise InputError(f"the column {given[0]!r}: a table is wanted, not {type(self.fingerprints).__name__}")
            return iter([self._replace(fingerprints=fingerprints)])
        if any(column is not None for column in self[1:]):
            raise InputError("ids, keys, texts: a table has them as columns; id=, key= and text= name these")
        there = table.names
        if names.fingerprint is None and there is not None and "text" in there and "fingerprint" not in there:
            raise InputError(
                "the table has a column 'text' and none 'fingerprint': add_texts adds texts, and find looks them up"
            )
        if names.fingerprint is None and there is not None and "fingerprint" not in there:
            listed = ", ".join(map(str, there)) or "none"
            raise InputError(
                f"the table has no column 'fingerprint', but {listed}; fingerprint= names another one, and text= of "
                "build and add_texts one of texts"
            )
        batches = table.read([name for name in names.among(there or ()) if name is not None])
        return (
            Rows(*(_column(batch, name) for name in names.among(batch if there is None else there)))
            for batch in batches
        )

    def native(self, width: Optional[int], of_lists: int = 64, signed: bool = False) -> tuple[dict[str, Any], int]:
        """The rows for the native module, and their width."""
        words, width = words_of(self.fingerprints, width, of_lists, signed)
        count = len(words) * 64 // width
        if self.texts is not None and self.keys is None:
            raise InputError("texts: they are kept under keys, which are not given")
        rows: dict[str, Any] = {
            "words": words,
            "ids": None if self.ids is None else ids_of(self.ids, count, signed),
            "keys": None if self.keys is None else keys_of(self.keys, count, self.ids is not None),
            "texts": None,
        }
        if self.texts is not None:
            rows["texts"] = _bytes_of(self.texts, rows["keys"])
        return rows, width


def apart(rows: dict[str, Any], in_order: bool = False) -> list[tuple[Any, dict[str, Any]]]:
    """The rows of :meth:`Rows.native` with keys and those without, each with their places: a database may have both.

    With ``in_order``, a part ends where the other kind begins.
    """
    keys = rows["keys"]
    if keys is None or None not in keys:
        return [(slice(None), rows)]
    has_key = np.array([key is not None for key in keys])
    if in_order:
        places = np.split(np.arange(len(keys)), np.flatnonzero(np.diff(has_key)) + 1)
    else:
        places = [np.flatnonzero(has_key), np.flatnonzero(~has_key)]
    words = rows["words"].reshape(len(keys), -1)
    parts = []
    for at in places:
        part = {"words": words[at].reshape(-1), "ids": rows["ids"][at], "keys": None, "texts": None}
        if has_key[at].all():
            for name in ("keys", "texts"):
                part[name] = None if rows[name] is None else [rows[name][place] for place in at.tolist()]
        parts.append((at, part))
    return parts


def fingerprint_batches(fingerprints: Any, name: Optional[str]) -> Iterator[Any]:
    """The fingerprints of a column, or of a table in batches."""
    return (rows.fingerprints for rows in Rows(fingerprints).batches(Names(name)))


def _column(batch: Mapping[str, Any], name: Optional[str]) -> Any:
    return None if name is None else batch[checked([name], batch)[0]]


def _bytes_of(texts: Any, keys: list[Optional[str]]) -> list[bytes]:
    """Texts in UTF-8, one for each row. Those of rows without a key are missing or empty."""
    made = in_order(texts, "texts")
    if len(made) != len(keys):
        raise InputError(f"{len(made)} texts for {len(keys)} fingerprints")
    for index, (text, key) in enumerate(zip(made, keys)):
        if key is None and is_missing(text):
            text = b""
        elif isinstance(text, str):
            text = encoded(text, "texts", index)
        elif not isinstance(text, bytes):
            raise TypeError(f"texts: item {index}: {type(text).__name__} is no text: a str or bytes is wanted")
        if key is None and text:
            raise InputError(f"texts: item {index}: the row has no key, and texts are kept under keys; give it one")
        made[index] = text
    return made


#: No rows.
NOTHING = Rows(np.empty(0, np.uint64))
