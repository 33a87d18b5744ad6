"""erf, erfc, erfcx and the normal distribution function.

For |x| < 1 erf x = x + x E(x²); beyond, erf x = 1 - e^Q(x) with Q = log erfc, for which few digits suffice as x grows.
erfc needs all digits however small it is: e^(-x²) erfcx x, where erfcx is smooth and changes slowly.
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.exponential import exp_polynomial, reduce_argument, scale
from adjoint.compile.vector_math.logarithm import log_of_sum
from adjoint.compile.vector_math.vectors import (
    Lanes,
    at_least,
    at_most,
    fma,
    polynomial,
    sign_bit,
    steady_polynomial,
    where,
    with_sign,
)

# erf(x) / x - 1 in powers of x², |x| <= 1, relative to erf: tools/minimax.py erf, erf_single.
ERF = {
    "double": (
        0.12837916709551256, -0.37612638903183343, 0.11283791670936891, -0.026866170641937286, 0.00522397759644472,
        -0.0008548325465339027, 0.00012055279730389716, -1.4924447389530728e-05, 1.644388093966977e-06,
        -1.6181582250643323e-07, 1.3604788381557625e-08, -7.582808948491525e-10,
    ),
    "float": (
        0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026,
        0.005187162198126316, -0.0007997852517291903, 7.806896610418335e-05,
    ),
}  # fmt: skip

# log erfc x, 1 <= x <= 6 (double), 4 (float), error times erfc: tools/minimax.py log_erfc, log_erfc_single.
LOG_ERFC = {
    "double": (
        -5.135005411475021e-07, -1.1283739892409401, -0.6366440660347702, -0.1027022599510988, 0.018987985788015707,
        0.0004136142227241884, -0.0019190269437695403, 0.0007731090502730562, -0.00013659615653506332,
        -1.950275770897929e-05, 2.2524931391015376e-05, -8.576317606564684e-06, 2.114207528454754e-06,
        -3.6945740432214297e-07, 4.591878159323989e-08, -3.888683237904405e-09, 2.01958782614308e-10,
        -4.863113833136551e-12,
    ),
    "float": (
        -0.0003538245218805969, -1.1270395517349243, -0.6382265686988831, -0.10303653031587601, 0.021804895251989365,
        -0.0029394999146461487, 0.00018556352006271482,
    ),
}  # fmt: skip

# The same for |x| <= 0.45: tools/minimax.py erf_near, erf_near_single.
ERF_NEAR = {
    "double": (
        0.1283791670955126, -0.3761263890318451, 0.11283791671030678, -0.026866170673762773, 0.00522397815276963,
        -0.0008548378598754185, 0.00012057982422522953, -1.498506578847885e-05, 1.6421441495878647e-06,
    ),
    "float": (
        0.12837916612625122, -0.37612617015838623, 0.1128302738070488, -0.02677278220653534, 0.004754539579153061,
    ),
}  # fmt: skip

# (x + 3) erfcx(x) - 1 in powers of t = (x - 3) / (x + 3), x >= 0.45, error relative to erfcx:
# tools/minimax.py erfcx, erfcx_single (2^-56.5, 2^-27.7).
ERFCX = {
    "double": (
        0.07400690708833971, -0.8833944531698839, 0.5902283571041, -0.31046726190053864, 0.11952776128738989,
        -0.02682723462557518, -0.0012124166292962937, 0.003034062020642444, -0.0005483096716466698,
        -0.0002767780370478965, 0.00010756139900204088, 3.0399287398131994e-05, -1.7470513335460335e-05,
        -4.753358978456433e-06, 2.766492719246172e-06, 1.0083971095604598e-06, -4.129101816789215e-07,
        -2.4662393449319615e-07, 5.588977084025596e-08, 6.008380333388392e-08, -1.0771555047664608e-08,
        -1.0411010051534083e-08, 3.1204647777705998e-09,
    ),
    "float": (
        0.07400690764188766, -0.8833944201469421, 0.5902283191680908, -0.31046754121780396, 0.1195279061794281,
        -0.026825478300452232, -0.0012113661505281925, 0.0030232793651521206, -0.0005504294531419873,
        -0.0002463442797306925, 9.875341493170708e-05,
    ),
}  # fmt: skip

FARTHEST = {"double": 28.0, "float": 12.0}  # beyond, e^(-x²) is 0 and e^(x²) infinite


def erf(x: Lanes) -> Lanes:
    form = x.format
    a = abs(x)
    z = a * a
    near = fma(a, polynomial(z, ERF[form.scalar]), a)
    b = at_most(a, 6.0 if form.scalar == "double" else 4.0)
    r, bits = reduce_argument(polynomial(b, LOG_ERFC[form.scalar]), form.bias)
    far = fma(exp_polynomial(r), -((bits << form.mantissa).float()), 1.0)
    return with_sign(where(a < 1.0, near, far), sign_bit(x))


def erf_near(x: Lanes) -> Lanes:
    """erf x for |x| <= 0.45."""
    return fma(x, polynomial(x * x, ERF_NEAR[x.format.scalar]), x)


def erfcx_far(a: Lanes) -> Lanes:
    """e^(a²) erfc a = u (1 + P(t)) with u = 1 / (a + 3), t = (a - 3) / (a + 3) = 1 - 6 u, for a >= 0.45."""
    d = a + 3.0
    u = 1.0 / d
    u_low = u * fma(u, (d - 3.0) - a, fma(-d, u, 1.0))  # what u lacks: the rounding of the sum and of the quotient
    t = fma(u_low, -6.0, fma(u, -6.0, 1.0))
    p = steady_polynomial(t, ERFCX[a.format.scalar], 5) + 1.0
    return where(a.equals(math.inf), a.of(0.0), fma(p, u, p * u_low))


def gaussian(b: Lanes, factor: float, times: Lanes) -> Lanes:
    """`times` · e^(factor b²), the square with all its digits; b² times the factor is in the range of exp."""
    square = b * b
    lost = fma(b, b, -square)
    r, bits = reduce_argument(square * factor, 2 * b.format.bias)
    return scale(exp_polynomial(fma(lost, factor, r)) * times, bits)


def erfc(x: Lanes) -> Lanes:
    a = abs(x)
    tail = gaussian(at_most(a, FARTHEST[x.format.scalar]), -1.0, erfcx_far(a))
    return where(a < 0.45, 1.0 - erf_near(x), where(x < 0.0, 2.0 - tail, tail))


def erfcx(x: Lanes) -> Lanes:
    """e^(x²) erfc x."""
    a = abs(x)
    near = a < 0.45
    far = erfcx_far(a)
    grown = gaussian(at_most(a, FARTHEST[x.format.scalar]), 1.0, where(near, 1.0 - erf_near(x), x.of(2.0)))
    return where(near, grown, where(x < 0.0, grown - far, far))


def normal_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """For |x| < 0.63 the normal distribution's Φ(x), and whether; erfcx(|x|/√2) / 2, and its product with e^(-x²/2)."""
    a = abs(x)
    y = x * math.sqrt(0.5)
    half = erfcx_far(abs(y)) * 0.5
    tail = gaussian(at_most(a, 1.5 * FARTHEST[x.format.scalar]), -0.5, half)
    return fma(erf_near(y), 0.5, 0.5), a < 0.63, half, tail


def ndtr(x: Lanes) -> Lanes:
    """Φ(x) = ½ erfc(-x/√2)."""
    middle, near, _, tail = normal_parts(x)
    return where(near, middle, where(x < 0.0, tail, 1.0 - tail))


def log_ndtr(x: Lanes) -> Lanes:
    """log Φ(x); far below 0 it is log(erfcx(|x|/√2) / 2) - x²/2."""
    middle, near, half, tail = normal_parts(x)
    below = (x < 0.0) & ~near
    above = 1.0 - tail
    u = where(near, middle, where(below, at_least(half, x.format.smallest), above))
    y = log_of_sum(u, where(near | below, x.of(0.0), (1.0 - above) - tail))
    y = where(x > 9.0, -tail, y)  # log(1 - tail)
    return where(below, fma(x * -0.5, x, y), y)  # x² may overflow where half of it does not
