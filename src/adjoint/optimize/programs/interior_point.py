"""Quadratic programs by a primal-dual interior point method, as one loop of small dense matrices.

    minimize ½ xᵀP x + qᵀx   subject to   A x = b,   G x + s = h,   s ≥ 0

Mehrotra's predictor and corrector: each iteration factors

    K = | P + Gᵀ W G   Aᵀ |       W = diag(z / s)
        |     A         0 |

once, for two right sides. Iterates that run away tell of a program that has no solution: y and z become a certificate
that no x is feasible (Aᵀy + Gᵀz = 0, bᵀy + hᵀz < 0), or x a direction along which the value falls without end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.implicit.equation import factor_or_nan
from adjoint.linear.solvers.iteration import TRACED, both, either, loop
from adjoint.optimize.iteration import as_code
from adjoint.optimize.statuses import (
    CONVERGED,
    INFEASIBLE,
    MAX_ITERATIONS,
    NO_PROGRESS,
    NOT_FINITE,
    RUNNING,
    UNBOUNDED,
)
from adjoint.program.types import Value
from adjoint.scipy import linalg

__all__ = [
    "Program",
    "Solved",
    "conditions_matrix",
    "find_active",
    "find_length",
    "measure",
    "polish",
    "prove",
    "run_interior_point",
]

SHORT = 0.99  # of the way to the boundary
CHANGES = 6  # of the active set that a warm start tries


class Program(NamedTuple):
    """The data of a quadratic program."""

    P: Value  # n × n, symmetric
    q: Value
    A: Value  # m × n
    b: Value
    G: Value  # p × n
    h: Value


class _State(NamedTuple):
    x: Value
    y: Value  # multipliers of A x = b
    z: Value  # of G x ≤ h
    s: Value  # h - G x
    code: Value
    count: Value
    residual: Value  # of the optimality conditions, against the size of their terms
    best: Value  # the smallest residual so far
    stalled: Value  # iterations since


class Solved(NamedTuple):
    """x, the multipliers, and how it ended; of a program without solution y and z, or x, are the proof."""

    x: Value
    y: Value
    z: Value
    code: Value
    iterations: Value
    residual: Value


def _largest(*vectors: Value) -> Value:
    """max |vᵢ| over some vectors, which may be empty."""
    sizes = [np.max(np.abs(v)) for v in vectors if v.shape[0]]
    return np.max(np.stack(sizes)) if len(sizes) > 1 else sizes[0]


def measure(data: Program, x: Value, y: Value, z: Value) -> Value:
    """How far x and its multipliers are from optimal, against the size of the terms of each condition."""
    P, q, A, b, G, h = data
    curved, pushed, pressed = P @ x, A.T @ y, G.T @ z
    stationary = _largest(curved + q + pushed + pressed) / (1.0 + _largest(curved, q, pushed, pressed))
    parts = [stationary]
    if b.shape[0]:
        parts.append(_largest(A @ x - b) / (1.0 + _largest(b)))
    if h.shape[0]:
        slack = h - G @ x
        parts.append(np.max(np.maximum(-slack, 0.0)) / (1.0 + _largest(h)))
        parts.append(np.max(np.maximum(-z, 0.0)) / (1.0 + _largest(z)))
        gap = np.abs(np.sum(slack * z))
        parts.append(gap / (1.0 + np.abs(0.5 * np.sum(x * curved)) + np.abs(np.sum(q * x))))
    return np.max(np.stack(parts))


def _factor(data: Program, w: Value) -> tuple[Value, Value]:
    """P K = L U, with K as above; a little is added to its diagonal so that dependent rows do no harm."""
    P, q, A, b, G, h = data
    n, m = q.shape[0], b.shape[0]
    H = P + (G.T * w) @ G if h.shape[0] else P
    tiny = np.finfo(q.dtype).eps * (1.0 + np.max(np.abs(H)))
    H = H + tiny * np.eye(n, dtype=q.dtype)
    if not m:
        return factor_or_nan(H)
    corner = -np.finfo(q.dtype).eps * np.eye(m, dtype=q.dtype)
    return factor_or_nan(np.concatenate([np.concatenate([H, A.T], 1), np.concatenate([A, corner], 1)], 0))


def _start(data: Program) -> tuple[Value, Value, Value, Value]:
    """Mehrotra's start: the least squares of the slacks, moved to the inside."""
    q, b, G, h = data.q, data.b, data.G, data.h
    n, p = q.shape[0], h.shape[0]
    factors = _factor(data, np.ones(p, q.dtype))
    right = np.concatenate([-q + G.T @ h, b])
    found = linalg.lu_solve(factors, right)
    x, y = found[:n], found[n:]
    s = h - G @ x
    if not p:
        return x, y, s, s

    def inside(v: Value) -> Value:
        lowest = np.min(v)
        return np.where(lowest > 1e-3, v, v + (1.0 + np.maximum(-lowest, 0.0)))

    return x, y, inside(-s), inside(s)


