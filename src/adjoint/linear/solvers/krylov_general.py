"""Krylov methods for operators of any kind: GMRES with restarts, and BiCGSTAB, preconditioned from the right.

With M on the right, A M y = b and x = M y, the residual that is made small is that of the equation itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.control_flow import fori_loop
from adjoint.debug import callback as call_back
from adjoint.linear.solvers.iteration import (
    TRACED,
    Flat,
    Limits,
    Outcome,
    both,
    either,
    empty_history,
    finish,
    inner,
    iterate,
    loop,
    make_filled,
    no,
    norm,
    target_for,
    with_entry,
)
from adjoint.linear.solvers.solution import BREAKDOWN, RUNNING, SINGULAR, STAGNATED
from adjoint.program.types import Value

__all__ = ["generalized_minimal_residuals", "stabilized_biconjugate_gradients"]


def generalized_minimal_residuals(A: Flat, M: Flat | None, b: Value, x: Value, limits: Limits) -> Outcome:
    """Saad and Schultz: x minimizes ‖b - A x‖ over a Krylov space, whose orthonormal basis V is kept.

    After `limits.restart` vectors it begins anew from where it is. A M V = V' H with H one row taller. The ω with
    ω H = 0 tells the residual of each step without solving for it: ‖r‖ = ‖r₀‖ / ‖ω‖, ω₀ = 1, ωⱼ₊₁ = -⟨ω, hⱼ⟩ / hⱼ₊₁.
    """
    size = norm(b)
    x = either(size > 0, x, 0 * x)
    r = b - A(x)
    m = max(1, min(limits.restart, b.size, limits.iterations))
    target = target_for(size, limits)

    def cycle(state: Any) -> Any:
        x, r, start, done, history = state
        basis = with_entry(make_filled((m + 1, b.size), b.dtype, 0, start), 0, r / either(start > 0, start, 1))
        columns = make_filled((m, m + 1), b.dtype, 0, start)  # row j is column j of H
        omega = with_entry(make_filled((m + 1,), b.dtype, 0, start), 0, 1)
        most = np.minimum(limits.iterations - done, m)

        def goes_on(now: Any) -> Any:
            _, _, _, j, residual, ends, _ = now
            return both(both(residual > target, no(ends)), j < most)

        def advance(now: Any) -> Any:
            basis, columns, omega, j, _, _, history = now
            v = basis[j]
            basis, columns, omega, ends, lost = _arnoldi(A(v if M is None else M(v)), basis, columns, omega, j)
            residual = start / norm(omega)
            residual = either(both(ends, no(lost)), 0 * residual, residual)
            if history is not None:
                history = with_entry(history, done + j + 1, residual)
            if limits.monitor is not None:
                call_back(limits.monitor, done + j + 1, residual)
            return basis, columns, omega, j + 1, residual, ends, history

        begun = (basis, columns, omega, 0, start, start < 0, history)
        basis, columns, omega, j, _, ends, history = loop(goes_on, advance, begun)
        change = np.matmul(_small_least_squares(columns, start, j), basis[:m])
        x = x + (change if M is None else M(change))
        r = b - A(x)
        found = norm(r)
        stays = found > (1 - 1e-9) * start
        trouble = either(stays, either(ends, SINGULAR, STAGNATED), RUNNING)
        return (x, r, found, done + j, history), found, trouble, j

    start = norm(r)
    history = with_entry(empty_history(limits, start), 0, start) if limits.history else None
    state, code, done, target, _ = iterate(cycle, (x, r, start, 0, history), start, size, limits.quiet())
    return finish(A, b, state[0], code, done, target, state[-1], symmetric=False)


def _arnoldi(w: Value, basis: Value, columns: Value, omega: Value, j: Any) -> tuple[Value, Value, Value, Any, Any]:
    """w made orthogonal to the basis, twice, and put into it as number j + 1; whether nothing was left of it, and
    whether the residual was lost out of sight as well (the operator is singular on this space).
    """
    eps = float(np.finfo(basis.dtype).eps)
    traced = isinstance(basis, TRACED) or isinstance(j, TRACED)
    known = basis if traced else basis[: j + 1]  # rows that are not there yet are zeros
    before = norm(w)
    h = np.matmul(np.conjugate(known), w)
    w = w - np.matmul(h, known)
    again = np.matmul(np.conjugate(known), w)
    w, h = w - np.matmul(again, known), h + again
    length = norm(w)
    ends = length <= 16 * eps * before
    divisor = either(ends, 1, length)
    part = inner(np.conjugate(h), omega if traced else omega[: j + 1])
    lost = np.abs(part) <= 16 * eps * norm(h) * norm(omega)
    omega = with_entry(omega, j + 1, either(ends, 0 * part, -part / divisor))
    basis = with_entry(basis, j + 1, w * either(ends, 0 * length, 1 / divisor))
    column = h if traced else np.concatenate([h, np.zeros(len(omega) - 1 - j, h.dtype)])
    columns = with_entry(columns, j, with_entry(column, j + 1, either(ends, 0 * length, length)))
    return basis, columns, omega, ends, lost


def _small_least_squares(rows: Value, size: Value, count: Any) -> Value:
    """y with least ‖size e₀ - H y‖, where the first `count` columns of H are given as rows."""
    m = rows.shape[0]
    if not isinstance(rows, TRACED) and not isinstance(count, TRACED):
        right = np.zeros(count + 1, rows.dtype)
        right[0] = size
        y = np.zeros(m, rows.dtype)
        H = rows[:count, : count + 1].T
        if not np.all(np.isfinite(H)):
            return y + np.nan
        if count:
            y[:count] = np.linalg.lstsq(H, right, rcond=None)[0]
        return y
    H = np.transpose(rows)
    present = np.arange(m) < count
    right = with_entry(make_filled((m + 1,), rows.dtype, 0, size), 0, size)

    def rotate(j: Any, now: Any) -> Any:
        H, right = now
        a, below = H[j, j], H[j + 1, j]
        length = np.hypot(np.abs(a), np.abs(below))
        divisor = np.where(length > 0, length, 1)
        c = np.where(length > 0, np.conjugate(a) / divisor, 1)
        s = np.where(length > 0, np.conjugate(below) / divisor, 0)
        upper, lower = c * H[j] + s * H[j + 1], np.conjugate(c) * H[j + 1] - np.conjugate(s) * H[j]
        H = with_entry(with_entry(H, j, upper), j + 1, lower)
        top, rest = c * right[j] + s * right[j + 1], np.conjugate(c) * right[j + 1] - np.conjugate(s) * right[j]
        return H, with_entry(with_entry(right, j, top), j + 1, rest)

    H, right = fori_loop(0, m, rotate, (H, right))
    diagonal = np.abs(np.diagonal(H[:m]))
    least = np.finfo(rows.dtype).eps * np.max(diagonal)

    def substitute(i: Any, y: Any) -> Any:
        j = m - 1 - i
        pivot = H[j, j]
        usable = np.logical_and(np.abs(pivot) > least, j < count)
        value = (right[j] - np.matmul(H[j], y)) / np.where(usable, pivot, 1)
        return with_entry(y, j, np.where(usable, value, 0))

    return fori_loop(0, m, substitute, make_filled((m,), rows.dtype, 0, size)) * present


def stabilized_biconjugate_gradients(A: Flat, M: Flat | None, b: Value, x: Value, limits: Limits) -> Outcome:
    """Van der Vorst: two products with A an iteration, a few vectors of memory.

    α = ρ / ⟨r̂, v⟩,  s = r - α v,  ω = ⟨t, s⟩ / ⟨t, t⟩,  x += α p̂ + ω ŝ,  r = s - ω t      (v = A p̂, t = A ŝ)
    """
    size = norm(b)
    x = either(size > 0, x, 0 * x)
    r = b - A(x)
    shadow = r
    least = float(np.finfo(b.dtype).eps) ** 2

    def step(state: Any) -> Any:
        x, r, p, rho = state
        p_hat = p if M is None else M(p)
        v = A(p_hat)
        overlap = inner(shadow, v)
        lost = np.abs(overlap) <= least * norm(shadow) * norm(v)
        alpha = either(lost, 0 * overlap, rho / either(lost, 1, overlap))
        s = r - alpha * v
        s_hat = s if M is None else M(s)
        t = A(s_hat)
        square = np.real(inner(t, t))
        some = square > 0
        omega = either(some, inner(t, s) / either(some, square, 1), 0 * overlap)
        x = x + alpha * p_hat + omega * s_hat
        r = s - omega * t
        rho_next = inner(shadow, r)
        found = norm(r)
        stuck = np.abs(rho_next) <= least * norm(shadow) * found
        divides = both(no(lost), np.abs(omega) > 0)
        trouble = either(divides, either(stuck, BREAKDOWN, RUNNING), BREAKDOWN)
        weight = either(divides, rho_next / either(divides, rho * omega, 1) * alpha, 0 * rho)
        p = r + weight * (p - omega * v)
        return (x, r, p, rho_next), found, trouble, 1

    start = norm(r)
    state, code, done, target, history = iterate(step, (x, r, r, inner(shadow, r)), start, size, limits)
    return finish(A, b, state[0], code, done, target, history, symmetric=False)
