"""`saddle`: the smallest of largest values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adjoint.base.source import user_facing
from adjoint.optimize.minimizing import minimize
from adjoint.optimize.nested import minimize_nested
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.oracles import prepare_call

__all__ = ["saddle"]


@user_facing
def saddle(
    f: Callable[..., Any],
    x0: Any,
    y0: Any,
    *args: Any,
    method: Any = "auto",
    inner_method: Any = "auto",
    tol: Any = None,
    options: dict[str, Any] | None = None,
    inner_options: dict[str, Any] | None = None,
) -> Optimum:
    """(x, y) with min over x of max over y of f(x, y, *args): y is a best answer to x, and x the best against it.

    h(x) = max over y of f(x, y) is minimized. Its gradient is ∇₁f at the best y, whose own derivative does not matter
    (the envelope theorem), so h must have a derivative: f has one largest value in y, as where it is strictly concave.
    `options` are those of `minimize` for x, `inner_options` for y, such as {"subject_to": sets.simplex()}. The answer
    is differentiable in the arguments and in all that f closes over.

    ```python
    f = lambda x, y, a: x * x + a * x * y - y * y + 2 * y
    found = ad.optimize.saddle(f, 1.0, 0.0, 2.0)
    np.round(found.value, 6), float(np.round(found.fun, 6))  # → ([-0.5, 0.5], 0.5)
    float(np.round(ad.grad(lambda a: ad.optimize.saddle(f, 1.0, 0.0, a).value[0])(2.0), 6))  # → 0.0
    ```
    """
    f = prepare_call(f)
    given = {} if inner_options is None else dict(inner_options)

    def solve(y: Any, x: Any, least: float) -> Optimum:
        return minimize(lambda y, x, *a: -f(x, y, *a), y, x, *args, **{"method": inner_method, "tol": least, **given})

    found = minimize_nested("saddle", solve, lambda best, x: -best.fun, y0, x0, method, tol, options)
    y, x = found.value
    return replace(found, value=(x, y))
