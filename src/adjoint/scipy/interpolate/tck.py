"""Splines as tuples of knots, coefficients and degree: the functions of FITPACK.

As there, coefficients are filled up with zeros to as many as there are knots.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as _theirs

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.arguments import array, demand, is_traced
from adjoint.scipy.interpolate.bspline import BSpline
from adjoint.scipy.interpolate.fitting import make_interp_spline
from adjoint.scipy.interpolate.piecewise import real

Tck = tuple[Value, Value, int]


def _is_theirs(*values: Any) -> bool:
    """Whether SciPy's function takes them: nothing is traced, and no spline is one of ours."""
    return not is_traced(*values) and not any(isinstance(v, BSpline) for v in values)


def _curves(tck: Any) -> list[Any] | None:
    """The tuples of each component of a curve; None for a single spline."""
    t, c, k = tck
    if isinstance(c, list | tuple) and c and np.ndim(c[0]) > 0:
        return [(t, component, k) for component in c]
    c = array(c)
    return [(t, c[i], k) for i in range(c.shape[0])] if c.ndim > 1 else None


def _spline(tck: Any) -> BSpline:
    t, c, k = tck
    return BSpline(t, c, k)


def _only_simple(call: str, spline: BSpline) -> None:
    if spline.c.ndim > 1:
        raise ValueError(f"Calling {call}() with BSpline objects with c.ndim > 1 is not allowed. Use its methods.")


def _filled(t: Value, c: Value, k: int) -> Tck:
    short = t.shape[0] - c.shape[0]
    return t, np.concatenate([c, np.zeros((short, *c.shape[1:]))]) if short > 0 else c, k


def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: Any = 0,
    per: Any = 0,
    quiet: int = 1,
) -> Any:
    """Knots, coefficients and degree of the spline through (x, y); smoothing ones for plain values.

    ```python
    x = np.linspace(0.0, 2.0, 8)
    at = lambda y: ad.scipy.interpolate.splev(0.7, ad.scipy.interpolate.splrep(x, y))
    ad.grad(at)(x**2).sum()  # → 1.0
    ```
    """
    if not is_traced(x, y, w, xb, xe, s, t):
        return _theirs.splrep(x, y, w, xb, xe, k, task, s, t, full_output, per, quiet)
    if w is not None or xb is not None or xe is not None or t is not None or task or per or s not in (None, 0):
        raise UnsupportedError(
            "splrep: of traced values only the spline through all points (s=0) has a derivative rule: smoothing "
            "chooses its knots by values. Use adjoint.scipy.interpolate.make_lsq_spline with knots of your own, or "
            "make_interp_spline for boundary conditions and periodic splines."
        )
    if not 1 <= k <= 5:
        raise TypeError(f"Given degree of the spline (k={k}) is not supported. (1<=k<=5)")
    if array(x).shape[0] <= k:
        raise TypeError("m > k must hold")
    tck = _filled(*make_interp_spline(x, y, k).tck)
    return (tck, 0.0, -1, "The spline is an interpolating spline") if full_output else tck


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """The values of a spline at points, or those of a derivative.

    Outside of the knots: extrapolated (ext=0), 0 (1), refused (2), or the value at the nearest end (3).

    ```python
    s = (np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 3.0, 0.0, 0.0]), 1)
    ad.scipy.interpolate.splev(0.25, s)  # → 1.5
    ```
    """
    if _is_theirs(x, tck):
        return _theirs.splev(x, tck, der, ext)
    if isinstance(tck, BSpline):
        _only_simple("splev", tck)
        if ext != 0:
            raise ValueError(f"Extrapolation mode {ext} is not supported by BSpline.")
        return tck(x, der, extrapolate=True)
    curves = _curves(tck)
    if curves is not None:
        return [splev(x, curve, der, ext) for curve in curves]
    spline = _spline(tck)
    if not 0 <= der <= spline.k:
        raise ValueError(f"0<=der={der}<=k={spline.k} must hold")
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    points = real("x", x)
    first, last = spline.t[spline.k], spline.t[spline.t.shape[0] - spline.k - 1]
    inside = (points >= first) & (points <= last)
    if ext == 2:
        demand(inside, "Found x value not in the domain")
    # FITPACK extrapolates derivatives also for ext=3
    values = spline(np.clip(points, first, last) if ext == 3 and der == 0 else points, der, extrapolate=True)
    return np.where(inside, values, 0.0) if ext == 1 else values


