"""Struve's functions H and L in the argument and in the order, their integrals, and ∫ xᵏ J_ν(2ax) dx.

In the order: the power series near 0 and for L; for larger x, H_v = Y_v + K_v with

    K_v(x) = 2 (x/2)ᵛ / (√π Γ(v+½)) ∫ e^(-xt) (1+t²)^(v-½) dt  from 0 to ∞.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.ops.special.declare import SQRT_PI, named, partial_of, unary
from adjoint.ops.special.library import special, where
from adjoint.ops.special.quadrature import exp_sinh, placed, spread_out, tanh_sinh
from adjoint.program.types import Value

NEAR = 9.0
TERMS = 420


def _struve_term(v: Value, x: Value) -> Value:
    """(x/2)ᵛ / (√π Γ(v + 3/2))."""
    return np.power(0.5 * x, v) * special.rgamma(v + 1.5) / SQRT_PI


def _reciprocal_derivative(y: Value) -> Value:
    """d(1/Γ)/dy."""
    return UFUNCS[special.rgamma].factor(0, (y,), special.rgamma(y))  # type: ignore[attr-defined]


def _small_series(v: Value, x: Value) -> Value:
    """∂/∂v Σ (-1)ᵏ (x/2)^(2k+v+1) / (Γ(k+3/2) Γ(k+v+3/2)), for x up to NEAR."""
    v, x = spread_out(v, x)
    k = np.arange(40.0)
    h = 0.5 * x
    y = k + v + 1.5
    scale = where(k % 2 == 0, 1.0, -1.0) * np.power(h, 2.0 * k + v + 1.0) * special.rgamma(k + 1.5)
    return np.sum(scale * (np.log(h) * special.rgamma(y) + _reciprocal_derivative(y)), axis=-1)


@placed
def _first_term(v: Value, x: Value) -> Value:
    """The window of the series of L, whose greatest term is near k = x/2 - v/2."""
    top = np.maximum(0.25 * (np.sqrt(v * v + x * x) - v), 0.0) * 2.0
    top = where(np.isfinite(top), top, 0.0)
    return np.floor(np.maximum(top - 0.5 * TERMS, 0.0))


def _modified_series(v: Value, x: Value) -> Value:
    """∂/∂v Σ (x/2)^(2k+v+1) / (Γ(k+3/2) Γ(k+v+3/2)); the terms have one sign from v = -3/2 on."""
    v, x, start = spread_out(v, x, _first_term(v, x))
    k = start + np.arange(float(TERMS))
    y = k + v + 1.5
    power = (2.0 * k + v + 1.0) * np.log(0.5 * x) - special.gammaln(k + 1.5)
    positive = y > 0.5
    far, near = where(positive, y, 1.0), where(positive, 1.0, y)
    large = np.exp(power - special.gammaln(far)) * (np.log(0.5 * x) - special.psi(far))
    low = where(positive, 0.0, power)
    small = np.exp(low) * (np.log(0.5 * x) * special.rgamma(near) + _reciprocal_derivative(near))
    return np.sum(where(positive, large, small), axis=-1)


@placed
def _scale(v: Value, x: Value) -> Value:
    """Where e^(-xt) (1+t²)^(v-½) ends: t x about 1, or where its exponent has a maximum."""
    power = np.maximum(2.0 * v - 1.0, 0.0)
    return np.maximum(1.0 / x, 0.5 * (power + np.sqrt(np.maximum(power * power - 4.0 * x * x, 0.0))) / x)


def _order_of_k(v: Value, x: Value) -> Value:
    """∂K_v/∂v: the factor is log(x/2) - ψ(v+½) + log(1+t²)."""
    v, x, scale = spread_out(v, x, _scale(v, x))
    nodes, weights = exp_sinh(161, -4.4, 3.2)
    t = scale * nodes
    y = v + 0.5
    spread = np.log1p(t * t)
    kernel = np.exp(-x * t + (v - 0.5) * spread) * (scale * weights)
    rate = np.log(0.5 * x) + spread
    total = np.sum(kernel * (rate * special.rgamma(y) + _reciprocal_derivative(y)), axis=-1)
    return 2.0 / SQRT_PI * np.power(0.5 * x[..., 0], v[..., 0]) * total


def _right_of_zero(f: Callable[..., Value]) -> Callable[..., Value]:
    """At x = 0 the derivative in the order is 0 for v > -1; left of it, a function of a real order is complex."""

    def derivative(v: Value, x: Value) -> Value:
        right = x > 0
        return where(right, f(v, where(right, x, 1.0)), where(np.equal(x, 0) & (v > -1.0), 0.0, np.nan))

    return derivative


@_right_of_zero
def _order_of_h(v: Value, x: Value) -> Value:
    near = x < NEAR
    inner, outer = where(near, x, 1.0), where(near, 2.0 * NEAR, x)
    return where(near, _small_series(v, inner), partial_of(special.yv, "v", v, outer) + _order_of_k(v, outer))


named(
    special.struve,
    "v x",
    v=_order_of_h,
    x=lambda v, x: 0.5 * (special.struve(v - 1.0, x) - special.struve(v + 1.0, x) + _struve_term(v, x)),
)
named(
    special.modstruve,
    "v x",
    v=_right_of_zero(_modified_series),
    x=lambda v, x: 0.5 * (special.modstruve(v - 1.0, x) + special.modstruve(v + 1.0, x) + _struve_term(v, x)),
)

unary(special.itstruve0, lambda x: special.struve(0.0, x))
unary(special.itmodstruve0, lambda x: special.modstruve(0.0, x))
unary(special.it2struve0, lambda x: -special.struve(0.0, x) / x)


def _polynomial_integral(a: Value, lmb: Value, nu: Value, factor: Callable[..., Value]) -> Value:
    """∫ xᵏ factor(x, y, ν) dx from 0 to 1, k = λ, y = 2ax."""
    x, _, weights = tanh_sinh(201, 3.6)
    a, lmb, nu = spread_out(a, lmb, nu)
    return np.sum(np.exp(lmb * np.log(x)) * factor(x, 2.0 * a * x, nu) * weights, axis=-1)


def _argument_factor(x: Value, y: Value, nu: Value) -> Value:
    return x * (special.jv(nu - 1.0, y) - special.jv(nu + 1.0, y))


def _power_factor(x: Value, y: Value, nu: Value) -> Value:
    return np.log(x) * special.jv(nu, y)


def _order_factor(x: Value, y: Value, nu: Value) -> Value:
    return partial_of(special.jv, "v", nu, y)


named(  # SciPy sums a power series, which loses digits from a = 5 on: the integral keeps them
    special.besselpoly,
    "a lmb nu",
    a=lambda a, lmb, nu: _polynomial_integral(a, lmb, nu, _argument_factor),
    lmb=lambda a, lmb, nu: _polynomial_integral(a, lmb, nu, _power_factor),
    nu=lambda a, lmb, nu: _polynomial_integral(a, lmb, nu, _order_factor),
)
