"""The beta function, Pochhammer's symbol and binomial coefficients, in all real arguments.

Their derivatives are differences of ψ, which are summed without cancellation; where the function is zero because 1/Γ
is, the derivative is that of 1/Γ.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.declare import named
from adjoint.ops.special.gamma import reciprocal_derivative
from adjoint.ops.special.library import special, where
from adjoint.program.types import Value

_DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]  # log x - 1/(2x) - ψ(x), in x⁻²
_STEPS = 12


def _right_difference(a: Value, b: Value) -> Value:
    """ψ(a+b) - ψ(a) for a, a+b > 0: Σ b/((a+k)(a+b+k)), then the differences of the terms of the asymptotic series."""
    total = 0.0
    for k in range(_STEPS):
        total = total + b / ((a + k) * (a + b + k))
    u, v = a + _STEPS, a + b + _STEPS
    gap = b / (u * v)  # 1/u - 1/v
    p, q = 1.0 / u, 1.0 / v
    first = gap * (p + q)  # u⁻² - v⁻²
    tail, difference, power = 0.0, first, p * p
    for c in _DIGAMMA:
        tail = tail + c * difference
        difference = difference * q * q + first * power
        power = power * p * p
    return total + np.log1p(b / u) + 0.5 * gap + tail


def _sine(x: Value) -> Value:
    """sin(πx), exactly zero at integers."""
    n = np.rint(x)
    return (1.0 - 2.0 * np.abs(np.remainder(n, 2.0))) * np.sin(math.pi * (x - n))


def digamma_difference(a: Value, b: Value) -> Value:
    """ψ(a+b) - ψ(a); left of 0 by reflection, which also holds where both are poles and b is whole."""
    s = a + b
    right, left = (a > 0) & (s > 0), (a <= 0) & (s <= 0)
    inside = _right_difference(where(right, a, where(left, 1.0 - s, 1.0)), where(right | left, b, 1.0))
    sine = _sine(where(left, b, 0.0))
    still = np.equal(sine, 0.0)
    below = _sine(where(left & ~still, a, 0.5)) * _sine(where(left & ~still, s, 0.5))
    mirrored = where(still, 0.0, math.pi * sine / where(still, 1.0, below)) - inside
    apart = right | left
    direct = special.psi(where(apart, 1.0, s)) - special.psi(where(apart, 1.0, a))
    return where(right, inside, where(left, mirrored, direct))


def _pole(x: Value) -> Value:
    """Whether Γ has a pole at x."""
    return (x <= 0) & np.equal(x, np.rint(x))


def _beta_derivative(a: Value, b: Value, z: Value) -> Value:
    """∂B/∂a."""
    s = a + b
    zero = _pole(s)
    regular = -z * digamma_difference(where(zero, 1.0, a), b)
    at_zero = where(zero, special.gamma(a) * special.gamma(b) * reciprocal_derivative(s, 0.0 * s), 0.0)
    return where(zero, at_zero, regular)


def _poch_derivative(a: Value, m: Value, z: Value) -> Value:
    """∂/∂a Γ(a+m)/Γ(a)."""
    zero = _pole(a) & ~_pole(a + m)
    at_zero = special.gamma(where(zero, a + m, 1.0)) * reciprocal_derivative(a, 0.0 * a)
    return where(zero, at_zero, z * digamma_difference(where(zero, 1.0, a), m))


def _binom_derivatives(n: Value, k: Value, z: Value) -> tuple[Value, Value]:
    """∂/∂n and ∂/∂k of Γ(n+1)/(Γ(k+1) Γ(n-k+1))."""
    m = n - k + 1.0
    upper, lower = _pole(m), _pole(k + 1.0)
    zero = (upper | lower) & ~_pole(n + 1.0)
    first, second = zero & ~lower, zero & ~upper
    by_k = 1.0 / special.poch(where(first, n + 1.0, 1.0), where(first, k - n, 0.0))  # Γ(n+1)/Γ(k+1)
    by_m = 1.0 / special.poch(where(second, n + 1.0, 1.0), where(second, -k, 0.0))
    rise = where(first, by_k * reciprocal_derivative(m, 0.0 * m), 0.0)
    fall = where(second, by_m * reciprocal_derivative(k + 1.0, 0.0 * k), 0.0)
    above, side = where(zero, 1.0, m), where(zero, 1.0, k)
    in_n = z * digamma_difference(above, side)
    in_k = -z * digamma_difference(above, where(zero, 1.0, 2.0 * k - n))
    return where(zero, rise, in_n), where(zero, fall - rise, in_k)


named(special.beta, "a b", a=_beta_derivative, b=lambda a, b, z: _beta_derivative(b, a, z))
named(
    special.betaln,
    "a b",
    a=lambda a, b: -digamma_difference(a, b),
    b=lambda a, b: -digamma_difference(b, a),
)
named(special.poch, "a m", a=_poch_derivative, m=lambda a, m, z: z * special.psi(a + m))
named(
    special.binom,
    "n k",
    n=lambda n, k, z: _binom_derivatives(n, k, z)[0],
    k=lambda n, k, z: _binom_derivatives(n, k, z)[1],
)
