"""`solution`: a function that solves, in whatever language, becomes differentiable by the equation that it solves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.base.source import user_facing
from adjoint.implicit.roots import root

__all__ = ["solution"]


@user_facing
def solution(F: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the function below it returns x with F(x, *θ) = 0, and is differentiable in θ from now on.

    The options are those of `root`. The function is called with plain arrays unless it can be traced: it may call
    SciPy, C, Fortran, numba or another library.

    ```python
    from scipy.optimize import brentq

    @ad.implicit.solution(lambda t, price: np.exp(t) + t - price)
    def implied(price):
        return brentq(lambda t: np.exp(t) + t - price, -5.0, 5.0, xtol=1e-14)

    implied(1.0), ad.grad(implied)(1.0)  # → (0.0, 0.5)
    ```
    """

    def decorate(function: Callable[..., Any]) -> Any:
        made = root(F, function, **options)
        for name in (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__"):
            found = function if name == "__wrapped__" else getattr(function, name, None)
            object.__setattr__(made, name, found)
        return made

    return decorate
