"""scipy.integrate for plain and traced values: rules for samples, integrals and initial value problems. Names and
arguments are SciPy's; on plain values every function is SciPy's.

Functions that call yours stand above, in `adjoint.integrate.scipy_names`, and wait until they are asked for. Any other
name that is not defined here is SciPy's own, and takes plain values only.
"""

# pyright: reportUnsupportedDunderAll=false
# (what waits until it is asked for)

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as _theirs
import scipy.special

from adjoint.program.types import Value
from adjoint.scipy.arguments import along, array, constant, demand, floating, for_traced, ratio
from adjoint.scipy.passing import passed

_CALLING = (
    "cubature", "dblquad", "nquad", "odeint", "qmc_quad", "quad", "quad_vec", "solve_bvp", "solve_ivp", "tanhsinh",
    "tplquad",
)  # fmt: skip

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "romb", "simpson", "trapezoid"]
__all__ += list(_CALLING)


def __getattr__(name: str) -> Any:
    """What calls your functions, from above; everything else of scipy.integrate, for plain values."""
    if name in _CALLING:
        return getattr(importlib.import_module("adjoint.integrate.scipy_names"), name)
    return passed(_theirs, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_theirs.__all__})


def _positions(call: str, x: Any, y: Value, axis: int) -> Value:
    """The points of the samples, with as many axes as y: given for one axis, or for all samples."""
    x = array(x)
    x = x if x.dtype.kind in "fc" else x.astype(np.finfo(y.dtype).dtype)
    if x.ndim == 1:
        x = np.reshape(x, tuple(-1 if j == axis % y.ndim else 1 for j in range(y.ndim)))
    if x.ndim != y.ndim or x.shape[axis] != y.shape[axis]:
        raise ValueError(
            f"{call}: x must be a vector as long as y along the axis, or have the shape of y; y has shape {y.shape}, "
            f"x {x.shape}."
        )
    return x


def _step(dx: Any) -> Any:
    """The distance of samples; a number of Python's stays one, which does not change their type."""
    return dx if type(dx) in (int, float) else floating(dx)


@for_traced(_theirs)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    """∫ y dx by the trapezoidal rule, Σ hᵢ (yᵢ + yᵢ₊₁) / 2."""
    y = floating(y)
    h = _step(dx) if x is None else np.diff(_positions("trapezoid", x, y, axis), axis=axis)
    return np.sum(h * (along(y, axis, 1) + along(y, axis, None, -1)) / 2.0, axis=axis)


@for_traced(_theirs)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Value:
    """∫ y dx from the first sample to each other one, by the trapezoidal rule."""
    y = floating(y)
    if y.shape[axis] == 0:
        raise ValueError("At least one point is required along `axis`.")
    h = _step(dx) if x is None else np.diff(_positions("cumulative_trapezoid", x, y, axis), axis=axis)
    z = np.cumsum(h * (along(y, axis, 1) + along(y, axis, None, -1)) / 2.0, axis=axis)
    if initial is None:
        return z
    constant("cumulative_trapezoid", initial=initial)
    if initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    return np.concatenate([0.0 * along(y, axis, 0, 1), z], axis=axis)


def _parabolas(y: Value, h: Value | None, dx: Value, axis: int) -> Value:
    """Simpson's rule for an even number of intervals: parabolas through three samples each."""
    first, middle, last = along(y, axis, 0, -2, 2), along(y, axis, 1, None, 2), along(y, axis, 2, None, 2)
    if h is None:
        return np.sum(first + 4.0 * middle + last, axis=axis) * (dx / 3.0)
    left, right = along(h, axis, 0, None, 2), along(h, axis, 1, None, 2)
    both, quotient = left + right, ratio(left, right)
    terms = first * (2.0 - ratio(1.0, quotient)) + middle * (both * ratio(both, left * right)) + last * (2.0 - quotient)
    return np.sum(both / 6.0 * terms, axis=axis)


@for_traced(_theirs)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Value:
    """∫ y dx by parabolas through three samples each; with an odd number of intervals the last has one of its own."""
    y, dx = floating(y), floating(dx)
    n = y.shape[axis]
    h = None if x is None else np.diff(_positions("simpson", x, y, axis), axis=axis)
    if n % 2:
        return _parabolas(y, h, dx, axis)
    last, before = np.take(y, -1, axis), np.take(y, -2, axis)
    if n == 2:
        return 0.5 * (dx if h is None else np.take(h, -1, axis)) * (last + before)
    h0, h1 = (dx, dx) if h is None else (np.take(h, -2, axis), np.take(h, -1, axis))
    alpha = ratio(2.0 * h1**2 + 3.0 * h0 * h1, 6.0 * (h0 + h1))
    beta = ratio(h1**2 + 3.0 * h0 * h1, 6.0 * h0)
    eta = ratio(h1**3, 6.0 * h0 * (h0 + h1))
    inner = _parabolas(along(y, axis, None, -1), None if h is None else along(h, axis, None, -1), dx, axis)
    return inner + alpha * last + beta * before - eta * np.take(y, -3, axis)


