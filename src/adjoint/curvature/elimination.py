"""Hessians carried back through a graph: variables are eliminated one after the other, from the results to the inputs.

While the variables y are live, the function is φ(y) with gradient r and Hessian H, in blocks H[u, v]. When the node
z = f(x) is reached, φ(…, f(x)) is a function of the others:

    r[x]    += Jᵀ r[z]
    H[u, v] += J_uᵀ H[z, v] + H[u, z] J_v + J_uᵀ H[z, z] J_v + ∂²⟨r[z], f⟩/∂u∂v,        J_u = 0 unless z reads u

Blocks between variables that no input reaches both of never meet again: for the diagonal blocks of the result they
are left out. Leaving out all blocks between different variables gives the cheaper scheme that is exact on chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.curvature.graph import Graph, Node
from adjoint.curvature.local import diagonal_derivatives, pull, pulled, scale_block, seconds
from adjoint.ops.arrays.contract import MatMul
from adjoint.ops.calculus import fit, total
from adjoint.program.types import ArrayType, Value

__all__ = ["Block", "Eliminated", "Kronecker", "ancestors", "dense", "eliminate"]


class Block(NamedTuple):
    """A block of a Hessian: an array of shape u.shape + v.shape, or its diagonal (u and v of one shape)."""

    values: Value
    diagonal: bool = False


class Kronecker(NamedTuple):
    """The block R ⊗ s sᵀ of a matrix W in z = W s, or s sᵀ ⊗ R in z = s W, with elements in NumPy's order."""

    inner: Value  # R, the Hessian in z, as a matrix
    vector: Value
    from_left: bool  # W s

    @property
    def factors(self) -> tuple[Value, Value]:
        """The two matrices of the product."""
        outer = np.multiply.outer(self.vector, self.vector)
        return (self.inner, outer) if self.from_left else (outer, self.inner)


class Eliminated(NamedTuple):
    """What is left when all nodes are eliminated: gradients and blocks of the inputs."""

    gradients: list[Value]
    blocks: dict[tuple[int, int], Block]  # u <= v
    products: dict[int, Kronecker]  # blocks that were kept as products


Keep = Callable[[int, int], bool]


def eliminate(
    graph: Graph,
    gradients: dict[int, Value],
    blocks: dict[tuple[int, int], Block],
    keep: Keep,
    *,
    second: bool = True,
    as_products: int = 0,
) -> Eliminated:
    """Take a graph apart, from gradient and Hessian in its results. `keep` says which blocks matter.

    Without `second` the second derivatives of the nodes are left out: what remains is the Gauss-Newton matrix. The
    blocks of the first `as_products` inputs are kept as Kronecker products where they are: where such a matrix is read
    once, in a product with a vector.
    """
    hessian = _Hessian(graph.types, keep)
    hessian.single = _read_once(graph, as_products)
    for (u, v), block in blocks.items():
        hessian.add(u, v, block)
    r: list[Value] = [None] * graph.size
    for index, g in gradients.items():
        r[index] = total(r[index], g)
    with graph.reading(), np.errstate(all="ignore"):  # singular derivatives are infinite, and zeros win over them
        while graph.nodes:
            node = graph.nodes.pop()  # with the values that nothing reads any more
            cts = [r[o] if o >= 0 else None for o in node.outputs]
            own = hessian.among(node.outputs)
            rows = hessian.rows(node.outputs)
            if all(c is None for c in cts) and not own and not rows:
                continue
            eliminated = _elementwise if node.op.is_elementwise else _general
            eliminated(node, hessian, cts, own, rows, second)
            if any(c is not None for c in cts):
                for parent, g in zip(node.parents, pull(node, cts), strict=True):
                    r[parent] = total(r[parent], g)
            for o in node.outputs:
                if o >= 0:
                    r[o] = None
                    hessian.drop(o)
    return Eliminated(r, hessian.blocks, hessian.products)


def ancestors(graph: Graph, groups: Sequence[int]) -> list[int]:
    """For each variable, which groups of inputs it depends on, as the bits of a number."""
    groups_of = [0] * graph.size
    for index, group in enumerate(groups):
        groups_of[index] = 1 << group
    for node in graph.nodes:
        reached = 0
        for i in node.inputs:
            reached |= groups_of[i] if i >= 0 else 0
        for o in node.outputs:
            if o >= 0:
                groups_of[o] = reached
    return groups_of


