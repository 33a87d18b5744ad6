"""arcsin, arccos, arctan, arctan2.

arctan: odd polynomial on [0, 1]; beyond, π/2 - arctan(1/x). arcsin: odd polynomial on [0, ½]; beyond,
π/2 - 2 arcsin √((1 - x)/2).
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.vectors import (
    Lanes,
    copy_sign,
    fma,
    polynomial,
    sign_bit,
    square_root,
    where,
    with_sign,
)

# π/2 in two parts
HALF_PI = {
    "double": (math.pi / 2, 6.123233995736766e-17),
    "float": (1.5707963705062866, -4.371138828673793e-08),
}

# (arctan q / q - 1) / q² in powers of q², q <= 1: tools/minimax.py arctan, arctan_single.
ARCTAN = {
    "double": (
        -0.3333333333333307, 0.19999999999951748, -0.14285714282588047, 0.11111111007341838, -0.09090907007801732,
        0.07692279888925976, -0.06666404422878969, 0.05880529801411537, -0.052535267350512685, 0.047223481588400444,
        -0.04219242948295796, 0.036643145604558516, -0.029905722489905896, 0.02198704434160357,
        -0.013902542497561088, 0.007197856253372448, -0.0028855918895635767, 0.0008315523785121478,
        -0.0001522093720748585, 1.3229803284445419e-05,
    ),
    "float": (
        -0.33333298563957214, 0.1999852955341339, -0.1426401436328888, 0.10950861126184464, -0.08399215340614319,
        0.05787926912307739, -0.031094323843717575, 0.010866958647966385, -0.0017823659582063556,
    ),
}  # fmt: skip

# (arcsin w / w - 1) / w² in powers of w², w <= 1/2: tools/minimax.py arcsin, arcsin_single.
ARCSIN = {
    "double": (
        0.16666666666665408, 0.0750000000033715, 0.0446428568282187, 0.030381959141320632, 0.0223717579501813,
        0.017359706214216526, 0.013885221722247133, 0.012169298163855244, 0.006527616232758741, 0.01952920917400711,
        -0.016225678164732943, 0.03191321152920461,
    ),
    "float": (
        0.16666752099990845, 0.074953094124794, 0.04546915367245674, 0.024184735491871834, 0.042158421128988266,
    ),
}  # fmt: skip


def arctan_rest(q: Lanes) -> Lanes:
    """arctan q - q for 0 <= q <= 1."""
    z = q * q
    return q * z * polynomial(z, ARCTAN[q.format.scalar])


def arctan(x: Lanes) -> Lanes:
    high, low = HALF_PI[x.format.scalar]
    a = abs(x)
    large = a > 1.0
    q = where(large, -1.0 / a, a)
    rest = arctan_rest(q)
    y = where(large, high + (q + (rest + low)), q + rest)
    return with_sign(y, sign_bit(x))


def arctan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of (x, y): base ± arctan q with q = min / max of |x|, |y| and base 0, π/2 or π."""
    high, low = HALF_PI[x.format.scalar]
    a, b = abs(x), abs(y)
    steep = b > a
    small, great = where(steep, a, b), where(steep, b, a)
    q = small / great
    q = where(small.equals(great), where(great.equals(0.0), x.of(0.0), 1.0), q)  # 0/0 and ∞/∞
    rest = arctan_rest(q)
    left = sign_bit(x)
    minus = left ^ where(steep, left.of(x.format.sign), 0)
    left = left < 0
    base = where(steep, x.of(high), where(left, x.of(2 * high), 0.0))
    base_low = where(steep, x.of(low), where(left, x.of(2 * low), 0.0))
    q, rest = with_sign(q, minus), with_sign(rest, minus)
    return copy_sign(base + (q + (rest + base_low)), y)


def arcsin_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """w, arcsin w - w, and whether |x| is beyond ½: then w = √((1 - |x|)/2), else w = |x|. NaN beyond 1."""
    a = abs(x)
    large = a > 0.5
    z = where(large, fma(a, -0.5, 0.5), a * a)
    w = where(large, square_root(z), a)
    return w, w * z * polynomial(z, ARCSIN[x.format.scalar]), large


def arcsin(x: Lanes) -> Lanes:
    high, low = HALF_PI[x.format.scalar]
    w, rest, large = arcsin_parts(x)
    beyond = high - (2.0 * w - fma(rest, -2.0, low))
    return with_sign(where(large, beyond, w + rest), sign_bit(x))


def arccos(x: Lanes) -> Lanes:
    """π/2 - arcsin x; beyond ½ 2 arcsin w, below -½ π - 2 arcsin w."""
    high, low = HALF_PI[x.format.scalar]
    w, rest, large = arcsin_parts(x)
    sign = sign_bit(x)
    near = high - (with_sign(w, sign) - (low - with_sign(rest, sign)))
    above = 2.0 * (w + rest)
    below = 2.0 * (high - (w - (low - rest)))
    return where(large, where(x < 0.0, below, above), near)
