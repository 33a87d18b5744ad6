"""From compressed products back to a matrix: each entry stands alone in a product, or follows by substitution.

With seeds S (one column of zeros and ones for each color) the products are J S and, from the left, Rᵀ J. In a direct
decompression every nonzero is one element of them. By substitution (acyclic colorings) the entries of a tree of two
colors follow from the leaves inwards: the only unknown edge at a leaf is the product there, less the edges known.
"""

# pyright: basic

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.index import ScatterSum
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.sparse.graphs import graph_of
from adjoint.sparse.relations import Matrix
from adjoint.sparse.star import edges_of

SUM: Any = (("gather", 1),)
DEEP = 64  # levels of a forest above which Python goes from node to node


class Direct(NamedTuple):
    """Nonzero k (in the order of the CSR matrix) is element source[k] of all products, one after the other."""

    source: Any

    def values(self, products: Value) -> Value:
        return np.take(products, self.source)


class Substitution(NamedTuple):
    """Values of edges, from the leaves of the trees inwards; then each nonzero is an edge or on the diagonal."""

    node: Any  # for each node of the trees, which element of the products is the sum of its edges
    parent: Any  # of each node; -1 for the root of a tree. The edge to its parent is the node's own
    levels: list[Any]  # the nodes that are no roots, deepest first
    owner: Any  # for each nonzero the node whose edge it is; 0 on the diagonal
    diagonal: Any  # for each nonzero its element of the products if it stands on the diagonal, else -1

    def values(self, products: Value) -> Value:
        rest: Any = np.take(products, self.node)
        if len(self.levels) > DEEP and not is_traced(products):
            rest = self._one_by_one(rest)
        else:
            for children in self.levels:
                rest = self._risen(rest, children)
        edges = np.take(rest, self.owner) if self.node.size else np.zeros(self.owner.shape, rest.dtype)
        return np.where(self.diagonal < 0, edges, np.take(products, np.maximum(self.diagonal, 0)))

    def _risen(self, rest: Value, children: Any) -> Value:
        """The edges of some nodes are known: their parents have that much less to share out."""
        above = self.parent[children]
        if is_traced(rest):
            return rest - ScatterSum(rest.shape, rest.dtype, SUM)(np.take(rest, children), above)
        np.subtract.at(rest, above, rest[children])
        return rest

    def _one_by_one(self, rest: Any) -> Any:
        """The same for long paths, whose levels hold a node or two."""
        numbers, parent = rest.tolist(), self.parent.tolist()
        for children in self.levels:
            for v in children.tolist():
                numbers[parent[v]] -= numbers[v]
        return np.asarray(numbers, rest.dtype)


def is_traced(value: Value) -> bool:
    """Whether a value belongs to a running transformation."""
    return isinstance(value, Tracer)


def entries_of(pattern: Matrix) -> tuple[Any, Any]:
    """(row, column) of each nonzero."""
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices.astype(np.int64)


def alone(groups: Any, colors: Any) -> Any:
    """For each nonzero, whether no other with the same group (its row, say) has the same color (of its column)."""
    width = int(colors.max(initial=-1)) + 2
    key = groups.astype(np.int64) * width + colors + 1
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    return (count[np.ravel(group)] == 1) & (colors >= 0)


def direct_plan(pattern: Matrix, columns: Any, rows: Any) -> Direct:
    """Where each nonzero is read, from products J S (first) or Rᵀ J."""
    i, j = entries_of(pattern)
    m, n = pattern.shape
    of_column = np.full(i.size, -1) if columns is None else columns[j]
    of_row = np.full(i.size, -1) if rows is None else rows[i]
    right, left = alone(i, of_column), alone(j, of_row)
    _check(right | left, i, j)
    offset = m * number(columns)
    return Direct(np.where(right, of_column * m + i, offset + of_row * n + j))


def star_plan(pattern: Matrix, colors: Any) -> Direct:
    """hᵢⱼ from the color of j at row i, or from the color of i at row j."""
    i, j = entries_of(pattern)
    n = pattern.shape[0]
    there, twin = alone(i, colors[j]), alone(j, colors[i])
    _check(there | twin, i, j)
    return Direct(np.where(there, colors[j] * n + i, colors[i] * n + j))


def _check(is_known: Any, i: Any, j: Any) -> None:
    if not is_known.all():
        k = int(np.argmin(is_known))
        raise ShapeError(
            f"sparse: the coloring does not fit the pattern: entry ({i[k]}, {j[k]}) stands alone in no product. "
            "Color this pattern with ad.sparse.color."
        )


def number(colors: Any) -> int:
    """How many colors there are; None has none."""
    return 0 if colors is None else int(colors.max(initial=-1)) + 1


def acyclic_plan(pattern: Matrix, colors: Any) -> Substitution:
    """The trees of all pairs of colors, taken apart from the leaves inwards.

    A node is a vertex u within the tree of u and another color c: the sum of its edges is element (c, u) of the
    products.
    """
    n = pattern.shape[0]
    i, j = entries_of(pattern)
    graph = graph_of(pattern)
    number_of = edges_of(graph)
    off = i != j
    edge = np.full(i.size, -1)
    edge[off] = number_of
    keys = colors[j[off]].astype(np.int64) * n + i[off]
    node, position = np.unique(keys, return_inverse=True)
    position = np.ravel(position)
    edges = int(number_of.max(initial=-1)) + 1
    ends = np.full((edges, 2), -1)
    upper = i[off] < j[off]
    ends[number_of[upper], 0] = position[upper]
    ends[number_of[~upper], 1] = position[~upper]
    if (ends < 0).any():
        raise ShapeError("sparse: the pattern of a Hessian must be symmetric: use P + P.T.")
    parent, levels = _root(ends, node.size)
    first_is_child = parent[ends[:, 0]] == ends[:, 1]
    child = np.where(first_is_child, ends[:, 0], ends[:, 1])
    owner = np.zeros(i.size, int)
    owner[off] = child[number_of]
    return Substitution(node, parent, levels, owner, np.where(off, -1, colors[i].astype(np.int64) * n + i))


def _root(ends: Any, nodes: int) -> tuple[Any, list[Any]]:
    """The parent of each node of a forest, and the nodes that have one, deepest first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes)).tocsr()
    trees, label = connected_components(graph, directed=False)
    if nodes - trees != len(ends):
        raise ShapeError("sparse: the coloring does not fit the pattern: two colors make a cycle.")
    if not nodes:
        return np.zeros(0, int), []
    roots = np.unique(label, return_index=True)[1]
    above = np.full(trees, nodes)  # one more node above all roots makes the forest a tree
    rows, columns = np.concatenate([ends[:, 0], above]), np.concatenate([ends[:, 1], roots])
    whole = coo_array((np.ones(rows.size), (rows, columns)), shape=(nodes + 1, nodes + 1)).tocsr()
    order, before = breadth_first_order(whole, nodes, directed=False)
    parent = before[:nodes].astype(np.int64)
    depth = [0] * (nodes + 1)
    up = before.tolist()
    for v in order.tolist()[1:]:
        depth[v] = depth[up[v]] + 1
    parent[parent == nodes] = -1
    deep = np.asarray(depth[:nodes])
    by_depth = np.argsort(deep, kind="stable")
    bounds = np.searchsorted(deep[by_depth], np.arange(2, deep.max() + 2))  # depth 1 are the roots
    return parent, np.split(by_depth, bounds)[1:-1][::-1] if bounds.size else []
