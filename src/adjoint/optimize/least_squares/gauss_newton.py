"""Gauss-Newton: whole steps -J⁺ r of the linearized residuals, shortened by a search where they do not fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, LINE_SEARCH_FAILED, NO_PROGRESS, NOT_FINITE, RUNNING
from adjoint.program.types import Value

__all__ = ["GaussNewton"]


class _State(NamedTuple):
    value: Value
    gradient: Value
    residuals: Value
    jacobian: Value
    measure: Value
    code: Value


class _Trial(NamedTuple):
    step: Value
    value: Value
    residuals: Value
    count: Any


@final
@dataclass(frozen=True)
class GaussNewton:
    """x⁺ = x - γ J⁺ r, with γ = 1, ½, ¼ … until the sum of squares falls enough (Armijo); `damping` η adds η ‖p‖².

    A linear problem is solved in one step. Where the residuals stay large, Levenberg and Marquardt's method is safer.

    ```python
    A, b = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0, 4.0])
    found = ad.optimize.least_squares(lambda x: A @ x - b, np.zeros(2), method="gauss-newton")
    np.round(found.value, 6), int(found.iterations)  # → ([0.833333, 1.5], 1)
    ```
    """

    damping: float = 0.0
    sufficient: float = 1e-4
    trials: int = 40
    scaled: bool = True
    needs = ("residual", "jacobian")
    descends = True

    def init(self, problem: Residuals, x: Value) -> _State:
        """Residuals and Jacobian at the start."""
        if problem.bounded:
            raise ValueError(f"{problem.title}: GaussNewton takes no bounds. Use method='lm'.")
        value, r = problem.value(x)
        return self._look(problem, x, value, r, as_code(RUNNING))

    def _look(self, problem: Residuals, x: Value, value: Value, r: Value, code: Value) -> _State:
        scaled, J = problem.jacobian(x, r)
        g = J.T @ scaled
        sizes = np.sqrt(np.sum(J * J, axis=0)) * np.sqrt(2.0 * value)
        cosines = np.where(sizes > 0, np.abs(g) / np.where(sizes > 0, sizes, 1.0), 0.0)
        return _State(value, g, r, J, np.max(cosines), code)

    def step(self, problem: Residuals, x: Value, state: _State) -> tuple[Value, _State]:
        """One Gauss-Newton step."""
        J = state.jacobian
        r = state.residuals if problem.loss is None else problem.weigh(state.residuals)
        if self.damping:
            n = problem.size
            J = np.concatenate([J, np.sqrt(self.damping) * np.eye(n, dtype=problem.dtype)])
            r = np.concatenate([r, np.zeros(n, problem.dtype)])
        sizes = np.sqrt(np.sum(J * J, axis=0))
        sizes = np.where(sizes > 0, sizes, 1.0)
        p = -(np.linalg.pinv(J / sizes) @ r) / sizes
        derivative = np.vdot(state.gradient, p)
        enough = lambda s: s.value <= state.value + self.sufficient * s.step * derivative

        def shorten(s: _Trial) -> _Trial:
            value, residuals = problem.value(x + 0.5 * s.step * p)
            return _Trial(0.5 * s.step, value, residuals, s.count + 1)

        value, residuals = problem.value(x + p)
        last = problem.loop(lambda s: both(no(enough(s)), s.count < self.trials), shorten,
                            _Trial(1.0 + 0 * derivative, value, residuals, np.int64(1)))  # fmt: skip
        success = both(enough(last), last.value < state.value)
        small = norm(p * sizes) <= problem.eps ** (2 / 3) * norm(x * sizes)
        hidden = -derivative <= 100 * problem.eps * np.abs(state.value)
        why = either(np.logical_or(small, -derivative <= problem.eps**2), CONVERGED,
                     either(hidden, NO_PROGRESS, LINE_SEARCH_FAILED))  # fmt: skip
        code = either(success, either(small, CONVERGED, RUNNING), why)
        moved = x + last.step * p
        new = problem.when(
            success, lambda: self._look(problem, moved, last.value, last.residuals, as_code(RUNNING)), lambda: state
        )
        return either(success, moved, x), new._replace(code=as_code(code))

    def done(self, problem: Residuals, x: Value, state: _State) -> Value:
        """Where r is orthogonal to the columns of J, or vanishes."""
        small = np.logical_or(state.measure <= problem.tol, state.value <= (problem.eps**2) ** 2)
        code = either(state.code != RUNNING, state.code, either(small, CONVERGED, RUNNING))
        finite = both(np.isfinite(state.value), np.all(np.isfinite(state.jacobian)))
        return as_code(either(finite, code, NOT_FINITE))
