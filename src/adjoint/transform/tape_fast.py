"""The tape fast path: for each pointwise primitive a function that records it, all that is fixed prepared.

Small-array code spends its time between the NumPy calls. These functions do what `Tape.apply_one` and `apply_two` do
for the common case (float64, shapes that agree, the tape in its own thread and recording); for everything else they
hand over to them. A test compares the two.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.types import Value
from adjoint.transform.tape import TapeTracer

Recorder = Callable[..., Value]
_bare = object.__new__  # a tracer without its __init__: the recorders fill the slots themselves


def unary(op: Ufunc) -> Recorder:
    """Records op(x)."""
    function, (keep_x, _, keep_z, head) = op.function, op.plan_first

    def record(x: Any) -> Value:
        tape = x._trace
        extent = x._extent
        if extent is None or get_ident() != tape.fast:
            return tape.apply_one(op, x)
        xv = x._value
        z = function(xv)
        t = _bare(TapeTracer)
        entries = tape.entries
        t._trace, t._value, t._extent, t._index = tape, z, extent, len(entries)
        entries.append((head, x._index, -1, xv if keep_x else None, None, z if keep_z else None, None))
        return t

    return record


def binary(op: Ufunc) -> Recorder:
    """Records op(x, y) of two values of one tape, or of one and a Python float."""
    function = op.function
    first_x, first_y, first_z, head = op.plan_first
    both_x, both_y, both_z, _ = op.plan_both

    def record(x: Any, y: Any) -> Value:
        tape = x._trace
        extent = x._extent
        if extent is None or get_ident() != tape.fast:
            return NotImplemented
        if type(y) is TapeTracer:
            if y._extent != extent or y._trace is not tape:
                return NotImplemented
            xv, yv = x._value, y._value
            z = function(xv, yv)
            entries = tape.entries
            entry = (
                head,
                x._index,
                y._index,
                xv if both_x else None,
                yv if both_y else None,
                z if both_z else None,
                None,
            )
        elif type(y) is float:
            xv = x._value
            z = function(xv, y)
            entries = tape.entries
            entry = (head, x._index, -1, xv if first_x else None, y if first_y else None, z if first_z else None, None)
        else:
            return NotImplemented
        t = _bare(TapeTracer)
        t._trace, t._value, t._extent, t._index = tape, z, extent, len(entries)
        entries.append(entry)
        return t

    return record


def reflected(op: Ufunc) -> Recorder:
    """Records op(y, x) for a Python float y."""
    function, (keep_y, keep_x, keep_z, head) = op.function, op.plan_second

    def record(x: Any, y: Any) -> Value:
        tape = x._trace
        extent = x._extent
        if extent is None or type(y) is not float or get_ident() != tape.fast:
            return NotImplemented
        xv = x._value
        z = function(y, xv)
        t = _bare(TapeTracer)
        entries = tape.entries
        t._trace, t._value, t._extent, t._index = tape, z, extent, len(entries)
        entries.append((head, -1, x._index, y if keep_y else None, xv if keep_x else None, z if keep_z else None, None))
        return t

    return record


def _method(name: str, record: Recorder) -> Callable[[Any, Any], Value]:
    """An operator: the recorder where it serves, else the operator of all traced values."""
    general = getattr(TapeTracer, name)

    def method(self: Any, other: Any) -> Value:
        z = record(self, other)
        return general(self, other) if z is NotImplemented else z

    return method


UNARY: dict[Any, Recorder] = {}


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if len(inputs) == 1 and method == "__call__" and not kwargs:
        record = UNARY.get(ufunc)
        if record is not None:
            return record(inputs[0])
    return general_ufunc(self, ufunc, method, *inputs, **kwargs)


general_ufunc: Any = None


def install() -> None:
    """Give the tape's values their own operators and ufuncs.

    Called once, after those of all traced values are there.
    """
    global general_ufunc
    for short, name in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}.items():
        op = BY_NAME[name]
        setattr(TapeTracer, f"__{short}__", _method(f"__{short}__", binary(op)))
        setattr(TapeTracer, f"__r{short}__", _method(f"__r{short}__", reflected(op)))
    for op in BY_NAME.values():
        if op.pointwise and op.arity == 1:
            UNARY[op.function] = unary(op)
    TapeTracer.__neg__ = UNARY[np.negative]  # type: ignore[attr-defined]
    general_ufunc = TapeTracer.__array_ufunc__  # type: ignore[attr-defined]
    TapeTracer.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
