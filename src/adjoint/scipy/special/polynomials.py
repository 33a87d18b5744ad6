"""Legendre's functions of whole degree and order, spherical harmonics, Dirichlet's function.

Pₙᵐ(z) = (-1)ᵐ (1-z²)^(m/2) dᵐPₙ/dzᵐ, and dᵏPₙ/dzᵏ = (2k-1)!! C_(n-k)^(k+½)(z), Gegenbauer's polynomial.
"""

# The values may be traced, and SciPy has no types.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.special.arguments import array, constant, traced, whole


def diric(x: Any, n: Any) -> Any:
    """sin(nx/2) / (n sin(x/2)) = Uₙ₋₁(cos(x/2))/n, NaN unless n is an integer > 0."""
    constant("diric", n=n)
    if not traced(x):
        return scipy.special.diric(x, n)
    x, counts = array(x), np.asarray(n)
    good = (counts > 0) & (counts == np.floor(counts))
    safe = np.where(good, counts, 1).astype(np.int64)
    value = scipy.special.eval_chebyu(safe - 1, np.cos(0.5 * x)) / safe
    return np.where(good, value, np.nan).astype(x.dtype)


def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """The associated Laguerre polynomial of degree n and order k."""
    return scipy.special.eval_genlaguerre(n, k, x)


def _polynomial(n: Any, k: Any, z: Value) -> Value:
    """dᵏPₙ/dzᵏ over (2k-1)!! = C_(n-k)^(k+½); 0 for k > n."""
    below = k <= n
    return np.where(below, scipy.special.eval_gegenbauer(np.where(below, n - k, 0), k + 0.5, z), 0.0)


def _odd_factorial(k: Any) -> Any:
    """(2k-1)!! = 2ᵏ Γ(k+½)/√π, as a logarithm."""
    return k * math.log(2.0) + scipy.special.gammaln(k + 0.5) - 0.5 * math.log(math.pi)


def _orders(call: str, n: Any, m: Any) -> tuple[Any, Any]:
    constant(call, n=n, m=m)
    n, m = np.asarray(n), np.asarray(m)
    if n.dtype.kind not in "iu" or m.dtype.kind not in "iu":
        raise TypeError(f"{call}: degree and order must be integers, got {n.dtype} and {m.dtype}.")
    if np.any(n < 0):
        raise ValueError(f"{call}: the degree must not be negative.")
    n, m = np.broadcast_arrays(n, m)
    return n, m


def _rows(call: str, diff_n: Any) -> int:
    count = whole(call, "diff_n", diff_n)
    if count > 2:
        raise ValueError(f"{call}: diff_n is currently only implemented for orders 0, 1, and 2, received: {count}.")
    return count + 1


def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Legendre's polynomial and its derivatives up to diff_n, along a first axis."""
    if not traced(z):
        constant("legendre_p", n=n)
        return scipy.special.legendre_p(n, z, diff_n=diff_n)
    n, _ = _orders("legendre_p", n, 0)
    z = array(z)
    rows = [np.exp(_odd_factorial(float(k))) * _polynomial(n, k, z) for k in range(_rows("legendre_p", diff_n))]
    return np.stack(rows).astype(z.dtype)


def _all(n: int, z: Value) -> Any:
    """The degrees 0 … n, with axes for z after."""
    return np.reshape(np.arange(n + 1), (n + 1, *[1] * z.ndim))


