"""Integrals: exponential, sine, Fresnel's, the dilogarithm, those of Bessel and Airy functions; Lambert's W."""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from adjoint.ops.special.declare import SQRT_PI, named, polynomial, removable, several, unary
from adjoint.ops.special.library import special, ufuncs, where
from adjoint.program.types import Value

_SINC = [0.0 if n % 2 else (-1.0) ** (n // 2) / math.factorial(n + 1) for n in range(24)]
_SINHC = [abs(c) for c in _SINC]
_LOG_QUOTIENT = [(-1.0) ** n / (n + 1.0) for n in range(40)]  # log(1+u)/u
_I0_QUOTIENT = [
    0.0 if n % 2 == 0 else 1.0 / (2.0 ** (n + 1) * math.factorial((n + 1) // 2) ** 2) for n in range(30)
]  # (I₀(x) - 1)/x
_J0_QUOTIENT = [(-1.0) ** ((n - 1) // 2) * c for n, c in enumerate(_I0_QUOTIENT)]  # (1 - J₀(x))/x


def sinc(x: Value) -> Value:
    """sin(x)/x."""
    return removable(x, _SINC, lambda u: np.sin(u) / u, 1.0)


def sinhc(x: Value) -> Value:
    """sinh(x)/x."""
    return removable(x, _SINHC, lambda u: np.sinh(u) / u, 1.0)


several(special.sici, "x", x=lambda x: (sinc(x), np.cos(x) / x))
several(special.shichi, "x", x=lambda x: (sinhc(x), np.cosh(x) / x))
several(special.fresnel, "x", x=lambda x: (np.sin(0.5 * math.pi * x * x), np.cos(0.5 * math.pi * x * x)))


def _modified_fresnel(sign: float) -> Callable[..., tuple[Value, Value]]:
    """F = ∫ₓ^∞ exp(±it²) dt, K = F exp(∓i(x² + π/4))/√π."""
    phase = complex(math.cos(math.pi / 4), -sign * math.sin(math.pi / 4)) / SQRT_PI

    def derivatives(x: Value, z: Value) -> tuple[Value, Value]:
        return -np.exp(sign * 1j * x * x), -phase - 2j * sign * x * z[1]

    return derivatives


several(special.modfresnelp, "x", x=_modified_fresnel(1.0))
several(special.modfresnelm, "x", x=_modified_fresnel(-1.0))

unary(special.expi, lambda x: np.exp(x) / x)
unary(special.exp1, lambda x: -np.exp(-x) / x)


def _expn_derivative(n: Value, x: Value, z: Value) -> Value:
    """Eₙ′ = -Eₙ₋₁, and E₀ = e⁻ˣ/x."""
    first = np.equal(n, 0)
    return where(first, -z * (1.0 + 1.0 / x), -special.expn(where(first, 1, n) - 1, x))


named(special.expn, "n x", whole="n", x=_expn_derivative)


def _spence_derivative(x: Value) -> Value:
    """-log x / (x - 1), by its series near 1. (x is not 1 + (x - 1) where it is small.)"""
    near = np.abs(x - 1.0) < 0.3
    u, far = where(near, x - 1.0, 0.0), where(near, 2.0, x)
    return -where(near, polynomial(_LOG_QUOTIENT, u), np.log(far) / (far - 1.0))


unary(special.spence, _spence_derivative)

named(ufuncs._lambertw, "x k tol", whole="k tol", x=lambda z: np.exp(-z) / (1.0 + z))
unary(special.wrightomega, lambda z: z / (1.0 + z))

several(special.itj0y0, "x", x=lambda x: (special.j0(x), special.y0(x)))
several(special.iti0k0, "x", x=lambda x: (special.i0(x), special.k0(x)))
several(
    special.it2j0y0,
    "x",
    x=lambda x: (removable(x, _J0_QUOTIENT, lambda u: (1.0 - special.j0(u)) / u, 1.0), -special.y0(x) / x),
)
several(
    special.it2i0k0,
    "x",
    x=lambda x: (removable(x, _I0_QUOTIENT, lambda u: (special.i0(u) - 1.0) / u, 1.0), -special.k0(x) / x),
)


def _airy_pair(x: Value) -> tuple[Value, Value]:
    ai, _, bi, _ = special.airy(x)
    return ai, bi


several(special.itairy, "x", x=lambda x: (*_airy_pair(x), *_airy_pair(-x)))
