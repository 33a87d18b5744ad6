"""A map whose matrix has been factored once, for many right sides.

positive definite: A = L L*,    square: P A = L U,    more rows than columns: A = Q R
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.linear.operators.algebra import OfMap
from adjoint.linear.operators.dense import solve_dense
from adjoint.linear.operators.maps import STATIC, LinearMap
from adjoint.linear.operators.operations import scale
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.linalg.matrices import hermitian
from adjoint.program.types import Value
from adjoint.scipy import linalg

__all__ = ["Factored", "factored"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Factored(OfMap):
    """A, which applies as it did, and solves by factors of its matrix."""

    inner: LinearMap
    factors: tuple[Value, ...]
    kind: str = field(metadata=STATIC)

    def _label(self) -> str:
        return f"Factored ({self.kind})"

    def _apply(self, x: Any) -> Any:
        return self.inner._apply(x)

    def _apply_adjoint(self, u: Any) -> Any:
        return self.inner._apply_adjoint(u)

    def _apply_columns(self, columns: Value) -> Value:
        return self.inner._apply_columns(columns)

    def _adjoint(self) -> LinearMap:
        if self.kind.startswith("lu"):
            return Factored(self.inner.adjoint, self.factors, "lu" if self.kind == "lu, adjoint" else "lu, adjoint")
        return self.inner.adjoint

    def _solve(self, b: Any) -> Any:
        return self.domain.unravel(self._solve_columns(self.range.ravel(b)))

    def _solve_columns(self, columns: Value) -> Value:
        """For one vector as well."""
        if self.kind == "cholesky":
            return linalg.cho_solve((self.factors[0], True), columns)
        if self.kind == "qr":
            q, r = self.factors
            return solve_dense(r, np.matmul(adjoint_matrix(q), columns), frozenset({"upper triangular"}))
        packed, pivots = self.factors
        return linalg.lu_solve((packed, pivots), columns, trans=2 if self.kind == "lu, adjoint" else 0)

    def _method(self) -> str:
        return f"{self.kind} factors"

    def _is_structured(self) -> bool:
        return True

    def _to_dense(self) -> Value:
        return self.inner._to_dense()


def factored(a: LinearMap) -> LinearMap:
    """A with its factors: every later `solve` costs two substitutions. A map that is easy to solve with stays as it is.

    The factors are chosen by the facts, and differentiable in what the map is made of.

    ```python
    A = ad.linear.factored(ad.linear.matrix(np.array([[2.0, 1.0], [1.0, 2.0]])))
    A.solve(np.array([3.0, 3.0]))  # → [1.0, 1.0]
    ```
    """
    if a.is_structured or (a.is_square and a.facts & {"lower triangular", "upper triangular"}):
        return a
    if "negative definite" in a.facts:
        return scale(-1.0, factored(scale(-1.0, a)))
    dense = a._to_dense()
    if "positive definite" in a.facts:
        return Factored(a, (np.linalg.cholesky(hermitian(dense)),), "cholesky")
    if a.is_square:
        packed, pivots = linalg.lu_factor(dense)
        return Factored(a, (packed, pivots), "lu")
    if a.shape[0] < a.shape[1]:
        raise ShapeError(f"factored: a map of shape {a.shape} has fewer rows than columns; factor its adjoint instead.")
    q, r = np.linalg.qr(dense)
    return Factored(a, (q, r), "qr")
