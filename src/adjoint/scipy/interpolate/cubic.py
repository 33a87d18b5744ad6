"""Cubic splines that are given by values and slopes at their nodes: Hermite's, the smooth one, PCHIP and Akima's."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.linalg.banded import BandedSolve
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.arguments import demand, is_traced, ratio
from adjoint.scipy.interpolate.piecewise import PPoly, double, extrapolation, real, spread


def finite(name: str, x: Value) -> None:
    """Refuse plain values that are not finite; traced ones go on as NaN."""
    if not is_traced(x) and not np.all(np.isfinite(x)):
        raise ValueError(f"`{name}` must contain only finite values.")


def prepared(x: Any, y: Any, axis: int) -> tuple[Value, Value, int]:
    """Nodes, values with the interpolated axis first, and that axis."""
    x, y = real("x", x), double(y)
    if x.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if x.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    axis = axis % y.ndim
    if x.shape[0] != y.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    finite("x", x)
    finite("y", y)
    demand(np.diff(x) > 0, "`x` must be strictly increasing sequence.")
    return x, np.moveaxis(y, axis, 0), axis


class CubicHermiteSpline(PPoly):
    """Piecewise cubic with values y and slopes dydx at the nodes x.

    ```python
    p = ad.scipy.interpolate.CubicHermiteSpline(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    p(0.25)  # → 0.15625
    ```
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        y, dydx = double(y), double(dydx)
        if y.shape != dydx.shape:
            raise ValueError("The shapes of `y` and `dydx` must be identical.")
        x, values, axis = prepared(x, y, axis)
        finite("dydx", dydx)
        self._join(x, values, np.moveaxis(dydx, axis, 0), axis, extrapolation(extrapolate))

    def _join(self, x: Value, y: Value, slopes: Value, axis: int, extrapolate: bool | str) -> None:
        """On each interval, with h its length: c₃ = s₀, c₂ = (m - s₀)/h - t, c₁ = t/h, t = (s₀ + s₁ - 2m)/h."""
        h = spread(np.diff(x), y.ndim)
        m = np.diff(y, axis=0) / h
        t = (slopes[:-1] + slopes[1:] - 2.0 * m) / h
        c = np.stack(np.broadcast_arrays(t / h, (m - slopes[:-1]) / h - t, slopes[:-1], y[:-1]))
        self._set(c, x, extrapolate, axis)


