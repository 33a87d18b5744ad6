"""Functions of the eigenvalues or singular values of a matrix, with derivatives where these coincide.

    X = V diag(w) Vᵀ,    F(X) = V diag(f(w)) Vᵀ,    dF = V (L ∘ E + diag(∂f(w)[diag E])) Vᵀ,    E = Vᵀ dX V

with the divided differences L off the diagonal. They need no derivative of eigenvectors, which have none where
eigenvalues coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import jvp, stop_gradient
from adjoint.program.types import Value

__all__ = ["apply_to_eigenvalues", "apply_to_singular_values"]


def _poisoned(V: Value, w: Value) -> Value:
    """V, whose own derivative is NaN where eigenvalues coincide: a second derivative there is not known here."""
    gap = np.abs(w[:, None] - w[None, :]) + np.where(np.eye(len(w)) > 0, np.inf, 0.0)
    near = np.min(gap) <= 1e-10 * (1.0 + np.max(np.abs(w)))

    def rule(primals: Any, tangents: Any) -> Any:
        (v, unsure), (moved, _) = primals, tangents
        return v, np.where(unsure, np.nan, moved)

    guarded: Any = custom_rule(lambda v, unsure: v, jvp=rule, nondiff=("unsure",))
    return guarded(V, stop_gradient(near))


def apply_to_eigenvalues(function: Callable[..., Value], X: Value, *parameters: Value) -> Value:
    """V diag(f(w, …)) Vᵀ, for f that takes all eigenvalues to as many, and equal ones to equal ones.

    What f is differentiated in are its parameters: the rule does not see what f closes over.
    """

    def evaluate(X: Value, parameters: Any) -> Value:
        w, V = np.linalg.eigh(X)
        return (V * function(w, *parameters)) @ V.T

    def rule(primals: Any, tangents: Any) -> Any:
        (X, parameters), (H, changes) = primals, tangents
        w, V = np.linalg.eigh(X)
        V = _poisoned(V, w)
        E = V.T @ H @ V
        along = np.diagonal(E)
        f, moved = jvp(function, (w, *parameters), (along, *changes))
        step = 1e-7 * (1.0 + np.max(np.abs(stop_gradient(w))))
        gap = w[:, None] - w[None, :]
        near = np.abs(stop_gradient(gap)) <= step
        # f takes equal numbers to equal ones, so f'ᵢᵢ - f'ᵢⱼ is the same for both: of one against another
        derivative = _secants(lambda w: function(w, *parameters), w)
        L = np.where(near, derivative, (f[:, None] - f[None, :]) / np.where(near, 1.0, gap))
        L = np.where(np.eye(len(w)) > 0, 0.0, L)
        return (V * f) @ V.T, V @ (L * E + np.diag(moved)) @ V.T

    ruled: Any = custom_rule(evaluate, jvp=rule)
    finite = np.all(np.isfinite(stop_gradient(X)))
    return np.where(finite, ruled(np.where(finite, 0.5 * (X + X.T), 0.0), parameters), np.nan)


def _secants(function: Callable[[Value], Value], w: Value) -> Value:
    """∂fᵢ/∂wᵢ of each number alone, the others at rest, minus its effect on the others of its kind: from one push.

    For f that is a function of each number and of sums over all of them, (e.g. wᵢ - τ(w)), a push along a direction
    that sums to 0 on every group of equal numbers leaves the sums at rest.
    """
    n = len(w)
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0).astype(w.dtype)
    at = stop_gradient(w)
    same = (np.abs(at[:, None] - at[None, :]) <= 1e-7 * (1.0 + np.max(np.abs(at)))).astype(w.dtype)
    centered = sign - (same @ sign) / np.sum(same, axis=1)
    whole = np.abs(centered) > 1e-9
    pushed = jvp(function, (w,), (centered,))[1]
    derivative = np.where(whole, pushed / np.where(whole, centered, 1.0), 0.0)
    # a number whose direction vanished takes the derivative of another one of its group
    known = same * whole[None, :]
    count = np.sum(known, axis=1)
    mean = (known @ derivative) / np.where(count > 0, count, 1.0)
    return np.broadcast_to(mean[:, None], (n, n))


def apply_to_singular_values(function: Callable[..., Value], X: Value, *parameters: Value) -> Value:
    """U diag(f(s)) Vᵀ, by the eigenvalues ±s of [[0, X], [Xᵀ, 0]]; f takes numbers ≥ 0 to such numbers."""
    m, n = X.shape
    k = min(m, n)
    whole = np.concatenate([np.concatenate([np.zeros((m, m), X.dtype), X], 1),
                            np.concatenate([X.T, np.zeros((n, n), X.dtype)], 1)], 0)  # fmt: skip

    def odd(w: Value, *parameters: Value) -> Value:
        # each half by its own numbers: eigenvectors of equal ones do not come in pairs
        low, high = (function(half, *parameters) for half in (-w[:k], w[::-1][:k]))
        return np.concatenate([-low, np.zeros(m + n - 2 * k, w.dtype), high[::-1]])

    return apply_to_eigenvalues(odd, whole, *parameters)[:m, m:]
