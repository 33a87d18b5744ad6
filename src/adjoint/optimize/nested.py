"""Minimization over an inner minimization: rounds that share their tolerance and start where the last one ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient
from adjoint.linear.solvers.iteration import TRACED, either
from adjoint.optimize.minimizing import choose_tolerance, minimize
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.statuses import CONVERGED, STATUSES, advice_for

__all__ = ["minimize_nested"]

ROUNDS = (1e4, 1.0)  # how many times the tolerance each round may leave
TIGHTER = 0.01  # the inner tolerance, of the outer one
COARSEST = 1e-2


def minimize_nested(
    title: str, inner: Callable[[Any, Any, float], Optimum], value: Callable[[Optimum, Any], Any], x0: Any,
    theta0: Any, method: Any, tol: Any, options: dict[str, Any] | None,
) -> Optimum:  # fmt: skip
    """min over θ of value(inner(x0, θ, tol), θ): the inner problems of a round start at the last round's answer.

    Each round asks for a smaller gradient in θ, and of inner problems for a hundredth of it: far from the end they need
    not be exact. The derivative is that of the last round.
    """
    options = {} if options is None else dict(options)
    dtype = np.result_type(np.float32, *(getattr(leaf, "dtype", float) for leaf in tree.leaves(theta0)))
    tol = choose_tolerance(dtype) if tol is None else tol
    if isinstance(tol, TRACED) or not tol > 0:
        raise ValueError(f"{title}: tol is {tol}; it is a positive number, known beforehand.")
    x, theta = x0, theta0
    iterations: Any = 0
    inner_iterations: Any = 0
    evaluations: dict[str, Any] = {}
    floor = 10.0 * float(np.finfo(dtype).eps)
    goals = [tol * factor for factor in ROUNDS if tol * factor <= COARSEST or factor == 1.0]
    for goal in goals:
        least = max(TIGHTER * goal, floor)
        h = lambda theta, x=x, least=least: value(inner(x, theta, least), theta)
        outer = minimize(h, theta, method=method, tol=goal, **options)
        theta = outer.value
        if goal != goals[-1]:
            theta = tree.map(stop_gradient, theta)
        found = inner(x, theta, least)
        x = found.value if goal == goals[-1] else tree.map(stop_gradient, found.value)
        iterations, inner_iterations = iterations + outer.iterations, inner_iterations + found.iterations
        evaluations = {key: evaluations.get(key, 0) + count for key, count in outer.evaluations.items()}
    code = either(found.code == CONVERGED, outer.code, found.code)
    note = outer.note
    if not isinstance(found.code, TRACED) and np.ndim(found.code) == 0 and found.code != CONVERGED:
        note = f"The inner problem ended with {STATUSES[int(found.code)]!r}. {advice_for(int(found.code))}"
    return Optimum(
        (x, theta), outer.fun, outer.grad, code, iterations, {**evaluations, "inner iterations": inner_iterations},
        outer.residual, outer.target, found.multipliers, outer.active, outer.history, None, None,
        f"{title} by {outer.method.removeprefix('minimize by ')} over {found.method.removeprefix('minimize by ')}",
        note,
    )  # fmt: skip