def legendre_p_all(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Legendre's polynomials of degree 0 … n and their derivatives: axes (derivative, degree, …)."""
    if not traced(z):
        return scipy.special.legendre_p_all(n, z, diff_n=diff_n)
    z = array(z)
    return legendre_p(_all(whole("legendre_p_all", "n", n), z), z, diff_n=diff_n)


# ---------------------------------------------------------------- associated


def _constant_factor(n: Any, m: Any, norm: float | None) -> Any:
    """(2|m|-1)!!, times (n-|m|)!/(n+|m|)! for m < 0, or the root of it for normalized functions; 0 for |m| > n."""
    size = np.abs(m)
    below = size <= n
    low, high = np.where(below, n - size, 0) + 1.0, n + size + 1.0
    ratio = scipy.special.gammaln(low) - scipy.special.gammaln(high)
    log = _odd_factorial(size.astype(float))
    if norm is None:
        log = log + np.where(m < 0, ratio, 0.0)
    else:
        log = log + 0.5 * (ratio + np.log((2 * n + 1) * norm))
    return np.where(below, np.exp(log), 0.0)


def _derivatives(
    f: Callable[[int], Value], power: Any, base: Value, base_first: Value, base_second: Value, rows: int
) -> list[Value]:
    """baseᵖ f and its first derivatives; f(k) is the k-th derivative of f, base_first and base_second those of base."""

    def raised(less: int) -> Value:
        """p (p-1) … baseᵖ⁻ˡᵉˢˢ, and 0 where the factor is."""
        factor = power * (power - 1) if less == 2 else power if less == 1 else np.ones_like(power)
        return factor * np.power(base, np.where(factor == 0, 0, power - less))

    found = [raised(0) * f(0)]
    if rows > 1:
        found.append(raised(1) * base_first * f(0) + raised(0) * f(1))
    if rows > 2:
        bent = raised(2) * base_first * base_first + raised(1) * base_second
        found.append(bent * f(0) + 2.0 * raised(1) * base_first * f(1) + raised(0) * f(2))
    return found


def assoc_legendre_p(n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """The associated Legendre polynomial and its derivatives up to diff_n, along a first axis."""
    constant("assoc_legendre_p", n=n, m=m, branch_cut=branch_cut)
    if not traced(z):
        return scipy.special.assoc_legendre_p(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)
    n, m = _orders("assoc_legendre_p", n, m)
    if np.any(np.asarray(branch_cut) != 2):
        raise UnsupportedError(
            "assoc_legendre_p: there are rules for branch_cut=2 alone. Write it with eval_gegenbauer and np.sqrt."
        )
    rows, z = _rows("assoc_legendre_p", diff_n), array(z)
    size = np.abs(m)
    factor = np.where((m > 0) & (size % 2 == 1), -1.0, 1.0) * _constant_factor(n, m, 0.5 if norm else None)
    base = np.sqrt((1.0 - z) * (1.0 + z))

    def part(k: int) -> Value:
        ratio = np.exp(_odd_factorial(size + k) - _odd_factorial(size))
        return factor * ratio * _polynomial(n, size + k, z)

    base_first = -z / base if rows > 1 else 0.0
    base_second = -1.0 / (base * base * base) if rows > 2 else 0.0
    return np.stack(_derivatives(part, size, base, base_first, base_second, rows)).astype(z.dtype)


def _all_orders(call: str, n: Any, m: Any, z: Value) -> tuple[Any, Any]:
    """Degrees 0 … n and orders 0, 1 … m, -m … -1 along two axes, with axes for z after."""
    degree, order = whole(call, "n", n), abs(int(m))
    constant(call, m=m)
    orders = np.concatenate([np.arange(order + 1), np.arange(-order, 0)])
    shape = [1] * z.ndim
    return np.reshape(np.arange(degree + 1), (-1, 1, *shape)), np.reshape(orders, (1, -1, *shape))


def assoc_legendre_p_all(n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """All of degree 0 … n and order 0 … m, -m … -1: axes (derivative, degree, order, …)."""
    if not traced(z):
        return scipy.special.assoc_legendre_p_all(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)
    z = array(z)
    degrees, orders = _all_orders("assoc_legendre_p_all", n, m, z)
    return assoc_legendre_p(degrees, orders, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)


# ---------------------------------------------------------------- on the sphere


def _spherical_rows(call: str, n: Any, m: Any, theta: Value, rows: int) -> list[Value]:
    """√((2n+1)/4π (n-m)!/(n+m)!) Pₙᵐ(cos θ) with |sin θ| in it, and its derivatives in θ."""
    n, m = _orders(call, n, m)
    size = np.abs(m)
    factor = np.where((m > 0) & (size % 2 == 1), -1.0, 1.0) * _constant_factor(n, m, 0.25 / math.pi)
    sine, cosine = np.sin(theta), np.cos(theta)
    side = np.where(sine < 0, -1.0, 1.0)

    def inner(k: int) -> Value:
        ratio = np.exp(_odd_factorial(size + k) - _odd_factorial(size))
        return factor * ratio * _polynomial(n, size + k, cosine)

    def part(k: int) -> Value:  # the chain rule for cos θ
        if k == 0:
            return inner(0)
        return -sine * inner(1) if k == 1 else sine * sine * inner(2) - cosine * inner(1)

    return _derivatives(part, size, side * sine, side * cosine, -side * sine, rows)


def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """The spherical Legendre function of θ and its derivatives up to diff_n, along a first axis."""
    if not traced(theta):
        constant("sph_legendre_p", n=n, m=m)
        return scipy.special.sph_legendre_p(n, m, theta, diff_n=diff_n)
    theta = array(theta)
    rows = _spherical_rows("sph_legendre_p", n, m, theta, _rows("sph_legendre_p", diff_n))
    return np.stack(rows).astype(theta.dtype)


def sph_legendre_p_all(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """All of degree 0 … n and order 0 … m, -m … -1: axes (derivative, degree, order, …)."""
    if not traced(theta):
        return scipy.special.sph_legendre_p_all(n, m, theta, diff_n=diff_n)
    theta = array(theta)
    return sph_legendre_p(*_all_orders("sph_legendre_p_all", n, m, theta), theta, diff_n=diff_n)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """The spherical harmonic Yₙᵐ(θ, φ); for diff_n = 1 with its gradient, for 2 with its Hessian, along last axes."""
    if not traced(theta, phi):
        constant("sph_harm_y", n=n, m=m)
        return scipy.special.sph_harm_y(n, m, theta, phi, diff_n=diff_n)
    count, theta, phi = _rows("sph_harm_y", diff_n), array(theta), array(phi)
    polar = _spherical_rows("sph_harm_y", n, m, theta, count)
    wave, rate = np.exp(1j * np.asarray(m) * phi), 1j * np.asarray(m)
    value = polar[0] * wave
    if count == 1:
        return value
    gradient = np.stack([polar[1] * wave, rate * value], axis=-1)
    if count == 2:
        return value, gradient
    mixed = rate * polar[1] * wave
    rows = [np.stack([polar[2] * wave, mixed], axis=-1), np.stack([mixed, rate * rate * value], axis=-1)]
    return value, gradient, np.stack(rows, axis=-2)


def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """All of degree 0 … n and order 0 … m, -m … -1: axes (degree, order, …), and those of the derivatives last."""
    if not traced(theta, phi):
        return scipy.special.sph_harm_y_all(n, m, theta, phi, diff_n=diff_n)
    theta, phi = np.broadcast_arrays(array(theta), array(phi))
    return sph_harm_y(*_all_orders("sph_harm_y_all", n, m, theta), theta, phi, diff_n=diff_n)
