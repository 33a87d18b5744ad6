"""Star and acyclic colouring of symmetric matrices (Gebremedhin, Tarafdar, Manne and Pothen).

A star colouring has no path of four vertices in two colours: any two colours induce stars. Then each hᵢⱼ stands alone
in a product H s or its twin hⱼᵢ does. An acyclic colouring has no cycle in two colours: they induce trees, of which the
entries follow one from the other, from the leaves inwards; it needs fewer colours still.

All edges from one vertex to neighbours of one colour belong to the same star or tree. So for each vertex one edge is
remembered for each colour of a neighbour, and neighbours of neighbours, of which a full row of the matrix makes n², are
never gone through.
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
    nor the colour of the hub of a star that w is a leaf of.
    """
    start, neighbours = graph.lists()
    edge = edges_of(graph).tolist()
    n = graph.size
    colours = [-1] * n
    star = [-1] * (len(edge) // 2)  # of each edge
    hub: list[int] = []  # of each star; -1 while it has a single edge
    founders: list[int] = []  # of each star: the sum of its first two vertices
    towards: list[dict[int, int]] = [{} for _ in range(n)]  # of each vertex: colour of a neighbour → an edge to one
    hubs: list[set[int] | None] = [None] * n  # of each vertex: the colours of hubs of which it is a leaf
    forbidden = [-1] * (n + 1)
    first: list[tuple[int, int, int]] = [(-1, -1, -1)] * (n + 1)  # of each colour: (v, its first neighbour, the edge)
    treated = [-1] * n

    def add_leaf(u: int, colour_of_hub: int) -> None:
        known = hubs[u]
        if known is None:
            hubs[u] = {colour_of_hub}
        else:
            known.add(colour_of_hub)

    for v in reported(ordered(graph, order).tolist(), "colouring"):
        own = [at for at in range(start[v], start[v + 1]) if colours[neighbours[at]] >= 0]
        for at in own:
            w = neighbours[at]
            c = colours[w]
            forbidden[c] = v
            p, q, _ = first[c]
            if p == v:  # v is to be the hub of w and q
                for u in (q, w):
                    if treated[u] != v:
                        treated[u] = v
                        for other in towards[u]:
                            forbidden[other] = v
            else:
                first[c] = (v, w, edge[at])
                for other in hubs[w] or ():
                    forbidden[other] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        for at in own:
            w, e = neighbours[at], edge[at]
            c = colours[w]
            known = towards[w].get(colour)
            _, q, other = first[c]
            if known is not None:  # w is the hub of v and another vertex
                star[e] = star[known]
                if hub[star[e]] != w:
                    hub[star[e]] = w
                    add_leaf(founders[star[e]] - w, c)
                add_leaf(v, c)
            elif q != w:  # v is the hub of w and q
                star[e] = star[other]
                hub[star[e]] = v
                add_leaf(q, colour)
                add_leaf(w, colour)
            else:
                star[e] = len(hub)
                hub.append(-1)
                founders.append(v + w)
        for at in own:
            w, e = neighbours[at], edge[at]
            towards[w].setdefault(colour, e)
            towards[v].setdefault(colours[w], e)
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

    towards: list[dict[int, int]] = [{} for _ in range(n)]  # of each vertex: colour of a neighbour → an edge to one
    forbidden = [-1] * (n + 1)
    visit: list[tuple[int, int]] = [(-1, -1)] * len(parent)  # of each tree: (v, by which neighbour it was met first)
    for v in reported(ordered(graph, order).tolist(), "colouring"):
        own = [at for at in range(start[v], start[v + 1]) if colours[neighbours[at]] >= 0]
        for at in own:
            forbidden[colours[neighbours[at]]] = v
        for at in own:
            w = neighbours[at]
            for c, e in towards[w].items():
                if forbidden[c] != v:
                    tree = root(e)
                    p, q = visit[tree]
                    if p != v:
                        visit[tree] = (v, w)
                    elif q != w:
                        forbidden[c] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        for at in own:
            w, e = neighbours[at], edge[at]
            parent[root(e)] = root(towards[v].setdefault(colours[w], e))
            known = towards[w].setdefault(colour, e)
            parent[root(e)] = root(known)
    return np.asarray(colours, int)
