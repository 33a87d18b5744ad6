"""Differences in as many digits as wanted, by mpmath: an oracle for functions of numbers, exact for our purposes."""

from collections.abc import Callable
from math import ceil
from typing import Any

from adjoint.testing.stencils import Kind, coefficients
from adjoint.testing.vectors import at_values


@at_values
def mp_difference(
    f: Callable[..., Any],
    *point: Any,
    direction: tuple[Any, ...] | None = None,
    derivative: int = 1,
    kind: Kind = "central",
    points: int | None = None,
    digits: int = 30,
) -> Any:
    """The k-th derivative of f(*point) along a direction to about `digits` digits, an mpmath number.

    f is written with mpmath's functions and takes one number for each of the point's. The direction is 1 for one
    number, and must be given for several. With a step of 10⁻ˢ, s = digits/q, truncation is below the last digit; the
    k s digits that the subtraction costs are added to the working precision. A float is taken at its binary value.

    ```python
    import mpmath
    abs(ad.testing.mp_difference(mpmath.sin, 0.0) - 1) < 1e-25  # → True
    ```
    """
    import mpmath

    if direction is None:
        if len(point) != 1:
            raise ValueError(
                f"mp_difference: give the direction for a point of {len(point)} numbers: direction=(1, 0, …)."
            )
        direction = (1,)
    if len(direction) != len(point):
        raise ValueError(f"mp_difference: a point of {len(point)} numbers and a direction of {len(direction)}.")
    stencil = coefficients(kind, derivative, points)
    exponent = ceil(digits / stencil.order) + 1
    with mpmath.workdps(digits + derivative * exponent + 15):
        δ = mpmath.mpf(10) ** -exponent
        x = [mpmath.mpmathify(p) for p in point]
        v = [mpmath.mpmathify(d) for d in direction]
        total = mpmath.mpf(0)
        for i, n in zip(stencil.offsets, stencil.numerators, strict=True):
            if n:
                total += n * f(*[p + i * δ * d for p, d in zip(x, v, strict=True)])
        result = total / (stencil.denominator * δ**derivative)
    with mpmath.workdps(digits):
        return +result
