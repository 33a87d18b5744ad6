"""The distributions of Kolmogorov and Smirnov, and their inverses."""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.declare import SQRT_2PI, named, unary
from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.quadrature import spread_out
from adjoint.program.types import Value

_K = np.arange(1.0, 7.0)
_SIGNS = where(_K % 2 == 1, 1.0, -1.0)
_ODD = (2.0 * _K - 1.0) ** 2 * math.pi**2 / 8.0


def kolmogorov_derivative(x: Value) -> Value:
    """K′ for K = 2 Σ (-1)^(k-1) exp(-2k²x²).

    Left of 0.9 by its other form, 1 - √(2π)/x Σ exp(-c/x²), c = (2k-1)²π²/8.
    """
    left, inside = x < 0.9, x > 0.04  # below, the derivative underflows
    (near,) = spread_out(where(left & inside, x, 0.5))
    (far,) = spread_out(where(left, 1.0, x))
    low = np.sum(np.exp(-_ODD / (near * near)) * (near * near - 2.0 * _ODD) / (near * near * near * near), axis=-1)
    high = -8.0 * np.sum(_SIGNS * _K * _K * far * np.exp(-2.0 * _K * _K * far * far), axis=-1)
    return where(left, where(inside, SQRT_2PI * low, 0.0), high)


unary(special.kolmogorov, kolmogorov_derivative)
unary(special.kolmogi, lambda z: 1.0 / kolmogorov_derivative(z))


def _smirnov_curvature(n: Value, d: Value) -> Value:
    """The second derivative of Σ exp g, g = log C(n, j) + log d + (j-1) log(d + j/n) + (n-j) log(1 - d - j/n)."""
    inside = (d > 0) & (d < 1)
    d = where(inside, d, 0.5)
    j = np.arange(float(np.max(n)))  # the term j = n is there for d = 0 only
    n, d = spread_out(n, d)
    above, below = d + j / n, 1.0 - d - j / n
    counted = (below > 0) & (j < n)
    below = where(counted, below, 1.0)
    whole = where(j < n, j, 0.0)
    g = special.gammaln(n + 1.0) - special.gammaln(whole + 1.0) - special.gammaln(n - whole + 1.0)
    g = g + np.log(d) + (j - 1.0) * np.log(above) + (n - j) * np.log(below)
    derivative = 1.0 / d + (j - 1.0) / above - (n - j) / below
    curve = -1.0 / (d * d) - (j - 1.0) / (above * above) - (n - j) / (below * below)
    term = np.exp(where(counted, g, 0.0)) * (derivative * derivative + curve)
    return where(inside, np.sum(where(counted, term, 0.0), axis=-1), 0.0)


named(special.smirnov, "n d", whole="n", d=lambda n, d: ufuncs._smirnovp(n, d))
named(special.smirnovi, "n p", whole="n", p=lambda n, z: 1.0 / ufuncs._smirnovp(n, z))
named(ufuncs._smirnovp, "n d", whole="n", d=_smirnov_curvature)
