"""What BFGS and L-BFGS share: a search along -B ∇f, and what is done when it fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.search import Found, Line
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["guess_step", "judge_search", "measure_curvature", "search_along"]

BLUR = 100.0  # times the rounding of f: a smaller decrease cannot be told
MARGIN = 2.02  # of 2: whole steps stay whole where f falls as before


def guess_step(problem: Problem, x: Value, g: Value) -> Value:
    """A length for a direction of unknown scale: the gradient's own, at most about the size of x."""
    size = norm(g)
    return np.minimum(1.0, np.maximum(1.0, 0.1 * norm(x)) / either(size > 0, size, 1.0 + 0 * size))


def search_along(
    problem: Problem, search: Any, x: Value, state: Any, direction: Value, fresh: Any, fallen: Any = None
) -> tuple[Found, Value]:
    """A search along a direction, or along -∇f where that does not fall; and its derivative.

    Where f has `fallen` by so much in the last step, the first trial is the step that a parabola needs to fall as much.
    """
    g = state.gradient
    derivative = np.vdot(g, direction)
    falls = both(derivative < 0, np.isfinite(derivative))
    direction = either(falls, direction, -g)
    derivative = either(falls, derivative, -np.vdot(g, g))
    one = 1.0 + 0 * derivative
    usual = one
    if fallen is not None:
        same = MARGIN * fallen / either(derivative < 0, -derivative, one)
        usual = either(same > 0, np.minimum(same, one), one)
    first = problem.when(np.logical_or(fresh, no(falls)), lambda: guess_step(problem, x, g) * one, lambda: usual)
    return search.search(problem, Line(x, direction, state.value, g, derivative, first)), derivative


def judge_search(problem: Problem, found: Found, value: Value, derivative: Value, fresh: Any) -> Value:
    """The code after a search: one that failed along the gradient itself ends the method."""
    hidden = -derivative <= BLUR * problem.eps * np.abs(value)
    why = either(hidden, NO_PROGRESS, LINE_SEARCH_FAILED)
    ends = both(no(found.success), np.logical_or(fresh, hidden))
    return as_code(either(ends, why, RUNNING))


def measure_curvature(s: Value, y: Value, eps: float) -> tuple[Value, Any]:
    """⟨s, y⟩, and whether it is positive enough for an update that keeps B positive definite."""
    sy = np.vdot(s, y)
    return sy, sy > eps * norm(s) * norm(y)
