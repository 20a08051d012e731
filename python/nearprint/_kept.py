"""What a stream of texts keeps: an object that decides text by text, for any engine."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import uuid
import warnings
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Optional, Union, overload

import numpy as np

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from . import _database, _nearprint
from ._arrays import check_threads, is_missing, place_of
from ._database import Path
from ._errors import Error
from ._result import Result
from ._settings import Similarity, check_count, check_least, check_seconds
from ._sources import Missing, Texts
from ._temporary import folder_of
from ._text_rows import key_of_text

Evidence = Literal["features", "texts", "hashes", "keys"]

#: Why a copy is refused.
_ANOTHER = "another copy of this object decides already; leave num_proc out, or use nearprint.dedup, also for Ray"
#: Texts that are kept between two commits.
_KEPT_BETWEEN_COMMITS = 1 << 16


def settings_of(
    *,
    recipe: Optional[str] = None,
    k: Optional[int] = None,
    similarity: Optional[Similarity] = None,
    store: Optional[Evidence] = None,
    min_words: int = 0,
    min_features: int = 0,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    wait: float = 0.0,
) -> dict[str, Any]:
    """Checked settings for the native module. The recipe is by default the one of the database, or ``minhash``."""
    return {
        "recipe": recipe,
        "k": None if k is None else check_count(k, "k"),
        "similarity": None if similarity is None else check_least(similarity),
        "store": store,
        "min_words": check_count(min_words, "min_words"),
        "min_features": check_count(min_features, "min_features"),
        "threads": None if threads is None else check_threads(threads),
        "memory": None if memory is None else check_count(memory, "memory", 1),
        "wait": check_seconds(wait, "wait"),
    }


def opened(path: Optional[str], settings: dict[str, Any]) -> _nearprint.Deduplicator:
    """A deduplicator. Raises ``Error`` if the database has an unfinished job, which would be forgotten."""
    decider = _nearprint.Deduplicator.open(path, settings)
    if decider.unfinished() is not None:
        decider.abandon()
        raise Error(f"{path}: an unfinished job has to be finished first, by the call or the command that began it")
    return decider


class Kept:
    """The texts of a stream that are not near an earlier kept one, exactly, with evidence.

    An object for ``filter`` of any engine that runs it in one process: called with a list of texts, it returns for each
    whether it is kept; called with one text, or with one row that has a ``text``, a ``bool``. :meth:`decide` returns
    columns, which ``map`` wants. What is kept is stored in the database at ``database``, which is made if it does not
    exist, or else in a temporary folder. Arguments are the same as for :func:`nearprint.dedup`::

        kept = nearprint.Kept(similarity=0.8)
        unique = dataset.filter(kept, input_columns="text", batched=True)

    The answers are as :func:`nearprint.dedup` gives them for the texts in the order of all calls. So one object, in one
    process, has to see them all. Hugging Face runs it each time, and takes no earlier result from its cache.

    It can be pickled, which commits. With a ``database``, the copy opens it at its first call, and there is one
    writer at a time. Without one, the copy has everything that was kept, and from then on decides apart from the
    original; the second of several equal copies raises ``Error``, as they would all keep the same texts. Once the
    original is gone, so does one beside another on the same machine.

    Missing texts are kept by a call, and :meth:`decide` says what becomes of them.

    A context manager, whose end commits and closes the database: what the object filters has to be used before.
    What is not committed is forgotten.
    """

    def __init__(
        self,
        database: Optional[Path] = None,
        *,
        recipe: Optional[str] = None,
        k: Optional[int] = None,
        similarity: Optional[Similarity] = None,
        store: Optional[Evidence] = None,
        min_words: int = 0,
        min_features: int = 0,
        threads: Optional[int] = None,
        memory: Optional[int] = None,
        wait: float = 0.0,
    ) -> None:
        self._database = None if database is None else place_of(database)
        self._settings = settings_of(
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
        self._folder: Optional[str] = None
        self._claim: Optional[str] = None
        self._decider: Optional[_nearprint.Deduplicator] = None
        self._count = self._uncommitted = 0
        self._has_ended = False
        self._lock = threading.Lock()

    @overload
    def __call__(self, texts: Union[str, Mapping[str, Any], None]) -> bool: ...
    @overload
    def __call__(self, texts: list[Any]) -> list[bool]: ...
    @overload
    def __call__(self, texts: Any) -> Union[bool, list[bool]]: ...
    def __call__(self, texts: Any) -> Union[bool, list[bool]]:
        """Whether each text is kept. Missing texts are kept; those of too few words or features are not."""
        row = [texts] if is_missing(texts) else _text_of_row(texts)
        if row is not None:
            return bool(self.decide(row, missing="keep")["kept"][0])
        flags: list[bool] = self.decide(texts, missing="keep")["kept"].tolist()
        return flags

    def decide(
        self,
        texts: Any,
        keys: Any = None,
        *,
        text: str = "text",
        key: Optional[str] = None,
        missing: Missing = "error",
    ) -> Result:
        """Decides texts in order: columns ``kept``, ``duplicate_of`` and ``similarity``.

        ``duplicate_of`` is the key of the kept text, and ``None`` for a kept one. Without ``keys``, a text has its
        number as a text, counted over all calls; in a ``database``, the first 16 digits of its MD5.
        """
        kept: list[bool] = []
        of: list[Optional[str]] = []
        similarities: list[float] = []
        for batch in Texts(texts, text, key=key, keys=keys, missing=missing).batches():
            with self._lock:
                decided = self._decide(batch.texts, batch.keys)
            for decision, original, similarity in decided:
                kept.append(decision if decision is not None else missing == "keep")
                of.append(original)
                similarities.append(similarity)
        columns = {"kept": np.array(kept, bool), "duplicate_of": np.array(of, object)}
        return Result({**columns, "similarity": np.array(similarities, float)})

    def _decide(
        self, texts: list[Optional[str]], keys: Optional[list[str]]
    ) -> list[tuple[Optional[bool], Optional[str], float]]:
        """Whether each text is kept, ``None`` for a missing one; the key and the similarity of the kept one."""
        if keys is None:
            first = self._count
            keys = [
                key_of_text(text or "") if self._database else str(first + index) for index, text in enumerate(texts)
            ]
        there = [index for index, text in enumerate(texts) if text is not None]
        found = self._opened().decide([keys[index] for index in there], [text for text in texts if text is not None])
        decided: list[tuple[Optional[bool], Optional[str], float]] = [(None, None, float("nan"))] * len(texts)
        for index, (name, of, similarity, *_) in zip(there, found):
            decided[index] = (name == "kept", of, similarity)
        self._count += len(texts)
        self._uncommitted += sum(name == "kept" for name, *_ in found)
        if self._uncommitted >= _KEPT_BETWEEN_COMMITS:
            self._commit()
        return decided

    def _opened(self) -> _nearprint.Deduplicator:
        if self._has_ended:
            raise Error("Kept: its `with` block has ended; use what it filters, such as by list(), inside of the block")
        if self._decider is None:
            self._take_claim()
            self._decider = opened(self._path(), self._settings)
        return self._decider

    def _take_claim(self) -> None:
        """Refuses to decide if an equal copy has begun to."""
        if self._claim is not None:
            try:
                os.close(os.open(self._claim, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                raise Error(f"Kept: {_ANOTHER}") from None
            except FileNotFoundError:
                # The original is gone, as after a restart, or on another machine.
                self._lock_claim()
            self._claim = None

    def _lock_claim(self) -> None:
        """Refuses to decide while an equal copy does on this machine. The lock goes with the object."""
        if fcntl is None:
            return
        name = "-".join(os.path.normpath(str(self._claim)).split(os.sep)[-2:])
        path = os.path.join(tempfile.gettempdir(), name)
        flags, is_own = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, True
        try:
            lock = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            lock, is_own = os.open(path, flags), False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Error(f"Kept: {_ANOTHER}") from None
        # What was there before, as after a kill, stays.
        weakref.finalize(self, _unlock, path if is_own else None, lock, os.getpid())

    def _path(self) -> str:
        if self._database is not None:
            return self._database
        return os.path.join(self._own_folder(), "kept.np")

    def _own_folder(self) -> str:
        if self._folder is None:
            self._folder = folder_of(self, "nearprint-kept-")
        return self._folder

    def _commit(self) -> None:
        if self._decider is not None:
            self._decider.checkpoint(b"")
            self._uncommitted = 0

    def commit(self) -> None:
        """Makes what was kept durable, if there is a ``database``, and visible to those who open it."""
        with self._lock:
            self._commit()

    def close(self) -> None:
        """Commits, and closes the database. A later call opens it again."""
        with self._lock:
            decider, self._decider = self._decider, None
            if decider is not None:
                decider.finish()
            self._uncommitted = 0

    def __del__(self) -> None:
        count = getattr(self, "_uncommitted", 0)
        if count > 0 and self._database is not None:
            what = f"{self._database}: was not closed; {count} kept texts that were not committed are forgotten"
            warnings.warn(what, ResourceWarning, stacklevel=2, source=self)

    def __enter__(self) -> Kept:
        self._has_ended = False
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is not None and self._decider is not None:
            self._decider.abandon()
            self._decider, self._uncommitted = None, 0
        self.close()
        self._has_ended = True

    def __getstate__(self) -> dict[str, Any]:
        self.commit()
        files = {}
        if self._database is None and self._count > 0:
            with tempfile.TemporaryDirectory(prefix="nearprint-kept-") as home:
                copy = os.path.join(home, "copy.np")
                with _database.open(self._path()) as database:
                    database.backup(copy)
                for name in os.listdir(copy):
                    with open(os.path.join(copy, name), "rb") as file:
                        files[name] = file.read()
        claim = self._claim
        if self._database is None and claim is None:
            claim = os.path.join(self._own_folder(), f"{self._count}.claimed")
        state = {"database": self._database, "settings": self._settings, "count": self._count, "files": files}
        # No two pickles are equal: a cache of results, which knows a function by its pickle, would call it once.
        return {**state, "claim": claim, "nonce": uuid.uuid4().hex}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._database, self._settings, self._count = state["database"], state["settings"], state["count"]
        self._claim, self._folder, self._decider = state["claim"], None, None
        self._uncommitted, self._has_ended, self._lock = 0, False, threading.Lock()
        if state["files"]:
            os.mkdir(self._path())
            for name, content in state["files"].items():
                with open(os.path.join(self._path(), name), "wb") as file:
                    file.write(content)

    def __repr__(self) -> str:
        return f"<nearprint.Kept of {self._count} texts: {self._database or 'temporary'}>"


def _unlock(path: Optional[str], lock: int, process: int) -> None:
    """Removes the file of a lock, if there is one to remove, in the process that made it, and gives up the lock."""
    with contextlib.suppress(OSError):
        if path is not None and os.getpid() == process and os.path.samestat(os.lstat(path), os.fstat(lock)):
            os.unlink(path)
    os.close(lock)


def _text_of_row(value: Any) -> Optional[list[Any]]:
    """The text of one row, or one text, as a list; ``None`` for anything else."""
    if isinstance(value, str):
        return [value]
    names = getattr(value, "keys", None)
    if not callable(names) or "text" not in names():
        return None
    text = value["text"]
    return [text] if isinstance(text, str) or is_missing(text) else None
