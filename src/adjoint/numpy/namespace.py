"""What `adjoint.numpy` offers: NumPy's names, for what NumPy itself does not pass on to traced values.

NumPy looks for traced values in some arguments only, never inside lists, and its creation functions never ask. Here
lists of traced values are arrays, and inside a running transformation a new array is a traced constant that can be
assigned to. Ufuncs, dtypes and constants are NumPy's own.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.base.refusal import refuse
from adjoint.base.source import describe, here
from adjoint.coverage import REFUSED, find
from adjoint.numpy import array_api
from adjoint.numpy.array_api import check_device
from adjoint.numpy.creating import filled, kaiser
from adjoint.numpy.dispatch import as_array, constant, guarded, is_traced, refuse_keywords
from adjoint.numpy.settings import with_settings
from adjoint.numpy.shaping import convert, in_order
from adjoint.numpy.vectorizing import vectorize
from adjoint.ops.operators import GENERAL, find_function
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value

# functions whose first argument is a list of arrays, not an array
TAKES_LISTS = frozenset(
    (
        np.concatenate,
        np.concat,
        np.stack,
        np.hstack,
        np.vstack,
        np.dstack,
        np.column_stack,
        np.block,
        np.lexsort,
        np.select,
        np.einsum,
        np.choose,
        np.piecewise,
        np.histogramdd,
        np.linalg.multi_dot,
    )
)

# functions that call a user function, which may bring traced values of its own
TAKES_FUNCTIONS = frozenset((np.apply_along_axis, np.apply_over_axes, np.piecewise))


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Value:
    """np.array, also of traced values and of nested lists that hold them."""
    refuse_keywords("adjoint.numpy.array", {"like": like}, like=None)
    if not is_traced(object):
        made = np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
        # a constant may be written to: the caller's own memory must not be
        shared = not copy and isinstance(object, np.ndarray) and np.may_share_memory(made, object)
        return made if shared else constant(made)
    x = _stacked(object)
    x = x if dtype is None else convert(x, dtype)
    if x is object and copy:
        x = x.copy(order)  # of the innermost transformation, whose values can be assigned into it
    elif isinstance(x, Tracer):
        x = in_order(x, order)
    if x is not object and copy is False:
        raise ValueError(
            f"adjoint.numpy.array was asked for {describe_input(object, dtype)} with copy=False, at "
            f"{describe(here())}, which takes a copy. Use copy=None to copy only where it is needed."
        )
    return np.reshape(x, (1,) * (ndmin - x.ndim) + x.shape) if x.ndim < ndmin else x


def describe_input(object: Any, dtype: Any) -> str:
    """What an array is to be made of, in a few words."""
    made_of = f"a traced {object.type}" if isinstance(object, Tracer) else f"a {type(object).__name__} of traced values"
    return made_of if dtype is None else f"{made_of} as {np.dtype(dtype)}"


def _stacked(value: Any) -> Value:
    if not isinstance(value, list | tuple):
        return as_array(value)
    parts = [_stacked(v) for v in value]
    shapes = {np.shape(p) for p in parts}
    if len(shapes) > 1:
        raise ShapeError(
            f"adjoint.numpy.array: a list with parts of different shapes, {sorted(shapes)}, is not an array, at "
            f"{describe(here())}."
        )
    return np.stack(parts) if is_traced(parts) else np.asarray(parts)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Value:
    """An array as it is (a plain array stays plain, as nothing is copied); lists and numbers as `array` makes them."""
    check_device("adjoint.numpy.asarray", device)
    is_array = isinstance(a, Tracer) or (type(a) is np.ndarray and order is None)
    if is_array and not copy and order in (None, "K") and (dtype is None or a.dtype == np.dtype(dtype)):
        return a
    return array(a, dtype, copy=copy, order="K" if order is None else order, like=like)


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Value:
    """`asarray`, which leaves subclasses of ndarray as they are."""
    if is_traced(a):
        return asarray(a, dtype, order, device=device, copy=copy, like=like)
    check_device("adjoint.numpy.asanyarray", device)
    return array(a, dtype, copy=copy, order="K" if order is None else order, subok=True, like=like)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Value:
    """np.ascontiguousarray."""
    return np.atleast_1d(asarray(a, dtype, "C", like=like))


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Value:
    """np.asfortranarray."""
    return asarray(a, dtype, "F", like=like)


def _shape(shape: Any) -> tuple[int, ...]:
    return (operator.index(shape),) if np.ndim(shape) == 0 else tuple(operator.index(n) for n in shape)


def zeros(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Value:
    """np.zeros; inside a transformation it can be assigned to."""
    _check("zeros", device, like)
    return constant(np.zeros(_shape(shape), dtype, order))


def ones(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Value:
    """np.ones; inside a transformation it can be assigned to."""
    _check("ones", device, like)
    return constant(np.ones(_shape(shape), dtype, order))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Value:
    """np.full, also of a traced value."""
    _check("full", device, like)
    return filled(_shape(shape), dtype, fill_value)


def _check(name: str, device: Any, like: Any) -> None:
    check_device(f"adjoint.numpy.{name}", device)
    refuse_keywords(f"adjoint.numpy.{name}", {"like": like}, like=None)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Tracer) and value.dtype.kind in "iu"


def _made(name: str) -> Callable[..., Value]:
    """A creation function of NumPy whose result can be assigned to."""
    function = getattr(np, name)

    def make(*args: Any, **kwargs: Any) -> Any:
        if any(is_traced(v) for v in (*args, *kwargs.values())):
            if (ours := find_function(function)) is not None:
                return ours(*args, **kwargs)
            asked = [operator.index(v) if _is_whole(v) else v for v in args]
            if is_traced(asked) or is_traced(list(kwargs.values())):
                if (row := find("numpy", name)) is not None and row.kind == REFUSED:
                    refuse(row.title, row)
                raise UnsupportedError(
                    f"adjoint.numpy.{name} was given a traced number, at {describe(here())}: it decides the shape of "
                    "the result, which must be known. "
                    "Give plain numbers; adjoint.numpy.linspace takes traced ends."
                )
            args = tuple(asked)
        return constant(function(*args, **kwargs))

    functools.update_wrapper(make, function)
    make.__doc__ = f"numpy.{name}; inside a transformation the result can be assigned to."
    return make


CREATION = (
    "empty",
    "eye",
    "identity",
    "tri",
    "arange",
    "linspace",
    "logspace",
    "geomspace",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "fromiter",
    "indices",
)


class Rows:
    """r_ and c_: arrays one after another, written as an index; slices are ranges."""

    def __init__(self, columns: bool) -> None:
        self._columns = columns

    def __getitem__(self, key: Any) -> Value:
        parts = key if isinstance(key, tuple) else (key,)
        if not is_traced(parts):
            return constant((np.c_ if self._columns else np.r_)[key])
        if any(isinstance(p, str) for p in parts):
            raise UnsupportedError(
                "adjoint.numpy.r_ with traced values takes no string: use np.concatenate(…, axis=…) or np.stack."
            )
        arrays = [np.r_[p] if isinstance(p, slice) else np.atleast_1d(as_array(p)) for p in parts]
        return np.column_stack(arrays) if self._columns else np.concatenate(arrays, axis=0)


def passed_on(function: Any) -> Callable[..., Any]:
    """A function of NumPy that finds traced values in every argument, and in lists."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        known = function not in TAKES_FUNCTIONS or live_trace() is None
        if known and not any(map(is_traced, itertools.chain(args, kwargs.values()))):
            return function(*args, **kwargs)
        args, kwargs = with_settings(function, args, kwargs)
        if function not in TAKES_LISTS:
            args = tuple(_stacked(a) if isinstance(a, list | tuple) and is_traced(a) else a for a in args)
            kwargs = {k: _stacked(v) if isinstance(v, list | tuple) and is_traced(v) else v for k, v in kwargs.items()}
        ours = find_function(function)
        return ours(*args, **kwargs) if ours is not None else GENERAL["function"](function, args, kwargs)

    return call


def opened(module: Any, own: Mapping[str, Any] = MappingProxyType({})) -> Callable[[str], Any]:
    """What names mean in a module of ours that stands for one of NumPy's (linalg, fft)."""

    def lookup(name: str) -> Any:
        if name in own:
            return own[name]
        value = getattr(module, name)
        return passed_on(value) if hasattr(value, "_implementation") else guarded(module.__name__, name, value)

    return lookup


OWN: dict[str, Any] = {
    "array": array,
    "asarray": asarray,
    "asanyarray": asanyarray,
    "ascontiguousarray": ascontiguousarray,
    "asfortranarray": asfortranarray,
    "zeros": zeros,
    "ones": ones,
    "full": full,
    "r_": Rows(columns=False),
    "c_": Rows(columns=True),
    "kaiser": kaiser,
    "vectorize": vectorize,
    **array_api.OWN,
    **{name: _made(name) for name in CREATION},
}


lookup = opened(np, OWN)
