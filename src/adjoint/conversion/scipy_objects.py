"""Objects of SciPy that were made of plain numbers and are called with traced ones: our counterparts answer.

An interpolant of SciPy knows its nodes and coefficients; the counterpart with the same ones has derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import adjoint.scipy as ours
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
    """What makes a counterpart of an object of SciPy; None for any other."""
    cls = type(value)
    return ADAPTERS.get(cls.__name__) if cls.__module__.startswith("scipy.interpolate") else None


def call_adapted(made: Any, adapter: Callable[[Any], Any], method: str = "__call__") -> Callable[..., Any]:
    """A method of an object of SciPy; of its counterpart when an argument is traced."""

    def call(*args: Any, **kwargs: Any) -> Any:
        owner = adapter(made) if any_traced(*args, *kwargs.values()) else made
        return getattr(owner, method)(*args, **kwargs)

    return call


def adapt_method(method: MethodType) -> Callable[..., Any] | None:
    """A method of such an object; None for any other method."""
    adapter = adapter_of(method.__self__)
    return None if adapter is None else call_adapted(method.__self__, adapter, method.__name__)