class _Hessian:
    """The blocks of a symmetric matrix, one of each pair kept."""

    def __init__(self, types: Sequence[ArrayType], keep: Keep) -> None:
        self.types, self.keep = types, keep
        self.blocks: dict[tuple[int, int], Block] = {}
        self.partners: dict[int, set[int]] = {}
        self.single: set[int] = set()  # inputs whose own block may be kept as a product
        self.products: dict[int, Kronecker] = {}

    def wants(self, u: int, v: int) -> bool:
        return u == v or self.keep(u, v)

    def add(self, u: int, v: int, block: Block) -> None:
        if not self.wants(u, v):
            return
        if u > v:
            u, v, block = v, u, self._turned(block, u)
        old = self.blocks.get((u, v))
        if old is None:
            self.blocks[u, v] = block
            self.partners.setdefault(u, set()).add(v)
            self.partners.setdefault(v, set()).add(u)
        elif old.diagonal and block.diagonal:
            self.blocks[u, v] = Block(old.values + block.values, diagonal=True)
        else:
            shape = self.types[u].shape
            self.blocks[u, v] = Block(dense(old, shape) + dense(block, shape))

    def _turned(self, block: Block, leading: int) -> Block:
        """The block of (v, u) from that of (u, v)."""
        return block if block.diagonal else Block(swap_leading_axes(block.values, self.types[leading].ndim))

    def get(self, u: int, v: int) -> Value:
        """The block of (u, v) as an array."""
        block = self.blocks[min(u, v), max(u, v)]
        whole = dense(block, self.types[min(u, v)].shape)
        return whole if u <= v else swap_leading_axes(whole, self.types[v].ndim)

    def among(self, outputs: Sequence[int]) -> list[tuple[int, int]]:
        """The pairs of these variables that have a block, in both orders."""
        return [(u, v) for u in outputs if u >= 0 for v in outputs if v in self.partners.get(u, ())]

    def rows(self, outputs: Sequence[int]) -> list[int]:
        """The other variables that have a block with one of these."""
        others = {v for u in outputs if u >= 0 for v in self.partners.get(u, ())}
        return sorted(others.difference(outputs))

    def has(self, u: int, v: int) -> bool:
        return v in self.partners.get(u, ())

    def drop(self, u: int) -> None:
        for v in self.partners.pop(u, set()):
            del self.blocks[min(u, v), max(u, v)]
            if v != u:
                self.partners[v].discard(u)


def swap_leading_axes(values: Value, leading: int) -> Value:
    """An array of shape u.shape + v.shape as one of v.shape + u.shape."""
    n = np.ndim(values)
    return np.transpose(values, (*range(leading, n), *range(leading)))


def dense(block: Block, shape: tuple[Any, ...]) -> Value:
    """A block as an array."""
    if not block.diagonal:
        return block.values
    n = math.prod(shape)
    return np.reshape(np.reshape(block.values, (n, 1)) * np.eye(n, dtype=block.values.dtype), (*shape, *shape))


# elementwise nodes: the Jacobian is a diagonal, after the argument was spread to the shape of z


def _elementwise(
    node: Node, hessian: _Hessian, cts: list[Value], own: list[Any], rows: list[int], second: bool
) -> None:
    z, parents = node.outputs[0], node.parents
    shape, d = hessian.types[z].shape, diagonal_derivatives(node) if own or rows else []
    for u in rows:
        block = hessian.get(z, u)
        for parent, derivative in zip(parents, d, strict=True):
            _add_row(
                hessian, parent, u, _reduce(scale_block(block, derivative), hessian.types[parent].shape, len(shape))
            )
    needed = lambda a, b: hessian.wants(parents[a], parents[b])
    curved = seconds(node, cts, needed) if second else {}
    block = hessian.blocks[z, z] if own else None
    for a, u in enumerate(parents):
        for b, v in enumerate(parents[a:], a):
            if not needed(a, b):
                continue
            diagonal = curved.get((a, b))
            if block is not None and block.diagonal:
                diagonal = total(diagonal, scale_block(scale_block(block.values, d[a]), d[b]))
            if diagonal is not None:
                _add_diagonal(hessian, u, v, diagonal, shape)
            if block is not None and not block.diagonal:
                whole = _reduce(scale_block(block.values, d[a]), hessian.types[u].shape, len(shape))
                whole = swap_leading_axes(whole, hessian.types[u].ndim)
                whole = _reduce(scale_block(whole, d[b]), hessian.types[v].shape, len(shape))
                hessian.add(v, u, Block(whole))


def _reduce(block: Value, shape: tuple[Any, ...], leading: int) -> Value:
    """Sum the leading axes of a block down to the shape of an argument that was spread along them."""
    before = np.shape(block)
    if before[:leading] == shape:
        return block
    rest = before[leading:]
    folded = np.reshape(block, (*before[:leading], math.prod(rest)))
    return np.reshape(fit(folded, ArrayType((*shape, math.prod(rest)), block.dtype)), (*shape, *rest))


def _add_diagonal(hessian: _Hessian, u: int, v: int, diagonal: Value, shape: tuple[Any, ...]) -> None:
    """Σₖ wₖ e(u, k) e(v, k)ᵀ over the elements k of z: e(u, k) is the element of u that was spread to k."""
    first, second = hessian.types[u], hessian.types[v]
    if first.shape == second.shape:
        hessian.add(u, v, Block(fit(diagonal, first), diagonal=True))
        return
    spread = _reduce(scale_block(_spreading(shape, second), diagonal), first.shape, len(shape))
    hessian.add(u, v, Block(spread))


