"""Sequential quadratic programming: quadratic models of the Lagrangian under linear models of the constraints.

    minimize ½ dᵀB d + ∇fᵀd + ρ Σ t     subject to   -t ≤ h + ∇h d ≤ t,   g + ∇g d ≤ t,   t ≥ 0,   l ≤ x + d ≤ u

B is the Hessian of the Lagrangian, with eigenvalues that are made positive, and not smaller than what keeps steps
short far from a solution. The relaxation by t, whose price ρ stays above the multipliers, always has a solution, and is
exact where the constraints can be met. Steps are judged by the merit f + ρ (‖h‖₁ + ‖g⁺‖₁); one that is refused because
of the curvature of the constraints is corrected once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.gradients import grad, value_and_grad
from adjoint.api.jacobians import jacfwd, jacobian
from adjoint.linear.solvers.iteration import both, either, loop
from adjoint.optimize.iteration import as_code
from adjoint.optimize.programs.interior_point import Program, polish, run_interior_point
from adjoint.optimize.statuses import (
    CONVERGED,
    INFEASIBLE,
    LINE_SEARCH_FAILED,
    MAX_ITERATIONS,
    NO_PROGRESS,
    NOT_FINITE,
    RUNNING,
    UNBOUNDED,
)
from adjoint.program.types import Value

__all__ = ["Constrained", "Found", "Point", "all_inequalities", "linearize", "measure_conditions", "run_sqp"]

HALVINGS = 30
STEEPEST = 1e10  # the price of violations at which a point that violates constraints is taken for infeasible


class Constrained(NamedTuple):
    """A problem over vectors: f, the constraints (h, g), and bounds."""

    f: Callable[[Value], Value]
    constraints: Callable[[Value], tuple[Value, Value]]
    lower: Value | None  # infinite where there is none; None: nowhere
    upper: Value | None

    def project(self, x: Value) -> Value:
        """The nearest point within bounds."""
        if self.lower is None or self.upper is None:
            return x
        return np.minimum(np.maximum(x, self.lower), self.upper)


class Found(NamedTuple):
    """A point, its multipliers, and how it ended."""

    x: Value
    equality: Value
    inequality: Value  # of g, then of the lower and the upper bounds
    value: Value
    gradient: Value
    code: Value
    iterations: Value
    residual: Value


class Point(NamedTuple):
    """What `measure_conditions` looks at; the state of an iteration has it too."""

    x: Value
    y: Value
    z: Value  # of g, lower and upper
    gradient: Value
    h: Value
    g: Value
    h_jacobian: Value
    g_jacobian: Value


class _State(NamedTuple):
    x: Value
    y: Value
    z: Value  # of g, lower and upper
    price: Value
    value: Value
    gradient: Value
    h: Value
    g: Value
    h_jacobian: Value
    g_jacobian: Value
    residual: Value
    code: Value
    count: Value
    stalled: Value


def _worst(v: Value) -> Value:
    return np.max(np.abs(v)) if v.shape[0] else np.zeros((), v.dtype)


def all_inequalities(problem: Constrained, x: Value, g: Value) -> Value:
    """g, and the bounds as inequalities; one that is infinite is far from active."""
    if problem.lower is None:
        return g
    far = lambda v: np.where(np.isfinite(v), v, -1.0)
    return np.concatenate([g, far(problem.lower - x), far(x - problem.upper)])


def _pull(problem: Constrained, now: Point | _State) -> Value:
    """How constraints and bounds pull at x: Σ y ∇h + Σ z ∇g."""
    n, p = now.x.shape[0], now.g.shape[0]
    pull = now.h_jacobian.T @ now.y + now.g_jacobian.T @ now.z[:p]
    return pull if problem.lower is None else pull - now.z[p : p + n] + now.z[p + n :]


def measure_conditions(problem: Constrained, now: Point | _State) -> Value:
    """How far a point and its multipliers are from the conditions of a minimum."""
    pull = _pull(problem, now)
    every = all_inequalities(problem, now.x, now.g)
    size = 1.0 + np.maximum(_worst(now.gradient), np.maximum(_worst(now.y), _worst(now.z)))
    violated = np.maximum(_worst(now.h), _worst(np.maximum(every, 0.0)))
    return np.maximum(np.maximum(_worst(now.gradient + pull) / size, violated), _worst(every * now.z) / size)


def linearize(problem: Constrained, x: Value) -> tuple[Value, ...]:
    """(f, ∇f, h, g, ∇h, ∇g) at a point."""
    value, gradient = value_and_grad(problem.f)(x)
    h, g = problem.constraints(x)
    n = x.shape[0]
    jacobians = [
        jacobian(lambda v, k=k: problem.constraints(v)[k])(x) if c.shape[0] else np.zeros((0, n), x.dtype)
        for k, c in enumerate((h, g))
    ]
    return value, gradient, h, g, jacobians[0], jacobians[1]


def _merit(problem: Constrained, x: Value, price: Value) -> Value:
    h, g = problem.constraints(x)
    return problem.f(x) + price * (np.sum(np.abs(h)) + np.sum(np.maximum(g, 0.0)))


def _curvature(problem: Constrained, now: _State) -> Value:
    """The Hessian of the Lagrangian, with eigenvalues that are positive and not too small."""

    def lagrangian(v: Value) -> Value:
        h, g = problem.constraints(v)
        return problem.f(v) + np.sum(now.y * h) + np.sum(now.z[: g.shape[0]] * g)

    H = jacfwd(grad(lagrangian))(now.x)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    far = np.max(np.abs(now.gradient + _pull(problem, now))) / (1.0 + np.max(np.abs(now.x)))
    least = np.maximum(1e-8 * np.maximum(1.0, np.max(np.abs(values))), np.minimum(1.0, 0.05 * far))
    return (vectors * np.maximum(np.abs(values), least)) @ vectors.T


def _subproblem(
    problem: Constrained, now: _State, B: Value, h: Value, g: Value, tol: float
) -> tuple[Value, Value, Value, Value]:
    """(d, y, z, how much of the linear constraints cannot be met)."""
    n, m, p = now.x.shape[0], h.shape[0], g.shape[0]
    dtype = now.x.dtype
    k = m + p  # violations t
    eye, zero = np.eye(k, dtype=dtype), lambda i, j: np.zeros((i, j), dtype)
    P = np.concatenate([np.concatenate([B, zero(n, k)], 1), np.concatenate([zero(k, n), 1e-8 * eye], 1)], 0)
    q = np.concatenate([now.gradient, now.price * np.ones(k, dtype)])
    box = np.eye(n, dtype=dtype)
    least, most = (now.x, now.x) if problem.lower is None else (now.x - problem.lower, problem.upper - now.x)
    far = lambda v: np.where(np.isfinite(v), v, 1e6 * (1.0 + np.max(np.abs(now.x))))
    rows = [
        (now.h_jacobian, -eye[:m], -h),
        (-now.h_jacobian, -eye[:m], h),
        (now.g_jacobian, -eye[m:], -g),
        (zero(k, n), -eye, np.zeros(k, dtype)),
        (-box, zero(n, k), far(least)),
        (box, zero(n, k), far(most)),
    ]
    rows = [row for row in (rows if problem.lower is not None else rows[:4]) if row[2].shape[0]]
    G = np.concatenate([np.concatenate([a, b], 1) for a, b, _ in rows], 0)
    right = np.concatenate([c for _, _, c in rows])
    data = Program(P, q, zero(0, n + k), np.zeros(0, dtype), G, right)
    found = polish(data, run_interior_point(data, tol, 60))
    above, below, rest = found.z[:m], found.z[m : 2 * m], found.z[2 * m :]
    return found.x[:n], above - below, np.concatenate([rest[:p], rest[p + k :]]), np.sum(np.maximum(found.x[n:], 0.0))


def _step(problem: Constrained, now: _State, tol: Any, floor: Value) -> _State:
    B = _curvature(problem, now)
    d, y, z, missed = _subproblem(problem, now, B, now.h, now.g, 1e-10)
    largest = np.maximum(_worst(y), _worst(z[: now.g.shape[0]]))
    violation = np.sum(np.abs(now.h)) + np.sum(np.maximum(now.g, 0.0))
    # the price must exceed the multipliers, and is raised where the relaxation did not meet what it could
    raised = either(both(missed > 0.1 * violation, violation > tol), 10.0 * now.price, now.price)
    price = np.maximum(raised, either(largest * 1.5 > now.price, 3.0 * largest, now.price))
    predicted = -np.sum(now.gradient * d) - 0.5 * np.sum(d * (B @ d)) + price * (violation - missed)
    merit = now.value + price * violation
    good = lambda x, length: _merit(problem, x, price) <= merit - 1e-4 * length * np.maximum(predicted, 0.0)
    full = good(now.x + d, 1.0)
    # the constraints bend away from a full step: aim at where they really are
    h, g = problem.constraints(now.x + d)
    correction = _subproblem(problem, now, B, h - now.h_jacobian @ d, g - now.g_jacobian @ d, 1e-8)[0]
    bent = both(np.logical_not(full), good(now.x + correction, 1.0))
    start = either(bent, correction, d)

    def halve(carry: Any) -> Any:
        length, count, _ = carry
        length = 0.5 * length
        return length, count + 1, good(now.x + length * d, length)

    length, _, accepted = loop(
        lambda carry: both(np.logical_not(carry[2]), carry[1] < HALVINGS),
        halve,
        (np.ones((), now.x.dtype), np.int64(0), np.logical_or(full, bent)),
    )
    x = problem.project(now.x + length * start)
    value, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
    y, z = now.y + length * (y - now.y), now.z + length * (z - now.z)
    after = now._replace(
        x=x, y=y, z=z, price=price, value=value, gradient=gradient, h=h, g=g, h_jacobian=h_jacobian,
        g_jacobian=g_jacobian, count=now.count + 1,
    )  # fmt: skip
    residual = measure_conditions(problem, after)
    moved = np.max(np.abs(x - now.x)) / (1.0 + np.max(np.abs(x)))
    # at a vertex x has ended before its multipliers have
    explained = _explain(problem, after)
    better = measure_conditions(problem, explained)
    use = both(moved <= 10 * np.finfo(x.dtype).eps, better < residual)
    after = after._replace(y=either(use, explained.y, y), z=either(use, explained.z, z))
    residual = either(use, better, residual)
    violated = np.maximum(_worst(h), _worst(np.maximum(g, 0.0)))
    stalled = either(moved <= 10 * np.finfo(x.dtype).eps, now.stalled + 1, 0)
    stuck = either(violated > 1e3 * tol, INFEASIBLE, NO_PROGRESS)
    code = either(residual <= tol, CONVERGED, either(stalled >= 3, stuck, RUNNING))
    code = either(both(price > STEEPEST, violated > 1e3 * tol), INFEASIBLE, code)
    failed = both(np.logical_not(accepted), code == RUNNING)
    code = either(failed, either(violated > 1e3 * tol, INFEASIBLE, LINE_SEARCH_FAILED), code)
    code = either(value < floor, UNBOUNDED, code)
    code = either(np.isfinite(residual), code, NOT_FINITE)
    return after._replace(residual=residual, code=as_code(code), stalled=as_code(stalled))


def _explain(problem: Constrained, now: _State) -> _State:
    """The multipliers of the constraints that press which explain ∇f best: at a vertex x says nothing more of them."""
    n, m = now.x.shape[0], now.h.shape[0]
    box = [] if problem.lower is None else [-np.eye(n, dtype=now.x.dtype), np.eye(n, dtype=now.x.dtype)]
    presses = (now.z > 0).astype(now.x.dtype)
    rows = np.concatenate([now.h_jacobian, presses[:, None] * np.concatenate([now.g_jacobian, *box], 0)], 0)
    found = -(np.linalg.pinv(rows.T) @ now.gradient)
    return now._replace(y=found[:m], z=np.maximum(found[m:], 0.0))


def run_sqp(problem: Constrained, x: Value, tol: Any, iterations: int) -> Found:
    """A local minimum under the constraints, from x."""
    x = problem.project(x)
    value, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
    zeros = lambda count: np.zeros(count, x.dtype)
    price = np.maximum(10.0, 2.0 * _worst(gradient))
    bounds = 0 if problem.lower is None else 2 * x.shape[0]
    first = _State(
        x, zeros(h.shape[0]), zeros(g.shape[0] + bounds), price, value, gradient, h, g, h_jacobian, g_jacobian,
        np.full((), np.inf, x.dtype) + 0 * value, as_code(RUNNING), np.int64(0), as_code(0),
    )  # fmt: skip
    floor = -1e9 * (1.0 + np.abs(value))  # below it the value is taken to fall without end
    finite = both(np.isfinite(value), np.all(np.isfinite(gradient)))
    first = first._replace(code=as_code(either(finite, RUNNING, NOT_FINITE)))
    last = loop(
        lambda now: both(now.code == RUNNING, now.count < iterations),
        lambda now: _step(problem, now, tol, floor),
        first,
    )
    code = as_code(either(last.code == RUNNING, MAX_ITERATIONS, last.code))
    return Found(last.x, last.y, last.z, last.value, last.gradient, code, last.count, last.residual)
