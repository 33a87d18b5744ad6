"""Orthogonal polynomials in their argument; Gegenbauer's, Jacobi's and Laguerre's are closed under differentiation."""

# The rules are a table of lambdas, whose letters have no types.
# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.ops.special.declare import named
from adjoint.program.types import Value


def _lower(f: Any, n: Value, *rest: Value) -> Value:
    """f of degree n-1, and 0 for n = 0."""
    constant = np.equal(n, 0)
    return np.where(constant, 0.0, f(np.where(constant, 1, n) - 1, *rest))


def _gegenbauer(n: Value, alpha: Value, x: Value) -> Value:
    """d/dx Cₙ^α = 2α Cₙ₋₁^(α+1)."""
    return 2.0 * alpha * _lower(special.eval_gegenbauer, n, alpha + 1.0, x)


def _jacobi(n: Value, alpha: Value, beta: Value, x: Value) -> Value:
    """d/dx Pₙ^(α,β) = (n+α+β+1)/2 Pₙ₋₁^(α+1,β+1)."""
    return 0.5 * (n + alpha + beta + 1.0) * _lower(special.eval_jacobi, n, alpha + 1.0, beta + 1.0, x)


named(special.eval_gegenbauer, "n alpha x", x=_gegenbauer)
named(special.eval_jacobi, "n alpha beta x", x=_jacobi)
named(
    special.eval_sh_jacobi,
    "n p q x",
    x=lambda n, p, q, x: 2.0 * _jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0) / special.binom(2 * n + p - 1.0, n),
)
named(special.eval_legendre, "n x", x=lambda n, x: _gegenbauer(n, 0.5, x))
named(special.eval_sh_legendre, "n x", x=lambda n, x: 2.0 * _gegenbauer(n, 0.5, 2.0 * x - 1.0))
named(special.eval_chebyt, "n x", x=lambda n, x: n * _lower(special.eval_chebyu, n, x))
named(special.eval_chebyu, "n x", x=lambda n, x: _gegenbauer(n, 1.0, x))
named(special.eval_chebyc, "n x", x=lambda n, x: n * _lower(special.eval_chebys, n, x))
named(special.eval_chebys, "n x", x=lambda n, x: 0.5 * _gegenbauer(n, 1.0, 0.5 * x))
named(special.eval_sh_chebyt, "n x", x=lambda n, x: 2.0 * n * _lower(special.eval_sh_chebyu, n, x))
named(special.eval_sh_chebyu, "n x", x=lambda n, x: 2.0 * _gegenbauer(n, 1.0, 2.0 * x - 1.0))
named(special.eval_genlaguerre, "n alpha x", x=lambda n, alpha, x: -_lower(special.eval_genlaguerre, n, alpha + 1.0, x))
named(special.eval_laguerre, "n x", x=lambda n, x: -_lower(special.eval_genlaguerre, n, 1.0, x))
named(special.eval_hermite, "n x", x=lambda n, x: 2.0 * n * _lower(special.eval_hermite, n, x))
named(special.eval_hermitenorm, "n x", x=lambda n, x: n * _lower(special.eval_hermitenorm, n, x))
