"""Pairs, clusters and deduplication of frames of pandas that an engine spreads over many tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np
import pandas as pd

from . import _nearprint, partition
from ._arrays import Words, words_of
from ._errors import InputError
from ._kept import settings_of
from ._order import Keep, Order
from ._result import Result
from ._settings import Similarity, near_of
from ._tables import check_new
from ._texts import stored_fingerprints

#: The columns of words of fingerprints, and the number of the task of a row.
_WORDS, TASK = "nearprint_word", "nearprint_task"
#: Makes a part of a frame of pandas of another.
Make = Callable[[Any], Any]


class Engine(Protocol):
    """What an engine does with rows in its own form. Functions also receive parts without rows."""

    def map(self, rows: Any, make: Make) -> Any:
        """Makes another part of each part of the rows."""

    def place(self, rows: Any, make: Make, tasks: int) -> Any:
        """Brings all rows of each of some tasks together, and makes another part of them."""

    def collect(self, rows: Any) -> Any:
        """All rows in one frame."""


class Near(NamedTuple):
    """When fingerprints are near, and their width."""

    k: int
    bands: Optional[str]
    width: int

    @classmethod
    def of(cls, k: Optional[int], similarity: Optional[float], bands: Optional[str], width: Optional[int]) -> Near:
        """Without bands, a similarity takes the bands of the recipe ``minhash``."""
        if bands is None and similarity is not None:
            bands = _nearprint.recipe_line("minhash")[2]
        bits = width or (64 if bands is None else 256)
        return cls(*near_of(None, bits, k, similarity, bands), bits)

    @property
    def names(self) -> list[str]:
        """The columns of the words of a fingerprint."""
        return [f"{_WORDS}{index}" for index in range(self.width // 64)]

    def frame(self, words: Words) -> Any:
        """Fingerprints, a column for each word."""
        return pd.DataFrame(dict(zip(self.names, words.reshape(-1, self.width // 64).T)))

    def words(self, rows: Any) -> Words:
        """The fingerprints of :meth:`frame`."""
        array: Words = np.ascontiguousarray(rows[self.names].to_numpy(np.uint64))
        return array.reshape(-1) if self.width == 64 else array


class Source(NamedTuple):
    """A column of fingerprints, or of texts with a recipe."""

    near: Near
    column: str
    recipe: Optional[str] = None

    def prints(self, rows: Any) -> tuple[Words, Any]:
        """The fingerprints of rows that may be near others, and which rows have one."""
        column = rows[self.column]
        there = column.notna().to_numpy(bool, copy=True)
        if self.recipe is None:
            present = column[there]
            words = words_of(present.astype(object).tolist() if len(present) else [], self.near.width)[0]
            return words, there
        made, near_nothing = stored_fingerprints(
            [text if isinstance(text, str) else None for text in column], self.recipe, threads=1
        )
        there[near_nothing] = False
        return np.ascontiguousarray(made[there]).reshape(-1), there


def joined(engine: Engine, rows: Any, source: Source, tasks: int, forest: bool) -> Any:
    """The pairs of the fingerprints, or the forests of all tasks: words of both ends, and distances."""
    near = source.near

    def keyed(part: Any) -> Any:
        words, _ = source.prints(part)
        shaped = words if near.width == 64 else words.reshape(-1, near.width // 64)
        found = partition.block_keys(shaped, near.k, width=near.width, bands=near.bands)
        groups = found["group"].astype(np.int64)
        made = near.frame(found["fingerprint"])
        return made.assign(group=groups, **{TASK: groups % tasks})

    def join(part: Any) -> Any:
        groups = part["group"].to_numpy(np.uint64)
        options: dict[str, Any] = {"width": near.width, "bands": near.bands}
        found = partition.join_blocks(groups, near.words(part), near.k, forest, **options)
        ends = [near.frame(found[end]).add_prefix(end) for end in ("a", "b")]
        return pd.concat([*ends, pd.Series(found["distance"], name="distance")], axis=1)

    return engine.place(engine.map(rows, keyed), join, tasks)


def pairs(engine: Engine, rows: Any, source: Source, tasks: int) -> Any:
    """Columns ``a``, ``b`` and ``distance``: each pair once."""
    near = source.near

    def named(part: Any) -> Any:
        ends = {
            end: near.words(part[[end + name for name in near.names]].set_axis(near.names, axis=1))
            for end in ("a", "b")
        }
        return Result({**ends, "distance": part["distance"].to_numpy(np.uint32)}).to_pandas()

    return engine.map(joined(engine, rows, source, tasks, False), named)


def _labels(engine: Engine, rows: Any, source: Source, tasks: int) -> Any:
    """The fingerprints that pairs connect, with the smallest one of their component."""
    near = source.near
    forests = engine.collect(joined(engine, rows, source, tasks, True))
    if not len(forests):
        forests = pd.DataFrame({end + name: [] for end in ("a", "b") for name in near.names})
    ends = [near.words(forests[[end + name for name in near.names]].set_axis(near.names, axis=1)) for end in ("a", "b")]
    found = partition.components(*ends, width=near.width)
    return pd.concat([near.frame(found["fingerprint"]), near.frame(found["cluster"]).add_prefix("of_")], axis=1)


def _labelled(part: Any, source: Source, labels: Any) -> tuple[Words, Any]:
    """The smallest fingerprint of the component of each row that has a fingerprint, and which rows have one."""
    near = source.near
    words, there = source.prints(part)
    found = near.frame(words).merge(labels, "left", near.names)
    own = found[near.names].to_numpy(np.uint64, copy=True)
    of = found[[f"of_{name}" for name in near.names]]
    alone = of.isna().any(axis=1).to_numpy(bool)
    # Words above 2**53 are no floats, which a merge makes of numbers with gaps.
    rows = near.frame(words).merge(labels.assign(at=np.arange(len(labels))), "left", near.names)["at"]
    chosen = labels[[f"of_{name}" for name in near.names]].to_numpy(np.uint64)
    own[~alone] = chosen[rows[~alone].to_numpy(np.int64)]
    return (own.reshape(-1) if near.width == 64 else own), there


def clusters(engine: Engine, rows: Any, source: Source, id: str, tasks: int) -> Any:
    """Columns ``id``, ``fingerprint`` and ``cluster``, the smallest fingerprint; without single rows."""
    near, labels = source.near, _labels(engine, rows, source, tasks)

    def label(part: Any) -> Any:
        cluster, there = _labelled(part, source, labels)
        words, _ = source.prints(part)
        made = near.frame(words).assign(**{id: part[id].to_numpy()[there]})
        made = pd.concat([made, near.frame(cluster).add_prefix("of_")], axis=1)
        return made.assign(**{TASK: _task_of(cluster, near, tasks)})

    def several(part: Any) -> Any:
        of = [f"of_{name}" for name in near.names]
        chosen = np.zeros(0, bool)
        if len(part):
            _, places, counts = np.unique(part[of].to_numpy(np.uint64), axis=0, return_inverse=True, return_counts=True)
            chosen = counts[places.reshape(-1)] > 1
        if near.bands is not None:
            # The fingerprint 0 of MinHash is near nothing.
            chosen &= part[near.names].to_numpy(np.uint64).any(axis=1)
        part = part[chosen]
        columns = {"fingerprint": near.words(part), "cluster": near.words(part[of].set_axis(near.names, axis=1))}
        made = Result(columns).to_pandas()
        made.insert(0, id, part[id].to_numpy())
        return made

    return engine.place(engine.map(rows, label), several, tasks)


def _task_of(words: Words, near: Near, tasks: int) -> Any:
    """A task for each fingerprint."""
    first = words.reshape(len(words), -1)[:, 0] if len(words) else np.empty(0, np.uint64)
    mixed = (first ^ first >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(33)).astype(np.int64) % tasks


class Decisions(NamedTuple):
    """How texts are decided."""

    id: str
    order: Order
    settings: dict[str, Any]
    annotate: bool


def dedup(engine: Engine, rows: Any, source: Source, how: Decisions, tasks: int) -> Any:
    """The rows that are not near an earlier kept one, or all rows with what became of them."""
    near, labels = source.near, _labels(engine, rows, source, tasks)

    def label(part: Any) -> Any:
        cluster, there = _labelled(part, source, labels)
        task = np.arange(len(part)) % tasks
        task[there] = _task_of(cluster, near, tasks)
        return part.assign(**{TASK: task})

    def decide(part: Any) -> Any:
        part = part.drop(columns=TASK).sort_values(how.id, kind="stable")
        of, similarities = _decided(part, source, how)
        if not how.annotate:
            return part[of < 0]
        cluster = np.where(of < 0, np.arange(len(part)), of)
        ids = part[how.id].reset_index(drop=True)
        originals = ids.astype("Int64") if ids.dtype.kind in "iu" else ids.astype(object)
        originals = originals.take(np.maximum(of, 0)).reset_index(drop=True).where(of >= 0, other=None)
        sizes = np.bincount(cluster, minlength=len(part))[cluster].astype(np.int64)
        added = {"duplicate_of": originals.array, "similarity": similarities}
        return part.assign(**added, group=ids.take(cluster).to_numpy(), group_size=sizes)

    return engine.place(engine.map(rows, label), decide, tasks)


def _decided(part: Any, source: Source, how: Decisions) -> tuple[Any, Any]:
    """The places of the rows that some rows duplicate, -1 for kept ones, and similarities."""
    of, similarities = np.full(len(part), -1, np.int64), np.full(len(part), np.nan)
    texts, order = part[source.column].tolist(), how.order
    values = texts if order.column is None else part[order.column].tolist()
    places = [place for place in order.places(values).tolist() if isinstance(texts[place], str)]
    decider = _nearprint.Deduplicator.open(None, how.settings)
    found, near = decider.decide_texts(np.array(places, np.int64), [texts[place] for place in places])
    of[places], similarities[places] = found, near
    return of, similarities


def source_of_texts(
    text: str, recipe: str, k: Optional[int], similarity: Optional[Similarity]
) -> tuple[Source, dict[str, Any]]:
    """A column of texts, and the settings of those that decide about them."""
    settings = settings_of(recipe=recipe, k=k, similarity=similarity, threads=1)
    line, distance = _nearprint.Deduplicator.open(None, settings).candidates()
    _, width, bands = _nearprint.recipe_line(line)
    return Source(Near(distance, bands, width), text, line), settings


def check_columns(names: list[str], there: list[str], new: tuple[str, ...] = ()) -> None:
    """Refuses columns that are missing, and names of new ones that are there."""
    for name in names:
        if name not in there:
            raise InputError(f"there is no column {name!r}, but {', '.join(map(str, there))}")
    check_new(new, there)


def decisions_of(id: str, keep: Keep, settings: dict[str, Any], annotate: bool) -> Decisions:
    """How texts are decided, with a ``keep`` that is a text."""
    if keep is not None and not isinstance(keep, str):
        raise TypeError(f"keep: a text such as 'max:COLUMN' is wanted, not {type(keep).__name__}")
    return Decisions(id, Order.of(keep), settings, annotate)
