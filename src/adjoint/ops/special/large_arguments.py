"""Derivatives of scaled Bessel functions for large arguments, where their recurrences cancel.

e⁻ˣ I, eˣ K and e^(∓ix) H are x^(-½) S(w) up to a constant, S(w) = Σ aₖ wᵏ with aₖ = aₖ₋₁ (4ν² - (2k-1)²)/(8k) and
w = -1/x, 1/x, ±i/x. So the derivative is -z/x (½ + w S′/S), which loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.ops.special.library import where
from adjoint.program.types import Value

_TERMS = 18


def _growth(v: Value, w: Value) -> Value:
    """w S′(w)/S(w)."""
    square = 4.0 * v * v
    term, total, rise = 1.0, 1.0, 0.0
    for k in range(1, _TERMS):
        term = term * (square - (2.0 * k - 1.0) ** 2) * (w / (8.0 * k))
        total = total + term
        rise = rise + k * term
    return rise / total


def scaled_derivative(phase: complex, v: Value, x: Value, z: Value, derivative: Callable[[Value], Value]) -> Value:
    """The derivative of z: by the asymptotic series for w = turn/|x| small beside 1/ν², by `derivative` elsewhere."""
    size = np.abs(x)
    far = (size > 30.0 + v * v) & (np.real(x) > 0 if x.dtype.kind == "c" else True)
    distant = where(far, x if x.dtype.kind == "c" else size, 1e6)
    large = -(0.5 + _growth(where(far, v, 0.0), phase / distant)) * z / where(far, x, 1.0)
    return where(far, large, derivative(where(far, 1.0, x)))
