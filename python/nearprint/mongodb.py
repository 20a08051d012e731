"""Deduplicates collections of MongoDB::

    from pymongo import MongoClient
    from nearprint.mongodb import dedup_collection

    crawl = MongoClient().crawl
    counts = dedup_collection(crawl.pages, crawl.unique, "content", database="seen.np", progress=True)

The first document of each family is kept: one without any document within k bits among those kept before it, as
``nearprint dedup`` does. The database remembers the kept documents and the progress of an unfinished job.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from types import TracebackType
from typing import Any, Callable, Optional
from urllib.parse import unquote

from . import _database, _making, _nearprint
from ._arrays import check_k, path_of
from ._database import Database, Path
from ._errors import Error, InputError
from ._html import text_of_html
from ._identifiers import Place, key_of
from ._kept import settings_of
from ._making import is_there
from ._nearprint import Deduplicator
from ._progress import Listener, Progress, listening
from ._settings import Similarity, check_count
from ._texts import recipe_line

__all__ = ["Counts", "dedup_collection"]

#: Called as ``on_reject(id, reason)``.
OnReject = Callable[[Any, str], Any]

_MAX_KEY_BYTES = 65_536
#: MongoDB's error code for an ``_id`` that exists.
_DUPLICATE_KEY = 11000


@dataclass(frozen=True)
class Counts:
    """The number of documents by outcome. ``read`` is the sum of ``kept`` to ``rejected``."""

    read: int = 0
    #: Documents that this job has inserted into the target.
    kept: int = 0
    #: Near-duplicates of kept documents.
    duplicates: int = 0
    #: Documents that an earlier job has kept; the target has them.
    known: int = 0
    #: Documents without a usable text.
    rejected: int = 0
    #: Those of the documents that have no feature of the recipe. It is no outcome, and is not compared.
    featureless: int = field(default=0, compare=False)

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(asdict(self).values(), asdict(other).values())))


def dedup_collection(
    source: Any,
    target: Any,
    field: str,
    *,
    database: Optional[Path] = None,
    target_field: str = "text",
    id_field: str = "source_id",
    hash_field: str = "simhash",
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    min_features: int = 0,
    batch_size: int = 1000,
    clean_html: bool = True,
    restart: bool = False,
    on_reject: Optional[OnReject] = None,
    progress: Progress = None,
) -> Counts:
    """Copies the documents of ``source`` without an earlier near-duplicate into ``target``.

    ``source`` and ``target`` are collections of pymongo, or objects with the same ``find`` and ``insert_many``. The
    source is read once, by ascending ``_id``, with only ``_id`` and ``field``; dots in ``field`` denote nested
    documents. It may also be a cursor, such as ``collection.find({...}).limit(1000)``, or any iterable of documents,
    which is read in its order. A document of the target has the ``_id`` of its source document, and

    * ``target_field``: the text, without markup if ``clean_html`` is set, and up to the text at which the recipe cuts,
    * ``id_field``: the ``_id`` again, under another name; ``"_id"`` omits this field,
    * ``hash_field``: the fingerprint, as a string like on the command line, because MongoDB's numbers are signed.

    ``database`` is a nearprint database with keys and a recipe; it is created if it does not exist. Documents that any
    job has kept in it count as kept before, so that a second collection can be compared with a first one; filling
    another target from the start requires a new database. Without ``database`` a temporary one is used: nothing is
    remembered, and an interrupted job starts over.

    ``recipe`` makes the fingerprints. By default it is the recipe of the database or, for a new database, ``chinese``
    (jieba's words, the 30 best by TF-IDF) if the first batch is Chinese, and ``simhash`` otherwise. ``clean_html`` adds
    ``html`` to the recipe's ``clean``, or removes it. A text without features, which are the shingles or keywords that
    the recipe compares, has the fingerprint 0; it is a duplicate only of a text with the same words, and nothing is a
    duplicate of a text without words, but HTML of its copies byte for byte. ``min_features`` rejects documents with
    fewer features.

    With a ``similarity``, documents are near-duplicates from it on, exactly, as in :func:`nearprint.dedup`; the default
    recipe is then ``minhash``. ``contained:S`` and ``edit:S`` compare texts, and a new database keeps texts for them;
    ``k`` beside them chooses the texts. Otherwise documents within ``k`` bits are near-duplicates. The
    default is 2: the usual script for this job drops documents at a distance below 3.

    A recipe with ``clean=cut:TEXT``, such as ``"simhash clean=cut:Editor,nfc,lower"``, cuts everything from the first
    ``TEXT`` on. It is looked for in the text as it is, and with ``clean_html`` also in the text without markup, so that
    markup may divide it. Spaces, commas and ``%`` are written as ``%20``, ``%2C`` and ``%25``, as by
    ``urllib.parse.quote``.

    A document is rejected if it lacks the field, if the field is not text, or if another text was kept under its
    ``_id``. Rejected documents are counted and passed to ``on_reject(id, reason)``; without it, one
    ``UserWarning`` at the end reports the rejected documents of this call. ``progress`` is called as
    ``("deduplicating", read, total)``; ``True`` shows a bar of tqdm.

    **Interruptions.** Each batch is first inserted into the target. Then one commit makes its rows and the place in the
    source durable in the database. A job that was killed resumes at that place, with its counts, when it is called
    again with the same arguments (``batch_size``, ``progress`` and ``on_reject`` may differ). If it was killed between
    the two steps, the batch is inserted again: a document keeps its ``_id``, so documents that exist in the target are
    recognized and left alone. No document is lost or inserted twice. Documents that are added to the source after the
    reached place are read, those before it only by the next job. If a document is removed from the source between the
    two steps, a near-duplicate of it can be inserted into the target beside it; this is the only exception. The target
    needs acknowledged writes. The database is created with the first text; a job that is interrupted earlier starts
    over. ``restart`` forgets the place, not the kept documents. A job that reads a cursor has no place in it: called
    again with the same query, it reads from the beginning, and documents that it kept are known.

    Takes one commit and one ``insert_many`` per batch, and the memory of one batch.

    Raises ``InputError`` for invalid arguments and for a database with another recipe; ``Error`` if the unfinished job
    is another one, and if the target has a different document with the ``_id`` of a kept one; ``LockedError`` and
    ``CorruptionError`` as databases do; and the errors of the collections.
    """
    names = {"target_field": target_field, "id_field": id_field, "hash_field": hash_field}
    _check_names(field, names)
    batch_size = check_count(batch_size, "batch_size", 1)
    job: dict[str, Any] = {"source": _name_of(source), "target": _name_of(target), "field": field, **names}
    if similarity is None and k is None:
        k = 2
    job |= {"k": None if k is None else check_count(k, "k", 0, 320), "clean_html": bool(clean_html)}
    if similarity is not None:
        job["similarity"] = similarity
    if min_features:
        job["min_features"] = check_count(min_features, "min_features")
    rejects = _Rejects(on_reject)
    path = None if database is None else path_of(database)
    with listening(progress) as listener, _Work(source, target, path, job, recipe, rejects) as work:
        work.resume(restart)
        work.run(batch_size, listener)
    rejects.warn()
    return work.counts


@dataclass(frozen=True)
class _Document:
    """A document with a text."""

    id: Any
    key: str
    text: str


class _Work:
    """A job: the collections, the deduplicator once there is one, and the progress."""

    def __init__(
        self,
        source: Any,
        target: Any,
        path: Optional[str],
        job: dict[str, Any],
        recipe: Optional[str],
        rejects: _Rejects,
    ) -> None:
        self._source = source
        self._target = target
        self._path = path
        self._job = job
        self._recipe = None if recipe is None else _with_html(recipe_line(recipe), job["clean_html"])
        self._rejects = rejects
        self._deduplicator: Optional[Deduplicator] = None
        self._marker: Optional[str] = None
        self._place = Place()
        self.counts = Counts()

    def __enter__(self) -> _Work:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is not None and self._deduplicator is not None:
            self._deduplicator.abandon()

    def resume(self, restart: bool) -> None:
        """Opens the database if it exists, and continues at the place of its unfinished job."""
        if self._path is None or not is_there(self._path):
            return
        with _database.open(self._path) as database:
            recipe = self._checked_recipe(database)
        self._deduplicator = self._opened(recipe)
        progress = None if restart else self._deduplicator.unfinished()
        if progress is not None:
            saved = _decoded(progress, self._path)
            _check_same(saved["job"], self._job, self._path)
            if hasattr(self._source, "find"):
                self.counts = Counts(**saved["counts"])
                self._place = Place.of(saved["place"])

    def run(self, batch_size: int, listener: Listener) -> None:
        """Reads the source to its end."""
        total = _total_of(self._source)
        found = self._documents(batch_size)
        while batch := list(islice(found, batch_size)):
            self._take(batch)
            if listener is not None:
                listener("deduplicating", self.counts.read, total)
        if self._deduplicator is not None:
            self._deduplicator.finish()

    def _checked_recipe(self, database: Database) -> str:
        """The recipe of an existing database, which must equal the recipe of the job."""
        known = database.recipe
        if not database.keeps_keys or known is None:
            lacking = "keys" if not database.keeps_keys else "a recipe"
            raise InputError(
                f"{self._path}: was made without {lacking}; nearprint.create(path, recipe=..., keys=True) makes one "
                "that has both"
            )
        wanted = self._recipe or _with_html(known, self._job["clean_html"])
        if known not in (wanted, self._stored_recipe(wanted)):
            raise InputError(f"{self._path}: holds fingerprints of the recipe {known!r}, not {wanted!r}")
        if self._job["k"] is not None:
            check_k(self._job["k"], database.width)
        return known

    def _stored_recipe(self, recipe: str) -> str:
        """The recipe of a database that this job makes: with a similarity, it has the bands for that."""
        if "similarity" not in self._job:
            return recipe
        return _nearprint.PairJudge(self._settings(recipe)).candidates()[0]

    def _settings(self, recipe: str) -> dict[str, Any]:
        near: dict[str, Any] = {name: self._job.get(name) for name in ("k", "similarity")}
        return settings_of(recipe=recipe, **near, min_features=self._job.get("min_features", 0))

    def _documents(self, batch_size: int) -> Iterator[dict[str, Any]]:
        """The documents after the reached place; of a cursor, all of them."""
        if not hasattr(self._source, "find"):
            yield from self._source
            return
        found = self._source.find(self._place.condition(), {"_id": 1, self._job["field"]: 1})
        if hasattr(found, "batch_size"):
            found = found.sort("_id", 1).batch_size(batch_size)
        yield from (document for document in found if not self._place.is_before(document.get("_id")))

    def _take(self, batch: list[dict[str, Any]]) -> None:
        """Processes a batch. After a crash the next run repeats all of it."""
        documents = list(self._with_text(batch))
        counts = Counts(read=len(batch), rejected=len(batch) - len(documents))
        if documents:
            counts += self._decide(self._deduplicator_for(documents), documents)
        self.counts += counts
        for document in batch:
            self._place.reach(document.get("_id"))
        if self._deduplicator is not None:
            saved = {"job": self._job, "counts": asdict(self.counts), "place": self._place.saved()}
            self._deduplicator.checkpoint(json.dumps(saved).encode())

    def _with_text(self, batch: Iterable[dict[str, Any]]) -> Iterator[_Document]:
        for document in batch:
            parsed = _parsed(document, self._job["field"])
            if isinstance(parsed, _Document):
                yield parsed
            else:
                self._rejects.add(document.get("_id"), parsed)

    def _deduplicator_for(self, documents: list[_Document]) -> Deduplicator:
        """The deduplicator; a new one has a recipe for the language of these documents."""
        if self._deduplicator is None:
            recipe = self._recipe
            if recipe is None:
                name = "minhash" if "similarity" in self._job else "simhash"
                if name == "simhash" and _are_chinese(document.text for document in documents):
                    name = "chinese"
                recipe = _with_html(recipe_line(name), self._job["clean_html"])
            if self._path is not None and "similarity" not in self._job:
                k = check_k(self._job["k"], _nearprint.recipe_line(recipe)[1])
                _making.create(self._path, k=k, recipe=recipe, keys=True).close()
            self._deduplicator = self._opened(recipe)
        return self._deduplicator

    def _opened(self, recipe: str) -> Deduplicator:
        self._marker = _marker_of(recipe)
        return Deduplicator.open(self._path, self._settings(recipe), unique_keys=True)

    def _decide(self, deduplicator: Deduplicator, documents: list[_Document]) -> Counts:
        """Decides which documents are new, and inserts these into the target."""
        decided = deduplicator.decide(
            [document.key for document in documents], [document.text for document in documents]
        )
        results: list[dict[str, Any]] = []
        duplicates = known = rejected = featureless = 0
        for document, (decision, _, _, printed, has_features, _) in zip(documents, decided):
            featureless += not has_features
            if decision == "kept":
                results.append(self._result(document, printed))
            elif decision == "duplicate":
                duplicates += 1
            elif decision == "known":
                known += 1
            else:
                rejected += 1
                why = "another text was kept under this _id before"
                self._rejects.add(document.id, why if decision == "key taken" else "its text has too few features")
        if results:
            self._deliver(results)
        return Counts(0, len(results), duplicates, known, rejected, featureless)

    def _result(self, document: _Document, printed: str) -> dict[str, Any]:
        """The document for the target."""
        return {
            "_id": document.id,
            self._job["id_field"]: document.id,
            self._job["target_field"]: _shown(document.text, self._job["clean_html"], self._marker),
            self._job["hash_field"]: printed,
        }

    def _deliver(self, results: list[dict[str, Any]]) -> None:
        """Inserts documents into the target, which may already have documents of an interrupted run."""
        # A driver may modify the documents.
        given = [dict(result) for result in results]
        try:
            self._target.insert_many(given, ordered=False)
        except Exception as error:
            if not _is_about_duplicate_keys(error) or not self._has_all(results):
                raise

    def _has_all(self, results: list[dict[str, Any]]) -> bool:
        """Whether the target has all of these documents. Raises ``Error`` if it has a different one."""
        hash_field = self._job["hash_field"]
        found = self._target.find({"_id": {"$in": [result["_id"] for result in results]}}, {"_id": 1, hash_field: 1})
        existing = {key_of(document["_id"]): document.get(hash_field) for document in found}
        for result in results:
            if existing.get(key_of(result["_id"]), result[hash_field]) != result[hash_field]:
                raise Error(
                    f"the target has another document with the _id {result['_id']!r}, which would be lost; remove "
                    "that one, or take another target"
                )
        return all(key_of(result["_id"]) in existing for result in results)


class _Rejects:
    """Reports rejected documents."""

    def __init__(self, on_reject: Optional[OnReject]) -> None:
        if on_reject is not None and not callable(on_reject):
            raise TypeError(f"on_reject: a callable is wanted, not {type(on_reject).__name__}")
        self._on_reject = on_reject
        self._count = 0
        self._first = ""

    def add(self, identifier: Any, reason: str) -> None:
        """Reports one document."""
        self._count += 1
        self._first = self._first or f"{identifier!r}: {reason}"
        if self._on_reject is not None:
            self._on_reject(identifier, reason)

    def warn(self) -> None:
        """Warns at the end, unless a callable has received the rejected documents."""
        if self._count and self._on_reject is None:
            warnings.warn(f"{self._count} documents were rejected, the first {self._first}", UserWarning, stacklevel=3)


def _parsed(document: dict[str, Any], field: str) -> Any:
    """The document, or why it is rejected."""
    if "_id" not in document:
        return "it has no _id"
    text: Any = document
    for name in field.split("."):
        if not isinstance(text, dict) or name not in text:
            return f"it has no field {field!r}"
        text = text[name]
    if not isinstance(text, str):
        return f"{field!r} is {type(text).__name__}, not text"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{field!r} is not valid Unicode"
    try:
        key = key_of(document["_id"])
        if len(key.encode()) > _MAX_KEY_BYTES:
            return f"its _id takes more than {_MAX_KEY_BYTES:,} bytes"
    except (TypeError, ValueError):
        return f"its _id is {type(document['_id']).__name__}, which cannot be a key"
    return _Document(document["_id"], key, text)


def _is_about_duplicate_keys(error: Exception) -> bool:
    """Whether this is a ``BulkWriteError`` of pymongo, or similar, with no other error in it."""
    details = getattr(error, "details", None)
    if not isinstance(details, dict) or details.get("writeConcernErrors"):
        return False
    codes = [failed.get("code") for failed in details.get("writeErrors") or ()]
    return bool(codes) and all(code == _DUPLICATE_KEY for code in codes)


_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile("[\u3040-\u30ff]")
#: The characters of a text, and the texts, that determine a language.
_SAMPLE = (2000, 1000)


def _are_chinese(texts: Iterable[str]) -> bool:
    """Whether a fifth of the letters are Chinese characters, and the texts are not Japanese."""
    chars, count = _SAMPLE
    sample = "".join(text_of_html(text)[:chars] for text in islice(texts, count))
    han = len(_HAN.findall(sample))
    return han > 0 and 5 * han >= sum(map(str.isalpha, sample)) and len(_KANA.findall(sample)) < han / 10


def _parts(line: str) -> dict[str, str]:
    """The parts of the line of a recipe, by name."""
    return dict(part.split("=", 1) for part in line.split())


def _marker_of(line: str) -> Optional[str]:
    """The text at which a recipe cuts texts."""
    steps = _parts(line)["clean"].split(",")
    return next((unquote(step[len("cut:") :]) for step in steps if step.startswith("cut:")), None)


def _with_html(line: str, clean_html: bool) -> str:
    """The recipe with or without ``html`` in its ``clean``, for all texts."""
    parts = _parts(line)
    steps = [step for step in parts["clean"].split(",") if step not in ("none", "html", "detect-html")]
    parts["clean"] = ",".join(["html"] * clean_html + steps) or "none"
    return recipe_line(" ".join(f"{part}={value}" for part, value in parts.items()))


def _shown(text: str, clean_html: bool, marker: Optional[str]) -> str:
    """The text that fingerprints are made of: up to the marker, and without markup."""
    if marker is not None:
        text = text.partition(marker)[0]
    if clean_html:
        text = text_of_html(text)
    return text if marker is None else text.partition(marker)[0]


def _name_of(collection: Any) -> str:
    name = getattr(collection, "full_name", None)
    return name if isinstance(name, str) else ""


def _total_of(collection: Any) -> Optional[int]:
    """The number of documents, if the collection can estimate it."""
    count = getattr(collection, "estimated_document_count", None)
    total = count() if callable(count) else None
    return total if isinstance(total, int) else None


def _check_names(field: str, names: dict[str, str]) -> None:
    for what, name in {"field": field, **names}.items():
        if not isinstance(name, str):
            raise TypeError(f"{what}: a str is wanted, not {type(name).__name__}")
        if not name or (what != "field" and ("." in name or name.startswith("$"))):
            raise InputError(f"{what} = {name!r}: the name of a field is wanted")
    if "_id" in (names["target_field"], names["hash_field"]):
        raise InputError("_id: keeps the _id of the source, and can only be the id_field")
    if len(set(names.values())) < len(names):
        raise InputError(f"{', '.join(names)}: three different names are wanted, not {', '.join(names.values())}")


def _decoded(progress: bytes, path: str) -> dict[str, Any]:
    try:
        saved: dict[str, Any] = json.loads(progress)
        if saved.keys() == {"job", "counts", "place"}:
            return saved
    except (ValueError, AttributeError):
        pass
    raise Error(
        f"{path}: an unfinished job of another kind has to be finished first; restart=True forgets where it was"
    )


def _check_same(saved: dict[str, Any], job: dict[str, Any], path: str) -> None:
    for what, value in job.items():
        if saved.get(what) != value:
            raise Error(
                f"{path}: the unfinished job has {what} = {saved.get(what)!r}, not {value!r}; finish it first, or "
                "give restart=True, which forgets where it was"
            )
