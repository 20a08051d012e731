"""The order in which texts are decided, so that the first of near ones is the one to keep."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from ._arrays import is_missing, listed_of
from ._errors import InputError

#: ``"first"``, ``"longest"``, ``"newest:COLUMN"`` and so on, or a value for each text: the largest is kept.
Keep = Union[str, Iterable[Any], None]

_PLAIN = ("first", "last", "longest", "shortest")
_OF_COLUMNS = ("max", "min", "newest", "oldest", "longest", "shortest")
_KINDS: dict[str, tuple[type, ...]] = {
    "number": (numbers.Real, decimal.Decimal),
    "time": (datetime.datetime,),
    "text": (str,),
}


class Order(NamedTuple):
    """What is kept, the column that says so, or the values themselves."""

    kind: str
    column: Optional[str] = None
    values: Optional[list[Any]] = None

    @classmethod
    def of(cls, keep: Keep) -> Order:
        """Reads a ``keep`` argument."""
        if keep is None:
            return cls("first")
        if not isinstance(keep, str):
            return cls("max", values=listed_of(keep, "keep"))
        kind, _, column = keep.partition(":")
        if keep in _PLAIN:
            return cls(keep)
        if kind not in _OF_COLUMNS or not column:
            forms = ", ".join([*_PLAIN, *(f"{one}:COLUMN" for one in _OF_COLUMNS)])
            raise InputError(f"keep = {keep!r}: one of {forms} is wanted")
        return cls(kind, column)

    @property
    def is_descending(self) -> bool:
        """Whether the larger value is kept."""
        return self.kind in ("longest", "max", "newest")

    def places(self, values: list[Any]) -> npt.NDArray[np.int64]:
        """The places of values in the order in which their texts are decided. Missing ones are the smallest."""
        if self.kind in ("first", "last"):
            places = np.arange(len(values))
            return places if self.kind == "first" else places[::-1]
        if self.kind in ("longest", "shortest"):
            values = [len(value) if isinstance(value, str) else value for value in values]
        ranks = ranks_of(values, are_times=self.kind in ("newest", "oldest"))
        return np.argsort(-ranks if self.is_descending else ranks, kind="stable").astype(np.int64)


def ranks_of(values: list[Any], are_times: bool = False) -> npt.NDArray[np.int64]:
    """The ranks of numbers, of dates and times, or of texts: 1 for the smallest, 0 for a missing value.

    Nothing is rounded. If they ``are_times``, texts are read as ISO 8601 has them. Times without a zone are in UTC.
    """
    kinds: list[str] = []
    read = [None if is_missing(value) else _read(value, index, are_times, kinds) for index, value in enumerate(values)]
    distinct = sorted({value for value in read if value is not None})
    ranks = {value: rank for rank, value in enumerate(distinct, 1)}
    return np.array([0 if value is None else ranks[value] for value in read], np.int64)


def _read(value: Any, index: int, are_times: bool, kinds: list[str]) -> Any:
    """A value that has an order. ``kinds`` receives the kind of the first one, and others have to be of this kind."""
    if isinstance(value, np.generic):
        value = value.item()
        if is_missing(value):
            return None
    if are_times and isinstance(value, str):
        value = _time(value, index)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=datetime.timezone.utc)
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            if kinds and kinds[0] != kind:
                raise InputError(f"keep: item {index} is a {kind}, where others are a {kinds[0]}")
            kinds[:] = [kind]
            return value
    raise InputError(f"keep: item {index}: {type(value).__name__}, where a number, a date or a text is wanted")


def _time(text: str, index: int) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise InputError(f"keep: item {index}: {text!r} is no date of ISO 8601") from None
