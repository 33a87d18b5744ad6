"""Momentum: heavy ball and Nesterov's acceleration.

    heavy ball:  v⁺ = ν v - γ ∇f(x),   x⁺ = x + v⁺
    Nesterov:    x⁺ = y - γ ∇f(y),     y⁺ = x⁺ + β (x⁺ - x)

With curvatures between μ and L, heavy ball is quickest with γ = 4 / (√L + √μ)², ν = ((√L - √μ) / (√L + √μ))².
Nesterov's β is (k - 1)/(k + 2) for convex functions, (√κ - 1)/(√κ + 1) with κ = L/μ for strongly convex ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import either
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.statuses import RUNNING
from adjoint.program.types import Value

__all__ = ["HeavyBall", "Nesterov"]


class _State(NamedTuple):
    value: Value
    gradient: Value
    velocity: Value
    count: Any
    code: Value


@final
@dataclass(frozen=True)
class HeavyBall:
    """Gradient descent with momentum (Polyak). With `momentum=0` it is gradient descent.

    ```python
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    method = ad.optimize.HeavyBall.for_curvatures(0.1, 1.0)
    round(method.step_size, 6), round(method.momentum, 6)  # → (2.308862, 0.269874)
    ad.optimize.minimize(f, np.ones(2), method=method).status  # → 'converged'
    ```
    """

    step_size: Any
    momentum: Any = 0.9
    needs = ("value", "gradient")
    descends = False

    @classmethod
    def for_curvatures(cls, smallest: float, largest: float) -> HeavyBall:
        """The quickest step and momentum where all curvatures lie between these."""
        low, high = smallest**0.5, largest**0.5
        return cls(4.0 / (high + low) ** 2, ((high - low) / (high + low)) ** 2)

    def init(self, problem: Problem, x: Value) -> _State:
        """At rest."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, 0 * gradient, np.int64(0), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step."""
        velocity = self.momentum * state.velocity - self.step_size * state.gradient
        x = x + velocity
        value, gradient = problem.value_and_gradient(x)
        return x, _State(value, gradient, velocity, state.count + 1, state.code)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)


@final
@dataclass(frozen=True)
class Nesterov:
    """Nesterov's acceleration, for convex functions, or with κ = `condition` for strongly convex ones.

    With `restart` momentum is lost whenever it goes uphill (O'Donoghue and Candès), which makes the convex variant as
    quick as the strongly convex one without knowing κ.

    ```python
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    ad.optimize.minimize(f, np.ones(2), method=ad.optimize.Nesterov(1.0, restart=True)).status  # → 'converged'
    ```
    """

    step_size: Any
    condition: float | None = None
    restart: bool = False
    needs = ("value", "gradient")
    descends = False

    def init(self, problem: Problem, x: Value) -> _State:
        """At rest."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, 0 * gradient, np.int64(0), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """The gradient at the extrapolated point, then a step from there; x is the point before extrapolation."""
        k = state.count
        if self.condition is None:
            beta = np.maximum(k - 1, 0) / (k + 2.0)
            beta = beta.astype(problem.dtype)
        else:
            root = self.condition**0.5
            beta = problem.dtype.type((root - 1.0) / (root + 1.0))
        y = x + beta * state.velocity
        g = problem.gradient(y)
        moved = y - self.step_size * g
        velocity, count = moved - x, k + 1
        if self.restart:
            uphill = np.vdot(g, velocity) > 0
            velocity, count = either(uphill, 0 * velocity, velocity), either(uphill, 0 * count, count)
        value, gradient = problem.value_and_gradient(moved)
        return moved, _State(value, gradient, velocity, count, state.code)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)
