"""The inverse of erf, and of the normal distribution function; of floats through doubles.

With q = 1 - |x| the equation erfc y = q is solved. w = -log(1 - x²) tells how far out. For w < 2.5 y = |x| (1 + P(w)).
Beyond, y is first found to 2^-20 from √w, and then by one step of Halley's method for log erfc y = log q, which is
nearly a parabola.
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.error_function import erfcx_far
from adjoint.compile.vector_math.exponential import exp_polynomial, reduce_argument
from adjoint.compile.vector_math.logarithm import log_of_sum, normal
from adjoint.compile.vector_math.vectors import (
    Lanes,
    at_least,
    fma,
    polynomial,
    sign_bit,
    square_root,
    steady_polynomial,
    through_double,
    where,
    with_sign,
)

# y / x - 1 in powers of w <= 2.5, relative to y: tools/minimax.py inverse_erf (2^-57.9).
NEAR = (
    -0.11377307454724199, 0.23201366653465527, 0.01154934203824062, -0.0023351016411495337, -0.00012804329794453872,
    4.661145820636928e-05, 2.0199323227895716e-06, -1.0124301254146353e-06, -3.749092589880587e-08,
    2.301904530146164e-08, 5.622584801230201e-10, -4.031830525674509e-10, -7.197161406654908e-11,
    3.040707297019442e-11, -3.4959222486691633e-12, 1.2737435294878234e-13, 2.400323178839738e-15,
)  # fmt: skip

# y / √w in powers of 1/√w, 1.58 <= √w <= 27.4: tools/minimax.py inverse_erf_first (2^-20.6).
FIRST = (
    1.0001724706933004, -0.020923315740554043, -1.3514140620505088, 6.2366645457176535, -23.310799651635943,
    73.7341386981923, -173.79881054767313, 289.5223862251411, -322.7862247088304, 214.30325731403764,
    -63.316394084010305,
)  # fmt: skip

ERFC_DERIVATIVE = 2 / math.sqrt(math.pi)  # -erfc′(0)


def inverse(a: Lanes, q: Lanes) -> Lanes:
    """y with erf y = a and erfc y = q, where a = 1 - q, 0 < q <= 1."""
    u, more = normal(q * (a + 1.0))  # 1 - a²
    w = -log_of_sum(u, u.of(0.0), more)
    near = fma(a, steady_polynomial(w, NEAR, 3), a)
    root = square_root(at_least(w, 2.4))
    first = root * polynomial(1.0 / root, FIRST)
    return where(w < 2.5, near, refine(first, q))


def refine(y: Lanes, q: Lanes) -> Lanes:
    """y after a step of Halley's method for F(y) = log erfc y - log q.

    With E = erfcx y, g = q e^(y²) and η = g/E - 1: F = -log(1 + η), F′ = -c/E, F″/(2 F′) = h = c/(2 E) - y;
    δ = F/F′, and the step is δ / (1 - δ h) ≈ δ (1 + δ h).
    """
    form = y.format
    e = erfcx_far(y)
    square = y * y
    r, bits = reduce_argument(square, 2 * form.bias)
    p = exp_polynomial(r + fma(y, y, -square))
    half = bits >> 1
    grown = q * (half << form.mantissa).float()  # first, for q may be subnormal
    g = grown * p * ((bits - half) << form.mantissa).float()
    inverse_e = 1.0 / e
    difference = g - e
    eta = difference * inverse_e
    delta = difference * (1 / ERFC_DERIVATIVE) * fma(eta, fma(eta, fma(eta, -0.25, 1 / 3), -0.5), 1.0)
    return y - fma(delta * delta, fma(inverse_e, 0.5 * ERFC_DERIVATIVE, -y), delta)


def inverse_error_function(x: Lanes) -> Lanes:
    a = abs(x)
    inside = a < 1.0
    b = where(inside, a, x.of(0.5))
    y = where(inside, inverse(b, 1.0 - b), where(a.equals(1.0), x.of(math.inf), math.nan))
    return with_sign(y, sign_bit(x))


def normal_quantile(p: Lanes) -> Lanes:
    """Φ(y) = p: y = ∓ √2 times the inverse of erfc at 2 min(p, 1 - p)."""
    inside = (p > 0.0) & (p < 1.0)
    b = where(inside, p, p.of(0.25))
    below = b < 0.5
    q = 2.0 * where(below, b, 1.0 - b)
    y = inverse(1.0 - q, q) * math.sqrt(2)
    y = where(below, -y, y)
    outside = where(p.equals(0.0), p.of(-math.inf), where(p.equals(1.0), p.of(math.inf), math.nan))
    return where(inside, y, outside)


erfinv = through_double(inverse_error_function)
ndtri = through_double(normal_quantile)
