"""Databases: a folder of sorted, memory-mapped files, read by any number of processes and written by one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import (
    Fingerprint,
    check_k,
    check_width,
    encoded,
    ids_of,
    in_order,
    is_one,
    strings_of,
    words_of,
    words_of_one,
)
from ._errors import Error, InputError
from ._progress import Progress, check_progress, listener_of, listening
from ._reports import Damage, Explanation, Finding, Ingested, Salvage, Verification
from ._result import Blocks, Result, result_of
from ._settings import check_count, line_and_width, settings_of

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Ids = npt.NDArray[np.uint64]


def create(
    path: Path,
    *,
    k: int = 3,
    width: Optional[int] = None,
    layout: str = "auto",
    recipe: Optional[str] = None,
    keys: bool = False,
    texts: bool = False,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    progress: Progress = None,
) -> Database:
    """Makes an empty database at ``path``, where nothing must be, or an empty folder, and opens it.

    ``k`` is the distance in bits that it is tuned for; any other may be asked for, too. ``width`` is 64, 128 or 256
    bits; without it the recipe's, or 64. ``layout`` is ``auto``, ``rotations:T`` or ``blocks:M,S``. ``recipe`` is that
    of the texts whose fingerprints it is for, and is kept. With ``keys`` rows have keys (URLs, paths, ids of
    documents), with ``texts`` also texts. The rest is what :func:`open` takes.

    Raises ``Error`` where something stands already, ``InputError`` for options that cannot be.
    """
    line, width = line_and_width(recipe, width)
    width = 64 if width is None else check_width(width)
    settings = settings_of(
        k,
        width,
        layout,
        line,
        keys,
        texts,
        threads=threads,
        memory=memory,
        memtable_rows=memtable_rows,
        background_merges=background_merges,
    )
    check_progress(progress)
    return Database(_nearprint.Core.create(os.fsdecode(path), width, settings), path, progress)


def open(
    path: Path,
    *,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    progress: Progress = None,
) -> Database:
    """Opens a database. Takes a moment, whatever its size.

    ``threads`` to work on (all cores), ``memory`` in bytes for merges (1 GiB; 1 MiB at least), ``memtable_rows`` after
    which a commit writes a run (65,536), ``background_merges`` or merges while flushing; ``progress`` for all long
    operations: a callable ``(stage, done, total)``, or ``True`` for a bar of tqdm. What a callable raises ends the
    operation.

    Raises ``Error`` where there is no database, ``CorruptionError`` where it is damaged.
    """
    settings = settings_of(
        threads=threads, memory=memory, memtable_rows=memtable_rows, background_merges=background_merges
    )
    check_progress(progress)
    return Database(_nearprint.Core.open(os.fsdecode(path), settings), path, progress)


def build(
    path: Path,
    fingerprints: Any,
    ids: Any = None,
    keys: Optional[Iterable[str]] = None,
    *,
    k: int = 3,
    width: Optional[int] = None,
    layout: str = "auto",
    recipe: Optional[str] = None,
    texts: Optional[Iterable[Union[str, bytes]]] = None,
    first_id: int = 0,
    runs_only: bool = False,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    progress: Progress = None,
) -> Database:
    """Makes a database of rows: all of them or nothing. Opens it.

    Takes rows as :meth:`Database.add` does, and settings as :func:`create`; without a width and a recipe, arrays say
    how wide they are, and lists have 64 bits. Rows without ids and keys are numbered from ``first_id`` on. Sorts within
    ``memory`` bytes (1 GiB), beside what is given; an array of ``numpy.memmap`` is read as it is needed. With
    ``runs_only`` it becomes a folder that :meth:`Database.ingest` adopts from.

    Raises what these raise.
    """
    line, width = line_and_width(recipe, width)
    rows, width = _rows(fingerprints, ids, keys, texts, width)
    settings = settings_of(
        k,
        width,
        layout,
        line,
        keys is not None,
        texts is not None,
        threads=threads,
        memory=memory,
        memtable_rows=memtable_rows,
        background_merges=background_merges,
        first_id=first_id,
    )
    with listening(progress) as listener:
        core = _nearprint.Core.build(os.fsdecode(path), width, settings, rows, runs_only, listener)
    return Database(core, path, progress)


def is_there(path: str) -> bool:
    """Whether something stands there that is no empty folder."""
    return os.path.exists(path) and not (os.path.isdir(path) and not os.listdir(path))


def repair(
    path: Path,
    dest: Path,
    *,
    k: int = 3,
    layout: str = "auto",
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    progress: Progress = None,
) -> Salvage:
    """Saves what can be read of a damaged database into a new one at ``dest``.

    Nothing must be at ``dest``, or an empty folder. Every row of the new database stood in the old one, which is not
    changed; no writer should be at work on it. ``k`` and ``layout`` are for where the old one does not tell any more
    what it was made for.

    Damage is no error: the result tells of it. Raises ``Error`` where there is no file of a database.
    """
    settings = settings_of(check_count(k, "k", 0, 256), 256, layout, threads=threads, memory=memory)
    with listening(progress) as listener:
        made, complete, counts, findings = _nearprint.repair(os.fsdecode(path), os.fsdecode(dest), settings, listener)
    rows, lost_rows, lost_fingerprints, recovered = counts
    listed = [Finding(*finding) for finding in findings]
    return Salvage(made, complete, rows, lost_rows, lost_fingerprints, recovered, listed)


class Database:
    """An open database, made by :func:`create`, :func:`open` or :func:`build`.

    Reads see what this database has committed, and what others had when it was opened or last refreshed. The first
    write takes the lock of the writer, which is held until the database is closed. As a context manager it is closed
    at the end, which commits; after an exception, what was not committed is forgotten, and so it is where a database is
    dropped that nobody has closed.

    Every method may be called from several threads, and lets others run while it works. After ``close()`` everything
    that reads or writes raises ``Error``. Fingerprints are given as to :func:`nearprint.find_all`, single ones as
    ``int``, hexadecimal ``str``, ``bytes``, or a row of an array. ``CorruptionError`` may come of everything that
    reads. Files that another program cuts shorter beneath an open database end the process.

    A process that was forked off may go on reading, but neither writes nor goes on with iterators: it has to open the
    database itself.
    """

    def __init__(self, core: _nearprint.Core, path: Path, progress: Progress = None) -> None:
        self._core: Optional[_nearprint.Core] = core
        self._path = os.fsdecode(path)
        self._progress = progress
        self._width = core.width()
        self._k = core.default_k()
        self._keys = core.keeps_keys()

    def _open(self) -> _nearprint.Core:
        if self._core is None:
            raise Error(f"{self._path}: the database is closed")
        return self._core

    def _listened(self, progress: Progress) -> Progress:
        return self._progress if progress is None else progress

    def _k_of(self, k: Optional[int]) -> int:
        return self._k if k is None else check_k(k, self._width)

    # What it is.

    @property
    def path(self) -> str:
        """Where it is."""
        return self._path

    @property
    def width(self) -> int:
        """The width of its fingerprints in bits: 64, 128 or 256."""
        return self._width

    @property
    def k(self) -> int:
        """The distance that it was made for, which questions take that do not say another."""
        return self._k

    @property
    def keeps_keys(self) -> bool:
        """Whether rows have keys."""
        return self._keys is not None

    @property
    def keeps_texts(self) -> bool:
        """Whether rows have texts."""
        return bool(self._keys)

    @property
    def recipe(self) -> Optional[str]:
        """The recipe of the texts whose fingerprints it holds, as one line."""
        return self._open().recipe()

    def set_recipe(self, recipe: str) -> None:
        """Gives a recipe to a database that was made without one. Durable on return.

        Raises ``InputError`` for one of another width, and where there is another one.
        """
        line, width = _nearprint.recipe_line(recipe)
        if width != self._width:
            raise InputError(f"recipe: makes fingerprints of {width} bits, where the database has {self._width}")
        self._open().set_recipe(line)

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._core is None

    @property
    def checkpoint(self) -> Optional[bytes]:
        """How far a job has come, in whatever bytes, at most 1 MiB: durable with the rows before it, by one commit.

        ``None``, which may also be set and is the same as ``b""``, where no job is unfinished. What was set and not yet
        committed is given, too.
        """
        return self._open().checkpoint()

    @checkpoint.setter
    def checkpoint(self, checkpoint: Optional[bytes]) -> None:
        if not isinstance(checkpoint, (bytes, type(None))):
            raise TypeError(f"checkpoint: bytes are wanted, or None, not {type(checkpoint).__name__}")
        self._open().set_checkpoint(checkpoint or b"")

    def __len__(self) -> int:
        """The number of rows. A walk over all of them where several runs have to be told apart."""
        return self._open().len()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self._width} bits, k = {self._k}"
        return f"<nearprint.Database {self._path!r}: {state}>"

    def stats(self) -> dict[str, Any]:
        """Counts and sizes: ``rows``, ``fingerprints``, ``tombstones``, ``bytes``, ``largest_id``, ``runs`` and more.

        Reads nothing: rows that were deleted or stored again count until they are merged away.
        """
        return self._open().stats()

    def explain(self, k: Optional[int] = None) -> Explanation:
        """How queries at ``k`` are answered, at what cost, and why."""
        text, runs = self._open().explain(self._k_of(k))
        return Explanation(self._k_of(k), text, runs)

    def verify(self, *, progress: Progress = None) -> Verification:
        """Reads every byte of every file, as they stand now, and checks all that the format promises.

        Damage to the last commit in the log looks like a commit that was cut off, and is not told.
        """
        with listening(self._listened(progress)) as listener:
            files, read, damage = self._open().verify(listener)
        return Verification(files, read, [Damage(*place) for place in damage])

    # Questions.

    def query(self, fingerprint: Fingerprint, k: Optional[int] = None, limit: Optional[int] = None) -> Result:
        """All rows within ``k`` bits of a fingerprint, at most ``limit`` of them.

        Columns ``id``, ``fingerprint``, ``distance`` and, if there are keys, ``key``; by (distance, fingerprint, id).
        """
        words = words_of_one(fingerprint, self._width)
        result = result_of(self._open().query(words, self._k_of(k)))
        if limit is None:
            return result
        rows = check_count(limit, "limit")
        return Result({name: array[:rows] for name, array in result.items()})

    def query_batch(self, fingerprints: Any, k: Optional[int] = None, *, progress: Progress = None) -> Result:
        """All rows within ``k`` bits of each fingerprint, on all threads.

        Columns as of :meth:`query`, and ``query``, the index of the fingerprint asked for, in ascending order.
        """
        words, _ = words_of(fingerprints, self._width)
        with listening(self._listened(progress)) as listener:
            return result_of(self._open().query_batch(words, self._k_of(k), listener))

    def nearest(
        self, fingerprints: Any, count: int = 1, max_k: Optional[int] = None, *, progress: Progress = None
    ) -> Result:
        """The ``count`` nearest rows at most ``max_k`` bits away (any number), of one fingerprint or of each of many.

        Columns as of :meth:`query` for one, as of :meth:`query_batch` for many. Ties go to the smaller fingerprint,
        then the smaller id.
        """
        single = is_one(fingerprints, self._width)
        words = words_of_one(fingerprints, self._width) if single else words_of(fingerprints, self._width)[0]
        k = self._width if max_k is None else check_k(max_k, self._width)
        with listening(self._listened(progress)) as listener:
            columns = self._open().nearest(words, check_count(count, "count"), k, listener)
        if single:
            del columns["query"]
        return result_of(columns)

    def pairs(self, k: Optional[int] = None, ids: bool = False, *, progress: Progress = None) -> Blocks:
        """All pairs of distinct fingerprints within ``k`` bits, once each, as an iterator of tables.

        Columns ``a``, ``b``, ``distance``. With ``ids`` all pairs of rows, equal fingerprints included, with ``id_a``
        and ``id_b``. ``.table()`` gives all of them at once.
        """
        listener = listener_of(self._listened(progress))
        return Blocks(self._open().pairs(self._k_of(k), ids, listener))

    def clusters(self, k: Optional[int] = None, *, progress: Progress = None) -> Blocks:
        """The connected components of the pairs within ``k`` bits that have two rows or more, as an iterator of tables.

        Columns ``cluster`` (0, 1, ...), ``id``, ``fingerprint`` and, where there are keys, ``key``.
        """
        listener = listener_of(self._listened(progress))
        return Blocks(self._open().clusters(self._k_of(k), listener))

    def cross(
        self, other: Database, k: Optional[int] = None, ids: bool = False, *, progress: Progress = None
    ) -> Blocks:
        """All pairs of a fingerprint ``a`` of this database and ``b`` of another one within ``k`` bits.

        Equal ones are among them. Columns as of :meth:`pairs`. Raises ``InputError`` for another width.
        """
        if not isinstance(other, Database):
            raise TypeError(f"other: a Database is wanted, not {type(other).__name__}")
        listener = listener_of(self._listened(progress))
        return Blocks(self._open().cross(other._open(), self._k_of(k), ids, listener))

    def rows(self) -> Blocks:
        """All rows by (fingerprint, id), as an iterator of tables: ``id``, ``fingerprint`` and, with keys, ``key``."""
        return Blocks(self._open().rows())

    def fingerprints_of(self, id: int) -> npt.NDArray[np.uint64]:
        """The fingerprints stored under an id, ascending. A walk over all rows."""
        (number,) = ids_of(id, 1)
        return self._open().fingerprints_of(int(number))

    def keys_of(self, fingerprint: Fingerprint, id: int) -> list[str]:
        """The keys of a row, ascending; none where it has none, or is not there."""
        return list(self._texts_of(fingerprint, id))

    def texts_of(self, fingerprint: Fingerprint, id: int) -> dict[str, str]:
        """The texts of a row by its keys; empty ones where the database keeps none.

        What is no UTF-8 in them is replaced.
        """
        return {key: text.decode("utf-8", "replace") for key, text in self._texts_of(fingerprint, id).items()}

    def _texts_of(self, fingerprint: Fingerprint, id: int) -> dict[str, bytes]:
        (number,) = ids_of(id, 1)
        return dict(self._open().texts_of(words_of_one(fingerprint, self._width), int(number)))

    def ids_of_key(self, key: str, everywhere: bool = False) -> Ids:
        """The ids of the rows that have a key, ascending.

        Looks under the id that the key gives by itself; ``everywhere`` walks over all keys, which finds rows that were
        given another id. None where the database keeps no keys.
        """
        return self._open().ids_of_key(key, everywhere)

    # Changes.

    def add(
        self,
        fingerprints: Any,
        ids: Any = None,
        keys: Optional[Iterable[str]] = None,
        *,
        texts: Optional[Iterable[Union[str, bytes]]] = None,
    ) -> Ids:
        """Inserts rows, and returns their ids: uint64, shape (n,).

        ``fingerprints`` are many, or one. ``ids`` are uint64; without them a row has the id that its key gives, the
        64-bit xxh3, or, without a key, 1 + the largest id so far. ``keys`` are texts, ``texts`` what is kept beside
        them. Rows are a set: what is there already stays as it is.

        Durable and seen with the next :meth:`commit`. An interrupted call may have inserted a part, and so may one that
        runs out of automatic ids or of memory.

        Raises ``LockedError`` while there is another writer; ``InputError`` for ids or keys that are not as many as the
        fingerprints, for keys or texts where the database was made without, and for keys of more than 65,536 bytes.
        """
        return self._insert(fingerprints, ids, keys, texts, upsert=False)

    def upsert(
        self,
        fingerprints: Any,
        ids: Any = None,
        keys: Optional[Iterable[str]] = None,
        *,
        texts: Optional[Iterable[Union[str, bytes]]] = None,
    ) -> Ids:
        """Makes each fingerprint the only one under its id, or under that of its key. One of both is needed.

        Returns and raises as :meth:`add`.
        """
        if ids is None and keys is None:
            raise InputError("upsert: ids or keys are needed")
        return self._insert(fingerprints, ids, keys, texts, upsert=True)

    def _insert(self, fingerprints: Any, ids: Any, keys: Any, texts: Any, upsert: bool) -> Ids:
        core = self._open()
        if is_one(fingerprints, self._width):
            fingerprints = words_of_one(fingerprints, self._width).reshape(1, -1)
            keys = [keys] if isinstance(keys, str) else keys
            texts = [texts] if isinstance(texts, (str, bytes)) else texts
        rows, _ = _rows(fingerprints, ids, keys, texts, self._width)
        return core.add(rows, upsert)

    def delete(self, ids: Any) -> None:
        """Deletes every row with one of these ids, or with this one. An id that is not there is no error."""
        self._open().delete(ids_of(ids, None))

    def commit(self) -> None:
        """Makes everything so far durable, and seen by reads that begin later, in every process."""
        self._open().commit()

    def flush(self) -> None:
        """Commits, and writes what is in the log into a run."""
        self._open().flush()

    def compact(self, *, progress: Progress = None) -> None:
        """Commits, and merges everything into one run, without what was deleted."""
        with listening(self._listened(progress)) as listener:
            self._open().compact(listener)

    def ingest(self, paths: Any, *, progress: Progress = None) -> Ingested:
        """Adopts folders that were built with ``runs_only``, all or none; one that was adopted before is skipped."""
        folders = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
        with listening(self._listened(progress)) as listener:
            return Ingested(*self._open().ingest([os.fsdecode(folder) for folder in folders], listener))

    def backup(self, dest: Path, *, progress: Progress = None) -> None:
        """Writes a copy of what was committed to ``dest``, where nothing must be, or an empty folder."""
        with listening(self._listened(progress)) as listener:
            self._open().backup(os.fsdecode(dest), listener)

    def refresh(self) -> None:
        """Lets reads see what others have committed since."""
        self._open().refresh()

    def close(self) -> None:
        """Commits, waits until merges have come to rest, and gives up the lock. A second time it does nothing."""
        core, self._core = self._core, None
        if core is not None:
            core.close()

    def __del__(self) -> None:
        core: Optional[_nearprint.Core] = getattr(self, "_core", None)
        if core is not None and core.is_writing():
            what = f"{self._path}: was not closed; what was not committed is forgotten"
            warnings.warn(what, ResourceWarning, stacklevel=2, source=self)

    def __enter__(self) -> Database:
        self._open()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is not None and self._core is not None:
            core, self._core = self._core, None
            core.abandon()
        self.close()


def _rows(fingerprints: Any, ids: Any, keys: Any, texts: Any, width: Optional[int]) -> tuple[dict[str, Any], int]:
    """Rows as the native module takes them, and their width."""
    words, width = words_of(fingerprints, width, width_of_lists=64)
    count = len(words) * 64 // width
    if texts is not None and keys is None:
        raise InputError("texts: they are kept under keys, which are not given")
    rows = {
        "words": words,
        "ids": None if ids is None else ids_of(ids, count),
        "keys": None if keys is None else strings_of(keys, count, "keys"),
        "texts": None if texts is None else _bytes_of(texts, count),
    }
    return rows, width


def _bytes_of(texts: Any, count: int) -> list[bytes]:
    """Texts in UTF-8, as many as there are rows."""
    listed = in_order(texts, "texts")
    if len(listed) != count:
        raise InputError(f"{len(listed)} texts for {count} fingerprints")
    for index, text in enumerate(listed):
        if isinstance(text, str):
            listed[index] = encoded(text, "texts", index)
        elif not isinstance(text, bytes):
            raise TypeError(f"texts: item {index}: {type(text).__name__} is no text: a str or bytes is wanted")
    return listed
