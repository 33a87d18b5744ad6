"""`argmin`: minimizers as functions of what the objective depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.base.source import user_facing
from adjoint.implicit import conditions
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.iterations import newton_descent
from adjoint.implicit.roots import Linear, equation_for, need_start

__all__ = ["argmin"]


@user_facing
def argmin(
    f: Callable[..., Any],
    solver: Callable[..., Any] | None = None,
    *,
    x0: Any = None,
    facts: Sequence[str] = ("symmetric",),
    linear: Linear = "auto",
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> ImplicitFunction:
    """x(*θ) that makes f(x, *θ) smallest, as a solution of ∇ₓf = 0; the other arguments are those of `root`.

    The Hessian is symmetric, and where f is strictly convex it is positive definite: say so in `facts`, and many
    unknowns are solved for by conjugate gradients. Without a solver Newton's method starts at x0.

    ```python
    ridge = lambda w, lam: np.sum((w - np.array([1.0, 2.0])) ** 2) + lam * np.sum(w**2)
    w = ad.implicit.argmin(ridge, x0=np.zeros(2))
    w(1.0), ad.jacobian(w)(1.0)  # → ([0.5, 1.0], [-0.25, -0.5])
    ```
    """
    title = "implicit.argmin"
    need_start(title, solver, x0)
    equation = equation_for(title, facts, linear, differentiate, check)
    found = newton_descent(f) if solver is None else solver
    return ImplicitFunction(conditions.stationary(f), found, x0, equation, has_aux, title)
