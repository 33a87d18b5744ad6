"""The first and second derivative of one node of a graph, as the walks back through a graph ask for them.

For z = f(x₁ … xₙ) with cotangent r:

    pulled                  Jₐᵀ u for a stack of u's           (Jₐ = ∂f/∂xₐ)
    diagonal_derivatives    the diagonal of Jₐ, for elementwise f (arguments spread to the shape of z)
    seconds                 ∂²⟨r, f⟩/∂xₐ∂x_b: of elementwise f a vector of numbers, else of shape xₐ.shape + x_b.shape
    squared                 (Jₐ∘Jₐ)ᵀ d

An argument that occurs twice is one variable: x * x is the square of x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.gradients import jvp, vjp, vmap
from adjoint.curvature.graph import Node
from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.cumulative import CumSum
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.calculus import fit, total
from adjoint.ops.elementwise.pointwise import masked_multiply
from adjoint.ops.signal.convolution import Convolution
from adjoint.program.op import Op
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import Value, type_of

__all__ = [
    "diagonal_derivatives",
    "diagonal_seconds",
    "pull",
    "pull_squared",
    "pulled",
    "scale_block",
    "seconds",
    "stack_rows",
]  # fmt: skip

# (Jₐ∘Jₐ)ᵀ d for each variable a of a node.
SQUARED: RuleTable[Callable[[Node, Sequence[Value]], list[Value]]] = RuleTable("curvature")


def _function(node: Node, wide: bool = False) -> tuple[Callable[..., Any], list[Value]]:
    """The node as a function of its distinct variables, and their values; when `wide`, spread to the shape of z."""
    positions_of = [node.positions(parent) for parent in node.parents]

    def call(*ys: Value) -> Any:
        xs = list(node.xs)
        for y, positions in zip(ys, positions_of, strict=True):
            for k in positions:
                xs[k] = y
        return node.op(*xs)

    values = [node.xs[positions[0]] for positions in positions_of]
    if wide:
        shape = np.shape(node.zs[0])
        values = [v if np.shape(v) == shape else np.broadcast_to(v, shape) for v in values]
    return call, values


def _merge(node: Node, cts: Sequence[Value]) -> list[Value]:
    """Cotangents of the distinct variables, from those of the arguments."""
    return [total(*[cts[k] for k in node.positions(parent)]) for parent in node.parents]


def pull(node: Node, ct: Any) -> list[Value]:
    """One cotangent (or one for each result; None is zero) of the results, pulled to the distinct variables."""
    if node.op.saves:  # it has programs inside, and decides itself what it keeps
        call, values = _function(node)
        _, pullback = vjp(lambda *ys: [z for z, o in zip(call(*ys), node.outputs, strict=True) if o >= 0], *values)
        kept = [
            np.zeros(np.shape(z), type_of(z).dtype) if c is None else c
            for c, z, o in zip(ct, node.zs, node.outputs, strict=True)
            if o >= 0
        ]
        return list(pullback(kept))
    wanted = [index >= 0 for index in node.inputs]
    z = node.zs if node.op.several else node.zs[0]
    with np.errstate(all="ignore"):
        cts = list(node.op.pull(list(ct) if node.op.several else ct[0], node.xs, z, wanted))
    cts = [None if g is None or not w else fit(g, type_of(x)) for g, w, x in zip(cts, wanted, node.xs, strict=True)]
    return _merge(node, cts)


def pulled(node: Node, stacks: Sequence[Value]) -> list[Value]:
    """Jₐᵀ u for a stack of u's (the first axis) of each result; None where it is zero. One entry for each variable."""
    nonzero = [k for k, s in enumerate(stacks) if s is not None]
    reached: list[int] = []

    def one(*us: Value) -> list[Value]:
        full: list[Value] = [None] * len(stacks)
        for k, u in zip(nonzero, us, strict=True):
            full[k] = u
        cts = pull(node, full)
        reached[:] = [a for a, c in enumerate(cts) if c is not None]
        return [c for c in cts if c is not None]

    results = vmap(one)(*[stacks[k] for k in nonzero])
    out: list[Value] = [None] * len(node.parents)
    for a, value in zip(reached, results, strict=True):
        out[a] = value
    return out


