"""Frank and Wolfe's method: steps towards the best point of the linear model, which never leave the set.

    s = argmin ⟨∇f, s⟩ over the set,    x⁺ = x + γ (s - x),    gap = ⟨∇f, x - s⟩ ≥ f(x) - f*   where f is convex

With away steps x is kept as a mean of points of the set (atoms); a step may also lead away from the worst of them,
which makes the method linear on polytopes, where the plain one zigzags between two faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.errors import RuleError
from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.composite.objective import Composite, judge_measure
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.proximal.separable import Indicator
from adjoint.optimize.proximal.term import Term
from adjoint.optimize.sets.products import Product
from adjoint.optimize.sets.set import Set
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["FrankWolfe"]

TRIALS = 60


class _State(NamedTuple):
    value: Value
    gradient: Value
    curvature: Value  # as far as steps have shown it
    count: Any
    atoms: Value
    weights: Value
    measure: Value  # the gap
    code: Value


@final
@dataclass(frozen=True)
class FrankWolfe(Composite):
    """Conditional gradients on a set, by its `lmo`: it needs no projection, and the gap bounds f(x) - f* from above.

    `step` is "search" (as long as the curvature met so far allows) or "open loop", 2 / (t + 2). `away` keeps up to
    `atoms` points of which x is the mean; without it the method needs little memory, and converges like 1/T. It has
    converged where the gap is at most `tol`.

    ```python
    from adjoint.optimize import sets
    f = lambda x: np.sum((x - np.array([0.4, 0.3, 0.9])) ** 2)
    found = ad.optimize.minimize(f, np.array([1.0, 0.0, 0.0]), method=ad.optimize.FrankWolfe(sets.simplex()))
    np.round(found.value, 4), found.status  # → ([0.2, 0.1, 0.7], 'converged')
    ```
    """

    term: Any
    step_rule: str = "search"
    away: bool = True
    atoms: int = 64
    needs = ("value", "gradient")

    def __post_init__(self) -> None:
        if not hasattr(self.term, "lmo"):
            raise TypeError(f"FrankWolfe: {self.term!r} has no lmo(u), the point s of the set with the largest ⟨u, s⟩. "
                            "Take one of optimize.sets, or an object with that method.")  # fmt: skip
        if isinstance(self.term, Set) and not isinstance(self.term, Product) and type(self.term)._lmo is Set._lmo:  # pyright: ignore[reportPrivateUsage]
            self.term._lmo(np.zeros(1))  # pyright: ignore[reportPrivateUsage]
        if self.step_rule not in {"search", "open loop"}:
            raise ValueError(f"FrankWolfe: step_rule is {self.step_rule!r}; it is 'search' or 'open loop'.")

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """Searches never go up; steps from a table may."""
        return True

    def the_term(self) -> Term:
        """The indicator of the set, for the derivative of the solution."""
        if isinstance(self.term, Set):
            return super().the_term()
        if not hasattr(self.term, "project"):
            raise RuleError("FrankWolfe: the derivative of a solution needs a projection, and the set has none. Give "
                            "it a method project(x).")  # fmt: skip
        return Indicator(_Given(self.term))

    def omega(self, problem: Problem, v: Value, term: Term | None = None) -> Value:
        """0."""
        return 0.0 * v[0]

    def start(self, problem: Problem, v: Value) -> Value:
        """The best vertex of the linear model at x0, so that the first atom is one."""
        return self._vertex(problem, problem.gradient(v))

    def _vertex(self, problem: Problem, g: Value) -> Value:
        unknowns = problem.unknowns
        u = unknowns.tree(-g)
        if hasattr(u, "dtype") or isinstance(self.term, Product):
            return unknowns.flat(self.term.lmo(u))
        return self.term.lmo(-g)

    def _capacity(self, problem: Problem) -> int:
        return self.atoms if self.away else 1

    def init(self, problem: Problem, x: Value) -> _State:
        """x as the only atom."""
        f, g = problem.value_and_gradient(x)
        k = self._capacity(problem)
        atoms = np.zeros((k, problem.size), problem.dtype) + 0 * x
        atoms = np.concatenate([x[None], atoms[1:]])
        weights = np.concatenate([np.ones(1, problem.dtype), np.zeros(k - 1, problem.dtype)]) + 0 * f
        return _State(
            f, g, 0 * f, np.int64(0), atoms, weights, np.vdot(g, x - self._vertex(problem, g)), as_code(RUNNING)
        )

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step towards the best vertex, or away from the worst atom."""
        g = state.gradient
        s = self._vertex(problem, g)
        d, longest = s - x, 1.0 + 0 * state.value
        atoms, weights = state.atoms, state.weights
        worst, leaves = np.int64(0), no(state.value == state.value)
        if self.away:
            along = np.where(weights > 0, atoms @ g, -np.inf)
            worst = np.argmax(along)
            share = np.take(weights, worst)
            back = x - np.take(atoms, worst, axis=0)
            leaves = both(-np.vdot(g, back) > -np.vdot(g, d), share < 1.0)
            leaves = both(leaves, np.vdot(g, back) < 0)
            d = either(leaves, back, d)
            longest = either(leaves, share / either(share < 1.0, 1.0 - share, 1.0 + 0 * share), longest)
        derivative, square = np.vdot(g, d), np.vdot(d, d)
        if self.step_rule == "open loop":
            gamma, curvature, good = (
                2.0 / (state.count + 2.0) + 0 * derivative,
                state.curvature,
                derivative == derivative,
            )
            gamma = np.minimum(gamma, longest)
            moved = x + gamma * d
            f_new, g_new = problem.value_and_gradient(moved)
        else:
            moved, f_new, g_new, gamma, curvature, good = self._search(
                problem, x, state, d, derivative, square, longest
            )
        if self.away:
            atoms, weights = _reweigh(atoms, weights, x, s, gamma, leaves, worst, gamma >= longest)
            moved = either(good, weights @ atoms, x)  # a mean of points of the set, so that rounding leads nowhere else
        gap = np.vdot(g_new, moved - self._vertex(problem, g_new))
        hidden = -derivative <= 100.0 * problem.eps * np.abs(state.value)
        code = either(good, RUNNING, either(hidden, NO_PROGRESS, LINE_SEARCH_FAILED))
        new = _State(f_new, g_new, curvature, state.count + 1, atoms, weights, gap, as_code(code))
        return moved, new

    def _search(
        self, problem: Problem, x: Value, state: _State, d: Value, derivative: Value, square: Value, longest: Value
    ) -> tuple[Value, Value, Value, Value, Value, Any]:
        """γ = -⟨∇f, d⟩ / (β ‖d‖²), where β is doubled until the quadratic model with it lies above f."""
        square = either(square > 0, square, 1.0 + 0 * square)
        blur = 100.0 * problem.eps * np.abs(state.value)

        def at(beta: Value) -> Any:
            gamma = np.minimum(-derivative / (beta * square), longest)
            moved = x + gamma * d
            f_new, g_new = problem.value_and_gradient(moved)
            return moved, f_new, g_new, gamma, beta

        def enough(now: Any) -> Any:
            _, f_new, g_new, gamma, beta, _ = now
            bend = 0.5 * beta * gamma * gamma * square
            right = either(bend > blur, f_new <= state.value + gamma * derivative + bend,
                           np.vdot(g_new - state.gradient, d) <= beta * gamma * square)  # fmt: skip
            return both(np.isfinite(f_new), right)

        known = state.curvature > 0
        fresh = np.maximum(-derivative / square, 1e-10 + 0 * derivative)
        start = either(known, 0.7 * state.curvature, fresh)
        now = (*at(start), np.int64(0))
        goes_on = lambda now: both(no(enough(now)), now[5] < TRIALS)
        now = problem.loop(goes_on, lambda now: (*at(2.0 * now[4]), now[5] + 1), now)
        moved, f_new, g_new, gamma, beta, _ = now
        good = both(enough(now), np.any(moved != x))
        keep = lambda new, old: either(good, new, old)
        return (keep(moved, x), keep(f_new, state.value), keep(g_new, state.gradient), keep(gamma, 0 * gamma),
                keep(beta, state.curvature), good)  # fmt: skip

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gap is small."""
        return judge_measure(problem, state.value, np.abs(state.measure), state.code)


def _reweigh(
    atoms: Value, weights: Value, x: Value, s: Value, gamma: Value, leaves: Any, worst: Any, dropped: Any
) -> tuple[Value, Value]:
    """Atoms and weights of x + γ d. Where there is no space for a new atom, x itself stands for all."""
    index = np.arange(len(weights))
    same = np.all(atoms == s, axis=1) & (weights > 0)
    known = np.any(same)
    full = both(no(known), np.all(weights > 0))
    first = np.where(np.arange(len(weights)) == 0, 1.0, 0.0).astype(weights.dtype)
    atoms = either(both(full, no(leaves)), np.where((index == 0)[:, None], x[None], atoms), atoms)
    weights = either(both(full, no(leaves)), first, weights)
    at = either(known, np.argmax(same), np.argmax(weights <= 0))
    towards = (1.0 - gamma) * weights + np.where(index == at, gamma, 0.0)
    towards = np.where(towards > 1e-15, towards, 0.0)
    aside = (1.0 + gamma) * weights - np.where(index == worst, gamma, 0.0)
    aside = np.where((index == worst) & dropped, 0.0, np.maximum(aside, 0.0))
    new = either(leaves, aside, towards)
    atoms = either(leaves, atoms, np.where((index == at)[:, None], s[None], atoms))
    return atoms, new / np.sum(new)


class _Given(Set):
    """A set of the user's: any object with lmo(u) and project(x)."""

    name = "given"

    def __init__(self, given: Any) -> None:
        self.given = given

    def _project(self, x: Value) -> Value:
        return self.given.project(x)
