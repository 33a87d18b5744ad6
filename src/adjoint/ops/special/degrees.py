"""Orthogonal polynomials in their parameters, and in a degree that is not an integer.

For whole degrees the derivative in a parameter is a finite sum of polynomials of lower degree; otherwise it comes from
the hypergeometric functions. Legendre's functions in the degree by the integral of Mehler and Dirichlet,

    P_v⁻ᵐ(cos θ) = √(2/π) sin⁻ᵐθ / Γ(m+½) ∫ cos((v+½) φ) (cos φ - cos θ)^(m-½) dφ  from 0 to θ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ops.special.declare import partial_of
from adjoint.ops.special.library import special, where
from adjoint.ops.special.quadrature import spread_out, tanh_sinh
from adjoint.program.types import Value


def whole_degree(n: Value) -> Any:
    """The degree as a plain array of integers, or None when it is traced or not whole."""
    if not isinstance(n, int | float | np.ndarray | np.generic):
        return None
    plain = np.asarray(n)
    if plain.dtype.kind in "iu":
        return plain
    return plain.astype(np.int64) if np.all(plain == np.floor(plain)) and np.all(plain >= 0) else None


def _lower(n: Any) -> tuple[Any, Any, Any]:
    """The degrees k below n along a last axis, n beside them, and where k < n."""
    k, n = np.arange(max(int(np.max(n)), 1)), np.expand_dims(n, -1)
    below = k < n
    return where(below, k, 0), n, below


# ---------------------------------------------------------------- Jacobi


def _jacobi_sum(n: Any, alpha: Value, beta: Value, x: Value, first: bool) -> Value:
    """Σ 1/(n+k+1+s) (Pₙ ± (2k+1+s)/(n-k) (γ+k+1)ₙ₋ₖ/(s+k+1)ₙ₋ₖ Pₖ), s = α+β, γ = β for ∂/∂α, α for ∂/∂β."""
    k, n, below = _lower(n)
    alpha, beta, x = spread_out(alpha, beta, x)
    s, other = alpha + beta, beta if first else alpha
    gap = where(below, n - k, 1)
    sign = 1.0 if first else where(gap % 2 == 0, 1.0, -1.0)
    above = special.gammaln(other + n + 1.0) - special.gammaln(other + k + 1.0)
    raised = where(k == 0, 1, k)  # the factor s + 1 of k = 0 is taken out of both
    under = special.gammaln(s + n + 1.0) - special.gammaln(s + raised + 1.0)
    factor = where(k == 0, 1.0, 2.0 * k + 1.0 + s)
    ratio = sign * factor / gap * np.exp(above - under)
    terms = (special.eval_jacobi(n, alpha, beta, x) + ratio * special.eval_jacobi(k, alpha, beta, x)) / (
        n + k + 1.0 + s
    )
    return np.sum(where(below, terms, 0.0), axis=-1)


def _jacobi_parts(n: Value, alpha: Value, beta: Value, x: Value) -> tuple[Value, ...]:
    """C(n+α, n), and the derivatives of F(-n, n+α+β+1; α+1; (1-x)/2) in its parameters."""
    point = (-n, n + alpha + beta + 1.0, alpha + 1.0, 0.5 * (1.0 - x))
    return special.binom(n + alpha, n), *[partial_of(special.hyp2f1, a, *point) for a in "abc"]


def jacobi_alpha(n: Value, alpha: Value, beta: Value, x: Value, z: Value) -> Value:
    """∂P/∂α."""
    degree = whole_degree(n)
    if degree is not None:
        return _jacobi_sum(degree, alpha, beta, x, True)
    scale, _, b, c = _jacobi_parts(n, alpha, beta, x)
    return z * (special.psi(n + alpha + 1.0) - special.psi(alpha + 1.0)) + scale * (b + c)


def jacobi_beta(n: Value, alpha: Value, beta: Value, x: Value) -> Value:
    """∂P/∂β."""
    degree = whole_degree(n)
    if degree is not None:
        return _jacobi_sum(degree, alpha, beta, x, False)
    scale, _, b, _ = _jacobi_parts(n, alpha, beta, x)
    return scale * b


def jacobi_degree(n: Value, alpha: Value, beta: Value, x: Value, z: Value) -> Value:
    """∂P/∂n."""
    scale, a, b, _ = _jacobi_parts(n, alpha, beta, x)
    return z * (special.psi(n + alpha + 1.0) - special.psi(n + 1.0)) + scale * (b - a)


# ---------------------------------------------------------------- Gegenbauer


def _gegenbauer_parts(n: Value, alpha: Value, x: Value) -> tuple[Value, ...]:
    point = (-n, n + 2.0 * alpha, alpha + 0.5, 0.5 * (1.0 - x))
    scale = special.poch(2.0 * alpha, n) * special.rgamma(n + 1.0)
    return scale, *[partial_of(special.hyp2f1, a, *point) for a in "abc"]


def _gegenbauer_sum(n: Any, alpha: Value, x: Value, z: Value) -> Value:
    """Σ 2 (1+(-1)ⁿ⁻ᵏ) (k+α)/((k+n+2α)(n-k)) Cₖ + (2(k+1)/((k+2α)(2k+2α+1)) + 2/(k+n+2α)) Cₙ; 2/n Tₙ at α = 0."""
    flat = np.equal(alpha, 0)
    base, degree = where(flat, 1.0, alpha), n
    k, n, below = _lower(n)
    a, t, value = spread_out(base, x, z)
    gap = where(below, n - k, 1)
    even = where(gap % 2 == 0, 4.0, 0.0)
    lower = even * (k + a) / ((k + n + 2.0 * a) * gap) * special.eval_gegenbauer(k, a, t)
    own = 2.0 * (k + 1.0) / ((k + 2.0 * a) * (2.0 * k + 2.0 * a + 1.0)) + 2.0 / (k + n + 2.0 * a)
    total = np.sum(where(below, lower + own * value, 0.0), axis=-1)
    limit = where(degree == 0, 0.0, 2.0 / where(degree == 0, 1, degree) * special.eval_chebyt(degree, x))
    return where(flat, limit, total)


def gegenbauer_alpha(n: Value, alpha: Value, x: Value, z: Value) -> Value:
    """∂C/∂α."""
    degree = whole_degree(n)
    if degree is not None:
        return _gegenbauer_sum(degree, alpha, x, z)
    scale, _, b, c = _gegenbauer_parts(n, alpha, x)
    return 2.0 * z * (special.psi(n + 2.0 * alpha) - special.psi(2.0 * alpha)) + scale * (2.0 * b + c)


def gegenbauer_degree(n: Value, alpha: Value, x: Value, z: Value) -> Value:
    """∂C/∂n."""
    scale, a, b, _ = _gegenbauer_parts(n, alpha, x)
    return z * (special.psi(n + 2.0 * alpha) - special.psi(n + 1.0)) + scale * (b - a)


# ---------------------------------------------------------------- Laguerre


def laguerre_alpha(n: Value, alpha: Value, x: Value, z: Value) -> Value:
    """∂L/∂α = Σ Lₖ/(n-k)."""
    degree = whole_degree(n)
    if degree is not None:
        k, rows, below = _lower(degree)
        terms = special.eval_genlaguerre(k, *spread_out(alpha, x)) / where(below, rows - k, 1)
        return np.sum(where(below, terms, 0.0), axis=-1)
    derivative = partial_of(special.hyp1f1, "b", -n, alpha + 1.0, x)
    rate = special.psi(n + alpha + 1.0) - special.psi(alpha + 1.0)
    return z * rate + special.binom(n + alpha, n) * derivative


def laguerre_degree(n: Value, alpha: Value, x: Value, z: Value) -> Value:
    """∂L/∂n."""
    derivative = partial_of(special.hyp1f1, "a", -n, alpha + 1.0, x)
    rate = special.psi(n + alpha + 1.0) - special.psi(n + 1.0)
    return z * rate - special.binom(n + alpha, n) * derivative


# ---------------------------------------------------------------- Chebyshev


def _angles(x: Value) -> tuple[Value, Value, Value, Value]:
    """Whether |x| ≤ 1, θ = arccos x there, η = arcosh x right of it; NaN left of it, where the degree must be whole."""
    inside = np.abs(x) <= 1.0
    outside = x > 1.0
    eta = where(outside, np.arccosh(where(outside, x, 2.0)), where(inside, 1.0, np.nan))
    return inside, np.arccos(where(inside, x, 0.5)), eta, outside


def chebyshev_first_degree(n: Value, x: Value) -> Value:
    """∂/∂n cos(nθ) = -θ sin(nθ), and η sinh(nη) right of 1."""
    inside, theta, eta, _ = _angles(x)
    return where(inside, -theta * np.sin(n * theta), eta * np.sinh(n * eta))


def chebyshev_second_degree(n: Value, x: Value) -> Value:
    """∂/∂n sin((n+1)θ)/sin θ = θ/sin θ cos((n+1)θ), and η/sinh η cosh((n+1)η) right of 1."""
    inside, theta, eta, _ = _angles(x)
    small = theta < 1e-8
    ratio = where(small, 1.0, theta / where(small, 1.0, np.sin(theta)))
    return where(inside, ratio * np.cos((n + 1.0) * theta), eta / np.sinh(eta) * np.cosh((n + 1.0) * eta))


# ---------------------------------------------------------------- Legendre


def ferrers_values(m: Value, v: Value, theta: Value) -> tuple[Value, Value]:
    """P_v⁻ᵐ(cos θ) and its derivative in v, 0 < θ < π."""
    left, right, weights = tanh_sinh(201, 4.0)
    inverse = special.rgamma(m + 0.5)
    m, v, angle = spread_out(m, v, theta)
    phi = angle * left
    gap = 2.0 * np.sin(0.5 * angle * (1.0 + left)) * np.sin(0.5 * angle * right)  # cos φ - cos θ
    kernel = np.power(gap / np.sin(angle), m) / np.sqrt(gap) * weights
    degree = v + 0.5
    value = np.sum(np.cos(degree * phi) * kernel, axis=-1)
    derivative = np.sum(-phi * np.sin(degree * phi) * kernel, axis=-1)
    scale = math.sqrt(2.0 / math.pi) * theta * inverse
    return scale * value, scale * derivative


def _hyperbolic_derivative(v: Value, eta: Value) -> Value:
    """∂/∂v P_v(cosh η) = 2/π ∫ u sinh((v+½) u)/√(2 cosh η - 2 cosh u) du."""
    left, right, weights = tanh_sinh(201, 4.0)
    v, angle = spread_out(v, eta)
    u = angle * left
    gap = 4.0 * np.sinh(0.5 * angle * (1.0 + left)) * np.sinh(0.5 * angle * right)
    integrand = u * np.sinh((v + 0.5) * u) / np.sqrt(gap) * weights
    return 2.0 / math.pi * eta * np.sum(integrand, axis=-1)


def legendre_degree(n: Value, x: Value) -> Value:
    """∂P_n(x)/∂n; -∞ for x = -1, where P has a logarithm unless n is whole."""
    inside, theta, eta, _ = _angles(x)
    end = theta < 1e-7
    derivative = ferrers_values(0.0, n, where(end, 0.5, theta))[1]
    near = where(end, -0.25 * (2.0 * n + 1.0) * theta * theta, derivative)
    return where(inside, near, _hyperbolic_derivative(n, eta))
