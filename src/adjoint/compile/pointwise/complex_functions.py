"""Exponentials, logarithms, roots, powers, trigonometric and hyperbolic functions of complex numbers.

They are composed of the real functions so that nothing overflows before the result does; infinities, NaN and the signs
of zeros follow Annex G of the C standard, as NumPy does. The error is a few units in the last place of |f(z)|.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from adjoint.compile.pointwise.complex_numbers import Complex, copysign, function_of, operation, pick
from adjoint.compile.pointwise.powers import by_squaring
from adjoint.compile.vector_math.vectors import Lanes, fma, square_root, where

LARGEST_EXPONENT = 99  # whole exponents up to it are products, as in NumPy


def is_finite(x: Lanes) -> Lanes:
    """Neither infinite nor NaN."""
    return abs(x) < math.inf


def is_infinite(x: Lanes) -> Lanes:
    return abs(x).equals(math.inf)


def last_exponential(x: Lanes) -> float:
    """An integer whose exponential is within the range of floats, but not far."""
    return 709.0 if x.format.scalar == "double" else 88.0


def scaled_exponential(x: Lanes) -> tuple[Lanes, Lanes]:
    """(a, b) with a b = eˣ, where a has room for a factor less than one: b = 1 unless x is large."""
    limit = last_exponential(x)
    large = x > limit
    return function_of("exp", where(large, x - limit, x)), where(large, x.of(math.exp(limit)), 1.0)


@operation("exp", "exp sin cos")
def exp(z: Complex) -> Complex:
    """eˣ (cos y + i sin y)."""
    x, y = z.re, z.im
    a, b = scaled_exponential(x)
    real = a * function_of("cos", y) * b
    imag = where(y.equals(0.0), y, a * function_of("sin", y) * b)
    lost = ~is_finite(y)
    real = where(lost & x.equals(-math.inf), 0.0, where(lost & x.equals(math.inf), math.inf, real))
    imag = where(lost & x.equals(-math.inf), copysign(y.of(0.0), y), imag)
    return Complex(real, imag)


@operation("exp2", "exp sin cos")
def exp2(z: Complex) -> Complex:
    return exp(z.times(math.log(2.0)))


@operation("expm1 special.expm1", "exp expm1 sin cos")
def expm1(z: Complex) -> Complex:
    """(expm1 x cos y - 2 sin²(y/2), eˣ sin y)."""
    x, y = z.re, z.im
    half = function_of("sin", y * 0.5)
    real = function_of("expm1", x) * function_of("cos", y) - 2.0 * half * half
    return Complex(real, function_of("exp", x) * function_of("sin", y))


def log_size(x: Lanes, y: Lanes, near: Lanes) -> Lanes:
    """log |x + iy|; near |z| = 1 as ½ log1p(x² + y² - 1), the sum in twice the precision (`near` = x² + y² - 1)."""
    large = 2.0**1000 if x.format.scalar == "double" else 2.0**120
    a, b = abs(x), abs(y)
    top = where(a > b, a, b)
    factor = where(top > large, x.of(1.0 / 16), where(top < 1.0 / large, large, x.of(1.0)))
    shift = where(top > large, x.of(4 * math.log(2.0)), where(top < 1.0 / large, -math.log(large), x.of(0.0)))
    far = function_of("log", function_of("hypot", x * factor, y * factor)) + shift
    return where(abs(near) < 0.5, 0.5 * function_of("log1p", near), far)


def squares_less_one(x: Lanes, y: Lanes) -> Lanes:
    """x² + y² - 1, exact but for the last digits also where it is small."""
    a, b = abs(x), abs(y)
    top, low = where(a > b, a, b), where(a > b, b, a)
    p, q = top * top, low * low
    p_rest, q_rest = fma(top, top, -p), fma(low, low, -q)
    d = p - 1.0
    s = d + q
    part = s - d
    rest = (d - (s - part)) + (q - part)
    return s + (rest + (p_rest + q_rest))


@operation("log", "log log1p hypot arctan2")
def log(z: Complex) -> Complex:
    """log |z| + i arg z."""
    return Complex(log_size(z.re, z.im, squares_less_one(z.re, z.im)), function_of("arctan2", z.im, z.re))


def _scaled_log(factor: float) -> Callable[[Complex], Complex]:
    return lambda z: log(z).times(factor)


operation("log2", "log log1p hypot arctan2")(_scaled_log(1.0 / math.log(2.0)))
operation("log10", "log log1p hypot arctan2")(_scaled_log(1.0 / math.log(10.0)))


@operation("log1p special.log1p", "log log1p hypot arctan2")
def log1p(z: Complex) -> Complex:
    """log(1 + z); |1 + z|² - 1 = x (2 + x) + y²."""
    x, y = z.re, z.im
    moved = 1.0 + x
    return Complex(log_size(moved, y, fma(y, y, x * (2.0 + x))), function_of("arctan2", y, moved))


@operation("sqrt", "hypot")
def sqrt(z: Complex) -> Complex:
    """t = √((|x| + |z|)/2): (t, y/2t) right of the imaginary axis, (|y|/2t, ±t) left of it."""
    x, y = z.re, z.im
    large = 2.0**1000 if x.format.scalar == "double" else 2.0**120
    a, b = abs(x), abs(y)
    top = where(a > b, a, b)
    up, down = top < 4.0 / large, top > large
    factor = where(down, x.of(2.0**-4), where(up, x.of(2.0**54), x.of(1.0)))
    back = where(down, x.of(2.0**2), where(up, x.of(2.0**-27), x.of(1.0)))
    u, v = a * factor, b * factor
    t = square_root(0.5 * (u + function_of("hypot", u, v)))
    other = v / (2.0 * t)
    t, other = t * back, other * back
    left = x < 0.0
    real, imag = where(left, other, t), copysign(where(left, t, other), y)
    zero = top.equals(0.0)  # of two numbers: a NaN beside a zero is not zero
    zero = zero & a.equals(0.0) & b.equals(0.0)
    real, imag = where(zero, 0.0, real), where(zero, y, imag)
    nan = real.of(math.nan)
    wide = is_infinite(x)
    lost = y.is_nan()
    real = where(wide, where(left, where(lost, nan, 0.0), math.inf), real)
    imag = where(wide, where(left, copysign(x.of(math.inf), y), where(lost, nan, copysign(x.of(0.0), y))), imag)
    endless = is_infinite(y)
    return Complex(where(endless, math.inf, real), where(endless, y, imag))


def _split_sinh_cosh(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """(a, b, c) with a c = sinh x and b c = cosh x, where a and b have room for a factor less than one."""
    limit = last_exponential(x)
    size = abs(x)
    large = size > limit
    far = 0.5 * function_of("exp", size - limit)
    a = where(large, copysign(far, x), function_of("sinh", x))
    b = where(large, far, function_of("cosh", x))
    return a, b, where(large, x.of(math.exp(limit)), 1.0)


@operation("sinh", "exp sinh cosh sin cos")
def sinh(z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y."""
    x, y = z.re, z.im
    a, b, c = _split_sinh_cosh(x)
    cosine, sine = function_of("cos", y), function_of("sin", y)
    real = a * cosine * c
    real = where(x.equals(0.0) & ~is_finite(y), x, real)
    imag = where(y.equals(0.0), y, b * sine * c)
    lost = is_infinite(x) & ~is_finite(y)
    return Complex(where(lost, math.inf, real), imag)


