"""Deduplication of lists and tables, and their comparison with a database."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple, Optional, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import path_of
from ._database import Path
from ._errors import InputError
from ._kept import Evidence, opened, settings_of
from ._order import Keep, Order
from ._progress import Listener, Progress, listening
from ._result import Result
from ._settings import Similarity
from ._sources import Batch, Missing, Returned, Texts
from ._tables import Label
from ._text_rows import key_of_text

#: A table of any library.
Frame = TypeVar("Frame")

#: The columns of decisions.
_COLUMNS = ("kept", "duplicate_of", "similarity", "group", "group_size")


@overload
def dedup(
    texts: Any,
    *,
    text: Label = "text",
    key: Optional[Label] = None,
    keys: Any = None,
    keep: Keep = None,
    database: Optional[Path] = None,
    table: None = None,
    con: None = None,
    missing: Missing = "error",
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    store: Optional[Evidence] = None,
    min_words: int = 0,
    min_features: int = 0,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    wait: float = 0.0,
    progress: Progress = None,
) -> Result: ...
@overload
def dedup(
    texts: Frame,
    *,
    text: Label = "text",
    key: Optional[Label] = None,
    keys: Any = None,
    keep: Keep = None,
    database: Optional[Path] = None,
    table: Returned,
    con: Any = None,
    missing: Missing = "error",
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    store: Optional[Evidence] = None,
    min_words: int = 0,
    min_features: int = 0,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    wait: float = 0.0,
    progress: Progress = None,
) -> Frame: ...
def dedup(
    texts: Any,
    *,
    text: Label = "text",
    key: Optional[Label] = None,
    keys: Any = None,
    keep: Keep = None,
    database: Optional[Path] = None,
    table: Optional[Returned] = None,
    con: Any = None,
    missing: Missing = "error",
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    store: Optional[Evidence] = None,
    min_words: int = 0,
    min_features: int = 0,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    wait: float = 0.0,
    progress: Progress = None,
) -> Any:
    """Finds the texts that are near an earlier kept one.

    Columns ``kept``, ``duplicate_of``, ``similarity``, ``group`` and ``group_size``.

    One row for each text, in order: ``duplicate_of`` (int64) is the index of the nearest of the kept texts that are
    decided before it (the first of several), or -1; ``kept`` is true for -1; ``similarity`` is the similarity of the
    two texts, and NaN for a kept text (null in tables, but for a ``dict`` and frames of pandas). With MinHash it is
    exact, unless ``k`` or ``store="hashes"`` is given, or the ``database`` stores hashes or keys. With a recipe for
    simhash, texts within ``k`` bits (3) are near, and the cosine of their distance is the similarity; with a
    ``similarity``, those of them that have it, so give a larger ``k``, such as 16. With ``"contained:S"`` and
    ``"edit:S"``, see :func:`dedup_files`, cleaned texts with near fingerprints are compared: most excerpts of much
    longer texts are missed. ``group`` is the index of the kept text, and ``group_size`` the number of texts with the
    same one, itself included. So ``frame[result["kept"]]`` is what :func:`dedup_files` would write.

    ``texts`` is a list, an array, a column, or a table whose column ``text`` has them: of pandas, polars (also a
    ``LazyFrame``), pyarrow (also a list or an iterator of batches, a dataset, a scanner or a stream), DuckDB, Hugging
    Face (``Dataset``, ``IterableDataset`` and ``DatasetDict``) or Ray. Tables are read batch by batch. With
    ``table="kept"``, the result is a table of the same type with the kept rows; with ``table="annotated"``, it has all
    rows and the columns above, which must be new, and are arrays in a ``dict``. A frame of pandas keeps its index, also
    in ``result.to_pandas()``; of labels of several levels, ``text`` is a tuple. A relation of DuckDB is returned on the
    connection ``con``, by default that of the module, whose tables queries of other connections do not see. The query
    of a ``LazyFrame`` or of a relation is run once then: rows of the result are in a temporary file, or in memory for
    DuckDB. An ``IterableDataset`` is read again with the result, which raises ``InputError`` if its texts come in
    another order.

    ``keep`` says which of near texts is kept: ``"first"``, ``"last"``, ``"longest"``, ``"shortest"``, ``"max:COLUMN"``,
    ``"min:COLUMN"``, ``"newest:COLUMN"``, ``"oldest:COLUMN"`` of a table, such as ``"max:('a', 'b')"`` for labels of
    several levels, or a value for each text, by position whatever the index: the text with the largest one is kept.
    Values are numbers, dates or texts; a missing one is the smallest. Texts of numbers are ordered as numbers, those of
    dates of ISO 8601 as dates, if all are, and integers are not rounded. ``missing`` texts are an error, are kept, or
    dropped: ``"skip"`` leaves them out of ``kept``, their ``group`` is -1, and their ``group_size`` 0. So are texts of
    fewer than ``min_words`` or ``min_features``.

    With a ``database``, texts are compared with all that it has, too, and what is kept is stored there, by one commit
    at the end. It is made if it does not exist. ``key`` names the column of keys, or ``keys`` has them; by default the
    key is the first 16 digits of the MD5 of the text, and numbers are keys by their digits. There is a column
    ``duplicate_key`` then: the key of the kept text, and ``None`` for a kept one. A duplicate of a text that the
    database had before has the ``duplicate_of`` and the ``group`` -1, and the ``group_size`` 0.

    Other arguments are the same as for :func:`dedup_files`. Kept texts are remembered in a temporary folder, so that
    memory does not grow with them.

    Raises ``InputError`` for missing texts, and for invalid arguments; ``TypeError`` for an item that is no text.
    """
    order, path = Order.of(keep), None if database is None else path_of(database)
    if path is None and (keys is not None or key is not None):
        raise InputError("key, keys: are stored in a database, which is not given")
    source = Texts(texts, text, key=key, keys=keys, value=order.column, missing=missing)
    source.prepare(table, _COLUMNS if path is None else (*_COLUMNS, "duplicate_key"), con)
    settings = settings_of(
        recipe=recipe,
        k=k,
        similarity=similarity,
        store=store,
        min_words=min_words,
        min_features=min_features,
        threads=threads,
        memory=memory,
        wait=wait,
    )
    # What cannot be read makes no database.
    batches = source.batches()
    batches = chain(list(islice(batches, 1)), batches)
    with listening(progress) as listener:
        decided = _Decisions(opened(path, settings), path is not None)
        try:
            count = _decide_all(batches, order, decided, listener)
            decided.finish()
        finally:
            decided.abandon()
    return source.returned(table, decided.result(count, missing == "keep"))


def _decide_all(batches: Iterator[Batch], order: Order, decided: _Decisions, listener: Listener) -> int:
    """Decides texts in an order. Returns their number."""
    if order.kind == "first":
        count = 0
        for batch in batches:
            decided.decide(_Rows.of(batch))
            count += len(batch.texts)
            if listener is not None:
                listener("deduplicating", count, None)
        return count
    with _Spool() as spool:
        values = list(spool.copy(batches, order))
        if order.values is not None and len(values) != len(order.values):
            raise InputError(f"keep: {len(order.values)} values for {len(values)} texts")
        places = order.places(values if order.values is None else order.values)
        for start in range(0, len(places), _ROWS_AT_ONCE):
            decided.decide(spool.rows(places[start : start + _ROWS_AT_ONCE].tolist()))
            if listener is not None:
                listener("deduplicating", min(start + _ROWS_AT_ONCE, len(places)), len(places))
    return len(values)


#: Texts that are decided at once in another order than theirs.
_ROWS_AT_ONCE = 1000


class _Rows(NamedTuple):
    """Texts that are there, with their numbers, and their keys if they have some."""

    numbers: list[int]
    texts: list[str]
    keys: Optional[list[str]]

    @classmethod
    def of(cls, batch: Batch) -> _Rows:
        there = [index for index, text in enumerate(batch.texts) if text is not None]
        keys = None if batch.keys is None else [batch.keys[index] for index in there]
        return cls([batch.first + index for index in there], [text for text in batch.texts if text is not None], keys)


#: What stands in place of a kept text for one that has too few words or features.
_SET_ASIDE = -2


class _Decisions:
    """Decisions about numbered texts."""

    def __init__(self, decider: _nearprint.Deduplicator, has_keys: bool) -> None:
        self._decider, self._has_keys = decider, has_keys
        self._numbers: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        self._of: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        self._similarities: list[npt.NDArray[np.float64]] = [np.empty(0)]
        #: The numbers of the texts that were kept here, by their sequence numbers: several may have one key.
        self._kept: dict[Optional[int], int] = {}
        self._keys: dict[int, str] = {}

    def decide(self, rows: _Rows) -> None:
        numbers = np.array(rows.numbers, np.int64)
        of, similarities = (self._by_key if self._has_keys else self._by_number)(rows, numbers)
        self._numbers.append(numbers)
        self._of.append(of)
        self._similarities.append(similarities)

    def _by_number(self, rows: _Rows, numbers: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        return self._decider.decide_texts(numbers, rows.texts)

    def _by_key(self, rows: _Rows, numbers: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        keys = rows.keys or [key_of_text(text) for text in rows.texts]
        of, similarities = np.full(len(keys), -1, np.int64), np.full(len(keys), np.nan)
        decided = self._decider.decide(keys, rows.texts)
        for index, (name, original, similarity, _, _, sequence) in enumerate(decided):
            if name == "kept":
                self._kept[sequence] = rows.numbers[index]
            elif name == "set aside":
                of[index] = _SET_ASIDE
            if original is not None:
                of[index], similarities[index] = self._kept.get(sequence, -1), similarity
                self._keys[rows.numbers[index]] = original
        return of, similarities

    def finish(self) -> None:
        self._decider.finish()

    def abandon(self) -> None:
        self._decider.abandon()

    def result(self, count: int, keeps_missing: bool) -> Result:
        """A row for each of the texts. Those without a decision are missing."""
        numbers = np.concatenate(self._numbers)
        duplicate_of, similarities = np.full(count, -1, np.int64), np.full(count, np.nan)
        duplicate_of[numbers], similarities[numbers] = np.concatenate(self._of), np.concatenate(self._similarities)
        is_aside = duplicate_of == _SET_ASIDE
        duplicate_of[is_aside] = -1
        kept = np.full(count, keeps_missing)
        kept[numbers] = np.isnan(similarities[numbers])
        kept[is_aside] = False
        group = np.where(kept, np.arange(count), duplicate_of)
        sizes = np.bincount(group[group >= 0], minlength=count)[group] if count else group
        sizes = np.where(group >= 0, sizes, 0).astype(np.int64)
        columns: dict[str, Any] = dict(zip(_COLUMNS, (kept, duplicate_of, similarities, group, sizes)))
        if self._has_keys:
            keys = np.full(count, None, object)
            for number, of in self._keys.items():
                keys[number] = of
            columns["duplicate_key"] = keys
        return Result(columns)


class _Spool:
    """Texts in a temporary file, which are read in any order."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="nearprint-dedup-")  # noqa: SIM115
        self._ends: list[int] = [0]
        self._there: list[bool] = []
        self._keys: list[str] = []

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def copy(self, batches: Iterator[Batch], order: Order) -> Iterator[Any]:
        """Copies texts, and yields the values by which they are ordered."""
        for batch in batches:
            self._keys += batch.keys or []
            for text in batch.texts:
                self._file.write((text or "").encode())
                self._ends.append(self._file.tell())
                self._there.append(text is not None)
            if order.column is None and order.kind in ("longest", "shortest"):
                yield from (len(text or "") for text in batch.texts)
            else:
                yield from batch.values or [None] * len(batch.texts)

    def rows(self, places: list[int]) -> _Rows:
        places = [place for place in places if self._there[place]]
        keys = [self._keys[place] for place in places] if self._keys else None
        return _Rows(places, [self._text(place) for place in places], keys)

    def _text(self, place: int) -> str:
        start, end = self._ends[place : place + 2]
        self._file.seek(start)
        return self._file.read(end - start).decode()
