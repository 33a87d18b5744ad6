"""Values on a rectangular grid of any dimension: lines, nearest ones, tensor products of splines, PCHIP."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.arguments import array, demand, floating, is_traced, read
from adjoint.scipy.interpolate.basis import basis, intervals
from adjoint.scipy.interpolate.cubic import PchipInterpolator
from adjoint.scipy.interpolate.fitting import make_interp_spline
from adjoint.scipy.interpolate.piecewise import STATIC, PPoly, real, spread

# (the older forms of SciPy's splines give the same values)
DEGREES = {
    "slinear": 1,
    "cubic": 3,
    "quintic": 5,
    "slinear_legacy": 1,
    "cubic_legacy": 3,
    "quintic_legacy": 5,
}
METHODS = ("linear", "nearest", "pchip", *DEGREES)


def _ascending(points: Any, values: Value) -> tuple[tuple[Value, ...], Value]:
    """The points along each axis, in ascending order, and the values turned with them."""
    grid: list[Value] = []
    if len(points) > values.ndim:
        raise ValueError(f"There are {len(points)} point arrays, but values has {values.ndim} dimensions")
    for axis, given in enumerate(points):
        p = real("points", given)
        if p.ndim != 1:
            raise ValueError(f"The points in dimension {axis} must be 1-dimensional")
        if p.shape[0] != values.shape[axis]:
            raise ValueError(f"There are {p.shape[0]} points and {values.shape[axis]} values in dimension {axis}")
        descending = p[0] > p[-1]
        if is_traced(descending):
            p, values = np.where(descending, p[::-1], p), np.where(descending, np.flip(values, axis), values)
        elif descending:
            p, values = p[::-1], np.flip(values, axis)
        demand(np.diff(p) > 0, f"The points in dimension {axis} must be strictly ascending or descending")
        grid.append(p)
    return tuple(grid), values


def _coordinates(xi: Any, ndim: int) -> Value:
    """Points with their coordinates along the last axis."""
    if isinstance(xi, tuple) and len(xi) == 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        xi = np.stack(np.broadcast_arrays(*map(floating, xi)), axis=-1)
    xi = real("xi", xi)
    xi = np.reshape(xi, (-1, ndim)) if xi.ndim <= 1 else xi
    if xi.shape[-1] != ndim:
        raise ValueError(
            f"The requested sample points xi have dimension {xi.shape[-1]} but this RegularGridInterpolator has "
            f"dimension {ndim}"
        )
    return xi


@dataclass(init=False, eq=False)
class RegularGridInterpolator:
    """A function of several variables through values on a rectangular grid.

    method: "linear", "nearest", "slinear", "cubic", "quintic", "pchip". Outside of the grid it raises, unless
    bounds_error=False: then fill_value stands there, or the interpolant goes on (None).

    ```python
    x, y = np.arange(3.0), np.arange(4.0)
    f = ad.scipy.interpolate.RegularGridInterpolator((x, y), x[:, None] * y)
    f(np.array([1.5, 2.5]))  # → [3.75]
    ad.grad(lambda p: f(p)[0])(np.array([1.5, 2.5]))  # → [2.5, 1.5]
    ```
    """

    grid: Any
    values: Any
    fill_value: Any
    coefficients: Any
    method: str = field(metadata=STATIC)
    bounds_error: bool = field(metadata=STATIC)

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        self.method, self.bounds_error = method, bool(bounds_error)
        self.grid, self.values = _ascending(points, floating(values))
        if fill_value is not None:
            fill_value = array(fill_value)
            if not np.can_cast(fill_value.dtype, self.values.dtype, casting="same_kind"):
                raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        self.fill_value = fill_value
        self._check(method)
        if (solver is not None or solver_args) and method not in ("slinear", "cubic", "quintic"):
            raise ValueError(f"method ={method!r} does not accept the 'solver' argument.")
        self.coefficients = self._solved(DEGREES[method]) if method in DEGREES else None

    def _check(self, method: str) -> None:
        if method not in METHODS:
            raise ValueError(f"Method '{method}' is not defined")
        degree = 3 if method == "pchip" else DEGREES.get(method, 0)
        for axis, p in enumerate(self.grid):
            if method not in ("linear", "nearest") and p.shape[0] <= degree:
                raise ValueError(
                    f"There are {p.shape[0]} points in dimension {axis}, but method {method} requires at least "
                    f"{degree + 1} points per dimension."
                )
        if method == "pchip" and self.values.dtype.kind == "c":
            raise ValueError("`PchipInterpolator` only works with real values. Use `np.real` on the values before.")

    def _solved(self, k: int) -> tuple[Any, Value]:
        return solved_along(self.grid, self.values, [k] * len(self.grid))

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Value:
        """The values at points xi, or derivatives nu along each axis of a spline."""
        method = self.method if method is None else method
        self._check(method)
        if nu is not None and method not in ("slinear", "cubic", "quintic"):
            raise ValueError(f"Can only compute derivatives for methods slinear, cubic and quintic, got {method!r}.")
        ndim = len(self.grid)
        points = _coordinates(xi, ndim)
        flat = np.reshape(points, (-1, ndim))
        columns = [flat[:, j] for j in range(ndim)]
        outside = np.zeros(flat.shape[0], bool)
        for axis, (p, x) in enumerate(zip(self.grid, columns, strict=True)):
            beyond = (x < p[0]) | (x > p[-1])
            if self.bounds_error:
                demand((x >= p[0]) & (x <= p[-1]), f"One of the requested xi is out of bounds in dimension {axis}")
            outside = outside | beyond
        if method in DEGREES:
            solved = self.coefficients if method == self.method else self._solved(DEGREES[method])
            values = tensor_product(solved, [DEGREES[method]] * ndim, columns, [0] * ndim if nu is None else nu)
        elif method == "pchip":
            values = self._monotone(columns)
        else:
            values = self._corners(columns, method)
        if not self.bounds_error and self.fill_value is not None:
            values = np.where(spread(outside, values.ndim), self.fill_value, values)
        values = np.where(spread(np.any(np.isnan(flat), axis=-1), values.ndim), np.nan, values)
        return np.reshape(values, (*points.shape[:-1], *self.values.shape[ndim:]))

    def _corners(self, columns: list[Value], method: str) -> Value:
        """The value at the nearest grid point, or the mean of those at the corners of the cell."""
        low, share = [], []
        for p, x in zip(self.grid, columns, strict=True):
            i = np.clip(np.searchsorted(p, x, side="right") - 1, 0, max(p.shape[0] - 2, 0))
            low.append(i)
            length = read(p, np.minimum(i + 1, p.shape[0] - 1)) - read(p, i)
            share.append((x - read(p, i)) / length if p.shape[0] > 1 else 0.0 * x)
        high = [np.minimum(i + 1, p.shape[0] - 1) for i, p in zip(low, self.grid, strict=True)]
        if method == "nearest":
            return read(self.values, *[np.where(s <= 0.5, i, j) for s, i, j in zip(share, low, high, strict=True)])
        total = 0.0
        for corner in itertools.product((0, 1), repeat=len(low)):
            weight = 1.0
            for side, s in zip(corner, share, strict=True):
                weight = weight * (s if side else 1.0 - s)
            index = [high[j] if side else low[j] for j, side in enumerate(corner)]
            total = total + spread(weight, self.values.ndim - len(low) + 1) * read(self.values, *index)  # type: ignore[arg-type]
        return total  # type: ignore[return-value]

    def _monotone(self, columns: list[Value]) -> Value:
        """PCHIP along the last axis at all points, then along each one before it, at each point on its own."""
        ndim = len(self.grid)
        turned = np.transpose(self.values, (*range(ndim)[::-1], *range(ndim, self.values.ndim)))
        values = PchipInterpolator(self.grid[-1], turned)(columns[-1])
        each = np.arange(columns[-1].shape[0])
        for p, x in zip(self.grid[-2::-1], columns[-2::-1], strict=True):
            curve = PchipInterpolator(p, np.moveaxis(values, 1, 0))
            i = curve._intervals(x)
            values = PPoly._horner(np.moveaxis(read(np.moveaxis(curve.c, 0, 2), i, each), 1, 0), x - read(p, i), 0)
        return values


def solved_along(grid: Any, values: Value, degrees: list[int]) -> tuple[Any, Value]:
    """Knots along each axis, and the coefficients of the tensor product: one banded equation for each axis."""
    c, knots = values, []
    for axis, (p, k) in enumerate(zip(grid, degrees, strict=True)):
        spline = make_interp_spline(p, c, k, axis=axis)
        knots.append(spline.t)
        c = np.moveaxis(spline.c, 0, axis)
    return tuple(knots), c


def tensor_product(solved: Any, degrees: list[int], columns: list[Value], nu: Any) -> Value:
    """Σ c[i, j, …] Bᵢ(x) Bⱼ(y) … over the functions that are not zero at each point."""
    (knots, c), starts, functions = solved, [], []
    for t, k, x, order in zip(knots, degrees, columns, nu, strict=True):
        i = intervals(t, k, x)
        starts.append(i - k)
        functions.append(basis(t, k, i, x, int(order)))
    total = 0.0
    for positions in itertools.product(*[range(k + 1) for k in degrees]):
        weight = functions[0][positions[0]]
        for column, r in zip(functions[1:], positions[1:], strict=True):
            weight = weight * column[r]
        index = [start + r for start, r in zip(starts, positions, strict=True)]
        total = total + spread(weight, c.ndim - len(columns) + 1) * read(c, *index)
    return total  # type: ignore[return-value]


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Value:
    """The values of `RegularGridInterpolator` at points xi.

    ```python
    x, y = np.arange(3.0), np.arange(4.0)
    ad.scipy.interpolate.interpn((x, y), x[:, None] * y, np.array([1.5, 2.5]))  # → [3.75]
    ```
    """
    if method == "splinef2d":
        if bounds_error is False and fill_value is None:
            raise ValueError("The method splinef2d does not support extrapolation.")
        method = "cubic"
        if array(values).ndim != 2 or len(points) != 2:
            raise ValueError("The method splinef2d can only be used for 2-dimensional input data")
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
