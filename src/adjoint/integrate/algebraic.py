"""Algebraic equations of M y′ = f(t, y) with a singular M: a start that fulfills them, and whether they are of index 1.

With bases L of {v : vᵀ M = 0} and N of {v : M v = 0}, the algebraic equations are Lᵀ f(t, y) = 0, and N a are the
unknowns that they determine. The index is 1 where Lᵀ J N is regular. Then y′ is known, and so is the λ whose Mᵀ λ is
a given c with Nᵀ c = 0 and that fulfills the algebraic equations Nᵀ Jᵀ λ = 0 of the adjoint equation:

    (M + L Lᵀ J) y′ = f - L Lᵀ ∂f/∂t,   (Mᵀ + N Nᵀ Jᵀ) λ = c
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.control_flow import while_loop
from adjoint.api.gradients import jvp
from adjoint.api.jacobians import jacfwd
from adjoint.integrate.derivative import detach
from adjoint.integrate.forms import DENSE
from adjoint.integrate.newton import norm, solution_of
from adjoint.integrate.reading import known_value
from adjoint.integrate.statuses import INCONSISTENT, NOT_INDEX_1, RUNNING
from adjoint.program.types import Value

__all__ = ["check_start", "consistent", "find_algebraic", "follow", "lifted", "settle", "tangent_start", "velocity"]

STARTS = ("check", "fix algebraic")
SINGULAR = 1e-13
FAR = 10.0  # tolerances that the start may be away


def check_start(title: str, start: str) -> None:
    """Whether an argument says what is done at the start."""
    if start not in STARTS:
        raise ValueError(f"{title}: start is {start!r}; it is 'check' or 'fix algebraic'.")


def find_algebraic(title: str, start: str, mass: Any) -> tuple[Any, Any] | None:
    """(L, N) of a mass matrix as nested tuples; None if it is regular, or not known while a program is traced."""
    check_start(title, start)
    known = known_value(mass)
    if known is None:
        if start == "check":
            return None
        raise ValueError(f"{title}: start='fix algebraic' needs a mass matrix that is known while a program is traced. "
                         "Make it a constant, and divide f by numbers that change.")  # fmt: skip
    if known.ndim != 2:
        return None
    left, sizes, right = np.linalg.svd(known)
    null = sizes <= 1e-12 * max(float(sizes[0]), 1e-300)
    if not null.any():
        return None
    bases: tuple[Any, Any] = (left[:, null], right[null].T)
    return tuple(tuple(map(tuple, np.where(np.abs(b) < 1e-15, 0.0, b).tolist())) for b in bases)  # pyright: ignore


def settle(plan: Any, system: Any, settings: Any, y: Value) -> tuple[Value, Value | None]:
    """The start of a solution and the code with which it begins, None where there are no algebraic equations."""
    if plan.algebraic is None:
        return y, None
    weights = settings.atol + settings.rtol * np.abs(detach([y])[0][: system.size])
    if system.extra:
        weights = np.concatenate([weights, np.full(system.width - system.size, np.inf, weights.dtype)])
    own = system.with_theta(system.theta[: len(system.theta) - plan.event_theta])
    return _settled(own, settings.t0, y, weights, plan.start, plan.algebraic)


def _settled(f: Any, t: Value, y: Value, weights: Value, start: str, bases: tuple[Any, Any]) -> tuple[Value, Value]:
    """The start, moved along N until Lᵀ f = 0 if that is asked for; and the code with which the solution begins."""
    L, N = _wide(bases, y)
    plain, (time, point) = f.plain(), detach([t, y])
    defect = lambda a, at=point: L.T @ plain(time, at + N @ a)

    def newton(now: Any) -> Any:
        a, _, count = now
        J = jacfwd(defect)(a)
        d = -np.linalg.solve(J + _guard(J), defect(a))
        return a + d, norm(N @ d, weights), count + 1

    zero = np.zeros(L.shape[1], y.dtype) + 0 * point[0]
    J = jacfwd(defect)(zero)
    sizes = np.linalg.svd(J, compute_uv=False)
    is_singular = np.logical_not(sizes[-1] > SINGULAR * (np.max(np.abs(J)) + np.max(sizes)))
    most = 1 if start == "check" else 30
    goes_on = lambda now: np.logical_and(now[1] > 1e-6, now[2] < most)
    a, moved, _ = while_loop(goes_on, newton, (zero, np.float64(np.inf), np.int64(0)))
    is_far = np.logical_not(moved <= (FAR if start == "check" else 1e-3))
    code = np.where(is_singular, NOT_INDEX_1, np.where(is_far, INCONSISTENT, RUNNING)).astype(np.int64)
    if start == "check":
        return y, code

    def F(f: Any, t: Value, y: Value, a: Value) -> Value:
        return L.T @ f(t, y + N @ a)

    dense = f.changed(f.theta, form=DENSE)
    return y + N @ solution_of(dense, F, [t, y], a), code


def _wide(bases: tuple[Any, Any], y: Value) -> tuple[Any, Any]:
    """L and N over y and the integrals, which are no unknowns of algebraic equations."""
    extra = y.shape[0] - len(bases[0])
    L, N = (np.concatenate([np.array(b, y.dtype), np.zeros((extra, len(b[0])), y.dtype)]) for b in bases)
    return L, N


def velocity(f: Any, bases: tuple[Any, Any] | None, t: Value, y: Value) -> Value:
    """y′, also of what algebraic equations determine."""
    if f.mass is None:
        return f(t, y)
    M = f.mass.astype(y.dtype)
    if bases is None:
        return np.linalg.solve(M, f(t, y))
    L, _ = _wide(bases, y)
    rate, change = jvp(lambda t: f(t, y), (t,), (np.float64(1.0) + 0 * t,))
    return np.linalg.solve(M + L @ (L.T @ jacfwd(lambda y: f(t, y))(y)), rate - L @ (L.T @ change))


def follow(f: Any, bases: tuple[Any, Any] | None, t: Value, y: Value, x: Value) -> Value:
    """y at t + x, by a step of Runge and Kutta: where x is zero that is y, with derivatives in x to fourth order."""
    h, one = x.astype(y.dtype), y.dtype.type
    k1 = velocity(f, bases, t, y)
    k2 = velocity(f, bases, t + 0.5 * x, y + one(0.5) * h * k1)
    k3 = velocity(f, bases, t + 0.5 * x, y + one(0.5) * h * k2)
    k4 = velocity(f, bases, t + x, y + h * k3)
    return y + h / one(6) * (k1 + one(2) * (k2 + k3) + k4)


def lifted(f: Any, bases: tuple[Any, Any] | None, t: Value, y: Value, ct: Value) -> Value:
    """λ of a cotangent of y that is orthogonal to N."""
    if f.mass is None:
        return ct
    M = f.mass.astype(y.dtype)
    if bases is None:
        return np.linalg.solve(M.T, ct)
    _, N = _wide(bases, y)
    return np.linalg.solve(M.T + N @ (jacfwd(lambda y: f(t, y))(y) @ N).T, ct)


def consistent(f: Any, bases: tuple[Any, Any] | None, t: Value, y: Value) -> Value:
    """y, which fulfills the algebraic equations, with the derivative of what they determine."""
    if bases is None:
        return y
    L, N = _wide(bases, y)
    dense = f.changed(f.theta, form=DENSE)
    zero = np.zeros(L.shape[1], y.dtype) + 0 * detach([y])[0][0]
    return y + N @ solution_of(dense, lambda f, t, y, a: L.T @ f(t, y + N @ a), [t, y], zero)


def tangent_start(f: Any, bases: tuple[Any, Any] | None, t: Value, y: Value, S: Value, push: Any) -> Value:
    """S, moved along N until Lᵀ push(S) = 0: the start of a variational equation."""
    if bases is None:
        return S
    L, N = _wide(bases, y)
    J = L.T @ jacfwd(lambda y: f(t, y))(y) @ N
    return S - N @ np.linalg.solve(J, L.T @ push(S))


def _guard(J: Value) -> Value:
    """What makes a singular matrix regular: its solution is not used."""
    is_zero = np.max(np.abs(J)) == 0
    return np.where(is_zero, 1.0, 0.0).astype(J.dtype) * np.eye(J.shape[0], dtype=J.dtype)
