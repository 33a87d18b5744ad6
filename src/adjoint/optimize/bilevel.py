"""`bilevel`: numbers chosen so that the minimizer of another problem is good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.base.source import user_facing
from adjoint.optimize.minimizing import minimize
from adjoint.optimize.nested import minimize_nested
from adjoint.optimize.optimum import Optimum

__all__ = ["bilevel"]


@user_facing
def bilevel(
    outer: Callable[..., Any],
    inner: Callable[..., Any],
    x0: Any,
    theta0: Any,
    *args: Any,
    outer_method: Any = "auto",
    inner_method: Any = "auto",
    tol: Any = None,
    outer_options: dict[str, Any] | None = None,
    inner_options: dict[str, Any] | None = None,
) -> Optimum:
    """(x, θ) that makes outer(x, θ, *args) smallest, where x minimizes inner(x, θ, *args).

    The gradient in θ is that of h(θ) = outer(x(θ), θ), with the derivative of x(θ) by its conditions:

        ∇h = ∇₂outer - ∇₂₁inner (∇₁₁inner)⁻¹ ∇₁outer

    It works in rounds: each starts inner problems where the last one ended, and asks for a smaller gradient; inner
    problems are solved to a hundredth of what is asked of the outer one. The options are those of `minimize`, such as
    outer_options={"bounds": (0.0, None)} or inner_options={"subject_to": sets.simplex()}. The answer is differentiable
    in the arguments and in all that the functions close over.

    ```python
    X, y = np.array([[1.0, 0.2], [0.3, 1.0], [0.5, 0.5]]), np.array([1.0, 2.0, 0.5])
    ridge = lambda w, lam: np.sum((X[:2] @ w - y[:2]) ** 2) + np.exp(lam) * np.sum(w**2)
    left_out = lambda w, lam: (X[2] @ w - y[2]) ** 2
    found = ad.optimize.bilevel(left_out, ridge, np.zeros(2), 0.0)
    w, lam = found.value
    found.status, float(np.round(X[2] @ w, 6))  # → ('converged', 0.5)
    ```
    """
    options = {} if inner_options is None else dict(inner_options)

    def solve(x: Any, theta: Any, least: float) -> Optimum:
        return minimize(inner, x, theta, *args, **{"method": inner_method, "tol": least, **options})

    value = lambda found, theta: outer(found.value, theta, *args)
    return minimize_nested("bilevel", solve, value, x0, theta0, outer_method, tol, outer_options)
