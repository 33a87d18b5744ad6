"""A real map on complex elements: A(x + i y) = A x + i A y. Sums and products of real and complex maps need it."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.linear.operators.algebra import Identity, OfMap, Zero
from adjoint.linear.operators.blocks import Block, BlockDiagonal
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.program.types import Value

__all__ = ["Complexified", "complexified"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Complexified(OfMap):
    """A on real and imaginary parts: the same matrix over the complex numbers."""

    inner: LinearMap

    @property
    def domain(self) -> Space:
        return self.inner.domain.complexified()

    @property
    def range(self) -> Space:
        return self.inner.range.complexified()

    @property
    def _mixed(self) -> bool:
        """Whether some of its numbers were complex before."""
        return any(t.dtype.kind == "c" for t in (*self.inner.domain.types, *self.inner.range.types))

    def _own_facts(self) -> Facts:
        return self.inner.facts

    def _apply(self, x: Any) -> Any:
        return _on_parts(self.inner._apply, x)

    def _apply_adjoint(self, u: Any) -> Any:
        if not self._mixed:
            return _on_parts(self.inner._apply_adjoint, u)
        # complex results of real numbers: the inner adjoint takes real parts, Re(A* u); Im(A* u) = Re(A* (-i u))
        types, parts = self.inner.range.types, _on_real_leaves(u, self.inner.range)
        adjoint = lambda v: tree.leaves(self.inner._apply_adjoint(tree.unflatten(self.inner.range.structure, v)))
        turned = [[-1j * x if t.dtype.kind == "c" else 0 * x for x, t in zip(v, types, strict=True)] for v in parts]
        found = [[p if t.dtype.kind == "c" else p + 1j * q for p, q, t in
                  zip(adjoint(v), adjoint(w), self.inner.domain.types, strict=True)]
                 for v, w in zip(parts, turned, strict=True)]  # fmt: skip
        leaves = [p + 1j * q for p, q in zip(*found, strict=True)]
        return tree.unflatten(self.inner.domain.structure, leaves)

    def _apply_columns(self, columns: Value) -> Value:
        return _on_parts(self.inner._apply_columns, columns)

    def _adjoint(self) -> LinearMap:
        return super()._adjoint() if self._mixed else Complexified(self.inner.adjoint)

    def _solve(self, b: Any) -> Any:
        return super()._solve(b) if self._mixed else _on_parts(self.inner._solve, b)

    def _solve_columns(self, columns: Value) -> Value:
        return super()._solve_columns(columns) if self._mixed else _on_parts(self.inner._solve_columns, columns)

    def _method(self) -> str:
        return super()._method() if self._mixed else self.inner.method

    def _is_structured(self) -> bool:
        return super()._is_structured() if self._mixed else self.inner.is_structured

    def diagonal(self) -> Value:
        return self.inner.diagonal().astype(self.dtype)

    def _to_dense(self) -> Value:
        return self.inner._to_dense().astype(self.dtype)


def _on_real_leaves(u: Any, space: Space) -> tuple[list[Value], list[Value]]:
    """v, w in the space with u = v + i w: w is zero where the space is complex."""
    kinds = [t.dtype.kind for t in space.types]
    leaves = tree.leaves(u)
    return (
        [x if kind == "c" else np.real(x) for x, kind in zip(leaves, kinds, strict=True)],
        [0 * x if kind == "c" else np.imag(x) for x, kind in zip(leaves, kinds, strict=True)],
    )


def _on_parts(function: Callable[[Any], Any], x: Any) -> Any:
    real, imaginary = function(tree.map(np.real, x)), function(tree.map(np.imag, x))
    return tree.map(lambda p, q: p + 1j * q, real, imaginary)


def complexified(a: LinearMap) -> LinearMap:
    """The map on complex elements; a complex map stays as it is.

    ```python
    ad.linear.complexified(ad.linear.identity(2)) @ np.array([1j, 2.0])  # → [1j, (2+0j)]
    ```
    """
    if all(t.dtype.kind == "c" for t in (*a.domain.types, *a.range.types)):
        return a
    if isinstance(a, Identity):
        return Identity(a.domain.complexified())
    if isinstance(a, Zero):
        return Zero(a.domain.complexified(), a.range.complexified())
    if isinstance(a, BlockDiagonal):
        return BlockDiagonal(tuple(complexified(part) for part in a.blocks), a.container, claims=a.claims)
    if isinstance(a, Block):
        return Block(tuple(tuple(complexified(part) for part in row) for row in a.rows), claims=a.claims)
    return Complexified(a)
