"""Inverse trigonometric and hyperbolic functions of complex numbers, by Kahan's formulas.

With p = √(1 - z) and q = √(1 + z) the products below are sums of numbers of one sign, so nothing cancels; far out,
where they would overflow, the functions are logarithms. Infinities, NaN and the signs of zeros follow Annex G of the C
standard, as NumPy does.
"""

from __future__ import annotations

import math

from adjoint.compile.pointwise.complex_functions import is_infinite, log_size, sqrt, squares_less_one
from adjoint.compile.pointwise.complex_numbers import Complex, copysign, function_of, operation
from adjoint.compile.vector_math.vectors import Lanes, where

ROOTS = "hypot arcsinh arctan2 log log1p"
LOGARITHM = "log1p log hypot arctan2"


def _far(z: Complex) -> Lanes:
    """Whether 1 is nothing beside |z|; also for infinities, beside NaN too."""
    limit = 2.0**60 if z.re.format.scalar == "double" else 2.0**30
    return (abs(z.re) > limit) | (abs(z.im) > limit)


def _log_twice(z: Complex) -> Lanes:
    """log |2z|; infinite if a part is, even beside NaN."""
    return log_size(z.re, z.im, squares_less_one(z.re, z.im)) + math.log(2.0)


def _roots(z: Complex) -> tuple[Complex, Complex]:
    """p = √(1 - z), q = √(1 + z)."""
    return sqrt(Complex(1.0 - z.re, -z.im)), sqrt(Complex(1.0 + z.re, z.im))


@operation("arcsin", ROOTS)
def arcsin(z: Complex) -> Complex:
    """atan(x / Re p q) + i asinh(Im conj(p) q)."""
    x, y = z.re, z.im
    p, q = _roots(z)
    real = function_of("arctan2", x, p.re * q.re - p.im * q.im)
    imag = function_of("arcsinh", p.re * q.im - p.im * q.re)
    far = _far(z)
    real = where(far, function_of("arctan2", x, abs(y)), where(x.equals(0.0), x, real))
    return Complex(real, copysign(where(far, _log_twice(z), imag), y))


@operation("arccos", ROOTS)
def arccos(z: Complex) -> Complex:
    """2 atan(Re p / Re q) + i asinh(Im conj(q) p)."""
    x, y = z.re, z.im
    p, q = _roots(z)
    real = 2.0 * function_of("arctan2", p.re, q.re)
    imag = function_of("arcsinh", q.re * p.im - q.im * p.re)
    far = _far(z)
    real = where(far, function_of("arctan2", abs(y), x), where(x.equals(0.0), math.pi / 2, real))
    return Complex(real, copysign(where(far, _log_twice(z), imag), -y))


@operation("arcsinh", ROOTS)
def arcsinh(z: Complex) -> Complex:
    """i arcsin(-i z)."""
    return arcsin(z.divided_by_i()).times_i()


@operation("arccosh", ROOTS)
def arccosh(z: Complex) -> Complex:
    """± i arccos z, with the sign that makes the real part positive."""
    turned = arccos(z)
    lost = turned.re.is_nan()  # beside an infinity the size is known
    real = abs(turned.im)
    return Complex(real, where(lost, turned.re, copysign(turned.re, z.im)))


@operation("arctanh", LOGARITHM)
def arctanh(z: Complex) -> Complex:
    """¼ log1p(4x / ((1 - x)² + y²)) + ½ i arg((1 - x)(1 + x) - y² + 2iy), odd in x; far out Re(1/z) ± iπ/2."""
    x, y = abs(z.re), z.im
    far = _far(z)
    near_x, near_y = where(far, 0.5, x), where(far, 0.5, y)
    gap = 1.0 - near_x
    real = 0.25 * function_of("log1p", 4.0 * near_x / (gap * gap + near_y * near_y))
    # at x = 1 with a tiny y the square of y would be zero
    tiny = abs(near_y) < (1e-100 if x.format.scalar == "double" else 1e-15)
    real = where(gap.equals(0.0) & tiny, 0.5 * (math.log(2.0) - function_of("log", abs(near_y))), real)
    imag = 0.5 * function_of("arctan2", 2.0 * near_y, gap * (1.0 + near_x) - near_y * near_y)
    # Re(1/z) = x / (x² + y²), without overflow
    tall = abs(y) > x
    large, small = where(tall, abs(y), x), where(tall, x, abs(y))
    ratio = small / large
    inverse = where(tall, ratio, 1.0) / (large + small * ratio)
    endless = is_infinite(x) | is_infinite(y)
    real = where(far, where(endless, 0.0, inverse), where(x.equals(0.0), x, real))
    lost = y.is_nan() | (x.is_nan() & ~is_infinite(y))
    quarter = where(lost, math.nan, copysign(y.of(math.pi / 2), y))
    return Complex(copysign(real, z.re), where(far, quarter, imag))


@operation("arctan", LOGARITHM)
def arctan(z: Complex) -> Complex:
    """i arctanh(-i z)."""
    return arctanh(z.divided_by_i()).times_i()
