"""Quadratic programs by a primal-dual interior point method, as one loop of small dense matrices.

    minimize ½ xᵀP x + qᵀx   subject to   A x = b,   G x + s = h,   s ≥ 0

Mehrotra's predictor and corrector: each iteration factors

    K = | P + Gᵀ W G   Aᵀ |       W = diag(z / s)
        |     A         0 |

once (by Cholesky where there is no A), for two right sides. With `soft` weights δ the constraints give way where they
press, A x - δ y = b and G x + s - δ z = h, so that there always is a solution. Iterates that run away tell of a program
that has no solution: y and z become a certificate that no x is feasible (Aᵀy + Gᵀz = 0, bᵀy + hᵀz < 0), or x a
direction along which the value falls without end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adjoint.implicit.equation import factor_or_nan
from adjoint.linear.solvers.iteration import both, either, loop
from adjoint.ops.linalg.decompose import Cholesky
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
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy import linalg

__all__ = [
    "Program",
    "Soft",
    "Solved",
    "factor_positive",
    "find_length",
    "measure",
    "prove",
    "run_interior_point",
]

SHORT = 0.99  # of the way to the boundary


class Program(NamedTuple):
    """The data of a quadratic program."""

    P: Value  # n × n, symmetric
    q: Value
    A: Value  # m × n
    b: Value
    G: Value  # p × n
    h: Value


Soft = tuple[Value, Value]  # how much constraints give way: δ of the equations and of the inequalities


class _Products(NamedTuple):
    """The matrices times a point and its multipliers; Ax and Gx without what soft constraints give way."""

    curved: Value  # P x
    pushed: Value  # Aᵀy
    pressed: Value  # Gᵀz
    Ax: Value
    Gx: Value


class _State(NamedTuple):
    x: Value
    y: Value  # multipliers of A x = b
    z: Value  # of G x ≤ h
    s: Value  # h - G x
    code: Value
    count: Value
    at: _Products
    ridge: Value  # what is added to the diagonal of K, relative to it
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


def _multiply(data: Program, x: Value, y: Value, z: Value, soft: Soft | None) -> _Products:
    Ax, Gx = data.A @ x, data.G @ x
    Ax, Gx = (Ax, Gx) if soft is None else (Ax - soft[0] * y, Gx - soft[1] * z)
    return _Products(data.P @ x, data.A.T @ y, data.G.T @ z, Ax, Gx)


def measure(data: Program, x: Value, y: Value, z: Value, soft: Soft | None = None) -> Value:
    """How far x and its multipliers are from optimal, against the size of the terms of each condition."""
    return _measure(data, x, z, _multiply(data, x, y, z, soft))


def _measure(data: Program, x: Value, z: Value, at: _Products) -> Value:
    q, b, h = data.q, data.b, data.h
    curved, pushed, pressed = at.curved, at.pushed, at.pressed
    stationary = _largest(curved + q + pushed + pressed) / (1.0 + _largest(curved, q, pushed, pressed))
    parts = [stationary]
    if b.shape[0]:
        parts.append(_largest(at.Ax - b) / (1.0 + _largest(b)))
    if h.shape[0]:
        slack = h - at.Gx
        parts.append(np.max(np.maximum(-slack, 0.0)) / (1.0 + _largest(h)))
        parts.append(np.max(np.maximum(-z, 0.0)) / (1.0 + _largest(z)))
        gap = np.abs(np.sum(slack * z))
        parts.append(gap / (1.0 + np.abs(0.5 * np.sum(x * curved)) + np.abs(np.sum(q * x))))
    return np.max(np.stack(parts))


def factor_positive(H: Value) -> Callable[[Value], Value]:
    """x with H x = b as a function of b, for a positive definite matrix; NaN where it is not."""
    factor = bind(Cholesky(checked=False), H)
    return lambda b: linalg.cho_solve((factor, True), b)


def _factor(data: Program, w: Value, ridge: Value, soft: Soft | None) -> Callable[[Value], Value]:
    """K⁻¹ v as a function of v; a little is added to the diagonal so that dependent rows do no harm."""
    P, q, A, b, G, h = data
    n, m = q.shape[0], b.shape[0]
    eps = np.finfo(q.dtype).eps
    H = P + (G.T * w) @ G if h.shape[0] else P
    if not m and h.shape[0]:
        return factor_positive(H + np.diag(ridge * (1.0 + np.diagonal(H))))
    size = np.max(np.abs(H))
    H = H + eps * (1.0 + size) * np.eye(n, dtype=q.dtype)
    if m:
        # equations that depend on each other: their multipliers move as little as they can
        tiny = ridge**0.5 * np.sum(A * A, axis=1) / (size + eps) if soft is None else soft[0]
        corner = -np.diag(tiny + eps)
        H = np.concatenate([np.concatenate([H, A.T], 1), np.concatenate([A, corner], 1)], 0)
    factors = factor_or_nan(H)
    return lambda v: linalg.lu_solve(factors, v)


def _start(data: Program, soft: Soft | None) -> tuple[Value, Value, Value, Value]:
    """Mehrotra's start: the least squares of the slacks, moved to the inside."""
    q, b, G, h = data.q, data.b, data.G, data.h
    n, p = q.shape[0], h.shape[0]
    inverse = _factor(data, np.ones(p, q.dtype), 10.0 * n * np.finfo(q.dtype).eps, soft)
    found = inverse(np.concatenate([-q + G.T @ h, b]))
    x, y = found[:n], found[n:]
    if not p:  # this is the solution; what was added to the diagonal is refined away
        for _ in range(3):
            at = _multiply(data, x, y, h, soft)
            found = inverse(np.concatenate([-(q + at.curved + at.pushed), b - at.Ax]))
            x, y = x + found[:n], y + found[n:]
        return x, y, h, h
    s = h - G @ x

    def inside(v: Value) -> Value:
        lowest = np.min(v)
        return np.where(lowest > 1e-3, v, v + (1.0 + np.maximum(-lowest, 0.0)))

    return x, y, inside(-s), inside(s)


