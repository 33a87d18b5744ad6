"""scipy.interpolate.interp1d: steps, lines and splines through points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.arguments import array, demand, floating, read
from adjoint.scipy.interpolate.fitting import make_interp_spline
from adjoint.scipy.interpolate.piecewise import STATIC, moved_back, spread

DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
STEPS = ("nearest", "nearest-up", "previous", "next")


@dataclass(init=False, eq=False)
class interp1d:  # noqa: N801
    """A function of x through the points (x, y).

    kind: "linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", or a degree.
    Outside of the points it raises, unless fill_value is a value, a pair (below, above), or "extrapolate".

    ```python
    f = ad.scipy.interpolate.interp1d(np.arange(3.0), np.array([0.0, 1.0, 4.0]))
    f(1.5)  # → 2.5
    ad.grad(f)(1.5)  # → 3.0
    ```
    """

    x: Any
    y: Any
    spline: Any
    below: Any
    above: Any
    kind: str = field(metadata=STATIC)
    axis: int = field(metadata=STATIC)
    bounds_error: bool = field(metadata=STATIC)

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        degree = DEGREES.get(kind) if isinstance(kind, str) else int(kind)
        if degree is None and kind not in ("linear", *STEPS):
            raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")
        x, y = floating(x), floating(y)
        if x.ndim != 1:
            raise ValueError("the x array must have exactly one dimension.")
        if y.ndim == 0:
            raise ValueError("the y array must have at least one dimension.")
        axis = axis % y.ndim
        if y.shape[axis] != x.shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        least = 1 if degree is None else degree + 1
        if x.shape[0] < least:
            raise ValueError(f"x and y arrays must have at least {least} entries")
        y = np.moveaxis(y, axis, 0)
        if not assume_sorted:
            order = np.argsort(x, stable=True)
            x, y = read(x, order), read(y, order)
        self.x, self.y, self.axis = x, y, axis
        self.kind = kind if degree is None else "spline"
        self.spline = None if degree is None else make_interp_spline(x, y, k=degree, check_finite=False)
        self._fill(fill_value, bounds_error)

    def _fill(self, fill_value: Any, bounds_error: bool | None) -> None:
        """What stands outside of the points: nothing, an error, or values below and above."""
        self.below = self.above = None
        if isinstance(fill_value, str) and fill_value == "extrapolate":
            if bounds_error:
                raise ValueError("Cannot extrapolate and raise at the same time.")
            self.bounds_error = False
            if self.kind == "previous":
                self.below, self.above = np.nan, self.y[-1]
            elif self.kind == "next":
                self.below, self.above = self.y[0], np.nan
            return
        # as in SciPy, a value to fill in does not by itself take the error away
        self.bounds_error = bounds_error is None or bool(bounds_error)
        pair = isinstance(fill_value, tuple) and len(fill_value) == 2
        self.below, self.above = map(array, fill_value if pair else (fill_value, fill_value))
        shape = self.y.shape[1:] or (1,)
        for value in (self.below, self.above):
            if np.broadcast_shapes(value.shape, shape) != shape:
                raise ValueError(f"fill_value argument must be broadcastable to {shape}, not of shape {value.shape}")

    def __call__(self, x: Any) -> Value:
        """The values at points x."""
        points = floating(x)
        flat = np.reshape(points, (-1,))
        if self.kind == "spline":
            values = self._of_spline(flat)
        else:
            values = self._linear(flat) if self.kind == "linear" else read(self.y, self._step(flat))
        if self.bounds_error:
            demand(~(flat < self.x[0]), "A value in x_new is below the interpolation range's minimum value.")
            demand(~(flat > self.x[-1]), "A value in x_new is above the interpolation range's maximum value.")
        if self.below is not None:
            outside = lambda where: spread(where, values.ndim)
            shaped = lambda fill: np.reshape(fill, ()) if np.size(fill) == 1 else fill
            values = np.where(outside(flat < self.x[0]), shaped(self.below), values)
            values = np.where(outside(flat > self.x[-1]), shaped(self.above), values)
        return moved_back(np.reshape(values, (*points.shape, *self.y.shape[1:])), points.ndim, self.axis)

    def _of_spline(self, points: Value) -> Value:
        spline = self.spline
        return np.moveaxis(spline(points), spline.axis, 0)

    def _linear(self, points: Value) -> Value:
        if self.x.shape[0] == 1:  # which has no slope
            here = spread(points == self.x[0], self.y.ndim)
            return np.where(here, self.y, np.nan)
        i = np.clip(np.searchsorted(self.x, points), 1, self.x.shape[0] - 1)
        left, right = read(self.x, i - 1), read(self.x, i)
        low, high = read(self.y, i - 1), read(self.y, i)
        slope = (high - low) / spread(right - left, low.ndim)
        return slope * spread(points - left, low.ndim) + low

    def _step(self, points: Value) -> Value:
        """The index of the point whose value stands for each."""
        last = self.x.shape[0] - 1
        if self.kind in ("previous", "next"):
            side = "right" if self.kind == "previous" else "left"
            return np.clip(np.searchsorted(self.x, points, side=side) - (self.kind == "previous"), 0, last)
        middle = self.x[1:] / 2.0 + self.x[:-1] / 2.0
        side = "left" if self.kind == "nearest" else "right"
        return np.clip(np.searchsorted(middle, points, side=side), 0, last)