def _direction(
    data: Program, factors: Any, now: _State, r: tuple[Value, Value, Value], r4: Value
) -> tuple[Value, Value, Value, Value]:
    """(Δx, Δy, Δz, Δs): G Δx + Δs = -r₃, z Δs + s Δz = -r₄, and the two rows of K."""
    G, n = data.G, data.q.shape[0]
    r1, r2, r3 = r
    right = np.concatenate([-r1 - G.T @ ((now.z * r3 - r4) / now.s), -r2])
    found = linalg.lu_solve(factors, right)
    dx, dy = found[:n], found[n:]
    ds = -r3 - G @ dx
    return dx, dy, (-r4 - now.z * ds) / now.s, ds


def find_length(v: Value, dv: Value) -> Value:
    """The largest step that leaves v ≥ 0."""
    if not v.shape[0]:
        return np.full((), np.inf, v.dtype)
    return np.min(np.where(dv < 0, -v / np.where(dv < 0, dv, -1.0), np.inf))


def run_interior_point(data: Program, tol: float, iterations: int, warm: Any = None) -> Solved:
    """Solve a program; what it gives is polished afterwards. `warm` is (x, y, z) of one that may be much like it."""
    q, b, p = data.q, data.b, data.h.shape[0]
    dtype = q.dtype
    if p and warm is not None:
        guess = _follow_active(data, tol, *warm)
        if not isinstance(guess.code, TRACED) and guess.code == CONVERGED:
            return guess
        start = either(guess.code == CONVERGED, np.int64(iterations), np.int64(0))
        found = _run(data, tol, iterations, start)
        return Solved(*[either(guess.code == CONVERGED, a, b) for a, b in zip(guess, found, strict=True)])
    x, y, z, _ = _start(data)
    if not p:
        residual = measure(data, x, y, z)
        good = residual <= np.finfo(dtype).eps ** 0.5
        # without inequalities this is the solution, if there is one
        lost = either(
            _falls(data, x),
            UNBOUNDED,
            either(np.isfinite(residual), INFEASIBLE if b.shape[0] else UNBOUNDED, NOT_FINITE),
        )
        return Solved(x, y, z, as_code(either(good, CONVERGED, lost)), np.int64(1), residual)
    return _run(data, tol, iterations, np.int64(0))


def _run(data: Program, tol: float, iterations: int, begin: Value) -> Solved:
    """The loop, for a program with inequalities; nothing is done where `begin` is the number of iterations."""
    P, q, A, b, G, h = data
    p = h.shape[0]
    x, y, z, s = _start(data)

    def step(now: _State) -> _State:
        r = (P @ now.x + q + A.T @ now.y + G.T @ now.z, A @ now.x - b, G @ now.x + now.s - h)
        factors = _factor(data, now.z / now.s)
        mu = np.sum(now.s * now.z) / p
        _, _, dz, ds = _direction(data, factors, now, r, now.s * now.z)
        length = np.minimum(1.0, np.minimum(find_length(now.s, ds), find_length(now.z, dz)))
        after = np.sum((now.s + length * ds) * (now.z + length * dz)) / p
        sigma = (after / mu) ** 3
        r4 = now.s * now.z + ds * dz - sigma * mu
        dx, dy, dz, ds = _direction(data, factors, now, r, r4)
        length = np.minimum(1.0, SHORT * np.minimum(find_length(now.s, ds), find_length(now.z, dz)))
        x, y = now.x + length * dx, now.y + length * dy
        z, s = now.z + length * dz, now.s + length * ds
        residual = measure(data, x, y, z)
        better = residual < 0.9 * now.best
        stalled = either(better, 0, now.stalled + 1)
        code = either(residual <= tol, CONVERGED, either(stalled > 12, NO_PROGRESS, RUNNING))
        code = either(_falls(data, x), UNBOUNDED, either(_contradict(data, y, z), INFEASIBLE, code))
        code = either(np.isfinite(residual), code, NOT_FINITE)
        keep = lambda new, old: either(np.isfinite(residual), new, old)
        return _State(
            keep(x, now.x), keep(y, now.y), keep(z, now.z), keep(s, now.s), as_code(code), now.count + 1, residual,
            either(better, residual, now.best), as_code(stalled),
        )  # fmt: skip

    residual = measure(data, x, y, z)
    first = _State(x, y, z, s, as_code(RUNNING), begin, residual, residual, as_code(0))
    last = loop(lambda now: both(now.code == RUNNING, now.count < iterations), step, first)
    code = as_code(either(last.code == RUNNING, MAX_ITERATIONS, last.code))
    return Solved(last.x, last.y, last.z, code, last.count, last.residual)