def _direction(
    data: Program, inverse: Callable[[Value], Value], now: _State, r: tuple[Value, Value, Value], r4: Value, w: Value,
    soft: Soft | None,
) -> tuple[Value, Value, Value, Value]:  # fmt: skip
    """(Δx, Δy, Δz, Δs): G Δx + Δs - δ Δz = -r₃, z Δs + s Δz = -r₄, and the two rows of K."""
    G, n = data.G, data.q.shape[0]
    r1, r2, r3 = r
    off = r3 - r4 / now.z
    found = inverse(np.concatenate([-r1 - G.T @ (w * off), -r2]))
    dx, dy = found[:n], found[n:]
    moved = G @ dx
    dz = w * (moved + off)
    ds = -r3 - moved
    return dx, dy, dz, ds if soft is None else ds + soft[1] * dz


def find_length(v: Value, dv: Value) -> Value:
    """The largest step that leaves v ≥ 0."""
    if not v.shape[0]:
        return np.full((), np.inf, v.dtype)
    return np.min(np.where(dv < 0, -v / np.where(dv < 0, dv, -1.0), np.inf))


def run_interior_point(
    data: Program, tol: float, iterations: int, begin: Value | None = None, soft: Soft | None = None
) -> Solved:
    """Solve a program; what it gives is polished afterwards. Nothing is done where `begin` is `iterations` already."""
    b, p = data.b, data.h.shape[0]
    if p:
        return _run(data, tol, iterations, np.int64(0) if begin is None else begin, soft)
    x, y, z, _ = _start(data, soft)
    at = _multiply(data, x, y, z, soft)
    residual = _measure(data, x, z, at)
    good = residual <= np.finfo(data.q.dtype).eps ** 0.5
    # without inequalities this is the solution, if there is one
    lost = either(
        _falls(data, x, at),
        UNBOUNDED,
        either(np.isfinite(residual), INFEASIBLE if b.shape[0] else UNBOUNDED, NOT_FINITE),
    )
    return Solved(x, y, z, as_code(either(good, CONVERGED, lost)), np.int64(1), residual)


