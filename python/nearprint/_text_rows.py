"""Texts as rows of a database: their fingerprints, and the evidence that it keeps with keys."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, Optional

from . import _nearprint
from ._arrays import Words, is_missing
from ._errors import InputError
from ._rows import Rows
from ._sources import Batch
from ._tables import table_of

#: What a database keeps of texts, by its name.
_STORAGES = {
    "features": "keys and features",
    "texts": "keys and texts",
    "hashes": "keys and hashes",
    "keys": "keys",
}
#: A hexadecimal fingerprint, perhaps with a wrong number of digits.
_DIGITS = re.compile(r"(0[xX])?[0-9a-fA-F]*")
#: A hexadecimal fingerprint with all its digits.
_FINGERPRINT = re.compile(r"(0[xX])?([0-9a-fA-F]{16}|[0-9a-fA-F]{32}|[0-9a-fA-F]{64}|[0-9a-fA-F]{80})")


def key_of_text(text: str) -> str:
    """The key of a text that has none: the first 16 digits of its MD5."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:16]


def are_texts(rows: Any, fingerprint: Optional[str], text: Optional[str], missing: str = "error") -> bool:
    """Whether rows of a new database are texts, and not fingerprints.

    A table has texts if it has no column of fingerprints, and the one of texts; a list if one of them is not
    hexadecimal, and none is a fingerprint with all its digits. What is only missing has texts where these may be.
    """
    table = table_of(rows)
    if table is not None:
        names = table.names
        if fingerprint is not None or names is None or "fingerprint" in names:
            return False
        return text is not None or "text" in names
    if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__") or not hasattr(rows, "__len__"):
        return False
    kind = str(getattr(rows, "dtype", getattr(rows, "type", "object"))).lower()
    if kind[0] in "uifb" and kind != "binary":
        return False
    texts = [one for one in _first(rows) if isinstance(one, str)]
    if not texts and all(map(is_missing, _first(rows))):
        return missing != "error"
    # A column of fingerprints may have a wrong value, which is to be refused.
    return not all(map(_DIGITS.fullmatch, texts)) and not any(map(_FINGERPRINT.fullmatch, texts))


def _first(rows: Any) -> Iterator[Any]:
    for one in rows:
        yield one.as_py() if hasattr(one, "as_py") else one


def storage_of(recipe: str, store: Optional[str]) -> str:
    """What a database of texts keeps with keys."""
    if store not in (None, *_STORAGES):
        raise InputError(f"store = {store!r}: 'keys', 'hashes', 'features' or 'texts' is wanted")
    has_features = _nearprint.recipe_line(recipe)[2] is not None
    if store == "features" and not has_features:
        raise InputError(f"store = 'features': the recipe {recipe} compares none")
    return _STORAGES[store or ("features" if has_features else "hashes")]


def rows_of(batch: Batch, how: tuple[str, str, int], ids: Optional[Words] = None) -> Rows:
    """The rows of texts that are there, by a recipe, what the database keeps, and a number of threads.

    ``ids`` has one for each text. Without it, the database makes ids from keys.
    """
    recipe, storage, threads = how
    there = [index for index, text in enumerate(batch.texts) if text is not None]
    texts = [text for text in batch.texts if text is not None]
    keys = [key_of_text(text) for text in texts] if batch.keys is None else [batch.keys[index] for index in there]
    ids = None if ids is None else ids[there]
    # Texts without words have fingerprints by their rows: nothing is near them.
    own = keys if ids is None or batch.keys is not None else list(map(str, ids.tolist()))
    words, evidence = _nearprint.document_rows(own, texts, recipe, storage, threads)
    has_keys = storage != "none"
    return Rows(words, ids, keys if has_keys else None, evidence if storage not in ("none", "keys") else None)
