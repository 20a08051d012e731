"""Makes databases: empty ones, from rows, or from damaged ones."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain
from typing import Any, Literal, Optional, Union

import numpy as np

from . import _nearprint
from ._arrays import Key, Words, check_threads, check_width, ids_of, in_order, path_of, place_of
from ._carried import settled, warn_of_open_kind
from ._database import Database, Path
from ._errors import Error, InputError
from ._progress import Progress, check_progress, listening
from ._reports import Finding, RepairReport
from ._rows import NOTHING, Names, Rows, apart
from ._settings import (
    Duration,
    Listener,
    check_count,
    k_of_layout,
    kind_of,
    line_and_width,
    settings_of,
    with_near,
)
from ._sources import Texts
from ._tables import read_once
from ._text_rows import are_texts, rows_of, storage_of


def create(
    path: Path,
    *,
    k: Optional[int] = None,
    similarity: Optional[float] = None,
    kind: Optional[Literal["hamming", "bands"]] = None,
    width: Optional[int] = None,
    layout: str = "auto",
    recipe: Optional[str] = None,
    keys: bool = False,
    texts: bool = False,
    hashes: bool = False,
    features: bool = False,
    expire_after: Optional[Duration] = None,
    partition: Optional[Duration] = None,
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
    """Creates an empty database and opens it. ``path`` must not exist, or be an empty folder.

    ``kind`` defines near: ``hamming``, the distance of fingerprints, or ``bands``, an equal band and near sketches, for
    MinHash fingerprints; by default the kind of the recipe. ``k`` is the distance in bits that the layout is tuned for
    (3); queries may use any other. With bands it is the distance of sketches, or follows from a ``similarity`` of texts
    (0.7), which becomes a part of the recipe where texts are compared. ``width`` is 64, 128, 256 or 320 bits; the
    default is the width of the recipe or the bands, or 64; 256 bits without a ``kind`` or a ``recipe`` are ``hamming``,
    with a ``UserWarning``. ``layout`` is ``auto``, ``fast``, ``small``, ``rotations:T``, ``blocks:M,S`` or
    ``bands:BxN``. ``recipe`` is stored: it makes the fingerprints of texts. With ``keys``, rows have keys (URLs, paths,
    ids of documents); with ``texts``, keys have texts; with ``hashes``, they have hashes of texts, of at most 32 bytes;
    with ``features``, the hashed shingles of texts, by which documents are compared exactly: for documents, with a
    recipe of MinHash. Rows expire after ``expire_after``, a ``timedelta`` or seconds; rows of one ``partition`` of the
    time (a tenth of it) expire together. All other arguments are the same as for :func:`open`.

    Raises ``ExistsError``, a ``FileExistsError``, if the path exists already; ``InputError`` for invalid
    options.
    """
    line, width = line_and_width(recipe, width)
    if similarity is not None and line is not None and (features or texts) and _nearprint.recipe_line(line)[2]:
        # Documents are compared by what the recipe says. Fingerprints of texts have the bands of the recipe as given.
        chooses_bands = features and layout == "auto"
        recipe = with_near(recipe if chooses_bands and recipe else line, similarity)
        line, width = line_and_width(recipe, width)
    layout, of_kind = kind_of(kind, layout, recipe)
    width = check_width(width or of_kind or 64)
    warn_of_open_kind(width, recipe, kind, layout)
    if features and not layout.startswith("bands:"):
        raise InputError('features: are compared with MinHash, as by recipe="minhash"')
    settings = settings_of(
        k_of_layout(k, similarity, layout, width, line),
        width,
        layout,
        line,
        keys,
        texts,
        hashes,
        features,
        expire_after=expire_after,
        partition=partition,
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
    return Database(_nearprint.Core.create(place, width, settings), place, progress)


def build(
    path: Path,
    fingerprints: Any,
    ids: Any = None,
    keys: Optional[Iterable[Key]] = None,
    *,
    fingerprint: Optional[str] = None,
    id: Optional[str] = None,
    key: Optional[str] = None,
    text: Optional[str] = None,
    missing: Literal["error", "skip"] = "error",
    signed: bool = False,
    k: Optional[int] = None,
    similarity: Optional[float] = None,
    kind: Optional[Literal["hamming", "bands"]] = None,
    width: Optional[int] = None,
    layout: str = "auto",
    recipe: Optional[str] = None,
    texts: Optional[Iterable[Union[str, bytes]]] = None,
    hashes: bool = False,
    store: Optional[Literal["features", "texts", "hashes", "keys"]] = None,
    first_id: int = 0,
    runs_only: bool = False,
    identity: Optional[str] = None,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    wait: float = 0.0,
    progress: Progress = None,
) -> Database:
    """Creates a database of rows, all or none of them, and opens it.

    Rows may be texts: a list or a column in which some are not hexadecimal, and none is a fingerprint with all its
    digits, or a table with a column ``text``, or the one that ``text`` names, and none of fingerprints. Their
    fingerprints are made by the ``recipe`` (``minhash``), which the database stores. With ``store="features"``, the
    default for MinHash, or ``"texts"``, :meth:`Database.find` and others compare exactly; with ``"hashes"`` or
    ``"keys"``, fingerprints are compared, and hashes tell copies. A column ``key`` of a table has their keys, unless
    ``key`` names another one. Without ``keys``, ids are their numbers from ``first_id`` on, and keys the first 16
    digits of the MD5 of texts. Missing texts have no row with ``missing="skip"``. ``similarity`` is the limit of near
    texts (0.7), which becomes a part of the recipe.

    Rows are as in :meth:`Database.add`, settings as in :func:`create`. An array that :func:`fingerprint` made, also as
    a column of a ``dict``, carries its recipe, which the database stores, unless a ``kind`` or a layout is given, which
    must be that of the recipe; ``numpy.asarray`` drops it. Fingerprints of 256 bits that carry none need a ``kind`` or
    a ``recipe``: ``hamming`` is taken with a ``UserWarning``. Without a width and a recipe, an array, bytes or
    hexadecimal digits determine the width, and other lists have 64 bits. Rows without ids and keys are numbered from
    ``first_id``. Sorting takes ``memory`` bytes (1 GiB) in addition to the arguments; an array of ``numpy.memmap`` is
    read as needed, and a stream batch by batch. With ``runs_only`` the result is a folder of runs for
    :meth:`Database.ingest`. A database adopts one of all runs with the same ``identity``, a name; without it, one of
    all runs with the same rows, unless ids were given automatically. With ``hashes``, the ``texts`` are hashes, of at
    most 32 bytes.

    Raises ``InputError`` for an ``identity`` without ``runs_only``, and as :meth:`Database.add` and :func:`create`.
    """
    if identity is not None and not runs_only:
        raise InputError("identity is for runs: runs_only=True")
    if ids is not None and id is not None:
        raise InputError("ids and id: only one of them can be given")
    fingerprints = read_once(fingerprints)
    if texts is None and are_texts(fingerprints, fingerprint, text, missing):
        if kind is not None or width is not None or layout != "auto" or signed or hashes:
            raise InputError("kind, width, layout, signed, hashes: are of fingerprints, and these are texts")
        source = Texts(fingerprints, text or "text", key=key, keys=keys, id=id, missing=missing, can_keep=False)
        return build_texts(
            path,
            source.with_own_keys(),
            ids,
            k=k,
            recipe=recipe if similarity is None else with_near(recipe or "minhash", similarity),
            store=store,
            first_id=first_id,
            runs=(runs_only, identity),
            threads=threads,
            memory=memory,
            memtable_rows=memtable_rows,
            background_merges=background_merges,
            wait=wait,
            progress=progress,
        )
    if missing != "error":
        raise InputError("missing: is of texts, and these are fingerprints")
    batches = Rows(fingerprints, ids, keys, texts).batches(Names(fingerprint, id, key, text))
    # A stream without a batch has no rows, and a batch without rows may have no width.
    first = NOTHING
    for first in batches:
        if not hasattr(first.fingerprints, "__len__") or len(first.fingerprints):
            break
    recipe, layout = settled(first.fingerprints, recipe, kind, layout)
    line, width = line_and_width(recipe, width)
    layout_of_kind, of_kind = kind_of(kind, layout, recipe)
    try:
        rows, width = first.native(width, of_kind or 64, signed)
    except InputError as error:
        if not isinstance(fingerprints, list) or not any(isinstance(one, str) for one in fingerprints):
            raise
        raise InputError(f'{error}; {{"text": [...]}} has texts') from None
    warn_of_open_kind(width, recipe, kind, layout)
    settings = settings_of(
        k_of_layout(k, similarity, layout_of_kind, width, line),
        width,
        layout_of_kind,
        line,
        rows["keys"] is not None,
        (texts is not None or text is not None) and not hashes,
        hashes,
        threads=threads,
        memory=memory,
        memtable_rows=memtable_rows,
        background_merges=background_merges,
        wait=wait,
        first_id=first_id,
    )
    place = place_of(path)
    with listening(progress) as listener:
        builder = _nearprint.Builder.begin(place, width, settings, (runs_only, identity), listener)
        try:
            for native in chain([rows], (batch.native(width, signed=signed)[0] for batch in batches)):
                for _, part in apart(native):
                    builder.push(part)
            builder.finish()
        finally:
            builder.abandon()
    return Database(_nearprint.Core.open(place, settings), place, progress)


def build_texts(
    path: Path,
    source: Texts,
    ids: Any = None,
    *,
    k: Optional[int] = None,
    recipe: Optional[str] = None,
    store: Optional[str] = None,
    first_id: int = 0,
    runs: tuple[bool, Optional[str]] = (False, None),
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> Database:
    """Creates a database of texts, all or none of them, and opens it. See :func:`build`."""
    line, width, bands = _nearprint.recipe_line(recipe or "minhash")
    layout = "auto" if bands is None else f"bands:{bands}"
    default = _nearprint.default_k(line) if k is None else k
    settings = settings_of(default, width, layout, line, threads=threads, first_id=first_id, **options)
    settings["keys"] = storage_of(line, store)
    how = line, settings["keys"], check_threads(threads)
    if ids is not None:
        ids = ids if hasattr(ids, "__len__") else in_order(ids, "ids")
        ids = ids_of(ids, len(ids))
    count = 0
    place = place_of(path)
    with listening(progress) as listener:
        builder = _nearprint.Builder.begin(place, width, settings, runs, listener)
        try:
            for batch in source.batches():
                of_batch, end = None, count + len(batch.texts)
                if batch.values is not None:
                    of_batch = ids_of(batch.values, len(batch.texts))
                elif ids is not None:
                    of_batch = ids[count:end]
                    if end > len(ids):
                        raise InputError(f"{len(ids)} ids for {end} texts or more")
                elif batch.keys is None:
                    of_batch = _automatic_ids(first_id + count, first_id + end)
                builder.push(rows_of(batch, how, of_batch).native(width)[0])
                count = end
            if ids is not None and len(ids) != count:
                raise InputError(f"{len(ids)} ids for {count} texts")
            builder.finish()
        finally:
            builder.abandon()
    return Database(_nearprint.Core.open(place, settings), place, progress)


def _automatic_ids(first: int, end: int) -> Words:
    if end > 1 << 64:
        raise Error("limit reached: no automatic id is left above 2^64 - 1; give rows ids of their own")
    return np.arange(end - first, dtype=np.uint64) + np.uint64(first)


def is_there(path: str) -> bool:
    """Whether the path exists and is not an empty folder."""
    return os.path.exists(path) and not (os.path.isdir(path) and not os.listdir(path))


def repair(
    path: Path,
    dest: Path,
    *,
    k: int = 3,
    layout: str = "auto",
    fingerprints: bool = False,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    progress: Progress = None,
) -> RepairReport:
    """Saves what can be read of a damaged database into a new one at ``dest``.

    ``dest`` must not exist, or be an empty folder. Every row of the new database was in the old one,
    which is not changed; no writer may have it open. The new database has the settings of the old
    one, or ``k`` and ``layout`` if neither the manifest nor the header of a run has them.

    Where ids are lost and fingerprints are not, their rows are lost. With ``fingerprints``, the result has these
    fingerprints (some may have been deleted); :func:`build` makes a database of them, with new ids.

    Damage is not an error: the result lists it. Raises ``NotFoundError`` if there is no file of a database.
    """
    settings = settings_of(check_count(k, "k", 0, 320), 320, layout, threads=threads, memory=memory)
    with listening(progress) as listener:
        made, complete, counts, findings, found = _nearprint.repair(
            path_of(path), path_of(dest), settings, fingerprints, listener
        )
    rows, lost_rows, without_id, lost_fingerprints, recovered = counts
    listed = [Finding(*finding) for finding in findings]
    return RepairReport(made, complete, rows, lost_rows, without_id, lost_fingerprints, recovered, listed, found)
