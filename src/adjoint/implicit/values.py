"""`value`: optimal values. Their first derivative needs no derivative of the optimizer (the envelope theorem).

    h(θ) = min_x f(x, θ)        ∇h = ∇₂f(x*, θ)        ∇²h = ∇₂₂f - ∇₂₁f (∇₁₁f)⁻¹ ∇₁₂f

Under constraints f is the Lagrangian, with the multipliers held as x is. The rule states ∇h with x* as the function of
θ that it is, so that higher derivatives take the implicit one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import jvp
from adjoint.base.source import user_facing
from adjoint.implicit.active_sets import identify
from adjoint.implicit.constraints import Projected, Proximal, lagrangian
from adjoint.implicit.diagnosis import Watch, condition
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.kkt import ConstrainedMinimizer, linearize_constraints
from adjoint.implicit.minima import argmin
from adjoint.linear.operators.derivative_maps import hessian
from adjoint.program.trace import Tracer

__all__ = ["OptimalValue", "value"]


@final
@dataclass(frozen=True, eq=False)
class OptimalValue:
    """h(θ) = min or max of f(x, θ) over x; `optimizer(*θ)` is where it is taken.

    ```python
    h = ad.implicit.value(lambda x, a: (x - a) ** 2 + a, lambda a: a)
    h(3.0), h.optimizer(3.0)  # → (3.0, 3.0)
    ```
    """

    objective: Callable[..., Any]
    optimizer: ImplicitFunction | Any
    watch: Watch
    sign: float = 1.0  # -1 of a maximum
    step: Any = None  # `Projected` or `Proximal`, whose set or term may depend on θ

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = _remember_solutions(self.optimizer)
        if kwargs:
            raise TypeError("implicit.value: θ are given in order, not by name.")
        if self.step is not None:  # ∇f does not vanish, and what x costs there is told by the motion of x alone
            return self.objective(found(*args), *args)

        def rule(primals: Any, tangents: Any) -> Any:
            x, fixed = self._solve(found, primals)
            if self.watch.check != "ignore" and not self._is_unique(x, primals):
                self.watch.say("the optimizer is not unique, so that the derivative is one of several (a subgradient).")
            return self.objective(x, *primals), _push_theta(fixed, primals, tangents)

        h: Any = custom_rule(lambda *theta: self.objective(found(*theta), *theta), jvp=rule)
        return h(*args)

    def _solve(self, found: Any, theta: Sequence[Any]) -> tuple[Any, Callable[..., Any]]:
        """x, and the function of θ that has the derivative of h: f(x, θ), or the Lagrangian with its multipliers."""
        if not isinstance(found, ConstrainedMinimizer):
            x = found(*theta)
            return x, lambda *theta: self.objective(x, *theta)
        z, _ = found.solution(*theta)
        f, rules = found.objective, found.constraints
        return z["x"], lambda *theta: self.sign * lagrangian(f, rules, z["x"], z, theta, {})

    def is_unique(self, *args: Any) -> bool:
        """Whether the Hessian of f in x is regular at the optimizer: no direction leaves f as it is.

        Under constraints that of the Lagrangian counts, along directions that the constraints which hold leave free.

        ```python
        h = ad.implicit.value(lambda w, a: a * w, lambda a: np.sign(a), sense="max")
        h.is_unique(0.0)  # → False
        ```
        """
        return self._is_unique(self.optimizer(*args), args)

    def _is_unique(self, x: Any, theta: Sequence[Any]) -> bool:
        if any(isinstance(leaf, Tracer) for leaf in tree.leaves((x, theta))):
            return True  # not known in a program
        whole, found = lambda x: self.objective(x, *theta), self.optimizer
        free = None
        if isinstance(found, ConstrainedMinimizer):
            z, _ = found.solution(*theta)
            x, whole = z["x"], lambda x: lagrangian(found.objective, found.constraints, x, z, theta, {})
            free = _free_directions(found, x, theta)
        matrix = hessian(whole)(x).to_dense()
        matrix = matrix if free is None else free.T @ matrix @ free
        eps = float(np.finfo(matrix.dtype).eps)
        return not len(matrix) or bool(np.all(np.isfinite(matrix)) and condition(matrix) < 0.1 / (eps * len(matrix)))


def _free_directions(found: ConstrainedMinimizer, x: Any, theta: Sequence[Any]) -> Any:
    """Columns that span what equalities, and inequalities that press, leave free."""
    from scipy.linalg import null_space

    at = linearize_constraints(found.objective, found.constraints, x, theta, {})
    held = at.inequality_jacobian[identify(at)["active"]]
    return null_space(np.concatenate([at.equality_jacobian, held]))


def _push_theta(function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """⟨∇₂f, θ̇⟩; arguments without a derivative have the tangent None."""
    chosen = [i for i, t in enumerate(tangents) if t is not None and tree.leaves(t)]

    def of_chosen(*values: Any) -> Any:
        full = list(primals)
        for i, v in zip(chosen, values, strict=True):
            full[i] = v
        return function(*full)

    return jvp(of_chosen, tuple(primals[i] for i in chosen), tuple(tangents[i] for i in chosen))[1]


class _Remembering:
    """A solver that does not solve the same again."""

    def __init__(self, solver: Callable[..., Any]) -> None:
        self.solver = solver
        self.known: tuple[Any, Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = tree.leaves((args, kwargs))
        if any(isinstance(v, Tracer) for v in leaves):
            return self.solver(*args, **kwargs)
        if self.known is None or not _is_same(self.known[0], leaves):
            self.known = leaves, self.solver(*args, **kwargs)
        return self.known[1]


def _is_same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(u is v or np.array_equal(u, v) for u, v in zip(a, b, strict=True))


def _remember_solutions(optimizer: Any) -> Any:
    if not isinstance(optimizer, ImplicitFunction):
        return optimizer
    return dataclasses.replace(optimizer, solver=_Remembering(optimizer.solver))


def _negate(f: Callable[..., Any], x: Any, *theta: Any) -> Any:
    return -f(x, *theta)


@user_facing
def value(
    f: Callable[..., Any],
    solver: Callable[..., Any] | None = None,
    *,
    sense: str = "min",
    x0: Any = None,
    subject_to: Any = None,
    facts: Sequence[str] = ("symmetric",),
    linear: Any = "auto",
    check: str = "ignore",
) -> OptimalValue:
    """h(*θ) = min (or max) of f(x, *θ) over x.

    At first order a derivative costs one derivative of f: that of x does not matter. At second order and above it does,
    and is that of its conditions. `check="warn"` (or "raise") looks whether the optimizer is unique, as
    `h.is_unique(*θ)` does; where it is not, the derivative is a subgradient.

    ```python
    f = lambda w, lam: 0.5 * lam * w * w + 3.0 * w + 1.0
    h = ad.implicit.value(f, lambda lam: -3.0 / lam)
    h(2.0), ad.grad(h)(2.0), ad.grad(ad.grad(h))(2.0)  # → (-1.25, 1.125, -1.125)
    ```
    """
    if sense not in {"min", "max"}:
        raise ValueError(f"implicit.value: sense={sense!r}; it is 'min' or 'max'.")
    optimizer = argmin(
        f if sense == "min" else partial(_negate, f), solver, x0=x0, subject_to=subject_to, facts=facts, linear=linear
    )
    step = subject_to if isinstance(subject_to, Projected | Proximal) else None
    return OptimalValue(f, optimizer, Watch("implicit.value", check), 1.0 if sense == "min" else -1.0, step)
