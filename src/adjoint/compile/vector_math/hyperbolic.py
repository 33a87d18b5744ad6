"""sinh, cosh, tanh and their inverses; logit, which is one of these.

The inverses are logarithms of sums and ratios that round; what is lost is carried along as a second part.
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.exponential import LN2, exp_polynomial, reduce_argument, scaled_expm1
from adjoint.compile.vector_math.logarithm import log_of_sum, normal
from adjoint.compile.vector_math.vectors import (
    Lanes,
    at_most,
    copy_sign,
    fma,
    polynomial,
    sign_bit,
    square_root,
    two_sum,
    where,
    with_sign,
)

# Beyond these sinh and cosh are infinite.
LARGEST = {"double": 710.6, "float": 89.6}

# (artanh s / s - 1) / s² in powers of s², |s| <= 0.267: tools/minimax.py artanh_wide, artanh_wide_single.
ARTANH = {
    "double": (
        0.3333333333333342, 0.1999999999995156, 0.14285714294996116, 0.11111110240443062, 0.09090955188589091,
        0.07690838930271632, 0.06695316189368472, 0.055498007862373376, 0.07330211837360608,
    ),
    "float": (0.3333331346511841, 0.20002660155296326, 0.14175830781459808, 0.12872058153152466),
}  # fmt: skip


def tanh(x: Lanes) -> Lanes:
    """With t = e^(±2|x|) - 1: tanh |x| = |t| / (2 + t), minus for small |x|, where the sum 2 + t then rounds better."""
    a = abs(x)
    double = at_most(a + a, 40.0 if x.format.scalar == "double" else 20.0)
    t = scaled_expm1(where(a < 0.3, -double, double), 0, sharp=True)
    return copy_sign(t / (t + 2.0), x)


def sinh(x: Lanes) -> Lanes:
    """With q = (e^|x| - 1) / 4: sinh |x| = 2 (q + q / (4 q + 1)), which only overflows when the result does.

    For small |x| rather 2 (2 q - 4 q² / (4 q + 1)), where the quotient is much the smaller part.
    """
    form = x.format
    a = abs(x)
    q = scaled_expm1(at_most(a, LARGEST[form.scalar]), 2, sharp=True)
    small = a < 0.4
    half = where(small, q + q, q) + where(small, -4.0 * (q * q), q) / fma(q, 4.0, 1.0)
    return where(a < 2.0 ** -(form.mantissa // 2 + 1), x, copy_sign(half + half, x))


def cosh(x: Lanes) -> Lanes:
    """With q = e^|x| / 4: cosh x = 2 (q + 1 / (16 q))."""
    form = x.format
    r, bits = reduce_argument(at_most(abs(x), LARGEST[form.scalar]), form.bias - 2)
    q = exp_polynomial(r) * (bits << form.mantissa).float()
    half = q + 0.0625 / q
    return half + half


def arcsinh(x: Lanes) -> Lanes:
    """log(a + √(a² + 1)), a = |x|; log 2a for large a."""
    form = x.format
    a = abs(x)
    large = a > 2.0 ** (form.mantissa // 2 + 2)
    b = where(large, x.of(1.0), a)
    square = b * b
    s, s_low = root_in_two_parts(*two_sum(square, x.of(1.0)), fma(b, b, -square))
    high, low = two_sum(b, s)
    y = log_of_sum(where(large, a, high), where(large, x.of(0.0), low + s_low), where(large, x.of(1.0), 0.0))
    y = where(a < math.inf, y, a)
    return where(a < 2.0 ** -(form.mantissa // 2 + 1), x, with_sign(y, sign_bit(x)))


def arccosh(x: Lanes) -> Lanes:
    """log(x + √(x² - 1)), x² - 1 = 2 t + t² with t = x - 1; log 2x for large x."""
    form = x.format
    large = x > 2.0 ** (form.mantissa // 2 + 2)
    t = where(large, x.of(1.0), x) - 1.0
    t_low = where(large, x.of(1.0), x) - (t + 1.0)  # t is exact below 2^mantissa
    square = t * t
    s, s_low = root_in_two_parts(*two_sum(t + t, square), fma(t, t, -square))
    high, low = two_sum(t + 1.0, s)
    total_low = low + (s_low + t_low)
    y = log_of_sum(where(large, x, high), where(large, x.of(0.0), total_low), where(large, x.of(1.0), 0.0))
    y = where(x < math.inf, y, x)
    return where(x < 1.0, x.of(math.nan), y)


def root_in_two_parts(u: Lanes, u_low: Lanes, more: Lanes) -> tuple[Lanes, Lanes]:
    """√(u + u_low + more) rounded, and the rest: half the residual over the root."""
    s = square_root(u)
    residual = fma(-s, s, u) + (u_low + more)
    return s, where(s > 0.0, residual * (0.5 / s), 0.0)


def log_of_ratio(n: Lanes, n_low: Lanes, d: Lanes, d_low: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """k, s and a = artanh s - s with log((n + n_low) / (d + d_low)) = k ln 2 + 2 artanh s, for n >= d.

    s = (n - 2^k d) / (n + 2^k d). The bits of a float, as an integer, are nearly its logarithm; so k is found by taking
    the difference of two. k grows by one where log2(n/d) passes k + 0.7, so that 2 artanh s cancels little of ln 2;
    |s| <= 0.267.
    """
    form = n.format
    shift = form.mantissa
    difference = n.bits() - d.bits() + ((form.bias << shift) + int(0.3 * 2**shift))
    biased = difference >> shift  # k + bias
    power = (biased << shift).float()
    large = 2.0**shift
    k = (biased | ((shift + form.bias) << shift)).float() - (large + form.bias)
    scaled = d * power
    top = (n - scaled) + fma(-d_low, power, n_low)
    s = top / ((n + scaled) + fma(d_low, power, n_low))
    z = s * s
    return k, s, s * z * polynomial(z, ARTANH[form.scalar])


def arctanh(x: Lanes) -> Lanes:
    """½ log((1 + a) / (1 - a)), a = |x|."""
    form = x.format
    a = abs(x)
    n, d = a + 1.0, 1.0 - where(a < 1.0, a, x.of(0.5))
    k, s, rest = log_of_ratio(n, a - (n - 1.0), d, (1.0 - d) - a)
    high, low = LN2[form.scalar]
    y = fma(k, 0.5 * high, s + fma(k, 0.5 * low, rest))
    y = where(a < 1.0, y, where(a.equals(1.0), x.of(math.inf), math.nan))
    return where(a < 2.0 ** -(form.mantissa // 2 + 1), x, with_sign(y, sign_bit(x)))


def logit(p: Lanes) -> Lanes:
    """log(p / (1 - p)), odd about p = ½: with n the greater of p and 1 - p and d the smaller, ± log(n / d)."""
    form = p.format
    defined = (p > 0.0) & (p < 1.0)
    inside = where(defined, p, p.of(0.5))
    other = 1.0 - inside
    lost = (1.0 - other) - inside
    below = inside < 0.5
    d, more = normal(where(below, inside, other))
    zero = p.of(0.0)
    k, s, rest = log_of_ratio(where(below, other, inside), where(below, lost, zero), d, where(below, zero, lost))
    k = k - more
    high, low = LN2[form.scalar]
    y = fma(k, high, 2.0 * s + fma(k, low, rest + rest))
    y = where(below, -y, y)
    outside = where(p.equals(0.0), p.of(-math.inf), where(p.equals(1.0), p.of(math.inf), math.nan))
    return where(defined, y, outside)
