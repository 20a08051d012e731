"""Pairs, clusters and deduplication of frames of pandas that an engine spreads over many tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from . import _edges, _nearprint, partition
from ._arrays import Words, is_missing, words_of
from ._errors import InputError
from ._kept import settings_of
from ._order import Keep, Order, common_kind
from ._result import Result
from ._settings import Similarity, near_of, wide_width
from ._sources import Missing, check_missing
from ._tables import check_new

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

    def union(self, rows: Any, others: Any) -> Any:
        """The rows of both, which have the same columns."""

    def stored(self, rows: Any) -> Any:
        """The rows, computed now."""

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
        bits = width or (64 if bands is None else wide_width(bands))
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
    """A column of fingerprints."""

    near: Near
    column: str

    def prints(self, rows: Any) -> tuple[Words, Any]:
        """The fingerprints of rows that have one, and which rows these are."""
        column = rows[self.column]
        there = column.notna().to_numpy(bool)
        present = column[there]
        words = words_of(present.astype(object).tolist() if len(present) else [], self.near.width)[0]
        return words, there


#: The fingerprints of a part.
Prints = Callable[[Any], Words]
#: Which of some pairs of fingerprints, given as words, are wanted.
Choose = Callable[[Words, Words], Any]


def joined(
    engine: Engine, rows: Any, of: tuple[Near, Prints], tasks: int, forest: bool, choose: Optional[Choose] = None
) -> Any:
    """The pairs of fingerprints, or the forests of all tasks: words of both ends, and distances."""
    near, prints = of

    def keyed(part: Any) -> Any:
        words = prints(part)
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
        made = pd.concat([*ends, pd.Series(found["distance"], name="distance")], axis=1)
        if choose is not None:
            made = made[choose(*(found[end].reshape(-1) for end in ("a", "b")))]
        return made

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

    return engine.map(joined(engine, rows, (near, lambda part: source.prints(part)[0]), tasks, False), named)


def _labels(engine: Engine, rows: Any, source: Source, tasks: int) -> Any:
    """The fingerprints that pairs connect, with the smallest one of their component."""
    near = source.near
    forests = engine.collect(joined(engine, rows, (near, lambda part: source.prints(part)[0]), tasks, True))
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
    text: str
    order: Order
    settings: dict[str, Any]
    annotate: bool
    missing: Missing

    @property
    def columns(self) -> list[str]:
        """The columns that decide."""
        return list(dict.fromkeys(filter(None, [self.id, self.text, self.order.column])))

    @property
    def new(self) -> tuple[str, ...]:
        """The columns that are added."""
        return ("duplicate_of", "similarity", "group", "group_size") if self.annotate else ()

    @property
    def near(self) -> Near:
        line, k = self.judge().candidates()
        _, width, bands = _nearprint.recipe_line(line)
        return Near(k, bands, width)

    def judge(self) -> _nearprint.PairJudge:
        return _nearprint.PairJudge(self.settings)


def dedup(engine: Engine, rows: Any, how: Decisions, tasks: int) -> Any:
    """The rows that are not near an earlier kept one, or all rows with what became of them."""
    kind = _kind(engine, rows, how)
    made = engine.stored(engine.map(rows, lambda part: _made(part, how, kind, tasks)))
    edges = engine.collect(_edges_of(engine, made, how, tasks))
    if not len(edges):
        edges = pd.DataFrame({name: [] for name in ("a", "b", "distance", "similarity", "reverse")})
    near = set(edges["a"]) | set(edges["b"])

    def in_groups(part: Any) -> Any:
        part = part[["id", "key", "digest"]]
        return part[part["digest"].isin(near) | part["digest"].duplicated(keep=False)]

    groups = _decided(engine.collect(engine.place(made, in_groups, tasks)), edges, how)

    def finished(part: Any) -> Any:
        if how.missing == "skip":
            part = part[_has_text(part, how)]
        at = groups.ids.get_indexer(part[how.id])
        of = np.where(at < 0, -1, groups.of[at]) if len(groups.of) else at
        if not how.annotate:
            return part[of < 0]
        count = len(part)
        # Of this part and of all groups.
        ids = pd.concat([part[how.id], groups.ids.to_series()], ignore_index=True).astype(part[how.id].dtype)
        of, own = np.where(of < 0, -1, of + count), np.where(at < 0, np.arange(count), at + count)
        originals = ids.astype({"i": "Int64", "u": "UInt64"}.get(ids.dtype.kind, object))
        originals = originals.take(np.maximum(of, 0)).reset_index(drop=True).where(of >= 0, other=None)
        similarity, size = np.append(groups.similarity, np.nan)[at], np.append(groups.size, 1)[at]
        group = ids.take(np.where(of < 0, own, of)).to_numpy()
        return part.assign(duplicate_of=originals.array, similarity=similarity, group=group, group_size=size)

    return engine.map(rows, finished)


def check_rows(
    engine: Engine, select: Callable[[list[str]], Any], types: Mapping[str, Any], how: Decisions, tasks: int
) -> None:
    """Refuses rows whose ids or texts nothing can be decided from. ``select`` gives some columns of them."""
    _check_type(types[how.id], how.id)
    _check_unique(engine, select([how.id]), how.id, tasks)
    check_texts(engine, select(list(dict.fromkeys([how.id, how.text]))), how, types[how.text])


def _check_type(kind: Any, id: str) -> None:
    """Refuses a column of ids whose type is known to be neither of integers nor of texts."""
    if str(kind).lower().startswith(("float", "double", "half", "decimal", "bool", "date", "time", "duration")):
        raise InputError(f"{id}: {kind}, where integers or texts are wanted")


def check_texts(engine: Engine, rows: Any, how: Decisions, kind: Any) -> None:
    """Refuses values that are no texts, and missing ones where they are an error.

    Takes rows of ids and texts alone, and the type of the texts, which may tell that there are no other values.
    """
    name = str(kind).lower()
    if how.missing != "error" and (name == "str" or name.startswith(("string", "large_string"))):
        return

    def worst(part: Any) -> Any:
        kinds = ["" if is_missing(text) else type(text).__name__ for text in part[how.text].tolist()]
        found = pd.DataFrame({"id": part[how.id].astype(str).to_numpy(), "kind": kinds}, dtype=str)
        return found[~_has_text(part, how)].sort_values("kind").tail(1)

    found = engine.collect(engine.map(rows, worst))
    if not len(found):
        return
    kind, id = max(zip(found["kind"].tolist(), found["id"].tolist()))
    if kind:
        hint = "; decode bytes first" if kind == "bytes" else ""
        raise TypeError(f"{how.text}: {kind} in the row with the {how.id} {id}, where a text is wanted{hint}")
    if how.missing == "error":
        raise InputError(f"{how.text}: some are missing; missing='keep' or missing='skip' accepts them")


def _kind(engine: Engine, rows: Any, how: Decisions) -> str:
    """What all values of the column that says what is kept are ordered as."""
    column = how.order.column
    if column is None:
        return "number"

    def kinds(part: Any) -> Any:
        return pd.DataFrame({"kinds": pd.Series([" ".join(how.order.kinds(part[column].tolist()))], dtype=str)})

    found = engine.collect(engine.map(rows, kinds))
    return common_kind(column, [some.split() for some in found["kinds"].tolist()])


def _check_unique(engine: Engine, rows: Any, id: str, tasks: int) -> None:
    """Refuses ids that are null or occur twice: decisions are about ids. Takes rows of this column alone."""

    def placed(part: Any) -> Any:
        ids = part[id].reset_index(drop=True)
        there, task = ids.notna().to_numpy(bool), np.zeros(len(ids), np.int64)
        # Beside nulls, an array of integers is one of floats.
        hashes = pd.util.hash_array(ids[there].to_numpy(), categorize=False)
        task[there] = (hashes >> np.uint64(1)).astype(np.int64) % tasks
        return pd.DataFrame({"id": ids, TASK: task})

    def most_frequent(part: Any) -> Any:
        counted = part["id"].value_counts(dropna=False).rename_axis("id").reset_index(name="count")
        return counted[counted["id"].isna() | (counted["count"] > 1)].head(1)

    ids = engine.map(rows, placed)
    found = engine.collect(engine.place(ids, most_frequent, tasks))
    if len(found):
        value, occurs = found["id"].tolist()[0], found["count"].tolist()[0]
        shown = "null" if pd.isna(value) else repr(value)
        raise InputError(f"{id}: {shown} occurs {occurs} times; ids are unique")


#: Objects that are bytes are cut at their zeros by some conversions.
_BYTES = pd.ArrowDtype(pa.large_binary())


def _has_text(part: Any, how: Decisions) -> npt.NDArray[np.bool_]:
    return np.array([isinstance(text, str) for text in part[how.text].tolist()], bool)


def _made(part: Any, how: Decisions, kind: str, tasks: int) -> Any:
    """What rows are compared by that others may be near: ``id``, ``key``, ``digest``, fingerprints, ``evidence``.

    Keys have the order of the values of a kind. The values themselves may lose digits between tasks.
    """
    texts = [text if is_there else None for text, is_there in zip(part[how.text].tolist(), _has_text(part, how))]
    places, words, evidence, digests = how.judge().documents(pa.array(texts, pa.large_string()))
    part = part.iloc[places]
    values: list[Any] = [None] * len(part)
    if how.order.column is not None or how.order.kind in ("longest", "shortest"):
        values = part[how.order.column or how.text].tolist()
    made = pd.DataFrame({"id": part[how.id].to_numpy()})
    made["key"] = pd.Series(how.order.keys(values, kind), dtype=_BYTES)
    own = digests.astype("<u8").tobytes()
    made["digest"] = pd.Series([own[at : at + 16].hex() for at in range(0, len(own), 16)], dtype=str)
    made["evidence"] = pd.Series(pa.array(evidence).to_pylist(), dtype=_BYTES)
    made = pd.concat([made, how.near.frame(words.reshape(-1))], axis=1)
    return made.assign(**{TASK: (digests[:, 0] >> np.uint64(1)).astype(np.int64) % tasks})


def _edges_of(engine: Engine, made: Any, how: Decisions, tasks: int) -> Any:
    """Pairs of digests that are near, from ``a`` as the kept row to ``b``, and in ``reverse``.

    The pairs of fingerprints meet the vertices of the one, and then of the other.
    """
    near, settings = how.near, how.settings
    others = [f"of_{name}" for name in near.names]

    def vertex(part: Any) -> Any:
        part = part.drop_duplicates("digest")[[*near.names, "digest", "evidence"]]
        nothing = dict.fromkeys(others, np.uint64(0))
        return placed(part.assign(**nothing, distance=np.int64(0), is_pair=False))

    def pair(part: Any) -> Any:
        ends = [part[[end + name for name in near.names]].to_numpy(np.uint64) for end in ("a", "b")]
        rows = pd.DataFrame(np.hstack(ends), columns=[*near.names, *others])
        rows["digest"] = pd.Series([""] * len(rows), dtype=str)
        rows["evidence"] = pd.Series([b""] * len(rows), dtype=_BYTES)
        return placed(rows.assign(distance=part["distance"].to_numpy(np.int64), is_pair=True))

    def placed(part: Any) -> Any:
        part = part[[*near.names, *others, "digest", "evidence", "distance", "is_pair"]]
        return part.assign(**{TASK: _task_of(near.words(part), near, tasks)})

    def with_first(part: Any) -> Any:
        vertices = part[~part["is_pair"]]
        of_pairs = part[part["is_pair"]][[*near.names, *others, "distance", "is_pair"]]
        found = of_pairs.merge(vertices[[*near.names, "digest", "evidence"]], on=near.names)
        # Those of one fingerprint are a pair, too.
        equal = vertices[vertices.duplicated(near.names, keep=False)]
        equal = equal.assign(**dict(zip(others, (equal[name] for name in near.names))), is_pair=True)
        turned = dict(zip([*near.names, *others], [*others, *near.names]))
        return placed(pd.concat([found, equal], ignore_index=True).rename(columns=turned))

    def judged(part: Any) -> Any:
        vertices = part[~part["is_pair"]][[*near.names, "digest", "evidence"]]
        met = part[part["is_pair"]].merge(vertices, on=near.names, suffixes=("_a", "_b"))
        is_equal = (met[near.names].to_numpy() == met[others].to_numpy()).all(axis=1)
        met = met[~is_equal | (met["digest_a"] < met["digest_b"])]
        judge = _nearprint.PairJudge(settings)
        sets = [pa.array(met[f"evidence_{end}"].tolist(), pa.large_binary()) for end in ("a", "b")]
        reverse, own = judge.similarities(sets[0], sets[1], met["distance"].to_numpy(np.uint32))
        columns = {"a": met["digest_a"].to_numpy(), "b": met["digest_b"].to_numpy()}
        found = pd.DataFrame({**columns, "distance": met["distance"].to_numpy(), "similarity": own, "reverse": reverse})
        return found[found[["similarity", "reverse"]].notna().any(axis=1)]

    def choose(a: Words, b: Words) -> Any:
        return _nearprint.PairJudge(settings).are_candidates(a, b)

    vertices = engine.stored(engine.place(made, vertex, tasks))
    pairs = engine.map(joined(engine, vertices, (near, near.words), tasks, False, choose), pair)
    first = engine.place(engine.union(vertices, pairs), with_first, tasks)
    return engine.place(engine.union(vertices, first), judged, tasks)


class _Groups(NamedTuple):
    """The rows that are not alone."""

    #: Ids, in the order in which rows are decided.
    ids: Any
    #: The places of the rows that these duplicate, -1 for kept ones, and how similar they are.
    of: Any
    similarity: Any
    #: The numbers of rows that are near the same kept one.
    size: Any


def _decided(members: Any, edges: Any, how: Decisions) -> _Groups:
    """What becomes of the rows of vertices with several rows, or with edges."""
    if not len(members):
        return _Groups(pd.Index([]), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
    members = members.sort_values("id", kind="stable")
    members = members.iloc[how.order.places_of_keys(members["key"].tolist())].reset_index(drop=True)
    first = members.drop_duplicates("digest")["digest"]
    vertices = dict(zip(first, first.index))
    number = members.index.to_numpy(np.int64)
    a, b = (np.array([vertices[digest] for digest in edges[end]], np.int64) for end in ("a", "b"))
    similarity, reverse = (edges[name].to_numpy(float) for name in ("similarity", "reverse"))
    turns = a > b
    similarity, reverse = np.where(turns, reverse, similarity), np.where(turns, similarity, reverse)
    columns = np.minimum(a, b), np.maximum(a, b), edges["distance"].to_numpy(np.int32), similarity, reverse
    _, prefers_similar = how.judge().compares()
    rows = number, members["digest"].map(vertices).to_numpy(np.int64)
    found = _edges.decided(rows, _edges.Edges(*columns), prefers_similar)
    of, near = np.full(len(members), -1, np.int64), np.full(len(members), np.nan)
    of[found.number], near[found.number] = found.of, found.similarity
    group = np.where(of < 0, number, of)
    return _Groups(pd.Index(members["id"]), of, near, np.bincount(group, minlength=len(members))[group])


def check_columns(names: list[str], there: list[str], new: tuple[str, ...] = ()) -> None:
    """Refuses columns that are missing, and names of new ones that are there."""
    for name in names:
        if name not in there:
            raise InputError(f"there is no column {name!r}, but {', '.join(map(str, there))}")
    check_new(new, there)


def decisions_of(
    columns: tuple[str, str],
    keep: Keep,
    settings: tuple[str, Optional[int], Optional[Similarity]],
    annotate: bool,
    missing: Missing = "keep",
) -> Decisions:
    """How the texts of rows are decided, which have ``columns`` of ids and texts, with a ``keep`` that is a text."""
    check_missing(missing)
    recipe, k, similarity = settings
    options = settings_of(recipe=recipe, k=k, similarity=similarity, threads=1)
    if keep is not None and not isinstance(keep, str):
        raise TypeError(f"keep: a text such as 'max:COLUMN' is wanted, not {type(keep).__name__}")
    return Decisions(*columns, Order.of(keep), options, annotate, missing)
