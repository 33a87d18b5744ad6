"""The error function and its relatives, and the normal distribution.

Where the textbook formula of a derivative is a difference of nearly equal numbers (erfcx, dawsn and wofz far out), the
asymptotic series takes over.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.declare import SQRT_2, SQRT_2PI, SQRT_PI, named, polynomial, unary
from adjoint.ops.special.library import special, where
from adjoint.program.types import Value

FAR = 12.0  # beyond it the series below are exact to rounding
# (2k+1)!! / 2ᵏ
_ODD = [math.prod(range(1, 2 * k + 2, 2)) / 2.0**k for k in range(14)]
_ALTERNATING = [(-1.0) ** k * c for k, c in enumerate(_ODD)]


def bell(x: Value) -> Value:
    """d erf(x)/dx = 2/√π exp(-x²)."""
    return 2.0 / SQRT_PI * np.exp(-x * x)


def normal_density(x: Value) -> Value:
    """φ(x) = exp(-x²/2) / √(2π)."""
    return np.exp(-0.5 * x * x) / SQRT_2PI


def erfcx_derivative(x: Value, z: Value) -> Value:
    """d erfcx/dx = 2 x z - 2/√π; for large |x| in the right half plane -Σ (-1)ᵏ (2k+1)!!/2ᵏ x⁻²ᵏ⁻² / √π.

    In the left one by erfcx(-x) = 2 exp(x²) - erfcx(x).
    """
    far = np.abs(x) > FAR
    left = np.real(x) < 0
    y = where(far, where(left, -x, x), FAR)
    r = 1.0 / (y * y)
    right_derivative = -r * polynomial(_ALTERNATING, r) / SQRT_PI
    reflected = where(far & left, x, 0.0)
    return where(far, right_derivative + 4.0 * reflected * np.exp(reflected * reflected), 2.0 * x * z - 2.0 / SQRT_PI)


def dawsn_derivative(x: Value, z: Value) -> Value:
    """d dawsn/dx = 1 - 2 x z; far out on the real line -½ Σ (2k+1)!!/2ᵏ x⁻²ᵏ⁻²."""
    if x.dtype.kind == "c":
        return 1.0 - 2.0 * x * z
    far = np.abs(x) > FAR
    y = where(far, x, FAR)
    r = 1.0 / (y * y)
    return where(far, -0.5 * r * polynomial(_ODD, r), 1.0 - 2.0 * x * z)


def hazard(x: Value) -> Value:
    """φ(x) / Φ(x) = √(2/π) / erfcx(-x/√2), log Φ differentiated; by its definition for x > 0, where erfcx overflows."""
    right = np.real(x) > 0
    low, high = where(right, 0.0, x), where(right, x, 0.0)
    return where(
        right, normal_density(high) / special.ndtr(high), math.sqrt(2.0 / math.pi) / special.erfcx(-low / SQRT_2)
    )


unary(special.erf, bell, singular=False)
unary(special.erfc, lambda x: -bell(x), singular=False)
unary(special.erfi, lambda x: 2.0 / SQRT_PI * np.exp(x * x))
unary(special.erfcx, erfcx_derivative)
unary(special.dawsn, dawsn_derivative)
unary(special.wofz, lambda x, z: -1j * erfcx_derivative(-1j * x, z))
unary(special.erfinv, lambda z: 0.5 * SQRT_PI * np.exp(z * z))
unary(special.erfcinv, lambda z: -0.5 * SQRT_PI * np.exp(z * z))
unary(special.ndtr, normal_density, singular=False)
unary(special.log_ndtr, hazard)
unary(special.ndtri, lambda z: SQRT_2PI * np.exp(0.5 * z * z))
unary(special.ndtri_exp, lambda z: 1.0 / hazard(z))


def _owens_height(h: Value, a: Value) -> Value:
    """∂T/∂h = -φ(h) (Φ(a h) - ½) = -½ φ(h) erf(a h/√2)."""
    return -0.5 * normal_density(h) * special.erf(a * h / SQRT_2)


def _owens_derivative(h: Value, a: Value) -> Value:
    """∂T/∂a = exp(-h² (1 + a²)/2) / (2π (1 + a²))."""
    width = 1.0 + a * a
    return np.exp(-0.5 * h * h * width) / (2.0 * math.pi * width)


named(special.owens_t, "h a", h=_owens_height, a=_owens_derivative)


def _voigt(x: Value, sigma: Value, gamma: Value) -> tuple[Value, Value, Value]:
    """V = Re w(ζ) / (σ√(2π)) with ζ = (x + iγ)/(σ√2): ζ, w′(ζ), and the factor 1/(σ√(2π))."""
    zeta = (x + 1j * gamma) / (sigma * SQRT_2)
    w = special.wofz(zeta)
    return zeta, -1j * erfcx_derivative(-1j * zeta, w), 1.0 / (sigma * SQRT_2PI)


def _voigt_x(x: Value, sigma: Value, gamma: Value) -> Value:
    _, derivative, scale = _voigt(x, sigma, gamma)
    return np.real(derivative) / (sigma * SQRT_2) * scale


def _voigt_sigma(x: Value, sigma: Value, gamma: Value, z: Value) -> Value:
    zeta, derivative, scale = _voigt(x, sigma, gamma)
    return (-z - np.real(derivative * zeta) * scale) / sigma


def _voigt_gamma(x: Value, sigma: Value, gamma: Value) -> Value:
    _, derivative, scale = _voigt(x, sigma, gamma)
    return -np.imag(derivative) / (sigma * SQRT_2) * scale


named(special.voigt_profile, "x sigma gamma", x=_voigt_x, sigma=_voigt_sigma, gamma=_voigt_gamma)
