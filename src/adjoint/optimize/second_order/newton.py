"""Newton's method with a line search: what is done about a Hessian that is not positive definite has a name.

refuse: none but a positive definite Hessian will do          regularize: H + η I, η as small as makes it so
absolute: |λ| for the eigenvalues (saddle-free)               floor: max(λ, δ)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.suggestions import did_you_mean
from adjoint.linear.solvers.iteration import both, either, norm
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.armijo import Armijo
from adjoint.optimize.searches.search import Line
from adjoint.optimize.second_order.quasi_newton import BLUR
from adjoint.optimize.second_order.trust_region import decompose_hessian
from adjoint.optimize.statuses import CONVERGED, LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING, SADDLE_POINT
from adjoint.program.types import Value

__all__ = ["REACH", "Newton", "is_descent_direction"]

REACH = 100.0  # times the size of x: the longest step where the Hessian tells nothing of its length
CURVATURES = ("regularize", "absolute", "floor", "refuse")


def is_descent_direction(direction: Value, gradient: Value) -> Any:
    """Whether f falls along a direction: ⟨d, ∇f⟩ < 0.

    ```python
    ad.optimize.is_descent_direction(np.array([-1.0, 0.5]), np.array([2.0, 1.0]))  # → True
    ```
    """
    return np.vdot(direction, gradient) < 0


class _State(NamedTuple):
    value: Value
    gradient: Value
    values: Value
    vectors: Value
    code: Value


@final
@dataclass(frozen=True)
class Newton:
    """Damped Newton: d = -H⁻¹ g, and the largest of 1, ½, ¼ … along it that falls enough (Armijo).

    `curvature` says what stands for H where it is not positive definite: "regularize" (H + η I), "absolute" (|λ|, which
    leaves saddle points), "floor" (max(λ, δ)), or "refuse", which ends with the status "saddle point".

    ```python
    found = ad.optimize.minimize(lambda x: np.sum(np.exp(x) - x), np.ones(2), method=ad.optimize.Newton())
    np.round(found.value, 9) + 0.0, int(found.iterations)  # → ([0.0, 0.0], 5)
    ```
    """

    curvature: str = "regularize"
    search: Any = field(default_factory=Armijo)
    needs = ("value", "gradient", "hessian", "solve")
    descends = True

    def __post_init__(self) -> None:
        if self.curvature not in CURVATURES:
            near = did_you_mean(self.curvature, CURVATURES) or f"They are: {', '.join(CURVATURES)}."
            raise ValueError(f"Newton: {self.curvature!r} says nothing of curvature. {near}")

    def init(self, problem: Problem, x: Value) -> _State:
        """Value, gradient and Hessian at the start."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, *decompose_hessian(problem, x), as_code(RUNNING))

    def modify(self, values: Value, eps: float, size: Any = 1.0, reach: Any = np.inf) -> Value:
        """The eigenvalues that stand for those of the Hessian, where the gradient has this size.

        Where they tell nothing, as on a plane, they are made so large that the step is not longer than `reach`.
        """
        span = np.maximum(np.max(np.abs(values)), 1e-30)
        least = 10.0 * eps * span  # a badly conditioned Hessian is still one
        smallest = np.min(np.abs(values)) if self.curvature == "absolute" else values[0]
        least = either(smallest > least, least, np.maximum(least, size / reach))
        if self.curvature == "absolute":
            return np.maximum(np.abs(values), least)
        if self.curvature == "floor":
            return np.maximum(values, least)
        shift = np.maximum(np.minimum(1e-3 * span, size) + least - values[0], 0.0)  # less and less near a minimum
        return values + either(values[0] > least, 0 * shift, shift)

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One search along Newton's direction."""
        g, Q = state.gradient, state.vectors
        definite = state.values[0] > 0
        reach = REACH * np.maximum(1.0, norm(x))
        d = -(Q @ ((Q.T @ g) / self.modify(state.values, problem.eps, norm(g), reach)))
        derivative = np.vdot(g, d)
        found = self.search.search(problem, Line(x, d, state.value, g, derivative, 1.0 + 0 * derivative))
        # below the rounding of f a whole step that makes the gradient smaller is believed
        hidden = -derivative <= BLUR * problem.eps * np.abs(state.value)
        last = problem.when(both(hidden, np.logical_not(found.success)),
                            lambda: (x + d, *problem.value_and_gradient(x + d)),
                            lambda: (found.x, found.value, found.gradient))  # fmt: skip
        polished = both(hidden, both(norm(last[2]) < norm(g), np.isfinite(last[1])))
        success = np.logical_or(found.success, polished)
        x_new, value, gradient = problem.choose(success, last, (x, state.value, g))
        values, vectors = problem.when(
            success, lambda: decompose_hessian(problem, x_new), lambda: (state.values, state.vectors)
        )
        code = either(success, RUNNING, either(hidden, NO_PROGRESS, LINE_SEARCH_FAILED))
        if self.curvature == "refuse":
            code = either(definite, code, SADDLE_POINT)
            x_new, value, gradient = problem.choose(definite, (x_new, value, gradient), (x, state.value, g))
        return x_new, _State(value, gradient, values, vectors, as_code(code))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small; where the curvature is negative there, it is a saddle point."""
        code = judge(problem, x, state)
        span = np.maximum(np.max(np.abs(state.values)), 1.0)
        negative = state.values[0] < -(problem.eps**0.5) * span
        return as_code(either(both(code == CONVERGED, negative), SADDLE_POINT, code))