def prove(data: Program, found: Solved) -> tuple[Value, Value, Value]:
    """Why there is no solution: (d, y, z) with qᵀd = -1 and bᵀy + hᵀz = -1; NaN where that is not the reason."""
    fall, proof = -np.sum(data.q * found.x), -(np.sum(data.b * found.y) + np.sum(data.h * found.z))
    falls, contradicts = found.code == UNBOUNDED, found.code == INFEASIBLE
    pick = lambda holds, v, size: np.where(holds, v / np.where(holds, size, 1.0), np.nan).astype(v.dtype)
    y, z = pick(contradicts, found.y, proof), pick(contradicts, np.maximum(found.z, 0.0), proof)
    return pick(falls, found.x, fall), y, z


def _contradict(data: Program, y: Value, z: Value) -> Value:
    """Whether y and z prove that no x is feasible: Aᵀy + Gᵀz = 0, z ≥ 0 and bᵀy + hᵀz < 0."""
    proof = -(np.sum(data.b * y) + np.sum(data.h * z))
    return both(proof > 0, _largest(data.A.T @ y + data.G.T @ z) <= 1e-9 * proof)


def _falls(data: Program, x: Value) -> Value:
    """Whether x is a direction without end: P x = 0, A x = 0, G x ≤ 0 and qᵀx < 0."""
    P, q, A, b, G, h = data
    fall = -np.sum(q * x)
    flat = [np.max(np.abs(P @ x))]
    flat += [np.max(np.abs(A @ x))] if b.shape[0] else []
    flat += [np.max(np.maximum(G @ x, 0.0))] if h.shape[0] else []
    return both(fall > 0, np.max(np.stack(flat)) <= 1e-9 * fall)


def find_active(z: Value, slack: Value) -> Value:
    """Which inequalities hold as equations: those that press, and those that have no room left.

    Of what is NaN all do, so that derivatives of what has no solution are NaN in both modes.
    """
    tiny = np.finfo(z.dtype).eps ** 0.75 * (1.0 + np.max(np.abs(z))) if z.shape[0] else 0.0
    return np.logical_not(z <= slack - tiny)


def conditions_matrix(data: Program, active: Value) -> Value:
    """The derivative of the optimality conditions in (y, z, x), for a set of active inequalities."""
    P, q, A, b, G, h = data
    m, p = b.shape[0], h.shape[0]
    zero = lambda i, j: np.zeros((i, j), q.dtype)
    holds = active.astype(q.dtype)
    blocks = [
        [zero(m, m), zero(m, p), A],
        [zero(p, m), np.diag(1.0 - holds), holds[:, None] * G],
        [A.T, G.T, P],
    ]
    rows = [np.concatenate([part for part in row if part.shape[1]], 1) for row in blocks if row[0].shape[0]]
    return np.concatenate(rows, 0)


def _solve_active(data: Program, active: Value) -> tuple[Value, Value, Value]:
    """(x, y, z) where these inequalities hold as equations, and the others have no price."""
    m, p = data.b.shape[0], data.h.shape[0]
    right = np.concatenate([data.b, np.where(active, data.h, 0.0), -data.q])
    found = linalg.lu_solve(factor_or_nan(conditions_matrix(data, active)), right)
    return found[m + p :], found[:m], found[m : m + p]


def _follow_active(data: Program, tol: float, x: Value, y: Value, z: Value) -> Solved:
    """The primal-dual active set method from a guess: what presses stays active, what is violated becomes active.

    It ends after a few sets, with the solution or without.
    """

    def step(now: Solved) -> Solved:
        x, y, z = _solve_active(data, now.z > data.h - data.G @ now.x)
        residual = measure(data, x, y, z)
        code = either(residual <= tol, CONVERGED, either(np.isfinite(residual), RUNNING, NOT_FINITE))
        return Solved(x, y, z, as_code(code), now.iterations + 1, residual)

    first = Solved(x, y, z, as_code(RUNNING), np.int64(0), measure(data, x, y, z))
    return loop(lambda now: both(now.code == RUNNING, now.iterations < CHANGES), step, first)


def polish(data: Program, found: Solved) -> Solved:
    """The solution of the equations of the active set, where that is better than what the iteration gave."""
    q = data.q
    x, y, z = _solve_active(data, found.z > data.h - data.G @ found.x)
    residual = measure(data, x, y, z)
    # multipliers that are zero but for rounding are zero
    good = both(found.code == CONVERGED, residual <= np.maximum(found.residual, 100 * np.finfo(q.dtype).eps))
    pick = lambda new, old: either(good, new, old)
    return found._replace(
        x=pick(x, found.x), y=pick(y, found.y), z=pick(z, found.z), residual=pick(residual, found.residual)
    )
