"""Splines of FITPACK as objects: through all points, with given knots, or smoothing ones of plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.interpolate as _theirs

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.arguments import demand, is_traced
from adjoint.scipy.interpolate.fitting import make_interp_spline, make_lsq_spline
from adjoint.scipy.interpolate.piecewise import STATIC, real
from adjoint.scipy.interpolate.tck import spalde, splantider, splder, splev, splint

MODES = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}


def _mode(ext: Any) -> int:
    if ext not in MODES:
        raise ValueError(f"Unknown extrapolation mode {ext}.")
    return MODES[ext]


@dataclass(init=False, eq=False)
class UnivariateSpline:
    """The spline of FITPACK for data (x, y): through all points for s=0, otherwise a smoothing one of plain data.

    Outside of the data it is extrapolated (ext=0), 0 (1), refused (2), or constant (3).

    ```python
    x = np.linspace(0.0, 2.0, 9)
    s = ad.scipy.interpolate.UnivariateSpline(x, np.sin(x), s=0.01)
    ad.grad(s)(0.7) - s(0.7, 1)  # → 0.0
    at = lambda y: ad.scipy.interpolate.UnivariateSpline(x, y, s=0)(0.7)
    ad.grad(at)(np.sin(x)).sum()  # → 1.0
    ```
    """

    t: Any
    c: Any
    residual: Any
    k: int = field(metadata=STATIC)
    ext: int = field(metadata=STATIC)

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: Any = None,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if not is_traced(x, y, w, bbox, s):
            self._take(_theirs.UnivariateSpline(x, y, w, bbox, k, s, ext, check_finite), ext)
            return
        if s is None or is_traced(s) or s != 0:
            raise UnsupportedError(
                "UnivariateSpline: a smoothing spline chooses its knots by plain values. Give s=0 for the spline "
                "through all points, or use LSQUnivariateSpline or make_lsq_spline with knots of your own."
            )
        self._interpolate(x, y, bbox, k, ext)

    def _take(self, spline: Any, ext: Any) -> None:
        """The spline that SciPy has found."""
        self.t, self.c, self.k = spline._eval_args
        self.residual, self.ext = spline.get_residual(), _mode(ext)

    def _interpolate(self, x: Any, y: Any, bbox: Any, k: int, ext: Any) -> None:
        if not 1 <= k <= 5:
            raise ValueError("k should be 1 <= k <= 5")
        if any(end is not None for end in bbox):
            raise UnsupportedError("bbox= has no derivative rule here. Leave it out, or give plain data.")
        spline = make_interp_spline(x, y, k)
        self._set(spline.t, spline.c, k, _mode(ext))

    def _set(self, t: Value, c: Value, k: int, ext: int) -> None:
        """Coefficients are as many as knots, as in FITPACK."""
        short = t.shape[0] - c.shape[0]
        self.t, self.c, self.k, self.ext = t, np.concatenate([c, np.zeros(max(short, 0))]), k, ext
        self.residual = None

    def _tck(self) -> tuple[Value, Value, int]:
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Value:
        """The values at points x, or those of derivative number nu."""
        return splev(x, self._tck(), nu, self.ext if ext is None else _mode(ext))

    def get_knots(self) -> Value:
        """The knots between which the spline is one polynomial."""
        return self.t[self.k : self.t.shape[0] - self.k]

    def get_coeffs(self) -> Value:
        """The coefficients of the basis functions."""
        return self.c[: self.t.shape[0] - self.k - 1]

    def get_residual(self) -> Any:
        """Σ (w (y - s(x)))²; 0 for the spline through all points."""
        return 0.0 if self.residual is None else self.residual

    def integral(self, a: Any, b: Any) -> Value:
        """∫ₐᵇ of the spline, which is 0 outside of its knots."""
        return splint(a, b, self._tck())

    def derivatives(self, x: Any) -> Any:
        """The value and all derivatives at a point."""
        return spalde(x, self._tck())

    def roots(self) -> Any:
        """Where the spline is 0; for plain values."""
        if self.k != 3:
            raise NotImplementedError("finding roots unsupported for non-cubic splines")
        if is_traced(self.t, self.c):
            raise UnsupportedError(
                "UnivariateSpline.roots: how many roots there are depends on values. Find them with plain values, and "
                "make one step of Newton's method with the traced spline."
            )
        return _theirs.sproot(self._tck(), mest=3 * (len(self.t) - 7))

    def derivative(self, n: int = 1) -> Any:
        """The spline of derivative n."""
        return self._made(splder(self._tck(), n), 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n: int = 1) -> Any:
        """The spline whose derivative n this is."""
        return self._made(splantider(self._tck(), n), self.ext)

    @staticmethod
    def _made(tck: tuple[Value, Value, int], ext: int) -> Any:
        made = object.__new__(UnivariateSpline)
        made._set(*tck, ext)
        return made


class InterpolatedUnivariateSpline(UnivariateSpline):
    """The spline of degree k through all points.

    ```python
    x = np.linspace(0.0, 2.0, 9)
    s = ad.scipy.interpolate.InterpolatedUnivariateSpline(x, x**3)
    s.integral(0.0, 2.0)  # → 4.0
    ad.grad(s)(1.5)  # → 6.75
    ```
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if is_traced(x, y, bbox):
            self._interpolate(x, y, bbox, k, ext)
        else:
            w = None if is_traced(w) else w  # it changes nothing
            self._take(_theirs.InterpolatedUnivariateSpline(x, y, w, bbox, k, ext, check_finite), ext)


class LSQUnivariateSpline(UnivariateSpline):
    """The spline with inner knots t that minimizes Σ (w (y - s(x)))².

    ```python
    x = np.linspace(0.0, 2.0, 9)
    s = ad.scipy.interpolate.LSQUnivariateSpline(x, x**3, np.array([0.7, 1.4]))
    s(1.0)  # → 1.0
    ```
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        t: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if not is_traced(x, y, t, w, bbox):
            self._take(_theirs.LSQUnivariateSpline(x, y, t, w, bbox, k, ext, check_finite), ext)
            return
        if not 1 <= k <= 5:
            raise ValueError("k should be 1 <= k <= 5")
        x, inner = real("x", x), real("t", t)
        low, high = (
            end if given is None else np.reshape(real("bbox", given), (1,))
            for end, given in zip((x[:1], x[-1:]), bbox, strict=True)
        )
        knots = np.concatenate([np.repeat(low, k + 1), inner, np.repeat(high, k + 1)])
        demand(
            np.diff(knots[k : knots.shape[0] - k]) > 0, "Interior knots t must satisfy Schoenberg-Whitney conditions"
        )
        spline = make_lsq_spline(x, y, knots, k, w)
        self._set(spline.t, spline.c, k, _mode(ext))
        gap = (real("y", y) - spline(x)) * (1.0 if w is None else real("w", w))
        self.residual = np.sum(gap**2)