def diagonal_derivatives(node: Node) -> list[Value]:
    """∂z/∂xₐ of an elementwise node, element by element, in the shape of z."""
    z = node.zs[0]
    if node.op.linear:
        ones = np.ones(np.shape(z), type_of(z).dtype)
        parts = node.op.pull(ones, node.xs, z, [index >= 0 for index in node.inputs])
        return _merge(node, parts)
    call, values = _function(node, wide=True)
    with np.errstate(all="ignore"):
        _, pullback = vjp(call, *values)
        return list(pullback(np.ones(np.shape(z), type_of(z).dtype)[()]))


def seconds(node: Node, cts: Sequence[Value], needed: Callable[[int, int], bool]) -> dict[tuple[int, int], Value]:
    """∂²⟨r, f⟩/∂xₐ∂x_b for the pairs a ≤ b of variables that are needed (numbers of the node's parents).

    Of elementwise nodes: element by element in the shape of z; else whole arrays.
    """
    if node.op.linear or all(c is None for c in cts):
        return {}
    wide = node.op.is_elementwise
    call, values = _function(node, wide)
    count = len(values)
    pairs = [(a, b) for a in range(count) for b in range(a, count) if needed(a, b)]
    if node.op.multilinear:  # linear in each argument: only those that stand beside each other
        pairs = [(a, b) for a, b in pairs if a != b or len(node.positions(node.parents[a])) > 1]
    if not pairs:
        return {}

    def gradient(*ys: Value) -> tuple[Value, ...]:
        def result(*ys: Value) -> Any:
            z = call(*ys)
            parts = list(z) if node.op.several else [z]
            return [p for p, c in zip(parts, cts, strict=True) if c is not None]

        _, pullback = vjp(result, *ys)
        return pullback([c for c in cts if c is not None])

    out: dict[tuple[int, int], Value] = {}
    zeros = [np.zeros(np.shape(v), type_of(v).dtype) for v in values]
    for b in sorted({b for _, b in pairs}):
        rows = [a for a, second in pairs if second == b]

        def along(direction: Value, b: int = b, rows: list[int] = rows) -> list[Value]:
            tangents: list[Value] = [direction if k == b else zero[()] for k, zero in enumerate(zeros)]
            _, second = jvp(gradient, tuple(values), tuple(tangents))
            return [second[a] for a in rows]

        with np.errstate(all="ignore"):
            if wide:
                columns = along(np.ones_like(zeros[b])[()])
            else:
                stacked = vmap(along)(_units(np.shape(values[b]), zeros[b].dtype))
                columns = [_last(s, np.shape(values[b])) for s in stacked]
        out.update({(a, b): f for a, f in zip(rows, columns, strict=True)})
    return out


def _units(shape: tuple[int, ...], dtype: Any) -> Value:
    """All unit arrays of a shape, stacked."""
    n = math.prod(shape)
    return np.reshape(np.eye(n, dtype=dtype), (n, *shape))


def _last(stack: Value, shape: tuple[int, ...]) -> Value:
    """A stack over the elements of a shape, with their axes last."""
    moved = np.moveaxis(stack, 0, -1)
    return np.reshape(moved, (*moved.shape[:-1], *shape))


def diagonal_seconds(node: Node, cts: Sequence[Value]) -> list[Value]:
    """diag(∂²⟨r, f⟩/∂xₐ²) for each variable a; of elementwise nodes in the shape of z."""
    blocks = seconds(node, cts, lambda a, b: a == b)
    out: list[Value] = []
    for a, parent in enumerate(node.parents):
        block = blocks.get((a, a))
        if block is not None and not node.op.is_elementwise:
            shape = np.shape(node.xs[node.positions(parent)[0]])
            n = math.prod(shape)
            block = np.reshape(np.diagonal(np.reshape(block, (n, n))), shape)
        out.append(block)
    return out


