"""Krylov methods for symmetric operators, by recurrences of a few vectors: conjugate gradients and minimal residuals.

Vectors are flat; A and M (the preconditioner, close to A⁻¹) act on them. Every division is guarded, so that a failure
leaves the last good x and says what was wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.linear.solvers.iteration import (
    Flat,
    Limits,
    Outcome,
    both,
    either,
    finish,
    iterate,
    norm,
    real_inner,
    target_for,
)
from adjoint.linear.solvers.solution import INDEFINITE, NOT_FINITE, NOT_POSITIVE, RUNNING, SINGULAR
from adjoint.program.types import Value

__all__ = ["conjugate_gradients", "minimal_residuals"]


def conjugate_gradients(A: Flat, M: Flat | None, b: Value, x: Value, limits: Limits) -> Outcome:
    """Hestenes and Stiefel: x minimizes ½⟨x, A x⟩ - ⟨b, x⟩ over growing Krylov spaces; A positive definite.

    α = ⟨r, z⟩ / ⟨p, A p⟩,   x += α p,   r -= α A p,   z = M r,   β = ⟨r, z⟩ / ⟨r, z⟩ before,   p = z + β p
    """
    size = norm(b)
    x = either(size > 0, x, 0 * x)
    r = b - A(x)
    eps = 4 * float(np.finfo(b.dtype).eps)

    def step(state: Any) -> Any:
        x, r, p, gamma, largest, residual = state
        Ap = A(p)
        curvature, square = real_inner(p, Ap), real_inner(p, p)
        largest = np.maximum(largest, curvature / either(square > 0, square, 1))  # of ⟨p, A p⟩ / ⟨p, p⟩ so far
        fine = curvature > eps * largest * square  # else A has, to rounding, a direction that it does not see
        alpha = either(fine, gamma / either(fine, curvature, 1), 0)
        x = x + alpha * p
        r = r - alpha * Ap
        z = r if M is None else M(r)
        squared = real_inner(r, r)
        before, gamma = gamma, squared if M is None else real_inner(r, z)
        residual = either(fine, np.sqrt(squared), residual)
        trouble = either(
            fine,
            either(gamma <= 0, INDEFINITE, RUNNING),  # r = 0 has converged before this is asked
            either(np.isfinite(curvature), NOT_POSITIVE, NOT_FINITE),
        )
        p = z + (gamma / either(before > 0, before, 1)) * p
        return (x, r, p, gamma, largest, residual), residual, trouble, 1

    start = norm(r)
    z = r if M is None else M(r)
    gamma = real_inner(r, z)
    trouble = either(gamma <= 0, INDEFINITE, RUNNING)
    state: Any = (x, r, z, gamma, 0 * start, start)
    state, code, done, target, history = iterate(step, state, start, size, limits, trouble)
    return finish(A, b, state[0], code, done, target, history, symmetric=True)


def minimal_residuals(A: Flat, M: Flat | None, b: Value, x: Value, limits: Limits) -> Outcome:
    """Paige and Saunders: x minimizes ‖b - A x‖ over growing Krylov spaces; A symmetric, M positive definite.

    Lanczos gives A q = β' v' + α v + β v⁻ (v unscaled by M, q = M v); rotations (c, s) keep the tridiagonal matrix
    triangular, with the diagonal γ and the rows δ, ε above it; the residual itself follows r ← s² r - φ̄ c v'. By
    rounding it leaves b - A x behind; where it has arrived and b - A x has not, all begins anew from there.
    """
    size = norm(b)
    x = either(size > 0, x, 0 * x)
    r = b - A(x)
    eps = float(np.finfo(b.dtype).eps)
    target = target_for(size, limits)

    def begin(x: Value, r: Value, before: Value) -> Any:
        z = r if M is None else M(r)
        beta = np.sqrt(np.maximum(real_inner(r, z), 0))
        nothing = 0 * beta
        start: Any = (x, r, 0 * r, r, z, 0 * r, 0 * r, nothing + 1, beta, nothing - 1, nothing, nothing, nothing, beta)
        return *start, nothing, norm(r), before

    def renew(state: Any) -> Any:
        x, before = state[0], state[-1]
        r = b - A(x)
        found = norm(r)
        worth = both(found > target, found < before / 2)
        return cond(worth, lambda: (begin(x, r, found), found), lambda: (state, state[-2]))

    def step(state: Any) -> Any:
        x, r, v0, v1, z, d0, d1, beta0, beta, c, s, delta_bar, epsilon, phi_bar, size_A, residual, last = state
        scale = 1 / either(beta > 0, beta, 1)
        q = scale * z
        w = A(q) - (beta / beta0) * v0
        alpha = real_inner(q, w)
        w = w - (alpha * scale) * v1
        z = w if M is None else M(w)
        square = real_inner(w, z)
        following = np.sqrt(np.maximum(square, 0))
        size_A = size_A + alpha * alpha + beta * beta + following * following
        ends = following <= eps * np.sqrt(size_A)  # the Krylov space holds no more
        following = either(ends, 0 * following, following)
        before = epsilon
        delta = c * delta_bar + s * alpha
        gamma_bar = s * delta_bar - c * alpha
        epsilon, delta_bar = s * following, -c * following
        normal_residual = phi_bar * np.hypot(gamma_bar, delta_bar)  # ‖A r‖ before this step
        gamma = np.hypot(gamma_bar, following)
        flat = gamma <= eps * np.sqrt(size_A)
        divisor = either(flat, 1, gamma)
        c, s = either(flat, 0 * c, gamma_bar / divisor), either(flat, 0 * s + 1, following / divisor)
        phi, phi_bar = c * phi_bar, s * phi_bar
        d = (q - before * d0 - delta * d1) / divisor
        x = x + phi * d
        r = (s * s) * r - (phi_bar * c / either(ends, 1, following)) * w
        indefinite = square < -eps * real_inner(w, w)
        found = either(indefinite, residual, norm(r))
        exhausted = either(normal_residual <= eps**0.75 * np.sqrt(size_A) * residual, SINGULAR, RUNNING)
        trouble = either(indefinite, INDEFINITE, either(ends, SINGULAR, exhausted))
        beta0 = either(beta > 0, beta, 1 + 0 * beta)
        state = (x, r, v1, w, z, d1, d, beta0, following, c, s, delta_bar, epsilon, phi_bar, size_A, found, last)
        state, now = cond(found <= target, lambda: renew(state), lambda: (state, found))
        return state, now, either(now > found, RUNNING, trouble), 1

    start = norm(r)
    state = begin(x, r, start)
    trouble = either(state[8] <= 0, INDEFINITE, RUNNING)
    state, code, done, target, history = iterate(step, state, start, size, limits, trouble)
    return finish(A, b, state[0], code, done, target, history, symmetric=True)
