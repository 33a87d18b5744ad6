"""Star and acyclic coloring of symmetric matrices (Gebremedhin, Tarafdar, Manne and Pothen).

A star coloring has no path of four vertices in two colors: any two colors induce stars. Then each hᵢⱼ stands alone
in a product H s or its twin hⱼᵢ does. An acyclic coloring has no cycle in two colors: they induce trees, of which the
entries follow one from the other, from the leaves inwards; it needs fewer colors still.

All edges from one vertex to neighbors of one color belong to the same star or tree. So for each vertex one edge is
remembered for each color of a neighbor, and neighbors of neighbors, of which a full row of the matrix makes n², are
never gone through.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.progress import reported
from adjoint.sparse.graphs import Graph, order_vertices


def edges_of(graph: Graph) -> Any:
    """The number of the edge for each position in the lists of neighbors: both directions have the same."""
    n = graph.size
    rows = np.repeat(np.arange(n), graph.degrees())
    low, high = np.minimum(rows, graph.neighbors), np.maximum(rows, graph.neighbors)
    _, number = np.unique(low.astype(np.int64) * n + high, return_inverse=True)
    return np.ravel(number)


def star_colored(graph: Graph, order: str = "natural") -> Any:
    """The color of each vertex.

    Every edge belongs to a star of its two colors; a star of more than one edge has a hub. A vertex v must not have
    the color of a neighbor w; nor, when two neighbors of v have one color, the color of any of their neighbors;
    nor the color of the hub of a star that w is a leaf of.
    """
    start, neighbors = graph.lists()
    edge = edges_of(graph).tolist()
    n = graph.size
    colors = [-1] * n
    star = [-1] * (len(edge) // 2)  # of each edge
    hub: list[int] = []  # of each star; -1 while it has a single edge
    founders: list[int] = []  # of each star: the sum of its first two vertices
    towards: list[dict[int, int]] = [{} for _ in range(n)]  # of each vertex: color of a neighbor → an edge to one
    hubs: list[set[int] | None] = [None] * n  # of each vertex: the colors of hubs of which it is a leaf
    forbidden = [-1] * (n + 1)
    first: list[tuple[int, int, int]] = [(-1, -1, -1)] * (n + 1)  # of each color: (v, its first neighbor, the edge)
    treated = [-1] * n

    def add_leaf(u: int, color_of_hub: int) -> None:
        known = hubs[u]
        if known is None:
            hubs[u] = {color_of_hub}
        else:
            known.add(color_of_hub)

    for v in reported(order_vertices(graph, order).tolist(), "coloring"):
        own = [at for at in range(start[v], start[v + 1]) if colors[neighbors[at]] >= 0]
        for at in own:
            w = neighbors[at]
            c = colors[w]
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
        color = 0
        while forbidden[color] == v:
            color += 1
        colors[v] = color
        for at in own:
            w, e = neighbors[at], edge[at]
            c = colors[w]
            known = towards[w].get(color)
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
                add_leaf(q, color)
                add_leaf(w, color)
            else:
                star[e] = len(hub)
                hub.append(-1)
                founders.append(v + w)
        for at in own:
            w, e = neighbors[at], edge[at]
            towards[w].setdefault(color, e)
            towards[v].setdefault(colors[w], e)
    return np.asarray(colors, int)


def acyclic_colored(graph: Graph, order: str = "natural") -> Any:
    """The color of each vertex.

    The trees of two colors are sets of edges that are joined as they grow. A vertex v must not have a color with
    which it would meet a tree along two different edges.
    """
    start, neighbors = graph.lists()
    edge = edges_of(graph).tolist()
    n = graph.size
    colors = [-1] * n
    parent = list(range(len(edge) // 2))

    def root(e: int) -> int:
        while parent[e] != e:
            parent[e] = parent[parent[e]]
            e = parent[e]
        return e

    towards: list[dict[int, int]] = [{} for _ in range(n)]  # of each vertex: color of a neighbor → an edge to one
    forbidden = [-1] * (n + 1)
    visit: list[tuple[int, int]] = [(-1, -1)] * len(parent)  # of each tree: (v, by which neighbor it was met first)
    for v in reported(order_vertices(graph, order).tolist(), "coloring"):
        own = [at for at in range(start[v], start[v + 1]) if colors[neighbors[at]] >= 0]
        for at in own:
            forbidden[colors[neighbors[at]]] = v
        for at in own:
            w = neighbors[at]
            for c, e in towards[w].items():
                if forbidden[c] != v:
                    tree = root(e)
                    p, q = visit[tree]
                    if p != v:
                        visit[tree] = (v, w)
                    elif q != w:
                        forbidden[c] = v
        color = 0
        while forbidden[color] == v:
            color += 1
        colors[v] = color
        for at in own:
            w, e = neighbors[at], edge[at]
            parent[root(e)] = root(towards[v].setdefault(colors[w], e))
            known = towards[w].setdefault(color, e)
            parent[root(e)] = root(known)
    return np.asarray(colors, int)
