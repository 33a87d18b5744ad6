"""Backtracking: the first of γ, ργ, ρ²γ … that makes the function small enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.search import Found, Line, check_parts
from adjoint.program.types import Value

__all__ = ["Armijo"]


class _State(NamedTuple):
    step: Value
    value: Value
    count: Any


@final
@dataclass(frozen=True)
class Armijo:
    """φ(α) ≤ φ(0) + c α φ'(0): the largest such α among γ ρᵏ, k = 0, 1, …

    With c ≥ ½ the whole step of Newton's method is refused even for a quadratic function, whose decrease along it is
    exactly half of what the derivative promises. NaN and infinity shorten the step.

    ```python
    search = ad.optimize.Armijo(sufficient=1e-4, shrink=0.5)
    found = ad.optimize.minimize(lambda x: np.cosh(x), 3.0, method=ad.optimize.GradientDescent(search=search))
    found.status  # → 'converged'
    ```
    """

    sufficient: float = 1e-4
    shrink: float = 0.5
    trials: int = 60

    def __post_init__(self) -> None:
        check_parts("Armijo", sufficient=self.sufficient)
        check_parts("Armijo", shrink=self.shrink)

    def search(self, problem: Problem, line: Line) -> Found:
        """The step, and value and gradient after it."""
        enough = lambda s: s.value <= line.value + self.sufficient * s.step * line.derivative
        goes_on = lambda s: both(no(enough(s)), s.count < self.trials)

        def shorten(s: _State) -> _State:
            step = s.step * self.shrink
            return _State(step, problem.value(line.at(step)), s.count + 1)

        first = np.minimum(line.first, line.longest)
        last = problem.loop(goes_on, shorten, _State(first, problem.value(line.at(first)), np.int64(1)))
        success = both(enough(last), np.any(line.at(last.step) != line.x))
        step = either(success, last.step, 0 * last.step)
        x = line.at(step)
        gradient = problem.when(success, lambda: problem.gradient(x), lambda: line.gradient)
        return Found(step, x, either(success, last.value, line.value), gradient, success)