def _spreading(shape: tuple[Any, ...], target: ArrayType) -> Value:
    """The Jacobian of broadcasting to a shape, as an array of that shape + target.shape."""
    n = math.prod(target.shape)
    positions = np.broadcast_to(np.arange(n).reshape(target.shape), shape)
    return np.equal(positions[..., None], np.arange(n)).astype(target.dtype).reshape(*shape, *target.shape)


def _add_row(hessian: _Hessian, parent: int, u: int, block: Value) -> None:
    """A term Jᵀ H[z, u] of the block (parent, u), and its transpose."""
    hessian.add(parent, u, Block(block))
    if parent == u:
        hessian.add(u, u, Block(swap_leading_axes(block, hessian.types[u].ndim)))


# all others: stacks of cotangents are pulled


def _general(node: Node, hessian: _Hessian, cts: list[Value], own: list[Any], rows: list[int], second: bool) -> None:
    parents = node.parents
    for u in rows:
        for parent, block in _pull_rows(node, hessian, [(o, u) for o in node.outputs]):
            _add_row(hessian, parent, u, block)
    if own:
        _add_own(node, hessian, own)
    if not second:
        return
    needed = lambda a, b: hessian.wants(parents[a], parents[b])
    for (a, b), values in seconds(node, cts, needed).items():
        hessian.add(parents[a], parents[b], Block(values))


def _add_own(node: Node, hessian: _Hessian, own: list[tuple[int, int]]) -> None:
    """J_uᵀ H[z, z] J_v, for all variables u, v of the node."""
    parents = node.parents
    if len(own) == 1 and node.op.is_selection and hessian.blocks[own[0]].diagonal:
        # an element of z comes from one element of one variable: the block stays a diagonal, and nothing else arises
        for parent, g in zip(parents, pull(node, [hessian.blocks[own[0]].values]), strict=True):
            if g is not None:
                hessian.add(parent, parent, Block(g, diagonal=True))
        return
    whole = _kept_as_product(node, hessian, own) if hessian.single else None
    half: dict[tuple[int, int], Value] = {}  # (variable, result) → J_uᵀ H[z, z'], once for each result z'
    for o in node.outputs:
        if o >= 0:
            for parent, block in _pull_rows(node, hessian, [(p, o) for p in node.outputs]):
                half[parent, o] = block
    for a, u in enumerate(parents):
        columns = [half.get((u, o)) for o in node.outputs]
        if all(c is None for c in columns):
            continue
        n = math.prod(hessian.types[u].shape)
        stacks = [
            None if c is None else np.reshape(c, (n, *hessian.types[o].shape))
            for c, o in zip(columns, node.outputs, strict=True)
        ]
        for b, g in enumerate(pulled(node, stacks)):
            if g is not None and b >= a and not (a == b and u == whole):
                hessian.add(u, parents[b], Block(np.reshape(g, (*hessian.types[u].shape, *np.shape(g)[1:]))))


def _read_once(graph: Graph, count: int) -> set[int]:
    """Which of the first inputs are read by one node, and are no result themselves."""
    reads = [sum(index in node.inputs for node in graph.nodes) for index in range(count)]
    return {index for index, n in enumerate(reads) if n == 1 and index not in graph.outputs}


def _kept_as_product(node: Node, hessian: _Hessian, own: list[tuple[int, int]]) -> int | None:
    """The input whose block in this product of a matrix and a vector is kept as a Kronecker product."""
    if not isinstance(node.op, MatMul) or sorted(np.ndim(x) for x in node.xs) != [1, 2]:
        return None
    side = int(np.ndim(node.xs[1]) == 2)
    index = node.inputs[side]
    if index not in hessian.single:
        return None
    n = hessian.types[node.outputs[0]].size
    whole = np.reshape(dense(hessian.blocks[own[0]], hessian.types[node.outputs[0]].shape), (n, n))
    hessian.products[index] = Kronecker(whole, node.xs[1 - side], from_left=side == 0)
    return index


def _pull_rows(node: Node, hessian: _Hessian, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Value]]:
    """J_uᵀ H[z, v] for all variables u of the node: `pairs` are the (z, v), for one v."""
    v = pairs[0][1]
    kind = hessian.types[v]
    n = math.prod(kind.shape)
    stacks: list[Value] = []
    for o, _ in pairs:
        if o < 0 or not hessian.has(o, v):
            stacks.append(None)
        else:
            stacks.append(np.reshape(hessian.get(v, o), (n, *hessian.types[o].shape)))
    if all(s is None for s in stacks):
        return
    for parent, g in zip(node.parents, pulled(node, stacks), strict=True):
        if g is not None:
            columns = np.reshape(g, (*kind.shape, *np.shape(g)[1:]))
            yield parent, swap_leading_axes(columns, kind.ndim)
