"""Hager and Zhang's line search: an interval with derivatives of both signs at its ends, made smaller by secants.

    Wolfe:        φ(α) ≤ φ(0) + δ α φ'(0),   φ'(α) ≥ σ φ'(0)
    approximate:  (2δ - 1) φ'(0) ≥ φ'(α) ≥ σ φ'(0),   φ(α) ≤ φ(0) + ε |φ(0)|

The approximate conditions ask derivatives where rounding hides what values would tell, so that it finds minima to full
precision. Each round takes a secant step, a second one from the ends before, and a bisection where both left more than
γ of the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.search import Found, Line, check_parts
from adjoint.program.types import Value

__all__ = ["HagerZhang"]


class _State(NamedTuple):
    a: Value  # φ'(a) < 0 and φ(a) ≤ φ(0) + ε
    da: Value
    b: Value  # φ'(b) ≥ 0, or φ(b) too high: then bisection comes next
    db: Value
    old: Value  # the end that the last step replaced
    d_old: Value
    trial: Value
    width: Value  # of the interval when this round began
    phase: Any  # 0: first secant, 1: second, 2: bisection
    bracketed: Any
    is_high: Any
    done: Any
    step: Value  # what is taken, with value and gradient there
    value: Value
    gradient: Value
    count: Any


@final
@dataclass(frozen=True)
class HagerZhang:
    """Hager and Zhang's line search (CG_DESCENT).

    ```python
    search = ad.optimize.HagerZhang()
    method = ad.optimize.ConjugateGradients("HZ", search=search)
    ad.optimize.minimize(lambda x: np.sum(np.cosh(x)), np.array([3.0, -1.0]), method=method).status  # → 'converged'
    ```
    """

    sufficient: float = 0.1
    curvature: float = 0.9
    blur: float = 1e-6
    growth: float = 5.0
    shrink: float = 0.66
    trials: int = 50

    def __post_init__(self) -> None:
        check_parts("HagerZhang", sufficient=self.sufficient, curvature=self.curvature)

    def search(self, problem: Problem, line: Line) -> Found:
        """The step, and value and gradient after it."""
        f0, d0 = line.value, line.derivative
        top = f0 + self.blur * np.abs(f0)
        secant = lambda a, da, b, db: (a * db - b * da) / either(db != da, db - da, np.nan + 0 * da)

        def look(s: _State) -> _State:
            c = s.trial
            value, gradient = problem.value_and_gradient(line.at(c))
            d = np.vdot(gradient, line.direction)
            finite = both(np.isfinite(value), np.isfinite(d))
            steep = d >= self.curvature * d0
            falls = f0 - value > 4.0 * problem.eps * np.abs(f0)  # by more than rounding
            wolfe = both(both(value <= f0 + self.sufficient * c * d0, steep), falls)
            level = both(both(value <= top, steep), d <= (2 * self.sufficient - 1) * d0)
            good = both(finite, np.logical_or(wolfe, level))
            keep = both(finite, np.logical_or(good, both(value < s.value, value < f0)))
            # the interval, with c in the place of one of its ends
            low = both(finite, both(d < 0, value <= top))
            high = np.logical_and(d < 0, no(low))
            high = np.logical_or(high, no(finite))
            a, da = either(low, c, s.a), either(low, d, s.da)
            b, db = either(low, s.b, c), either(low, s.db, either(finite, d, 0 * d))
            bracketed = np.logical_or(s.bracketed, no(low))
            is_high = either(low, s.is_high, high)
            old, d_old = either(low, s.a, s.b), either(low, s.da, s.db)
            # where to look next
            middle = 0.5 * (a + b)
            first = secant(a, da, b, db)
            second = secant(old, d_old, c, d)
            wide = np.abs(b - a) > self.shrink * s.width
            new_round = np.logical_or(s.phase == 2, both(s.phase == 1, no(wide)))
            phase = either(new_round, 0, s.phase + 1)
            choice = either(phase == 0, first, either(phase == 1, second, middle))
            inside = both(np.isfinite(choice), both(choice > a, choice < b))
            choice = either(both(inside, no(is_high)), choice, middle)
            farther = np.minimum(self.growth * c, line.longest)
            trial = either(bracketed, choice, farther)
            stuck = np.logical_or(trial == c, both(bracketed, np.abs(b - a) <= problem.eps * np.abs(b)))
            return _State(
                a, da, b, db, old, d_old, trial, either(new_round, np.abs(b - a), s.width), phase, bracketed, is_high,
                np.logical_or(good, stuck), either(keep, c, s.step), either(keep, value, s.value),
                either(keep, gradient, s.gradient), s.count + 1,
            )  # fmt: skip

        zero = 0 * f0
        first = np.minimum(line.first, line.longest) + zero
        start = _State(
            zero, d0, np.inf + zero, zero, zero, d0, first, np.inf + zero, np.int64(2), zero > 1, zero > 1, zero > 1,
            zero, f0, line.gradient, np.int64(0),
        )  # fmt: skip
        last = problem.loop(lambda s: both(no(s.done), s.count < self.trials), look, start)
        x = line.at(last.step)
        return Found(last.step, x, last.value, last.gradient, both(last.step > 0, np.any(x != line.x)))
