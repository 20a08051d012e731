"""What is kept, by edges: pairs of rows that are near, decided wherever both rows met.

A row is kept if no kept row before it is near it. So what is kept is the lexicographically first maximal independent
set of the graph of all edges, and follows from the edges alone, wherever the rows are (Blelloch, Fineman, Shun, "Greedy
sequential maximal independent set and matching are parallel on average", SPAA 2012).

Rows have numbers in the order in which they are decided. Rows that nothing distinguishes are one vertex, whose
number is that of the first of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

#: Rounds over all edges before the remaining ones are decided one by one.
_ROUNDS = 32


class Edges(NamedTuple):
    """Pairs of vertices, ``a`` below ``b``."""

    a: Numbers
    b: Numbers
    distance: npt.NDArray[np.int32]
    #: How similar ``b`` is to ``a`` when ``a`` was kept; NaN if it is not near.
    similarity: npt.NDArray[np.float64]
    #: The same of ``a`` to ``b``, for rows of the vertex ``a`` that come after ``b``.
    reverse: npt.NDArray[np.float64]


class Decided(NamedTuple):
    """The rows that are left out, the kept ones that they duplicate, and how near they are."""

    number: Numbers
    of: Numbers
    distance: npt.NDArray[np.int32]
    similarity: npt.NDArray[np.float64]


def left_out(a: Numbers, b: Numbers) -> Numbers:
    """The vertices that are near a kept one before them, ascending, by the edges in this direction."""
    vertices, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
    low, high = np.minimum(*np.split(ends.reshape(-1), 2)), np.maximum(*np.split(ends.reshape(-1), 2))
    is_out = np.zeros(len(vertices), bool)
    for _ in range(_ROUNDS):
        waits = np.zeros(len(vertices), bool)
        waits[high] = True
        is_out[high[~waits[low]]] = True
        undecided = ~is_out[low] & ~is_out[high]
        if undecided.all():
            break
        low, high = low[undecided], high[undecided]
    order = np.argsort(high, kind="stable")
    for earlier, later in zip(low[order].tolist(), high[order].tolist()):
        if not is_out[earlier]:
            is_out[later] = True
    return vertices[is_out]


def decided(rows: tuple[Numbers, Numbers], edges: Edges, prefers_similar: bool) -> Decided:
    """What becomes of rows, given as numbers with their vertices: of those that are left out, the nearest kept row.

    The first of several. Where it ``prefers_similar``, the most similar one is the nearest.
    """
    forward = ~np.isnan(edges.similarity)
    out = left_out(edges.a[forward], edges.b[forward])
    number, vertex = rows
    is_out = np.isin(vertex, out)
    copies = ~is_out & (number != vertex)
    near = _near(edges, out)
    number_out, vertex_out = number[is_out], vertex[is_out]
    first, last = (np.searchsorted(near.b, vertex_out, side) for side in ("left", "right"))
    row = np.repeat(np.arange(len(number_out)), last - first)
    at = np.arange(len(row)) - np.repeat(np.cumsum(last - first) - (last - first), last - first) + first[row]
    before = near.a[at] < number_out[row]
    row, at = row[before], at[before]
    nearness = -near.similarity[at] if prefers_similar else near.distance[at].astype(float)
    order = np.lexsort((near.a[at], nearness, row))
    at = at[order][np.unique(row[order], return_index=True)[1]]
    count = int(copies.sum())
    return Decided(
        np.concatenate([number_out, number[copies]]),
        np.concatenate([near.a[at], vertex[copies]]),
        np.concatenate([near.distance[at], np.zeros(count, np.int32)]),
        np.concatenate([near.similarity[at], np.ones(count)]),
    )


def _near(edges: Edges, out: Numbers) -> Edges:
    """The edges from kept vertices, ``a``, to others, in the order of the latter."""
    a, b = np.concatenate([edges.a, edges.b]), np.concatenate([edges.b, edges.a])
    similarity, reverse = (np.concatenate(both) for both in (edges[3:], edges[:2:-1]))
    chosen = np.flatnonzero(~np.isnan(similarity) & ~np.isin(a, out))
    chosen = chosen[np.argsort(b[chosen], kind="stable")]
    distance = np.concatenate([edges.distance, edges.distance])
    return Edges(a[chosen], b[chosen], distance[chosen], similarity[chosen], reverse[chosen])