def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """∫ₐᵇ of a spline, which is 0 outside of its knots.

    ```python
    s = (np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 3.0, 0.0, 0.0]), 1)
    ad.grad(lambda b: ad.scipy.interpolate.splint(0.0, b, s))(0.5)  # → 2.0
    ```
    """
    if _is_theirs(a, b, tck):
        return _theirs.splint(a, b, tck, full_output)
    if isinstance(tck, BSpline):
        _only_simple("splint", tck)
        return tck.integrate(a, b, extrapolate=False)
    curves = _curves(tck)
    if curves is not None:
        return [splint(a, b, curve) for curve in curves]
    if full_output:
        raise UnsupportedError("splint: full_output returns work arrays of FITPACK, which traced values do not have.")
    return _spline(tck).integrate(a, b, extrapolate=False)


def spalde(x: Any, tck: Any) -> Any:
    """The value and all derivatives of a spline at a point; a list of these for several points.

    ```python
    s = (np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 3.0, 0.0, 0.0]), 1)
    ad.scipy.interpolate.spalde(0.25, s)  # → [1.5, 2.0]
    ```
    """
    if _is_theirs(x, tck):
        return _theirs.spalde(x, tck)
    if isinstance(tck, BSpline):
        raise TypeError("spalde does not accept BSpline instances.")
    curves = _curves(tck)
    if curves is not None:
        return [spalde(x, curve) for curve in curves]
    spline, points = _spline(tck), np.reshape(real("x", x), (-1,))
    first, last = spline.t[spline.k], spline.t[spline.t.shape[0] - spline.k - 1]
    demand((points >= first) & (points <= last), "Invalid input data. t(k)<=x<=t(n-k+1) must hold.")
    table = np.stack([spline(points, nu) for nu in range(spline.k + 1)], axis=-1)
    return table[0] if points.shape[0] == 1 else [table[i] for i in range(points.shape[0])]


def splder(tck: Any, n: int = 1) -> Any:
    """The spline of derivative n.

    ```python
    s = (np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 3.0, 0.0, 0.0]), 1)
    ad.scipy.interpolate.splder(s)[1]  # → [2.0, 0.0]
    ```
    """
    if _is_theirs(tck):
        return _theirs.splder(tck, n)
    return tck.derivative(n) if isinstance(tck, BSpline) else _spline(tck).derivative(n).tck


def splantider(tck: Any, n: int = 1) -> Any:
    """The spline whose derivative n is the given one.

    ```python
    s = (np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 3.0, 0.0, 0.0]), 1)
    ad.scipy.interpolate.splev(1.0, ad.scipy.interpolate.splantider(s))  # → 2.0
    ```
    """
    if _is_theirs(tck):
        return _theirs.splantider(tck, n)
    return tck.antiderivative(n) if isinstance(tck, BSpline) else _spline(tck).antiderivative(n).tck


def insert(x: Any, tck: Any, m: int = 1, per: Any = 0) -> Any:
    """The same spline with a knot at x, m times.

    ```python
    s = (np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 3.0, 0.0, 0.0]), 1)
    ad.scipy.interpolate.insert(0.5, s)[1]  # → [1.0, 2.0, 3.0, 0.0, 0.0]
    ```
    """
    if per and _is_theirs(x, tck):
        return _theirs.insert(x, tck, m, per)
    if per:
        raise UnsupportedError("insert: a periodic spline (per=1) has no derivative rule here. Give plain values.")
    if isinstance(tck, BSpline):
        return tck.insert_knot(x, m)
    curves = _curves(tck)
    if curves is not None:
        whole = [insert(x, curve, m) for curve in curves]
        return whole[0][0], [c for _, c, _ in whole], whole[0][2]
    return _filled(*_spline(tck).insert_knot(x, m).tck)
