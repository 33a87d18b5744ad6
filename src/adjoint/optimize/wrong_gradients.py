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
    with np.errstate(all="ignore"):
        worst, words = -1, ""
        for i in np.argsort(-np.abs(g))[:8]:
            h = problem.eps ** (1 / 3) * max(1.0, abs(float(x[i])))
            e = np.zeros_like(x)
            e[i] = h
            derivative = (float(problem.value(x + e)) - float(problem.value(x - e))) / (2 * h)
            apart = abs(derivative - float(g[i])) / max(abs(derivative), abs(float(g[i])), 1e-300)
            if np.isfinite(apart) and apart > max(APART, worst):
                worst = apart
                words = (f"The gradient does not fit the values: at {problem.unknowns.name(int(i))} it is "
                        f"{float(g[i]):.4g}, differences of the function give {derivative:.4g}. ")  # fmt: skip
    if not words:
        return ""
    return words + ("Look at grad=." if problem.has_own_gradient else "Look at custom rules in the function.")
