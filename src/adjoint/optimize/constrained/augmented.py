"""The augmented Lagrangian: unconstrained problems, whose multipliers are corrected after each.

    L(x) = f(x) + Σ (yᵢ hᵢ + ρ/2 hᵢ²) + 1/(2ρ) Σ (max(0, zⱼ + ρ gⱼ)² - zⱼ²)

The inner problems are solved by L-BFGS within the bounds, to a tolerance that follows the violation; ρ grows where the
violation does not fall.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.linear.solvers.iteration import both, either, loop
from adjoint.optimize.constrained.sqp import Constrained, Found, Point, linearize, measure_conditions
from adjoint.optimize.iteration import Limits, as_code, run
from adjoint.optimize.problem import Problem, Unknowns
from adjoint.optimize.second_order.lbfgsb import LBFGSB
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, MAX_ITERATIONS, NOT_FINITE, RUNNING
from adjoint.program.types import ArrayType, Value

__all__ = ["run_augmented"]

INNER = 300
STEEPEST = 1e12


class _State(NamedTuple):
    x: Value
    y: Value
    z: Value
    weight: Value  # ρ
    violation: Value
    residual: Value
    code: Value
    count: Value


def run_augmented(problem: Constrained, x: Value, tol: Any, iterations: int) -> Found:
    """A local minimum under the constraints, from x."""
    x = problem.project(x)
    h, g = problem.constraints(x)
    n, p = x.shape[0], g.shape[0]
    unknowns = Unknowns(tree.structure(np.zeros(1)), [ArrayType((n,), x.dtype)])
    lower, upper = (np.full(n, -np.inf, x.dtype), np.full(n, np.inf, x.dtype)) if problem.lower is None else (
        problem.lower, problem.upper)  # fmt: skip

    def augmented(v: Value, y: Value, z: Value, weight: Value) -> Value:
        value, h, g = problem.functions(v)
        pressed = np.maximum(0.0, z + weight * g)
        return (
            value + np.sum(y * h) + 0.5 * weight * np.sum(h * h)
            + np.sum(pressed * pressed - z * z) / (2.0 * weight)
        )  # fmt: skip

    def look(x: Value, y: Value, z: Value) -> tuple[Value, Value, Value, Value]:
        value, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
        full = z
        if problem.lower is not None:  # the bounds carry what is left of the gradient
            rest = gradient + h_jacobian.T @ y + g_jacobian.T @ z
            full = np.concatenate([z, np.where(x <= lower, np.maximum(rest, 0.0), 0.0),
                                   np.where(x >= upper, np.maximum(-rest, 0.0), 0.0)])  # fmt: skip
        point = Point(x, y, full, gradient, h, g, h_jacobian, g_jacobian)
        return value, gradient, full, measure_conditions(problem, point)

    def step(now: _State) -> _State:
        inner = Problem("minimize", lambda v: augmented(v, now.y, now.z, now.weight), unknowns,
                        np.maximum(0.1 * tol, np.minimum(1e-2, 0.01 * now.violation) + 0 * now.violation),
                        lower=lower, upper=upper)  # fmt: skip
        x = run(LBFGSB(), inner, now.x, Limits(INNER), None).x
        h, g = problem.constraints(x)
        y = now.y + now.weight * h
        z = np.maximum(0.0, now.z + now.weight * g)
        parts = [np.abs(h), np.abs(np.maximum(g, -now.z / now.weight))]
        violation = np.max(np.concatenate([*parts, np.zeros(1, x.dtype)]))
        weight = either(violation > 0.25 * now.violation, 10.0 * now.weight, now.weight)
        residual = look(x, y, z)[3]
        lost = both(weight > STEEPEST, violation > 1e3 * tol)
        code = either(residual <= tol, CONVERGED, either(lost, INFEASIBLE, RUNNING))
        code = either(np.isfinite(residual), code, NOT_FINITE)
        return _State(x, y, z, weight, violation, residual, as_code(code), now.count + 1)

    value = problem.f(x)
    infinite = np.full((), np.inf, x.dtype) + 0 * value
    first = _State(x, np.zeros(h.shape[0], x.dtype), np.zeros(p, x.dtype), np.full((), 10.0, x.dtype), infinite,
                   infinite, as_code(either(np.isfinite(value), RUNNING, NOT_FINITE)), np.int64(0))  # fmt: skip
    last = loop(lambda now: both(now.code == RUNNING, now.count < iterations), step, first)
    code = as_code(either(last.code == RUNNING, MAX_ITERATIONS, last.code))
    value, gradient, z, residual = look(last.x, last.y, last.z)
    return Found(last.x, last.y, z, value, gradient, code, last.count, residual)
