"""What is kept by edges, against the loop over kept rows, and what edges connect."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nearprint import _nearprint, partition
from nearprint._edges import Decided, Edges, decided, left_out
from nearprint._kept import settings_of

#: The number of the kept row, the distance, and the similarity.
Found = dict[int, tuple[int, int, float]]


def columns_of(edges: list[tuple[int, int, int, float, float]]) -> Edges:
    """Edges as columns, in any order."""
    a, b, distance, similarity, reverse = zip(*edges) if edges else ((),) * 5
    ends = np.array(a, np.int64), np.array(b, np.int64)
    return Edges(*ends, np.array(distance, np.int32), np.array(similarity, float), np.array(reverse, float))


def rows_in(found: Decided) -> Found:
    return {number: (of, distance, near) for number, of, distance, near in zip(*(one.tolist() for one in found))}


def in_order(rows: list[tuple[int, int]], edges: Edges, prefers_similar: bool) -> Found:
    """Each row is compared with those that are kept, by the definition."""
    near: dict[tuple[int, int], tuple[int, float]] = {}
    for a, b, distance, similarity, reverse in zip(*(one.tolist() for one in edges)):
        near[b, a], near[a, b] = (distance, similarity), (distance, reverse)
    kept: list[tuple[int, int]] = []
    found: Found = {}
    for number, vertex in sorted(rows):
        best = None
        for of, other in kept:
            distance, similarity = (0, 1.0) if other == vertex else near.get((vertex, other), (0, math.nan))
            if not math.isnan(similarity):
                one = (-similarity if prefers_similar else distance, of, distance, similarity)
                best = one if best is None else min(best, one)
        if best is None:
            kept.append((number, vertex))
        else:
            found[number] = best[1:]
    return found


def random_graph(seed: int) -> tuple[list[tuple[int, int]], Edges]:
    """Rows, some of them of one vertex, and edges in both directions or in one."""
    source = random.Random(seed)
    vertices: list[int] = []
    rows: list[tuple[int, int]] = []
    for number in range(source.randrange(1, 25)):
        is_copy = vertices and source.random() < 0.3
        vertex = source.choice(vertices) if is_copy else number
        if not is_copy:
            vertices.append(number)
        rows.append((number, vertex))
    edges: list[tuple[int, int, int, float, float]] = []
    for at, a in enumerate(vertices):
        for b in vertices[at + 1 :]:
            if source.random() < 0.2:
                one = source.choice([0.7, 0.8, 0.9])
                both = [one if source.random() < 0.8 else math.nan for _ in range(2)]
                edges.append((a, b, source.randrange(1, 4), both[0], both[1]))
    source.shuffle(edges)
    return rows, columns_of(edges)


@pytest.mark.parametrize("prefers_similar", [True, False])
def test_edges_decide_as_the_loop_does(prefers_similar: bool) -> None:
    for seed in range(500):
        rows, edges = random_graph(seed)
        numbers, vertices = np.array(rows, np.int64).reshape(-1, 2).T
        found = decided((numbers, vertices), edges, prefers_similar)
        assert rows_in(found) == in_order(rows, edges, prefers_similar), seed


def test_chains_and_stars_end() -> None:
    chain = np.arange(100_000)
    assert left_out(chain[:-1], chain[1:]).tolist() == list(range(1, 100_000, 2))
    assert left_out(np.zeros(1000, np.int64), np.arange(1, 1001)).tolist() == list(range(1, 1001))
    assert left_out(chain[:0], chain[:0]).tolist() == []


def largest_component(a: Any, b: Any) -> int:
    clusters = partition.components(a.astype(np.uint64), b.astype(np.uint64))["cluster"]
    return int(np.unique(clusters, return_counts=True)[1].max())


def test_candidates_percolate_and_edges_do_not() -> None:
    """Unrelated documents that are candidates of each other by chance, as many to each as among a billion.

    Fingerprints of fewer bits make as many of a few thousand. Every tenth document has a near one.
    """
    source, words = random.Random(63), [f"word{number}" for number in range(50_000)]
    texts: list[str] = []
    for _ in range(3000):
        of = texts[-1].split() if texts and source.random() < 0.1 else source.choices(words, k=60)
        of[source.randrange(60)] = source.choice(words)
        texts.append(" ".join(of))
    recipe = "minhash hash=minhash:4x8,2 width=64"
    judge = _nearprint.PairJudge(settings_of(recipe=recipe, similarity=0.5))
    line, k = judge.candidates()
    _, prints, evidence, _ = judge.documents(pa.array(texts))
    options: Any = {"k": k, "bands": _nearprint.recipe_line(line)[2]}
    keyed = partition.block_keys(prints, **options)
    pairs = partition.join_blocks(keyed["group"], keyed["fingerprint"], **options)
    order = np.argsort(prints)
    a, b = (order[np.searchsorted(prints[order], pairs[end])] for end in ("a", "b"))
    chosen = judge.are_candidates(pairs["a"], pairs["b"])
    assert 2 * chosen.sum() / len(texts) > 10
    a, b = a[chosen], b[chosen]
    # What candidates connect would all go to one task.
    assert largest_component(a, b) > 0.9 * len(texts)
    sets = pa.array(evidence)
    similarity, _ = judge.similarities(sets.take(pa.array(a)), sets.take(pa.array(b)), pairs["distance"][chosen])
    near = ~np.isnan(similarity)
    assert near.sum() > 100
    assert largest_component(a[near], b[near]) <= 6
