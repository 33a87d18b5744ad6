"""Axes, shapes and widths that are traced, as those that a compiled function takes: Python asks for them."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.program.trace import Tracer

# parameters of NumPy's functions that say where and how many: shapes depend on them, and no function has a derivative
# with respect to them
NAMES = frozenset(
    (
        "axis",
        "axes",
        "axis1",
        "axis2",
        "axisa",
        "axisb",
        "axisc",
        "destination",
        "kth",
        "n",
        "new_shape",
        "num",
        "pad_width",
        "reps",
        "s",
        "shape",
        "shift",
        "source",
    )
)


def as_integers(value: Any) -> Any:
    """A setting with integers in the place of traced ones: for each of them Python asks once."""
    if isinstance(value, Tracer):
        return [as_integers(v) for v in value] if value.shape else operator.index(value)  # type: ignore[attr-defined]
    if type(value) in (list, tuple):
        return type(value)(map(as_integers, value))
    return value


@functools.cache
def _settings_of(function: Callable[..., Any]) -> tuple[bool, ...]:
    """For each parameter, in order, whether it is a setting."""
    try:
        return tuple(name in NAMES for name in inspect.signature(function).parameters)
    except ValueError:  # functions in C whose signature an older NumPy does not tell: their settings have keywords
        return ()


def with_settings(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of NumPy with its settings known."""
    are_settings = _settings_of(function)
    known = [as_integers(a) if here else a for a, here in zip(args, are_settings, strict=False)]
    return (*known, *args[len(known) :]), {k: as_integers(v) if k in NAMES else v for k, v in kwargs.items()}
