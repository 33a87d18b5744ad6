"""log, log2, log10, log1p.

x = 2^k m with m in [√½, √2), f = m - 1 (exact):  log x = k ln 2 + log(1 + f). For doubles s = f / (2 + f) and, from
log(1 + f) = 2 artanh s,  log(1 + f) = f - s (f - s² R(s²)); for floats log(1 + f) = f - f² (½ - f P(f)).
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.exponential import LN2, LOG10_2
from adjoint.compile.vector_math.vectors import Lanes, fma, polynomial, where

# (2 artanh s - 2 s) / s³ in powers of s², |s| <= 0.1716: tools/minimax.py artanh (2^-59.5).
ARTANH = (
    0.6666666666666734, 0.3999999999941655, 0.2857142874207887, 0.22222198596513132, 0.18183563467529165,
    0.15314064754318701, 0.1479587653835227,
)  # fmt: skip

# (log(1 + f) - f + f²/2) / f³, f + 1 in [√½, √2]: tools/minimax.py log_single (2^-27.3).
LOG_SINGLE = (
    0.3333333134651184, -0.2500082552433014, 0.20001253485679626, -0.16623234748840332, 0.1420130878686905,
    -0.1316107213497162, 0.1276392787694931, -0.07633816450834274,
)  # fmt: skip

ROOT_HALF = {"double": 0x3FE6A09E667F3BCD, "float": 0x3F3504F3}  # the bits of √½


def split(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """k as a float, m, and k at the place of the exponent (an integer); x positive and normal."""
    form = x.format
    bits = x.bits()
    above = bits - ROOT_HALF[form.scalar]  # its upper bits are k, in two's complement
    exponent = above & (-1 << form.mantissa)
    m = (bits - exponent).float()
    # k + offset below the leading one of 2^mantissa; the offset is the place of the sign of k
    offset = 2 * (form.bias + 1)
    large = ((form.mantissa + form.bias) << form.mantissa) + offset
    k = ((above >> form.mantissa) ^ large).float() - (2.0**form.mantissa + offset)
    return k, m, exponent


def series(f: Lanes) -> tuple[Lanes, Lanes]:
    """a and b, so that log(1 + f) = f - a b."""
    if f.format.scalar == "double":
        s = f / (f + 2.0)
        z = s * s
        return s, fma(-z, polynomial(z, ARTANH), f)
    square = f * f
    return square, fma(-f, polynomial(f, LOG_SINGLE, square), 0.5)


def join(k: Lanes, f: Lanes, rest: Lanes | None = None) -> Lanes:
    """k ln 2 + log(1 + f + rest), |rest| below the last place of f: there log′ = 1/(1 + f), nearly 1 - f."""
    high, low = LN2[f.format.scalar]
    a, b = series(f)
    below = k * -low if rest is None else fma(f, rest, fma(k, -low, -rest))
    return fma(k, high, f - fma(a, b, below))


def finish(x: Lanes, y: Lanes) -> Lanes:
    """The logarithm y of x with the special values of x: -inf at 0, NaN below, inf and NaN as they are."""
    inside = where(x < math.inf, y, x)
    outside = where(x.equals(0.0), x.of(-math.inf), math.nan)
    return where(x > 0.0, inside, outside)


def normal(x: Lanes) -> tuple[Lanes, Lanes]:
    """x or, where it is subnormal, x · 2^mantissa, which is normal; and the number to add to k: 0 or -mantissa."""
    form = x.format
    small = x < form.smallest
    scaled = where(small, x * 2.0**form.mantissa, x)
    return scaled, where(small, x.of(-form.mantissa), 0.0)


def log(x: Lanes) -> Lanes:
    y, more = normal(x)
    k, m, _ = split(y)
    return finish(x, join(k + more, m - 1.0))


def log_of_sum(u: Lanes, c: Lanes, more: Lanes | None = None) -> Lanes:
    """log(u + c) + more · ln 2 for normal u, |c| below the last place of u: with u = 2^k m, f = (m - 1) + 2^-k c.

    What is lost of that sum is kept: for u a little above √2, k ln 2 cancels half of log(1 + f), but not its error.
    """
    form = u.format
    k, m, exponent = split(u)
    scale = (((form.bias + 1) << form.mantissa) - exponent).float()  # 2^(1-k): 2^-k may be too small for a float
    exact, c = m - 1.0, c * 0.5 * scale
    f = exact + c
    return join(k if more is None else k + more, f, (exact - f) + c)


def log1p(x: Lanes) -> Lanes:
    """1 + x = u + c, c the rounding error of u."""
    u = x + 1.0
    y = finish(u, log_of_sum(u, x - (u - 1.0)))
    return where(abs(x) < 2.0 ** -(x.format.mantissa + 2), x, y)


# 1 / ln b in two parts
PER_LN2 = {
    "double": (1.4426950408889634, 2.0355273740931033e-17),
    "float": (1.4426950216293335, 1.925963033500011e-08),
}
PER_LN10 = {
    "double": (0.4342944819032518, 1.098319650216765e-17),
    "float": (0.4342944920063019, -1.0103049952192578e-08),
}


def log_two_parts(f: Lanes) -> tuple[Lanes, Lanes]:
    """log(1 + f) as a sum: its leading part, rounded, and the rest."""
    a, b = series(f)
    y = fma(-a, b, f)
    return y, fma(-a, b, f - y)


def log2(x: Lanes) -> Lanes:
    high, low = PER_LN2[x.format.scalar]
    y, more = normal(x)
    k, m, _ = split(y)
    k = k + more
    a, b = log_two_parts(m - 1.0)
    p = a * high
    rest = fma(a, high, -p) + fma(b, high, a * low)
    total = k + p
    return finish(x, total + (((k - total) + p) + rest))


def log10(x: Lanes) -> Lanes:
    high, low = PER_LN10[x.format.scalar]
    two, two_low = LOG10_2[x.format.scalar]
    y, more = normal(x)
    k, m, _ = split(y)
    k = k + more
    a, b = log_two_parts(m - 1.0)
    p = a * high
    rest = fma(a, high, -p) + fma(k, two_low, fma(b, high, a * low))
    whole = k * two
    total = whole + p
    return finish(x, total + (((whole - total) + p) + rest))
