"""What the functions of signals share: plain values go to SciPy, traced ones are looked at along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.signal

from adjoint.base.errors import UnsupportedError
from adjoint.ops.signal.convolution import Convolution
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value

F = TypeVar("F", bound=Callable[..., Any])


def is_traced(*values: Any) -> bool:
    """Whether a value, or anything in a list, tuple or dict, is traced."""
    return any(
        isinstance(v, Tracer)
        or (isinstance(v, list | tuple) and is_traced(*v))
        or (isinstance(v, dict) and is_traced(*v.values()))
        for v in values
    )


def for_traced(function: F, module: Any = scipy.signal) -> F:
    """The function of SciPy with this name on plain values, ours on traced ones."""
    theirs = getattr(module, function.__name__, function)  # an older SciPy may not have it

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (function if is_traced(args, kwargs) else theirs)(*args, **kwargs)

    return call  # type: ignore[return-value]


def array(x: Any) -> Value:
    """A traced value as it is, lists of them stacked; anything else as an array."""
    if isinstance(x, list | tuple) and is_traced(*x):
        return np.stack([array(v) for v in x])
    return x if isinstance(x, Tracer) else np.asarray(x)


def floating(x: Any) -> Value:
    """The same with real or complex numbers."""
    x = array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def vector(call: str, name: str, x: Any) -> Value:
    """Coefficients: one axis."""
    x = floating(x)
    x = np.reshape(x, (1,)) if x.ndim == 0 else x
    if x.ndim != 1 or x.shape[0] == 0:
        raise ValueError(f"{call}: {name} must be a vector that is not empty, got shape {x.shape}.")
    return x


def constant(call: str, **values: Any) -> None:
    """Refuse traced values where the function has no derivative rule."""
    for name, value in values.items():
        if is_traced(value):
            raise UnsupportedError(
                f"{call}: {name!r} is a traced value, but it has no derivative rule here. Give a plain number or "
                "array; or, if the derivative is not wanted, ad.stop_gradient of it outside the transformation."
            )


def refuse(call: str, reason: str, remedy: str) -> Any:
    """Something about a call that has no meaning on traced values."""
    raise UnsupportedError(f"{call}: {reason}. {remedy}.")


def cut(x: Value, axis: int, start: int | None = None, stop: int | None = None, step: int | None = None) -> Value:
    """A slice of one axis."""
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]


def extended(x: Value, n: int, kind: str | None, axis: int) -> Value:
    """n elements more at both ends of an axis: turned about the end point (odd), mirrored (even), constant, zeros."""
    if n < 1 or kind is None:
        return x
    if kind == "zeros":
        zeros = np.zeros_like(cut(x, axis, 0, 1).repeat(n, axis))
        return np.concatenate([zeros, x, zeros], axis=axis)
    first, last = cut(x, axis, 0, 1), cut(x, axis, -1, None)
    if kind == "constant":
        return np.concatenate([first.repeat(n, axis), x, last.repeat(n, axis)], axis=axis)
    if n > x.shape[axis] - 1:
        raise ValueError(f"The extension length n ({n}) is too big: it must not exceed {x.shape[axis] - 1}.")
    before, after = cut(x, axis, n, 0, -1), cut(x, axis, -2, -(n + 2) if n + 2 <= x.shape[axis] else None, -1)
    if kind == "odd":
        before, after = 2 * first - before, 2 * last - after
    return np.concatenate([before, x, after], axis=axis)


def spread_along(values: Value, axis: int, ndim: int) -> Value:
    """A vector as an array that varies along one axis."""
    return np.reshape(values, tuple(-1 if i == axis % ndim else 1 for i in range(ndim)))


def filtered(x: Value, h: Value, axis: int, length: int, *, up: int = 1, down: int = 1, start: int = 0) -> Value:
    """z[p] = Σ h[k] x[i] along an axis, over up·i = down·p + start - k, for p = 0 … length - 1."""
    moved = np.moveaxis(x, axis, -1)
    rows = np.reshape(moved, (int(np.prod(moved.shape[:-1])), 1, 1, moved.shape[-1]))
    op = Convolution((down,), (-1,), (up,), (start,), (length,))
    z = bind(op, rows, np.reshape(h, (1, 1, 1, h.shape[0])))
    return np.moveaxis(np.reshape(z, (*moved.shape[:-1], length)), -1, axis)
