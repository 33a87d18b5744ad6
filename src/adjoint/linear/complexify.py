"""A real map on complex elements: A(x + i y) = A x + i A y. Sums and products of real and complex maps need it."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.linear.algebra import Identity, Zero
from adjoint.linear.facts import Facts
from adjoint.linear.maps import LinearMap, operation
from adjoint.linear.spaces import Space
from adjoint.program.types import Value

__all__ = ["Complexified", "complexified"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Complexified(LinearMap):
    """A on real and imaginary parts: the same matrix over the complex numbers."""

    inner: LinearMap

    @property
    def domain(self) -> Space:
        return self.inner.domain.complexified()

    @property
    def range(self) -> Space:
        return self.inner.range.complexified()

    def _own_facts(self) -> Facts:
        return self.inner.facts

    def _parts(self) -> tuple[LinearMap, ...]:
        return (self.inner,)

    def _apply(self, x: Any) -> Any:
        return _on_parts(self.inner._apply, x)

    def _apply_adjoint(self, u: Any) -> Any:
        return _on_parts(self.inner._apply_adjoint, u)

    def _apply_columns(self, columns: Value) -> Value:
        return _on_parts(self.inner._apply_columns, columns)

    def _adjoint(self) -> LinearMap:
        return Complexified(self.inner.adjoint)

    def _solve(self, b: Any) -> Any:
        return _on_parts(self.inner._solve, b)

    def _solve_columns(self, columns: Value) -> Value:
        return _on_parts(self.inner._solve_columns, columns)

    def _method(self) -> str:
        return self.inner.method

    def _is_structured(self) -> bool:
        return self.inner.is_structured

    def diagonal(self) -> Value:
        return self.inner.diagonal().astype(self.dtype)

    def _to_dense(self) -> Value:
        return self.inner._to_dense().astype(self.dtype)


def _on_parts(function: Callable[[Any], Any], x: Any) -> Any:
    real, imaginary = function(tree.map(np.real, x)), function(tree.map(np.imag, x))
    return tree.map(lambda p, q: p + 1j * q, real, imaginary)


@operation("complexify")
def complexified(a: LinearMap) -> LinearMap:
    """The map on complex elements; a complex map stays as it is."""
    if all(t.dtype.kind == "c" for t in (*a.domain.types, *a.range.types)):
        return a
    if isinstance(a, Identity):
        return Identity(a.domain.complexified())
    if isinstance(a, Zero):
        return Zero(a.domain.complexified(), a.range.complexified())
    return Complexified(a)
