"""Gauss-Newton with the outer loss as it is: ℓ∘f with ℓ convex, perhaps with kinks, and f smooth.

    w⁺ = argmin_w ℓ(z + J (w - wᵗ)) + η/2 ‖w - wᵗ‖²,        z = f(wᵗ),  J = ∂f(wᵗ)

ℓ is given by its value and its proximal operator. The convex problem inside is solved by splitting v = z + J p (ADMM),
with one factorization of ηI + ρ JᵀJ; the dual variable u ∈ ∂ℓ(v) comes with it. At the end Newton's method on

    J(w)ᵀ u = 0,        f(w) = prox_ℓ(f(w) + u)

gives the digits that splitting leaves out. These are the conditions that the answer is differentiated by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.gradients import vjp
from adjoint.api.jacobians import jacfwd
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.optimize.captured import close_over
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.problem import Unknowns, read_unknowns
from adjoint.optimize.statuses import CONVERGED, MAX_ITERATIONS, NO_PROGRESS, NOT_FINITE
from adjoint.program.types import Value

__all__ = ["prox_linear"]

Prox = Callable[[Value, float], Value]
INNER = 500  # iterations of the splitting in one step
POLISH = 20


class Outer(NamedTuple):
    """A convex function by its value and prox(v, t) = argmin_u ℓ(u) + ‖u - v‖² / 2t."""

    value: Callable[[Value], Value]
    prox: Prox


def soften(v: Value, t: Any) -> Value:
    """The proximal operator of t ‖·‖₁."""
    return np.sign(v) * np.maximum(np.abs(v) - t, 0.0)


LOSSES = {
    "absolute": Outer(lambda z: np.sum(np.abs(z)), soften),
    "squared": Outer(lambda z: 0.5 * np.sum(z * z), lambda v, t: v / (1.0 + t)),
    "huber": Outer(
        lambda z: np.sum(np.where(np.abs(z) <= 1, 0.5 * z * z, np.abs(z) - 0.5)),
        lambda v, t: np.where(np.abs(v) <= 1 + t, v / (1.0 + t), v - t * np.sign(v)),
    ),
    "positive": Outer(
        lambda z: np.sum(np.maximum(z, 0.0)),
        lambda v, t: np.where(v > t, v - t, np.minimum(v, 0.0)),
    ),
}


def read_outer(title: str, loss: Any) -> Outer:
    """A loss by its name, or a pair (value, prox)."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            near = did_you_mean(loss, LOSSES) or f"They are: {', '.join(LOSSES)}."
            raise ValueError(f"{title}: {loss!r} is no loss. {near}")
        return LOSSES[loss]
    if not isinstance(loss, tuple) or len(loss) != 2 or not all(map(callable, loss)):
        raise TypeError(f"{title}: loss is a name ({', '.join(LOSSES)}), or a pair (value(z), prox(v, t)) of a convex "
                        "function.")  # fmt: skip
    return Outer(*loss)


def solve_inside(outer: Outer, J: Value, z: Value, damping: float, tol: float) -> tuple[Value, Value]:
    """(p, u): the minimizer of ℓ(z + J p) + η/2 ‖p‖², and u ∈ ∂ℓ there with Jᵀu = -η p."""
    m, n = J.shape
    rho = 1.0
    v, u = z.copy(), np.zeros(m)
    p = np.zeros(n)
    gram = J.T @ J
    factor = np.linalg.inv(damping * np.eye(n) + rho * gram)
    for count in range(INNER):
        p = factor @ (J.T @ (rho * (v - z) - u))
        Jp = z + J @ p
        before = v
        v = outer.prox(Jp + u / rho, 1.0 / rho)
        u = u + rho * (Jp - v)
        primal, dual = np.linalg.norm(Jp - v), rho * np.linalg.norm(J.T @ (v - before))
        if primal <= tol * max(1.0, np.linalg.norm(z)) and dual <= tol * max(1.0, np.linalg.norm(J.T @ u)):
            break
        if count % 25 == 24 and (primal > 10 * dual or dual > 10 * primal):  # balance the two residuals
            rho = rho * (2.0 if primal > dual else 0.5)
            factor = np.linalg.inv(damping * np.eye(n) + rho * gram)
    return p, u


