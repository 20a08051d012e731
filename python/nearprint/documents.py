"""Collections of MongoDB without their near-duplicates::

    from pymongo import MongoClient
    from nearprint.documents import dedup_collection

    crawl = MongoClient().crawl
    counts = dedup_collection(crawl.pages, crawl.unique, "content", database="seen.np", progress=True)

The first document of each family is kept: one that has nothing within k bits among those kept before it, as ``nearprint
dedup`` does. The database remembers what was kept, and how far an unfinished job has come.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Callable, Optional

from . import _database
from ._arrays import check_k, number
from ._database import Database, Path, is_there
from ._errors import Error, InputError
from ._html import text_of_html
from ._identifiers import Place, key_of
from ._lists import find_all
from ._progress import Listener, Progress, listening
from ._settings import check_count
from ._texts import fingerprint, recipe_line

__all__ = ["Counts", "dedup_collection"]

#: Called as ``on_reject(id, reason)``.
OnReject = Callable[[Any, str], Any]

_MAX_KEY_BYTES = 65_536
#: What MongoDB says of a document whose ``_id`` is there already.
_DUPLICATE_KEY = 11000


@dataclass(frozen=True)
class Counts:
    """What became of the documents. ``read`` is the sum of the others."""

    read: int = 0
    #: Documents that stand in the target by this job.
    kept: int = 0
    #: Documents that have something near among those kept.
    duplicates: int = 0
    #: Documents that an earlier job has kept; they stand in the target already.
    known: int = 0
    #: Documents without a text that could be taken.
    rejected: int = 0

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
    k: int = 3,
    batch_size: int = 1000,
    clean_html: bool = True,
    restart: bool = False,
    on_reject: Optional[OnReject] = None,
    progress: Progress = None,
) -> Counts:
    """Copies the documents of ``source`` that have no near-duplicate before them into ``target``.

    ``source`` and ``target`` are collections of pymongo, or objects with ``find`` and ``insert_many`` like theirs. The
    source is read once, by ``_id`` ascending, only ``_id`` and ``field``; dots in ``field`` reach into documents. A
    document of the target has the ``_id`` of the one that it comes from, and

    * ``target_field``: the text, without markup where ``clean_html`` is set,
    * ``id_field``: the ``_id`` again, under the name that you want; ``"_id"`` for not a second time,
    * ``hash_field``: the fingerprint, a text as on the command line, because MongoDB's numbers are signed.

    ``database`` is a nearprint database with keys and a recipe; it is made where there is none. What any job has kept
    in it counts as kept before, so that a second collection can be checked against a first one; to fill another target
    anew takes a new database. Without one a temporary one serves: nothing is remembered, and a job that was cut off
    begins anew.

    ``recipe`` says how fingerprints are made. Without it that is the database's recipe, or, in a new database,
    ``chinese`` (jieba's words, the 30 best by TF-IDF) where the first batch is Chinese, and ``default`` otherwise.
    ``clean_html`` puts ``html`` into the recipe's ``clean``, or takes it out. A text without words has the fingerprint
    0, so that all of these are near-duplicates.

    Documents without the field, with something else than text in it, or with an ``_id`` under which another text has
    been kept, are counted as rejected, and told to ``on_reject(id, reason)``; without that by one ``UserWarning`` at
    the end, which is about those of this call. ``progress`` is told ``("deduplicating", read, total)``, or is ``True``
    for a bar of tqdm.

    **Interruptions.** A batch is inserted into the target first; then its rows and the place in the source become
    durable in the database, by one commit. A job that was killed goes on at that place when it is called again with the
    same arguments (``batch_size``, ``progress`` and ``on_reject`` may be others), and its counts go on, too. If it was
    killed between the two, the batch is inserted again: as a document keeps its ``_id``, those that stand in the target
    already are found to be the same, and left. No document is lost or doubled. Documents that come into the source
    behind the place that was reached are read, those before it by the next job. Only if a document is removed from
    the source between the two, a near-duplicate of it can come into the target beside it. The target needs acknowledged
    writes. As long as no document had a text there is no database, and a job begins anew. ``restart`` forgets the
    place, not what was kept.

    Takes one commit and one ``insert_many`` for each batch, and the memory of one batch.

    Raises ``InputError`` for arguments that cannot be and for a database of another recipe; ``Error`` where the
    unfinished job is another one, and where a different document stands in the target under the ``_id`` of one that is
    to be kept; ``LockedError``, ``CorruptionError`` as databases do; and what the collections raise.
    """
    names = {"target_field": target_field, "id_field": id_field, "hash_field": hash_field}
    _check_names(field, names)
    batch_size = check_count(batch_size, "batch_size", 1)
    job: dict[str, Any] = {"source": _name_of(source), "target": _name_of(target), "field": field, **names}
    job |= {"k": check_count(k, "k", 0, 256), "clean_html": bool(clean_html)}
    rejects = _Rejects(on_reject)
    with listening(progress) as listener, ExitStack() as stack:
        if database is None:
            database = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "seen.np")
        work = _Work(source, target, os.fsdecode(database), job, recipe, rejects, stack)
        work.take_up(restart)
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
    """A job: the collections, the database as soon as there is one, and how far it has come."""

    def __init__(
        self,
        source: Any,
        target: Any,
        path: str,
        job: dict[str, Any],
        recipe: Optional[str],
        rejects: _Rejects,
        stack: ExitStack,
    ) -> None:
        self._source = source
        self._target = target
        self._path = path
        self._job = job
        self._recipe = None if recipe is None else _with_html(recipe_line(recipe), job["clean_html"])
        self._rejects = rejects
        self._stack = stack
        self._database: Optional[Database] = None
        self._place = Place()
        self.counts = Counts()

    def take_up(self, restart: bool) -> None:
        """Opens the database, if there is one, and goes to where its unfinished job was."""
        if not is_there(self._path):
            return
        database = self._stack.enter_context(_database.open(self._path))
        self._check(database)
        self._database = database
        checkpoint = None if restart else database.checkpoint
        if checkpoint is not None:
            saved = _decoded(checkpoint, self._path)
            _check_same(saved["job"], self._job, self._path)
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
        if self._database is not None:
            self._database.checkpoint = None
            self._database.commit()

    def _check(self, database: Database) -> None:
        if not database.keeps_keys or database.recipe is None:
            lacking = "keys" if not database.keeps_keys else "a recipe"
            raise InputError(
                f"{self._path}: was made without {lacking}; nearprint.create(path, recipe=..., keys=True) makes one "
                "that has both"
            )
        known = database.recipe
        wanted = self._recipe or _with_html(known, self._job["clean_html"])
        if wanted != known:
            raise InputError(f"{self._path}: holds fingerprints of the recipe {known!r}, not {wanted!r}")
        check_k(self._job["k"], database.width)

    def _documents(self, batch_size: int) -> Iterator[dict[str, Any]]:
        """The documents behind the place that was reached."""
        found = self._source.find(self._place.condition(), {"_id": 1, self._job["field"]: 1})
        if hasattr(found, "batch_size"):
            found = found.sort("_id", 1).batch_size(batch_size)
        return (document for document in found if not self._place.is_before(document.get("_id")))

    def _take(self, batch: list[dict[str, Any]]) -> None:
        """Deals with a batch. What is durable only in part by a crash is done again by the next run."""
        documents = list(self._with_text(batch))
        counts = Counts(read=len(batch), rejected=len(batch) - len(documents))
        if documents:
            counts += self._judge(self._database_for(documents), documents)
        self.counts += counts
        for document in batch:
            self._place.reach(document.get("_id"))
        if self._database is not None:
            saved = {"job": self._job, "counts": asdict(self.counts), "place": self._place.saved()}
            self._database.checkpoint = json.dumps(saved).encode()
            self._database.commit()

    def _with_text(self, batch: Iterable[dict[str, Any]]) -> Iterator[_Document]:
        for document in batch:
            parsed = _parsed(document, self._job["field"])
            if isinstance(parsed, _Document):
                yield parsed
            else:
                self._rejects.tell(document.get("_id"), parsed)

    def _database_for(self, documents: list[_Document]) -> Database:
        """The database; a new one has a recipe for documents like these."""
        if self._database is None:
            recipe = self._recipe
            if recipe is None:
                name = "chinese" if _are_chinese(document.text for document in documents) else "default"
                recipe = _with_html(recipe_line(name), self._job["clean_html"])
            database = _database.create(self._path, k=self._job["k"], recipe=recipe, keys=True)
            self._database = self._stack.enter_context(database)
        return self._database

    def _judge(self, database: Database, documents: list[_Document]) -> Counts:
        """Finds out which documents are new, and keeps these."""
        k = self._job["k"]
        prints = fingerprint([document.text for document in documents], database.recipe or "")
        numbers = _numbers(prints)
        before = _keys_near(database, prints, k)
        near = _neighbours(prints, k)
        kept: list[int] = []
        kept_numbers: set[int] = set()
        duplicates = known = rejected = 0
        for index, document in enumerate(documents):
            if document.key in before.get(index, ()):
                known += 1
            elif index in before or not kept_numbers.isdisjoint(near.get(numbers[index], {numbers[index]})):
                duplicates += 1
            elif len(database.ids_of_key(document.key)):
                rejected += 1
                self._rejects.tell(document.id, "another text was kept under this _id before")
            else:
                kept.append(index)
                kept_numbers.add(numbers[index])
        if kept:
            self._deliver([self._result(documents[index], numbers[index], database.width) for index in kept])
            database.add(prints[kept], keys=[documents[index].key for index in kept])
        return Counts(0, len(kept), duplicates, known, rejected)

    def _result(self, document: _Document, value: int, width: int) -> dict[str, Any]:
        """The document for the target."""
        return {
            "_id": document.id,
            self._job["id_field"]: document.id,
            self._job["target_field"]: text_of_html(document.text) if self._job["clean_html"] else document.text,
            self._job["hash_field"]: str(value) if width == 64 else f"0x{value:0{width // 4}x}",
        }

    def _deliver(self, results: list[dict[str, Any]]) -> None:
        """Inserts documents into the target. Those that a run which was cut off has inserted stand there already."""
        # Drivers may write into what they are given.
        given = [dict(result) for result in results]
        try:
            self._target.insert_many(given, ordered=False)
        except Exception as error:
            if not _is_about_duplicate_keys(error) or not self._stand_there(results):
                raise

    def _stand_there(self, results: list[dict[str, Any]]) -> bool:
        """Whether all of these are in the target, and the same."""
        hash_field = self._job["hash_field"]
        found = self._target.find({"_id": {"$in": [result["_id"] for result in results]}}, {"_id": 1, hash_field: 1})
        standing = {key_of(document["_id"]): document.get(hash_field) for document in found}
        for result in results:
            if standing.get(key_of(result["_id"]), result[hash_field]) != result[hash_field]:
                raise Error(
                    f"the target has another document with the _id {result['_id']!r}, which would be lost; remove "
                    "that one, or take another target"
                )
        return all(key_of(result["_id"]) in standing for result in results)


class _Rejects:
    """Who is told of documents that cannot be taken."""

    def __init__(self, on_reject: Optional[OnReject]) -> None:
        if on_reject is not None and not callable(on_reject):
            raise TypeError(f"on_reject: a callable is wanted, not {type(on_reject).__name__}")
        self._on_reject = on_reject
        self._count = 0
        self._first = ""

    def tell(self, identifier: Any, reason: str) -> None:
        """Tells of one document."""
        self._count += 1
        self._first = self._first or f"{identifier!r}: {reason}"
        if self._on_reject is not None:
            self._on_reject(identifier, reason)

    def warn(self) -> None:
        """Tells at the end that there were some."""
        if self._count and self._on_reject is None:
            warnings.warn(f"{self._count} documents were rejected, the first {self._first}", UserWarning, stacklevel=3)


def _parsed(document: dict[str, Any], field: str) -> Any:
    """The document, or why it cannot be taken."""
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


def _keys_near(database: Database, prints: Any, k: int) -> dict[int, set[str]]:
    """For each fingerprint that has something within k bits in the database, the keys of that."""
    found = database.query_batch(prints, k)
    near: dict[int, set[str]] = {}
    for query, key in zip(found["query"].tolist(), found["key"].tolist()):
        near.setdefault(query, set()).add(key)
    return near


def _neighbours(prints: Any, k: int) -> dict[int, set[int]]:
    """For each fingerprint that has others of the batch within k bits, those and itself."""
    pairs = find_all(prints, k)
    near: dict[int, set[int]] = {}
    for a, b in zip(_numbers(pairs["a"]), _numbers(pairs["b"])):
        near.setdefault(a, {a}).add(b)
        near.setdefault(b, {b}).add(a)
    return near


def _numbers(prints: Any) -> list[int]:
    """The numbers that fingerprints are."""
    return prints.tolist() if prints.ndim == 1 else [number(row) for row in prints]


def _is_about_duplicate_keys(error: Exception) -> bool:
    """Whether this is a ``BulkWriteError``, of pymongo or its like, that says nothing else."""
    details = getattr(error, "details", None)
    if not isinstance(details, dict) or details.get("writeConcernErrors"):
        return False
    codes = [failed.get("code") for failed in details.get("writeErrors") or ()]
    return bool(codes) and all(code == _DUPLICATE_KEY for code in codes)


_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile("[\u3040-\u30ff]")
#: Characters of a text, and texts, by which a language is told.
_SAMPLE = (2000, 1000)


def _are_chinese(texts: Iterable[str]) -> bool:
    """Whether a fifth of the letters are Chinese characters, and not those of Japanese texts."""
    chars, count = _SAMPLE
    sample = "".join(text_of_html(text)[:chars] for text in islice(texts, count))
    han = len(_HAN.findall(sample))
    return han > 0 and 5 * han >= sum(map(str.isalpha, sample)) and len(_KANA.findall(sample)) < han / 10


def _with_html(line: str, clean_html: bool) -> str:
    """The recipe with or without ``html`` among what is cleaned."""
    parts = dict(part.split("=", 1) for part in line.split())
    steps = [step for step in parts["clean"].split(",") if step not in ("none", "html")]
    parts["clean"] = ",".join(["html"] * clean_html + steps) or "none"
    return recipe_line(" ".join(f"{part}={value}" for part, value in parts.items()))


def _name_of(collection: Any) -> str:
    name = getattr(collection, "full_name", None)
    return name if isinstance(name, str) else ""


def _total_of(collection: Any) -> Optional[int]:
    """How many documents there are, where the collection can tell."""
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


def _decoded(checkpoint: bytes, path: str) -> dict[str, Any]:
    try:
        saved: dict[str, Any] = json.loads(checkpoint)
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
