"""The active set of a program: the inequalities that hold as equations, and the solution that these determine.

    P x + Cᵀλ = -q,   C x = c        C: the rows of A, and of G where they are active

is solved by refinement: with heavy weights w the matrix P + CᵀWC is positive definite wherever the solution is unique,
and each step divides the error by about 1/√ε. Rows that depend on each other do no harm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.linear.solvers.iteration import TRACED, both, either, loop
from adjoint.optimize.iteration import as_code
from adjoint.optimize.programs.interior_point import (
    Program,
    Soft,
    Solved,
    factor_positive,
    measure,
    run_interior_point,
)
from adjoint.optimize.statuses import CONVERGED, MAX_ITERATIONS, NO_PROGRESS, NOT_FINITE, RUNNING
from adjoint.program.types import Value

__all__ = ["find_active", "find_weak", "net_prices", "polish", "run_warm", "weigh_rows"]

CHANGES = 6  # of the active set that a warm start tries
STEPS = 3  # of refinement


def find_active(z: Value, slack: Value, paired: int = 0) -> Value:
    """Which inequalities hold as equations: those that press, and those that have no room left.

    Of what is NaN all do, so that derivatives of what has no solution are NaN in both modes. The last 2 `paired` rows
    are lower and upper bounds of as many unknowns: where both hold, the unknown is fixed, and they are one equation.
    """
    tiny = np.finfo(z.dtype).eps ** 0.75 * (1.0 + np.max(np.abs(z))) if z.shape[0] else 0.0
    active = np.logical_not(z <= slack - tiny)
    if not paired:
        return active
    first = z.shape[0] - 2 * paired
    low, high = active[first : first + paired], active[first + paired :]
    above = z[first + paired :] > z[first : first + paired]  # the upper bound is the one that presses
    fixed = np.logical_and(low, high)
    low, high = np.logical_and(low, ~np.logical_and(fixed, above)), np.logical_and(high, ~np.logical_and(fixed, ~above))
    return np.concatenate([active[:first], low, high])


def net_prices(z: Value, paired: int, active: Value | None = None) -> Value:
    """Prices of which no unknown has two: what lower and upper bound have in common they do to each other.

    Where both are active the unknown is fixed, and what is below zero for one is moved to the other.
    """
    if not paired:
        return z
    first = z.shape[0] - 2 * paired
    common = np.minimum(z[first : first + paired], z[first + paired :])
    fixed = False if active is None else np.logical_and(active[first : first + paired], active[first + paired :])
    common = np.where(fixed, common, np.maximum(common, 0.0))
    return z - np.concatenate([np.zeros(first, z.dtype), common, common])


def find_weak(z: Value, slack: Value, paired: int, eps: float, size: Value) -> Value:
    """Which inequalities hold without pressing, against the size of what they compare; bounds that fix do not."""
    none = np.abs(slack) <= eps * size
    weak = np.logical_and(np.abs(z) <= eps * (1.0 + np.max(np.abs(z))), none)
    if not paired:
        return weak
    first = z.shape[0] - 2 * paired
    free = ~np.logical_and(none[first : first + paired], none[first + paired :])
    return np.logical_and(weak, np.concatenate([np.ones(first, bool), free, free]))


def weigh_rows(P: Value, C: Value, holds: Value) -> Value:
    """Weights w for which CᵀWC is as large as P; zero of rows that do not hold, and of empty ones."""
    squares = np.sum(C * C, axis=1)
    some = np.logical_and(holds > 0, squares > 0)
    size = np.max(np.abs(P))
    return np.where(some, np.where(size > 0, size, 1.0) / np.where(some, squares, 1.0), 0.0).astype(P.dtype)


def _solve_active(
    data: Program, active: Value, x: Value, y: Value, z: Value, soft: Soft | None = None
) -> tuple[Value, Value, Value]:
    """(x, y, z) where these inequalities hold as equations, and the others have no price; from a guess."""
    P, q, A, b, G, h = data
    m, dtype = b.shape[0], q.dtype
    C, c = np.concatenate([A, G], 0), np.concatenate([b, h])
    holds = np.concatenate([np.ones(m, dtype), active.astype(dtype)])
    w = weigh_rows(P, C, holds) * np.finfo(dtype).eps ** -0.5
    give = np.zeros_like(w) if soft is None else np.concatenate(soft)
    w = w / (1.0 + give * w)
    K = P + (C.T * w) @ C
    inverse = factor_positive(K + np.diag(np.finfo(dtype).eps * (1.0 + np.diagonal(K))))

    def refine(carry: Any) -> Any:
        x, prices, count = carry
        r1, r2 = -(q + P @ x + C.T @ prices), holds * (c - C @ x + give * prices)
        dx = inverse(r1 + C.T @ (w * r2))
        return x + dx, prices + w * (C @ dx - r2), count + 1

    start = (x, holds * np.concatenate([y, z]), np.int64(0))
    x, prices, _ = loop(lambda carry: carry[2] < STEPS, refine, start)
    return x, prices[:m], prices[m:]


def run_warm(data: Program, tol: float, iterations: int, x: Value, y: Value, z: Value) -> Solved:
    """Solve a program from the solution of one that may be much like it: by its active set, else from the start."""
    if not data.h.shape[0]:
        return run_interior_point(data, tol, iterations)
    guess = _follow_active(data, tol, x, y, z)
    if not isinstance(guess.code, TRACED) and guess.code == CONVERGED:
        return guess
    start = either(guess.code == CONVERGED, np.int64(iterations), np.int64(0))
    found = run_interior_point(data, tol, iterations, start)
    return Solved(*[either(guess.code == CONVERGED, a, b) for a, b in zip(guess, found, strict=True)])


def _follow_active(data: Program, tol: float, x: Value, y: Value, z: Value) -> Solved:
    """The primal-dual active set method from a guess: what presses stays active, what is violated becomes active.

    It ends after a few sets, with the solution or without.
    """

    def step(now: Solved) -> Solved:
        x, y, z = _solve_active(data, now.z > data.h - data.G @ now.x, now.x, now.y, now.z)
        residual = measure(data, x, y, z)
        code = either(residual <= tol, CONVERGED, either(np.isfinite(residual), RUNNING, NOT_FINITE))
        return Solved(x, y, z, as_code(code), now.iterations + 1, residual)

    first = Solved(x, y, z, as_code(RUNNING), np.int64(0), measure(data, x, y, z))
    return loop(lambda now: both(now.code == RUNNING, now.iterations < CHANGES), step, first)


def polish(data: Program, found: Solved, soft: Soft | None = None, tol: float = 0.0, paired: int = 0) -> Solved:
    """The solution of the equations of the active set, where that is better than what the iteration gave.

    It may be one to `tol` where the iteration did not get there.
    """
    q = data.q
    slack = data.h - data.G @ found.x + (0.0 if soft is None else soft[1] * found.z)
    active = found.z > slack
    x, y, z = _solve_active(data, active, found.x, found.y, found.z, soft)
    z = net_prices(z, paired, active)
    residual = measure(data, x, y, z, soft)
    # multipliers that are zero but for rounding are zero
    stuck = np.logical_or(found.code == NO_PROGRESS, found.code == MAX_ITERATIONS)
    good = both(found.code == CONVERGED, residual <= np.maximum(found.residual, 100 * np.finfo(q.dtype).eps))
    good = np.logical_or(good, both(stuck, residual <= tol))
    pick = lambda new, old: either(good, new, old)
    return Solved(
        pick(x, found.x), pick(y, found.y), pick(z, found.z), as_code(pick(CONVERGED, found.code)), found.iterations,
        pick(residual, found.residual),
    )  # fmt: skip
