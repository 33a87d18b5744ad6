"""Nodes and weights: pairs of rules on [-1, 1] for adaptive quadrature, and Gauss's rules for weights of all kinds."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.suggestions import did_you_mean
from adjoint.integrate.quadrature.reading import read_count

__all__ = ["PAIRS", "Nodes", "Pair", "gauss"]


class Pair(NamedTuple):
    """A rule on [-1, 1], and a coarser one on some of its nodes, whose difference estimates the error."""

    nodes: Any
    weights: Any
    coarse: Any


# Gauss-Kronrod, 10 and 21 nodes, on [0, 1]: node, weight of Kronrod's rule, weight of Gauss's rule (QUADPACK, 1983).
_KRONROD = (
    (0.995657163025808080735527280689003, 0.011694638867371874278064396062192, 0.0),
    (0.973906528517171720077964012084452, 0.032558162307964727478818972459390, 0.066671344308688137593568809893332),
    (0.930157491355708226001207180059508, 0.054755896574351996031381300244580, 0.0),
    (0.865063366688984510732096688423493, 0.075039674810919952767043140916190, 0.149451349150580593145776339657697),
    (0.780817726586416897063717578345042, 0.093125454583697605535065465083366, 0.0),
    (0.679409568299024406234327365114874, 0.109387158802297641899210590325805, 0.219086362515982043995534934228163),
    (0.562757134668604683339000099272694, 0.123491976262065851077958109831074, 0.0),
    (0.433395394129247190799265943165784, 0.134709217311473325928054001771707, 0.269266719309996355091226921569469),
    (0.294392862701460198131126603103866, 0.142775938577060080797094273138717, 0.0),
    (0.148874338981631210884826001129720, 0.147739104901338491374841515972068, 0.295524224714752870173892994651338),
    (0.0, 0.149445554002916905664936468389821, 0.0),
)


def _kronrod() -> Pair:
    half = np.array(_KRONROD)
    both = np.concatenate([half * [-1.0, 1.0, 1.0], half[-2::-1]])
    return Pair(both[:, 0], both[:, 1], both[:, 2])


def _clenshaw_curtis_weights(n: int) -> Any:
    """Weights at cos(πk/n), k = 0 … n, n even, which integrate polynomials of degree n."""
    theta = np.pi * np.arange(n + 1) / n
    weights = np.ones(n + 1)
    for j in range(1, n // 2 + 1):
        factor = 1.0 if 2 * j == n else 2.0
        weights -= factor * np.cos(2 * j * theta) / (4 * j * j - 1)
    weights *= 2.0 / n
    weights[[0, -1]] /= 2.0
    return weights


def _clenshaw_curtis(n: int = 32) -> Pair:
    coarse = np.zeros(n + 1)
    coarse[::2] = _clenshaw_curtis_weights(n // 2)
    return Pair(np.cos(np.pi * np.arange(n + 1) / n)[::-1].copy(), _clenshaw_curtis_weights(n), coarse)


def _gauss_legendre(n: int = 20) -> Pair:
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return Pair(nodes, weights, weights)


@cache
def _pairs() -> dict[str, Pair]:
    return {"gauss-kronrod": _kronrod(), "clenshaw-curtis": _clenshaw_curtis(), "gauss": _gauss_legendre()}


class _Pairs:
    def __getitem__(self, name: str) -> Pair:
        return _pairs()[name]


PAIRS = _Pairs()


class Nodes(NamedTuple):
    """Nodes and weights of a rule: ∫ w(x) f(x) dx ≈ Σ weights · f(nodes)."""

    nodes: Any
    weights: Any


_GAUSS = {
    "legendre": "roots_legendre", "hermite": "roots_hermite", "normal": "roots_hermitenorm",
    "laguerre": "roots_laguerre", "generalized laguerre": "roots_genlaguerre", "jacobi": "roots_jacobi",
    "gegenbauer": "roots_gegenbauer", "chebyshev": "roots_chebyt", "chebyshev second": "roots_chebyu",
}  # fmt: skip
_PARAMETERS = {"generalized laguerre": 1, "jacobi": 2, "gegenbauer": 1}


def gauss(kind: str, n: int, *parameters: float) -> Nodes:
    """Nodes and weights of Gauss's rule with n nodes: exact for polynomials of degree 2 n - 1.

    | kind | weight w(x) | interval |
    |---|---|---|
    | "legendre" | 1 | [-1, 1] |
    | "hermite" | exp(-x²) | ℝ |
    | "normal" | exp(-x²/2) | ℝ |
    | "laguerre" | exp(-x) | [0, ∞) |
    | "generalized laguerre", a | xᵃ exp(-x) | [0, ∞) |
    | "jacobi", a, b | (1 - x)ᵃ (1 + x)ᵇ | [-1, 1] |
    | "gegenbauer", a | (1 - x²)^(a - ½) | [-1, 1] |
    | "chebyshev", "chebyshev second" | (1 - x²)^(∓½) | [-1, 1] |

    ```python
    nodes, weights = ad.integrate.gauss("normal", 8)
    float(np.round(np.sum(weights * nodes**4) / np.sum(weights), 9))  # → 3.0
    ```
    """
    import scipy.special

    if kind not in _GAUSS:
        known = list(_GAUSS)
        raise ValueError(f"integrate.gauss: {kind!r} is no rule. {did_you_mean(kind, known) or ', '.join(known)}")
    n = read_count("integrate.gauss", "n", n)
    expected = _PARAMETERS.get(kind, 0)
    if len(parameters) != expected:
        raise TypeError(f"integrate.gauss: {kind!r} has {expected} parameters, and {len(parameters)} were given.")
    nodes, weights = getattr(scipy.special, _GAUSS[kind])(n, *parameters)
    return Nodes(nodes, weights)
