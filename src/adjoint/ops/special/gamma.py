"""The gamma function and its relatives: log Γ, 1/Γ, polygamma, the densities of the gamma and the beta distribution."""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential
from adjoint.ops.elementwise.nary_ufuncs import adjoint_product, product
from adjoint.ops.elementwise.pointwise import UFUNCS, Pointwise
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.special.declare import SQRT_2PI, bare, flat, polynomial, unary
from adjoint.ops.special.library import imag, real, special, ufuncs, where
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of

_BERNOULLI = [
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
]  # B₂, B₄, …


def polygamma(n: int, x: Value) -> Value:
    """ψ⁽ⁿ⁾(x), the (n+1)-th derivative of log Γ."""
    return special.psi(x) if n == 0 else Polygamma(n)(x)


@primitive
class Polygamma(Pointwise, Differential):
    """ψ⁽ⁿ⁾, a family closed under differentiation; real x by Hurwitz's ζ: (-1)ⁿ⁺¹ n! ζ(n+1, x)."""

    n: int

    @property
    def ufunc(self) -> Any:
        return bare(special.psi)

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0])[()]
        if x.dtype.kind == "c":
            return _complex_polygamma(self.n, x)
        x = x.astype(self._dtype([type_of(x)]))
        return (-1.0) ** (self.n + 1) * math.factorial(self.n) * ufuncs._zeta(self.n + 1.0, x)

    def expand(self, x: Value) -> Value:
        if x.dtype.kind == "c":
            return _complex_polygamma(self.n, x)
        x = x.astype(self._dtype([type_of(x)]))
        return (-1.0) ** (self.n + 1) * math.factorial(self.n) * UFUNCS[ufuncs._zeta](self.n + 1.0, x)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return None if dxs[0] is None else product(dxs[0], Polygamma(self.n + 1)(xs[0]))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [adjoint_product(ct, Polygamma(self.n + 1)(xs[0]))]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True], False

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return results[0].nbytes


def _complex_polygamma(n: int, z: Value) -> Value:
    """Reflection into the right half plane, recurrence upwards, then the asymptotic series with Bernoulli numbers."""
    kind = z.dtype
    z = z.astype(np.complex128)
    left = real(z) < 0.5
    w = where(left, 1.0 - z, z)
    steps = 15 + n
    sign = (-1.0) ** (n + 1)
    total = sum(1.0 / (w + k) ** (n + 1) for k in range(steps)) * math.factorial(n)
    v = w + steps
    total = total + math.factorial(n - 1) / v**n + math.factorial(n) / (2.0 * v ** (n + 1))
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / v ** (2 * k + n)
    right = sign * total
    reflected = (-1.0) ** n * right - np.pi * _cotangent_derivative(n, where(left, z, 0.25))
    return where(left, reflected, right).astype(kind)[()]


def _cotangent_derivative(n: int, z: Value) -> Value:
    """dⁿ cot(πz)/dzⁿ, n ≥ 1: near the real axis a polynomial in c = cot(πz), as c′ = -π (1 + c²).

    Above it from cot(πz) = -i (1 + 2 Σ exp(2πikz)), below it from the conjugate.
    """
    near = np.abs(imag(z)) < 0.5
    c = 1.0 / np.tan(np.pi * where(near, z, 0.25))
    p = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        p = p.deriv() * np.polynomial.Polynomial([-np.pi, 0.0, -np.pi])
    upper = where(near, 1j, where(imag(z) < 0, np.conj(z), z))
    waves = -2j * sum((2j * np.pi * k) ** n * np.exp(2j * np.pi * k * upper) for k in range(1, 24))
    return where(near, polynomial(p.coef.tolist(), c), where(imag(z) < 0, np.conj(waves), waves))


