"""Graphs of sparsity patterns, and the orders in which greedy coloring goes through their vertices.

| order | next is the vertex |
|---|---|
| natural | with the next number |
| largest first | of largest degree |
| smallest last | (from the end) of smallest degree among those that remain |
| incidence degree | with most neighbors that are already in the order |
"""

# pyright: basic

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.sparse.relations import Matrix, work

ORDERS = ("natural", "largest first", "smallest last", "incidence degree")
LARGEST_GRAPH = 60_000_000  # edges of a graph that is written out


class Graph(NamedTuple):
    """The neighbors of vertex v are neighbors[start[v] : start[v + 1]]. No vertex is its own neighbor."""

    start: Any
    neighbors: Any

    @property
    def size(self) -> int:
        return len(self.start) - 1

    def degrees(self) -> Any:
        return np.diff(self.start)

    def lists(self) -> tuple[list[int], list[int]]:
        """As lists, which Python reads faster than arrays."""
        return self.start.tolist(), self.neighbors.tolist()


def graph_of(matrix: Matrix) -> Graph:
    """The graph whose adjacency matrix has this pattern, without its diagonal."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    off = rows != matrix.indices
    start = np.concatenate([[0], np.cumsum(np.bincount(rows[off], minlength=matrix.shape[0]))])
    return Graph(start, matrix.indices[off])


def column_graph(pattern: Matrix) -> Graph | None:
    """Columns that share a row are neighbors: the pattern of PᵀP. None when it is too large to write out."""
    transposed = pattern.T.tocsr()
    if work(transposed, pattern) > LARGEST_GRAPH:
        return None
    product = transposed @ pattern
    product.sort_indices()
    return graph_of(product)


def order_vertices(graph: Graph, order: str) -> Any:
    """The vertices of a graph in one of the ORDERS."""
    if order not in ORDERS:
        raise ValueError(f"sparse: order={order!r} is none of {', '.join(ORDERS)}.")
    if order == "natural":
        return np.arange(graph.size)
    if order == "largest first":
        return np.argsort(-graph.degrees(), kind="stable")
    return np.asarray(_smallest_last(graph) if order == "smallest last" else _incidence_degree(graph), int)


def _smallest_last(graph: Graph) -> list[int]:
    """Take away the vertex of smallest degree again and again; the order is the reverse of that.

    Vertices wait in a list for each degree; one whose degree has changed since is skipped when its turn comes.
    """
    start, neighbors = graph.lists()
    degree = graph.degrees().tolist()
    waiting: list[list[int]] = [[] for _ in range(max(degree, default=0) + 1)]
    for v in range(graph.size - 1, -1, -1):
        waiting[degree[v]].append(v)
    taken: list[int] = []
    gone = [False] * graph.size
    least = 0
    while len(taken) < graph.size:
        while not waiting[least]:
            least += 1
        v = waiting[least].pop()
        if gone[v] or degree[v] != least:
            continue
        gone[v] = True
        taken.append(v)
        for w in neighbors[start[v] : start[v + 1]]:
            if not gone[w]:
                d = degree[w] = degree[w] - 1
                waiting[d].append(w)
                least = min(least, d)
    return taken[::-1]


def _incidence_degree(graph: Graph) -> list[int]:
    """Take the vertex with most neighbors among those taken; of these the one of largest degree comes first."""
    start, neighbors = graph.lists()
    first = np.argsort(graph.degrees(), kind="stable").tolist()
    waiting: list[list[int]] = [first]
    inside = [0] * graph.size
    taken: list[int] = []
    gone = [False] * graph.size
    most = 0
    while len(taken) < graph.size:
        while not waiting[most]:
            most -= 1
        v = waiting[most].pop()
        if gone[v] or inside[v] != most:
            continue
        gone[v] = True
        taken.append(v)
        for w in neighbors[start[v] : start[v + 1]]:
            if not gone[w]:
                d = inside[w] = inside[w] + 1
                if d == len(waiting):
                    waiting.append([])
                waiting[d].append(w)
                most = max(most, d)
    return taken
