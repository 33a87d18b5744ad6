"""Polynomials by their coefficients, highest first: values, products, quotients, roots, fits.

p(x) = p₀ xⁿ + p₁ xⁿ⁻¹ + … + pₙ
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from adjoint.numpy.asking import settled, without_leading_zeros
from adjoint.numpy.dispatch import as_array, implements, is_traced
from adjoint.numpy.shaping import convert
from adjoint.program.types import Value


def _vector(p: Any) -> Value:
    p = np.atleast_1d(as_array(p))
    if p.ndim != 1:
        raise ValueError("Polynomial must be 1d only.")
    return p


def _floating(x: Any) -> Value:
    x = as_array(x)
    return convert(x, np.float64) if x.dtype.kind in "biu" else x


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Value:
    p, x = as_array(p), as_array(x)
    y = np.zeros_like(x * p[0]) if p.shape[0] else np.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Value:
    p, m = as_array(p), operator.index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Value:
    p, m = as_array(p), operator.index(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if constants.shape[0] == 1 and m > 1:
        constants = np.broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), constants[i : i + 1]])
    return p


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Value:
    a, b = (np.atleast_1d(as_array(p)) for p in (a1, a2))
    n = max(a.shape[0], b.shape[0])
    return np.pad(a, (n - a.shape[0], 0)) + np.pad(b, (n - b.shape[0], 0))


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Value:
    return polyadd(a1, -as_array(a2))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Value:
    return np.convolve(*(without_leading_zeros(_some(p)) for p in (a1, a2)))


def _some(p: Any) -> Value:
    """Coefficients; those of 0 when there are none."""
    p = _vector(p)
    return p if p.shape[0] else np.zeros(1, p.dtype)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Value, Value]:
    """Long division: (quotient, remainder), the remainder without leading coefficients that are almost zero."""
    u, v = (_some(p) for p in (u, v))
    wide = np.result_type(u.dtype, v.dtype, np.float64 if u.dtype.kind in "biu" and v.dtype.kind in "biu" else u.dtype)
    u, v = convert(u, wide), convert(v, wide)
    steps, n = u.shape[0] - v.shape[0] + 1, v.shape[0] - 1
    if steps < 1:
        return np.zeros(1, wide), np.copy(_without_almost_zeros(u))
    digits, rest = [], u[: n + 1]
    for k in range(steps):
        digits.append(rest[0] / v[0])
        rest = rest[1:] - digits[-1] * v[1:]
        if k + 1 < steps:
            rest = np.concatenate([rest, u[n + k + 1 : n + k + 2]])
    return np.stack(digits), _without_almost_zeros(rest if n else np.zeros(1, wide))


def _without_almost_zeros(r: Value) -> Value:
    while r.shape[0] > 1 and settled(np.isclose(r[0], 0, rtol=1e-14)):
        r = r[1:]
    return r


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Value:
    """The polynomial with these roots and p₀ = 1; of a square matrix, its characteriztic polynomial."""
    x = np.atleast_1d(_floating(seq_of_zeros))
    real = x.ndim == 2 and x.dtype.kind != "c"  # the eigenvalues of a real matrix come in conjugate pairs
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0]:
        x = np.linalg.eigvals(x)
    elif x.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if x.shape[0] == 0:
        return np.asarray(1.0)
    if x.dtype.kind == "c" and not real:
        real = bool(settled(np.all(np.equal(np.sort(x), np.sort(np.conjugate(x))))))
    p = np.ones(1, x.dtype)
    for k in range(x.shape[0]):
        longer = np.pad(p, (0, 1))
        p = longer - x[k] * np.pad(p, (1, 0))
    return np.real(p).copy() if real and p.dtype.kind == "c" else p


@implements(np.roots)
def roots(p: Any) -> Value:
    """The eigenvalues of the companion matrix; zeros at the end of p are roots at 0.

    Where values are not known (in the body of a loop) the first coefficient must not be 0, and the roots stay complex.
    """
    p = np.atleast_1d(_floating(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.shape[0] and settled(np.all(np.equal(p, 0))):
        return np.zeros(0)
    p = without_leading_zeros(p)
    n = p.shape[0]
    p = without_leading_zeros(p, -1)
    zeros = n - p.shape[0]
    if p.shape[0] < 2:
        return np.zeros(zeros)
    rows = np.eye(p.shape[0] - 2, p.shape[0] - 1, dtype=p.dtype)
    found = np.linalg.eigvals(np.concatenate([np.expand_dims(-p[1:] / p[0], 0), rows]))
    if found.dtype.kind == "c" and p.dtype.kind != "c" and settled(np.all(np.equal(np.imag(found), 0))):
        found = np.real(found)
    return np.concatenate([found, np.zeros(zeros, found.dtype)]) if zeros else np.copy(found)


@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """Least squares: min Σ wᵢ² (p(xᵢ) - yᵢ)², with the columns of the Vandermonde matrix scaled to length one."""
    order = operator.index(deg) + 1
    x, y = _floating(x), _floating(y)
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.shape[0] == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    rcond = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    table, right = np.vander(x, order), y
    if w is not None:
        w = _floating(w)
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        column = np.expand_dims(w, 1)
        table, right = table * column, right * (column if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(table * table, axis=0))
    table = table / scale
    c, residuals, rank, s = np.linalg.lstsq(table, right, rcond)
    c = np.transpose(np.transpose(c) / scale)
    if full:
        return c, residuals, rank, s, rcond
    if not is_traced(rank) and rank != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if not cov:
        return c
    spread = np.linalg.inv(np.matmul(np.transpose(table), table)) / np.outer(scale, scale)
    if cov == "unscaled":
        share: Value = np.ones(1)
    elif x.shape[0] <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        share = residuals / (x.shape[0] - order)
    return c, spread * share if y.ndim == 1 else np.expand_dims(spread, -1) * share
