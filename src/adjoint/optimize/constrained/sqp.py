"""Sequential quadratic programming: quadratic models of the Lagrangian under linear models of the constraints.

    minimize ½ dᵀB d + ∇fᵀd     subject to   h + ∇h d = δ (y⁺ - y),   g + ∇g d ≤ δ (z⁺ - z),   l ≤ x + d ≤ u

B is the Hessian of the Lagrangian, made convex: along the constraints that hold by a multiple of ∇hᵀ∇h, which leaves
the solution as it is, and elsewhere by positive eigenvalues. With the small weight δ there is always a solution: where
the linear constraints contradict each other it is the one that violates them least, and where multipliers are not
unique, those nearest to the last ones.

Steps are judged by a filter: of the pairs (violation, f) seen, none may be better in both. A step that is refused
because the constraints bend is corrected once. Where none is accepted, the violation alone is made smaller until the
filter accepts again (restoration).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.gradients import grad
from adjoint.api.jacobians import jacfwd, jacobian
from adjoint.linear.solvers.iteration import both, either, loop
from adjoint.optimize.iteration import as_code
from adjoint.optimize.programs.active_set import polish, weigh_rows
from adjoint.optimize.programs.interior_point import Program, Solved, run_interior_point
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
FILTER = 24  # pairs that are remembered
GIVE = 1e-9  # how much constraints give way, against the curvature
LOUD = 1e6  # so many times the gradient: multipliers above it belong to constraints that contradict each other
CONVEX = 10.0  # what is added along the constraints that hold, against the curvature


class Constrained(NamedTuple):
    """A problem over vectors: the functions (f, h, g), and bounds."""

    functions: Callable[[Value], tuple[Value, Value, Value]]
    lower: Value | None  # infinite where there is none; None: nowhere
    upper: Value | None

    def f(self, x: Value) -> Value:
        """The objective alone."""
        return self.functions(x)[0]

    def constraints(self, x: Value) -> tuple[Value, Value]:
        """(h, g) alone."""
        return self.functions(x)[1:]

    def lagrangian(self, x: Value, y: Value, z: Value) -> Value:
        """f + Σ y h + Σ z g; prices of bounds may follow in z."""
        value, h, g = self.functions(x)
        return value + np.sum(y * h) + np.sum(z[: g.shape[0]] * g)

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
    value: Value
    gradient: Value
    h: Value
    g: Value
    h_jacobian: Value
    g_jacobian: Value
    filter: Value  # rows (violation, value)
    restores: Value  # whether only the violation counts
    residual: Value
    code: Value
    count: Value
    stalled: Value


class _Trial(NamedTuple):
    """A direction with its multipliers, and the point that it leads to."""

    d: Value
    y: Value
    z: Value
    h: Value  # at x + d
    g: Value
    accepted: Value
    count: Value


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
    """(f, ∇f, h, g, ∇h, ∇g) at a point, by one call of the functions."""

    def stacked(v: Value) -> tuple[Value, Value]:
        value, h, g = problem.functions(v)
        return np.concatenate([np.reshape(value, (1,)), h, g]), (value, h, g)

    rows, (value, h, g) = jacobian(stacked, has_aux=True)(x)
    m = h.shape[0]
    return value, rows[0], h, g, rows[1 : 1 + m], rows[1 + m :]


def _violation(h: Value, g: Value) -> Value:
    return np.sum(np.abs(h)) + np.sum(np.maximum(g, 0.0))


class _Model(NamedTuple):
    """The quadratic model of a step d = s u: ½ uᵀB u + gradientᵀu, in units s of the unknowns that balance B."""

    s: Value
    B: Value
    gradient: Value


def _balance(W: Value, x: Value) -> Value:
    """Units s with which the rows of diag(s) W diag(s) are of size one, but not far above the size of x."""
    s = np.ones(W.shape[0], W.dtype)
    for _ in range(3):
        rows = np.max(np.abs(s[:, None] * W * s), axis=1)
        s = s / np.sqrt(np.where(rows > 0, rows, 1.0))
    return np.minimum(s, 10.0 * (1.0 + np.abs(x)))


def _curvature(problem: Constrained, now: _State) -> _Model:
    """The model at a point, with eigenvalues of B that are positive and not too small."""
    p = now.g.shape[0]
    H = jacfwd(grad(problem.lagrangian))(now.x, now.y, now.z)
    H = 0.5 * (H + H.T)
    holds = np.concatenate([np.ones_like(now.y), (now.z[:p] > np.maximum(-now.g, 0.0)).astype(H.dtype)])
    C, c = np.concatenate([now.h_jacobian, now.g_jacobian], 0), np.concatenate([now.h, now.g])
    s = _balance(H, now.x)
    H, C = s[:, None] * H * s, C * s
    w = CONVEX * weigh_rows(H, C, holds)
    values, vectors = np.linalg.eigh(H + (C.T * w) @ C)
    far = np.max(np.abs(s * (now.gradient + _pull(problem, now)))) / (1.0 + np.max(np.abs(now.x / s)))
    least = np.maximum(1e-8 * np.maximum(1.0, np.max(np.abs(H))), np.minimum(1.0, 0.05 * far))
    B = (vectors * np.maximum(np.abs(values), least)) @ vectors.T
    return _Model(s, B, s * now.gradient + C.T @ (w * c))


def _subproblem(problem: Constrained, now: _State, model: _Model, h: Value, g: Value) -> Solved:
    """The quadratic program of a step, for values h and g of the constraints; its rows have length one."""
    n, m, p = now.x.shape[0], h.shape[0], g.shape[0]
    dtype, s = now.x.dtype, model.s
    C = np.concatenate([now.h_jacobian, now.g_jacobian], 0) * s
    sizes = np.sqrt(np.sum(C * C, axis=1))
    sizes = np.where(sizes > 0, sizes, 1.0)
    C = C / sizes[:, None]
    give = GIVE / np.max(np.abs(model.B))
    prices = sizes * np.concatenate([now.y, now.z[:p]])
    c = -np.concatenate([h, g]) / sizes - give * prices
    rows, right = [C[m:]], [c[m:]]
    if problem.lower is not None and problem.upper is not None:
        eye = np.eye(n, dtype=dtype)
        for sign, distance in ((-1.0, now.x - problem.lower), (1.0, problem.upper - now.x)):
            some = np.isfinite(distance)  # a bound that is infinite is a row of zeros
            rows.append(sign * some[:, None] * eye)
            right.append(np.where(some, distance / s, 1.0))
    G = np.concatenate(rows, 0)
    soft = (give * np.ones(m, dtype), give * np.concatenate([np.ones(p, dtype), np.zeros(G.shape[0] - p, dtype)]))
    data = Program(model.B, model.gradient, C[:m], c[:m], G, np.concatenate(right))
    found = polish(data, run_interior_point(data, 1e-10, 80, None, soft), soft)
    units = np.concatenate([sizes[m:], *([s, s] if problem.lower is not None else [])])
    return found._replace(x=s * found.x, y=found.y / sizes[:m], z=found.z / units)


def _is_filtered(pairs: Value, violation: Value, value: Value) -> Value:
    """Whether a pair is no better than one of the filter."""
    return np.any(np.logical_and(violation >= (1.0 - 1e-5) * pairs[:, 0], value >= pairs[:, 1] - 1e-5 * pairs[:, 0]))


def _step(problem: Constrained, now: _State, tol: Any, floor: Value) -> _State:
    dtype = now.x.dtype
    eps = np.finfo(dtype).eps
    violation = _violation(now.h, now.g)
    model = _curvature(problem, now)
    # restoration: the shortest step to where the constraints hold, relative to x
    short = _Model(1.0 + np.abs(now.x), np.eye(now.x.shape[0], dtype=dtype), np.zeros_like(now.x))
    model = _Model(*[either(now.restores, a, b) for a, b in zip(short, model, strict=True)])

    def is_descent(length: Value, d: Value) -> Value:
        """Whether a step must make f smaller: the constraints nearly hold, and it promises to."""
        predicted = length * np.sum(now.gradient * d)
        promising = both(predicted < 0, np.maximum(-predicted, 0.0) ** 2.3 > violation**1.1)
        return both(promising, violation <= 1e-8 * now.filter[0, 0])

    def judge(x: Value, length: Value, d: Value) -> tuple[Value, Value, Value]:
        """(h, g, whether a point is accepted)."""
        value, h, g = problem.functions(x)
        there = _violation(h, g)
        predicted = length * np.sum(now.gradient * d)
        noise = 10 * eps * (1.0 + np.abs(now.value))
        descends = is_descent(length, d)
        falls = value <= now.value + 1e-4 * predicted + noise
        smaller = np.logical_or(there <= (1.0 - 1e-5) * violation, value <= now.value - 1e-5 * violation + noise)
        good = both(either(descends, falls, smaller),
                    np.logical_not(_is_filtered(now.filter, there, value)))  # fmt: skip
        good = either(now.restores, there <= (1.0 - 1e-4 * length) * violation, good)
        return h, g, both(good, both(np.isfinite(value), np.isfinite(there)))

    def attempt(carry: Any) -> Any:
        h, g, first, last = carry
        found = _subproblem(problem, now, model, h, g)
        x = problem.project(now.x + found.x)
        h, g, accepted = judge(x, np.ones((), dtype), found.x)
        trial = _Trial(found.x, found.y, found.z, h, g, accepted, last.count + 1)
        is_first = last.count == 0
        first = _Trial(*[either(is_first, a, b) for a, b in zip(trial, first, strict=True)])
        # the constraints bend away from a full step: aim at where they really are
        return h - now.h_jacobian @ found.x, g - now.g_jacobian @ found.x, first, trial

    def needs_another(carry: Any) -> Any:
        last = carry[3]
        bent = both(np.logical_not(last.accepted), _violation(last.h, last.g) >= violation)
        return np.logical_or(last.count == 0, both(bent, last.count < 2))

    none = _Trial(np.zeros_like(now.x), now.y, now.z, now.h, now.g, np.bool_(False), np.int64(0))
    _, _, first, last = loop(needs_another, attempt, (now.h, now.g, none, none))
    chosen = _Trial(*[either(last.accepted, a, b) for a, b in zip(last, first, strict=True)])

    def halve(carry: Any) -> Any:
        length, count, _ = carry
        length = 0.5 * length
        return length, count + 1, judge(problem.project(now.x + length * first.d), length, first.d)[2]

    length, _, accepted = loop(
        lambda carry: both(np.logical_not(carry[2]), carry[1] < HALVINGS),
        halve,
        (np.ones((), dtype), np.int64(0), last.accepted),
    )
    x = problem.project(now.x + either(accepted, length, 0.0) * chosen.d)
    value, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
    # multipliers of linear constraints that contradict each other say nothing, nor do those of a restoration
    rows = np.concatenate([now.h_jacobian, now.g_jacobian], 0) * model.s
    pulls = np.concatenate([first.y, first.z[: g.shape[0]]])[:, None] * rows
    tells = both(np.logical_not(now.restores), _worst(np.ravel(pulls)) <= LOUD * (1.0 + _worst(model.s * now.gradient)))
    part = either(both(tells, accepted), length, 0.0)
    y, z = now.y + part * (chosen.y - now.y), now.z + part * (chosen.z - now.z)
    descended = both(accepted, is_descent(length, chosen.d))
    entered = both(np.logical_not(now.restores), np.logical_not(descended))
    at = np.arange(FILTER) == 1 + now.count % (FILTER - 1)
    pair = np.stack([violation, now.value])
    pairs = np.where(both(entered, violation > 0) * at[:, None], pair, now.filter)
    blocked = _is_filtered(pairs, _violation(h, g), value)
    restores = either(now.restores, blocked, np.logical_not(accepted))
    after = now._replace(
        x=x, y=y, z=z, value=value, gradient=gradient, h=h, g=g, h_jacobian=h_jacobian, g_jacobian=g_jacobian,
        filter=pairs, restores=restores, count=now.count + 1,
    )  # fmt: skip
    residual = measure_conditions(problem, after)
    moved = np.max(np.abs(x - now.x)) / (1.0 + np.max(np.abs(x)))
    # at a vertex x has ended before its multipliers have
    explained = _explain(problem, after)
    better = measure_conditions(problem, explained)
    use = both(moved <= 10 * eps, better < residual)
    after = after._replace(y=either(use, explained.y, y), z=either(use, explained.z, z))
    residual = either(use, better, residual)
    violated = np.maximum(_worst(h), _worst(np.maximum(g, 0.0)))
    stalled = either(moved <= 10 * eps, now.stalled + 1, 0)
    stuck = either(violated > 1e3 * tol, INFEASIBLE, NO_PROGRESS)
    code = either(residual <= tol, CONVERGED, either(stalled >= 3, stuck, RUNNING))
    # nothing is left to restore, or nothing can be
    failed = both(np.logical_not(accepted), np.logical_or(now.restores, violated <= tol))
    failed = both(failed, code == RUNNING)
    code = either(failed, either(violated > 1e3 * tol, INFEASIBLE, LINE_SEARCH_FAILED), code)
    code = either(both(value < floor, violated <= 1e-3), UNBOUNDED, code)
    code = either(np.isfinite(residual), code, NOT_FINITE)
    return after._replace(residual=residual, code=as_code(code), stalled=as_code(stalled))


def _explain(problem: Constrained, now: _State) -> _State:
    """The multipliers of the constraints that press which explain ∇f best: at a vertex x says nothing more of them."""
    n, m = now.x.shape[0], now.h.shape[0]
    box = [] if problem.lower is None else [-np.eye(n, dtype=now.x.dtype), np.eye(n, dtype=now.x.dtype)]
    presses = (now.z > 0).astype(now.x.dtype)
    rows = np.concatenate([now.h_jacobian, presses[:, None] * np.concatenate([now.g_jacobian, *box], 0)], 0)
    # NaN in it is the residual's to tell
    found = -(np.linalg.pinv(np.where(np.isfinite(rows), rows, 0.0).T) @ now.gradient)
    return now._replace(y=found[:m], z=np.maximum(found[m:], 0.0))


def run_sqp(problem: Constrained, x: Value, tol: Any, iterations: int) -> Found:
    """A local minimum under the constraints, from x."""
    x = problem.project(x)
    value, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
    zeros = lambda count: np.zeros(count, x.dtype)
    most = 1e4 * np.maximum(1.0, _violation(h, g))  # no step may violate more
    pairs = np.full((FILTER, 2), np.inf, x.dtype)
    pairs = np.where(np.arange(FILTER)[:, None] == 0, np.stack([most, -np.inf * np.ones_like(most)]), pairs)
    bounds = 0 if problem.lower is None else 2 * x.shape[0]
    first = _State(
        x, zeros(h.shape[0]), zeros(g.shape[0] + bounds), value, gradient, h, g, h_jacobian, g_jacobian, pairs,
        np.bool_(False), np.full((), np.inf, x.dtype) + 0 * value, as_code(RUNNING), np.int64(0), as_code(0),
    )  # fmt: skip
    floor = -1e9 * (1.0 + np.abs(value))  # below it the value is taken to fall without end
    parts = [np.reshape(value, (1,)), gradient, h, g, np.ravel(h_jacobian), np.ravel(g_jacobian)]
    finite = np.all(np.isfinite(np.concatenate(parts)))
    first = first._replace(code=as_code(either(finite, RUNNING, NOT_FINITE)))
    last = loop(
        lambda now: both(now.code == RUNNING, now.count < iterations),
        lambda now: _step(problem, now, tol, floor),
        first,
    )
    code = as_code(either(last.code == RUNNING, MAX_ITERATIONS, last.code))
    return Found(last.x, last.y, last.z, last.value, last.gradient, code, last.count, last.residual)
