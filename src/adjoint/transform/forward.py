"""Forward mode: pairs (value, tangent), pushed through each primitive as it runs; nothing is stored."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from threading import get_ident
from typing import Any

import numpy as np

from adjoint.program.op import Op
from adjoint.program.trace import Trace, Tracer, exclusive
from adjoint.program.types import Value

_NOTHING = nullcontext()


class ForwardTracer(Tracer):
    """A value and its tangent; None for a tangent that is zero."""

    __slots__ = ("_tangent",)

    def __init__(self, trace: Forward, value: Value, tangent: Value) -> None:
        self._trace = trace
        self._value = value
        self._tangent = tangent

    def has_tangent(self) -> bool:
        return self._tangent is not None or super().has_tangent()

    def snapshot(self) -> ForwardTracer:
        return ForwardTracer(self._trace, self._value, self._tangent)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        mine = isinstance(other, ForwardTracer) and other._trace is self._trace
        self._value, self._tangent = (other._value, other._tangent) if mine else (other, None)


class Forward(Trace):
    """ż = push(x, z, ẋ) beside z = f(x)."""

    title = "forward mode"
    differentiates = True

    def constant(self, value: Value) -> ForwardTracer:
        return ForwardTracer(self, value, None)

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if get_ident() != self.thread:
            self.wrong_thread()
        mine = [isinstance(a, ForwardTracer) and a._trace is self for a in args]
        xs = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        dxs = [a._tangent if m else None for a, m in zip(args, mine, strict=True)]
        if op.flat or all(dx is None for dx in dxs):
            z = op(*xs)
            dz = (None,) * len(z) if op.several else None
        elif "jvp" in op.stated:  # control flow maps forward mode over its own programs
            # effects in loops are those of who runs; a rule that runs other functions makes no values of this trace
            with self.reading() if op.closes else _NOTHING, _NOTHING if op.is_control else self.below():
                z, dz = op.jvp(xs, dxs, self)
        else:
            z = op(*xs)
            with np.errstate(all="ignore"), self.reading() if op.closes else _NOTHING, self.below():
                dz = op.push(xs, z, dxs)
        return tuple(map(self._paired, z, dz)) if op.several else self._paired(z, dz)  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]

    def assign(self, x: Any, op: Any, v: Value, indices: Sequence[Value]) -> bool:
        """x[…] = v in place, in value and tangent, when nobody else refers to their memory."""
        if get_ident() != self.thread:
            self.wrong_thread()
        mine = isinstance(v, ForwardTracer) and v._trace is self
        new, new_tangent = (v._value, v._tangent) if mine else (v, None)
        if not exclusive(x) or any(isinstance(i, Tracer) for i in (new, new_tangent, x._tangent, *indices)):
            return False
        if x._tangent is not None or new_tangent is not None:
            x._tangent = (
                np.zeros(x.shape, x.dtype)
                if x._tangent is None
                else np.array(x._tangent)
                if x._tangent.base is not None
                else x._tangent
            )
            tangent = x._tangent
            if sys.getrefcount(tangent) > 3:
                tangent = x._tangent = tangent.copy()
            tangent[op.subscript(indices)] = 0 if new_tangent is None else new_tangent
        x._value[op.subscript(indices)] = new
        return True

    def _paired(self, z: Value, dz: Value) -> Value:
        return ForwardTracer(self, z, dz) if hasattr(z, "dtype") and z.dtype.kind in "fc" else z
