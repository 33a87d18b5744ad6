"""Orthogonal polynomials and Legendre's functions, in the argument, the parameters and the degree.

In the argument Gegenbauer's, Jacobi's and Laguerre's polynomials are closed under differentiation; for the rest see
`degrees`.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.ops.special.declare import named
from adjoint.ops.special.degrees import (
    chebyshev_first_degree,
    chebyshev_second_degree,
    ferrers_values,
    gegenbauer_alpha,
    gegenbauer_degree,
    jacobi_alpha,
    jacobi_beta,
    jacobi_degree,
    laguerre_alpha,
    laguerre_degree,
    legendre_degree,
    whole_degree,
)
from adjoint.ops.special.library import special, where
from adjoint.program.types import Value


def _lower(f: Any, n: Value, *rest: Value) -> Value:
    """f of degree n-1, and 0 for n = 0."""
    constant = np.equal(n, 0)
    return where(constant, 0.0, f(where(constant, 1, n) - 1, *rest))


def _gegenbauer(n: Value, alpha: Value, x: Value) -> Value:
    """d/dx Cₙ^α = 2α Cₙ₋₁^(α+1)."""
    return 2.0 * alpha * _lower(special.eval_gegenbauer, n, alpha + 1.0, x)


def _jacobi(n: Value, alpha: Value, beta: Value, x: Value) -> Value:
    """d/dx Pₙ^(α,β) = (n+α+β+1)/2 Pₙ₋₁^(α+1,β+1)."""
    return 0.5 * (n + alpha + beta + 1.0) * _lower(special.eval_jacobi, n, alpha + 1.0, beta + 1.0, x)


def _shifted_parts(n: Value, p: Value, q: Value, x: Value) -> tuple[Value, Any]:
    """1/C(2n+p-1, n), and the point (n, p-q, q-1, 2x-1) of Jacobi's polynomial."""
    return 1.0 / special.binom(2 * n + p - 1.0, n), (n, p - q, q - 1.0, 2.0 * x - 1.0)


def _shifted_first(n: Value, p: Value, q: Value, x: Value, z: Value) -> Value:
    """∂/∂p: by α = p-q, and by the factor."""
    scale, point = _shifted_parts(n, p, q, x)
    return scale * jacobi_alpha(*point, z=z / scale) - z * (special.psi(2 * n + p) - special.psi(n + p))


def _shifted_second(n: Value, p: Value, q: Value, x: Value, z: Value) -> Value:
    """∂/∂q: by α = p-q and β = q-1."""
    scale, point = _shifted_parts(n, p, q, x)
    return scale * (jacobi_beta(*point) - jacobi_alpha(*point, z=z / scale))


def _shifted_degree(n: Value, p: Value, q: Value, x: Value, z: Value) -> Value:
    scale, point = _shifted_parts(n, p, q, x)
    rate = 2.0 * special.psi(2 * n + p) - special.psi(n + 1.0) - special.psi(n + p)
    return scale * jacobi_degree(*point, z=z / scale) - z * rate


