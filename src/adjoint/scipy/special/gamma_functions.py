"""Polygamma, multivariate gamma, counts, ζ and Lambert's W."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from scipy.special import _ufuncs

from adjoint.base.errors import UnsupportedError
from adjoint.ops.special.gamma import polygamma as polygamma_of_order
from adjoint.scipy.special.arguments import array, constant, traced


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of the digamma function."""
    constant("polygamma", n=n)
    if not traced(x):
        return scipy.special.polygamma(n, x)
    x, orders = array(x), np.asarray(n)
    if orders.ndim == 0:
        if orders != np.floor(orders) or orders < 0:
            raise ValueError(f"polygamma: the order must be an integer >= 0, got {n}.")
        return polygamma_of_order(int(orders), x)
    scale = (-1.0) ** (orders + 1) * scipy.special.gamma(orders + 1.0)
    higher = scale * scipy.special.zeta(np.where(orders == 0, 2.0, orders + 1.0), x)
    return np.where(orders == 0, scipy.special.psi(x), higher)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the d-variate gamma function: d (d-1)/4 log π + Σⱼ log Γ(a - j/2), j = 0 … d-1."""
    constant("multigammaln", d=d)
    if not traced(a):
        return scipy.special.multigammaln(a, d)  # type: ignore[attr-defined]
    dimension = int(d)
    if dimension != d or dimension < 1:
        raise ValueError(f"multigammaln: d should be a positive integer (dimension), got {d}.")
    a = array(a)
    if np.any(a <= 0.5 * (dimension - 1)):
        raise ValueError(f"multigammaln: a must be larger than (d - 1)/2 = {0.5 * (dimension - 1)}.")
    offset = dimension * (dimension - 1) * 0.25 * float(np.log(np.pi))
    return offset + sum(scipy.special.gammaln(a - 0.5 * j) for j in range(dimension))


def _counts(call: str, exact: bool) -> None:
    if exact:
        raise UnsupportedError(
            f"{call}(exact=True) counts with Python's integers, so traced values cannot go in. Use exact=False."
        )


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803
    """The number of choices of k out of N, continued by the gamma function."""
    if not traced(N, k):
        return scipy.special.comb(N, k, exact=exact, repetition=repetition)
    _counts("comb", exact)
    if repetition:
        return comb(N + k - 1, k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.binom(N, k), 0.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:  # noqa: N803
    """The number of ordered choices of k out of N, continued by the gamma function."""
    if not traced(N, k):
        return scipy.special.perm(N, k, exact=exact)
    _counts("perm", exact)
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.poch(N - k + 1, k), 0.0)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """n! = Γ(n + 1), and 0 for n < 0."""
    if not traced(n):
        extended = {} if extend == "zero" else {"extend": extend}  # SciPy has the keyword from 1.15 on
        return scipy.special.factorial(n, exact=exact, **extended)
    _counts("factorial", exact)
    n = array(n)
    value = scipy.special.gamma(n + 1.0)
    return value if extend == "complex" else np.where(n < 0, 0.0, value)


def _multifactorial(call: str, n: Any, k: Any, exact: bool, extend: str) -> Any:
    """k^((n-1)/k) Γ(n/k + 1) / Γ(1/k + 1)."""
    constant(call, k=k)
    _counts(call, exact)
    if extend != "complex":
        raise UnsupportedError(
            f"{call}(n, extend={extend!r}) is a function of integers, so it has no derivative in n. "
            "Give extend='complex', which continues it, or a plain n."
        )
    n = array(n)
    return np.power(float(k), (n - 1.0) / k) * scipy.special.gamma(n / k + 1.0) * scipy.special.rgamma(1.0 / k + 1.0)


def factorial2(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """n!! = n (n-2) (n-4) …; with extend='complex' continued to all n."""
    if not traced(n):
        return scipy.special.factorial2(n, exact=exact, extend=extend)
    return _multifactorial("factorial2", n, 2, exact, extend)


def factorialk(n: Any, k: Any, exact: bool = False, extend: str = "zero") -> Any:
    """n (n-k) (n-2k) …; with extend='complex' continued to all n."""
    if not traced(n, k):
        return scipy.special.factorialk(n, k, exact=exact, extend=extend)
    return _multifactorial("factorialk", n, k, exact, extend)


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Riemann's ζ(x), or Hurwitz's ζ(x, q)."""
    x = array(x) if traced(x) else x
    keywords = {} if out is None else {"out": out}
    return _ufuncs._riemann_zeta(x, **keywords) if q is None else _ufuncs._zeta(x, q, **keywords)


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """W with W exp(W) = z, on the branch k."""
    constant("lambertw", k=k, tol=tol)
    if not traced(z):
        return scipy.special.lambertw(z, k, tol)
    return _ufuncs._lambertw(array(z), np.asarray(k, dtype=np.dtype("long")), tol)
