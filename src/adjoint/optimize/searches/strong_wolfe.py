"""Steps with the strong Wolfe conditions: the function falls enough, and its derivative is small enough.

    φ(α) ≤ φ(0) + c₁ α φ'(0)        |φ'(α)| ≤ c₂ |φ'(0)|

An interval that holds such a step is found by going farther, then narrowed by cubic interpolation ("zoom"). Both phases
are one loop, so that the function stands once in a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.search import Found, Line, check_parts, minimize_cubic
from adjoint.program.types import Value

__all__ = ["StrongWolfe"]

FEW, LEAP = 5, 100.0  # after some trials without an end in sight they go farther: f may fall for ever


class _State(NamedTuple):
    trial: Value  # α to look at next
    low: Value  # the best step so far that falls enough, with φ, φ' and the gradient there
    low_value: Value
    low_derivative: Value
    low_gradient: Value
    high: Value  # the other end, where there is one
    high_value: Value
    high_derivative: Value
    bracketed: Any
    done: Any
    count: Any


@final
@dataclass(frozen=True)
class StrongWolfe:
    """The strong Wolfe conditions, by bracketing and zoom.

    Where rounding hides whether the function falls, the derivative decides (Hager and Zhang's approximate
    conditions). NaN and infinity count as too far.

    ```python
    search = ad.optimize.StrongWolfe(curvature=0.1)
    ad.optimize.minimize(lambda x: np.cosh(x), 3.0, method=ad.optimize.BFGS(search=search)).status  # → 'converged'
    ```
    """

    sufficient: float = 1e-4
    curvature: float = 0.9
    trials: int = 40
    growth: float = 4.0

    def __post_init__(self) -> None:
        check_parts("StrongWolfe", sufficient=self.sufficient, curvature=self.curvature)

    def search(self, problem: Problem, line: Line) -> Found:
        """The step, and value and gradient after it."""
        f0, derivative = line.value, line.derivative
        blur = 4.0 * problem.eps * np.abs(f0)

        def look(s: _State) -> _State:
            a = s.trial
            value, gradient = problem.value_and_gradient(line.at(a))
            here = np.vdot(gradient, line.direction)
            finite = both(np.isfinite(value), np.isfinite(here))
            # where c₁ α φ'(0) is lost in the rounding of φ(0), a value that stays is no fall
            falls = both(both(finite, value < f0), value <= f0 + self.sufficient * a * derivative)
            flat = np.abs(here) <= -self.curvature * derivative
            level = both(both(finite, value <= f0 + blur), here <= (2 * self.sufficient - 1) * derivative)
            good = both(np.logical_or(falls, level), flat)
            found = s._replace(low=a, low_value=value, low_derivative=here, low_gradient=gradient, done=good)
            # most trials are good: what narrows the interval is left out then
            return problem.when(good, lambda: found, lambda: narrow(s, value, gradient, here, falls))

        def narrow(s: _State, value: Value, gradient: Value, here: Value, falls: Any) -> _State:
            a = s.trial
            too_far = no(both(falls, value < either(s.low > 0, s.low_value, np.inf + 0 * f0)))
            # a point that falls enough becomes the lower end; where φ rises beyond it the old one is the other end
            turned = both(no(too_far), here * either(s.bracketed, s.high - a, 1.0 + 0 * a) >= 0)
            high = either(too_far, a, either(turned, s.low, s.high))
            high_value = either(too_far, value, either(turned, s.low_value, s.high_value))
            high_derivative = either(too_far, here, either(turned, s.low_derivative, s.high_derivative))
            low = either(too_far, s.low, a)
            low_value = either(too_far, s.low_value, value)
            low_derivative = either(too_far, s.low_derivative, here)
            bracketed = np.logical_or(s.bracketed, np.logical_or(too_far, turned))
            inside = minimize_cubic(low, low_value, low_derivative, high, high_value, high_derivative)
            inside = either(np.isfinite(high_value), inside, low + 0.2 * (high - low))
            farther = np.minimum(either(s.count < FEW, self.growth * a, LEAP * a), line.longest)
            trial = either(bracketed, inside, farther)
            stuck = np.logical_or(trial == a, np.abs(trial - low) <= problem.eps * np.abs(low))
            return _State(
                trial, low, low_value, low_derivative, either(too_far, s.low_gradient, gradient), high, high_value,
                high_derivative, bracketed, stuck, s.count + 1,
            )  # fmt: skip

        zero = 0 * f0
        first = np.minimum(line.first, line.longest) + zero
        start = _State(
            first, zero, f0, derivative, line.gradient, zero, f0, derivative, zero > 1, zero > 1, np.int64(0)
        )
        last = problem.loop(lambda s: both(no(s.done), s.count < self.trials), look, start)
        x = line.at(last.low)
        success = both(last.low > 0, np.any(x != line.x))
        return Found(last.low, x, last.low_value, last.low_gradient, success)
