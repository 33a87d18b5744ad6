"""What `adjoint.numpy` offers: NumPy's names, for what NumPy itself does not pass on to traced values.

NumPy looks for traced values in some arguments only, never inside lists, and its creation functions never ask. Here
lists of traced values
are arrays, and inside a running transformation a new array is a traced constant that can be assigned to. Ufuncs,
dtypes and constants are
NumPy's own.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.base.source import describe, here
from adjoint.numpy.creating import filled
from adjoint.numpy.dispatch import as_array, constant, is_traced, refuse_keywords
from adjoint.numpy.shaping import convert
from adjoint.ops.operators import FUNCTIONS, GENERAL
from adjoint.program.trace import Traced
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
    )
)


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Value:
    """np.array, also of traced values and of nested lists that hold them."""
    refuse_keywords("adjoint.numpy.array", {"like": like}, like=None)
    if not is_traced(object):
        return constant(np.array(object, dtype, copy=True, ndmin=ndmin))
    x = _stacked(object)
    x = x if dtype is None else convert(x, dtype)
    if x is object and copy:
        x = constant(x.copy())  # of the innermost transformation, whose values can be assigned into it
    return np.reshape(x, (1,) * (ndmin - x.ndim) + x.shape) if x.ndim < ndmin else x


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
    refuse_keywords(
        "adjoint.numpy.asarray", {"like": like, "device": device}, like=None, device=None if device is None else "cpu"
    )
    if isinstance(a, Traced | np.ndarray) and not copy:
        if dtype is None or a.dtype == np.dtype(dtype):
            return a
        return convert(a, dtype) if isinstance(a, Traced) else constant(a.astype(dtype))
    return array(a, dtype)


def _shape(shape: Any) -> tuple[int, ...]:
    return (operator.index(shape),) if np.ndim(shape) == 0 else tuple(operator.index(n) for n in shape)


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Value:
    """np.zeros; inside a transformation it can be assigned to."""
    return constant(np.zeros(_shape(shape), dtype))


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Value:
    """np.ones; inside a transformation it can be assigned to."""
    return constant(np.ones(_shape(shape), dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Value:
    """np.full, also of a traced value."""
    return filled(_shape(shape), dtype, fill_value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Traced) and value.dtype.kind in "iu"


def _made(name: str) -> Callable[..., Value]:
    """A creation function of NumPy whose result can be assigned to."""
    function = getattr(np, name)

    def make(*args: Any, **kwargs: Any) -> Any:
        if any(is_traced(v) for v in (*args, *kwargs.values())):
            if function in FUNCTIONS:
                return FUNCTIONS[function](*args, **kwargs)
            asked = [operator.index(v) if _is_whole(v) else v for v in args]
            if is_traced(asked) or is_traced(list(kwargs.values())):
                raise UnsupportedError(
                    f"adjoint.numpy.{name} was given a traced number, at {describe(here())}: it decides the shape of "
                    "the result, which must be known. "
                    "Give plain numbers; adjoint.numpy.linspace takes traced ends."
                )
            args = tuple(asked)
        return constant(function(*args, **kwargs))

    return functools.update_wrapper(make, function) if hasattr(function, "__wrapped__") else _named(make, name)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.{name}; inside a transformation the result can be assigned to."
    return function


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


class vectorize:  # noqa: N801
    """np.vectorize: a function of numbers on arrays, element by element. (vmap does all elements at once.)"""

    def __init__(self, pyfunc: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.pyfunc, self._options, self._plain = pyfunc, (args, kwargs), np.vectorize(pyfunc, *args, **kwargs)
        functools.update_wrapper(self, pyfunc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(is_traced(v) for v in (*args, *kwargs.values())):
            return self._plain(*args, **kwargs)
        if self._options != ((), {}) or kwargs:
            raise UnsupportedError(
                "adjoint.numpy.vectorize of traced values takes the function and positional arguments alone; use "
                "ad.vmap for more."
            )
        arrays = [as_array(a) for a in args]
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        flat = [np.ravel(np.broadcast_to(a, shape)) for a in arrays]
        results = [self.pyfunc(*[a[i] for a in flat]) for i in range(flat[0].shape[0])]
        if results and isinstance(results[0], tuple):
            return tuple(np.reshape(array(list(column)), shape) for column in zip(*results, strict=True))
        return np.reshape(array(results), shape)


def passed_on(function: Any) -> Callable[..., Any]:
    """A function of NumPy that finds traced values in every argument, and in lists."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(is_traced, itertools.chain(args, kwargs.values()))):
            return function(*args, **kwargs)
        if function not in TAKES_LISTS:
            args = tuple(_stacked(a) if isinstance(a, list | tuple) and is_traced(a) else a for a in args)
            kwargs = {k: _stacked(v) if isinstance(v, list | tuple) and is_traced(v) else v for k, v in kwargs.items()}
        ours = FUNCTIONS.get(function)
        return ours(*args, **kwargs) if ours is not None else GENERAL["function"](function, args, kwargs)

    return call


class Part:
    """A part of NumPy's namespace (linalg, fft) with the same promises."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        value = passed_on(value) if hasattr(value, "_implementation") else value
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __repr__(self) -> str:
        return f"<adjoint's {self._module.__name__}>"


OWN: dict[str, Any] = {
    "array": array,
    "asarray": asarray,
    "asanyarray": asarray,
    "ascontiguousarray": asarray,
    "asfortranarray": asarray,
    "zeros": zeros,
    "ones": ones,
    "full": full,
    "r_": Rows(columns=False),
    "c_": Rows(columns=True),
    "vectorize": vectorize,
    "linalg": Part(np.linalg),
    "fft": Part(np.fft),
    **{name: _made(name) for name in CREATION},
}


def lookup(name: str) -> Any:
    """What adjoint.numpy.name is."""
    if name in OWN:
        return OWN[name]
    value = getattr(np, name)
    return passed_on(value) if hasattr(value, "_implementation") else value