@user_facing
def prox_linear(
    loss: Any,
    model: Callable[..., Any],
    x0: Any,
    *args: Any,
    damping: float = 1.0,
    tol: float = 1e-9,
    max_iterations: int = 200,
    check: str = "warn",
) -> Optimum:
    """x that makes loss(model(x, *args)) smallest, for a convex loss that may have kinks: prox-linear Gauss-Newton.

    Each step linearizes the model alone and keeps the loss as it is; `damping` η follows how well that did. `loss` is
    "absolute", "huber", "positive" (Σ max(z, 0)), "squared", or a pair (value(z), prox(v, t)). The answer has
    the derivatives of its conditions, and `multipliers` is the u ∈ ∂ℓ(f(x)) with J*u = 0.

    ```python
    t, y = np.arange(6.0), np.array([1.0, 0.6, 0.37, 5.0, 0.135, 0.082])          # one datum is spoiled
    residual = lambda p: p[0] * np.exp(-p[1] * t) - y
    found = ad.optimize.prox_linear("absolute", residual, np.array([0.5, 1.0]))
    found.status, bool(np.allclose(found.value, [1.0, 0.5], atol=0.02))  # → ('converged', True)
    ```
    """
    title = "prox_linear"
    outer = read_outer(title, loss)
    model = prepare_call(model)
    x0, unknowns = read_unknowns(title, x0)
    model, args = close_over(model, x0, args)

    def vector_model(v: Value, theta: Any) -> Value:
        z = model(unknowns.tree(v), *theta)
        if not hasattr(z, "dtype") or z.dtype.kind != "f":
            raise ShapeError(f"{title}: the model gives {type(z).__name__}; it gives one array of real numbers.")
        return np.reshape(z, (-1,))

    def conditions(both: Any, start: Any, *theta: Any) -> Any:
        z, pull = vjp(lambda v: vector_model(v, theta), both["v"])
        return {"v": pull(both["u"])[0], "u": z - outer.prox(z + both["u"], 1.0)}

    def solve(start: Any, *theta: Any) -> Any:
        with np.errstate(all="ignore"):
            return _run(outer, lambda v: vector_model(v, theta), lambda both: conditions(both, start, *theta),
                        unknowns, start, damping, tol, max_iterations)  # fmt: skip

    equation = equation_for(title, (), "auto", "equation", check)
    both, reports = ImplicitFunction(conditions, solve, None, equation, True, title, True)(x0, *args)
    x = unknowns.tree(both["v"])
    fun = outer.value(vector_model(both["v"], args))
    return Optimum(x, fun, None, reports["code"], reports["iterations"], reports["evaluations"], reports["residual"],
                   np.float64(tol), both["u"], method=title)  # fmt: skip


def _run(
    outer: Outer, f: Any, conditions: Any, unknowns: Unknowns, x0: Any, damping: float, tol: float, most: int
) -> tuple[Any, dict[str, Any]]:
    v = np.asarray(unknowns.flat(x0))
    derive: Any = jacfwd(f)
    z = np.asarray(f(v))
    value, eta = float(outer.value(z)), float(damping)
    calls, jacobians, count, code = 1, 0, 0, MAX_ITERATIONS
    u, J = np.zeros(len(z)), np.asarray(derive(v))
    while count < most:
        count += 1
        p, u = solve_inside(outer, J, z, eta, 1e-2 * tol)
        promised = value - float(outer.value(z + J @ p)) - 0.5 * eta * float(p @ p)
        size = float(np.linalg.norm(p))
        if not np.isfinite(size):
            code = NOT_FINITE
            break
        if eta * size <= tol * max(1.0, float(np.max(np.abs(J)))) or size <= 1e-12 * np.linalg.norm(v):
            code = CONVERGED
            break
        moved = np.asarray(f(v + p))
        calls += 1
        fallen = value - float(outer.value(moved))
        if np.isfinite(fallen) and fallen > 1e-4 * promised and fallen > 0:
            v, z, value = v + p, moved, value - fallen
            J = np.asarray(derive(v))
            jacobians += 1
            eta = eta / 3 if fallen > 0.75 * promised else eta
        elif promised <= 1e-14 * abs(value):
            code = NO_PROGRESS
            break
        else:
            eta = 4 * eta
    v, u, residual = _polish(conditions, outer, f, v, u)
    code = CONVERGED if code != NOT_FINITE and residual <= tol else code
    reports = {"code": np.int64(code), "iterations": np.int64(count), "residual": residual,
               "evaluations": {"value": np.int64(calls), "jacobian": np.int64(jacobians + 1)}}  # fmt: skip
    return {"v": v, "u": u}, reports


def _polish(conditions: Any, outer: Outer, f: Any, v: Any, u: Any) -> tuple[Any, Any, Any]:
    """Newton's method on the conditions, as long as they get better and the loss does not get worse."""
    n = len(v)

    def F(joined: Value) -> Value:
        parts = conditions({"v": joined[:n], "u": joined[n:]})
        return np.concatenate([parts["v"], parts["u"]])

    joined = np.concatenate([v, u])
    residual = float(np.max(np.abs(F(joined))))
    most = float(outer.value(f(v))) * (1 + 1e-9) + 1e-12
    for _ in range(POLISH):
        step = np.linalg.lstsq(np.asarray(jacfwd(F)(joined)), np.asarray(F(joined)), rcond=None)[0]
        moved = joined - step
        after = float(np.max(np.abs(F(moved))))
        if not after < residual or not float(outer.value(f(moved[:n]))) <= most:
            break
        joined, residual = moved, after
    return joined[:n], joined[n:], np.float64(residual)
