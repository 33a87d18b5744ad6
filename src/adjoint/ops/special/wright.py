"""Wright's generalized Bessel function Φ(a, b; x) = Σ xᵏ / (k! Γ(ak + b)) in all arguments, and its logarithm.

With y = ak + b, 1/Γ(y) = y/Γ(y+1), so that a term is y exp(k log x - log k! - log Γ(y+1)), regular at y = 0. Far along
the series the terms are a smooth hill: a window around the top is enough, and of a wide hill every d-th term.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import numpy as np

from adjoint.ops.special.declare import named
from adjoint.ops.special.library import special, where
from adjoint.ops.special.quadrature import placed, spread_out
from adjoint.program.types import Value

TERMS = 420


def _top(a: Value, b: Value, x: Value) -> Value:
    """Where log x = ψ(k+1) + a ψ(ak+b+1), by bisection."""
    low, high = np.zeros_like(x), np.maximum(2.0 * x, 4.0)
    for _ in range(60):
        k = 0.5 * (low + high)
        rising = np.log(np.maximum(x, 1e-300)) > special.psi(k + 1.0) + a * special.psi(a * k + b + 1.0)
        low, high = where(rising, k, low), where(rising, high, k)
    return 0.5 * (low + high)


def _hill(a: Value, b: Value, x: Value) -> tuple[Value, Value]:
    top = _top(a, b, x)
    return top, np.sqrt((top + 1.0) / (1.0 + a * a * (top + 1.0) / (a * top + b + 1.0)))


@placed
def _stride(a: Value, b: Value, x: Value) -> Value:
    return np.maximum(1.0, np.floor(_hill(a, b, x)[1] / 18.0))


@placed
def _start(a: Value, b: Value, x: Value) -> Value:
    top, width = _hill(a, b, x)
    stride = np.maximum(1.0, np.floor(width / 18.0))
    return where(top < 150.0, 0.0, np.floor(np.maximum(top - 0.5 * TERMS * stride, 0.0)))


def _moment(a: Value, b: Value, x: Value, level: Value, in_a: bool) -> Value:
    """Σ term (1/y - ψ(y+1)) e^(-level), or k times it: the derivative in b, or in a."""
    a, b, x, level, start, stride = spread_out(a, b, x, level, _start(a, b, x), _stride(a, b, x))
    k = start + stride * np.arange(float(TERMS))
    positive = x > 0
    logarithm = where(positive, np.log(where(positive, x, 1.0)), -1e4)
    y = a * k + b
    term = np.exp(k * logarithm - special.gammaln(k + 1.0) - special.gammaln(y + 1.0) - level)
    return np.sum(stride * term * (1.0 - y * special.psi(y + 1.0)) * (k if in_a else 1.0), axis=-1)


named(
    special.wright_bessel,
    "a b x",
    a=lambda a, b, x: _moment(a, b, x, 0.0, True),
    b=lambda a, b, x: _moment(a, b, x, 0.0, False),
    x=lambda a, b, x: special.wright_bessel(a, a + b, x),
)
if hasattr(special, "log_wright_bessel"):  # from SciPy 1.14 on
    named(
        special.log_wright_bessel,
        "a b x",
        a=lambda a, b, x, z: _moment(a, b, x, z, True),
        b=lambda a, b, x, z: _moment(a, b, x, z, False),
        x=lambda a, b, x, z: np.exp(special.log_wright_bessel(a, a + b, x) - z),
    )
