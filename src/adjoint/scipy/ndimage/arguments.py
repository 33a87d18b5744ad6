"""Arguments of filters: images, sequences of one value for each axis, element types of results."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.ndimage

from adjoint.base.errors import UnsupportedError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.scipy.passing import is_traced

F = TypeVar("F", bound=Callable[..., Any])


def for_traced(function: F) -> F:
    """The function of SciPy with this name on plain values, ours on traced ones."""
    theirs = getattr(scipy.ndimage, function.__name__, function)  # an older SciPy may not have it

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = any(map(is_traced, (*args, *kwargs.values())))
        return (function if traced else theirs)(*args, **kwargs)

    return call  # type: ignore[return-value]


def array(x: Any) -> Value:
    """A traced value as it is, lists of them stacked; anything else as an array."""
    if isinstance(x, list | tuple) and is_traced(x):
        return np.stack([array(part) for part in x])
    return x if isinstance(x, Tracer) else np.asarray(x)


def image(call: str, x: Any) -> Value:
    """An array in double precision, in which filters compute."""
    x = array(x)
    if x.dtype.kind not in "fc":
        raise UnsupportedError(
            f"scipy.ndimage.{call}: the array has elements of type {x.dtype}, and so has the result, which is then "
            "constant. Use x.astype(float)."
        )
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def real_image(call: str, x: Any) -> Value:
    """The same for filters that compare."""
    x = image(call, x)
    if x.dtype.kind == "c":
        raise TypeError(f"{call}: Complex type not supported")
    return x


def finished(call: str, z: Value, given: Any, output: Any) -> Value:
    """A result in the element type of the image that was given, or in the one that was asked for."""
    if output is None:
        dtype = array(given).dtype
    elif isinstance(output, type | str | np.dtype):
        dtype = np.dtype(output)
    else:
        raise UnsupportedError(
            f"scipy.ndimage.{call}: output= is an array, which cannot take traced values. Use the result."
        )
    if z.dtype.kind == "c":
        dtype = np.promote_types(dtype, np.complex64)
    return z if z.dtype == dtype else z.astype(dtype)


def each(value: Any, count: int) -> list[Any]:
    """One value for each axis, from one for all or from a sequence."""
    if isinstance(value, str) or (not isinstance(value, list | tuple) and np.ndim(value) == 0):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes as numbers from zero on; None is all."""
    if axes is None:
        return tuple(range(ndim))
    given = [operator.index(axis) for axis in ((axes,) if np.ndim(axes) == 0 else axes)]
    for axis in given:
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range")
    found = tuple(axis % ndim for axis in given)
    if len(set(found)) != len(found):
        raise ValueError("axes must be unique")
    return found


def spread(values: list[Any], axes: tuple[int, ...], ndim: int, rest: Any) -> list[Any]:
    """One value for each axis of the image, from those of some axes."""
    wide = [rest] * ndim
    for axis, value in zip(axes, values, strict=True):
        wide[axis] = value
    return wide
