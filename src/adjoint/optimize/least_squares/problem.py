"""Residuals over vectors, with counted oracles: values and Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from adjoint import tree
from adjoint.api.jacobians import jacfwd, jacrev
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.loading import deferred
from adjoint.implicit.vectors import to_vector
from adjoint.linear.operators.derivative_maps import jacobian as linear_jacobian
from adjoint.linear.solvers.iteration import TRACED, both
from adjoint.optimize.least_squares.losses import Loss, rescale
from adjoint.optimize.oracles import Counter
from adjoint.optimize.problem import COMPILED, Unknowns
from adjoint.program.types import Value, type_of

if TYPE_CHECKING:
    from adjoint.sparse.derivatives import jacobian as sparse_jacobian
else:
    sparse_jacobian = deferred("adjoint.sparse.derivatives", "jacobian")

__all__ = ["Products", "Residuals"]


@final
class Products:
    """J by its products J @ u and J.T @ w, each counted."""

    def __init__(self, problem: Residuals, J: Any, weight: Value | None, is_adjoint: bool = False) -> None:
        self.problem, self.J, self.weight, self.is_adjoint = problem, J, weight, is_adjoint

    @property
    def T(self) -> Products:
        return Products(self.problem, self.J, self.weight, not self.is_adjoint)

    def __matmul__(self, u: Value) -> Value:
        self.problem.count("vjp" if self.is_adjoint else "jvp")
        if self.is_adjoint:
            return self.J.adjoint @ (u if self.weight is None else self.weight * u)
        found = self.J @ u
        return found if self.weight is None else self.weight * found


@final
class Residuals(Counter):
    """r over vectors: `value` gives the cost and the residuals, `jacobian` ∂r; a loss rescales both."""

    def __init__(
        self,
        title: str,
        function: Callable[[Any], Any],
        unknowns: Unknowns,
        tol: Any,
        lower: Value | None = None,
        upper: Value | None = None,
        loss: Loss | None = None,
        loss_scale: float = 1.0,
        jacobian: Callable[[Any], Any] | None = None,
        is_square: bool = False,
    ) -> None:
        super().__init__(("residual", "jacobian", "jvp", "vjp"))
        self.title, self.unknowns, self.tol = title, unknowns, tol
        self.dtype, self.size = unknowns.dtype, unknowns.size
        self.eps = float(np.finfo(unknowns.dtype).eps)
        self.lower, self.upper = lower, upper
        self.loss, self.loss_scale = loss, loss_scale
        self.is_square = is_square  # as many equations as unknowns
        self.last: Any = None
        self._function, self._jacobian = function, jacobian
        self._sparse: Any = None  # the derivative with its coloring

    @property
    def bounded(self) -> bool:
        return self.lower is not None

    def tree(self, v: Value) -> Any:
        """x as the user sees it."""
        return self.unknowns.tree(v)

    def evaluations(self) -> Any:
        """How often the residuals were computed."""
        return self.counts["residual"]

    def raw(self, v: Value) -> Value:
        """The residuals of the user, one after another."""
        leaves = tree.leaves(self._function(self.tree(v)))
        found = [leaf if isinstance(leaf, TRACED) else np.asarray(leaf) for leaf in leaves]
        if not found or any(leaf.dtype.kind not in "fciu" for leaf in found):
            kinds = ", ".join(sorted({str(getattr(leaf, "dtype", type(leaf).__name__)) for leaf in found})) or "nothing"
            raise DtypeError(f"{self.title}: the residuals are {kinds}; they are floating-point numbers.")
        r = to_vector(found, [type_of(leaf) for leaf in found])
        return r if r.dtype == self.dtype else r.astype(self.dtype)

    def value(self, v: Value) -> tuple[Value, Value]:
        """½ ‖r‖² (or ½ c² Σ ρ), and r."""
        self.count("residual")
        r = self.raw(v)
        if r.shape[0] == 0:
            raise ShapeError(f"{self.title}: there are no residuals.")
        if self.is_square and r.shape[0] != self.size:
            more = r.shape[0] > self.size
            remedy = "Use least_squares." if more else "Add what fixes the others, or freeze some of them."
            raise ShapeError(f"{self.title}: F(x) has {r.shape[0]} numbers, x has {self.size}. {remedy}")
        if self.loss is None:
            return 0.5 * np.vdot(r, r), r
        return rescale(self.loss, r, self.loss_scale)[0], r

    def jacobian(self, v: Value, r: Value) -> tuple[Value, Value]:
        """r and ∂r at a point, rescaled by the loss where there is one."""
        self.count("jacobian")
        J = self.plain_jacobian(v, r)
        if self.loss is None:
            return r, J
        _, scaled, weight = rescale(self.loss, r, self.loss_scale)
        return scaled, weight[:, None] * J

    def weigh(self, r: Value) -> Value:
        """The residuals as the loss rescales them."""
        return r if self.loss is None else rescale(self.loss, r, self.loss_scale)[1]

    def plain_jacobian(self, v: Value, r: Value) -> Value:
        """∂r as a matrix, by columns or by rows, whichever are fewer."""
        if self._jacobian is not None:
            J = np.reshape(np.asarray(self._jacobian(self.tree(v)), self.dtype), (r.shape[0], self.size))
            return J if self.unknowns.scale is None else J * self.unknowns.scale
        derive: Any = jacfwd if self.size <= 2 * r.shape[0] else jacrev
        return derive(self.raw)(v)

    def sparse_jacobian(self, v: Value, r: Value, pattern: Any = None) -> tuple[Any, Value]:
        """∂r as a sparse matrix by coloring, and r, rescaled by the loss; where J is dense it is so all the same."""
        self.count("jacobian")
        J = self._make_sparse(v, pattern)
        if self.unknowns.scale is not None and self._jacobian is not None:
            J = (J * self.unknowns.scale).tocsr()
        if self.loss is None:
            return J, r
        _, scaled, weight = rescale(self.loss, r, self.loss_scale)
        J.data = J.data * np.repeat(weight, np.diff(J.indptr))
        return J, scaled

    def _make_sparse(self, v: Value, pattern: Any) -> Any:
        from scipy import sparse

        if self._jacobian is not None:
            return sparse.csr_array(self._jacobian(self.tree(v)))
        if self._sparse is None:
            coloring = sparse_jacobian(self.raw, pattern).coloring(v)
            work = coloring.shape[0] + coloring.shape[1]
            self._sparse = sparse_jacobian(self.raw, coloring=coloring, jit=work * len(coloring) > COMPILED)
        return self._sparse(v)

    def linearize(self, v: Value) -> Products:
        """∂r by its products alone, rescaled by the loss."""
        weight = None if self.loss is None else rescale(self.loss, self.raw(v), self.loss_scale)[2]
        return Products(self, linear_jacobian(self.raw)(v), weight)

    def measure(self, v: Value, g: Value) -> Value:
        """‖∇cost‖∞, with bounds ‖v - P(v - ∇cost)‖∞."""
        if self.lower is not None:
            g = v - np.clip(v - g, self.lower, self.upper)
        return np.max(np.abs(g))

    def project(self, v: Value) -> Value:
        """The nearest point within bounds."""
        return v if self.lower is None or self.upper is None else np.minimum(np.maximum(v, self.lower), self.upper)

    def is_feasible(self, v: Value) -> Any:
        """Whether v obeys its bounds."""
        if self.lower is None:
            return True
        return both(np.all(v >= self.lower), np.all(v <= self.upper))

    def is_unbounded(self, value: Value) -> Any:
        """A sum of squares is not."""
        return False
