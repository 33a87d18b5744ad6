"""Star and acyclic colouring of symmetric matrices (Gebremedhin, Tarafdar, Manne and Pothen).

A star colouring has no path of four vertices in two colours: any two colours induce stars. Then each hᵢⱼ stands alone
in a product H s or its twin hⱼᵢ does. An acyclic colouring has no cycle in two colours: they induce trees, of which the
entries follow one from the other, from the leaves inwards; it needs fewer colours still.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.progress import reported
from adjoint.sparse.graphs import Graph, ordered


def edges_of(graph: Graph) -> Any:
    """The number of the edge for each place in the lists of neighbours: both directions have the same."""
    n = graph.size
    rows = np.repeat(np.arange(n), graph.degrees())
    low, high = np.minimum(rows, graph.neighbours), np.maximum(rows, graph.neighbours)
    _, number = np.unique(low.astype(np.int64) * n + high, return_inverse=True)
    return np.ravel(number)


def star_coloured(graph: Graph, order: str = "natural") -> Any:
    """The colour of each vertex.

    Every edge belongs to a star of its two colours; a star of more than one edge has a hub. A vertex v must not have
    the colour of a neighbour w; nor, when two neighbours of v have one colour, the colour of any of their neighbours;
    nor the colour of the hub x of a star that w belongs to.
    """
    start, neighbours = graph.lists()
    edge = edges_of(graph).tolist()
    n = graph.size
    colours = [-1] * n
    star = [-1] * (len(edge) // 2)  # of each edge
    hub: list[int] = []  # of each star; -1 while it has a single edge
    forbidden = [-1] * (n + 1)
    first: list[tuple[int, int, int]] = [(-1, -1, -1)] * (n + 1)  # of each colour: (v, its first neighbour, the edge)
    treated = [-1] * n
    for v in reported(ordered(graph, order).tolist(), "colouring"):
        own = range(start[v], start[v + 1])
        for at in own:
            w = neighbours[at]
            c = colours[w]
            if c < 0:
                continue
            forbidden[c] = v
            p, q, _ = first[c]
            if p == v:  # v is to be the hub of w and q
                for u in (q, w):
                    if treated[u] != v:
                        treated[u] = v
                        for x in neighbours[start[u] : start[u + 1]]:
                            forbidden[colours[x]] = v
            else:
                first[c] = (v, w, edge[at])
                for k in range(start[w], start[w + 1]):
                    x = neighbours[k]
                    if colours[x] >= 0 and hub[star[edge[k]]] == x:
                        forbidden[colours[x]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        for at in own:
            w = neighbours[at]
            c = colours[w]
            if c < 0:
                continue
            e = edge[at]
            for k in range(start[w], start[w + 1]):
                x = neighbours[k]
                if x != v and colours[x] == colour:  # w is the hub of v and x
                    hub[star[edge[k]]] = w
                    star[e] = star[edge[k]]
                    break
            else:
                _, q, other = first[c]
                if q != w:  # v is the hub of w and q
                    hub[star[other]] = v
                    star[e] = star[other]
                else:
                    star[e] = len(hub)
                    hub.append(-1)
    return np.asarray(colours, int)


def acyclic_coloured(graph: Graph, order: str = "natural") -> Any:
    """The colour of each vertex.

    The trees of two colours are sets of edges that are joined as they grow. A vertex v must not have a colour with
    which it would meet a tree along two different edges.
    """
    start, neighbours = graph.lists()
    edge = edges_of(graph).tolist()
    n = graph.size
    colours = [-1] * n
    parent = list(range(len(edge) // 2))

    def root(e: int) -> int:
        while parent[e] != e:
            parent[e] = parent[parent[e]]
            e = parent[e]
        return e

    forbidden = [-1] * (n + 1)
    visit: list[tuple[int, int]] = [(-1, -1)] * len(parent)  # of each tree: (v, by which neighbour it was met first)
    for v in reported(ordered(graph, order).tolist(), "colouring"):
        own = [at for at in range(start[v], start[v + 1]) if colours[neighbours[at]] >= 0]
        for at in own:
            forbidden[colours[neighbours[at]]] = v
        for at in own:
            w = neighbours[at]
            for k in range(start[w], start[w + 1]):
                x = neighbours[k]
                if x != v and colours[x] >= 0 and forbidden[colours[x]] != v:
                    tree = root(edge[k])
                    p, q = visit[tree]
                    if p != v:
                        visit[tree] = (v, w)
                    elif q != w:
                        forbidden[colours[x]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        first: dict[int, int] = {}
        for at in own:
            w, e = neighbours[at], edge[at]
            parent[root(e)] = root(first.setdefault(colours[w], e))
            for k in range(start[w], start[w + 1]):
                x = neighbours[k]
                if x != v and colours[x] == colour:
                    parent[root(e)] = root(edge[k])
    return np.asarray(colours, int)
