"""Mirror descent: gradient steps in the geometry of a potential. With entropy on a simplex, exponentiated gradients.

x⁺ = argmin ⟨∇f(x), p⟩ + D(p, x) / γ over the set,   D(p, x) = Σ pᵢ log(pᵢ / xᵢ) - pᵢ + xᵢ   for entropy:
x⁺ = the point of the set that is nearest in D to x exp(-γ ∇f(x))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.composite.objective import Composite, judge_measure
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.sets.set import POTENTIALS, Set
from adjoint.optimize.sets.simplices import Simplex
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["ExponentiatedGradient", "MirrorDescent"]

TRIALS = 60


class _State(NamedTuple):
    value: Value
    gradient: Value
    step: Value
    measure: Value
    code: Value


class _Mirror(Composite):
    """The iteration for a set and a potential."""

    step_size: Any
    potential: str
    needs = ("value", "gradient")

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """Searches never go up; fixed steps may."""
        return self.step_size is None

    def the_set(self) -> Set:
        """Where x lies."""
        return self.term  # type: ignore[attr-defined]

    def start(self, problem: Problem, v: Value) -> Value:
        """In the set, and by entropy in its interior: from there alone numbers can move."""
        if self.potential == "euclidean":
            return super().start(problem, v)
        return self._nearest(problem, np.maximum(v, problem.eps))

    def _nearest(self, problem: Problem, v: Value) -> Value:
        x, the_set = problem.unknowns.tree(v), self.the_set()
        if hasattr(x, "dtype"):
            return problem.unknowns.flat(the_set.bregman_project(x, self.potential))
        return the_set.bregman_project(v, self.potential)

    def _move(self, problem: Problem, x: Value, g: Value, step: Value) -> Value:
        if self.potential == "euclidean":
            return self.prox(problem, x - step * g, step)
        # a factor for all numbers changes nothing on a simplex, and keeps exp within numbers
        power = -step * g
        power = power - np.max(power) if isinstance(self.the_set(), Simplex) else power
        return self._nearest(problem, x * np.exp(power))

    def _distance(self, p: Value, x: Value) -> Value:
        """D(p, x)."""
        if self.potential == "euclidean":
            return 0.5 * np.vdot(p - x, p - x)
        inside = both_positive(p, x)
        # p log(p / x) - p + x, which is tiny where p is near x: by log1p
        rise = np.where(inside, (p - x) / np.where(inside, x, 1.0), 0.0)
        return np.sum(np.where(inside, x * ((1.0 + rise) * np.log1p(rise) - rise), x - p))

    def init(self, problem: Problem, x: Value) -> _State:
        """Value and gradient at the start."""
        f, g = problem.value_and_gradient(x)
        size = np.max(np.abs(g))
        guess = 1.0 / either(size > 0, size, 1.0 + 0 * size)
        step = guess if self.step_size is None else self.step_size + 0 * f
        return _State(f, g, step, self.residual(problem, x, g, 1.0), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where a search is asked for the first of γ, γ/2, … with f(x⁺) ≤ f + ⟨∇f, x⁺ - x⟩ + D(x⁺, x) / γ."""
        f, g = state.value, state.gradient
        if self.step_size is not None:
            p = self._move(problem, x, g, state.step)
            f_new, g_new = problem.value_and_gradient(p)
            return p, _State(f_new, g_new, state.step, self.residual(problem, p, g_new, 1.0), as_code(RUNNING))
        blur = 100.0 * problem.eps * np.abs(f)

        def at(step: Value) -> Any:
            p = self._move(problem, x, g, step)
            return (p, *problem.value_and_gradient(p), step)

        def enough(now: Any) -> Any:
            p, f_new, g_new, step, _ = now
            away = self._distance(p, x) / step
            right = either(away > blur, f_new <= f + np.vdot(g, p - x) + away,
                           np.vdot(g_new - g, p - x) <= 2.0 * away)  # fmt: skip
            return both(np.isfinite(f_new), right)

        goes_on = lambda now: both(no(enough(now)), now[4] < TRIALS)
        now = problem.loop(goes_on, lambda now: (*at(0.5 * now[3]), now[4] + 1), (*at(state.step), np.int64(0)))
        p, f_new, g_new, step, _ = now
        good = enough(now)
        code = either(good, either(np.all(p == x), NO_PROGRESS, RUNNING), LINE_SEARCH_FAILED)
        p, f_new, g_new = either(good, p, x), either(good, f_new, f), either(good, g_new, g)
        measure = self.residual(problem, p, g_new, 1.0)
        return p, _State(f_new, g_new, 1.5 * step, measure, as_code(code))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where x = P(x - ∇f)."""
        return judge_measure(problem, state.value, state.measure, state.code)


def both_positive(p: Value, x: Value) -> Value:
    """Where both are positive."""
    return np.logical_and(p > 0, x > 0)


@final
@dataclass(frozen=True)
class MirrorDescent(_Mirror):
    """Gradient steps in the geometry of a potential, "entropy" or "euclidean", on a set with that projection.

    With "euclidean" it is the projected gradient method. On a simplex of many numbers, entropy depends on their count
    through its logarithm alone. Without `step_size` a search finds γ.

    ```python
    from adjoint.optimize import sets
    f = lambda x: np.sum((x - np.array([0.4, 0.3, 0.9])) ** 2)
    found = ad.optimize.minimize(f, np.ones(3), method=ad.optimize.MirrorDescent(sets.simplex()))
    np.round(found.value, 6)  # → [0.2, 0.1, 0.7]
    ```
    """

    term: Any
    potential: str = "entropy"
    step_size: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.term, Set):
            raise TypeError(f"MirrorDescent: {self.term!r} is no set; they are made by optimize.sets.")
        if self.potential not in POTENTIALS:
            raise ValueError(f"MirrorDescent: potential is {self.potential!r}; it is one of {', '.join(POTENTIALS)}.")


@final
@dataclass(frozen=True)
class ExponentiatedGradient(_Mirror):
    """x⁺ ∝ x exp(-γ ∇f(x)) on the simplex of sum `total`: mirror descent with entropy.

    ```python
    f = lambda x: np.sum((x - np.array([0.4, 0.3, 0.9])) ** 2)
    found = ad.optimize.minimize(f, np.ones(3) / 3, method=ad.optimize.ExponentiatedGradient())
    np.round(found.value, 6)  # → [0.2, 0.1, 0.7]
    ```
    """

    step_size: Any = None
    total: Any = 1.0
    potential = "entropy"

    @property
    def term(self) -> Set:
        """The simplex."""
        return Simplex(self.total)
