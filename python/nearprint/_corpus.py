"""Texts as rows: databases of them, their pairs and clusters, and their comparison with a database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional, TypeVar, overload

import numpy as np

from . import _database, _making, _nearprint
from ._database import Database, Path
from ._progress import Progress
from ._result import Result
from ._settings import with_near
from ._sources import Missing, Returned, Texts
from ._tables import Label

#: A table of any library.
Frame = TypeVar("Frame")


@contextmanager
def _temporary(
    texts: Any, text: Label, missing: Missing, recipe: str, threads: Optional[int], progress: Progress
) -> Iterator[Database]:
    """A database of texts, whose ids are their numbers."""
    with tempfile.TemporaryDirectory(prefix="nearprint-texts-") as home:
        path = os.path.join(home, "texts.np")
        source = Texts(texts, text, missing=missing)
        with _making.build_texts(path, source, recipe=recipe, threads=threads, progress=progress) as database:
            yield database


def pairs(
    texts: Any,
    similarity: Optional[float] = None,
    *,
    k: Optional[int] = None,
    text: Label = "text",
    missing: Missing = "error",
    recipe: str = "minhash",
    threads: Optional[int] = None,
    progress: Progress = None,
) -> Result:
    """The pairs of texts with at least a ``similarity``, by default 0.7: columns ``a``, ``b``, ``similarity``.

    ``a`` and ``b`` are indexes (int64), with ``a < b``, and rows are in their order. Similarities are exact. Texts that
    share no band are not compared: of pairs at a limit of 0.5 or more 1 in 800 is missed, at 0.2 1 in 9, and above the
    limit fewer; of texts of one to five words up to 1 in 18 at limits below 0.7. With ``k``, or a recipe that is not
    MinHash, fingerprints within ``k`` bits are near, and the third column is ``distance``. ``texts``, ``text`` and
    ``missing`` are as in :func:`nearprint.dedup`; nothing is near a missing text.
    """
    line = recipe if similarity is None or k is not None else with_near(recipe, similarity)
    with _temporary(texts, text, missing, line, threads, progress) as database:
        found = database.pairs(k, ids=True, similarity=similarity, progress=progress).table()
    ends = np.stack([found["id_a"], found["id_b"]]).astype(np.int64)
    a, b = ends.min(axis=0), ends.max(axis=0)
    order = np.lexsort((b, a))
    name = "similarity" if "similarity" in found else "distance"
    return Result({"a": a[order], "b": b[order], name: found[name][order]})


def clusters(
    texts: Any,
    similarity: Optional[float] = None,
    *,
    k: Optional[int] = None,
    text: Label = "text",
    missing: Missing = "error",
    recipe: str = "minhash",
    threads: Optional[int] = None,
    progress: Progress = None,
) -> Result:
    """The texts that :func:`pairs` connect, without single ones: columns ``cluster`` and ``index``.

    ``cluster`` is the smallest index of the cluster, and rows are ordered by both. Arguments as for :func:`pairs`.
    """
    line = recipe if similarity is None or k is not None else with_near(recipe, similarity)
    with _temporary(texts, text, missing, line, threads, progress) as database:
        found = database.clusters(k, similarity=similarity, progress=progress).table()
    index = found["id"].astype(np.int64)
    smallest = np.full(int(found["cluster"].max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(smallest, found["cluster"], index)
    # A row is repeated for each of its keys.
    rows = np.unique(np.stack([smallest[found["cluster"]], index]), axis=1)
    return Result({"cluster": rows[0], "index": rows[1]})


@overload
def against(
    texts: Any,
    database: Path,
    similarity: Optional[float] = None,
    *,
    k: Optional[int] = None,
    text: Label = "text",
    table: None = None,
    con: None = None,
    missing: Missing = "error",
    threads: Optional[int] = None,
) -> Result: ...
@overload
def against(
    texts: Frame,
    database: Path,
    similarity: Optional[float] = None,
    *,
    k: Optional[int] = None,
    text: Label = "text",
    table: Returned,
    con: Any = None,
    missing: Missing = "error",
    threads: Optional[int] = None,
) -> Frame: ...
def against(
    texts: Any,
    database: Path,
    similarity: Optional[float] = None,
    *,
    k: Optional[int] = None,
    text: Label = "text",
    table: Optional[Returned] = None,
    con: Any = None,
    missing: Missing = "error",
    threads: Optional[int] = None,
) -> Any:
    """Compares texts with a database, which is only read: columns ``kept``, ``duplicate_key`` and ``similarity``.

    ``kept`` is true if no text of the database is near. Otherwise ``duplicate_key`` is the key of the most similar one,
    and ``similarity`` their similarity: exact if the database keeps evidence, and ``k`` is not given. The recipe and
    the limit come from the database; with a lower ``similarity``, some texts near one are missed. Texts are not
    compared with each other. Other arguments are as in :func:`nearprint.dedup`: ``table="kept"`` returns the rows of a
    table that are near nothing.

    Raises ``InputError`` for a database without a recipe, and for one of the paragraphs of ``trim_files``.
    """
    source = Texts(texts, text, missing=missing)
    parts = [_nothing_near(0)]
    source.prepare(table, parts[0], con)
    with _database.open(database, threads=threads) as opened:
        opened._open().check_whole_documents()
        for batch in source.batches():
            parts.append(_nearest(opened, batch.texts, k, similarity))
            if missing == "skip":
                parts[-1]["kept"][[one is None for one in batch.texts]] = False
    return source.returned(table, Result({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}))


def _nothing_near(count: int) -> dict[str, Any]:
    return {
        "kept": np.full(count, True),
        "duplicate_key": np.full(count, None, object),
        "similarity": np.full(count, np.nan),
    }


def _nearest(
    database: Database, texts: list[Optional[str]], k: Optional[int], similarity: Optional[float]
) -> dict[str, Any]:
    found = database.find(texts, k, 1, similarity=similarity)
    columns, query = _nothing_near(len(texts)), found["query"]
    columns["kept"][query] = False
    if "key" in found:
        columns["duplicate_key"][query] = found["key"]
    if "similarity" in found:
        columns["similarity"][query] = found["similarity"]
    elif database.recipe is not None:
        columns["similarity"][query] = _nearprint.estimates(database.recipe, found["distance"].tolist())
    return columns
