"""exp, exp2, exp10, expm1, expit.

x = n ln 2 + r, |r| <= ln 2 / 2, n integer:  e^x = 2^n e^r,  and e^r is a polynomial. n is found by adding a number so
large that only the integer part is left in the low bits; those bits, moved to the place of the exponent, are 2^n.
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.vectors import Lanes, at_least, at_most, fma, polynomial, where

# ln 2 in two parts: n · high is exact for |n| < 2^11 (double), 2^9 (float).
LN2 = {
    "double": (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")),
    "float": (float.fromhex("0x1.62e400p-1"), float.fromhex("0x1.7f7d1cp-20")),
}

# (e^r - 1 - r) / r² on |r| <= 0.3468, relative to e^r: tools/minimax.py exp, exp_single (2^-57.9, 2^-28.2).
EXP = {
    "double": (
        0.5000000000000011, 0.16666666666666433, 0.04166666666652569, 0.0083333333334777, 0.0013888888944912738,
        0.00019841269551146653, 2.4801491671797885e-05, 2.7557539314585347e-06, 2.763078880082627e-07,
        2.501721258892265e-08,
    ),
    "float": (
        0.4999999403953552, 0.16666516661643982, 0.0416681133210659, 0.00836904440075159, 0.0013832692056894302,
    ),
}  # fmt: skip

# The same, relative to e^r - 1: tools/minimax.py expm1, expm1_single (2^-61.6, 2^-31.1).
EXPM1 = {
    "double": (
        0.5, 0.16666666666666677, 0.041666666666666685, 0.008333333333321822, 0.001388888888889396,
        0.00019841269885251408, 2.480158727819266e-05, 2.755724525328234e-06, 2.755733028034575e-07,
        2.510865098215974e-08, 2.0893684480396846e-09,
    ),
    "float": (
        0.5, 0.1666666567325592, 0.04166649281978607, 0.008333543315529823, 0.0013932337751612067,
        0.0001976420171558857,
    ),
}  # fmt: skip

# Beyond these exp is 0 and infinity.
EXP_RANGE = {"double": (-746.0, 710.0), "float": (-104.0, 89.0)}
EXP2_RANGE = {"double": (-1080.0, 1025.0), "float": (-160.0, 129.0)}
EXP10_RANGE = {"double": (-325.0, 309.0), "float": (-46.0, 39.0)}

# (2^r - 1) / r, |r| <= 1/2, relative to 2^r: tools/minimax.py exp2, exp2_single (2^-57.1, 2^-32.5).
EXP2 = {
    "double": (
        0.6931471805599453, 0.24022650695910172, 0.055504108664824574, 0.009618129107577113, 0.0013333558145567608,
        0.0001540353047877657, 1.5252734737879484e-05, 1.3215424528329517e-06, 1.017765608633181e-07,
        7.0756083186792495e-09, 4.5193237978294074e-10,
    ),
    "float": (
        0.6931471824645996, 0.24022650718688965, 0.055504050105810165, 0.00961808767169714, 0.0013337968848645687,
        0.0001545170380268246, 1.4321485650725663e-05,
    ),
}  # fmt: skip

# log10 2 in two parts, n · high exact
LOG10_2 = {
    "double": (float.fromhex("0x1.34413509f7800p-2"), 2.8363394551044964e-14),
    "float": (float.fromhex("0x1.344000p-2"), 4.605039066518657e-06),
}
# ln 10 in two parts
LN10 = {
    "double": (2.302585092994046, -2.1707562233822494e-16),
    "float": (2.3025851249694824, -3.1975435632602967e-08),
}


def reduce_argument(x: Lanes, offset: int) -> tuple[Lanes, Lanes]:
    """r, and an integer whose low bits are n + offset."""
    form = x.format
    high, low = LN2[form.scalar]
    shift = form.magic + offset
    t = fma(x, 1 / math.log(2), shift)
    n = t - shift
    return fma(n, -low, fma(n, -high, x)), t.bits()


def reduced_in_two_parts(x: Lanes, offset: int) -> tuple[Lanes, Lanes, Lanes]:
    """r rounded, what was lost of it, and an integer whose low bits are n + offset."""
    form = x.format
    high, low = LN2[form.scalar]
    shift = form.magic + offset
    t = fma(x, 1 / math.log(2), shift)
    n = t - shift
    exact = fma(n, -high, x)
    r = fma(n, -low, exact)
    return r, fma(n, -low, exact - r), t.bits()


def exp_polynomial(r: Lanes, low: Lanes | None = None) -> Lanes:
    """e^(r + low) for |r| <= ln 2 / 2."""
    rr = r * r
    q = polynomial(r, EXP[r.format.scalar], rr)
    return (fma(rr, q, r) if low is None else fma(rr, q, low) + r) + 1.0


def scale(p: Lanes, biased: Lanes) -> Lanes:
    """2^n p, n + 2 bias in the low bits of `biased`: in two steps, so that only the result over- or underflows."""
    form = p.format
    half = biased >> 1
    other = biased - half
    return (p * (half << form.mantissa).float()) * (other << form.mantissa).float()


def exp(x: Lanes) -> Lanes:
    low, high = EXP_RANGE[x.format.scalar]
    r, bits = reduce_argument(at_least(at_most(x, high), low), 2 * x.format.bias)
    return scale(exp_polynomial(r), bits)


def scaled_expm1(x: Lanes, shrink: int, sharp: bool = False) -> Lanes:
    """(e^x - 1) / 2^shrink, for x so moderate that 2^(n - shrink) is a normal number.

    With s = 2^(n-shrink) and e^r - 1 = r + w the sum (s - 2^-shrink) + s r + s w is taken from left to right, for w is
    the smallest. `sharp` makes up for the rounding of the first sum.
    """
    form = x.format
    r, low, bits = reduced_in_two_parts(x, form.bias - shrink)
    s = (bits << form.mantissa).float()
    rr = r * r
    w = fma(rr, polynomial(r, EXPM1[form.scalar], rr), low)
    start = s - 2.0**-shrink
    most = fma(s, r, start)
    if sharp:
        return most + fma(s, w, fma(s, r, start - most))
    return fma(s, w, most)


def expm1(x: Lanes) -> Lanes:
    form = x.format
    low = -40.0 if form.scalar == "double" else -20.0
    half = scaled_expm1(at_least(at_most(x, EXP_RANGE[form.scalar][1]), low), 1)  # 2^n overflows before the result does
    return where(abs(x) < 2.0 ** -(form.mantissa + 2), x, half + half)


def exp2(x: Lanes) -> Lanes:
    """2^x = 2^n 2^r, r = x - n exact."""
    form = x.format
    low, high = EXP2_RANGE[form.scalar]
    shift = form.magic + 2 * form.bias
    x = at_least(at_most(x, high), low)
    t = x + shift
    r = x - (t - shift)
    return scale(fma(r, polynomial(r, EXP2[form.scalar]), 1.0), t.bits())


def exp10(x: Lanes) -> Lanes:
    """x = n log10 2 + s, 10^x = 2^n e^(s ln 10)."""
    form = x.format
    low, high = EXP10_RANGE[form.scalar]
    two, two_low = LOG10_2[form.scalar]
    ten, ten_low = LN10[form.scalar]
    shift = form.magic + 2 * form.bias
    x = at_least(at_most(x, high), low)
    t = fma(x, 1 / math.log10(2), shift)
    n = t - shift
    exact = fma(n, -two, x)
    s = fma(n, -two_low, exact)
    s_low = fma(n, -two_low, exact - s)
    r = s * ten
    r_low = fma(s, ten, -r) + fma(s, ten_low, s_low * ten)
    return scale(exp_polynomial(r, r_low), t.bits())


def expit(x: Lanes) -> Lanes:
    """With e = e^-|x|: 1 / (1 + e) for x >= 0, q = e / (1 + e) for x < 0; for small e rather q = e - e q."""
    r, bits = reduce_argument(at_least(-abs(x), EXP_RANGE[x.format.scalar][0]), 2 * x.format.bias)
    e = scale(exp_polynomial(r), bits)
    q = where(x < 0.0, e, 1.0) / (e + 1.0)
    return where(x < -0.7, fma(-e, q, e), q)
