"""What the functions of scipy.integrate, interpolate, spatial and stats share: plain values go to SciPy, traced ones
are arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.ops.arrays.index import Gather
from adjoint.ops.effects import Arguments, Check
from adjoint.program.trace import Tracer, live_trace
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


def for_traced(module: Any) -> Callable[[F], F]:
    """The function of SciPy with this name on plain values, ours on traced ones."""

    def choose(function: F) -> F:
        theirs = getattr(module, function.__name__, function)  # an older SciPy may not have it

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (function if is_traced(args, kwargs) else theirs)(*args, **kwargs)

        return call  # type: ignore[return-value]

    return choose


def array(x: Any) -> Value:
    """A traced value as it is, lists of them stacked; anything else as an array."""
    if isinstance(x, list | tuple) and is_traced(*x):
        return np.stack([array(v) for v in x])
    return x if isinstance(x, Tracer) else np.asarray(x)


def floating(x: Any) -> Value:
    """The same with real or complex numbers: integers become float64."""
    x = array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def constant(call: str, **values: Any) -> None:
    """Refuse traced values where the function has no derivative rule."""
    for name, value in values.items():
        if is_traced(value):
            raise UnsupportedError(
                f"{call}: {name!r} is a traced value, but it has no derivative rule here. Give a plain number or "
                "array; or, if the derivative is not wanted, ad.stop_gradient of it outside the transformation."
            )


def demand(condition: Any, message: str) -> None:
    """Raise a ValueError unless the condition holds; of traced values when the program runs."""
    if not isinstance(condition, Tracer):
        if np.all(condition):
            return
        if live_trace() is None:
            raise ValueError(message)
    given = condition if isinstance(condition, Tracer) else np.asarray(condition)
    Check(message, describe(here()), Arguments.of((), {})[0])(given)


def read(x: Value, *indices: Value) -> Value:
    """x[i₁, …, iₙ], where index arrays may be traced and x plain."""
    return Gather(len(indices))(x, *indices)


def along(x: Value, axis: int, start: int | None = None, stop: int | None = None, step: int | None = None) -> Value:
    """A slice of one axis."""
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]


def ratio(numerator: Value, denominator: Value) -> Value:
    """numerator / denominator, and 0 where the denominator is."""
    zero = denominator == 0
    return np.where(zero, 0.0, numerator / np.where(zero, 1.0, denominator))