def stack_rows(node: Node, only: int | None = None) -> list[Value]:
    """The rows of the Jacobians: for each variable a an array of shape (elements of all results, xₐ.shape…).

    Or of the result with number `only`.
    """
    kept = [k for k, index in enumerate(node.outputs) if index >= 0 and only in (None, k)]
    sizes = [math.prod(np.shape(node.zs[k])) for k in kept]
    stacks: list[Value] = [None] * len(node.zs)
    start = 0
    for k, n in zip(kept, sizes, strict=True):
        kind = type_of(node.zs[k])
        stack = np.zeros((sum(sizes), n), kind.dtype)
        stack[start : start + n] = np.eye(n)
        stacks[k] = stack.reshape(sum(sizes), *kind.shape)
        start += n
    return pulled(node, stacks)


def pull_squared(node: Node, d: Sequence[Value]) -> list[Value]:
    """(Jₐ∘Jₐ)ᵀ d for each variable a; d has an entry for each result, None where it is zero."""
    return SQUARED[node.op](node, d)


@SQUARED.rule(Sum, CumSum, ScatterSum, ScatterAdd)
def _pull_squared_ones(node: Node, d: Sequence[Value]) -> list[Value]:
    """Every element of the Jacobian is 0 or 1."""
    return pull(node, d)


@SQUARED.rule(MatMul, Convolution)
def _pull_squared_product(node: Node, d: Sequence[Value]) -> list[Value]:
    """Every element of the Jacobian is 0 or an element of the other argument."""
    op: Any = node.op
    if not _has_distinct_arguments(node):
        return _pull_squared_rows(node, d)
    return [op.adjoint(k, d[0], [np.square(x) for x in node.xs]) for k in _positions(node)]


@SQUARED.rule(Einsum)
def _pull_squared_contraction(node: Node, d: Sequence[Value]) -> list[Value]:
    op: Any = node.op
    if not _has_distinct_arguments(node):
        return _pull_squared_rows(node, d)
    return [_pull_squared_einsum(op, k, d[0], node.xs) for k in _positions(node)]


@SQUARED.rule(Op)
def _pull_squared_rows(node: Node, d: Sequence[Value]) -> list[Value]:
    if node.op.is_selection:
        return pull(node, d)
    weights = np.concatenate(
        [
            np.reshape(np.zeros(np.shape(z), type_of(z).dtype) if c is None else c, (-1,))
            for c, z, o in zip(d, node.zs, node.outputs, strict=True)
            if o >= 0
        ]
    )
    rows = stack_rows(node)
    return [None if J is None else np.tensordot(weights, np.square(J), axes=1) for J in rows]


def _has_distinct_arguments(node: Node) -> bool:
    return all(len(node.positions(parent)) == 1 for parent in node.parents)


def _positions(node: Node) -> list[int]:
    return [node.positions(parent)[0] for parent in node.parents]


def _pull_squared_einsum(op: Einsum, i: int, d: Value, xs: Sequence[Value]) -> Value:
    """An element of the Jacobian is a sum over the indices that the other operands have to themselves, then squared."""
    inputs, output = op.spec.split("->")
    letters = inputs.split(",")
    others = [k for k in range(len(xs)) if k != i]
    if not others:
        return op.adjoint(i, d, xs)
    seen = "".join(dict.fromkeys("".join(letters[k] for k in others)))
    kept = "".join(c for c in seen if c in letters[i] or c in output)
    spec = f"{','.join(letters[k] for k in others)}->{kept}"
    weights = np.square(Einsum(spec)(*[xs[k] for k in others]))
    operands = [xs[i], weights]
    return Einsum(f"{letters[i]},{kept}->{output}").adjoint(0, d, operands)


def scale_block(block: Value, derivative: Value) -> Value:
    """A block with leading axes of z, each row times the derivative of its element; zero rows stay zero."""
    extra = np.ndim(block) - np.ndim(derivative)
    return masked_multiply(block, np.reshape(derivative, np.shape(derivative) + (1,) * extra))
