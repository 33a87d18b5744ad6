"""scipy.special for plain and traced values: SciPy's ufuncs take both, its Python functions are written anew here.

On plain values every function is SciPy's own; a name that is not defined here is passed through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from numpy.lib.array_utils import normalize_axis_tuple

from adjoint.base.errors import UnsupportedError
from adjoint.ops.logsumexp import LogSumExp, largest
from adjoint.ops.pointwise import masked_multiply
from adjoint.ops.special.gamma import polygamma as polygamma_of_order
from adjoint.program.trace import Traced, bind
from adjoint.program.types import Value
from adjoint.scipy.passing import passed

__all__ = [
    "comb",
    "factorial",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "softmax",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.special."""
    return passed(scipy.special, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *scipy.special.__all__})


def _traced(*values: Any) -> bool:
    return any(isinstance(v, Traced) or (isinstance(v, list | tuple) and _traced(*v)) for v in values)


def _array(x: Any) -> Value:
    """A traced value as it is; a list of them stacked; anything else as an array of floats."""
    if isinstance(x, list | tuple) and _traced(x):
        return np.stack([_array(v) for v in x])
    x = x if isinstance(x, Traced) else np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _constant(call: str, **values: Any) -> None:
    for name, value in values.items():
        if _traced(value):
            raise UnsupportedError(f"{call}: {name!r} is a traced value, but it must be a plain number or array here.")


def _squeezed(z: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return z if keepdims else np.reshape(z, tuple(n for i, n in enumerate(z.shape) if i not in axes))


def logsumexp(
    a: Any, axis: int | tuple[int, ...] | None = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log Σ b exp(a), stable for any a; its gradient is the softmax. With `return_sign`: (log |Σ|, sign of Σ)."""
    if not _traced(a, b):
        return scipy.special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)
    a = _array(a)
    if b is not None:
        b = _array(b)
        a, b = np.broadcast_arrays(a, b)
    axes = normalize_axis_tuple(range(a.ndim) if axis is None else axis, a.ndim)
    if b is None and not (return_sign and a.dtype.kind == "c"):
        z = bind(LogSumExp(axes), a)
        z = np.reshape(z, tuple(1 if i in axes else n for i, n in enumerate(a.shape))) if keepdims else z
        return (z, np.where(np.isneginf(z), 0.0, 1.0).astype(z.dtype)) if return_sign else z
    m = largest(a if b is None else np.where(np.equal(b, 0), -np.inf, a), axes)
    m = np.where(np.isfinite(m), m, 0.0)
    with np.errstate(over="ignore"):  # an element of weight zero may be larger than m
        e = np.exp(a - m)
    s = np.sum(e if b is None else masked_multiply(b, e), axis=axes, keepdims=True)
    if not return_sign:
        return _squeezed(np.log(s) + m, axes, keepdims)
    size = np.abs(s)
    sign = s / np.where(np.equal(size, 0), 1.0, size) if s.dtype.kind == "c" else np.sign(s)
    return _squeezed(np.log(size) + m, axes, keepdims), _squeezed(sign, axes, keepdims)


def softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """exp(x) / Σ exp(x), stable for any finite x."""
    if not _traced(x):
        return scipy.special.softmax(x, axis=axis)
    x = _array(x)
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    e = np.exp(x - largest(x, axes))
    return e / np.sum(e, axis=axes, keepdims=True)


def log_softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """x - log Σ exp(x), computed from the distances to the largest x."""
    if not _traced(x):
        return scipy.special.log_softmax(x, axis=axis)
    x = _array(x)
    m = largest(x, normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim))
    gaps = x - np.where(np.isfinite(m), m, 0.0)
    return gaps - logsumexp(gaps, axis=axis, keepdims=True)


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of the digamma function."""
    _constant("polygamma", n=n)
    if not _traced(x):
        return scipy.special.polygamma(n, x)
    x, orders = _array(x), np.asarray(n)
    if orders.ndim == 0:
        if orders != np.floor(orders) or orders < 0:
            raise ValueError(f"polygamma: the order must be a whole number >= 0, got {n}.")
        return polygamma_of_order(int(orders), x)
    scale = (-1.0) ** (orders + 1) * scipy.special.gamma(orders + 1.0)
    higher = scale * scipy.special.zeta(np.where(orders == 0, 2.0, orders + 1.0), x)
    return np.where(orders == 0, scipy.special.psi(x), higher)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the d-variate gamma function: d (d-1)/4 log π + Σⱼ log Γ(a - j/2), j = 0 … d-1."""
    _constant("multigammaln", d=d)
    if not _traced(a):
        return scipy.special.multigammaln(a, d)  # type: ignore[attr-defined]
    dimension = int(d)
    if dimension != d or dimension < 1:
        raise ValueError(f"multigammaln: d should be a positive integer (dimension), got {d}.")
    a = _array(a)
    if np.any(a <= 0.5 * (dimension - 1)):
        raise ValueError(f"multigammaln: a must be larger than (d - 1)/2 = {0.5 * (dimension - 1)}.")
    constant = dimension * (dimension - 1) * 0.25 * float(np.log(np.pi))
    return constant + sum(scipy.special.gammaln(a - 0.5 * j) for j in range(dimension))


def _spherical(name: str, odd: float, n: Any, z: Any, derivative: bool) -> Any:
    """A spherical Bessel function; left of 0 by its parity, which is `odd` for n = 0."""
    _constant(f"spherical_{name}", n=n)
    if not _traced(z):
        return getattr(scipy.special, f"spherical_{name}")(n, z, derivative)
    n, z = np.asarray(n, dtype=np.int64), _array(z)
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
    if _traced(z) and z.dtype.kind != "c" and np.any(z < 0):
        raise UnsupportedError("spherical_kn of a negative real number has no rule here. Use a complex argument.")
    return _spherical("kn", 1.0, n, z, derivative)


def _counts(call: str, exact: bool) -> None:
    if exact:
        raise UnsupportedError(
            f"{call}(exact=True) counts with Python's integers, so traced values cannot go in. Use exact=False."
        )


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803
    """The number of choices of k out of N, continued by the gamma function."""
    if not _traced(N, k):
        return scipy.special.comb(N, k, exact=exact, repetition=repetition)
    _counts("comb", exact)
    if repetition:
        return comb(N + k - 1, k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.binom(N, k), 0.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:  # noqa: N803
    """The number of ordered choices of k out of N, continued by the gamma function."""
    if not _traced(N, k):
        return scipy.special.perm(N, k, exact=exact)
    _counts("perm", exact)
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.poch(N - k + 1, k), 0.0)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """n! = Γ(n + 1), and 0 for n < 0."""
    if not _traced(n):
        return scipy.special.factorial(n, exact=exact, extend=extend)
    _counts("factorial", exact)
    n = _array(n)
    value = scipy.special.gamma(n + 1.0)
    return value if extend == "complex" else np.where(n < 0, 0.0, value)
