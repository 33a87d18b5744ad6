"""BFGS: an approximation B of the inverse Hessian, built up from changes of the gradient.

    B⁺ = (I - ρ s yᵀ) B (I - ρ y sᵀ) + ρ s sᵀ,    ρ = 1 / ⟨s, y⟩,    s = x⁺ - x,  y = ∇f(x⁺) - ∇f(x)

B⁺ y = s, and B stays symmetric; it stays positive definite where ⟨s, y⟩ > 0, and is left alone where not.

An update soon corrects what is too large in B, but what is too small takes many steps (Powell 1986), so B is held on
the large side: the identity takes the size ⟨s, s⟩/⟨s, y⟩ of the first step, and where B⁻¹ promised more curvature along
s than there was, all of B grows by that ratio first (self-scaling after Al-Baali). It is one after exact searches,
and tends to one as B becomes right. The first trial of a search is no longer than the decrease of the last one says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.strong_wolfe import StrongWolfe
from adjoint.optimize.second_order.quasi_newton import judge_search, measure_curvature, search_along
from adjoint.optimize.statuses import RUNNING
from adjoint.program.types import Value

__all__ = ["BFGS", "update_inverse"]


class _State(NamedTuple):
    value: Value
    gradient: Value
    inverse: Value  # B
    fresh: Any  # B is still the identity
    code: Value
    previous: Value  # f at the point before this one


def update_inverse(B: Value, s: Value, y: Value, sy: Value, scale: Any = 1.0) -> Value:
    """B⁺ of `scale` · B, by products with vectors only."""
    rho = 1.0 / sy
    By = scale * (B @ y)
    yBy = np.vdot(y, By)
    w = (0.5 * rho * (1.0 + rho * yBy)) * s - rho * By
    return scale * B + (s[:, None] * w + w[:, None] * s)


@final
@dataclass(frozen=True)
class BFGS:
    """Broyden, Fletcher, Goldfarb and Shanno's method, for up to some hundred unknowns; it keeps an n × n matrix.

    ```python
    rosenbrock = lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    found = ad.optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), method=ad.optimize.BFGS())
    np.round(found.value, 6), found.status  # → ([1.0, 1.0], 'converged')
    ```
    """

    search: Any = field(default_factory=StrongWolfe)
    needs = ("value", "gradient")
    descends = True

    def init(self, problem: Problem, x: Value) -> _State:
        """B = I."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, self._identity(problem), value == value, as_code(RUNNING), value)

    def _identity(self, problem: Problem) -> Value:
        return np.eye(problem.size, dtype=problem.dtype)

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One search and one update; after a search that failed B is the identity again."""
        g = state.gradient
        found, derivative = search_along(
            problem, self.search, x, state, -(state.inverse @ g), state.fresh, state.previous - state.value
        )
        s, y = found.x - x, found.gradient - g
        sy, good = measure_curvature(s, y, problem.eps)
        good, one = both(good, found.success), 1.0 + 0 * sy
        safe = either(good, sy, one)
        # ⟨s, B⁻¹ s⟩ = -α ⟨g, s⟩, since s = -α B g; a search that went farther than B said has made up for α > 1
        promised = problem.when(
            state.fresh, lambda: np.vdot(s, s), lambda: -np.minimum(found.step, one) * np.vdot(g, s)
        )
        scale = either(state.fresh, promised / safe, np.maximum(promised / safe, one))
        inverse = problem.when(
            good,
            lambda: update_inverse(state.inverse, s, y, sy, scale),
            lambda: problem.when(found.success, lambda: state.inverse, lambda: self._identity(problem)),
        )
        fresh = np.logical_or(no(found.success), both(state.fresh, no(good)))
        code = judge_search(problem, found, state.value, derivative, state.fresh)
        return found.x, _State(found.value, found.gradient, inverse, fresh, code, state.value)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)
