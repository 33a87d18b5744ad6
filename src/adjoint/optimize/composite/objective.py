"""f + Ω on vectors: a smooth function, and a term by its proximal operator. What all methods for it share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.implicit import conditions
from adjoint.linear.solvers.iteration import TRACED, both, either, norm
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.proximal.separable import Indicator, apply_prox, evaluate, from_set
from adjoint.optimize.proximal.term import Term
from adjoint.optimize.sets.set import Set
from adjoint.optimize.setting import Setting
from adjoint.optimize.statuses import CONVERGED, NOT_FINITE, RUNNING, UNBOUNDED
from adjoint.program.types import Value

__all__ = ["Composite", "accept_step", "first_step", "judge_measure", "read_term", "rounding"]


def read_term(title: str, term: Any) -> Term:
    """A term; of a set its indicator."""
    if isinstance(term, Set):
        return from_set(term)
    if not isinstance(term, Term):
        raise TypeError(
            f"{title}: {term!r} is no term and no set; they are made by optimize.proximal and optimize.sets."
        )
    return term


class Composite:
    """What a method for f + Ω adds to a problem: Ω on vectors, and the conditions of a minimum.

    A subclass has `term`. `minimize` asks for `check`, `start` and `conditions`, and adds Ω to the value.
    """

    descends = True
    has_dual = False  # the conditions are of (x, multipliers)
    linear = "auto"  # how the linear equation of the derivative is solved

    def the_term(self) -> Term:
        """Ω."""
        return read_term(type(self).__name__, self.term)  # type: ignore[attr-defined]

    def check(self, setting: Setting) -> None:
        """What goes not together with a term."""
        title = f"{setting.title} by {type(self).__name__}"
        if setting.unknowns.scale is not None:
            raise ValueError(f"{title}: scale= would change what is near, and so the proximal operator. Leave it out.")
        if setting.parts.free is not None:
            raise ValueError(
                f"{title}: frozen= and a term or set do not go together. Pass what is fixed as an argument."
            )
        if setting.box is not None:
            raise ValueError(f"{title}: it takes no bounds. Give them as a set: sets.box(lower, upper).")

    def prox(self, problem: Problem, v: Value, step: Any, term: Term | None = None) -> Value:
        """The proximal operator on vectors; NaN where the vector is not finite."""
        term = self.the_term() if term is None else term
        if not isinstance(v, TRACED) and not np.all(np.isfinite(v)):
            return np.full_like(v, np.nan)
        return problem.unknowns.flat(apply_prox(term, problem.unknowns.tree(v), step))

    def omega(self, problem: Problem, v: Value, term: Term | None = None) -> Value:
        """Ω on vectors; of a set 0, since the points of a method lie in it."""
        term = self.the_term() if term is None else term
        return 0.0 * v[0] if isinstance(term, Indicator) else evaluate(term, problem.unknowns.tree(v)) + 0.0 * v[0]

    def start(self, problem: Problem, v: Value) -> Value:
        """Where it starts: in the set."""
        return self.prox(problem, v, 1.0) if isinstance(self.the_term(), Indicator) else v

    def start_dual(self, setting: Setting) -> Any:
        """Multipliers to start with, where the conditions have some."""
        return None

    def residual(self, problem: Problem, v: Value, g: Value, step: Any) -> Value:
        """‖v - prox(v - γ g)‖∞ / γ: zero at a minimum, for every γ."""
        size = np.max(np.abs(g))
        seen = np.sqrt(problem.eps) * np.max(np.abs(v)) / either(size > 0, size, 1.0 + 0 * size)
        step = np.maximum(step, np.minimum(1.0, seen))  # v - γ g is another point than v
        return np.max(np.abs(v - self.prox(problem, v - step * g, step))) / step

    def conditions(self, setting: Setting) -> Callable[..., Any]:
        """F(x, known, *θ) = x - prox(x - ∇f)."""
        gradient = conditions.stationary(setting.function) if setting.gradient is None else setting.gradient
        unknowns = setting.unknowns

        def F(x: Any, known: Any, *theta: Any) -> Value:
            v, g = unknowns.flat(x), unknowns.flat(gradient(x, known[0], *theta))
            return v - unknowns.flat(apply_prox(self.the_term(), unknowns.tree(v - g), 1.0))

        return F

    def evaluate_total(self, setting: Setting) -> Callable[..., Any]:
        """f + Ω as a function of (x, fixed, *θ), to be differentiated; the Ω of a set is 0 at all its points."""

        def value(x: Any, fixed: Any, *theta: Any) -> Any:
            smooth = setting.function(x, fixed, *theta)
            term = self.the_term()
            return smooth if isinstance(term, Indicator) else smooth + evaluate(term, x)

        return value


def judge_measure(problem: Problem, value: Value, measure: Value, code: Any) -> Value:
    """CONVERGED where the measure is small; else what went wrong, if anything."""
    found = either(code != RUNNING, code, either(measure <= problem.tol, CONVERGED, RUNNING))
    finite = both(np.logical_not(np.isnan(value)), np.isfinite(measure))
    return as_code(either(problem.is_unbounded(value), UNBOUNDED, either(finite, found, NOT_FINITE)))


def first_step(problem: Problem, x: Value, g: Value) -> Value:
    """1/β for the curvature β along the gradient, from two gradients."""
    size = norm(g)
    reach = 1e-4 * np.maximum(1.0, norm(x)) / either(size > 0, size, 1.0 + 0 * size)
    away = problem.gradient(x - reach * g)
    curvature = norm(away - g) / (reach * either(size > 0, size, 1.0 + 0 * size))
    good = both(np.isfinite(curvature), curvature > 0)
    return either(good, 1.0 / either(good, curvature, 1.0 + 0 * curvature), 1.0 + 0 * size)


def rounding(problem: Problem, x: Value, f: Value, step: Value) -> Value:
    """How much of a difference of two values of f near x is rounding: terms of ‖x‖² / γ may cancel in f."""
    return problem.eps * (100.0 * np.abs(f) + 2.0 * np.vdot(x, x) / step)


def accept_step(problem: Problem, x: Value, f: Value, g: Value, p: Value, new: Value, g_new: Any, step: Value) -> Any:
    """f(p) ≤ f + ⟨g, d⟩ + ‖d‖² / 2γ with d = p - x.

    Where rounding hides ‖d‖² / 2γ, ⟨g⁺ - g, d⟩ ≤ ‖d‖² / γ stands for it. `g_new` gives g⁺, and is called only there;
    without it values that rounding may have made pass.
    """
    d = p - x
    square, blur = np.vdot(d, d), rounding(problem, x, f, step)
    by_value = both(np.isfinite(new), new <= f + np.vdot(g, d) + square / (2.0 * step) + blur)
    if g_new is None:
        return by_value

    def by_gradient() -> Any:
        change = np.vdot(g_new() - g, d)
        return both(np.isfinite(new), both(np.isfinite(change), change <= square / step))

    return problem.when(square / (2.0 * step) > 10.0 * blur, lambda: by_value, by_gradient)
