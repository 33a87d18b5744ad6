"""Gradient descent, x⁺ = x - γ ∇f(x): the minimizer of the linear model of f plus ‖x⁺ - x‖² / 2γ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import either, no
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.armijo import Armijo
from adjoint.optimize.searches.search import Line
from adjoint.optimize.second_order.quasi_newton import BLUR, guess_step
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["GradientDescent"]


class _State(NamedTuple):
    value: Value
    gradient: Value
    step: Value  # the last one
    code: Value


@final
@dataclass(frozen=True)
class GradientDescent:
    """x⁺ = x - γ ∇f(x), with a fixed step γ, or with steps that a line search finds.

    Steps shorter than 2/β converge, where β bounds the curvature; longer ones diverge. Without `step_size` each
    search starts at twice the last step.

    ```python
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    method = ad.optimize.GradientDescent(step_size=0.5)
    ad.optimize.minimize(f, np.array([1.0, 1.0]), method=method, max_iterations=10).value  # → [0.598736…, 0.000976…]
    ```
    """

    step_size: Any = None
    search: Any = field(default_factory=lambda: Armijo(sufficient=0.4))  # steps of about 1/β
    growth: float = 2.0
    needs = ("value", "gradient")

    @property
    def descends(self) -> bool:
        """Searches never go up; fixed steps may."""
        return self.step_size is None

    def init(self, problem: Problem, x: Value) -> _State:
        """Value and gradient at the start."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, guess_step(problem, x, gradient), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step along -∇f."""
        g = state.gradient
        if self.step_size is not None:
            x = problem.project(x - self.step_size * g)
            value, gradient = problem.value_and_gradient(x)
            return x, _State(value, gradient, state.step, state.code)
        derivative = -np.vdot(g, g)
        found = self.search.search(problem, Line(x, -g, state.value, g, derivative, self.growth * state.step))
        hidden = -derivative * state.step <= BLUR * problem.eps * np.abs(state.value)
        code = either(no(found.success), either(hidden, NO_PROGRESS, LINE_SEARCH_FAILED), RUNNING)
        step = either(found.success, found.step, state.step)
        return found.x, _State(found.value, found.gradient, step, as_code(code))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)
