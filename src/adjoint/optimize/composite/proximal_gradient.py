"""The proximal gradient method (ISTA) and its accelerated form (FISTA), with searches for the step.

    x⁺ = prox(y - γ ∇f(y), γ),   y = x, or for FISTA  y = x + β (x - x₋),  β = (t₋ - 1) / t,  t = (1 + √(1 + 4 t₋²)) / 2

The step is short enough where f(x⁺) ≤ f(y) + ⟨∇f(y), x⁺ - y⟩ + ‖x⁺ - y‖² / 2γ. With a set for a term this is the
projected gradient method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.composite.objective import Composite, accept_step, first_step, judge_measure, rounding
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["FISTA", "ProjectedGradient", "ProximalGradient"]

TRIALS = 60


class _State(NamedTuple):
    value: Value  # f + Ω
    gradient: Value  # ∇f
    smooth: Value  # f
    step: Value
    trial: Value  # prox(x - γ ∇f, γ)
    measure: Value
    code: Value


class _Plain(Composite):
    """The plain iteration."""

    step_size: Any
    growth: float
    needs = ("value", "gradient")

    def _at(self, problem: Problem, x: Value, f: Value, g: Value, step: Value, code: Any) -> _State:
        trial = self.prox(problem, x - step * g, step)
        measure = np.max(np.abs(x - trial)) / step
        return _State(f + self.omega(problem, x), g, f, step, trial, measure, as_code(code))

    def init(self, problem: Problem, x: Value) -> _State:
        """Value and gradient at the start."""
        f, g = problem.value_and_gradient(x)
        step = first_step(problem, x, g) if self.step_size is None else self.step_size + 0 * f
        return self._at(problem, x, f, g, step, RUNNING)

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where a search is asked for the first of γ, γ/2, … that is short enough."""
        f, g = state.smooth, state.gradient
        f_new, g_new = problem.value_and_gradient(state.trial)
        if self.step_size is not None:
            return state.trial, self._at(problem, state.trial, f_new, g_new, state.step, RUNNING)

        def enough(now: Any) -> Any:
            p, f_new, g_new, step, _ = now
            return accept_step(problem, x, f, g, p, f_new, lambda: g_new, step)

        def shorten(now: Any) -> Any:
            step = 0.5 * now[3]
            p = self.prox(problem, x - step * g, step)
            return (p, *problem.value_and_gradient(p), step, now[4] + 1)

        now = (state.trial, f_new, g_new, state.step, np.int64(0))
        goes_on = lambda now: both(no(enough(now)), now[4] < TRIALS)
        p, f_new, g_new, step, _ = problem.loop(goes_on, shorten, now)
        good = enough((p, f_new, g_new, step, 0))
        still = np.all(p == x)
        code = either(good, either(still, NO_PROGRESS, RUNNING), LINE_SEARCH_FAILED)
        p, f_new, g_new = either(good, p, x), either(good, f_new, f), either(good, g_new, g)
        return p, self._at(problem, p, f_new, g_new, self.growth * step, code)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where x is a fixed point."""
        return judge_measure(problem, state.value, state.measure, state.code)


@final
@dataclass(frozen=True)
class ProximalGradient(_Plain):
    """x⁺ = prox(x - γ ∇f(x), γ) for f + Ω: `term` is one of `optimize.proximal`, or a set.

    Without `step_size` a search finds γ. It has converged where ‖x - x⁺‖∞ / γ is at most `tol`; the solution is
    differentiated by that fixed point, in all that f and the term read.

    ```python
    from adjoint.optimize import proximal
    X, y = np.eye(3), np.array([3.0, -0.5, 1.2])
    lasso = lambda lam: ad.optimize.minimize(
        lambda w: 0.5 * np.sum((X @ w - y) ** 2), np.zeros(3), method=ad.optimize.ProximalGradient(proximal.l1(lam))
    )
    np.round(lasso(1.0).value, 9)  # → [2.0, 0.0, 0.2]
    np.round(ad.jacobian(lambda lam: lasso(lam).value)(1.0), 9)  # → [-1.0, 0.0, -1.0]
    ```
    """

    term: Any
    step_size: Any = None
    growth: float = 1.2


class _Fast(NamedTuple):
    value: Value
    gradient: Value
    before: Value  # the point before x
    t: Value
    step: Value
    measure: Value
    code: Value


@final
@dataclass(frozen=True)
class FISTA(Composite):
    """The accelerated proximal gradient method: f + Ω falls like 1/T² where f is convex.

    With `restart` the momentum is given up where the value would rise, or where it points uphill: where f + Ω is
    strongly convex it then converges linearly, and no step makes the value larger.

    ```python
    from adjoint.optimize import proximal
    X, y = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([1.0, 2.0])
    f = lambda w: 0.5 * np.sum((X @ w - y) ** 2)
    found = ad.optimize.minimize(f, np.zeros(2), method=ad.optimize.FISTA(proximal.l1(0.1)))
    np.round(found.value, 6), found.status  # → ([0.0, 1.546961], 'converged')
    ```
    """

    term: Any
    step_size: Any = None
    restart: bool = True
    needs = ("value", "gradient")

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """With restarts no point is worse than the one before."""
        return True

    def init(self, problem: Problem, x: Value) -> _Fast:
        """No momentum."""
        f, g = problem.value_and_gradient(x)
        step = first_step(problem, x, g) if self.step_size is None else self.step_size + 0 * f
        one = 1.0 + 0 * f
        measure = self.residual(problem, x, g, step)
        return _Fast(f + self.omega(problem, x), g, x, one, step, measure, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _Fast) -> tuple[Value, _Fast]:
        """One step from a point ahead; one that makes the value larger is done again from x itself."""
        t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.t * state.t))
        y = x + ((state.t - 1.0) / t) * (x - state.before)
        p, value, step, good, moved = self._advance(problem, y, state.step)
        if self.restart:
            uphill = np.vdot(y - p, p - x) > 0
            blur = rounding(problem, x, state.value, state.step)
            worse = both(state.t > 1.0, np.logical_or(no(value <= state.value + blur), no(good)))
            p, value, step, good, moved = problem.when(
                worse, lambda: self._advance(problem, x, step), lambda: (p, value, step, good, moved)
            )
            stuck = both(worse, no(value <= state.value + blur))
            t = either(np.logical_or(worse, uphill), 1.0 + 0 * t, t)
            # what a search found far away need not hold here; where rounding decides, it is left alone
            grows = both(np.logical_or(worse, uphill), np.vdot(moved, moved) / (2.0 * step) > blur)
            step = either(grows, 1.2 * step, step) if self.step_size is None else step
            good = both(good, no(stuck))
        code = either(good, RUNNING, LINE_SEARCH_FAILED)
        measure = np.max(np.abs(moved)) / step
        p, value = either(good, p, x), either(good, value, state.value)
        # the residual at x itself is asked for where that at the point ahead is small
        near = measure <= 2.0 * problem.tol
        g, measure = problem.when(near, lambda: self._exact(problem, p, step), lambda: (state.gradient, 1.0 * measure))
        hidden = both(np.all(p == x), both(state.t <= 1.0, measure > problem.tol))
        code = either(both(code == RUNNING, hidden), NO_PROGRESS, code)
        return p, _Fast(value, g, x, t, step, measure, as_code(code))

    def _exact(self, problem: Problem, p: Value, step: Value) -> tuple[Value, Value]:
        g = problem.gradient(p)
        return g, self.residual(problem, p, g, step)

    def _advance(self, problem: Problem, y: Value, step: Value) -> tuple[Value, Value, Value, Any, Value]:
        """prox(y - γ ∇f(y), γ) with a γ that is short enough, f + Ω there, and y minus it."""
        f, g = problem.value_and_gradient(y)

        def at(step: Value) -> Any:
            p = self.prox(problem, y - step * g, step)
            return p, problem.value(p)

        p, f_new = at(step)
        if self.step_size is not None:
            return p, f_new + self.omega(problem, p), step, np.isfinite(f_new), y - p

        def enough(now: Any) -> Any:
            return accept_step(problem, y, f, g, now[0], now[1], lambda: problem.gradient(now[0]), now[2])

        def shorten(now: Any) -> Any:
            return (*at(0.5 * now[2]), 0.5 * now[2], now[3] + 1)

        goes_on = lambda now: both(no(enough(now)), now[3] < TRIALS)
        p, f_new, step, count = problem.loop(goes_on, shorten, (p, f_new, step, np.int64(0)))
        return p, f_new + self.omega(problem, p), step, count < TRIALS, y - p

    def finish(self, problem: Problem, x: Value, state: _Fast) -> _Fast:
        """The gradient at x, which the steps do not need."""
        g, measure = self._exact(problem, x, state.step)
        return state._replace(gradient=g, measure=measure)

    def done(self, problem: Problem, x: Value, state: _Fast) -> Value:
        """Where x is a fixed point."""
        return judge_measure(problem, state.value, state.measure, state.code)


@final
@dataclass(frozen=True)
class ProjectedGradient(_Plain):
    """x⁺ = P(x - γ ∇f(x)) with the projection P onto a set; all points after the start lie in it.

    `accelerated` is FISTA with the set's projection. The solution is differentiated by the fixed point x = P(x - ∇f).

    ```python
    from adjoint.optimize import sets
    f = lambda x: np.sum((x - np.array([0.4, 0.3, 0.9])) ** 2)
    found = ad.optimize.minimize(f, np.ones(3), method=ad.optimize.ProjectedGradient(sets.simplex()))
    np.round(found.value, 6), found.status  # → ([0.2, 0.1, 0.7], 'converged')
    ```
    """

    term: Any
    step_size: Any = None
    growth: float = 1.2
    accelerated: bool = False

    def _fast(self) -> FISTA:
        return FISTA(self.term, self.step_size)

    def init(self, problem: Problem, x: Value) -> Any:
        """Value and gradient at the start."""
        return self._fast().init(problem, x) if self.accelerated else super().init(problem, x)

    def step(self, problem: Problem, x: Value, state: Any) -> tuple[Value, Any]:
        """One step along -∇f, and back into the set."""
        return self._fast().step(problem, x, state) if self.accelerated else super().step(problem, x, state)

    def finish(self, problem: Problem, x: Value, state: Any) -> Any:
        """The gradient at x."""
        return self._fast().finish(problem, x, state) if self.accelerated else state