class CubicSpline(CubicHermiteSpline):
    """The piecewise cubic through (x, y) whose second derivative is continuous.

    bc_type: "not-a-knot", "periodic", "clamped", "natural", or a pair of these or of (order, value) for both ends.

    ```python
    x = np.linspace(0.0, 3.0, 7)
    at = lambda y: ad.scipy.interpolate.CubicSpline(x, y)(1.2)
    at(x**3)  # → 1.728
    ad.grad(at)(x**3).sum()  # → 1.0
    ```
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        x, y, axis = prepared(x, y, axis)
        start, end = _conditions(bc_type, y, axis)
        if extrapolate is None and start == "periodic":
            extrapolate = "periodic"
        self._join(x, y, _smooth_slopes(x, y, start, end), axis, extrapolation(extrapolate))


def _conditions(bc_type: Any, y: Value, axis: int) -> list[Any]:
    """The conditions at both ends: "not-a-knot", "periodic", or (order of a derivative, its value)."""
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            demand(
                np.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * np.abs(y[-1]),
                f"The first and last `y` point along axis {axis} must be identical (within machine precision) when "
                "bc_type='periodic'.",
            )
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    elif any(isinstance(bc, str) and bc == "periodic" for bc in bc_type):
        raise ValueError(
            "'periodic' `bc_type` is defined for both curve ends and cannot be used with other boundary conditions."
        )
    return [_condition(bc, y.shape[1:]) for bc in bc_type]


def _condition(bc: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(bc, str):
        if bc in ("not-a-knot", "periodic"):
            return bc
        if bc not in ("clamped", "natural"):
            raise ValueError(f"bc_type={bc} is not allowed.")
        return (1 if bc == "clamped" else 2, np.zeros(shape))
    try:
        order, value = bc
    except (TypeError, ValueError):
        raise ValueError("A specified derivative value must be given in the form (order, value).") from None
    if order not in (1, 2):
        raise ValueError("The specified derivative order must be 1 or 2.")
    value = double(value)
    if value.shape != shape:
        raise ValueError(f"`deriv_value` shape {value.shape} is not the expected one {shape}.")
    return order, value


def _smooth_slopes(x: Value, y: Value, start: Any, end: Any) -> Value:
    """Slopes s at the nodes: hᵢ sᵢ₋₁ + 2 (hᵢ₋₁ + hᵢ) sᵢ + hᵢ₋₁ sᵢ₊₁ = 3 (hᵢ mᵢ₋₁ + hᵢ₋₁ mᵢ), and the ends."""
    h, n = np.diff(x), x.shape[0]
    m = np.diff(y, axis=0) / spread(h, y.ndim)
    if n == 2:
        start, end = ((1, m[0]) if isinstance(bc, str) else bc for bc in (start, end))
    if n == 3 and start == "periodic":
        weight = 1.0 / spread(h, y.ndim)
        return np.broadcast_to(np.sum(m * weight, axis=0) / np.sum(weight, axis=0), y.shape)
    if n == 3 and start == "not-a-knot" and end == "not-a-knot":  # the parabola through three points
        middle = (h[1] * m[0] + h[0] * m[1]) / (h[0] + h[1])
        return np.stack([2.0 * m[0] - middle, middle, 2.0 * m[1] - middle])
    inner = 2.0 * (h[:-1] + h[1:])
    before, after = spread(h[:-1], y.ndim), spread(h[1:], y.ndim)
    right = 3.0 * (after * m[:-1] + before * m[1:])
    if start == "periodic":
        return _periodic_slopes(h, m, inner, right)
    first, beside_first, right_first = _end_row(start, h[0], h[1] if n > 2 else h[0], m[0], m[1 if n > 2 else 0], 1)
    last, beside_last, right_last = _end_row(end, h[-1], h[-2] if n > 2 else h[0], m[-1], m[-2 if n > 2 else 0], -1)
    zero = 0.0 * h[:1]
    above = np.concatenate([zero, np.reshape(beside_first, (1,)), h[:-1]])
    main = np.concatenate([np.reshape(first, (1,)), inner, np.reshape(last, (1,))])
    below = np.concatenate([h[1:], np.reshape(beside_last, (1,)), zero])
    ends = [np.expand_dims(np.broadcast_to(row, y.shape[1:]), 0) for row in (right_first, right_last)]
    return _tridiagonal(np.stack([above, main, below]), np.concatenate([ends[0], right, ends[1]]))


def _end_row(condition: Any, h0: Value, h1: Value, m0: Value, m1: Value, sign: int) -> tuple[Any, Any, Any]:
    """The equation of an end: factors of its own slope and of the next one, and the right side."""
    if isinstance(condition, str):  # not-a-knot: one cubic on the first two intervals
        d = h0 + h1
        return h1, d, ((h0 + 2.0 * d) * h1 * m0 + h0**2 * m1) / d
    order, value = condition
    if order == 1:
        return 1.0, 0.0, value
    return 2.0 * h0, h0, 3.0 * h0 * m0 - sign * 0.5 * value * h0**2


def _tridiagonal(band: Value, right: Value) -> Value:
    """The solution of a tridiagonal equation for the first axis of the right side."""
    columns = np.reshape(right, (right.shape[0], -1))
    if columns.shape[1] == 0:
        return right
    return np.reshape(bind(BandedSolve(1, 1), band, columns), right.shape)


def _periodic_slopes(h: Value, m: Value, inner: Value, right: Value) -> Value:
    """Slopes of a closed curve: s₀ … sₙ₋₃ by a tridiagonal equation, in terms of sₙ₋₂, and sₙ₋₁ = s₀."""
    zero = 0.0 * h[:1]
    main = np.concatenate([np.reshape(2.0 * (h[-1] + h[0]), (1,)), inner[:-1]])
    above = np.concatenate([zero, h[-1:], h[:-3]])
    below = np.concatenate([h[1:-1], zero])
    first = np.expand_dims(3.0 * (h[0] * m[-1] + h[-1] * m[0]), 0)
    corner = np.concatenate([-h[:1], np.zeros(h.shape[0] - 3), -h[-3:-2]])  # what sₙ₋₂ adds to the right side
    if h.shape[0] == 3:
        corner = np.stack([-h[0], -h[0]])
    columns = np.concatenate([first, right[:-1]])
    own = _tridiagonal(np.stack([above, main, below]), columns)
    answer = spread(_tridiagonal(np.stack([above, main, below]), np.expand_dims(corner, 1))[:, 0], m.ndim)
    whole = 2.0 * (h[-1] + h[-2]) + h[-2] * answer[0] + h[-1] * answer[-1]
    last = (right[-1] - h[-2] * own[0] - h[-1] * own[-1]) / whole
    slopes = own + last * answer
    return np.concatenate([slopes, np.expand_dims(last, 0), slopes[:1]])


class PchipInterpolator(CubicHermiteSpline):
    """The piecewise cubic through (x, y) that rises and falls where the values do, with Fritsch and Carlson's slopes.

    ```python
    p = ad.scipy.interpolate.PchipInterpolator(np.arange(4.0), np.array([0.0, 1.0, 1.0, 2.0]))
    p(np.array([0.5, 1.5]))  # → [0.6875, 1.0]
    ```
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = prepared(x, y, axis)
        _only_real("PchipInterpolator", y)
        self._join(x, y, _monotone_slopes(x, y), axis, extrapolation(extrapolate))


