"""Texts as arguments: lists, columns, and tables of any library, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, Optional

import numpy as np

from . import _nearprint
from ._arrays import encoded, is_missing, listed_of, no_key, refuse_table
from ._errors import InputError
from ._result import Result
from ._tables import ROWS_AT_ONCE, DuckDb, Label, Table, check_new, checked, name_of, read_once, table_of

#: What is returned in place of decisions.
Returned = Literal["kept", "annotated"]

#: What becomes of missing texts: ``None``, NaN, NA, NaT and nulls.
Missing = Literal["error", "keep", "skip"]


def check_missing(missing: str, can_keep: bool = True) -> None:
    """Refuses what does not say what becomes of missing texts."""
    if missing not in ("error", "skip") and not (can_keep and missing == "keep"):
        ways = "'error', 'keep' or 'skip'" if can_keep else "'error' or 'skip'"
        raise InputError(f"missing = {missing!r}: {ways} is wanted")


class Batch(NamedTuple):
    """Some texts in order, ``None`` for missing ones, with the columns that were asked for."""

    #: The number of the first one.
    first: int
    texts: list[Optional[str]]
    keys: Optional[list[str]]
    values: Optional[list[Any]]


class Texts:
    """Texts that are read once: a list, a column, or the column ``text`` of a table.

    ``key``, ``value`` and ``id`` are names of columns of a table: of keys, and of values that have an order or of ids.
    ``keys`` has a key for each text.
    """

    def __init__(
        self,
        texts: Any,
        text: Label = "text",
        *,
        key: Optional[Label] = None,
        keys: Any = None,
        value: Optional[str] = None,
        id: Optional[str] = None,
        missing: Optional[Missing] = None,
        can_keep: bool = True,
    ) -> None:
        """``missing`` is an option of the caller, or ``None`` if it has no such option: they are an error then.

        ``can_keep`` says whether the caller keeps missing texts.
        """
        if isinstance(texts, (str, bytes)) or getattr(texts, "ndim", 1) == 0:
            hint = "; decode bytes first" if isinstance(texts, bytes) else ""
            raise TypeError(f"texts: one text, where a list of texts is wanted{hint}")
        check_missing(missing or "error", can_keep)
        texts = read_once(texts)
        self.table: Optional[Table] = table_of(texts)
        if self.table is None:
            refuse_table(texts, "texts")
        value, self._are_ids = value if id is None else id, id is not None
        if self.table is None and (key is not None or value is not None):
            raise InputError(f"the column {key or value!r}: a table is wanted, not {type(texts).__name__}")
        if key is not None and keys is not None:
            raise InputError("key and keys: only one of them can be given")
        self._texts, self._missing = texts, missing
        self._accepting = "missing='keep' or missing='skip'" if can_keep else "missing='skip'"
        self._names = name_of(text), None if key is None else name_of(key), value
        self._keys = None if keys is None else _listed(keys, "keys")

    def with_own_keys(self) -> Texts:
        """The same texts with the column ``key`` of a table as their keys, unless others are given."""
        text, key, value = self._names
        if self.table is not None and key is None and self._keys is None and "key" in (self.table.names or ()):
            self._names = text, "key", value
        return self

    def prepare(self, returned: Optional[Returned], new: Iterable[str], connection: Any = None) -> None:
        """Checks what is returned in place of decisions, with these new columns, before the texts are read.

        A ``connection`` is for a relation of DuckDB.
        """
        if connection is not None:
            if returned is None or not isinstance(self.table, DuckDb):
                raise InputError("con: is for the table that a relation of DuckDB returns")
            self.table.connection = connection
        if returned not in (None, "kept", "annotated"):
            raise InputError(f"table = {returned!r}: 'kept', 'annotated' or None is wanted")
        if returned is None:
            return
        if self.table is None:
            raise InputError(f"table = {returned!r}: a table is wanted, not {type(self._texts).__name__}")
        if type(self.table).select is Table.select:
            # It raises: what is read once is not returned, and nothing is stored.
            self.table.with_columns(Result({}))
        if returned == "annotated":
            check_new(new, self.table.names or ())
        self.table.hold()

    def returned(self, returned: Optional[Returned], decisions: Result) -> Any:
        """The decisions, or what is returned in place of them."""
        if returned is None or self.table is None:
            return decisions.with_index(self.index)
        return self.table.select(decisions["kept"]) if returned == "kept" else self.table.with_columns(decisions)

    @property
    def index(self) -> Any:
        """The labels of a frame or of a series of pandas, otherwise ``None``."""
        if self.table is not None:
            return self.table.index
        is_pandas = type(self._texts).__module__.partition(".")[0] == "pandas"
        return getattr(self._texts, "index", None) if is_pandas else None

    def batches(self) -> Iterator[Batch]:
        """All texts, in batches of at most 10,000."""
        count = 0
        for texts, keys, values in self._columns():
            for start in range(0, len(texts), ROWS_AT_ONCE):
                some = slice(start, start + ROWS_AT_ONCE)
                first = count + start
                if keys is not None and len(keys[some]) != len(texts[some]):
                    raise InputError(f"{count + len(keys)} keys for {count + len(texts)} texts or more")
                yield Batch(
                    first,
                    [self._text(one, first + index) for index, one in enumerate(texts[some])],
                    None if keys is None else [_key(one, first + index) for index, one in enumerate(keys[some])],
                    None if values is None else values[some],
                )
            count += len(texts)
        if self._keys is not None and len(self._keys) != count:
            raise InputError(f"{len(self._keys)} keys for {count} texts")

    def _columns(self) -> Iterator[tuple[list[Any], Optional[list[Any]], Optional[list[Any]]]]:
        if self.table is None:
            yield _listed(self._texts, "texts"), self._keys, None
            return
        names, count = [name for name in self._names if name is not None], 0
        for batch in self.table.read(names):
            checked(names, batch)
            texts, keys, values = (None if name is None else batch[name] for name in self._names)
            listed = _listed(texts, "texts")
            given = None if keys is None else _listed(keys, "keys")
            if self._keys is not None:
                given = self._keys[count : count + len(listed)]
            if values is not None:
                values = _listed(values, "ids") if self._are_ids else _ordered(values)
            yield listed, given, values
            count += len(listed)

    def _text(self, value: Any, index: int) -> Optional[str]:
        if isinstance(value, str):
            if not value.isascii():
                encoded(value, "texts", index)
            return value
        if is_missing(value) and self._missing in ("keep", "skip"):
            return None
        what = f"texts: item {index}: {type(value).__name__}, where a text is wanted"
        if not is_missing(value):
            raise TypeError(f"{what}{'; decode bytes first' if isinstance(value, bytes) else ''}")
        raise InputError(f"{what}; {self._accepting} accepts it" if self._missing else what)


def _listed(column: Any, what: str) -> list[Any]:
    if isinstance(column, str):
        raise TypeError(f"{what}: one text, where a list of them is wanted")
    is_arrow = isinstance(column, _nearprint.ArrowColumn)
    return _nearprint.strings_of_arrow(column) if is_arrow and what == "texts" else listed_of(column, what)


def _ordered(column: Any) -> list[Any]:
    is_arrow = isinstance(column, _nearprint.ArrowColumn)
    return _nearprint.ordered_of_arrow(column) if is_arrow else listed_of(column, "keep")


def _key(value: Any, index: int) -> str:
    """A key, which is a text, or the digits of a number."""
    if isinstance(value, str):
        encoded(value, "keys", index)
        return value
    if is_missing(value):
        raise TypeError(f"keys: item {index} is missing")
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    raise no_key(value, index)
