"""Bessel functions: their derivatives by order, spherical ones, those of Riccati, Jahnke's Λ."""

# The values may be traced, and SciPy has no types.
# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.special.arguments import array, constant, traced, whole


def _spherical(name: str, odd: float, n: Any, z: Any, derivative: bool) -> Any:
    """A spherical Bessel function; left of 0 by its parity, which is `odd` for n = 0."""
    constant(f"spherical_{name}", n=n)
    if not traced(z):
        return getattr(scipy.special, f"spherical_{name}")(n, z, derivative)
    n, z = np.asarray(n, dtype=np.int64), array(z)
    f = getattr(scipy.special._ufuncs, f"_spherical_{name}")
    if derivative:
        below, above = {"jn": (1, -1), "yn": (1, -1), "in": (1, 1), "kn": (-1, -1)}[name]
        terms = lambda x: (below * n * f(abs(n - 1), x) + above * (n + 1) * f(n + 1, x)) / (2 * n + 1)
        odd = -odd
    else:
        terms = lambda x: f(n, x)
    if z.dtype.kind == "c":
        return terms(z)
    left = z < 0
    sign = np.where(n % 2 == 0, odd, -odd)
    return np.where(left, sign * terms(np.where(left, -z, 1.0)), terms(np.where(left, 1.0, z))).astype(z.dtype)


def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the first kind, or its derivative."""
    return _spherical("jn", 1.0, n, z, derivative)


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the second kind, or its derivative."""
    return _spherical("yn", -1.0, n, z, derivative)


def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the first kind, or its derivative."""
    return _spherical("in", 1.0, n, z, derivative)


def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the second kind, or its derivative."""
    if traced(z) and z.dtype.kind != "c" and np.any(z < 0):
        raise UnsupportedError("spherical_kn of a negative real number has no rule here. Use a complex argument.")
    return _spherical("kn", 1.0, n, z, derivative)


def _derivative(name: str, v: Any, z: Any, n: Any, sign: float) -> Any:
    """The n-th derivative, 2⁻ⁿ Σ (±1)ⁱ C(n, i) f_(v-n+2i)(z)."""
    if not traced(v, z):
        return getattr(scipy.special, f"{name}p")(v, z, n)
    constant(f"{name}p", n=n)
    f = getattr(scipy.special, {"h1v": "hankel1", "h2v": "hankel2"}.get(name, name))
    n = whole(f"{name}p", "n", n)
    total: Value = 0.0
    for i in range(n + 1):
        total = total + sign**i * scipy.special.comb(n, i) * f(v + float(2 * i - n), z)
    return ((-1.0) ** n if name == "kv" else 1.0) * total / 2.0**n


def jvp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of jv in z."""
    return _derivative("jv", v, z, n, -1.0)


def yvp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of yv in z."""
    return _derivative("yv", v, z, n, -1.0)


def kvp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of kv in z."""
    return _derivative("kv", v, z, n, 1.0)


def ivp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of iv in z."""
    return _derivative("iv", v, z, n, 1.0)


def h1vp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of hankel1 in z."""
    return _derivative("h1v", v, z, n, -1.0)


def h2vp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of hankel2 in z."""
    return _derivative("h2v", v, z, n, -1.0)


def _scalar(call: str, x: Value) -> Value:
    if x.ndim:
        raise ValueError(f"{call}: x must be a scalar, got the shape {x.shape}.")
    return x


def _riccati(name: str, n: Any, x: Any) -> Any:
    if not traced(x):
        constant(f"riccati_{name}", n=n)
        return getattr(scipy.special, f"riccati_{name}")(n, x)
    orders, x = np.arange(whole(f"riccati_{name}", "n", n) + 1), _scalar(f"riccati_{name}", array(x))
    f = spherical_jn if name == "jn" else spherical_yn
    return x * f(orders, x), f(orders, x) + x * f(orders, x, True)


def riccati_jn(n: Any, x: Any) -> Any:
    """x jₖ(x) and its derivative, for k = 0 … n."""
    return _riccati("jn", n, x)


def riccati_yn(n: Any, x: Any) -> Any:
    """x yₖ(x) and its derivative, for k = 0 … n."""
    return _riccati("yn", n, x)


def lmbda(v: Any, x: Any) -> Any:
    """Λₖ(x) = Γ(k+1) Jₖ(x)/(x/2)ᵏ and its derivative, for k = v-⌊v⌋ … v."""
    constant("lmbda", v=v)
    if not traced(x):
        return scipy.special.lmbda(v, x)
    if v < 0:
        raise ValueError(f"lmbda: v must not be negative, got {v}.")
    x = _scalar("lmbda", array(x))
    orders = v - int(v) + np.arange(int(v) + 1.0)
    square = -0.25 * x * x
    higher = scipy.special.hyp0f1(orders + 2.0, square)
    return scipy.special.hyp0f1(orders + 1.0, square), -0.5 * x / (orders + 1.0) * higher
