"""The order in which texts are decided, so that the first of near ones is the one to keep."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import is_missing, listed_of
from ._errors import InputError

#: ``"first"``, ``"longest"``, ``"newest:COLUMN"`` and so on, or a value for each text: the largest is kept.
Keep = Union[str, Iterable[Any], None]

_PLAIN = ("first", "last", "longest", "shortest")
_OF_COLUMNS = ("max", "min", "newest", "oldest", "longest", "shortest")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


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
        return _nearprint.order_of(*self._readable(values))

    def kinds(self, values: list[Any]) -> list[str]:
        """The kinds that all values are, the preferred one first; none for values that have no common order."""
        return _nearprint.order_kinds(*self._readable(values))

    def keys(self, values: list[Any], kind: str) -> list[bytes]:
        """Bytes in the order of values of a kind, for values of which no task has all."""
        if self.kind in ("first", "last"):
            return [b""] * len(values)
        return _nearprint.order_keys(kind, self._readable(values)[1])

    def places_of_keys(self, keys: list[bytes]) -> list[int]:
        """The places of the values of keys in the order of :meth:`places`."""
        if self.kind == "last":
            return list(range(len(keys)))[::-1]
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=self.is_descending)

    def _readable(self, values: list[Any]) -> tuple[str, list[Any]]:
        """A ``keep`` and values of the native module."""
        kind = self.kind
        if kind in ("longest", "shortest"):
            values = [len(value) if isinstance(value, str) else value for value in values]
            kind = "max" if kind == "longest" else "min"
        return f"{kind}:values", [None if is_missing(value) else _read(value, at) for at, value in enumerate(values)]


def common_kind(column: str, kinds: Iterable[list[str]]) -> str:
    """The kind by which values in several parts are ordered. Raises ``InputError`` if they have no common order."""
    common: Optional[list[str]] = None
    for some in kinds:
        common = [kind for kind in (some if common is None else common) if kind in some]
    if common == []:
        raise InputError(f"keep: {column}: numbers, dates or texts that have one order are wanted")
    return common[0] if common else "number"


def _read(value: Any, index: int) -> Any:
    """A value that may have an order: a number, a text, or a time as nanoseconds. Dates without a zone are in UTC."""
    if isinstance(value, np.generic):
        value = value.item()
        if is_missing(value):
            return None
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else value
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and [type(one) for one in value] == [int]:
        # A date or time of Arrow, as it is read there.
        return value
    if isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime):
        zoned = value if value.tzinfo is not None else value.replace(tzinfo=datetime.timezone.utc)
        microseconds = (zoned - _EPOCH) // datetime.timedelta(microseconds=1)
        # Timestamps of pandas have more digits.
        return (microseconds * 1000 + getattr(value, "nanosecond", 0),)
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return ((seconds * 1_000_000 + value.microsecond) * 1000,)
    if isinstance(value, datetime.timedelta):
        # Those of pandas have more digits.
        return (value // datetime.timedelta(microseconds=1) * 1000 + getattr(value, "nanoseconds", 0) % 1000,)
    raise InputError(f"keep: item {index}: {type(value).__name__}, where a number, a date or a text is wanted")
