"""Noncentral χ² and F: integrals along a path in the complex plane that give the derivatives in all arguments.

The Laplace transform of the noncentral χ² gives

    P(χ² ≤ x) = 1/(2πi) ∫ exp(p x - ½ν L - δ R) dp/p,    L = log(1+2p), R = p/(1+2p),

and that of a difference of two gives F, with -½ν₂ log(1 - 2rp) in the place of p x. A derivative multiplies the
integrand by p, -½L, -R …, which takes the pole at p = 0 away; so one path through the saddle serves both tails, and the
relative error is near that of rounding everywhere.
"""

# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from adjoint.ops.special.quadrature import half_line, placed, spread_out
from adjoint.program.types import Value


@placed
def _chi_square_saddle(x: Value, df: Value, nc: Value) -> Value:
    """σ = p + ½ where p x - ½ν log(1+2p) - δ p/(1+2p) is stationary."""
    return (0.5 * df + np.sqrt(0.25 * df * df + x * nc)) / (2.0 * x)


@placed
def _chi_square_width(x: Value, df: Value, nc: Value) -> Value:
    """How far the path p + ½ = σ (1 + iu)² stays near its top: |d²/du²|^(-½), at most 1."""
    sigma = (0.5 * df + np.sqrt(0.25 * df * df + x * nc)) / (2.0 * x)
    return np.minimum(1.5 / np.sqrt(2.0 * x * sigma + df + 1.5 * nc / sigma + 1e-3), 1.0)


def chi_square_integral(x: Value, df: Value, nc: Value, factor: Callable[..., Value]) -> Value:
    """1/(2πi) ∫ exp(p x - ½ν L - δ R) factor(p, L, R) dp on a parabola around the cut p ≤ -½."""
    inside = x > 0
    x = np.where(inside, x, 1.0)
    x, df, nc, sigma, width = spread_out(x, df, nc, _chi_square_saddle(x, df, nc), _chi_square_width(x, df, nc))
    t, weights = half_line(90, 5.6)
    stretched = width * np.sinh(t)
    root = 1.0 + 1j * stretched
    p = sigma * root * root - 0.5
    step = 2j * sigma * root * width * np.cosh(t) * weights
    fraction = 0.5 - 0.25 / (sigma * root * root)
    logarithm = np.log(2.0 * sigma) + 2.0 * np.log(root)
    terms = np.exp(p * x - 0.5 * df * logarithm - nc * fraction) * factor(p, logarithm, fraction) * step
    return np.where(inside, np.sum(np.imag(terms), axis=-1) / math.pi, 0.0)


def log_quotient(p: Value, logarithm: Value) -> Value:
    """log(1 + …)/p, where p = 0 may be a node."""
    zero = np.abs(p) < 1e-7
    return np.where(zero, 2.0 - 2.0 * p, logarithm / np.where(zero, 1.0, p))


def _ratio_peak(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    """a = 1 + 2p where the exponent is stationary: r (ν₁+ν₂) a² + (δ r - ν₁ (1+r)) a - δ (1+r) = 0."""
    square, linear, last = r * (dfn + dfd), nc * r - dfn * (1.0 + r), -nc * (1.0 + r)
    root = np.sqrt(linear * linear - 4.0 * square * last)
    return np.where(linear < 0, (root - linear) / (2.0 * square), -2.0 * last / (root + linear))


@placed
def _ratio_saddle(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    """Between the branch points -½ and 1/(2r)."""
    return 0.5 * (_ratio_peak(dfn, dfd, nc, r) - 1.0)


@placed
def _ratio_width(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    a = _ratio_peak(dfn, dfd, nc, r)
    b = 1.0 + r - r * a
    curve = 2.0 * dfn / (a * a) + 4.0 * nc / (a * a * a) + 2.0 * dfd * r * r / (b * b)
    return np.minimum(np.minimum(1.2 / np.sqrt(curve), 0.5 * a), 0.5 * b / r)


def ratio_integral(dfn: Value, dfd: Value, nc: Value, r: Value, factor: Callable[..., Value]) -> Value:
    """1/(2πi) ∫ (1+2p)^(-ν₁/2) (1-2rp)^(-ν₂/2) e^(-δ R) factor(p, …) dp on the line through the saddle."""
    inside = (r > 0) & (r < np.inf)
    r = np.where(inside, r, 1.0)
    saddle = _ratio_saddle(dfn, dfd, nc, r)
    width = _ratio_width(dfn, dfd, nc, r)
    dfn, dfd, nc, r, saddle, width = spread_out(dfn, dfd, nc, r, saddle, width)
    t, weights = half_line(200, 5.8)
    far = 0.5 * math.pi * np.sinh(t)
    p = saddle + 1j * width * np.sinh(far)
    step = width * np.cosh(far) * 0.5 * math.pi * np.cosh(t) * weights
    first, second, fraction = np.log(1.0 + 2.0 * p), np.log(1.0 - 2.0 * r * p), p / (1.0 + 2.0 * p)
    exponent = -0.5 * (dfn * first + dfd * second) - nc * fraction
    terms = np.exp(exponent) * factor(p, first, second, fraction, r) * step
    return np.where(inside, np.sum(np.real(terms), axis=-1) / math.pi, 0.0)
