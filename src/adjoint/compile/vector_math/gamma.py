"""log|Γ|, Γ, 1/Γ and ψ = (log Γ)′; of floats through doubles.

For x >= 4.5 by Stirling's series; for x in [1.4, 2.5] by polynomials, for others below by recurrence from there. Below
-½ by reflection at |x|, in a block that only runs when there is such a lane: Γ(x) Γ(-x) = -π / (x sin πx).
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.exponential import EXP_RANGE, LN2, exp_polynomial, reduce_argument, scale
from adjoint.compile.vector_math.logarithm import log, log_of_sum, normal, series, split
from adjoint.compile.vector_math.power import log_in_two_parts
from adjoint.compile.vector_math.trigonometric import sine_and_cosine_of_pi_times
from adjoint.compile.vector_math.vectors import (
    Lanes,
    at_least,
    at_most,
    copy_sign,
    fma,
    polynomial,
    rarely,
    steady_polynomial,
    through_double,
    where,
)

STIRLING_FROM = 4.5

# log Γ(2 + t) / t - 1 and 1 / Γ(2 + t), -0.6 <= t <= 0.5: tools/minimax.py log_gamma, inverse_gamma
# (2^-55.5, 2^-57.9).
LOG_GAMMA = (
    -0.5772156649015329, 0.32246703342411304, -0.06735230105319699, 0.020580808427812573, -0.007385551028650462,
    0.0028905103292299257, -0.0011927539158810097, 0.0005096695621098928, -0.00022315463162335866,
    9.94570331567201e-05, -4.492802831471698e-05, 2.0510543317293254e-05, -9.425619162834388e-06,
    4.36301769700309e-06, -2.1000742615046594e-06, 9.702040481506341e-07, -3.052909571661298e-07,
    2.3115805602990993e-07, -2.507405666875546e-07,
)  # fmt: skip
LOG_GAMMA_2 = 0.42278433509846713  # ψ(2) = 1 - γ, the derivative at 2
INVERSE_GAMMA = (
    1.0, -0.42278433509846725, -0.2330937364217867, 0.19109110138770571, -0.024552490005400135,
    -0.01764524455069982, 0.00802327302212989, -0.0008043297658945312, -0.00036083781159753346,
    0.0001455960536436528, -1.7545919975745712e-05, -2.588556098307126e-06, 1.338873443511525e-06,
    -2.066035863001624e-07, -1.2640492710976832e-09, 7.483171434507542e-09,
)  # fmt: skip

# x (log Γ(x) - ((x - ½) log x - x + ½ log 2π)) in powers of 1/x², x >= 4.5: tools/minimax.py stirling (2^-62.8).
STIRLING = (
    0.0833333333333333, -0.0027777777777375674, 0.000793650778961912, -0.0005952356412699502, 0.000841526312817748,
    -0.0019052203353222162, 0.005987329364916279, -0.020232037533236432, 0.044979989877128285,
)  # fmt: skip

# ψ(1.5 + t) / (1.5 + t - PSI_ROOT) - 1, |t| <= 1/2: tools/minimax.py psi (2^-55.9).
PSI_ROOT = (1.4616321449683622, 9.549995429965697e-17)
PSI = (
    -0.04894412396816711, -0.4236274212814606, 0.24054248424077454, -0.14840492305388883, 0.0949887244549193,
    -0.061922133274740186, 0.04076083381299337, -0.026975796690536916, 0.01790725243334333, -0.01190821942348128,
    0.007926944648643023, -0.005279946290479054, 0.003519006967584665, -0.002345420063166856, 0.0015566260563083885,
    -0.0010368473782492425, 0.0007233526729961662, -0.00048471024504518235, 0.00022717397990728626,
    -0.00014701806767576528, 0.0002597388573547224, -0.00017652931062475902,
)  # fmt: skip

# x² (log x - 1/(2x) - ψ(x)) in powers of 1/x², x >= 5: tools/minimax.py psi_series (2^-59.6).
PSI_SERIES = (
    0.08333333333332875, -0.008333333329511118, 0.0039682528747609375, -0.004166514246260282, 0.007563844270700096,
    -0.020536228281692086, 0.06743283453035927, -0.1652533203796432,
)  # fmt: skip


def recurrence(x: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """t, p, a and whether x < 1.4, for -½ <= x < 4.5.

    Γ(x) = p Γ(2 + t), -0.6 <= t <= ½, with p = (x - 1)(x - 2)… for x >= 1.4; below, Γ(x) = Γ(2 + t) / a with a = x or
    x (x + 1).
    """
    below, lowest = x < 1.4, x < 0.5
    once, twice = x >= 2.5, x >= 3.5
    t = where(lowest, x, where(below, x - 1.0, where(twice, x - 4.0, where(once, x - 3.0, x - 2.0))))
    p = where(once, x - 1.0, x.of(1.0)) * where(twice, x - 2.0, x.of(1.0))
    a = where(lowest, copy_sign(fma(x, x, x), x), x)
    return t, p, a, below


def stirling_rest(x: Lanes) -> Lanes:
    """log Γ(x) - ((x - ½) log x - x + ½ log 2π) for x >= 4.5."""
    w = 1.0 / at_least(x, STIRLING_FROM)
    return w * polynomial(w * w, STIRLING)


def log_gamma(x: Lanes) -> Lanes:
    """log|Γ(x)|.

    Near 1 it is log Γ(1 + x) - log x, where both vanish: with log x = f - g h, f = x - 1, the two terms in f are
    joined before anything is rounded.
    """
    reflected = x < -0.5
    v = where(reflected, -x, x)
    large = v >= STIRLING_FROM
    t, p, a, below = recurrence(v)
    y, more = normal(abs(where(large, v, where(below, a, p))))
    k, m, _ = split(y)
    k = k + more
    f = m - 1.0
    high, low = LN2[x.format.scalar]
    g, h = series(f)
    logarithm = fma(k, high, f - fma(g, h, k * -low))
    rest = steady_polynomial(t, LOG_GAMMA[1:], 3)
    ratio = fma(t, rest, LOG_GAMMA_2)
    near = fma(t, ratio, where(below, -logarithm, logarithm))
    near = where(below & f.equals(v - 1.0), fma(t, fma(t, rest, LOG_GAMMA[0]), g * h), near)
    constant = 0.5 * math.log(2 * math.pi) - 0.5
    far = fma(v - 0.5, logarithm - 1.0, stirling_rest(v) + constant)
    positive = where(v.equals(0.0), v.of(math.inf), where(large, far, near))

    def reflect() -> Lanes:
        sine, _ = sine_and_cosine_of_pi_times(x)
        result = log(math.pi / (v * abs(sine))) - positive
        result = where(sine.equals(0.0), x.of(math.inf), result)  # where both terms are infinite
        return where(v < math.inf, result, x.of(-math.inf))  # at -∞ as SciPy

    return rarely(reflected, positive, reflect)


def gamma_or_inverse(x: Lanes, inverse: bool) -> Lanes:
    """Γ(x), or 1 / Γ(x).

    For large x the exponent (x - ½) log x - x reaches hundreds: it is computed as a sum of two numbers, as in `power`.
    """
    reflected = x < -0.5
    v = where(reflected, -x, x)
    # 1 / Γ(|x|) is wanted for one of the two
    upside_down = ~reflected if inverse else reflected
    t, p, a, below = recurrence(v)
    r = steady_polynomial(t, INVERSE_GAMMA, 3)
    top, bottom = where(below, v.of(1.0), p), where(below, a * r, r)
    near = where(upside_down, bottom, top) / where(upside_down, top, bottom)
    b = at_least(at_most(v, 250.0), STIRLING_FROM)
    high, low = log_in_two_parts(b)
    q = b - 0.5
    product = q * high
    product_low = fma(q, low, fma(q, high, -product))
    s = product - b
    rest = ((product - s) - b) + (product_low + stirling_rest(b))
    s, rest = where(upside_down, -s, s), where(upside_down, -rest, rest)
    root = math.sqrt(2 * math.pi)
    least, most = EXP_RANGE["double"]
    z, n = reduce_argument(at_least(at_most(s, most), least), 2 * x.format.bias)
    far = scale(exp_polynomial(z + rest) * where(upside_down, v.of(1 / root), root), n)
    result = where(v >= STIRLING_FROM, far, near)

    def reflect() -> Lanes:
        sine, _ = sine_and_cosine_of_pi_times(x)
        factor = x * sine * (-1 / math.pi)
        if inverse:
            return where(v < math.inf, where(sine.equals(0.0), x.of(0.0), result * factor), 0.0)
        return where(sine.equals(0.0) | ~(v < math.inf), x.of(math.nan), result / factor)

    return rarely(reflected, result, reflect)


def psi(x: Lanes) -> Lanes:
    """ψ(x); below 0 by ψ(x) = ψ(1 - x) - π / tan πx."""
    reflected = x < 0.0
    v = where(reflected, 1.0 - x, x)
    large = v >= 5.0
    # ψ(v) = ψ(y) + n/d, y in [1, 2)
    below, once, twice, thrice = v < 1.0, v >= 2.0, v >= 3.0, v >= 4.0
    one, f1, f2, f3 = v.of(1.0), v - 1.0, v - 2.0, v - 3.0
    n = where(below, v.of(-1.0), where(once, one, 0.0))
    d = where(below, v, where(once, f1, one))
    n, d = where(twice, fma(n, f2, d), n), where(twice, d * f2, d)
    n, d = where(thrice, fma(n, f3, d), n), where(thrice, d * f3, d)
    ratio = where(large, one, n) / where(large, v, d)
    t = where(below, v - 0.5, where(thrice, v - 4.5, where(twice, v - 3.5, where(once, v - 2.5, v - 1.5))))
    root, root_low = PSI_ROOT
    difference = (t - (root - 1.5)) - root_low
    near = fma(difference, steady_polynomial(t, PSI, 3), difference) + ratio
    far = psi_far(at_least(v, 5.0), ratio)
    positive = where(large, where(v < math.inf, far, v), near)

    def reflect() -> Lanes:
        sine, cosine = sine_and_cosine_of_pi_times(x)
        result = positive - math.pi * cosine / sine
        return where(sine.equals(0.0) | ~(v < math.inf), x.of(math.nan), result)

    return rarely(reflected, positive, reflect)


def psi_far(v: Lanes, w: Lanes) -> Lanes:
    """log v - w/2 - w² Q(w²), w = 1/v."""
    z = w * w
    return (log_of_sum(v, v.of(0.0)) - 0.5 * w) - z * polynomial(z, PSI_SERIES)


gammaln = through_double(log_gamma)
gamma = through_double(lambda x: gamma_or_inverse(x, False))
rgamma = through_double(lambda x: gamma_or_inverse(x, True))
digamma = through_double(psi)
