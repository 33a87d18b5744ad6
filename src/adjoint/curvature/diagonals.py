"""The diagonal of a Hessian, approximately, in one walk back through the graph of a function.

Every variable carries its gradient r and an estimate d of the diagonal of its Hessian. A node z = f(x) adds

    r[x] += Jᵀ r[z],        d[x] += diag(∂²⟨r[z], f⟩/∂x²) + (J∘J)ᵀ d[z]

What is left out are the entries of the Hessian in z off its diagonal: the result is exact wherever these vanish. A node
that reads a variable twice is a function of it once; different variables of a node are taken by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed
from adjoint.curvature.backpropagation import loss_curvature, scalar_graph
from adjoint.curvature.elimination import Block, dense
from adjoint.curvature.graph import Graph, Node, record_graph
from adjoint.curvature.local import (
    diagonal_derivatives,
    diagonal_seconds,
    pull,
    pull_squared,
    pulled,
    scale_block,
    stack_rows,
)
from adjoint.ops.calculus import fit, total
from adjoint.program.types import Value
from adjoint.transform.arguments import Argnums, Selection, fresh, select

__all__ = ["FirstAndDiagonal", "diagonal_hessian"]


class FirstAndDiagonal(NamedTuple):
    """∇f(x), and the estimate of the diagonal of ∇²f(x).

    ```python
    ad.curvature.diagonal_hessian(lambda x: np.sum(x**3))(np.ones(2)).gradient  # → [3.0, 3.0]
    ```
    """

    gradient: Any
    diagonal: Any


def diagonal_hessian(
    function: Function, argnums: Argnums = 0, *, loss: Callable[..., Any] | None = None, last: str = "exact"
) -> Transformed:
    """Gradient and estimated diagonal of the Hessian of a function, for about three times the cost of a gradient.

    `diagonal_hessian(f)(x)` is (∇f(x), d), both trees like x. With `loss` the function is a model and the Hessian that
    of loss(function(x)). The Hessian of the loss is computed whole; `last="exact"` carries it through the last layer of
    the model whole as well (up to the first sum of weighted elements: a matrix product, a convolution), and
    `last="diagonal"` keeps only its diagonal.

    What is left out lies between the primitives, so that the estimate depends on them: a loop or branch whose course is
    known only when it runs (inside a compiled function) is one primitive, and exact by itself.

    ```python
    gradient, diagonal = ad.curvature.diagonal_hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    diagonal  # → [6.0, 12.0]
    ```
    """
    if last not in ("exact", "diagonal"):
        raise ValueError(f'diagonal_hessian: last={last!r} is neither "exact" nor "diagonal".')
    return Transformed(_diagonal_hessian, function, _DiagonalOptions(argnums, loss, last))


@dataclass(frozen=True)
class _DiagonalOptions(Options):
    """The options of `diagonal_hessian`."""

    argnums: Argnums
    loss: Function | None
    last: str


def _diagonal_hessian(function: Function, options: _DiagonalOptions, args: Any, kwargs: Any) -> FirstAndDiagonal:
    chosen = select(function, options.argnums, args, kwargs, "diagonal_hessian")
    if options.loss is None:
        graph = scalar_graph(chosen, "diagonal_hessian")
        index = graph.outputs[0]
        r, blocks = {index: np.ones((), graph.types[index].dtype)[()]} if index >= 0 else {}, {}
    else:
        graph = record_graph(lambda active: chosen.call(chosen.completed(active)), chosen.values)
        r, blocks = loss_curvature(options.loss, graph)
    walk = _Walk(graph, r, blocks, whole=options.last == "exact")
    walk.run()
    gradients = [walk.r[i] for i in range(len(chosen.active))]
    diagonals = [walk.diagonal(i) for i in range(len(chosen.active))]
    return FirstAndDiagonal(_like(chosen, gradients), _like(chosen, diagonals))


def _like(chosen: Selection, values: Sequence[Value]) -> Any:
    full: list[Value] = [np.zeros_like(leaf)[()] for leaf in chosen.leaves]
    for i, value in zip(chosen.active, fresh(values), strict=True):
        full[i] = full[i] if value is None else value
    return chosen.result(full)


class _Walk:
    """Gradients, diagonals, and whole Hessians of the variables near the end that have one."""

    def __init__(self, graph: Graph, r: dict[int, Value], blocks: dict[tuple[int, int], Block], *, whole: bool) -> None:
        self.graph = graph
        self.r: list[Value] = [None] * graph.size
        self.d: list[Value] = [None] * graph.size
        self.whole: list[Value] = [None] * graph.size  # arrays of shape x.shape + x.shape
        for index, g in r.items():
            self.r[index] = g
        for (u, v), block in blocks.items():
            if u == v:
                self.whole[u] = dense(block, graph.types[u].shape)
                if not whole:
                    self.d[u], self.whole[u] = self.diagonal(u), None

    def diagonal(self, index: int) -> Value:
        """The diagonal that a variable has."""
        whole = self.whole[index]
        if whole is None:
            return self.d[index]
        n = self.graph.types[index].size
        own = np.reshape(np.diagonal(np.reshape(whole, (n, n))), self.graph.types[index].shape)
        return total(self.d[index], own)

    def run(self) -> None:
        """Eliminate all nodes."""
        with self.graph.reading(), np.errstate(all="ignore"):
            while self.graph.nodes:
                node = self.graph.nodes.pop()
                cts = [self.r[o] if o >= 0 else None for o in node.outputs]
                ds = [self.d[o] if o >= 0 else None for o in node.outputs]
                wholes = [self.whole[o] if o >= 0 else None for o in node.outputs]
                if all(part is None for part in (*cts, *ds, *wholes)):
                    continue
                if node.op.is_elementwise:
                    self._elementwise(node, cts[0], ds[0], wholes[0])
                else:
                    self._general(node, cts, ds, wholes)
                if any(c is not None for c in cts):
                    for parent, g in zip(node.parents, pull(node, cts), strict=True):
                        self.r[parent] = total(self.r[parent], g)
                for o in node.outputs:
                    if o >= 0:
                        self.r[o] = self.d[o] = self.whole[o] = None

    def _elementwise(self, node: Node, ct: Value, d: Value, whole: Value) -> None:
        curved = diagonal_seconds(node, [ct])
        derivatives = diagonal_derivatives(node) if d is not None or whole is not None else [None] * len(curved)
        for parent, second, derivative in zip(node.parents, curved, derivatives, strict=True):
            kind = self.graph.types[parent]
            added = total(second, None if d is None else scale_block(scale_block(d, derivative), derivative))
            if added is not None:
                self.d[parent] = total(self.d[parent], fit(added, kind))
            if whole is None:
                continue
            shape = np.shape(node.zs[0])
            if kind.shape == shape:
                n = len(shape)
                transposed = np.transpose(scale_block(whole, derivative), (*range(n, 2 * n), *range(n)))
                self.whole[parent] = total(self.whole[parent], scale_block(transposed, derivative))
            else:
                rows = stack_rows(node)[node.parents.index(parent)]
                self.d[parent] = total(self.d[parent], _congruence_diagonal(rows, whole))

    def _general(self, node: Node, cts: list[Value], ds: list[Value], wholes: list[Value]) -> None:
        for parent, second in zip(node.parents, diagonal_seconds(node, cts), strict=True):
            self.d[parent] = total(self.d[parent], second)
        if any(d is not None for d in ds):
            for parent, added in zip(node.parents, pull_squared(node, ds), strict=True):
                self.d[parent] = total(self.d[parent], None if added is None else fit(added, self.graph.types[parent]))
        if all(w is None for w in wholes):
            return
        if node.op.is_selection and len(wholes) == 1:
            self._picked(node, wholes[0])
            return
        for k, whole in enumerate(wholes):
            if whole is not None:
                for parent, rows in zip(node.parents, stack_rows(node, only=k), strict=True):
                    if rows is not None:
                        self.d[parent] = total(self.d[parent], _congruence_diagonal(rows, whole))

    def _picked(self, node: Node, whole: Value) -> None:
        """Jᵀ R J stays whole where elements are only moved about."""
        kind = self.graph.types[node.outputs[0]]
        columns = pulled(node, [np.reshape(whole, (kind.size, *kind.shape))])
        for a, (parent, column) in enumerate(zip(node.parents, columns, strict=True)):
            if column is None:
                continue
            mine = self.graph.types[parent]
            rows_first = np.moveaxis(np.reshape(column, (*kind.shape, mine.size)), -1, 0)
            both = pulled(node, [rows_first])[a]
            self.whole[parent] = total(self.whole[parent], np.reshape(both, (*mine.shape, *mine.shape)))


def _congruence_diagonal(rows: Value, whole: Value) -> Value:
    """diag(Jᵀ R J) for J with rows along the first axis."""
    n = np.shape(rows)[0]
    return np.sum(rows * np.tensordot(np.reshape(whole, (n, n)), rows, axes=1), axis=0)
