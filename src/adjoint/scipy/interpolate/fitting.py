"""Splines through data: interpolating ones of any degree, periodic ones, and least squares with given knots."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.ops.linalg.banded import BandedSolve
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.arguments import demand
from adjoint.scipy.interpolate.basis import banded, basis, design, intervals
from adjoint.scipy.interpolate.bspline import BSpline
from adjoint.scipy.interpolate.cubic import finite
from adjoint.scipy.interpolate.piecewise import double, real, spread


def not_a_knot(x: Value, k: int) -> Value:
    """Knots at the nodes (between them for even k), without the first and the last few, k + 1 at each end."""
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2.0
    drop = (k + 1) // 2 if k % 2 else k // 2
    inner = inner[drop : inner.shape[0] - drop]
    return np.concatenate([np.repeat(x[:1], k + 1), inner, np.repeat(x[-1:], k + 1)])


def periodic_knots(x: Value, k: int) -> Value:
    """Knots at the nodes (between them for even k), continued by whole periods on both sides."""
    n = x.shape[0]
    inner = x if k % 2 else np.concatenate([x[:1], x[1:-1] - np.diff(x)[:-1] / 2.0, x[-1:]])
    gaps = np.diff(inner)
    before = np.cumsum(np.take(gaps, [-(i % (n - 1)) - 1 for i in range(k)]))
    after = np.cumsum(np.take(gaps, [i % (n - 1) for i in range(k)]))
    return np.concatenate([inner[0] - before[::-1], inner, inner[-1] + after])


def _sides(bc_type: Any, shape: tuple[int, ...]) -> list[list[tuple[int, Value]]]:
    """The derivatives that are given at both ends: (order, value)."""
    if bc_type is None or (isinstance(bc_type, str) and bc_type in ("not-a-knot", "periodic")):
        return [[], []]
    try:
        sides = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
        left, right = sides
    except (TypeError, ValueError):
        raise ValueError(f"Unknown boundary condition: {bc_type}") from None
    return [_side(side, shape) for side in (left, right)]


def _side(side: Any, shape: tuple[int, ...]) -> list[tuple[int, Value]]:
    if side is None:
        return []
    if isinstance(side, str):
        if side not in ("clamped", "natural"):
            raise ValueError(f"Unknown boundary condition : {side}")
        return [(1 if side == "clamped" else 2, np.zeros(shape))]
    try:
        return [(int(order), np.broadcast_to(double(value), shape)) for order, value in side]
    except TypeError:
        raise ValueError(
            "Derivatives, `bc_type`, should be specified as a pair of iterables of pairs of (order, value)."
        ) from None


def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """The spline of degree k through (x, y), a banded equation for its coefficients.

    ```python
    x = np.linspace(0.0, 1.0, 6)
    s = ad.scipy.interpolate.make_interp_spline(x, x**2)
    s(0.3)  # → 0.09
    ad.grad(s)(0.3)  # → 0.6
    ```
    """
    k = operator.index(k)
    x, y = real("x", x), double(y)
    axis = np.lib.array_utils.normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y, axis, 0)
    if x.ndim != 1 or x.shape[0] != y.shape[0]:
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    if check_finite:
        finite("x", x)
        finite("y", y)
    demand(np.diff(x) > 0, "Expect x to be a 1D strictly increasing sequence.")
    if k < 0:
        raise ValueError("Expect non-negative k.")
    sides = _sides(bc_type, y.shape[1:])
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if periodic:
        demand(
            np.abs(y[0] - y[-1]) <= 1e-15 + 1e-5 * np.abs(y[-1]),
            "First and last points does not match while periodic case expected",
        )
    if k == 0 and (t is not None or any(sides)):
        raise ValueError("Too much info for k=0: t and bc_type can only be None.")
    if k == 0 or (k == 1 and t is None):
        if any(sides):
            raise ValueError("Too much info for k=1: bc_type can only be None.")
        return BSpline.construct_fast(np.concatenate([x[:k], x, x[-1:]]), y, k, axis=axis)
    if periodic:
        if t is not None:
            raise NotImplementedError("For periodic case t is constructed automatically and can not be passed manually")
        return _periodic(x, y, k, axis)
    if t is not None:
        t = _checked_knots(t, x, k)
    elif any(sides):
        t = np.concatenate([np.repeat(x[:1], k), x, np.repeat(x[-1:], k)])
    elif x.shape[0] <= k:
        raise ValueError(f"Got {x.shape[0]} points, need at least {k + 1} for degree {k}.")
    else:
        t = not_a_knot(x, k)
    return _interpolating(x, y, k, t, sides, axis)


def _checked_knots(t: Any, x: Value, k: int) -> Value:
    t = real("t", t)
    if t.ndim != 1:
        raise ValueError("Expect t to be a 1-D sorted array_like.")
    if t.shape[0] < x.shape[0] + k + 1:
        raise ValueError(f"Got {t.shape[0]} knots, need at least {x.shape[0] + k + 1}.")
    demand(np.diff(t) >= 0, "Expect t to be a 1-D sorted array_like.")
    demand((x[0] >= t[k]) & (x[-1] <= t[-k]), "x is out of the bounds of the knots.")
    return t


def _interpolating(x: Value, y: Value, k: int, t: Value, sides: list[list[tuple[int, Value]]], axis: int) -> BSpline:
    """Rows of the equation: derivatives at the first node, values at all, derivatives at the last one."""
    left, right = sides
    n = t.shape[0] - k - 1
    if n - x.shape[0] != len(left) + len(right):
        raise ValueError(
            "The number of derivatives at boundaries does not match: "
            f"expected {n - x.shape[0]}, got {len(left)}+{len(right)}"
        )
    for side, end in ((left, "first"), (right, "last")):
        if not all(0 <= order <= k for order, _ in side):
            raise ValueError(f"Bad boundary conditions at the {end} point.")
    low, high = np.array([k]), np.array([n - 1])
    i = intervals(t, k, x)
    rows = [np.stack(basis(t, k, low, x[:1], order), axis=-1) for order, _ in left]
    rows += [np.stack(basis(t, k, i, x), axis=-1)]
    rows += [np.stack(basis(t, k, high, x[-1:], order), axis=-1) for order, _ in right]
    first = np.concatenate([low] * len(left) + [i] + [high] * len(right)) - k
    given = [*[np.expand_dims(v, 0) for _, v in left], y, *[np.expand_dims(v, 0) for _, v in right]]
    known = np.concatenate(given)
    columns = np.reshape(known, (n, -1))
    band = banded(np.concatenate(rows), first, k)
    c = bind(BandedSolve(k, k), band, columns) if columns.shape[1] else columns
    return BSpline.construct_fast(t, np.reshape(c, known.shape), k, axis=axis)


def _periodic(x: Value, y: Value, k: int, axis: int) -> BSpline:
    """n - 1 coefficients, which repeat: cⱼ₊ₙ₋₁ = cⱼ."""
    n, t = x.shape[0], periodic_knots(x, k)
    at = np.arange(n - 1)
    functions = basis(t, k, at + k, x[:-1])
    matrix = sum(np.expand_dims(f, 1) * np.eye(n - 1)[(at + r) % (n - 1)] for r, f in enumerate(functions))
    c = np.linalg.solve(matrix, np.reshape(y[:-1], (n - 1, -1)))  # type: ignore[arg-type]
    c = np.take(c, np.arange(n + k - 1) % (n - 1), axis=0)
    return BSpline.construct_fast(t, np.reshape(c, (n + k - 1, *y.shape[1:])), k, extrapolate="periodic", axis=axis)


def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    *,
    method: str = "qr",
) -> BSpline:
    """The spline with knots t and degree k that minimizes Σ (w (y - s(x)))².

    ```python
    x = np.linspace(0.0, 1.0, 9)
    t = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0])
    ad.scipy.interpolate.make_lsq_spline(x, x**3, t)(0.3)  # → 0.027
    ```
    """
    if method not in ("qr", "norm-eq"):
        raise ValueError(f"Unknown method ={method!r}.")
    k = operator.index(k)
    x, y, t = real("x", x), double(y), real("t", t)
    axis = np.lib.array_utils.normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y, axis, 0)
    w = np.ones(x.shape) if w is None else real("w", w)
    if x.ndim != 1 or x.shape[0] < k + 1:
        raise ValueError("Need more x points.")
    if x.shape[0] != y.shape[0] or x.shape != w.shape:
        raise ValueError(f"Shapes of x {x.shape}, y {y.shape} and w {w.shape} are incompatible")
    if check_finite:
        finite("x", x)
        finite("y", y)
    demand(np.diff(t) >= 0, "Expect t to be a 1D strictly increasing sequence.")
    demand(np.diff(x) >= 0, "Expect x to be a 1D non-decreasing sequence.")
    demand((x >= t[k]) & (x <= t[t.shape[0] - k - 1]), "x is out of the bounds of the knots.")
    q, r = np.linalg.qr(np.expand_dims(w, 1) * design(t, k, x))
    columns = np.reshape(spread(w, y.ndim) * y, (x.shape[0], -1))
    c = np.linalg.solve(r, np.matmul(q.T, columns))
    return BSpline.construct_fast(t, np.reshape(c, (c.shape[0], *y.shape[1:])), k, axis=axis)
