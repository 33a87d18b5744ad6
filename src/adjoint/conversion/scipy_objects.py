"""Objects of SciPy, and series of NumPy, made of plain numbers and called with traced ones: our counterparts answer.

An interpolant of SciPy knows its nodes and coefficients; the counterpart with the same ones has derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

import adjoint.numpy as our_numpy
import adjoint.scipy as ours
from adjoint.conversion.calls import call
from adjoint.conversion.lifting import any_traced


def _piecewise(made: Any) -> Any:
    return ours.interpolate.PPoly(made.c, made.x, extrapolate=made.extrapolate, axis=made.axis)


def _basis(made: Any) -> Any:
    return ours.interpolate.BSpline(made.t, made.c, made.k, extrapolate=made.extrapolate, axis=made.axis)


def _line(made: Any) -> Any:
    return ours.interpolate.interp1d(
        made.x, made.y, kind=made._kind, axis=made.axis, bounds_error=made.bounds_error, fill_value=made.fill_value
    )


def _grid(made: Any) -> Any:
    return ours.interpolate.RegularGridInterpolator(
        made.grid, made.values, method=made.method, bounds_error=made.bounds_error, fill_value=made.fill_value
    )


class Univariate:
    """A spline of FITPACK, by its knots and coefficients."""

    def __init__(self, made: Any) -> None:
        self._tck, self._ext = made._eval_args, made.ext

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The spline, or its derivative of order nu."""
        return ours.interpolate.splev(x, self._tck, der=nu, ext=self._ext if ext is None else ext)

    def integral(self, a: Any, b: Any) -> Any:
        """∫ₐᵇ s."""
        return ours.interpolate.splint(a, b, self._tck)


ADAPTERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ["PPoly", "CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "CubicHermiteSpline"], _piecewise
    ),
    "BSpline": _basis,
    "interp1d": _line,
    "RegularGridInterpolator": _grid,
    **dict.fromkeys(["UnivariateSpline", "InterpolatedUnivariateSpline", "LSQUnivariateSpline"], Univariate),
}


def adapter_of(value: Any) -> Callable[[Any], Any] | None:
    """What makes a counterpart of an object of SciPy or a series of NumPy; None for any other."""
    cls = type(value)
    if cls.__module__.startswith("numpy.polynomial."):
        return lambda made: getattr(our_numpy.polynomial, cls.__name__)(
            made.coef, made.domain, made.window, made.symbol
        )
    if cls.__module__.startswith("scipy.interpolate"):
        return ADAPTERS.get(cls.__name__)
    if not cls.__module__.startswith("scipy.stats"):
        return None
    if cls.__name__.startswith("rv_") and cls.__name__.endswith("_frozen"):
        return lambda made: ours.stats.densities.Distribution(made.dist, _call_formula, made.args, made.kwds)
    return (
        (lambda made: ours.stats.densities.Distribution(made, _call_formula))
        if hasattr(value, "_parse_args_rvs")
        else None
    )


def _call_formula(method: Any, *args: Any) -> Any:
    return call(method)(*args)


def call_adapted(made: Any, adapter: Callable[[Any], Any], method: str = "__call__") -> Callable[..., Any]:
    """A method of an object of SciPy; of its counterpart when an argument is traced."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        kept = (*getattr(made, "args", ()), *getattr(made, "kwds", {}).values())
        owner = adapter(made) if any_traced(*args, *kwargs.values(), *kept) else made
        return getattr(owner, method)(*args, **kwargs)

    return answer


def adapt_method(method: MethodType) -> Callable[..., Any] | None:
    """A method of such an object; None for any other method."""
    if isinstance(method.__self__, type) and method.__self__.__module__.startswith("numpy.polynomial."):
        return getattr(getattr(our_numpy.polynomial, method.__self__.__name__), method.__name__)
    adapter = adapter_of(method.__self__)
    if adapter is None or (hasattr(method.__self__, "rvs") and method.__name__ not in ours.stats.densities.METHODS):
        return None
    return call_adapted(method.__self__, adapter, method.__name__)


def find_selection(function: Any) -> Any:
    """The function by which SciPy chooses between two formulas, element by element."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    if (name, module.partition(".")[0]) not in (("apply_where", "scipy"), ("_lazywhere", "scipy")):
        return None

    @functools.wraps(function)
    def choose(cond: Any, args: Any, f: Any, *others: Any, **kwargs: Any) -> Any:
        values = args if isinstance(args, tuple | list) else (args,)
        if not any_traced(cond, *values):
            return function(cond, args, f, *others, **kwargs)
        # each formula is evaluated where it counts, and at one elsewhere
        fill = kwargs.get("fill_value", kwargs.get("fillvalue", others[0] if name == "_lazywhere" and others else None))
        other = kwargs.get("f2", others[-1] if others and callable(others[-1]) else None)
        first = call(f)(*[np.where(cond, v, 1.0) for v in values])
        rest = fill if other is None else call(other)(*[np.where(cond, 1.0, v) for v in values])
        return np.where(cond, first, np.nan if rest is None else rest)

    return choose