named(special.eval_gegenbauer, "n alpha x", n=gegenbauer_degree, alpha=gegenbauer_alpha, x=_gegenbauer)
named(special.eval_jacobi, "n alpha beta x", n=jacobi_degree, alpha=jacobi_alpha, beta=jacobi_beta, x=_jacobi)
named(
    special.eval_sh_jacobi,
    "n p q x",
    n=_shifted_degree,
    p=_shifted_first,
    q=_shifted_second,
    x=lambda n, p, q, x: 2.0 * _jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0) / special.binom(2 * n + p - 1.0, n),
)
named(special.eval_legendre, "n x", n=legendre_degree, x=lambda n, x: _gegenbauer(n, 0.5, x))
named(
    special.eval_sh_legendre,
    "n x",
    n=lambda n, x: legendre_degree(n, 2.0 * x - 1.0),
    x=lambda n, x: 2.0 * _gegenbauer(n, 0.5, 2.0 * x - 1.0),
)
named(special.eval_chebyt, "n x", n=chebyshev_first_degree, x=lambda n, x: n * _lower(special.eval_chebyu, n, x))
named(special.eval_chebyu, "n x", n=chebyshev_second_degree, x=lambda n, x: _gegenbauer(n, 1.0, x))
named(
    special.eval_chebyc,
    "n x",
    n=lambda n, x: 2.0 * chebyshev_first_degree(n, 0.5 * x),
    x=lambda n, x: n * _lower(special.eval_chebys, n, x),
)
named(
    special.eval_chebys,
    "n x",
    n=lambda n, x: chebyshev_second_degree(n, 0.5 * x),
    x=lambda n, x: 0.5 * _gegenbauer(n, 1.0, 0.5 * x),
)
named(
    special.eval_sh_chebyt,
    "n x",
    n=lambda n, x: chebyshev_first_degree(n, 2.0 * x - 1.0),
    x=lambda n, x: 2.0 * n * _lower(special.eval_sh_chebyu, n, x),
)
named(
    special.eval_sh_chebyu,
    "n x",
    n=lambda n, x: chebyshev_second_degree(n, 2.0 * x - 1.0),
    x=lambda n, x: 2.0 * _gegenbauer(n, 1.0, 2.0 * x - 1.0),
)
named(
    special.eval_genlaguerre,
    "n alpha x",
    n=laguerre_degree,
    alpha=laguerre_alpha,
    x=lambda n, alpha, x: -_lower(special.eval_genlaguerre, n, alpha + 1.0, x),
)
named(
    special.eval_laguerre,
    "n x",
    n=lambda n, x, z: laguerre_degree(n, 0.0, x, z),
    x=lambda n, x: -_lower(special.eval_genlaguerre, n, 1.0, x),
)
named(special.eval_hermite, "n x", whole="n", x=lambda n, x: 2.0 * n * _lower(special.eval_hermite, n, x))
named(special.eval_hermitenorm, "n x", whole="n", x=lambda n, x: n * _lower(special.eval_hermitenorm, n, x))


def _ferrers_derivative(m: Value, v: Value, x: Value) -> Value:
    """dP_v^m/dx = ((v+m)(v-m+1) P_v^(m-1) - P_v^(m+1)) / (2√(1-x²)), and its limits at the ends."""
    end = np.abs(x) >= 1.0
    y = where(end, 0.5, x)
    root = np.sqrt((1.0 - y) * (1.0 + y))
    derivative = (v + m) * (v - m + 1.0) * special.lpmv(m - 1.0, v, y) - special.lpmv(m + 1.0, v, y)
    product = v * (v + 1.0)
    right = where(np.equal(m, 0), 0.5 * product, where(np.equal(m, 2), -0.25 * (v + 2.0) * (v - 1.0) * product, 0.0))
    right = where(np.equal(np.abs(m), 1), np.inf, right)
    whole = np.equal(v, np.floor(v))
    odd = np.equal(np.remainder(v + m, 2.0), 1.0)
    limit = where(x > 0, right, where(whole, where(odd, right, -right), np.nan))
    return where(end, limit, derivative / (2.0 * root))


def _ferrers_degree(m: Value, v: Value, x: Value) -> Value:
    """∂/∂v of P_v^m = (-1)ᵐ (v+m)(v+m-1)…(v-m+1) P_v⁻ᵐ."""
    order = whole_degree(np.abs(m))
    if order is None:
        raise UnsupportedError(
            "lpmv(m, v, x): the derivative in v needs an order m that is a plain integer. Keep v constant "
            "(ad.stop_gradient), or m plain."
        )
    inside = np.abs(x) < 1.0
    value, derivative = ferrers_values(order, v, np.arccos(where(inside, x, 0.5)))
    product, rate = 1.0, 0.0
    for j in range(int(np.max(order, initial=0))):
        used = (j < order) & np.greater(m, 0)
        factor, step = -(v - j) * (v + j + 1.0), -(2.0 * v + 1.0)
        rate = where(used, rate * factor + product * step, rate)
        product = where(used, product * factor, product)
    value_rate = product * derivative + rate * value
    return where(inside, value_rate, where(x > 0, 0.0, np.nan))


named(special.lpmv, "m v x", whole="m", v=_ferrers_degree, x=_ferrers_derivative)
