"""The ``_id`` of a document as the key of a row, and the position in a collection."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any, Optional

#: Texts that look like extended JSON, or like an ObjectId.
_AMBIGUOUS = re.compile(r'[0-9a-f]{24}|["{\[].*|-?[0-9].*|true|false|null|NaN|-?Infinity', re.DOTALL)


def key_of(identifier: Any) -> str:
    """The key of a document's row. Different identifiers have different keys.

    The key of an ObjectId is its 24 hexadecimal digits, and the key of a text is the text. Other
    identifiers, and ambiguous texts, are written as MongoDB's extended JSON.

    Raises ``TypeError`` for an identifier without a JSON form.
    """
    if isinstance(identifier, str) and _AMBIGUOUS.fullmatch(identifier) is None:
        return identifier
    if type(identifier).__name__ == "ObjectId":
        return str(identifier)
    return to_json(identifier)


def to_json(identifier: Any) -> str:
    """The extended JSON of an identifier; without pymongo's ``bson`` module, plain JSON.

    Raises ``TypeError`` for an identifier without a JSON form.
    """
    try:
        from bson import json_util
    except ImportError:
        return json.dumps(identifier)
    return json_util.dumps(identifier, json_options=_options())


def from_json(text: str) -> Any:
    """The identifier that :func:`to_json` wrote."""
    try:
        from bson import json_util
    except ImportError:
        return json.loads(text)
    return json_util.loads(text, json_options=_options())


def kind_of(identifier: Any) -> str:
    """The kind of an identifier: MongoDB sorts by it first, and ``$lte`` compares one kind only."""
    if isinstance(identifier, bool):
        return "bool"
    if isinstance(identifier, (int, float)) or type(identifier).__name__ == "Decimal128":
        return "number"
    if isinstance(identifier, (bytes, uuid.UUID)):
        return "binary"
    return type(identifier).__name__


class Place:
    """The position in the source: the last ``_id``, and the kinds sorted before its kind."""

    def __init__(self) -> None:
        self._started = False
        self._last: Any = None
        self._passed: set[str] = set()
        #: Kinds that earlier runs have passed. The condition finds their documents again.
        self._skipped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, saved: Optional[dict[str, Any]]) -> Place:
        """The place from the JSON of :meth:`saved`."""
        place = cls()
        if saved is not None:
            place._started = True
            place._last = from_json(saved["last"])
            place._passed = set(saved["passed"])
            place._skipped = frozenset(saved["passed"])
        return place

    def saved(self) -> Optional[dict[str, Any]]:
        """The place as JSON; ``None`` for the beginning."""
        return {"last": to_json(self._last), "passed": sorted(self._passed)} if self._started else None

    def condition(self) -> dict[str, Any]:
        """A filter for the remaining documents. It also finds all documents of other kinds.

        ``$nor`` of one condition equals ``$not``, and more servers support it.
        """
        return {"$nor": [{"_id": {"$lte": self._last}}]} if self._started else {}

    def is_before(self, identifier: Any) -> bool:
        """Whether an earlier run has read this document, although the condition finds it."""
        return kind_of(identifier) in self._skipped

    def reach(self, identifier: Any) -> None:
        """Moves the place to a document. Skips an ``_id`` that has no JSON form."""
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
