"""Piecewise polynomials: p(x) = Σⱼ c[j, i] (x - xᵢ)^(k-1-j) for x between xᵢ and xᵢ₊₁."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.special

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.arguments import array, demand, is_traced, read
from adjoint.scipy.interpolate.basis import combined

STATIC = {"static": True}


def real(name: str, x: Any) -> Value:
    """Real numbers as float64."""
    x = array(x)
    if x.dtype.kind == "c":
        raise ValueError(f"`{name}` must contain real values.")
    return x.astype(np.float64)


def double(x: Any) -> Value:
    """Numbers as float64 or complex128."""
    x = array(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def spread(x: Value, ndim: int) -> Value:
    """A vector as an array of many axes that varies along the first."""
    return np.reshape(x, (-1, *[1] * (ndim - 1)))


def wrapped(points: Value, first: Value, last: Value) -> Value:
    """Points moved by whole periods into [first, last)."""
    return first + (points - first) % (last - first)


def moved_back(values: Value, point_axes: int, axis: int) -> Value:
    """Values at points, whose axes stand first, with the points where the interpolated axis was."""
    return np.moveaxis(values, tuple(range(point_axes)), tuple(range(axis, axis + point_axes))) if axis else values


def extrapolation(extrapolate: Any) -> bool | str:
    """True, False or "periodic"; None stands for True."""
    return (
        "periodic"
        if isinstance(extrapolate, str) and extrapolate == "periodic"
        else extrapolate is not False and (extrapolate is None or bool(extrapolate))
    )


@dataclass(init=False, eq=False)
class PPoly:
    """Piecewise polynomial with coefficients c, of shape (order, intervals, …), highest power first, and breaks x.

    ```python
    p = ad.scipy.interpolate.PPoly(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.0, 1.0, 2.0]))
    p(np.array([0.5, 1.5]))  # → [0.5, 2.0]
    ad.grad(p)(0.5)  # → 1.0
    ```
    """

    c: Any
    x: Any
    extrapolate: Any = field(metadata=STATIC)
    axis: int = field(metadata=STATIC)

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c, x = double(c), real("x", x)
        if c.ndim < 2:
            raise ValueError("Coefficients array must be at least 2-dimensional.")
        if not 0 <= axis < c.ndim - 1:
            raise ValueError(f"axis={axis} must be between 0 and {c.ndim - 1}")
        c = np.moveaxis(c, (axis, axis + 1), (0, 1)) if axis else c
        if x.ndim != 1 or x.shape[0] < 2:
            raise ValueError(f"x must be 1-dimensional with at least 2 breakpoints, got shape {x.shape}.")
        if c.shape[0] == 0:
            raise ValueError("polynomial must be at least of order 0")
        if c.shape[1] != x.shape[0] - 1:
            raise ValueError(f"number of coefficients ({c.shape[1]}) != len(x)-1 ({x.shape[0] - 1})")
        gaps = np.diff(x)
        demand(np.all(gaps >= 0) | np.all(gaps <= 0), "`x` must be strictly increasing or decreasing.")
        self._set(c, x, extrapolation(extrapolate), axis)

    def _set(self, c: Value, x: Value, extrapolate: bool | str, axis: int) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
        """A piecewise polynomial of coefficients and breaks that are known to fit."""
        made = object.__new__(cls)
        made._set(array(c), array(x), extrapolation(extrapolate), axis)
        return made

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> Any:
        """A spline (t, c, k), or a BSpline, by powers: s⁽ʲ⁾(tᵢ) / j! on the interval from each knot."""
        if extrapolate is None:
            extrapolate = getattr(tck, "extrapolate", None)
        t, c, k = getattr(tck, "tck", tck)
        t, c = real("t", t), double(c)
        rows = [combined(t, c, k, t[:-1], nu) / math.factorial(nu) for nu in range(k, -1, -1)]
        return cls.construct_fast(np.stack(rows), t, extrapolate)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Value:
        """The values at points x, or those of derivative number nu."""
        points = real("x", x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        flat = np.reshape(points, (-1,))
        if extrapolate == "periodic":
            flat = wrapped(flat, self.x[0], self.x[-1])
        i = self._intervals(flat)
        values = self._horner(np.moveaxis(read(np.moveaxis(self.c, 1, 0), i), 1, 0), flat - read(self.x, i), nu)
        if extrapolate is not True:
            low, high = np.minimum(self.x[0], self.x[-1]), np.maximum(self.x[0], self.x[-1])
            inside = (flat >= low) & (flat <= high)
        else:
            inside = ~np.isnan(flat)  # a constant forgets it
        values = np.where(spread(inside, values.ndim), values, np.nan)
        return moved_back(np.reshape(values, (*points.shape, *self.c.shape[2:])), points.ndim, self.axis)

    def _intervals(self, points: Value) -> Value:
        """Of each point, the index of the interval that holds it, or of the nearest one."""
        last = self.x.shape[0] - 2
        descending = self.x[0] > self.x[-1]
        if is_traced(descending):
            rising = np.where(descending, self.x[::-1], self.x)
            up, down = np.searchsorted(rising, points, side="right") - 1, np.searchsorted(rising, points, side="left")
            return np.clip(np.where(descending, last + 1 - down, up), 0, last)
        if descending:
            return np.clip(last + 1 - np.searchsorted(self.x[::-1], points, side="left"), 0, last)
        return np.clip(np.searchsorted(self.x, points, side="right") - 1, 0, last)

    @staticmethod
    def _horner(c: Value, s: Value, nu: int) -> Value:
        """Derivative nu of Σⱼ c[j] s^(k-1-j)."""
        order = c.shape[0]
        s = spread(s, c.ndim - 1)
        total = 0.0 * c[0]
        for j in range(order - nu):
            total = total * s + c[j] * float(scipy.special.poch(order - nu - j, nu))
        return total

    def derivative(self, nu: int = 1) -> Any:
        """The piecewise polynomial of derivative nu."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c[: self.c.shape[0] - nu]
        if c.shape[0] == 0:
            c = 0.0 * self.c[:1]
        c = c * spread(scipy.special.poch(np.arange(c.shape[0], 0, -1), nu), c.ndim)
        return PPoly.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """The piecewise polynomial that is 0 at the first break, continuous, and whose derivative nu this is."""
        if nu <= 0:
            return self.derivative(-nu)
        c, gaps = self.c, np.diff(self.x)
        for _ in range(nu):
            c = c / spread(np.arange(c.shape[0], 0, -1.0), c.ndim)
            c = np.concatenate([c, 0.0 * c[:1]])
            ends = np.cumsum(self._horner(c, gaps, 0), axis=0)  # of the intervals one after the other
            starts = np.concatenate([0.0 * ends[:1], ends[:-1]])
            c = np.concatenate([c[:-1], np.expand_dims(starts, 0)])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Value:
        """∫ₐᵇ p(x) dx."""
        a, b = real("a", a), real("b", b)
        extrapolate = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        whole = self.antiderivative()
        whole.axis = 0
        if extrapolate != "periodic":
            return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        first, last = self.x[0], self.x[-1]
        periods = np.floor((b - first) / (last - first)) - np.floor((a - first) / (last - first))
        rest = whole(wrapped(b, first, last), extrapolate=True) - whole(wrapped(a, first, last), extrapolate=True)
        return rest + periods * whole(last, extrapolate=True)

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Where p(x) = y; for plain values, as how many there are depends on them."""
        if is_traced(self.c, self.x, y):
            raise UnsupportedError(
                f"{type(self).__name__}.solve and roots cannot take traced values: how many roots there are depends on "
                "them. Find roots of the plain polynomial, and make one step of Newton's method with the traced one: "
                "x - (p(x) - y) / p(x, 1) has the derivative of the root."
            )
        theirs = scipy.interpolate.PPoly.construct_fast(self.c, self.x, self.extrapolate, self.axis)
        return theirs.solve(y, discontinuity, extrapolate)

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Where p(x) = 0; for plain values."""
        return self.solve(0, discontinuity, extrapolate)
