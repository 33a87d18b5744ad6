"""Newton's method with a sparse Hessian: found by coloring, shifted until it is positive definite, and factorized."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.least_squares.normal_equations import factorize_definite
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.armijo import Armijo
from adjoint.optimize.searches.search import Line
from adjoint.optimize.second_order.newton import REACH
from adjoint.optimize.second_order.quasi_newton import BLUR
from adjoint.optimize.statuses import CONVERGED, LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING, SADDLE_POINT, SINGULAR
from adjoint.program.types import Value

__all__ = ["SparseNewton"]

SHIFTS = 60


class _State(NamedTuple):
    value: Value
    gradient: Value
    shift: Value  # η of the last step
    code: Value


@final
@dataclass(frozen=True)
class SparseNewton:
    """Damped Newton, d = -(H + η I)⁻¹ g, for many unknowns with a sparse Hessian; η is 0 where H is positive definite.

    The signs of the pivots tell whether it is. It runs on plain arrays, in compiled programs too.

    ```python
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    found = ad.optimize.minimize(rosenbrock, np.full(500, 0.9), method=ad.optimize.SparseNewton())
    bool(np.max(np.abs(found.value - 1)) < 1e-6), found.status  # → (True, 'converged')
    ```
    """

    search: Any = field(default_factory=Armijo)
    needs = ("value", "gradient", "hessian", "solve")
    descends = True
    plain = True

    def init(self, problem: Problem, x: Value) -> _State:
        """Value and gradient at the start."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, 0 * value, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One search along Newton's direction."""
        from scipy import sparse

        g, H = state.gradient, problem.sparse_hessian(x)
        size = max(float(np.max(np.abs(H.diagonal()))), 1e-30)
        flat = float(np.linalg.norm(g)) / (REACH * max(1.0, float(np.linalg.norm(x))))
        shift, solve = 0.0, None
        for _ in range(SHIFTS):
            problem.count("solve")
            try:
                solve = factorize_definite(H + shift * sparse.eye_array(len(g)) if shift else H)
                break
            except SolveError:
                shift = max(4.0 * shift, 0.25 * float(state.shift), 1e-6 * size, flat)
        if solve is None:
            return x, state._replace(code=as_code(SINGULAR))
        d = -solve(g)
        derivative = np.vdot(g, d)
        found = self.search.search(problem, Line(x, d, state.value, g, derivative, problem.dtype.type(1.0)))
        hidden = -derivative <= BLUR * problem.eps * np.abs(state.value)
        moved, value, gradient, success = found.x, found.value, found.gradient, bool(found.success)
        if hidden and not success:  # below the rounding of f a whole step that makes the gradient smaller is believed
            value, gradient = problem.value_and_gradient(x + d)
            moved, success = x + d, bool(np.linalg.norm(gradient) < np.linalg.norm(g))
        if not success:
            code = NO_PROGRESS if hidden else LINE_SEARCH_FAILED
            return x, state._replace(shift=problem.dtype.type(shift), code=as_code(code))
        return moved, _State(value, gradient, problem.dtype.type(shift), as_code(RUNNING))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small; where H is not positive semidefinite there, it is a saddle point."""
        code = judge(problem, x, state)
        return as_code(SADDLE_POINT) if code == CONVERGED and self._is_saddle(problem, x) else code

    def _is_saddle(self, problem: Problem, x: Value) -> bool:
        from scipy import sparse

        H = problem.sparse_hessian(x)
        slack = problem.eps**0.5 * max(float(np.max(np.abs(H.diagonal()))), 1.0)
        try:
            factorize_definite(H + slack * sparse.eye_array(problem.size))
        except SolveError:
            return True
        return False