def _left_parts(y: Value, h: Value, equal: bool) -> Value:
    """∫ over the left interval of each three samples, under the parabola through them."""
    a, b, c = y[..., :-2], y[..., 1:-1], y[..., 2:]
    left, right = h[..., :-1], h[..., 1:]
    if equal:
        return left / 3.0 * (1.25 * a + 2.0 * b - 0.25 * c)
    share = left / (left + right)
    weight = share * (left / right)
    return left / 6.0 * ((3.0 - share) * a + (3.0 + weight + share) * b - weight * c)


@for_traced(_theirs)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Value:
    """∫ y dx from the first sample to each other one, by parabolas through three samples each."""
    y = floating(y)
    shape, one = y.shape, tuple(1 if j == axis % y.ndim else n for j, n in enumerate(y.shape))
    turned = np.moveaxis(y, axis, -1)
    if x is None:
        dx = floating(dx)
        if dx.ndim and dx.shape != one:
            raise ValueError(f"cumulative_simpson: dx must be a number or have the shape {one}, not {dx.shape}.")
        h = np.broadcast_to(np.moveaxis(np.broadcast_to(dx, one), axis, -1), (*turned.shape[:-1], shape[axis] - 1))
    else:
        points = _positions("cumulative_simpson", x, y, axis)
        h = np.diff(np.moveaxis(points, axis, -1), axis=-1)
        if shape[axis] > 2:
            demand(h > 0, "Input x must be strictly increasing.")
        h = np.broadcast_to(h, (*turned.shape[:-1], shape[axis] - 1))
    if shape[axis] < 3:
        parts = h * (turned[..., 1:] + turned[..., :-1]) / 2.0
    else:
        left = _left_parts(turned, h, x is None)
        right = _left_parts(turned[..., ::-1], h[..., ::-1], x is None)[..., ::-1]
        # every second interval is the left one of its three samples, the others and the last are right ones
        even = np.arange(shape[axis] - 2) % 2 == 0
        chosen = np.where(even, left, np.concatenate([right[..., :1], right[..., :-1]], axis=-1))
        parts = np.concatenate([chosen, right[..., -1:]], axis=-1)
    z = np.moveaxis(np.cumsum(parts, axis=-1), -1, axis)
    if initial is None:
        return z
    initial = floating(initial)
    if initial.ndim and initial.shape != one:
        raise ValueError(f"cumulative_simpson: initial must be a number or have the shape {one}, not {initial.shape}.")
    initial = np.broadcast_to(initial, one)
    return np.concatenate([initial, z + initial], axis=axis)


@for_traced(_theirs)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: Any = False) -> Value:
    """∫ y dx by Romberg's extrapolation, from 2ᵏ + 1 samples: trapezoidal rules with steps dx 2ᵏ … dx, extrapolated."""
    y = floating(y)
    intervals = y.shape[axis] - 1
    k = max(intervals, 1).bit_length() - 1
    if 1 << k != intervals:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    row: list[Value] = []
    for level in range(k + 1):
        coarse = along(y, axis, None, None, 1 << (k - level))
        new = [trapezoid_of(coarse, dx * (1 << (k - level)), axis)]
        for j, before in enumerate(row):
            new.append(new[-1] + (new[-1] - before) / (4.0 ** (j + 1) - 1.0))
        row = new
    return row[-1]


def trapezoid_of(y: Value, dx: Any, axis: int) -> Value:
    """The trapezoidal rule with equal steps."""
    return dx * (np.sum(y, axis=axis) - 0.5 * (np.take(y, 0, axis) + np.take(y, -1, axis)))


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...] = (), n: int = 5) -> tuple[Value, None]:
    """∫ₐᵇ func dx by Gauss and Legendre's rule with n points: (b - a) / 2 Σ wᵢ func(xᵢ)."""
    a, b = array(a), array(b)
    if not is_finite(a) or not is_finite(b):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = scipy.special.roots_legendre(n)
    points = (b - a) * (nodes + 1.0) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(points, *args), axis=-1), None


def is_finite(x: Value) -> bool:
    """Whether a plain number is finite; a traced one is taken to be."""
    return not isinstance(x, np.ndarray) or bool(np.all(np.isfinite(x)))