def reciprocal_derivative(x: Value, z: Value) -> Value:
    """d(1/Γ)/dx = -ψ(x)/Γ(x); left of ½ by 1/Γ(x) = Γ(1-x) sin(πx)/π, which is smooth at the poles of Γ."""
    left = real(x) < 0.5
    low, high = where(left, x, 0.0), where(left, 1.0, x)
    n = np.rint(real(low))
    angle = math.pi * (low - n)
    parity = 1.0 - 2.0 * np.abs(np.remainder(n, 2.0))
    rate = special.psi(1.0 - low) / math.pi
    # Γ(1 - x) overflows: at a pole of Γ(x) it must not meet the zero derivative of the cosine, nor the zero of the sine
    huge = np.logical_and(np.equal(angle, 0), n < -170.0)
    inside = where(huge, 0.5, angle)
    wave = where(huge, 1.0 - angle * StopGradient()(rate), np.cos(inside) - np.sin(inside) * rate)
    mirrored = special.gamma(1.0 - low) * parity * wave
    return where(left, mirrored, -special.psi(high) * where(left, 1.0, z))


unary(special.gamma, lambda x, z: z * special.psi(x))
unary(special.gammaln, lambda x: special.psi(x))
unary(special.loggamma, lambda x: special.psi(x))
unary(special.rgamma, reciprocal_derivative)
unary(special.psi, lambda x: Polygamma(1)(x))
flat(special.gammasgn)

_STIRLING = [
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
]  # log Γ(b+1) - (b+½) log b + b - ½ log 2π, in 1/b, 1/b³ …


def gamma_density(a: Value, x: Value) -> Value:
    """xᵃ⁻¹ e⁻ˣ / Γ(a) for x ≥ 0; for large b = a-1 as exp(b (log(x/b) - x/b + 1) - …)/√(2πb): nothing large cancels."""
    b = a - 1.0
    large = b > 10.0
    wide, narrow = where(large, b, 10.0), where(large, 0.0, b)
    inside = x > 0
    gap = (where(inside, x, 1.0) - wide) / wide
    inverse = 1.0 / wide
    correction = inverse * polynomial(_STIRLING, inverse * inverse)
    saddle = np.exp(wide * (np.log1p(gap) - gap) - correction) / np.sqrt(wide) / SQRT_2PI
    near = where(x > 800.0, 800.0, x)  # beyond, the density is zero, and the power would overflow
    direct = np.power(near, narrow) * np.exp(-near) * special.rgamma(narrow + 1.0)
    return where(large, where(inside, saddle, 0.0), direct)


def _stirling(x: Value) -> Value:
    """log Γ(x) - (x-½) log x + x - ½ log 2π for large x."""
    return polynomial(_STIRLING, 1.0 / (x * x)) / x


def beta_density(a: Value, b: Value, x: Value) -> Value:
    """xᵃ⁻¹ (1-x)ᵇ⁻¹ / B(a, b) for 0 ≤ x ≤ 1.

    For large a and b by the distance g = x - a/(a+b) from the peak, so that nothing large cancels; when one of them is
    large, through logarithms.
    """
    inside = (x > 0) & (x < 1)
    peaked = (np.minimum(a, b) > 10.0) & inside
    logarithmic = (np.maximum(a, b) > 20.0) & inside & ~peaked
    p, q, u = where(peaked, a, 11.0), where(peaked, b, 11.0), where(peaked, x, 0.5)
    s = p + q
    g = u - p / s
    h, k = g * s / p, -g * s / q
    exponent = p * (np.log1p(h) - h) + q * (np.log1p(k) - k) + _stirling(s) - _stirling(p) - _stirling(q)
    large = np.exp(exponent) * np.sqrt(p * q / s) / (SQRT_2PI * u * (1.0 - u))
    c, d, v = where(logarithmic, a, 1.0), where(logarithmic, b, 1.0), where(logarithmic, x, 0.5)
    middle = np.exp((c - 1.0) * np.log(v) + (d - 1.0) * np.log1p(-v) - special.betaln(c, d))
    other = peaked | logarithmic
    e, f, w = where(other, 1.0, a), where(other, 1.0, b), where(other, 0.5, x)
    small = np.power(w, e - 1.0) * np.power(1.0 - w, f - 1.0) / special.beta(e, f)
    return where(peaked, large, where(logarithmic, middle, small))
