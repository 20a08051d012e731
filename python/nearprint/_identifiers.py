"""The ``_id`` of a document, as the key of a row; and how far a collection was read."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any, Optional

#: Texts that could be taken for the extended JSON of something else, or for an ObjectId.
_AMBIGUOUS = re.compile(r'[0-9a-f]{24}|["{\[].*|-?[0-9].*|true|false|null|NaN|-?Infinity', re.DOTALL)


def key_of(identifier: Any) -> str:
    """The key of a document's row: a different one for each ``_id``.

    An ObjectId is its 24 hexadecimal digits and a text itself; all else, and a text that looks like something else, is
    MongoDB's extended JSON.

    Raises ``TypeError`` for what has no such form.
    """
    if isinstance(identifier, str) and _AMBIGUOUS.fullmatch(identifier) is None:
        return identifier
    if type(identifier).__name__ == "ObjectId":
        return str(identifier)
    return to_json(identifier)


def to_json(identifier: Any) -> str:
    """Extended JSON. Without pymongo's ``bson`` module only what plain JSON has. Raises ``TypeError`` for all else."""
    try:
        from bson import json_util
    except ImportError:
        return json.dumps(identifier)
    return json_util.dumps(identifier, json_options=_options())


def from_json(text: str) -> Any:
    """What :func:`to_json` has written."""
    try:
        from bson import json_util
    except ImportError:
        return json.loads(text)
    return json_util.loads(text, json_options=_options())


def kind_of(identifier: Any) -> str:
    """What MongoDB sorts identifiers by first. Comparisons such as ``$lte`` hold between those of one kind only."""
    if isinstance(identifier, bool):
        return "bool"
    if isinstance(identifier, (int, float)) or type(identifier).__name__ == "Decimal128":
        return "number"
    if isinstance(identifier, (bytes, uuid.UUID)):
        return "binary"
    return type(identifier).__name__


class Place:
    """How far the source was read: the last ``_id``, and the kinds that come before its kind."""

    def __init__(self) -> None:
        self._started = False
        self._last: Any = None
        self._passed: set[str] = set()
        #: Kinds that were passed before this run: those of them that are found again have been read.
        self._skipped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, saved: Optional[dict[str, Any]]) -> Place:
        """The place that :meth:`saved` has written down."""
        place = cls()
        if saved is not None:
            place._started = True
            place._last = from_json(saved["last"])
            place._passed = set(saved["passed"])
            place._skipped = frozenset(saved["passed"])
        return place

    def saved(self) -> Optional[dict[str, Any]]:
        """The place as JSON has it; ``None`` for the beginning."""
        return {"last": to_json(self._last), "passed": sorted(self._passed)} if self._started else None

    def condition(self) -> dict[str, Any]:
        """What finds the documents that are left, and, of other kinds than the last one's, all."""
        return {"_id": {"$not": {"$lte": self._last}}} if self._started else {}

    def is_before(self, identifier: Any) -> bool:
        """Whether this document, which the condition has found, was read by an earlier run."""
        return kind_of(identifier) in self._skipped

    def reach(self, identifier: Any) -> None:
        """This document has been read. One whose ``_id`` cannot be written down is no place to go on from."""
        try:
            to_json(identifier)
        except (TypeError, ValueError):
            return
        if self._started and kind_of(self._last) != kind_of(identifier):
            self._passed.add(kind_of(self._last))
        self._started, self._last = True, identifier


def _options() -> Any:
    from bson.binary import UuidRepresentation
    from bson.json_util import JSONMode, JSONOptions

    return JSONOptions(json_mode=JSONMode.RELAXED, uuid_representation=UuidRepresentation.STANDARD)