def _run(data: Program, tol: float, iterations: int, begin: Value, soft: Soft | None) -> Solved:
    """The loop, for a program with inequalities; nothing is done where `begin` is the number of iterations."""
    q, b, h = data.q, data.b, data.h
    p = h.shape[0]
    x, y, z, s = _start(data, soft)

    def step(now: _State) -> _State:
        at = now.at
        r = (at.curved + q + at.pushed + at.pressed, at.Ax - b, at.Gx + now.s - h)
        w = now.z / now.s if soft is None else now.z / (now.s + soft[1] * now.z)
        inverse = _factor(data, w, now.ridge, soft)
        mu = np.sum(now.s * now.z) / p
        _, _, dz, ds = _direction(data, inverse, now, r, now.s * now.z, w, soft)
        length = np.minimum(1.0, np.minimum(find_length(now.s, ds), find_length(now.z, dz)))
        after = np.sum((now.s + length * ds) * (now.z + length * dz)) / p
        sigma = (after / mu) ** 3
        r4 = now.s * now.z + ds * dz - sigma * mu
        dx, dy, dz, ds = _direction(data, inverse, now, r, r4, w, soft)
        length = np.minimum(1.0, SHORT * np.minimum(find_length(now.s, ds), find_length(now.z, dz)))
        x, y = now.x + length * dx, now.y + length * dy
        z, s = now.z + length * dz, now.s + length * ds
        at = _multiply(data, x, y, z, soft)
        residual = _measure(data, x, z, at)
        better = residual < 0.9 * now.best
        gap = np.sum(s * z) / p  # far multipliers are reached while the residual still grows
        stalled = either(np.logical_or(better, both(gap < 0.9 * mu, gap > tol)), 0, now.stalled + 1)
        code = either(residual <= tol, CONVERGED, either(stalled > 12, NO_PROGRESS, RUNNING))
        if soft is None:
            contradicts = _miss_contradiction(data, y, z, at) <= 1e-9
            code = either(_falls(data, x, at), UNBOUNDED, either(contradicts, INFEASIBLE, code))
        finite = np.isfinite(residual)
        # rounding has made K indefinite: once more, with more on its diagonal
        code = either(finite, code, either(now.ridge < 1e-6, RUNNING, NOT_FINITE))
        keep = lambda new, old: either(finite, new, old)
        return _State(
            keep(x, now.x), keep(y, now.y), keep(z, now.z), keep(s, now.s), as_code(code), now.count + 1,
            _Products(*[keep(new, old) for new, old in zip(at, now.at, strict=True)]),
            either(finite, now.ridge, 100.0 * now.ridge), keep(residual, now.residual),
            either(better, residual, now.best), as_code(stalled),
        )  # fmt: skip

    at = _multiply(data, x, y, z, soft)
    residual = _measure(data, x, z, at)
    ridge = 4.0 * np.finfo(q.dtype).eps * np.ones_like(residual)
    first = _State(x, y, z, s, as_code(RUNNING), begin, at, ridge, residual, residual, as_code(0))
    last = loop(lambda now: both(now.code == RUNNING, now.count < iterations), step, first)
    code = as_code(either(last.code == RUNNING, MAX_ITERATIONS, last.code))
    found = Solved(last.x, last.y, last.z, code, last.count, last.residual)
    return _judge_equations(data, found) if b.shape[0] and soft is None else found


def _judge_equations(data: Program, found: Solved) -> Solved:
    """Whether equations that contradict each other are why nothing moves.

    They give way a little, so that their multipliers end before these prove it; without what Aᵀ sees of them they do.
    """
    A, n, eps = data.A, data.q.shape[0], np.finfo(data.q.dtype).eps
    stuck = found.code == NO_PROGRESS

    def sharpen(now: tuple[Value, Value]) -> tuple[Value, Value]:
        y, count = now
        normal = A.T @ A
        inverse = factor_positive(normal + 10.0 * n * eps * (1e-30 + np.max(np.abs(normal))) * np.eye(n, dtype=A.dtype))
        return y - A @ inverse(A.T @ y), count + 1

    y, _ = loop(lambda now: both(stuck, now[1] < 3), sharpen, (found.y, as_code(0) + 0 * found.code))
    off = _miss_contradiction(data, y, found.z, _multiply(data, found.x, y, found.z, None))
    proven = both(stuck, off * (1.0 + _largest(found.x)) <= max(1e-6, float(eps) ** 0.5))
    return found._replace(y=either(proven, y, found.y), code=as_code(either(proven, INFEASIBLE, found.code)))


def prove(data: Program, found: Solved) -> tuple[Value, Value, Value]:
    """Why there is no solution: (d, y, z) with qᵀd = -1 and bᵀy + hᵀz = -1; NaN where that is not the reason."""
    fall, proof = -np.sum(data.q * found.x), -(np.sum(data.b * found.y) + np.sum(data.h * found.z))
    falls, contradicts = found.code == UNBOUNDED, found.code == INFEASIBLE
    pick = lambda holds, v, size: np.where(holds, v / np.where(holds, size, 1.0), np.nan).astype(v.dtype)
    y, z = pick(contradicts, found.y, proof), pick(contradicts, np.maximum(found.z, 0.0), proof)
    return pick(falls, found.x, fall), y, z


def _miss_contradiction(data: Program, y: Value, z: Value, at: _Products) -> Value:
    """What y and z lack to prove that no x is feasible, Aᵀy + Gᵀz = 0 with z ≥ 0 and bᵀy + hᵀz = -1.

    A feasible x has a ‖x‖₁ of at least the inverse of it.
    """
    proof = -(np.sum(data.b * y) + np.sum(data.h * z))
    return np.where(proof > 0, _largest(at.pushed + at.pressed) / np.where(proof > 0, proof, 1.0), np.inf)


def _falls(data: Program, x: Value, at: _Products) -> Value:
    """Whether x is a direction without end: P x = 0, A x = 0, G x ≤ 0 and qᵀx < 0."""
    fall = -np.sum(data.q * x)
    flat = [np.max(np.abs(at.curved))]
    flat += [np.max(np.abs(at.Ax))] if data.b.shape[0] else []
    flat += [np.max(np.maximum(at.Gx, 0.0))] if data.h.shape[0] else []
    return both(fall > 0, np.max(np.stack(flat)) <= 1e-9 * fall)
