"""Incomplete gamma and beta functions in their parameters, of any order.

The derivative of a distribution function ∫ f dt in a parameter is ∫ f w dt, where w has mean 0; so it may be taken over
either side of x, and on the side chosen here w has one sign (order one): nothing cancels. The integral over log t
(log t/(1-t) for beta) has a concave exponent, which is followed until it has fallen by 40, with Gauss's nodes.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from adjoint.ops.special.beta import digamma_difference
from adjoint.ops.special.declare import named, polynomial
from adjoint.ops.special.gamma import beta_density, gamma_density, polygamma
from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.parameters import Orders, bell, family, gauss, polygammas
from adjoint.program.types import Value

FALL = 40.0
_DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]
_BOWL = [(-1.0) ** n / special.gamma(n + 3.0) for n in range(14)]  # (e⁻ᵘ - 1 + u)/u²


def _bowl(u: Any, sign: Any) -> Any:
    """e^(∓u) - 1 ± u."""
    near = np.abs(u) < 0.5
    v = sign * u
    return where(near, v * v * polynomial(_BOWL, where(near, v, 0.0)), np.expm1(-v) + v)


def _digamma_gap(a: Any) -> Any:
    """log a - ψ(a)."""
    wide = np.maximum(a, 12.0)
    r = 1.0 / (wide * wide)
    return where(a > 12.0, 0.5 / wide + r * polynomial(_DIGAMMA, r), np.log(a) - special.psi(a))


def _gamma_series(n: int, a: Any, x: Any) -> Any:
    """Σ ∂ᵃ x^(a+k) e⁻ˣ/Γ(a+k+1), for x ≤ 1."""
    k = np.arange(24.0)
    s, y = a[:, None] + k, x[:, None]
    rates = polygammas(n, s + 1.0)
    logarithm = np.log(y)
    rates = [logarithm - rates[0], *[-r for r in rates[1:]]]
    term = np.exp(s * logarithm - y - special.gammaln(s + 1.0))
    return np.sum(where(term > 0, term * bell(n, rates), 0.0), axis=1)


def _gamma_integral(n: int, a: Any, x: Any) -> Any:
    """∫ over t < x, or minus that over t > x, of the density times the weight; t = x e^(∓u)."""
    gap = np.log1p((x - a) / a) + _digamma_gap(a)  # log x - ψ(a)
    lower = gap < 0
    side = where(lower, 1.0, -1.0)
    derivative = side * (a - x)
    reach = where(
        lower,
        np.minimum((FALL + x) / a, where(x > 120.0, np.sqrt(120.0 / x), np.inf)),
        (0.5 + np.sqrt(0.25 + 2.0 * FALL * x)) / x,
    )
    reach = where(lower | (x > 50.0), reach, np.minimum(reach, np.log1p((FALL + 5.0 * a + 5.0) / x)))
    for _ in range(8):  # Newton's steps, from the right
        fall = derivative * reach + x * _bowl(reach, side) - FALL
        rate = derivative + x * side * -np.expm1(-side * reach)
        reach = where((fall > 0) & (rate > 0), reach - fall / rate, reach)
    v, weights = gauss(40)
    u = reach[:, None] * v
    side, x, a = side[:, None], x[:, None], a[:, None]
    rates = [gap[:, None] - side * u, *[-special.polygamma(k, a) for k in range(1, n)]]
    fall = derivative[:, None] * u + x * _bowl(u, side)
    inner = np.sum(np.exp(-fall) * bell(n, rates) * weights, axis=1)
    return side[:, 0] * reach * inner * _gamma_factor(a[:, 0], x[:, 0])


def _gamma_factor(a: Any, x: Any) -> Any:
    """xᵃ e⁻ˣ/Γ(a)."""
    wide = np.maximum(a, 10.0)
    r = 1.0 / (wide * wide)
    stirling = 1 / 12 + r * (-1 / 360 + r * (1 / 1260 + r * (-1 / 1680 + r / 1188)))
    large = np.exp(wide * ufuncs._log1pmx((x - wide) / wide) - stirling / wide) * np.sqrt(wide / (2.0 * np.pi))
    return where(a > 10.0, large, np.exp(a * np.log(x) - x) * special.rgamma(a))


def gamma_kernel(orders: Orders, a: Any, x: Any) -> Any:
    """∂ⁿP(a, x)/∂aⁿ, n ≥ 1."""
    n = orders[0]
    z = where((x == 0) | np.isposinf(x), 0.0, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    small = inside & (x <= 1.0)
    large = inside & (x > 1.0)
    for here, method in ((small, _gamma_series), (large, _gamma_integral)):
        if np.any(here):
            z[here] = method(n, a[here], x[here])
    return z


def _beta_rates(i: int, j: int, a: Any, b: Any) -> dict[tuple[int, int], Any]:
    """Derivatives of -log B(a, b) of order two and more."""
    terms: dict[tuple[int, int], Any] = {}
    for k in range(i + 1):
        for l in range(j + 1):
            if k + l > 1:
                both = polygamma(k + l - 1, a + b)
                alone = polygamma(k + l - 1, a if l == 0 else b) if k == 0 or l == 0 else 0.0
                terms[k, l] = both - alone
    return terms


def beta_weight(i: int, j: int, first: Any, second: Any, rates: dict[tuple[int, int], Any]) -> Any:
    """e^(-f) ∂ᵢ∂ⱼ e^f, where f = a log t + b log(1-t) - log B(a, b): Bell's polynomials in two letters."""
    rates = {**rates, (1, 0): first, (0, 1): second}
    weights: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for k in range(i + 1):
        for l in range(j + 1):
            if k == l == 0:
                continue
            p, q = (k - 1, l) if k else (k, l - 1)  # take one derivative, then spread the others over the product
            one = (1, 0) if k else (0, 1)
            weights[k, l] = sum(
                comb(p, r) * comb(q, s) * rates[r + one[0], s + one[1]] * weights[p - r, q - s]
                for r in range(p + 1)
                for s in range(q + 1)
            )
    return weights[i, j]


