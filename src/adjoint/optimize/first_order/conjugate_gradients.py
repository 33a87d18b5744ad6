"""Nonlinear conjugate gradients: d⁺ = -g⁺ + β d, with five formulas for β.

    y = g⁺ - g     FR: ‖g⁺‖² / ‖g‖²     PR+: max(⟨g⁺, y⟩ / ‖g‖², 0)     HS: ⟨g⁺, y⟩ / ⟨d, y⟩
    DY: ‖g⁺‖² / ⟨d, y⟩                   HZ: ⟨y - 2 d ‖y‖² / ⟨d, y⟩, g⁺⟩ / ⟨d, y⟩

On a quadratic function with exact searches they are all the same, and end after n steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.suggestions import did_you_mean
from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.search import Line
from adjoint.optimize.searches.strong_wolfe import StrongWolfe
from adjoint.optimize.second_order.quasi_newton import guess_step, judge_search
from adjoint.optimize.statuses import RUNNING
from adjoint.program.types import Value

__all__ = ["ConjugateGradients"]

FORMULAS = ("FR", "PR+", "HS", "DY", "HZ")


class _State(NamedTuple):
    value: Value
    gradient: Value
    direction: Value
    step: Value
    fresh: Any  # the direction is -g
    code: Value


@final
@dataclass(frozen=True)
class ConjugateGradients:
    """Nonlinear conjugate gradients, for many unknowns in little memory; `formula` is FR, PR+, HS, DY or HZ.

    ```python
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    method = ad.optimize.ConjugateGradients("HZ")
    ad.optimize.minimize(rosenbrock, np.zeros(10), method=method).status  # → 'converged'
    ```
    """

    formula: str = "HZ"
    search: Any = field(default_factory=lambda: StrongWolfe(curvature=0.1))
    needs = ("value", "gradient")
    descends = True

    def __post_init__(self) -> None:
        if self.formula not in FORMULAS:
            near = did_you_mean(self.formula, FORMULAS) or f"They are: {', '.join(FORMULAS)}."
            raise ValueError(f"ConjugateGradients: {self.formula!r} is no formula. {near}")

    def init(self, problem: Problem, x: Value) -> _State:
        """The first direction is that of the gradient."""
        value, g = problem.value_and_gradient(x)
        return _State(value, g, -g, guess_step(problem, x, g), value == value, as_code(RUNNING))

    def compute_beta(self, g: Value, g_new: Value, d: Value) -> Value:
        """β by the formula."""
        y = g_new - g
        dy, gg = np.vdot(d, y), np.vdot(g, g)
        safe = lambda v: either(v != 0, v, np.inf + 0 * v)
        if self.formula == "FR":
            return np.vdot(g_new, g_new) / safe(gg)
        if self.formula == "PR+":
            return np.maximum(np.vdot(g_new, y) / safe(gg), 0.0 * gg)
        if self.formula == "HS":
            return np.vdot(g_new, y) / safe(dy)
        if self.formula == "DY":
            return np.vdot(g_new, g_new) / safe(dy)
        beta = np.vdot(y - 2.0 * d * (np.vdot(y, y) / safe(dy)), g_new) / safe(dy)
        least = -1.0 / (norm(d) * np.minimum(0.01, norm(g)))
        return np.maximum(beta, either(np.isfinite(least), least, 0 * beta))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One search, and the next direction; one that does not fall is replaced by -g."""
        g, d = state.gradient, state.direction
        derivative = np.vdot(g, d)
        line = Line(x, d, state.value, g, derivative, state.step)
        found = self.search.search(problem, line)
        code = judge_search(problem, found, state.value, derivative, state.fresh)
        g_new = found.gradient
        beta = self.compute_beta(g, g_new, d)
        new = -g_new + either(np.isfinite(beta), beta, 0 * beta) * d
        ahead = np.vdot(g_new, new)
        if self.formula in {"FR", "DY"}:
            # where gradients in a row are far from orthogonal these two would crawl on for long (Powell's restart)
            new = either(np.abs(np.vdot(g_new, g)) >= 0.2 * np.vdot(g_new, g_new), -g_new, new)
            ahead = np.vdot(g_new, new)
        good = both(found.success, both(ahead < -1e-10 * norm(g_new) * norm(new), np.isfinite(ahead)))
        direction = either(good, new, -g_new)
        here = np.vdot(g_new, direction)
        # the next search starts where the same fall as before is expected
        first = either(found.success, found.step * derivative / either(here != 0, here, 1.0 + 0 * here),
                       guess_step(problem, x, g_new))  # fmt: skip
        first = np.minimum(np.maximum(first, 1e-3 * found.step), either(found.success, 1e3 * found.step, first))
        return found.x, _State(found.value, g_new, direction, first, no(good), code)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)
