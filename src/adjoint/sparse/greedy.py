"""Greedy coloring of columns: two columns that share a row never have the same color (Curtis, Powell and Reid).

So all columns of one color are found by one product J s, s = Σ eⱼ over the color: each row of it holds at most one of
them.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.progress import reported
from adjoint.sparse.graphs import Graph, column_graph, order_vertices
from adjoint.sparse.relations import Matrix, from_map

MOST_STEPS = 100  # so many variants are tried to tell full rows from others


def color_columns(pattern: Matrix, order: str = "natural") -> Any:
    """The color of each column."""
    counts = np.diff(pattern.indptr)
    if counts.size and counts.max() == pattern.shape[1]:  # a full row: each column has a color of its own
        return np.arange(pattern.shape[1])
    graph = column_graph(pattern)
    if graph is None:
        return _without_graph(pattern, order)
    return color_vertices(graph, order)


def color_vertices(graph: Graph, order: str = "natural") -> Any:
    """Distance-1 coloring: each vertex gets the least color that no neighbor has."""
    start, neighbors = graph.lists()
    colors = [-1] * graph.size
    for v in reported(order_vertices(graph, order).tolist(), "coloring"):
        used = {colors[w] for w in neighbors[start[v] : start[v + 1]]}
        c = 0
        while c in used:
            c += 1
        colors[v] = c
    return np.asarray(colors, int)


def _without_graph(pattern: Matrix, order: str) -> Any:
    """The same on rows and columns themselves, for patterns with rows so full that the graph is too large."""
    columns = pattern.T.tocsr()
    n = pattern.shape[1]
    degrees = np.bincount(
        np.repeat(np.arange(n), np.diff(columns.indptr)),
        weights=np.diff(pattern.indptr)[columns.indices],
        minlength=n,
    )
    vertices = np.arange(n) if order == "natural" else np.argsort(-degrees, kind="stable")
    colors = np.full(n, -1)
    seen = np.full(n + 1, -1)  # seen[c] = v when v must not have the color c; the last index is for "none yet"
    for v in reported(vertices.tolist(), "coloring"):
        rows = columns.indices[columns.indptr[v] : columns.indptr[v + 1]]
        for row in rows.tolist():
            seen[colors[pattern.indices[pattern.indptr[row] : pattern.indptr[row + 1]]]] = v
        taken = np.flatnonzero(seen[:n] != v)
        colors[v] = taken[0]
    return colors


def full_rows(pattern: Matrix) -> tuple[Any, int, int]:
    """(which rows to set apart, the colors that the other rows' columns need at least, the same for these rows).

    All rows with at least d entries could be set apart, for any d. The columns then need at least as many colors as
    the fullest other row has entries, the rows as many as the fullest column has entries in them: the least sum is
    taken.
    """
    counts = np.diff(pattern.indptr)
    steps = np.unique(counts)[::-1]
    best = (int(counts.max(initial=0)), 0, counts < 0)
    for k, least in enumerate(steps[:MOST_STEPS].tolist()):
        apart = counts >= least
        rest = int(steps[k + 1]) if k + 1 < steps.size else 0
        inside = np.bincount(pattern.indices[np.repeat(apart, counts)], minlength=pattern.shape[1])
        most = int(inside.max(initial=0))
        if rest + most < best[0] + best[1]:
            best = (rest, most, apart)
        if most >= best[0] + best[1]:
            break
    return best[2], best[0], best[1]


def split_by_rows(pattern: Matrix, order: str = "natural") -> tuple[Any, Any]:
    """(colors of columns, colors of rows): full rows by products from the left, the rest by those from the right."""
    apart, _, _ = full_rows(pattern)
    rest, full = _rows_only(pattern, ~apart), _rows_only(pattern, apart)
    by_columns = np.where(np.bincount(rest.indices, minlength=pattern.shape[1]) > 0, color_columns(rest, order), -1)
    by_rows = np.where(apart, color_columns(full.T.tocsr(), order), -1)
    return by_columns, by_rows


def _rows_only(pattern: Matrix, keep: Any) -> Matrix:
    """The same pattern with empty rows where `keep` does not hold."""
    return from_map(np.where(keep, np.arange(keep.size), -1), pattern.shape[0]) @ pattern


def least_colors(pattern: Matrix) -> int:
    """No coloring of columns needs fewer: the number of entries of the fullest row."""
    return int(np.diff(pattern.indptr).max(initial=0))