def _beta_side(a: Any, b: Any, x: Any, y: Any, fx: Any, fy: Any, i: int, j: int, rates: Any) -> Any:
    """∫ over t < x, y = 1 - x, of the density times the weight; log t/(1-t) = log x/y - v.

    fx, fy: log x and log y less the means of log t and log(1-t).
    """
    start = np.log(x / y)
    reach = np.maximum((FALL - (a + b) * np.log(y)) / a, 1e-300)
    for _ in range(30):
        fall = a * reach + (a + b) * np.log1p(x * np.expm1(-reach)) - FALL
        rate = a - (a + b) * x / (x + y * np.exp(np.minimum(reach, 700.0)))
        step = where((fall > 0) & (rate > 0), fall / rate, 0.0)
        reach = reach - step
        if np.all(step <= 0.05 * reach):
            break
    middle = np.clip(start, 0.0, reach)
    a, b, x, y, fx, fy = (value[:, None] for value in (a, b, x, y, fx, fy))
    rates = {key: value[:, None] for key, value in rates.items()}
    total = 0.0
    for length, sign in ((middle, -1.0), (reach - middle, 1.0)):  # from t = ½ both ways: the poles are at distance π
        t, weights = gauss(44)
        w = np.arcsinh(length / 2.0)[:, None]
        s = w * t
        v = middle[:, None] + sign * 2.0 * np.sinh(s)
        jacobian = 2.0 * np.cosh(s) * w * weights
        shift = where(v < 1.0, np.log1p(x * np.expm1(-v)), np.log(y + x * np.exp(-v)))  # log (1-x)/(1-t)
        drop = where(v < 30.0, np.log1p(y * np.expm1(np.minimum(v, 30.0))), v + shift)  # log x/t
        term = np.exp(-a * v - (a + b) * shift) * beta_weight(i, j, fx - drop, fy - shift, rates)
        total = total + np.sum(term * jacobian, axis=1)
    return total


def beta_kernel(orders: Orders, a: Any, b: Any, x: Any) -> Any:
    """∂ⁱ∂ʲ I_x(a, b)/∂aⁱ∂bʲ, i + j ≥ 1."""
    i, j, _ = orders
    z = where((x == 0) | (x == 1), 0.0, np.nan)
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    if not np.any(inside):
        return z
    a, b, x = a[inside], b[inside], x[inside]
    y = 1.0 - x
    fx, fy = np.log(x) + digamma_difference(a, b), np.log1p(-x) + digamma_difference(b, a)
    lower = fx < 0 if j == 0 else fy > 0 if i == 0 else x * (a + b) < a
    rates = _beta_rates(i, j, a, b)
    values = np.empty_like(x)
    p, q = lower, ~lower
    if np.any(p):
        here = {key: value[p] for key, value in rates.items()}
        values[p] = _beta_side(a[p], b[p], x[p], y[p], fx[p], fy[p], i, j, here)
    if np.any(q):
        here = {key[::-1]: value[q] for key, value in rates.items()}
        values[q] = -_beta_side(b[q], a[q], y[q], x[q], fy[q], fx[q], j, i, here)
    z[inside] = values * beta_factor(a, b, x)
    return z


