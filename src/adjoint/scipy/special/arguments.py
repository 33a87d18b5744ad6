"""What the functions of scipy.special make of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


def traced(*values: Any) -> bool:
    return any(isinstance(v, Tracer) or (isinstance(v, list | tuple) and traced(*v)) for v in values)


def array(x: Any) -> Value:
    """A traced value as it is; a list of them stacked; anything else as an array of floats."""
    if isinstance(x, list | tuple) and traced(x):
        return np.stack([array(v) for v in x])
    x = x if isinstance(x, Tracer) else np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def constant(call: str, **values: Any) -> None:
    for name, value in values.items():
        if traced(value):
            raise UnsupportedError(f"{call}: {name!r} is a traced value, but it must be a plain number or array here.")


def whole(call: str, name: str, value: Any) -> int:
    """A degree or an order: a plain integer, not negative."""
    constant(call, **{name: value})
    number = int(value)
    if number != value or number < 0:
        raise ValueError(f"{call}: {name!r} must be an integer >= 0, got {value}.")
    return number