@operation("cosh", "exp sinh cosh sin cos")
def cosh(z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y."""
    x, y = z.re, z.im
    a, b, c = _split_sinh_cosh(x)
    real = b * function_of("cos", y) * c
    imag = a * function_of("sin", y) * c
    flat = (x.equals(0.0) | y.equals(0.0)) & imag.is_nan()  # zero beside an infinity or NaN
    imag = where(flat, copysign(x.of(0.0), copysign(x.of(1.0), x) * copysign(x.of(1.0), y)), imag)
    lost = is_infinite(x) & ~is_finite(y)
    return Complex(where(lost, math.inf, real), imag)


@operation("sin", "exp sinh cosh sin cos")
def sin(z: Complex) -> Complex:
    """i sinh(-i z)."""
    return sinh(z.divided_by_i()).times_i()


@operation("cos", "exp sinh cosh sin cos")
def cos(z: Complex) -> Complex:
    """cosh(i z)."""
    return cosh(z.times_i())


@operation("tanh", "exp sinh cosh sin cos tan")
def tanh(z: Complex) -> Complex:
    """With t = tan y, s = sinh x, c = cosh x: ((1 + t²) s c + i t) / (1 + (1 + t²) s²), by Kahan.

    Far out ±1 + i 4 sin y cos y e^(-2|x|).
    """
    x, y = z.re, z.im
    far = abs(x) > (22.0 if x.format.scalar == "double" else 11.0)
    near = where(far, 0.0, x)
    t, s, c = function_of("tan", y), function_of("sinh", near), function_of("cosh", near)
    beta = 1.0 + t * t
    d = 1.0 + beta * s * s
    shrunk = function_of("exp", -abs(x))
    distant = 4.0 * function_of("sin", y) * function_of("cos", y) * shrunk * shrunk
    real = where(far, copysign(x.of(1.0), x), beta * c * s / d)
    imag = where(far, distant, t / d)
    lost = ~is_finite(y)
    real = where(lost & ~is_infinite(x), where(x.equals(0.0), x, math.nan), real)
    imag = where(lost & is_infinite(x), copysign(x.of(0.0), y), imag)
    imag = where(x.is_nan() & y.equals(0.0), y, imag)
    return Complex(where(x.is_nan(), math.nan, real), imag)


@operation("tan", "exp sinh cosh sin cos tan")
def tan(z: Complex) -> Complex:
    """-i tanh(i z)."""
    return tanh(z.times_i()).divided_by_i()


@operation("power float_power", "exp sin cos log log1p hypot arctan2")
def power(z: Complex, w: Complex) -> Complex:
    """exp(w log z); 1 for w = 0, and for z = 0 zero if Re w > 0."""
    one, zero = z.re.of(1.0), z.re.of(0.0)
    power = exp(w * log(z))
    origin = z.re.equals(0.0) & z.im.equals(0.0)
    at_origin = where(w.re > 0.0, zero, math.nan)
    power = pick(origin, Complex(at_origin, at_origin), power)
    flat = w.re.equals(0.0) & w.im.equals(0.0)
    return pick(flat, Complex(one, zero), power)


def known_power(z: Complex, n: int) -> Complex:
    """zⁿ for an integer n, |n| < 100, by products."""
    one = Complex(z.re.of(1.0), z.re.of(0.0))
    if n == 0:
        return one
    product = by_squaring(z, abs(n), lambda a, b: a * b)
    if n < 0:
        product = one / product
    origin = z.re.equals(0.0) & z.im.equals(0.0)
    at_origin = z.re.of(0.0 if n > 0 else math.nan)
    return pick(origin, Complex(at_origin, at_origin), product)