def beta_factor(a: Any, b: Any, x: Any) -> Any:
    """xᵃ (1-x)ᵇ/B(a, b); for large a and b by the distance from the peak."""
    s = a + b
    p, q = a / s, b / s
    large = np.minimum(a, b) > 10.0
    gap = x - p
    exponent = a * ufuncs._log1pmx(gap / p) + b * ufuncs._log1pmx(-gap / q)
    correction = sum(
        sign * c / value ** (2 * k + 1)
        for sign, value in ((-1.0, a), (-1.0, b), (1.0, s))
        for k, c in enumerate((1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188))
    )
    wide = np.exp(exponent + correction) * np.sqrt(a * q / (2.0 * np.pi))
    direct = np.power(x, a) * np.power(1.0 - x, b) / special.beta(a, b)
    safe = (direct > 1e-280) & np.isfinite(direct)
    logarithmic = np.exp(a * np.log(x) + b * np.log1p(-x) - special.betaln(a, b))
    return where(large, wide, where(safe, direct, logarithmic))


# ---------------------------------------------------------------- rules


def _gamma_derivative(orders: Orders, a: Value, x: Value) -> Value:
    """∂/∂x ∂ⁿP/∂aⁿ: the n-th derivative of the density in a."""
    n = orders[0]
    inside = x > 0
    rates = [np.log(where(inside, x, 1.0)) - special.psi(a), *[-polygamma(k, a) for k in range(1, n)]]
    return where(inside, gamma_density(a, where(inside, x, 1.0)) * bell(n, rates), 0.0)


def _beta_derivative(orders: Orders, a: Value, b: Value, x: Value) -> Value:
    """∂/∂x ∂ⁱ∂ʲI/∂aⁱ∂bʲ: the derivative of the density in a and b."""
    i, j, _ = orders
    inside = (x > 0) & (x < 1)
    t = where(inside, x, 0.5)
    first, second = np.log(t) + digamma_difference(a, b), np.log1p(-t) + digamma_difference(b, a)
    weight = beta_weight(i, j, first, second, _beta_rates(i, j, a, b))
    return where(inside, beta_density(a, b, t) * weight, 0.0)


def _minus_quotient(p: Value, q: Value, is_varying: Value) -> Value:
    """-p/q, and 0 where the quantile is constant."""
    return where(is_varying, -p / where(is_varying, q, 1.0), 0.0)


_gamma = family(special.gammainc, "a x", gamma_kernel, "a", most=5, derivatives={"x": _gamma_derivative})["a"]
_beta = family(special.betainc, "a b x", beta_kernel, "a b", most=5, derivatives={"x": _beta_derivative})


def _gamma_quantile(a: Value, z: Value) -> Value:
    """∂z/∂a where P(a, z) is fixed."""
    return _minus_quotient(_gamma(a, z), gamma_density(a, z), z > 0)


def _beta_quantile(letter: str, a: Value, b: Value, z: Value) -> Value:
    """∂z/∂a or ∂z/∂b where I_z(a, b) is fixed."""
    return _minus_quotient(_beta[letter](a, b, z), beta_density(a, b, z), (z > 0) & (z < 1))


named(special.gammainc, "a x", a=_gamma, x=gamma_density)
named(special.gammaincc, "a x", a=lambda a, x: -_gamma(a, x), x=lambda a, x: -gamma_density(a, x))
named(special.gammaincinv, "a y", a=_gamma_quantile, y=lambda a, z: 1.0 / gamma_density(a, z))
named(special.gammainccinv, "a y", a=_gamma_quantile, y=lambda a, z: -1.0 / gamma_density(a, z))
named(special.betainc, "a b x", **_beta, x=beta_density)
named(
    special.betaincc,
    "a b x",
    a=lambda a, b, x: -_beta["a"](a, b, x),
    b=lambda a, b, x: -_beta["b"](a, b, x),
    x=lambda a, b, x: -beta_density(a, b, x),
)
named(
    special.betaincinv,
    "a b y",
    a=lambda a, b, z: _beta_quantile("a", a, b, z),
    b=lambda a, b, z: _beta_quantile("b", a, b, z),
    y=lambda a, b, z: 1.0 / beta_density(a, b, z),
)
named(
    special.betainccinv,
    "a b y",
    a=lambda a, b, z: _beta_quantile("a", a, b, z),
    b=lambda a, b, z: _beta_quantile("b", a, b, z),
    y=lambda a, b, z: -1.0 / beta_density(a, b, z),
)
