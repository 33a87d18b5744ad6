"""Logistic functions, entropies and divergences, Box-Cox, Huber's losses, and SciPy's own elementary functions."""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.declare import flat, named, removable, unary
from adjoint.ops.special.library import real, special, where
from adjoint.program.types import Value

LOG_2, LOG_10, DEGREE = math.log(2.0), math.log(10.0), math.pi / 180.0

unary(special.expit, lambda x, z: z * special.expit(-x), singular=False)
unary(special.logit, lambda x: 1.0 / (x * (1.0 - x)))
unary(special.log_expit, lambda x: special.expit(-x), singular=False)

unary(special.exp2, lambda z: LOG_2 * z)
unary(special.exp10, lambda z: LOG_10 * z)
unary(special.expm1, lambda x: np.exp(x))
unary(special.log1p, lambda x: 1.0 / (1.0 + x))
unary(special.cbrt, lambda z: 1.0 / (3.0 * z * z))
unary(special.cosm1, lambda x: -np.sin(x))
unary(special.sindg, lambda x: DEGREE * special.cosdg(x))
unary(special.cosdg, lambda x: -DEGREE * special.sindg(x))
unary(special.tandg, lambda z: DEGREE * (1.0 + z * z))
unary(special.cotdg, lambda x: -DEGREE / special.sindg(x) ** 2)  # SciPy's cotdg itself loses digits near 0
flat(special.round)
named(
    special.radian,
    "d m s",
    d=lambda: DEGREE,
    m=lambda: DEGREE / 60.0,
    s=lambda: DEGREE / 3600.0,
)
named(
    special.powm1,
    "x y",
    x=lambda x, y: where(np.equal(y, 0), 0.0, y * np.power(x, where(np.equal(y, 0), 1.0, y) - 1.0)),
    y=lambda x, y: np.power(x, y) * np.log(where(np.equal(x, 0), 1.0, x)),
)

_EXPREL_DERIVATIVE = [(n + 1.0) / math.factorial(n + 2) for n in range(24)]


def exprel_derivative(x: Value) -> Value:
    """d/dx (eˣ - 1)/x = (eˣ - exprel x)/x; for x > 1, where eˣ overflows before it, exprel x (1 - 1/x) + 1/x."""
    above = real(x) > 1.0
    low, high = where(above, -2.0, x), where(above, x, 2.0)
    below = removable(low, _EXPREL_DERIVATIVE, lambda u: (np.exp(u) - special.exprel(u)) / u, 1.0)
    return where(above, special.exprel(high) * (1.0 - 1.0 / high) + 1.0 / high, below)


unary(special.exprel, exprel_derivative)


def _void(x: Value, y: Value) -> Value:
    """Where x log y is 0 by decree, although log y does not exist: x = 0 and y ≤ 0."""
    return np.equal(x, 0) & (np.equal(y, 0) | np.less(real(y), 0))


def _ratio(x: Value, y: Value) -> Value:
    """x / y, and 0 at 0/0."""
    void = _void(x, y)
    return where(void, 0.0, x / where(void, 1.0, y))


def _logarithm(x: Value, y: Value) -> Value:
    """log y, the partial of x log y in x."""
    void = _void(x, y)
    return where(void, 0.0, np.log(where(void, 1.0, y)))


def _logarithm1p(x: Value, y: Value) -> Value:
    """log(1 + y), the partial of x log(1 + y) in x."""
    void = _void(x, 1.0 + y)
    return where(void, 0.0, np.log1p(where(void, 0.0, y)))


named(special.xlogy, "x y", x=_logarithm, y=_ratio)
named(special.xlog1py, "x y", x=_logarithm1p, y=lambda x, y: _ratio(x, 1.0 + y))
unary(special.entr, lambda x: -1.0 - np.log(x))
named(special.rel_entr, "x y", x=lambda x, y: np.log(x / y) + 1.0, y=lambda x, y: -_ratio(x, y))
named(special.kl_div, "x y", x=lambda x, y: np.log(x / y), y=lambda x, y: 1.0 - _ratio(x, y))


# ∂/∂λ of (1 + λ y)^(1/λ) is z y² g(λ y), g(u) = 1/(u (1+u)) - log(1+u)/u²
_INVERSE = [-((-1.0) ** n) * (n + 1.0) / (n + 2.0) for n in range(40)]


def _inverse_parameter(y: Value, lam: Value, z: Value) -> Value:
    return z * y * y * removable(lam * y, _INVERSE, lambda u: 1.0 / (u * (1.0 + u)) - np.log1p(u) / (u * u), 0.3)


def _log_squared(log_x: Value, lam: Value) -> Value:
    """∂/∂λ (x^λ - 1)/λ = log²x exprel′(λ log x)."""
    return log_x * log_x * exprel_derivative(lam * log_x)


named(special.boxcox, "x lam", x=lambda x, lam: np.power(x, lam - 1.0), lam=lambda x, lam: _log_squared(np.log(x), lam))
named(
    special.boxcox1p,
    "x lam",
    x=lambda x, lam: np.power(1.0 + x, lam - 1.0),
    lam=lambda x, lam: _log_squared(np.log1p(x), lam),
)
named(special.inv_boxcox, "y lam", y=lambda lam, z: np.power(z, 1.0 - lam), lam=_inverse_parameter)
named(
    special.inv_boxcox1p,
    "y lam",
    y=lambda lam, z: np.power(1.0 + z, 1.0 - lam),
    lam=lambda y, lam, z: _inverse_parameter(y, lam, 1.0 + z),
)

named(
    special.huber,
    "delta r",
    delta=lambda delta, r: np.maximum(np.abs(r) - delta, 0.0),
    r=lambda delta, r: where(np.abs(r) <= delta, r, np.sign(r) * delta),
)


def _pseudo_huber_width(delta: Value, r: Value) -> Value:
    """∂/∂δ of δ² (s - 1), s = √(1 + (r/δ)²): r⁴ / (δ³ s (s+1)²)."""
    q = r / delta
    s = np.sqrt(1.0 + q * q)
    return delta * q * q * q * q / (s * (1.0 + s) * (1.0 + s))


named(
    special.pseudo_huber,
    "delta r",
    delta=_pseudo_huber_width,
    r=lambda delta, r: r / np.sqrt(1.0 + (r / delta) * (r / delta)),
)
