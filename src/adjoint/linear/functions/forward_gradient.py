"""Gradients from forward mode alone, at random: no record of the function is kept.

    ĝ = (1/S) Σᵢ ∂f(x)[zᵢ] zᵢ,        E[z z*] = I,        so        E[ĝ] = ∇f(x).

For P numbers and one sample, E‖ĝ‖² is (P + 2)‖∇f‖² with normal z and P‖∇f‖² with signs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.gradients import Function, jvp, vmap
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.functions.probes import Estimate, average_samples, draw
from adjoint.linear.operators.spaces import Space
from adjoint.program.types import Value, type_of

__all__ = ["forward_gradient"]


@user_facing
def forward_gradient(
    function: Function, argnums: int = 0, *, samples: int = 1, probes: str = "normal"
) -> Callable[..., Estimate]:
    """An unbiased estimate of the gradient from directional derivatives: `forward_gradient(f)(rng, *args)`.

    `rng` is a seed or a generator of `ad.random`. Each sample costs one pass forwards, and memory does not grow with
    the length of the computation. The result has the gradient in `.value` and the standard error of each entry in
    `.error` (NaN for one sample). The sum of the variances is (P + 1)‖∇f‖²/S with probes="normal", (P - 1)‖∇f‖²/S with
    "signs".

    ```python
    estimate = ad.forward_gradient(lambda x: np.sum(x**2), samples=1000)(0, np.ones(2))
    np.all(np.abs(estimate.value - 2.0) < 4 * estimate.error)  # → True
    ```
    """
    if samples < 1:
        raise ValueError(f"forward_gradient: samples={samples}; it must be at least 1.")

    @user_facing
    def estimate(rng: Any, *args: Any, **kwargs: Any) -> Estimate:
        if not -len(args) <= argnums < len(args):
            raise ShapeError(f"forward_gradient: argnums={argnums} does not fit a call with {len(args)} arguments "
                             "after the generator.")  # fmt: skip
        position = argnums % len(args)
        space = Space.of(args[position])
        if any(t.dtype.kind == "c" for t in space.types):
            raise DtypeError("forward_gradient: the argument is complex. Write f as a function of real and imaginary "
                             "parts, or use grad.")  # fmt: skip
        point = space.checked(args[position], "forward_gradient: the argument")

        def derivative(direction: Any) -> Value:
            inner = lambda x: function(*args[:position], x, *args[position + 1 :], **kwargs)
            value, rate = jvp(inner, (point,), (direction,))
            made = type_of(value)
            if made.shape != () or made.dtype.kind != "f":
                raise ShapeError(f"forward_gradient: the function must return one real number; it returned {made}.")
            return rate

        z = draw(rng, space, samples, probes, "forward_gradient")
        derivatives = vmap(derivative)(space.unravel_columns(z))
        found = average_samples(derivatives[:, None] * np.transpose(z), samples, "forward gradient")
        return Estimate(space.unravel(found.value), space.unravel(found.error), samples, found.method)

    return estimate
