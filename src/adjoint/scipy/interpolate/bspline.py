"""Splines as sums of B-spline basis functions: s(x) = Σⱼ cⱼ Bⱼ(x), with knots t and degree k."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.interpolate

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.arguments import array, demand, is_traced, ratio
from adjoint.scipy.interpolate.basis import combined, intervals
from adjoint.scipy.interpolate.piecewise import STATIC, double, extrapolation, moved_back, real, spread, wrapped


def differentiated(t: Value, c: Value, k: int) -> tuple[Value, Value, int]:
    """Knots, coefficients and degree of the derivative: k (cⱼ - cⱼ₋₁) / (tⱼ₊ₖ - tⱼ)."""
    n = t.shape[0] - k - 1
    gaps = t[k + 1 : -1] - t[1:n]
    if not is_traced(gaps) and np.any(gaps == 0):
        raise ValueError("The spline has internal repeated knots and is not differentiable")
    return t[1:-1], (c[1:n] - c[: n - 1]) * k / spread(gaps, c.ndim), k - 1


def integrated(t: Value, c: Value, k: int) -> tuple[Value, Value, int]:
    """Knots, coefficients and degree of the antiderivative that is 0 at the first knot."""
    n = t.shape[0] - k - 1
    sums = np.cumsum(c[:n] * spread(t[k + 1 :] - t[:n], c.ndim), axis=0) / (k + 1)
    return np.concatenate([t[:1], t, t[-1:]]), np.concatenate([0.0 * sums[:1], sums]), k + 1


@dataclass(init=False, eq=False)
class BSpline:
    """The spline with knots t, coefficients c and degree k.

    ```python
    s = ad.scipy.interpolate.BSpline(np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([1.0, 3.0, 2.0]), 1)
    s(np.array([0.5, 1.5]))  # → [2.0, 2.5]
    ad.grad(lambda s: s(0.5))(s).c  # → [0.5, 0.5, 0.0]
    ```
    """

    t: Any
    c: Any
    k: int = field(metadata=STATIC)
    extrapolate: Any = field(metadata=STATIC)
    axis: int = field(metadata=STATIC)

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        k = operator.index(k)
        t, c = real("t", t), double(c)
        if k < 0:
            raise ValueError("Spline order cannot be negative.")
        if t.ndim != 1:
            raise ValueError("Knot vector must be one-dimensional.")
        n = t.shape[0] - k - 1
        if n < k + 1:
            raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
        if c.ndim < 1:
            raise ValueError("Coefficients must be at least 1-dimensional.")
        axis = np.lib.array_utils.normalize_axis_index(axis, c.ndim)
        if c.shape[axis] < n:
            raise ValueError("Knots, coefficients and degree are inconsistent.")
        if not is_traced(t) and not np.all(np.isfinite(t)):
            raise ValueError("Knots should not have nans or infs.")
        demand(np.diff(t) >= 0, "Knots must be in a non-decreasing order.")
        demand(t[n] > t[k], "Need at least two internal knots.")
        self._set(t, np.moveaxis(c, axis, 0), k, extrapolation(extrapolate), axis)

    def _set(self, t: Value, c: Value, k: int, extrapolate: bool | str, axis: int) -> None:
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """A spline of knots and coefficients that are known to fit."""
        made = object.__new__(cls)
        made._set(array(t), array(c), k, extrapolation(extrapolate), axis)
        return made

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> Any:
        """The basis function with knots t."""
        t = real("t", t)
        k = t.shape[0] - 2
        ends = [np.repeat(end, k) for end in (t[:1] - 1.0, t[-1:] + 1.0)]
        c = np.zeros(t.shape[0] + 2 * k)
        c[k] = 1.0
        return cls.construct_fast(np.concatenate([ends[0], t, ends[1]]), c, k, extrapolate)

    @classmethod
    def design_matrix(cls, x: Any, t: Any, k: int, extrapolate: Any = False) -> Any:
        """The sparse matrix Bⱼ(xᵢ) of scipy.sparse; for plain values."""
        if is_traced(x, t):
            raise UnsupportedError(
                "BSpline.design_matrix returns a matrix of scipy.sparse, which cannot hold traced values. Use "
                "BSpline(t, np.eye(len(t) - k - 1), k)(x), which is the dense matrix."
            )
        return scipy.interpolate.BSpline.design_matrix(x, t, k, extrapolate)

    @property
    def tck(self) -> tuple[Value, Value, int]:
        """Knots, coefficients, degree."""
        return self.t, self.c, self.k

    def _ends(self) -> tuple[Value, Value]:
        return self.t[self.k], self.t[self.t.shape[0] - self.k - 1]

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Value:
        """The values at points x, or those of derivative number nu."""
        points = real("x", x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        first, last = self._ends()
        flat = np.reshape(points, (-1,))
        if extrapolate == "periodic":
            flat = wrapped(flat, first, last)
        values = combined(self.t, self.c, self.k, flat, nu)
        inside = ~np.isnan(flat) if extrapolate is True else (flat >= first) & (flat <= last)
        values = np.where(spread(inside, values.ndim), values, np.nan)
        return moved_back(np.reshape(values, (*points.shape, *self.c.shape[1:])), points.ndim, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """The spline of derivative nu."""
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > self.k:
            raise ValueError(f"Order of derivative (n = {nu}) must be <= order of spline (k = {self.k})")
        tck = self.tck
        for _ in range(nu):
            tck = differentiated(*tck)
        return self._with(tck, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> Any:
        """The spline whose derivative nu this is."""
        if nu < 0:
            return self.derivative(-nu)
        tck = self.tck
        for _ in range(nu):
            tck = integrated(*tck)
        return self._with(tck, False if self.extrapolate == "periodic" else self.extrapolate)

    def _with(self, tck: tuple[Value, Value, int], extrapolate: Any) -> Any:
        """A spline with as many coefficients as knots, as SciPy's have."""
        t, c, k = tck
        short = t.shape[0] - c.shape[0]
        tail = 0.0 * c[:1] if k <= self.k else c[-1:]
        c = np.concatenate([c, np.repeat(tail, short, axis=0)]) if short > 0 else c
        return BSpline.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Value:
        """∫ₐᵇ s(x) dx; without extrapolation over the part between the first and the last knot."""
        a, b = real("a", a), real("b", b)
        extrapolate = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        t, c, k = integrated(*self.tck)
        whole = lambda x: np.reshape(combined(t, c, k, np.reshape(x, (-1,))), self.c.shape[1:])
        first, last = self._ends()
        if extrapolate is not True and extrapolate != "periodic":
            a, b = np.clip(a, first, last), np.clip(b, first, last)
        if extrapolate != "periodic":
            return whole(b) - whole(a)
        periods = np.floor((b - first) / (last - first)) - np.floor((a - first) / (last - first))
        rest = whole(wrapped(b, first, last)) - whole(wrapped(a, first, last))
        return rest + periods * (whole(last) - whole(first))

    def insert_knot(self, x: Any, m: int = 1) -> Any:
        """The same spline with a knot at x, m times: by Boehm, cⱼ becomes αⱼ cⱼ + (1 - αⱼ) cⱼ₋₁.

        αⱼ = (x - tⱼ) / (tⱼ₊ₖ - tⱼ) for the k coefficients up to the interval of x, and 1 and 0 on its sides.
        """
        if m <= 0:
            raise ValueError(f"`m` must be positive, got m = {m!r}.")
        if self.extrapolate == "periodic":
            raise UnsupportedError(
                "BSpline.insert_knot: a periodic spline has no rule here. Use scipy.interpolate with plain values."
            )
        first, last = self._ends()
        x = real("x", x)
        demand((x >= first) & (x <= last), "Cannot insert a knot outside of the knots that are there.")
        t, c, k = self.tck
        for _ in range(m):
            n = t.shape[0] - k - 1
            i, j = intervals(t, k, x), np.arange(n + 1)
            alpha = np.where(j > i, 0.0, np.where(j <= i - k, 1.0, ratio(x - t[: n + 1], t[k:] - t[: n + 1])))
            after, before = np.concatenate([c[:n], c[n - 1 : n]]), np.concatenate([c[:1], c[:n]])
            c = spread(alpha, c.ndim) * after + spread(1.0 - alpha, c.ndim) * before
            position = np.arange(t.shape[0] + 1)
            longer, later = np.concatenate([t, t[-1:]]), np.concatenate([t[:1], t])
            t = np.where(position <= i, longer, np.where(position == i + 1, x, later))
        return BSpline.construct_fast(t, c, k, self.extrapolate, self.axis)
