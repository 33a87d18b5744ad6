"""Riemann's and Hurwitz's ζ in both arguments.

In s by the sum of Euler and Maclaurin: N terms, and the rest as an integral and J corrections with Bernoulli numbers;
left of -½ by the functional equation.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.declare import named, unary
from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.quadrature import spread_out
from adjoint.program.types import Value

TERMS, CORRECTIONS = 32, 15
LOG_2, LOG_2_PI = math.log(2.0), math.log(2.0 * math.pi)
_BERNOULLI = special.bernoulli(2 * CORRECTIONS)[2::2]


def zeta_derivative(s: Value, q: Value) -> Value:
    """∂ζ(s, q)/∂s = -Σ log(q+k) (q+k)⁻ˢ, for q > 0, Re s > -1 and |s| up to 100."""
    t, p = spread_out(s, q)
    terms = p + np.arange(float(TERMS))
    logs = np.log(terms)
    head = np.sum(-logs * np.exp(-t * logs), axis=-1)
    v = q + float(TERMS)
    log_v = np.log(v)
    power, above = np.exp(-s * log_v), s - 1.0
    tail = -v * (log_v + 1.0 / above) / above - 0.5 * log_v
    product, derivative, r = s / v, 1.0 / v, 1.0 / (v * v)  # of s (s+1) … (s+2j-2) v^(1-2j), and its derivative in s
    for j, b in enumerate(_BERNOULLI, 1):
        tail = tail + float(b) / math.factorial(2 * j) * (derivative - log_v * product)
        first, second = s + (2.0 * j - 1.0), s + 2.0 * j
        derivative = (derivative * first * second + product * (first + second)) * r
        product = product * first * second * r
    return head + power * tail


def riemann_derivative(s: Value) -> Value:
    """ζ′(s); left of -½ from ζ(s) = 2ˢ πˢ⁻¹ sin(πs/2) Γ(t) ζ(t), t = 1 - s."""
    left = np.real(s) < -0.5
    right = _right_derivative(where(left, 2.0, s))
    low = where(left, s, -1.0)
    t = 1.0 - low
    quarter = low - 4.0 * np.rint(0.25 * np.real(low))  # exact, where the sine would round π s/2
    sine, cosine = np.sin(0.5 * math.pi * quarter), np.cos(0.5 * math.pi * quarter)
    value, rate = ufuncs._riemann_zeta(t), math.log(2.0 * math.pi) - special.psi(t)
    mirrored = _scale(low, t) * ((rate * sine + 0.5 * math.pi * cosine) * value - sine * _right_derivative(t))
    return where(left, mirrored, right)


def _right_derivative(s: Value) -> Value:
    """ζ′(s) for Re s > -½: beyond 100 the first term is all there is."""
    far = np.real(s) > 100.0
    near = zeta_derivative(where(far, 2.0, s), 1.0)
    return where(far, -LOG_2 * np.exp(-LOG_2 * where(far, s, 101.0)), near)


def _scale(s: Value, t: Value) -> Value:
    """2ˢ πˢ⁻¹ Γ(t), which overflows later than Γ."""
    large = np.real(t) > 160.0
    logarithm = where(large, s, -1.0) * LOG_2_PI + special.loggamma(where(large, t, 2.0))
    direct = np.exp(where(large, -1.0, s) * LOG_2_PI) * special.gamma(where(large, 2.0, t))
    return where(large, np.exp(logarithm), direct) / math.pi


unary(ufuncs._riemann_zeta, lambda x: riemann_derivative(x))
unary(special.zetac, lambda x: riemann_derivative(x))
named(ufuncs._zeta, "s q", s=zeta_derivative, q=lambda s, q: -s * ufuncs._zeta(s + 1.0, q))
