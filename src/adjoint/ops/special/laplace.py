"""Noncentral χ² and F: integrals along a path in the complex plane that give the derivatives in all arguments.

The Laplace transform of the noncentral χ² gives

    P(χ² ≤ x) = 1/(2πi) ∫ exp(p x - ½ν L - δ R) dp/p,    L = log(1+2p), R = p/(1+2p),

and that of a difference of two gives F, with -½ν₂ log(1 - 2rp) in the place of p x. A derivative multiplies the
integrand by p, -½L, -R …, which takes the pole at p = 0 away; so one path through the saddle serves both tails, and the
relative error is near that of rounding everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from adjoint.ops.special.declare import removable
from adjoint.ops.special.library import imag, real, where
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


def chi_square_integral(x: Value, df: Value, nc: Value, factor: Callable[[Value, Value, Value], Value]) -> Value:
    """1/(2πi) ∫ exp(p x - ½ν L - δ R) factor(p, L, R) dp on a parabola around the cut p ≤ -½."""
    inside = x > 0
    x = where(inside, x, 1.0)
    x, df, nc, sigma, width = spread_out(x, df, nc, _chi_square_saddle(x, df, nc), _chi_square_width(x, df, nc))
    t, weights = half_line(90, 5.6)
    stretched = width * np.sinh(t)
    root = 1.0 + 1j * stretched
    p = sigma * root * root - 0.5
    step = 2j * sigma * root * width * np.cosh(t) * weights
    fraction = 0.5 - 0.25 / (sigma * root * root)
    logarithm = np.log(2.0 * sigma) + 2.0 * np.log(root)
    terms = np.exp(p * x - 0.5 * df * logarithm - nc * fraction) * factor(p, logarithm, fraction) * step
    return where(inside, np.sum(imag(terms), axis=-1) / math.pi, 0.0)


def log_quotient(p: Value, logarithm: Value) -> Value:
    """log(1 + …)/p, where p = 0 may be a node."""
    zero = np.abs(p) < 1e-7
    return where(zero, 2.0 - 2.0 * p, logarithm / where(zero, 1.0, p))


def _ratio_peak(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    """a = 1 + 2p where the exponent is stationary: r (ν₁+ν₂) a² + (δ r - ν₁ (1+r)) a - δ (1+r) = 0."""
    square, linear, last = r * (dfn + dfd), nc * r - dfn * (1.0 + r), -nc * (1.0 + r)
    root = np.sqrt(linear * linear - 4.0 * square * last)
    return where(linear < 0, (root - linear) / (2.0 * square), -2.0 * last / (root + linear))


@placed
def _ratio_saddle(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    """1 + 2p at the saddle."""
    return _ratio_peak(dfn, dfd, nc, r)


@placed
def _ratio_left(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    """1 where the saddle is nearer to the branch point -½ than to 1/(2r), else 0."""
    a = _ratio_peak(dfn, dfd, nc, r)
    return where(r * a <= 1.0 + r - r * a, 1.0, 0.0)


@placed
def _ratio_width(dfn: Value, dfd: Value, nc: Value, r: Value) -> Value:
    """How far the path stays near its top, in u."""
    a = _ratio_peak(dfn, dfd, nc, r)
    b = 1.0 + r - r * a
    curve = 2.0 * dfn / (a * a) + 4.0 * nc / (a * a * a) + 2.0 * dfd * r * r / (b * b)
    return np.minimum(1.2 / (np.sqrt(curve) * np.minimum(a, b / r)), 0.8)


def _logarithm(direct: Value, p: Value) -> Value:
    """log(1 + 2p), given it for large p; near p = 0 from the same p that it is divided by."""
    near = np.abs(p) < 0.25
    return where(near, np.log(1.0 + 2.0 * where(near, p, 0.0)), direct)


# Of p, log a, log b, R and r.
RatioFactor: TypeAlias = Callable[[Value, Value, Value, Value, Value], Value]


def ratio_integral(dfn: Value, dfd: Value, nc: Value, r: Value, factor: RatioFactor) -> Value:
    """1/(2πi) ∫ a^(-ν₁/2) b^(-ν₂/2) e^(-δ R) factor(p, …) dp, a = 1 + 2p, b = 1 - 2rp.

    The path is a parabola through the saddle around the nearer cut, a = a₀ (1+iu)² or b = b₀ (1-iu)².
    """
    inside = (r > 0) & (r < np.inf)
    r = where(inside, r, 1.0)
    left, saddle, width = (f(dfn, dfd, nc, r) for f in (_ratio_left, _ratio_saddle, _ratio_width))
    dfn, dfd, nc, r, left, saddle, width = spread_out(dfn, dfd, nc, r, left, saddle, width)
    t, weights = half_line(160, 5.2)
    far = 0.5 * math.pi * np.sinh(t)
    u = width * np.sinh(far)
    step = width * np.cosh(far) * 0.5 * math.pi * np.cosh(t) * weights
    left, whole = left > 0, 1.0 + r
    root = where(left, 1.0 + 1j * u, 1.0 - 1j * u)
    start = where(left, saddle, whole - r * saddle)  # a₀ or b₀
    own = start * root * root
    other = where(left, whole - r * own, (whole - own) / r)
    log_own, log_other = np.log(start) + 2.0 * np.log(root), np.log(other)
    p = where(left, 0.5 * (own - 1.0), 0.5 * (1.0 - own) / r)
    first = _logarithm(where(left, log_own, log_other), p)
    second = _logarithm(where(left, log_other, log_own), -r * p)
    step = step * start * root / where(left, 1.0, r)
    fraction = 0.5 - 0.5 / where(left, own, other)
    terms = np.exp(-0.5 * (dfn * first + dfd * second) - nc * fraction) * factor(p, first, second, fraction, r) * step
    return where(inside, np.sum(real(terms), axis=-1) / math.pi, 0.0)


_SECOND = [-(2.0**n) * n / (n + 1.0) for n in range(16)]


def ratio_first(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    """∂P(F ≤ f)/∂ν₁: by the exponent of a, and by r = f ν₁/ν₂."""
    (ratio,) = spread_out(dfd / dfn)
    factor: RatioFactor = lambda p, log_a, log_b, R, r: -0.5 * log_quotient(p, log_a) + r * ratio / (1.0 - 2.0 * r * p)
    return ratio_integral(dfn, dfd, nc, dfn * f / dfd, factor)


def ratio_second(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    """∂P(F ≤ f)/∂ν₂: the factor is r (log(1-2q)/(-2q) - 1/(1-2q)), q = rp, = -r Σ 2ⁿ n/(n+1) qⁿ."""

    def factor(p: Value, log_a: Value, log_b: Value, R: Value, r: Value) -> Value:
        return r * removable(r * p, _SECOND, lambda q: -0.5 * log_b / q - 1.0 / (1.0 - 2.0 * q), 0.04)

    return ratio_integral(dfn, dfd, nc, dfn * f / dfd, factor)
