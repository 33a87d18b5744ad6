"""Parameters of distributions: numbers and arrays, traced or not, checked where their values are known."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError, TraceError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of
from adjoint.random.draws import Undifferentiable, is_float

DISCRETE = (
    "integers are not differentiable in it: the derivative along one draw is zero, which is not that of the expected "
    "value. Multiply by the derivative of the log-probability (the score) instead."
)


def numbers(call: str, **parameters: Any) -> list[Value]:
    """Parameters as arrays or numbers; lists become arrays."""
    out: list[Value] = []
    for name, x in parameters.items():
        if type(x) in (int, float):
            out.append(x)
            continue
        if not isinstance(x, Tracer | np.ndarray | np.generic | float | int):
            try:
                x = np.asarray(x)
            except TraceError:
                raise TraceError(
                    f"{call}: {name} is a list that holds traced values. Make an array of it with np.stack or "
                    "adjoint.numpy.array."
                ) from None
        if type_of(x).dtype.kind not in "biuf":
            raise DtypeError(f"{call}: {name} must be a real number or an array of them, not {type_of(x).dtype}.")
        out.append(x)
    return out


def array(x: Any) -> Value:
    """A traced value as it is, anything else as an array."""
    return x if isinstance(x, Tracer) else np.asarray(x)


def known(x: Value) -> Any:
    """The plain values of a parameter, those of all batch elements together; None when they are not known yet."""
    while isinstance(x, Tracer):
        x = x._value
    return x


def require(call: str, name: str, x: Value, rule: str) -> None:
    """Raise unless the parameter obeys the rule: "not negative", "positive", "a probability"."""
    value = known(x)
    if value is None or (type(value) in (int, float) and 0 < value <= 1):
        return
    bad = {
        "not negative": lambda v: v < 0,
        "positive": lambda v: ~(v > 0),
        "a probability": lambda v: ~((v >= 0) & (v <= 1)),
    }[rule](np.asarray(value))
    if np.any(bad):
        worst = np.asarray(value)[bad].ravel()[0]
        raise ValueError(f"{call}: {name} must be {rule}; got {worst}.")


def sizes(call: str, size: Any) -> tuple[int, ...]:
    """`size` as a shape."""
    try:
        shape = (operator.index(size),) if np.ndim(size) == 0 else tuple(operator.index(n) for n in size)
    except TypeError:
        raise TypeError(f"{call}: size must be an integer or a tuple of integers, not {size!r}.") from None
    if any(n < 0 for n in shape):
        raise ValueError(f"{call}: negative dimensions are not allowed; got size={size}.")
    return shape


def shape_of(call: str, size: Any, *parameters: Value) -> tuple[int, ...]:
    """The shape to draw: `size`, with which the parameters must broadcast, or their own common shape."""
    if size is None and all(type(p) in (int, float) for p in parameters):
        return ()
    shapes = [np.shape(p) for p in parameters]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ShapeError(f"{call}: the parameters have shapes {listed}, which do not broadcast.") from None
    if size is None:
        return common
    shape = sizes(call, size)
    try:
        fits = np.broadcast_shapes(shape, common) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{call}: parameters of shape {common} do not broadcast to size={shape}.")
    return shape


def float_type(call: str, dtype: Any) -> np.dtype[Any]:
    """float64 or float32; there are no others to draw."""
    kind = np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise TypeError(f"{call}: unsupported dtype {kind.name}; choose float64 or float32.")
    return kind


def frozen(call: str, name: str, x: Value, reason: str = DISCRETE) -> Value:
    """A parameter that must not be differentiated; it raises when it is."""
    return Undifferentiable(call, name, reason)(x) if isinstance(x, Tracer) and is_float(x) else x


def delivered(call: str, drawn: Value, out: Any) -> Value:
    """What was drawn, in the caller's array if one was given."""
    if out is None:
        return drawn
    if isinstance(drawn, Tracer):
        raise TraceError(f"{call}: out= cannot take traced numbers. Use the result that is returned.")
    np.copyto(out, drawn)
    return out
