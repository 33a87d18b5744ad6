"""x^y, with the special values of IEEE 754 (and so of C and NumPy).

|x|^y = e^(y log|x|). The exponent reaches ±745, so an error of the logarithm is magnified that much: the logarithm is
kept as a sum of two numbers, high + low, and so is the product.
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.exponential import EXP_RANGE, LN2, exp_polynomial, reduce_argument, scale
from adjoint.compile.vector_math.logarithm import normal, split
from adjoint.compile.vector_math.vectors import (
    Lanes,
    at_least,
    at_most,
    fma,
    polynomial,
    round_even,
    sign_bit,
    where,
    with_sign,
)

TWO_THIRDS = {
    "double": (0.6666666666666666, 3.700743415417188e-17),
    "float": (0.6666666865348816, -1.9868215517249155e-08),
}

# ((2 artanh s - 2 s) / s³ - 2/3) / s² in powers of s², |s| <= 0.1716, relative to 2 / s⁴:
# tools/minimax.py artanh_tail, artanh_tail_single.
TAIL = {
    "double": (
        0.4000000000000226, 0.28571428570096735, 0.2222222252045485, 0.18181784318755725, 0.15386759635215194,
        0.13256762440335543, 0.13196856590166173,
    ),
    "float": (0.40000152587890625, 0.2854709029197693, 0.23419632017612457),
}  # fmt: skip


def log_in_two_parts(a: Lanes) -> tuple[Lanes, Lanes]:
    """log a = high + low for a > 0, to about 65 bits (double) or 33 (float)."""
    scalar = a.format.scalar
    scaled_a, more = normal(a)
    k, m, _ = split(scaled_a)
    k = k + more
    f = m - 1.0
    # s = f / (2 + f), in two parts
    d = f + 2.0
    d_low = f - (d - 2.0)
    inverse = 1.0 / d
    s = f * inverse
    s_low = fma(-s, d_low, fma(-s, d, f)) * inverse
    # z = s²
    z = s * s
    z_low = fma(s + s, s_low, fma(s, s, -z))
    # R = 2/3 + z (2/5 + …), in two parts
    third, third_low = TWO_THIRDS[scalar]
    tail = z * polynomial(z, TAIL[scalar])
    r = tail + third
    r_low = (tail - (r - third)) + third_low
    # p = s z R
    sz = s * z
    sz_low = fma(s, z_low, fma(s_low, z, fma(s, z, -sz)))
    p = sz * r
    p_low = fma(sz, r_low, fma(sz_low, r, fma(sz, r, -p)))
    # k ln 2 + 2 s + p, from the largest to the smallest
    ln2, ln2_low = LN2[scalar]
    whole, double_s = k * ln2, s + s
    first = whole + double_s
    high = first + p
    low = (double_s - (first - whole)) + (p - (high - first))
    return high, low + fma(k, ln2_low, fma(s_low, 2.0, p_low))


def power(x: Lanes, y: Lanes) -> Lanes:
    a = abs(x)
    high, low = log_in_two_parts(a)
    high = where(a.equals(0.0), x.of(-math.inf), where(a < math.inf, high, a))
    p = y * high
    bottom, top = EXP_RANGE[x.format.scalar]
    within = abs(p) < -bottom
    rest = where(within, fma(y, low, fma(y, high, -p)), 0.0)
    r, n = reduce_argument(at_least(at_most(p, top), bottom), 2 * x.format.bias)
    result = scale(exp_polynomial(r + rest), n)
    integer = round_even(y).equals(y)
    half = y * 0.5
    odd = integer & ~(round_even(half).equals(half))
    result = with_sign(result, where(odd, sign_bit(x), 0))
    undefined = (x < 0.0) & (x > -math.inf) & ~integer
    result = where(undefined, x.of(math.nan), result)
    one = y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & abs(y).equals(math.inf))
    return where(one, x.of(1.0), result)
