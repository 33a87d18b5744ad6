"""Kronecker products of maps, and the Khatri-Rao product of matrices, without their matrices.

(A ⊗ B) vec(X) = vec(A X Bᵀ),    vec: the rows of X one after another (NumPy's order, as in np.kron)
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.linear.operators import facts as known
from adjoint.linear.operators.blocks import raveled
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import Value

__all__ = ["KhatriRao", "Kronecker", "khatri_rao", "kronecker"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Kronecker(LinearMap):
    """A ⊗ B ⊗ …: each factor acts along its own axis of an array. Solving is solving with each factor."""

    factors: tuple[LinearMap, ...]

    @property
    def domain(self) -> Space:
        return Space.vector(math.prod(a.shape[1] for a in self.factors), self.dtype)

    @property
    def range(self) -> Space:
        return Space.vector(math.prod(a.shape[0] for a in self.factors), self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*[a.dtype for a in self.factors])

    def _own_facts(self) -> Facts:
        return known.of_kronecker([a.facts for a in self.factors])

    def _parts(self) -> tuple[LinearMap, ...]:
        return self.factors

    def _along_axes(self, x: Value, sizes: Sequence[int], act: Callable[[LinearMap, Value], Value]) -> Value:
        """Act with each factor along its own axis."""
        x = np.reshape(x, tuple(sizes))
        for axis, a in enumerate(self.factors):
            front = np.moveaxis(x, axis, 0)
            columns = np.reshape(front, (front.shape[0], -1))
            if columns.dtype.kind == "c" and a.dtype.kind != "c":  # a real factor takes both parts
                columns = act(a, np.real(columns)) + 1j * act(a, np.imag(columns))
            else:
                columns = act(a, columns)
            x = np.moveaxis(np.reshape(columns, (-1, *front.shape[1:])), 0, axis)
        return np.reshape(x, (-1,))

    def _apply(self, x: Any) -> Any:
        return self._along_axes(x, [a.shape[1] for a in self.factors], lambda a, c: a._apply_columns(c))

    def _apply_adjoint(self, u: Any) -> Any:
        return self._along_axes(u, [a.shape[0] for a in self.factors], lambda a, c: a.adjoint._apply_columns(c))

    def _by_factors(self) -> bool:
        return all(a.is_square for a in self.factors)

    def _solve(self, b: Any) -> Any:
        if not self._by_factors():
            return super()._solve(b)
        return self._along_axes(b, [a.shape[0] for a in self.factors], lambda a, c: a._solve_columns(c))

    def _adjoint(self) -> LinearMap:
        return Kronecker(tuple(a.adjoint for a in self.factors))

    def _inverse(self) -> LinearMap:
        return Kronecker(tuple(a.inverse for a in self.factors)) if self._by_factors() else super()._inverse()

    def _method(self) -> str:
        if not self._by_factors():
            return super()._method()
        return "factor by factor: " + ", ".join(a.method for a in self.factors)

    def _is_structured(self) -> bool:
        return self._by_factors()

    def diagonal(self) -> Value:
        if not self._by_factors():
            return super().diagonal()
        return functools.reduce(np.kron, [a.diagonal() for a in self.factors])

    def _to_dense(self) -> Value:
        return functools.reduce(np.kron, [a._to_dense() for a in self.factors])


@final
@dataclass(frozen=True, eq=False, repr=False)
class KhatriRao(LinearMap):
    """x ↦ Σₖ xₖ aₖ ⊗ bₖ, over the columns of two matrices: vec(A diag(x) Bᵀ)."""

    _axes = (("left", 2), ("right", 2))
    left: Value
    right: Value

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.left.dtype, self.right.dtype)

    @property
    def domain(self) -> Space:
        return Space.vector(self.left.shape[-1], self.dtype)

    @property
    def range(self) -> Space:
        return Space.vector(self.left.shape[-2] * self.right.shape[-2], self.dtype)

    def _apply(self, x: Any) -> Any:
        return np.reshape(np.matmul(self.left * x, np.transpose(self.right)), (-1,))

    def _apply_adjoint(self, u: Any) -> Any:
        table = np.reshape(u, (self.left.shape[-2], self.right.shape[-2]))
        return np.sum(np.conjugate(self.left) * np.matmul(table, np.conjugate(self.right)), axis=0)

    def _to_dense(self) -> Value:
        return np.reshape(self.left[:, None, :] * self.right[None, :, :], (-1, self.left.shape[-1]))


def kronecker(*factors: Any) -> LinearMap:
    """A ⊗ B ⊗ …, of maps or matrices, on vectors: np.kron's order.

    ```python
    ad.linear.kronecker(np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2)) @ np.arange(4.0)  # → [2.0, 3.0, 0.0, 1.0]
    ```
    """
    maps = [raveled(a) if isinstance(a, LinearMap) else matrix(a) for a in factors]
    if not maps:
        raise ShapeError("kronecker: give at least one factor.")
    return maps[0] if len(maps) == 1 else Kronecker(tuple(maps))


def khatri_rao(a: Any, b: Any) -> LinearMap:
    """The map whose matrix has the columns aₖ ⊗ bₖ.

    ```python
    result = ad.linear.khatri_rao(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [0.0, 3.0]])).to_dense()
    result  # → [[1.0, 2.0], [0.0, 6.0]]
    ```
    """
    left, right = (matrix(m)._to_dense() for m in (a, b))
    if left.shape[1] != right.shape[1]:
        raise ShapeError(f"khatri_rao: the matrices have {left.shape[1]} and {right.shape[1]} columns.")
    return KhatriRao(left, right)
