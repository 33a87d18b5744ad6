"""The table behind `__array_function__`: which of our functions answers for which of NumPy's."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.base.source import describe, here
from adjoint.ops.operators import FUNCTIONS, GENERAL
from adjoint.ops.pointwise import UFUNCS
from adjoint.program.trace import Traced
from adjoint.program.types import Value

F = TypeVar("F", bound=Callable[..., Any])


def implements(*functions: Any) -> Callable[[F], F]:
    """Declare that a function of ours answers for these functions of NumPy when an argument is traced."""

    def register(ours: F) -> F:
        for function in functions:
            FUNCTIONS[function] = ours
        return ours

    return register


def _unknown_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
    raise UnsupportedError(
        f"{name} has no derivative rule here, at {describe(here())}. Write it with functions that have one, or give it a rule: "
        "@ad.custom_rule(jvp=…, vjp=…)."
    )


GENERAL["function"] = _unknown_function


def is_traced(value: Any) -> bool:
    """Whether a value, or anything in a list or tuple, is traced."""
    return isinstance(value, Traced) or (isinstance(value, list | tuple) and any(is_traced(v) for v in value))


def load_rules_of(ufunc: Any) -> bool:
    """Load the rules of a ufunc that lives in SciPy; they wait until the first one is used."""
    if ufunc in UFUNCS:
        return True
    if "adjoint.ops.special" not in _loaded:
        _loaded.add("adjoint.ops.special")
        importlib.import_module("adjoint.ops.special")
    return ufunc in UFUNCS


_loaded: set[str] = set()


def refuse_plain_target(call: str, target: str) -> Any:
    """Writing traced values into a plain array would lose them."""
    raise TraceError(
        f"{call} would write a traced value into a plain array ({target}), at {describe(here())}: the derivative would be lost and other names "
        "of the array would not see it. Make the array with adjoint.numpy.zeros, adjoint.numpy.array or np.zeros_like of a traced array."
    )


def normal_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """An axis as a non-negative integer."""
    position = int(axis) if not isinstance(axis, int) else axis
    if not -ndim <= position < ndim:
        raise np.exceptions.AxisError(position, ndim, name)
    return position % ndim


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as sorted non-negative integers; None is all."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    found = tuple(sorted(normal_axis(a, ndim) for a in axes))
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return found


def as_array(value: Any) -> Value:
    """A traced value as it is, anything else as an ndarray; lists of traced values are stacked."""
    if isinstance(value, Traced):
        return value
    if is_traced(value):
        return np.stack([as_array(v) for v in value])
    return np.asarray(value)
