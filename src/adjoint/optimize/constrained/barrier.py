"""The log-barrier method, as a primal-dual interior point: inequalities become slacks that cannot reach zero.

    minimize t f(x) - Σ log sᵢ     subject to   h(x) = 0,   g(x) + s = 0        and t grows

At the minimum for a t the multipliers are zᵢ = 1 / (t sᵢ), so that the duality gap of a convex problem is m / t.
Newton's method follows these minima in x, s, y and z together. With μ = 1 / t,

    (∇²L + ∇gᵀ(z/s)∇g) Δx + ∇hᵀΔy = …,   ∇h Δx = -h

whose curvature is made positive only where a step needs it. Steps keep s and z positive, and are judged by the merit
f - μ Σ log s + ν (‖h‖₁ + ‖g + s‖₁), or by the conditions themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from adjoint.api.gradients import grad
from adjoint.api.jacobians import jacfwd
from adjoint.implicit.equation import factor_or_nan
from adjoint.linear.solvers.iteration import both, either, loop
from adjoint.optimize.constrained.sqp import Constrained, Found, Point, all_inequalities, linearize, measure_conditions
from adjoint.optimize.iteration import as_code
from adjoint.optimize.programs.interior_point import find_length
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
from adjoint.scipy import linalg

__all__ = ["LogBarrier", "run_barrier"]

HALVINGS = 30
SHORT = 0.995  # of the way to the boundary


@final
@dataclass(frozen=True)
class LogBarrier:
    """Minimize t f(x) - Σ log(-gᵢ(x)) by Newton's method, for growing t: an interior point method for `subject_to`.

    t begins at `weight`, and is multiplied by `growth` (or by more, once Newton's method is fast) whenever the minimum
    for it is found. With `last` it ends at that t, on the central path: of a convex problem with m inequalities the
    duality gap is m / t there. Without it, it ends where the conditions hold to `tol`. Inequalities may be violated at
    the start; bounds are kept from the start on. `certificate["duality gap"]` of the answer is Σ zᵢ sᵢ.

    ```python
    method = ad.optimize.LogBarrier(last=1e3)
    found = ad.optimize.minimize(lambda x: np.sum(x), np.ones(2), bounds=(0.0, None), method=method)
    np.round(found.value, 9), float(np.round(found.certificate["duality gap"], 9))  # → ([0.001, 0.001], 0.002)
    ```
    """

    multipliers: ClassVar[bool] = True  # a method for constraints
    weight: float = 10.0
    growth: float = 5.0
    last: float | None = None

    def __post_init__(self) -> None:
        if not self.weight > 0 or not self.growth > 1:
            raise ValueError(f"LogBarrier: weight is {self.weight} and growth {self.growth}; the weight is above 0, "
                             "and growth above 1.")  # fmt: skip
        if self.last is not None and not self.last >= self.weight:
            raise ValueError(f"LogBarrier: last is {self.last}; it is not below weight, {self.weight}.")


class _State(NamedTuple):
    x: Value
    s: Value
    y: Value
    z: Value  # of g, lower and upper
    mu: Value
    price: Value
    value: Value
    gradient: Value
    h: Value
    g: Value  # with bounds
    h_jacobian: Value
    g_jacobian: Value
    residual: Value
    code: Value
    count: Value
    stalled: Value


def _worst(*vectors: Value) -> Value:
    parts = [np.max(np.abs(v)) for v in vectors if v.shape[0]]
    return np.max(np.stack(parts)) if len(parts) > 1 else parts[0]


def _look(problem: Constrained, x: Value) -> tuple[Value, ...]:
    """(f, ∇f, h, g, ∇h, ∇g) with bounds among g; a bound that is infinite is a row of zeros, at -1."""
    value, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
    if problem.lower is not None and problem.upper is not None:
        eye = np.eye(x.shape[0], dtype=x.dtype)
        rows = [-eye * np.isfinite(problem.lower)[:, None], eye * np.isfinite(problem.upper)[:, None]]
        g, g_jacobian = all_inequalities(problem, x, g), np.concatenate([g_jacobian, *rows], 0)
    return value, gradient, h, g, h_jacobian, g_jacobian


def _start_inside(problem: Constrained, x: Value) -> Value:
    """The nearest point that has some distance from its bounds."""
    if problem.lower is None or problem.upper is None:
        return x
    low, high = problem.lower, problem.upper
    width = np.where(np.isfinite(high - low), high - low, np.inf)
    size = lambda bound: np.maximum(1.0, np.abs(np.where(np.isfinite(bound), bound, 0.0)))
    push = lambda bound: np.minimum(1e-2 * size(bound), 0.1 * width)
    return np.minimum(np.maximum(x, low + push(low)), high - push(high))


def run_barrier(problem: Constrained, x: Value, tol: Any, iterations: Any, method: LogBarrier) -> tuple[Found, Value]:
    """A local minimum under the constraints, from x, and the duality gap Σ s z."""
    x = _start_inside(problem, problem.project(x))
    eps = float(np.finfo(x.dtype).eps)
    least = 0.05 * tol if method.last is None else 1.0 / method.last

    def errors(now: Any, mu: Any) -> Value:
        """How far a point is from the minimum for a μ."""
        parts = now.gradient + now.h_jacobian.T @ now.y + now.g_jacobian.T @ now.z
        size = 1.0 + 0.01 * _worst(now.gradient, now.y, now.z)
        return np.maximum(_worst(parts, now.s * now.z - mu) / size, _worst(now.h, now.g + now.s))

    def conditions(now: Any) -> Value:
        p = now.g.shape[0] - (0 if problem.lower is None else 2 * now.x.shape[0])
        return measure_conditions(
            problem, Point(now.x, now.y, now.z, now.gradient, now.h, now.g[:p], now.h_jacobian, now.g_jacobian[:p])
        )

    def direction(now: _State, W: Value, right: Value) -> tuple[Value, Value]:
        n, m = now.x.shape[0], now.h.shape[0]
        if m:
            corner = -eps * np.eye(m, dtype=W.dtype)
            W = np.concatenate([np.concatenate([W, now.h_jacobian.T], 1), np.concatenate([now.h_jacobian, corner], 1)])
        found = linalg.lu_solve(factor_or_nan(W), np.concatenate([right, -now.h]))
        return found[:n], found[n:]

    def step(now: _State) -> _State:
        x, s, z, mu = now.x, now.s, now.z, now.mu
        H = jacfwd(grad(problem.lagrangian))(x, now.y, z)
        W = 0.5 * (H + H.T) + (now.g_jacobian.T * (z / s)) @ now.g_jacobian
        off = now.g + s
        right = -(now.gradient + now.h_jacobian.T @ now.y + now.g_jacobian.T @ (mu / s + (z / s) * off))
        dx, dy = direction(now, W, right)
        # a step along which the curvature is not positive leads to no minimum
        values, vectors = np.linalg.eigh(W)
        far = _worst(now.gradient + now.h_jacobian.T @ now.y + now.g_jacobian.T @ z) / (1.0 + _worst(x))
        floor = np.maximum(1e-8 * np.maximum(1.0, np.max(np.abs(values))), np.minimum(1.0, 0.05 * far))
        bowl = (vectors * np.maximum(np.abs(values), floor)) @ vectors.T
        dx2, dy2 = direction(now, bowl, right)
        saved = np.maximum(-np.sum((now.y + dy) * now.h), 0.0)
        curved = np.sum(dx * (W @ dx)) + saved > 1e-10 * np.sum(dx * dx)
        dx, dy = either(curved, dx, dx2), either(curved, dy, dy2)
        ds = -off - now.g_jacobian @ dx
        dz = mu / s - z - (z / s) * ds
        longest = np.minimum(1.0, SHORT * find_length(s, ds))
        along_z = np.minimum(1.0, SHORT * find_length(z, dz))
        violation = np.sum(np.abs(now.h)) + np.sum(np.abs(off))
        change = np.sum(now.gradient * dx) - mu * np.sum(ds / s)
        needed = (change + 0.5 * np.maximum(np.sum(dx * (W @ dx)), 0.0)) / (0.9 * np.maximum(violation, 1e-300))
        price = np.maximum(now.price, either(violation > eps, 1.5 * needed, now.price))
        fall = change - price * violation
        merit = now.value - mu * np.sum(np.log(s)) + price * violation
        here = errors(now, mu)
        slack = 10 * eps * (1.0 + np.abs(merit))

        def attempt(length: Value) -> tuple[_State, Value]:
            x2, s2 = now.x + length * dx, s + length * ds
            value, gradient, h, g, h_jacobian, g_jacobian = _look(problem, x2)
            after = now._replace(
                x=x2, s=s2, y=now.y + length * dy, z=z + np.minimum(length, along_z) * dz, price=price, value=value,
                gradient=gradient, h=h, g=g, h_jacobian=h_jacobian, g_jacobian=g_jacobian,
            )  # fmt: skip
            there = value - mu * np.sum(np.log(s2)) + price * (np.sum(np.abs(h)) + np.sum(np.abs(g + s2)))
            good = np.logical_or(there <= merit + 1e-4 * length * np.minimum(fall, 0.0) + slack,
                                 errors(after, mu) <= 0.9 * here)  # fmt: skip
            return after, both(good, both(np.isfinite(value), np.all(np.isfinite(gradient))))

        def halve(carry: Any) -> Any:
            length, count, _, _ = carry
            length = 0.5 * length
            after, good = attempt(length)
            return length, count + 1, after, good

        first, good = attempt(longest)
        _, _, after, accepted = loop(
            lambda carry: both(np.logical_not(carry[3]), carry[1] < HALVINGS),
            halve,
            (longest, np.int64(0), first, good),
        )
        # slacks may follow the constraints where that is larger: the merit falls
        after = after._replace(s=np.maximum(after.s, np.minimum(-after.g, 1e10)))
        reached = errors(after, mu) <= 10.0 * mu
        lower = np.maximum(least, np.minimum(mu / method.growth, mu**1.5))
        at_end = mu <= least * (1.0 + 1e-9)
        ended = both(at_end, errors(after, mu) <= np.maximum(1e-7 * mu, 1e3 * eps)) if method.last is not None else (
            conditions(after) <= tol)  # fmt: skip
        moved = _worst(after.x - now.x) / (1.0 + _worst(after.x))
        stalled = either(both(moved <= 10 * eps, np.logical_not(reached)), now.stalled + 1, 0)
        violated = np.maximum(_worst(after.h, np.zeros(1, x.dtype)), _worst(np.maximum(after.g, 0.0), np.zeros(1)))
        lost = either(violated > 1e3 * tol, INFEASIBLE, NO_PROGRESS)
        code = either(ended, CONVERGED, either(stalled >= 5, lost, RUNNING))
        failed = both(np.logical_not(accepted), code == RUNNING)
        code = either(failed, either(violated > 1e3 * tol, INFEASIBLE, LINE_SEARCH_FAILED), code)
        code = either(both(after.value < bottom, violated < 1e-3), UNBOUNDED, code)
        residual = conditions(after)
        code = either(np.isfinite(residual), code, NOT_FINITE)
        return after._replace(
            mu=either(reached, lower, mu), price=either(reached, np.ones_like(price), price), residual=residual,
            code=as_code(code), count=now.count + 1, stalled=as_code(stalled),
        )  # fmt: skip

    value, gradient, h, g, h_jacobian, g_jacobian = _look(problem, x)
    mu = np.full((), 1.0 / method.weight, x.dtype) + 0 * value
    s = np.maximum(-g, 1e-2)
    parts = [np.reshape(value, (1,)), gradient, h, g, np.ravel(h_jacobian), np.ravel(g_jacobian)]
    finite = np.all(np.isfinite(np.concatenate(parts)))
    first = _State(
        x, s, np.zeros(h.shape[0], x.dtype), mu / s, mu, np.ones_like(mu), value, gradient, h, g, h_jacobian,
        g_jacobian, np.inf * np.ones_like(mu), as_code(either(finite, RUNNING, NOT_FINITE)), np.int64(0), as_code(0),
    )  # fmt: skip
    bottom = -1e9 * (1.0 + np.abs(value))  # below it the value is taken to fall without end
    last = loop(lambda now: both(now.code == RUNNING, now.count < iterations), step, first)
    code = as_code(either(last.code == RUNNING, MAX_ITERATIONS, last.code))
    z = last.z
    if problem.lower is not None and problem.upper is not None:  # a bound that is infinite has no price
        p = z.shape[0] - 2 * x.shape[0]
        some = np.concatenate([np.isfinite(problem.lower), np.isfinite(problem.upper)])
        z = np.concatenate([z[:p], np.where(some, z[p:], 0.0)])
    found = Found(last.x, last.y, z, last.value, last.gradient, code, last.count, last.residual)
    return found, np.sum(last.s * z)
