"""What integrals are given, read and checked: integrands, ends, boxes, tolerances."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError, TraceError
from adjoint.conversion.driver import prepare
from adjoint.integrate.reading import joined
from adjoint.integrate.system import Arguments, read_state, trace_function
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = [
    "reachable",
    "read_box",
    "read_count",
    "read_end",
    "read_function",
    "read_integrand",
    "read_points",
    "read_tolerances",
]

EPS = float(np.finfo(np.float64).eps)


def read_function(title: str, f: Any, args: Any, words: str = "f(x, *args)") -> Callable[..., Any]:
    """f, converted like any code of users."""
    if not callable(f):
        raise TypeError(f"{title}: the integrand is a {type(f).__name__}; it is a function {words}.")
    if not isinstance(args, tuple | list):
        raise TypeError(f"{title}: args is a {type(args).__name__}; it is a tuple. Write args=(c,) for one argument.")
    return prepare(f)


def read_integrand(title: str, f: Any, args: Sequence[Any], x: Any = None) -> Any:
    """f(x, *args) as a program of (x, nothing, θ), or of (nothing, x, θ) where x is a vector such as this; with θ."""
    run = read_function(title, f, args)
    _, layout = read_state(title, "x", np.float64(0.0) if x is None else x)
    call = (lambda x, _, *given: run(x, *given)) if x is None else (lambda _, x, *given: run(x, *given))
    made = trace_function(title, "f", call, layout, Arguments(args))
    if not made.types:
        raise TypeError(f"{title}: f returned no number; it returns a number, an array, or a tree of them.")
    for t, path in zip(made.types, made.structure.paths(), strict=True):
        if t.dtype.kind not in "fc":
            where = f" at {path}" if path else ""
            raise DtypeError(f"{title}: f returned {t}{where}; an integral is of floating-point numbers. Write 1.0 for "
                             "1.")  # fmt: skip
    return made


def read_end(title: str, name: str, value: Any) -> Value:
    """One end, as float64."""
    if isinstance(value, TRACED):
        if value.shape != ():
            raise DtypeError(f"{title}: {name} has shape {value.shape}; an end is one number. Use vmap for many.")
        return value if value.dtype == np.float64 else value.astype(np.float64)
    found = np.asarray(value)
    if found.shape != () or found.dtype.kind not in "fiu":
        raise DtypeError(f"{title}: {name} is {value!r}; an end is one real number, or ±np.inf.")
    if np.isnan(found):
        raise ValueError(f"{title}: {name} is NaN.")
    return np.float64(found)


def read_points(title: str, points: Any) -> list[Value]:
    """Breakpoints."""
    if isinstance(points, TRACED | np.ndarray):
        if len(points.shape) != 1:
            raise ShapeError(f"{title}: points has shape {points.shape}; they are a sequence of numbers: points=(p,).")
        points = [points[i] for i in range(points.shape[0])]
    if not isinstance(points, tuple | list):
        raise TypeError(f"{title}: points is {points!r}; they are a sequence of numbers: points=(p,) for one.")
    return [read_end(title, f"points[{i}]", p) for i, p in enumerate(points)]


def read_box(title: str, low: Any, high: Any, may_be_infinite: bool = False) -> tuple[Value, Value]:
    """Two corners, as vectors of float64."""
    ends = []
    for name, value in (("low", joined(low)), ("high", joined(high))):
        found = value if isinstance(value, TRACED) else np.asarray(value)
        if found.dtype.kind not in "fiu":
            raise DtypeError(f"{title}: {name} is {value!r}; a corner is a vector of real numbers.")
        ends.append(found if found.dtype == np.float64 else found.astype(np.float64))
    if any(len(v.shape) != 1 for v in ends) or ends[0].shape != ends[1].shape or not ends[0].shape[0]:
        raise ShapeError(
            f"{title}: low has shape {ends[0].shape} and high {ends[1].shape}; they are vectors of one length."
        )
    for name, v in zip(("low", "high"), ends, strict=True):
        if isinstance(v, TRACED):
            continue
        if np.any(np.isnan(v)):
            raise ValueError(f"{title}: {name} is {v}, with NaN in it.")
        if not may_be_infinite and not np.all(np.isfinite(v)):
            raise ValueError(f"{title}: the box is not finite, {name} is {v}. Substitute variables, or use cubature.")
    plain = not any(isinstance(v, TRACED) for v in ends)
    if plain and np.any((ends[0] == ends[1]) & np.isinf(ends[0])):
        raise ValueError(f"{title}: low and high are infinite on the same side; there is nothing between them.")
    return ends[0], ends[1]


def read_tolerances(title: str, rtol: Any, atol: Any) -> tuple[float, float]:
    """Relative and absolute tolerance: plain numbers, not both zero."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if isinstance(value, TRACED):
            raise TraceError(f"{title}: {name} is traced; the tolerance of an integral is a plain number. Close over "
                             f"it, or name the argument in static_argnames of jit.")  # fmt: skip
        if np.ndim(value) or np.asarray(value).dtype.kind not in "fiu":
            raise TypeError(f"{title}: {name} is {value!r}; it is one number.")
    if not (rtol >= 0 and atol >= 0 and rtol + atol > 0):
        raise ValueError(f"{title}: rtol is {rtol} and atol {atol}; one of them must be above zero, none below.")
    return float(rtol), float(atol)


def reachable(tolerances: tuple[float, float], made: Any) -> tuple[float, float]:
    """rtol and atol, where f has a precision that reaches them: sums of single numbers are no better than these are."""
    eps = min(float(np.finfo(t.dtype).eps) for t in made.types)
    return (max(tolerances[0], 8.0 * eps) if eps > EPS else tolerances[0]), tolerances[1]


def read_count(title: str, name: str, value: Any) -> int:
    """A number of intervals, boxes or points: one or more."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{title}: {name} is {value!r}; it is an integer.") from None
    if found < 1:
        raise ValueError(f"{title}: {name} is {value}; it is 1 or more.")
    return found
