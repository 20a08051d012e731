"""Databases: folders of sorted, memory-mapped files, with many readers and one writer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import islice
from types import TracebackType
from typing import Any, Literal, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._arrays import (
    Fingerprint,
    Key,
    check_k,
    check_threads,
    id_of,
    ids_of,
    is_one,
    key_of,
    path_of,
    place_of,
    words_of,
    words_of_one,
)
from ._carried import carried_recipe, check_carried
from ._errors import Error, InputError
from ._follower import Follower
from ._progress import Progress, check_progress, listener_of, listening
from ._reports import Damage, Explanation, IfNew, IngestReport, LeftOut, Verification
from ._result import Blocks, Result, joined, result_of
from ._rows import Names, Rows, apart, fingerprint_batches
from ._settings import PICTURE_RECIPES, Listener, check_count, check_similarity, distance_of, settings_of
from ._sources import Texts
from ._text_rows import rows_of
from ._texts import stored_fingerprints

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Ids = npt.NDArray[np.uint64]


def _checked(similarity: Optional[float]) -> Optional[float]:
    return None if similarity is None else check_similarity(similarity)


def open(
    path: Path,
    *,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    merges: bool = True,
    merge_rate: Optional[int] = None,
    keep_log: int = 0,
    on_event: Listener = None,
    wait: float = 0.0,
    progress: Progress = None,
) -> Database:
    """Opens a database. This takes about a millisecond, whatever the size, and longer with rows in a log.

    ``threads`` is the number of threads (by default all cores). ``memory`` is the memory of merges in bytes (1
    GiB; at least 1 MiB). A run is made of each ``memtable_rows`` rows (65,536; 262,144 with a recipe). Without
    ``background_merges``, commits wait for runs and for merges; without ``merges``, runs are merged by
    :meth:`Database.compact` only; ``merge_rate`` limits the bytes that a merge writes in a second (at least 1
    MiB). :meth:`Database.close` leaves rows in a log of at most ``keep_log`` bytes (0) instead of files of their
    own, which suits small databases. ``on_event`` is called with a dictionary for each ``flush``, ``merge``,
    ``expiry`` and ``stall`` (``event``, ``rows``, ``bytes``, ``runs``, ``seconds``), before the call returns in
    which it was noticed; and for a ``clock`` that is five minutes behind the last commit (``event``,
    ``last_commit``, ``now``). That call waits for it: changes, ``commit``, ``checkpoint`` and ``close`` of the same
    database raise ``Error`` there. The first write waits at most ``wait`` seconds while another process writes.
    ``progress`` is for all long operations: a callable ``(stage, done, total)``, or ``True`` for a progress bar of
    tqdm. An exception of the callable cancels the operation and is raised, unless the work is done by then, as with the
    last report: then it goes to ``sys.unraisablehook``. The total may be ``None``, where it is unknown.

    Raises ``NotFoundError``, a ``FileNotFoundError``, if there is no database; ``CorruptionError`` if it is
    damaged.
    """
    settings = settings_of(
        threads=threads,
        memory=memory,
        memtable_rows=memtable_rows,
        background_merges=background_merges,
        merges=merges,
        merge_rate=merge_rate,
        keep_log=keep_log,
        on_event=on_event,
        wait=wait,
    )
    check_progress(progress)
    place = place_of(path)
    return Database(_nearprint.Core.open(place, settings), place, progress)


class Database:
    """An open database, made by :func:`create`, :func:`open` or :func:`build`.

    Reads see the commits of this object, and those that others made before it was opened or last
    refreshed. The first write takes the writer's lock, which is held until the database is closed. A
    context manager closes the database at the end, which commits; after an exception, it discards
    uncommitted changes. So does a database that is dropped without ``close()``.

    All methods are thread-safe, and release the interpreter's lock while they work. After ``close()``
    all methods that read or write raise ``Error``. Fingerprints are as in :func:`nearprint.find_all`;
    a single one is an ``int``, a hexadecimal ``str``, ``bytes``, or a row of an array. All reads may
    raise ``CorruptionError``. If another program truncates the files of an open database, the process
    is killed.

    After a fork, the child process may read, but cannot write or continue iterators: it has to open
    the database itself. It may close what it has inherited, unless changes wait for their commit. A
    database is pickled by its path: the copy is opened from there, with the default settings, and sees
    what was committed.
    """

    def __init__(self, core: _nearprint.Core, path: str, progress: Progress = None) -> None:
        self._core: Optional[_nearprint.Core] = core
        self._path = path
        self._progress = progress
        self._width = core.width()
        self._read = core.settings()

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        self._open()
        return open, (self._path,)

    def _open(self) -> _nearprint.Core:
        if self._core is None:
            raise Error(f"{self._path}: the database is closed")
        return self._core

    def _settings(self) -> tuple[int, Optional[str], str]:
        """k, the bands, and what is stored with rows, as they were read last."""
        if self._core is not None:
            self._read = self._core.settings()
        return self._read

    def _listened(self, progress: Progress) -> Progress:
        return self._progress if progress is None else progress

    def _k_of(self, k: Optional[int], similarity: Optional[float] = None) -> int:
        default, bands, _ = self._settings()
        chosen = distance_of(k, similarity, bands, self._width)
        return default if chosen is None else chosen

    def _is_exact(self, k: Optional[int]) -> bool:
        """Whether exact similarities of documents decide."""
        return k is None and self._open().keeps_evidence()

    # Properties.

    @property
    def path(self) -> str:
        """The folder of the database, as an absolute path."""
        return self._path

    @property
    def width(self) -> int:
        """The width of the fingerprints in bits: 64, 128, 256 or 320."""
        return self._width

    @property
    def k(self) -> int:
        """The distance that the layout is tuned for; the default of queries."""
        return self._settings()[0]

    @property
    def kind(self) -> Literal["hamming", "bands"]:
        """What near means: the distance of fingerprints, or an equal band and near sketches."""
        return "hamming" if self._settings()[1] is None else "bands"

    @overload
    def similarity(self, distances: int) -> float: ...
    @overload
    def similarity(self, distances: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
    def similarity(self, distances: npt.ArrayLike) -> Union[float, npt.NDArray[np.float64]]:
        """The Jaccard similarity of texts that distances of sketches suggest: 1 - 2 d / S, at least 0.

        S is the number of bits of a sketch. Takes and returns a number or an array. Raises
        ``InputError`` for a database without bands.
        """
        bands = self._settings()[1]
        if bands is None:
            raise InputError(f"{self._path}: has no bands, so that distances suggest no similarity")
        bits, _ = _nearprint.sketch_of(bands, self._width, 0.0)
        return np.maximum(1 - 2 * np.asarray(distances) / bits, 0)[()]

    @property
    def keeps_keys(self) -> bool:
        """Whether rows have keys."""
        return self._settings()[2] != "none"

    @property
    def keeps_texts(self) -> bool:
        """Whether keys have texts."""
        return self._settings()[2] == "keys and texts"

    @property
    def keeps_hashes(self) -> bool:
        """Whether keys have hashes of texts, as ``dedup`` stores them."""
        return self._settings()[2] == "keys and hashes"

    @property
    def recipe(self) -> Optional[str]:
        """The recipe that makes the fingerprints of texts, as one line."""
        return self._open().recipe()

    def set_recipe(self, recipe: str) -> None:
        """Stores a recipe in a database without one. Durable on return.

        Raises ``InputError`` for a recipe of another width or kind, and if the database has another recipe.
        """
        line, width, bands = _nearprint.recipe_line(recipe)
        if width != self._width:
            raise InputError(f"recipe: makes fingerprints of {width} bits, where the database has {self._width}")
        own = self._settings()[1]
        if bands != own:
            kinds = (f"bands {bands}" if bands else "no bands"), own or "none"
            raise InputError(f"recipe: makes fingerprints of {kinds[0]}, where the database has {kinds[1]}")
        self._open().set_recipe(line)

    @property
    def closed(self) -> bool:
        """Whether the database is closed."""
        return self._core is None

    @property
    def checkpoint(self) -> Optional[bytes]:
        """The progress of an unfinished job, as up to 1 MiB of bytes.

        A checkpoint is committed together with the rows before it. ``None``, which is the same as
        ``b""``, means that no job is unfinished. A checkpoint can be read before it is committed.
        """
        return self._open().checkpoint()

    @checkpoint.setter
    def checkpoint(self, checkpoint: Optional[bytes]) -> None:
        if not isinstance(checkpoint, (bytes, type(None))):
            raise TypeError(f"checkpoint: bytes are wanted, or None, not {type(checkpoint).__name__}")
        self._open().set_checkpoint(checkpoint or b"")

    def __len__(self) -> int:
        """The number of rows. Costs a walk over all rows if there are several runs or deletions."""
        return self._open().len()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self._width} bits, k = {self.k}"
        return f"<nearprint.Database {self._path!r}: {state}>"

    def stats(self) -> dict[str, Any]:
        """Counts and sizes: ``rows``, ``fingerprints``, ``tombstones``, ``bytes``, ``runs`` and more.

        Reads no rows: rows that were deleted or stored again count until a merge removes them.
        """
        return self._open().stats()

    def explain(self, k: Optional[int] = None, *, similarity: Optional[float] = None) -> Explanation:
        """The query plan for ``k`` or ``similarity``: how each run is searched, and at what cost."""
        most = self._k_of(k, similarity)
        text, runs = self._open().explain(most)
        return Explanation(most, text, runs)

    def verify(self, *, progress: Progress = None) -> Verification:
        """Reads every byte of every file and checks it against the format.

        Damage to the last commit in the log is not reported: it looks like an interrupted commit.
        """
        with listening(self._listened(progress)) as listener:
            files, read, damage = self._open().verify(listener)
        return Verification(files, read, [Damage(*place) for place in damage])

    # Reads.

    def query(
        self,
        fingerprint: Fingerprint,
        k: Optional[int] = None,
        limit: Optional[int] = None,
        *,
        similarity: Optional[float] = None,
    ) -> Result:
        """All rows within ``k`` bits of a fingerprint, at most ``limit`` of them; others are not looked up.

        A row that has several keys is repeated for each, and counts once.

        In a database of bands, ``similarity`` sets ``k`` to 90% of the distance that texts so similar have on average.
        A limit of 0.7 finds three in ten of the texts at 0.7, more than eight in ten at 0.8, and one in thirty at 0.6.
        :meth:`find` compares texts exactly.

        Columns ``id``, ``fingerprint``, ``distance`` and, if there are keys, ``key``. Rows are ordered
        by (distance, fingerprint, id).
        """
        words = self._words_of_one(fingerprint)
        rows = None if limit is None else check_count(limit, "limit")
        return result_of(self._open().query(words, self._k_of(k, similarity), rows))

    def query_batch(
        self,
        fingerprints: Any,
        k: Optional[int] = None,
        limit: Optional[int] = None,
        *,
        similarity: Optional[float] = None,
        fingerprint: Optional[str] = None,
        signed: bool = False,
        progress: Progress = None,
    ) -> Result:
        """The rows within ``k`` bits of each fingerprint, on all threads; the first ``limit`` rows of each.

        A row that has several keys is repeated for each, and counts once.

        Columns as in :meth:`query`, and ``query``: the index of the fingerprint, ascending. Fingerprints
        may be a table or a stream, with the column ``fingerprint``; ``signed`` is as in :meth:`add`.
        """
        k, first, results = self._k_of(k, similarity), 0, []
        most = None if limit is None else check_count(limit, "limit")
        with listening(self._listened(progress)) as listener:
            for batch in fingerprint_batches(fingerprints, fingerprint):
                self._check_carried(batch)
                words, _ = words_of(batch, self._width, signed=signed)
                found = self._open().query_batch(words, k, most, listener)
                found["query"] += first
                first += len(words) * 64 // self._width
                results.append(result_of(found))
            if not results:
                nothing = np.empty(0, np.uint64)
                results.append(result_of(self._open().query_batch(nothing, k, most, listener)))
        return joined(results)

    def find(
        self,
        texts: Any,
        k: Optional[int] = None,
        limit: Optional[int] = None,
        *,
        similarity: Optional[float] = None,
        text: str = "text",
    ) -> Result:
        """All rows near a text, or near each of many, by the recipe of the database.

        ``texts`` is a text, a list, a column, or a table with a column ``text``. One text is as in :meth:`query`; many
        are as in :meth:`query_batch`. Of a text without features, only copies that :func:`dedup_files` has stored are
        found, and of a missing text or one without tokens nothing.

        Where the database keeps evidence, and ``k`` is not given, exact similarities of at least ``similarity``
        decide, as in :meth:`pairs`: the column ``similarity`` is added, and the most similar rows come first.
        Fingerprints are made for the limit of the database: with a lower ``similarity``, some rows are missed.

        Raises ``InputError`` for a database without a recipe.
        """
        recipe = self._recipe_of_texts()
        is_one_text = isinstance(texts, str)
        source = Texts([texts] if is_one_text else texts, text, missing="keep")
        listed = [one for batch in source.batches() for one in batch.texts]
        if self._is_exact(k):
            rows = None if limit is None else check_count(limit, "limit")
            columns = self._open().find_texts(listed, _checked(similarity), rows)
            if is_one_text:
                del columns["query"]
            return result_of(columns)
        prints, near_nothing = stored_fingerprints(listed, recipe)
        if is_one_text:
            found = self.query(prints[0], k, limit, similarity=similarity)
            return found[:0] if near_nothing else found
        found = self.query_batch(prints, k, limit, similarity=similarity)
        queries = found["query"]
        rest = ~np.isin(queries, np.array(near_nothing, queries.dtype))
        return found if rest.all() else Result({name: column[rest] for name, column in found.items()})

    def nearest(
        self,
        fingerprints: Any,
        count: Optional[int] = None,
        max_k: Optional[int] = None,
        *,
        k: Optional[int] = None,
        similarity: Optional[float] = None,
        progress: Progress = None,
    ) -> Result:
        """The ``count`` nearest rows (1) at most ``max_k`` bits away, for one fingerprint or each of many.

        ``max_k`` is unlimited by default, and ``similarity`` says it for MinHash, where only rows with an equal band
        are found. ``k`` is another name of ``count``, as in
        libraries of nearest neighbours. Columns as in :meth:`query` for one fingerprint, as in :meth:`query_batch` for
        many. Of equal distances, the smaller fingerprint is first, then the smaller id.
        """
        if count is not None and k is not None:
            raise InputError("count and k: only one of them can be given")
        wanted = 1 if count is None and k is None else check_count(k if count is None else count, "count")
        single = is_one(fingerprints, self._width)
        self._check_carried(fingerprints)
        words = self._words_of_one(fingerprints) if single else words_of(fingerprints, self._width)[0]
        most = self._width if max_k is None else check_k(max_k, self._width)
        if similarity is not None:
            most = self._k_of(max_k, similarity)
        with listening(self._listened(progress)) as listener:
            columns = self._open().nearest(words, wanted, most, listener)
        if single:
            del columns["query"]
        return result_of(columns)

    def pairs(
        self,
        k: Optional[int] = None,
        ids: bool = False,
        *,
        similarity: Optional[float] = None,
        progress: Progress = None,
    ) -> Blocks:
        """All pairs of distinct fingerprints within ``k`` bits, once each, as an iterator of tables.

        Columns ``a``, ``b``, ``distance``. With ``ids``: all pairs of rows, also of equal fingerprints,
        with columns ``id_a`` and ``id_b``. ``.table()`` returns all pairs in one table.

        Where the database keeps evidence (features or texts of documents, as :func:`dedup_files` stores them), and
        ``k`` is not given, exact similarities decide: pairs of at least ``similarity``, by default the limit of the
        database. Documents that share no band are not compared: a few pairs near the limit are missed, and more far
        below that limit. The column ``similarity`` is added; of two fingerprints it is the largest of their
        documents. With ``ids``, ``key_a`` and ``key_b`` are added too.
        """
        listener = listener_of(self._listened(progress))
        if self._is_exact(k):
            return Blocks(self._open().similar_pairs(_checked(similarity), ids, listener))
        return Blocks(self._open().pairs(self._k_of(k, similarity), ids, listener))

    def clusters(
        self, k: Optional[int] = None, *, similarity: Optional[float] = None, progress: Progress = None
    ) -> Blocks:
        """The connected components of the pairs within ``k`` bits, without single rows.

        An iterator of tables with columns ``cluster`` (0, 1, ...), ``id``, ``fingerprint`` and, if
        there are keys, ``key``.

        Where the database keeps evidence, and ``k`` is not given, pairs of documents of at least ``similarity``
        connect, as in :meth:`pairs`. The column ``similarity`` is added: the similarity with the first document
        of the cluster, which may be below the limit.
        """
        listener = listener_of(self._listened(progress))
        if self._is_exact(k):
            return Blocks(self._open().similar_clusters(_checked(similarity), listener))
        return Blocks(self._open().clusters(self._k_of(k, similarity), listener))

    def cross(
        self,
        other: Database,
        k: Optional[int] = None,
        ids: bool = False,
        *,
        similarity: Optional[float] = None,
        progress: Progress = None,
    ) -> Blocks:
        """All pairs within ``k`` bits of a fingerprint ``a`` of this database and ``b`` of another one.

        Equal fingerprints are included. Columns as in :meth:`pairs`. Raises ``InputError`` for another
        width, and for other bands. Where both keep evidence, similarities are exact, as in :meth:`pairs`; another
        recipe is an ``InputError``.
        """
        if not isinstance(other, Database):
            raise TypeError(f"other: a Database is wanted, not {type(other).__name__}")
        listener = listener_of(self._listened(progress))
        if self._is_exact(k) and other._is_exact(k):
            return Blocks(self._open().similar_cross(other._open(), _checked(similarity), ids, listener))
        return Blocks(self._open().cross(other._open(), self._k_of(k, similarity), ids, listener))

    def activity(self) -> dict[str, Any]:
        """Who writes to the database just now, and when it was written to last.

        ``locked`` says whether a writer has it, in any process; ``writer`` is its process, host and time, if
        they could be read; ``last_commit`` is a ``datetime`` in UTC.
        """
        locked, writer, seconds = self._open().activity()
        return {"locked": locked, "writer": writer, "last_commit": datetime.fromtimestamp(seconds, timezone.utc)}

    def rows(self) -> Blocks:
        """All rows by (fingerprint, id), as an iterator of tables.

        Columns ``id``, ``fingerprint`` and, if there are keys, ``key``.
        """
        return Blocks(self._open().rows())

    def fingerprints_of(self, id: int) -> npt.NDArray[np.uint64]:
        """The fingerprints stored under an id, ascending. Costs a walk over all rows."""
        return self._open().fingerprints_of(id_of(id))

    def keys_of(self, fingerprint: Fingerprint, id: int) -> list[str]:
        """The keys of a row, ascending; empty if the row has none or does not exist."""
        return list(self._texts_of(fingerprint, id))

    def texts_of(self, fingerprint: Fingerprint, id: int) -> dict[str, str]:
        """The texts of a row by its keys; empty texts if the database stores none.

        Invalid UTF-8 is replaced.
        """
        texts, has_texts = self._texts_of(fingerprint, id), self.keeps_texts
        return {key: text.decode("utf-8", "replace") if has_texts else "" for key, text in texts.items()}

    def hashes_of(self, fingerprint: Fingerprint, id: int) -> dict[str, bytes]:
        """What is stored with the keys of a row, by its keys: hashes or features of texts, or texts in UTF-8."""
        return self._texts_of(fingerprint, id)

    def _texts_of(self, fingerprint: Fingerprint, id: int) -> dict[str, bytes]:
        return dict(self._open().texts_of(words_of_one(fingerprint, self._width), id_of(id)))

    def ids_of_key(self, key: Key, everywhere: bool = False) -> Ids:
        """The ids of the rows that have a key, ascending.

        Finds rows whose ids were made from their keys. ``everywhere`` walks over all keys, and finds
        rows with other ids, too. Empty if the database stores no keys.
        """
        return self._open().ids_of_key(key_of(key), everywhere)

    def left_out(self, key: Key) -> Optional[LeftOut]:
        """Of which kept document the one with this key was a near-duplicate.

        ``None`` if it was not left out, or the database was made without ``remember``: see :func:`dedup_files`. Where
        hashes of keys are remembered, it costs a walk over all of them.
        """
        found = self._open().left_out(key_of(key))
        if found is None:
            return None
        kept_id, keys, similarity, job = found
        return LeftOut(keys[0] if keys else None, kept_id, similarity, job or None)

    # Changes.

    def add(
        self,
        fingerprints: Any,
        ids: Any = None,
        keys: Optional[Union[Key, Iterable[Key]]] = None,
        *,
        texts: Optional[Iterable[Union[str, bytes]]] = None,
        fingerprint: Optional[str] = None,
        id: Optional[str] = None,
        key: Optional[str] = None,
        text: Optional[str] = None,
        signed: bool = False,
    ) -> Ids:
        """Inserts rows, and returns their ids: uint64, shape (n,).

        ``fingerprints`` is one fingerprint or many. ``ids`` are uint64; the default is the 64-bit xxh3
        of the key, or, without a key, 1 + the largest id so far. ``keys`` are texts; ``texts`` are
        stored with the keys. Rows are a set: a row that exists already is not changed.

        Instead of columns, rows may be a table: of pandas, pyarrow, polars or DuckDB, a mapping, a
        :class:`Result`, or a stream of Arrow data, which is read batch by batch. ``fingerprint`` (by
        default ``"fingerprint"``), ``id``, ``key`` and ``text`` are the names of its columns; without ``id`` and
        ``key``, its columns ``id`` and ``key`` are taken, as :meth:`rows` has them. With ``signed``, fingerprints
        and ids of int64 are bit patterns: -1 is the largest number.

        Durable and visible after the next :meth:`commit`. A call that is interrupted, or runs out of
        automatic ids or of memory, may have inserted a part of the rows, and so may one that meets an invalid value in
        a later batch of a table or stream. An exception that leaves the ``with`` block of the database forgets them.

        Raises ``LockedError`` while there is another writer; ``InputError`` for a wrong number of ids
        or keys, for keys or texts if the database stores none, for texts if it stores features, which
        :meth:`add_texts` makes, for a text of a row without a key, and for keys of more than 65,536 bytes.
        """
        names = Names(fingerprint, id, key, text)
        return self._insert(Rows(fingerprints, ids, keys, texts), names, signed, upsert=False)

    def add_texts(
        self,
        texts: Any,
        keys: Any = None,
        *,
        text: str = "text",
        key: Optional[str] = None,
        missing: Literal["error", "skip"] = "error",
    ) -> Ids:
        """Inserts texts, and returns the ids of their rows: uint64, shape (n,).

        Fingerprints are made by the recipe of the database, with what it keeps of documents: features, texts or
        hashes. Near texts are stored, too; :func:`nearprint.dedup` leaves them out. ``texts`` is a list, a column, or a
        table whose columns ``text`` and ``key`` these are. Ids are made from keys; without ``keys``, a key is the first
        16 digits of the MD5 of its text. A text of a stored key is added beside the stored one, unless
        :meth:`delete_keys` deletes that first. Missing texts have no row with ``missing="skip"``.

        Otherwise as :meth:`add`. Raises ``InputError`` for a database without a recipe, and for missing texts.
        """
        recipe = self._recipe_of_texts()
        if not self.keeps_keys and (keys is not None or key is not None):
            raise InputError(f"{self._path}: the database stores no keys")
        core, how = self._open(), (recipe, self._settings()[2], check_threads(None))
        ids = [np.empty(0, np.uint64)]
        source = Texts(texts, text, key=key, keys=keys, missing=missing, can_keep=False)
        for batch in (source.with_own_keys() if self.keeps_keys else source).batches():
            ids.append(core.add(rows_of(batch, how).native(self._width)[0], False))
        return np.concatenate(ids)

    def _recipe_of_texts(self) -> str:
        recipe = self.recipe
        if recipe in PICTURE_RECIPES:
            raise InputError(
                f"{self._path}: has fingerprints of images, by the recipe {recipe}, and no texts; "
                "query_batch(nearprint.images.fingerprint(images)) finds images"
            )
        if recipe is None:
            raise InputError(
                f"{self._path}: has no recipe, which would make fingerprints of texts; "
                'nearprint.create(path, recipe="minhash", features=True) makes a database for texts'
            )
        return recipe

    def upsert(
        self,
        fingerprints: Any,
        ids: Any = None,
        keys: Optional[Union[Key, Iterable[Key]]] = None,
        *,
        texts: Optional[Iterable[Union[str, bytes]]] = None,
        fingerprint: Optional[str] = None,
        id: Optional[str] = None,
        key: Optional[str] = None,
        text: Optional[str] = None,
        signed: bool = False,
    ) -> Ids:
        """Replaces all rows with an id, or with the id of a key, by one row: the last one. Ids or keys are needed.

        The id of a key is its hash: a row that has this key and an id of its own stays.
        :meth:`delete_keys` finds it.
        Returns and raises as :meth:`add`.
        """
        names = Names(fingerprint, id, key, text)
        return self._insert(Rows(fingerprints, ids, keys, texts), names, signed, upsert=True)

    def insert_if_new(
        self,
        fingerprints: Any,
        k: Optional[int] = None,
        ids: Any = None,
        keys: Optional[Union[Key, Iterable[Key]]] = None,
        *,
        similarity: Optional[float] = None,
        texts: Optional[Iterable[Union[str, bytes]]] = None,
        fingerprint: Optional[str] = None,
        id: Optional[str] = None,
        key: Optional[str] = None,
        text: Optional[str] = None,
        signed: bool = False,
    ) -> IfNew:
        """Inserts each row that has no stored row within ``k`` bits, and returns what the others have met.

        Uncommitted rows count, and so do the rows of this call. ``fingerprints`` is one fingerprint, many, or a table;
        ``k`` and ``similarity`` are as in :meth:`query`, and the rest as in :meth:`add`. Durable after the next
        :meth:`commit`.
        """
        core, distance = self._open(), self._k_of(k, similarity)
        rows = self._listed(Rows(fingerprints, ids, keys, texts))
        given, met, first = [np.empty(0, np.uint64)], [], 0
        for batch in rows.batches(Names(fingerprint, id, key, text)):
            [(_, native), *without_key] = apart(self._native(batch, signed))
            if without_key:
                raise TypeError("keys: some are missing; rows without a key are inserted apart")
            own, found = core.insert_if_new(native, distance)
            found["query"] += first
            first += len(own)
            given.append(own)
            met.append(result_of(found))
        nearest, all_ids = joined(met), np.concatenate(given)
        inserted = np.ones(len(all_ids), bool)
        inserted[nearest["query"]] = False
        return IfNew(inserted, all_ids, nearest)

    def _listed(self, rows: Rows) -> Rows:
        """The same rows; one fingerprint becomes a list of one."""
        if not is_one(rows.fingerprints, self._width):
            return rows
        one = self._words_of_one(rows.fingerprints, "add_texts").reshape(1, -1)
        keys = [rows.keys] if isinstance(rows.keys, (str, int, np.integer)) else rows.keys
        texts = [rows.texts] if isinstance(rows.texts, (str, bytes)) else rows.texts
        return Rows(one, rows.ids, keys, texts)

    def _insert(self, rows: Rows, names: Names, signed: bool, upsert: bool) -> Ids:
        core = self._open()
        given = []
        for batch in self._listed(rows).batches(names):
            if upsert and batch.ids is None and batch.keys is None:
                raise InputError("upsert: ids or keys are needed")
            native = self._native(batch, signed)
            own = np.empty(len(native["words"]) * 64 // self._width, np.uint64)
            for places, part in apart(native, in_order=upsert):
                own[places] = core.add(part, upsert)
            given.append(own)
        return given[0] if len(given) == 1 else np.concatenate([np.empty(0, np.uint64), *given])

    def _native(self, rows: Rows, signed: bool) -> dict[str, Any]:
        """Rows for the native module, which have what the database keeps of documents."""
        self._check_carried(rows.fingerprints)
        try:
            native = rows.native(self._width, signed=signed)[0]
        except InputError as error:
            for first in islice(rows.fingerprints, 1):
                self._hint(error, first, "add_texts")
            raise
        if rows.texts is None and self._settings()[2] == "keys and features":
            raise InputError(
                f"{self._path}: stores features of texts, without which find, pairs and dedup would miss these rows; "
                "add_texts() makes them, after delete_keys() where they replace others, and backup() copies them"
            )
        if rows.texts is None and self.recipe is not None and self._settings()[2] == "keys and texts":
            warnings.warn(
                f"{self._path}: stores texts, without which find, pairs and dedup may miss these rows; add_texts() "
                "stores them",
                UserWarning,
                stacklevel=3,
            )
        return native

    def _check_carried(self, fingerprints: Any) -> None:
        if carried_recipe(fingerprints) is not None:
            check_carried(fingerprints, self.recipe, self._settings()[1], self._path)

    def _words_of_one(self, fingerprint: Fingerprint, method: str = "find") -> npt.NDArray[np.uint64]:
        self._check_carried(fingerprint)
        try:
            return words_of_one(fingerprint, self._width)
        except InputError as error:
            self._hint(error, fingerprint, method)
            raise

    def _hint(self, error: InputError, fingerprint: Any, method: str) -> None:
        """Raises the error of a fingerprint that is a text, with what takes texts."""
        if isinstance(fingerprint, str) and self.recipe in PICTURE_RECIPES:
            raise InputError(f"{error}; nearprint.images.fingerprint makes those of images") from None
        if isinstance(fingerprint, str):
            ways = "nearprint.fingerprint makes those of texts"
            if self.recipe is not None:
                ways = f"{method}() takes texts, and nearprint.fingerprint(texts, database.recipe) makes fingerprints"
            raise InputError(f"{error}; {ways}") from None

    def delete(self, ids: Any) -> None:
        """Deletes all rows with one id or several. An id without rows is not an error."""
        self._open().delete(ids_of(ids, None))

    def delete_ids(self, first: int, last: int) -> int:
        """Deletes all rows with ids from ``first`` to ``last``, both included, and returns their number.

        Raises ``InputError`` if ``first`` is above ``last``.
        """
        most = 2**64 - 1
        start, end = check_count(first, "first", 0, most), check_count(last, "last", 0, most)
        if start > end:
            raise InputError(f"first = {first}, last = {last}: the first id is above the last one")
        return self._open().delete_ids(start, end)

    def delete_keys(self, keys: Union[Key, Iterable[Key]]) -> int:
        """Deletes one key or several, and the rows that have no other key. Returns the number of these rows.

        Numbers are keys by their digits, as in :meth:`add`.
        Rows are found whatever their ids. All keys together cost one walk over the stored keys. Raises ``InputError``
        where the database stores no keys.
        """
        listed = keys if isinstance(keys, Iterable) and not isinstance(keys, str) else [keys]
        return self._open().delete_keys([key_of(key) for key in listed])

    def delete_key_prefix(self, prefix: str) -> int:
        """Deletes all keys that begin with ``prefix``, as :meth:`delete_keys` does."""
        if not isinstance(prefix, str):
            raise TypeError(f"prefix: a text is wanted, not {type(prefix).__name__}")
        return self._open().delete_key_prefix(prefix)

    def commit(self) -> None:
        """Makes all changes durable, and visible to later reads in every process."""
        self._open().commit()

    def flush(self) -> None:
        """Commits, and writes the content of the log into a run."""
        self._open().flush()

    def compact(self, *, progress: Progress = None) -> None:
        """Commits, and merges all runs into one, without deleted rows."""
        with listening(self._listened(progress)) as listener:
            self._open().compact(listener)

    def ingest(self, paths: Any, *, progress: Progress = None) -> IngestReport:
        """Ingests folders that were built with ``runs_only``, all or none of them.

        Runs that were ingested before are skipped.
        """
        folders = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
        with listening(self._listened(progress)) as listener:
            return IngestReport(*self._open().ingest([path_of(folder) for folder in folders], listener))

    def backup(self, dest: Path, *, base: Optional[Path] = None, progress: Progress = None) -> int:
        """Copies the committed database to ``dest``, which must not exist, or be an empty folder.

        Unchanged files are shared with ``base``, an earlier copy, as hard links where the file system has them.
        Returns the number of bytes that are shared.
        """
        with listening(self._listened(progress)) as listener:
            return self._open().backup(path_of(dest), None if base is None else path_of(base), listener)

    def follow(self, dest: Path, *, progress: Progress = None) -> Follower:
        """Makes a folder that follows the database, and brings it up to date; or goes on with one.

        ``dest`` must not exist, be an empty folder, or follow this database already. :meth:`Follower.update` copies
        what was committed since: the folder is a state of the database at every moment, and after a crash.
        """
        with listening(self._listened(progress)) as listener:
            return Follower(self._open().follow(place_of(dest), listener))

    def refresh(self) -> None:
        """Makes later commits of others visible to reads. After an error, reads raise until one of them succeeds."""
        self._open().refresh()

    def close(self) -> None:
        """Commits, waits for merges, and releases the lock. A second call does nothing.

        Raises ``ForkError`` in a child process if changes of the parent wait for their commit.
        """
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
