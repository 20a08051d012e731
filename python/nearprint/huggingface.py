"""Rows of a ``Dataset`` of Hugging Face that are near an earlier one, with results in its cache.

The fingerprint of a result is made of that of the rows, the arguments and the version of nearprint. So the second run
of a program reads its result, where :class:`nearprint.Kept` would decide again. ``nearprint.dedup`` takes all kinds of
data sets, and has more arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from datasets import Dataset, Features, Value

from . import _nearprint
from ._kept import Kept, settings_of
from ._tables import check_new

__all__ = ["annotate", "unique"]

#: The columns that :func:`annotate` adds.
_COLUMNS = {"kept": Value("bool"), "duplicate_of": Value("int64"), "similarity": Value("float64")}


def unique(rows: Dataset, *, text: str = "text", **settings: Any) -> Dataset:
    """The rows that are not near an earlier one, by ``filter``.

    Settings are those of :class:`nearprint.Kept`, but for its database.
    """
    _check(rows)
    with Kept(**settings) as kept:
        made = _fingerprint(rows, "unique", text, settings)
        return rows.filter(kept, input_columns=text, batched=True, new_fingerprint=made)


def annotate(rows: Dataset, *, text: str = "text", **settings: Any) -> Dataset:
    """All rows, with the columns ``kept``, ``duplicate_of`` and ``similarity``, by ``map``.

    ``duplicate_of`` is the number of the row that is kept, or -1, and ``similarity`` null for a kept row.
    """
    _check(rows)
    check_new(_COLUMNS, rows.column_names)
    with Kept(**settings) as kept:
        made = _fingerprint(rows, "annotate", text, settings)
        features = Features({**rows.features, **_COLUMNS})
        if not len(rows):
            # A map of no rows has no new columns.
            return Dataset.from_dict({name: [] for name in features}, features, split=rows.split)
        decide = _Decided(kept)
        return rows.map(decide, input_columns=text, batched=True, features=features, new_fingerprint=made)


class _Decided:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def __call__(self, texts: Sequence[Any]) -> dict[str, list[Any]]:
        found = self._kept.decide(texts, missing="keep")
        of = [-1 if key is None else int(key) for key in found["duplicate_of"]]
        similarity = [None if of_kept else value for of_kept, value in zip(found["kept"], found["similarity"].tolist())]
        return {"kept": found["kept"].tolist(), "duplicate_of": of, "similarity": similarity}


def _check(rows: Any) -> None:
    if not isinstance(rows, Dataset):
        ways = "nearprint.dedup(rows, table='kept') takes any kind of data set"
        raise TypeError(f"rows: a {type(rows).__name__}, where a Dataset is wanted; {ways}")


def _fingerprint(rows: Dataset, what: str, text: str, settings: dict[str, Any]) -> str:
    given = (rows._fingerprint, what, text, sorted(settings_of(**settings).items()), _nearprint.__version__)
    return hashlib.sha256(repr(given).encode()).hexdigest()[:16]