def _only_real(call: str, y: Value) -> None:
    if y.dtype.kind == "c":
        raise ValueError(
            f"`{call}` only works with real values for `y`. If you are trying to use the real components of the passed "
            f"array, use `np.real` on the array before passing to `{call}`."
        )


def _monotone_slopes(x: Value, y: Value) -> Value:
    """Harmonic means of the differences on both sides, and 0 where these differ in sign."""
    h = spread(np.diff(x), y.ndim)
    m = np.diff(y, axis=0) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    same = m[1:] * m[:-1] > 0
    left, right = np.where(same, m[:-1], 1.0), np.where(same, m[1:], 1.0)
    near, far = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    inner = np.where(same, (near + far) / (near / left + far / right), 0.0)
    ends = [_monotone_end(h[0], h[1], m[0], m[1]), _monotone_end(h[-1], h[-2], m[-1], m[-2])]
    return np.concatenate([np.expand_dims(ends[0], 0), inner, np.expand_dims(ends[1], 0)])


def _monotone_end(h0: Value, h1: Value, m0: Value, m1: Value) -> Value:
    """The slope of the parabola through three points, cut where it would overshoot."""
    d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, d))


class Akima1DInterpolator(CubicHermiteSpline):
    """The piecewise cubic through (x, y) whose slopes are weighted means of neighboring differences, by Akima.

    ```python
    p = ad.scipy.interpolate.Akima1DInterpolator(np.arange(5.0), np.array([0.0, 0.0, 1.0, 1.0, 1.0]))
    p(np.array([0.5, 1.5, 3.5]))  # → [-0.125, 0.5625, 1.0]
    ```
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, axis = prepared(x, y, axis)
        _only_real("Akima1DInterpolator", y)
        slopes = _weighted_slopes(x, y, method == "makima")
        self._join(x, y, slopes, axis, False if extrapolate is None else extrapolation(extrapolate))


def _weighted_slopes(x: Value, y: Value, modified: bool) -> Value:
    """sᵢ = (w₁ mᵢ₋₁ + w₂ mᵢ) / (w₁ + w₂), w₁ = |mᵢ₊₁ - mᵢ|, w₂ = |mᵢ₋₁ - mᵢ₋₂|; where both vanish, a mean."""
    m = np.diff(y, axis=0) / spread(np.diff(x), y.ndim)
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    low1, high1 = 2.0 * m[:1] - m[1:2], 2.0 * m[-1:] - m[-2:-1]
    m = np.concatenate([2.0 * low1 - m[:1], low1, m, high1, 2.0 * high1 - m[-1:]])
    weights = np.abs(np.diff(m, axis=0))
    if modified:
        weights = weights + 0.5 * np.abs(m[1:] + m[:-1])
    w1, w2 = weights[2:], weights[:-2]
    both = w1 + w2
    clear = both > 1e-9 * np.max(both, initial=0.0)
    mean = m[1:-2] + ratio(w2, np.where(clear, both, 0.0)) * (m[2:-1] - m[1:-2])
    return np.where(clear, mean, 0.5 * (m[3:] + m[:-3]))


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Values of `PchipInterpolator`, or of a derivative; of several for a list of numbers of derivatives.

    ```python
    ad.scipy.interpolate.pchip_interpolate(np.arange(4.0), np.array([0.0, 1.0, 1.0, 2.0]), 0.5)  # → 0.6875
    ```
    """
    p = PchipInterpolator(xi, yi, axis=axis)
    return p(x, int(der)) if np.ndim(der) == 0 else [p(x, nu) for nu in der]
