"""A search that fails along a direction of descent: whether the gradient fits the function's values."""

from __future__ import annotations

import numpy as np

from adjoint.optimize.iteration import Ending
from adjoint.optimize.problem import Problem
from adjoint.optimize.statuses import LINE_SEARCH_FAILED
from adjoint.program.trace import TRACED

__all__ = ["explain_failure"]

APART = 1e-3  # relative difference that differences do not explain


def explain_failure(problem: Problem, ending: Ending) -> str:
    """What differences tell about the gradient, in words; nothing where they agree with it, or nothing failed."""
    if isinstance(ending.code, TRACED) or isinstance(ending.x, TRACED) or int(ending.code) != LINE_SEARCH_FAILED:
        return problem.note
    x, g = np.asarray(ending.x), np.asarray(ending.gradient)
    if not np.array_equal(problem.value(x), problem.value(x), equal_nan=True):
        return (
            "The function gives different values at the same point: it draws random numbers, or keeps something from "
            "one call to the next. Draw outside, and pass the numbers."
        )
    here = float(problem.value(x))
    with np.errstate(all="ignore"):
        worst, words = -1.0, ""
        for i in np.argsort(-np.abs(g))[:8]:
            h = problem.eps ** (1 / 3) * max(1.0, abs(float(x[i])))
            e = np.zeros_like(x)
            e[i] = h
            left, right = (here - float(problem.value(x - e))) / h, (float(problem.value(x + e)) - here) / h
            derivative, given = 0.5 * (left + right), float(g[i])
            apart = abs(derivative - given) / max(abs(derivative), abs(given), 1e-300)
            if not np.isfinite(apart) or apart <= max(APART, worst):
                continue
            name, worst = problem.unknowns.name(int(i)), apart
            if _is_kink(left, right, given):
                words = (f"The function has a kink: along {name} it has the one-sided derivatives {left:.4g} and "
                         f"{right:.4g}. Smooth it, or use prox_linear, or a proximal operator.")  # fmt: skip
                continue
            words = (f"The gradient does not fit the values: at {name} it is {given:.4g}, differences of the function "
                     f"give {derivative:.4g}. ")  # fmt: skip
            words += "Look at grad=." if problem.has_own_gradient else "Look at custom rules in the function."
    return words


def _is_kink(left: float, right: float, given: float) -> bool:
    """Whether a derivative is one of two one-sided ones that differ, or between them."""
    size = APART * max(abs(left), abs(right))
    return abs(left - right) > 100 * size and min(left, right) - size <= given <= max(left, right) + size
