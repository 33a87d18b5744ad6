"""The tape: a record of what was computed, with the values that the backward pass will read.

The record of one run is a list with one entry for each variable, in the order in which they were computed, which is
topological by construction. `adjoint.transform.entries` has the layout of entries; `adjoint.transform.reverse` reads
them.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any

import numpy as np

from adjoint.program.op import Op
from adjoint.program.trace import Trace, Tracer, exclusive
from adjoint.program.types import Value, type_of
from adjoint.transform.capture import Captured
from adjoint.transform.entries import INPUT_ENTRY, Entry, general_entry, part_entry

FLOAT64 = np.dtype(np.float64)
_ARRAY: Any = np.ndarray  # as Any: a test against it leaves the value Any
SMALL = 1 << 15  # bytes


class TapeTracer(Tracer):
    """A value on a tape: its position in the record, or -1 for one that depends on no input."""

    __slots__ = ("_extent", "_index")
    _index: int
    _extent: Any  # the shape, if the dtype is float64; else None: what the fast path compares

    def __init__(self, trace: Tape, value: Value, index: int) -> None:
        self._trace = trace
        self._value = value
        self._index = index
        self._extent = value.shape if index >= 0 and value.dtype is FLOAT64 else None

    def has_tangent(self) -> bool:
        return self._index >= 0 or super().has_tangent()

    def snapshot(self) -> TapeTracer:
        return TapeTracer(self._trace, self._value, self._index)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        if isinstance(other, TapeTracer) and other._trace is self._trace:
            self._value, self._index, self._extent = other._value, other._index, other._extent
        else:
            self._value, self._index, self._extent = other, -1, None


class Tape(Trace):
    """Records each equation with the values that its pull needs."""

    title = "reverse mode"
    differentiates = True

    def __init__(self, *, outlives_call: bool = False) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        self.captured = Captured(outlives_call, self.outer)
        self.fast = self.thread if type(self) is Tape else 0
        self.small = True  # all inputs are small: the record may wait while its results are looked at

    def input(self, value: Value) -> TapeTracer:
        """A variable to differentiate with respect to."""
        self.small = self.small and (isinstance(value, Tracer) or getattr(value, "nbytes", 0) <= SMALL)
        held: Any = self.captured.hold(value)
        x = self._new(held, INPUT_ENTRY)
        lay: Any = getattr(value, "strides", None)
        if held is not value and type(held) is _ARRAY and held.strides != lay:
            x._strides = lay  # the copy has no gaps
        return x

    def seed(self, ct: Value) -> Value:
        """A cotangent that the reading begins with."""
        return ct

    def constant(self, value: Value) -> TapeTracer:
        return TapeTracer(self, value, -1)

    def _new(self, value: Value, entry: Entry) -> TapeTracer:
        index = len(self.entries)
        self.entries.append(entry)
        return TapeTracer(self, value, index)

    def _slot(self, entry: Entry) -> int:
        self.entries.append(entry)
        return len(self.entries) - 1

    def apply_one(self, op: Any, x: Any) -> Value:
        if not op.pointwise:
            return self._apply_linear(op, x) if op.linear and not op.several else self.apply(op, (x,))
        if get_ident() != self.thread:
            self.wrong_thread()
        xv, ix = x._value, x._index
        z = op.function(xv)
        if ix < 0:
            return TapeTracer(self, z, -1)
        kx, _, kz, head = op.plan_first
        types = None if x._extent is not None and z.dtype is FLOAT64 else (type_of(xv), None, type_of(z))
        return self._new(z, (head, ix, -1, xv if kx else None, None, z if kz else None, types))

    def _apply_linear(self, op: Any, x: Any) -> Value:
        """A linear map of one argument: nothing is kept but its type."""
        if get_ident() != self.thread:
            self.wrong_thread()
        xv, ix = x._value, x._index
        z = op(xv) if isinstance(xv, Tracer) else op.evaluate(xv)
        if ix < 0 or z.dtype.kind not in "fc":
            return self._settle(z)
        return self._new(z, (op, (ix,), None, (type_of(xv),), None, None, None))  # as general_entry, without the call

    def apply_two(self, op: Any, x: Value, y: Value) -> Value:
        if not (op.pointwise or op.multilinear or (op.flat and not op.several)):
            return self.apply(op, (x, y))
        if get_ident() != self.thread:
            self.wrong_thread()
        if type(x) is TapeTracer and x._trace is self:
            xv, ix = x._value, x._index
        else:
            xv, ix = x, -1
        if type(y) is TapeTracer and y._trace is self:
            yv, iy = y._value, y._index
        else:
            yv, iy = y, -1
        if not op.pointwise:
            return self._settle(op(xv, yv)) if op.flat else self._apply_product(op, xv, yv, ix, iy)
        z = op.function(xv, yv)
        extent = z.shape if z.dtype is FLOAT64 else None
        if iy < 0:
            if ix < 0:
                return TapeTracer(self, z, -1)
            kx, ky, kz, head = op.plan_first
            yv = self.captured.hold(yv) if ky else yv
            plain = extent is not None and x._extent == extent
        elif ix < 0:
            kx, ky, kz, head = op.plan_second
            xv = self.captured.hold(xv) if kx else xv
            plain = extent is not None and y._extent == extent
        else:
            kx, ky, kz, head = op.plan_both
            plain = extent is not None and x._extent == extent and y._extent == extent
        types = None if plain else (type_of(xv) if ix >= 0 else None, type_of(yv) if iy >= 0 else None, type_of(z))
        return self._new(z, (head, ix, iy, xv if kx else None, yv if ky else None, z if kz else None, types))

    def _apply_product(self, op: Any, xv: Value, yv: Value, ix: int, iy: int) -> Value:
        """A product of two arguments: each is kept for the other."""
        z = op(xv, yv)
        if ix < 0 and iy < 0:
            return self._settle(z)
        x = (xv if ix >= 0 else self.captured.hold(xv)) if iy >= 0 else type_of(xv)
        y = (yv if iy >= 0 else self.captured.hold(yv)) if ix >= 0 else type_of(yv)
        return self._new(z, (op, (ix, iy), None, (x, y), None, None, None))  # as general_entry, without the call

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if op.pointwise and len(args) < 3:
            return self.apply_one(op, args[0]) if len(args) == 1 else self.apply_two(op, *args)
        if get_ident() != self.thread:
            self.wrong_thread()
        if op.saves and self.outer is not None and self.outer.is_unrolled():
            whole = op.without_checkpoints()
            op = whole
        values: list[Value] = []
        positions: list[int] = []
        mine: list[bool] = []
        tracked = False
        for a in args:
            if type(a) is TapeTracer and a._trace is self:
                values.append(a._value)
                positions.append(a._index)
                mine.append(True)
                tracked = tracked or a._index >= 0
            else:
                values.append(a)
                positions.append(-1)
                mine.append(False)
        if op.flat or not tracked:
            z = op(*values)
            return tuple(map(self._settle, z)) if op.several else self._settle(z)
        z, kept_z, xs = self._evaluate(op, values, mine, [i >= 0 for i in positions])
        return self._record(op, tuple(positions), xs, z, kept_z)

    def _evaluate(
        self, op: Op, values: list[Value], mine: list[bool], wanted: list[bool]
    ) -> tuple[Value, Value, tuple[Value, ...]]:
        """z, what is kept of it, and of the inputs (types stand for those that are not kept)."""
        hold = self.captured.hold
        if op.saves:  # control flow decides itself what it keeps
            given = [v if m else hold(v) for v, m in zip(values, mine, strict=True)]
            z, residuals = op.save(given, wanted, self)  # type: ignore[attr-defined]
            return z, None, residuals  # pyright: ignore[reportUnknownVariableType]
        z = op(*values)
        keep_xs, keep_z = op.keep(wanted)
        xs = [type_of(v) if not k else v if m else hold(v) for v, k, m in zip(values, keep_xs, mine, strict=True)]
        return z, z if keep_z else None, tuple(xs)

    def _record(self, op: Op, indices: tuple[int, ...], xs: tuple[Value, ...], z: Value, kept_z: Value) -> Value:
        entry = general_entry(op, indices, xs, kept_z)
        if not op.several:
            return self._new(z, entry) if z.dtype.kind in "fc" else z
        whole = self._slot(entry)
        return tuple(
            self._new(part, part_entry(whole, j, len(z))) if part.dtype.kind in "fc" else part
            for j, part in enumerate(z)
        )

    def assign(self, x: Any, op: Any, v: Value, indices: Sequence[Value]) -> bool:
        """x[…] = v in place, when nobody else refers to the memory of x; says whether it was."""
        if get_ident() != self.thread:
            self.wrong_thread()
        tracked = type(v) is TapeTracer and v._trace is self
        new = v._value if tracked else v
        if not (exclusive(x) and not isinstance(new, Tracer) and not any(isinstance(i, Tracer) for i in indices)):
            return False
        x._value[op.subscript(indices)] = new
        iv = v._index if tracked else -1
        if x._index >= 0 or iv >= 0:
            held = [self.captured.hold(i) for i in indices]
            read = (type_of(x._value), type_of(new), *held)
            x._index = self._slot(general_entry(op, (x._index, iv, *[-1] * len(indices)), read))
            x._extent = x._value.shape if x._value.dtype is FLOAT64 else None
        return True

    def _settle(self, z: Value) -> Value:
        """A result without derivative: plain if it is an integer or a truth value, else a constant to assign to."""
        return TapeTracer(self, z, -1) if type(z) is not bool and z.dtype.kind in "fc" else z

    def end(self) -> None:
        super().end()
        self.captured.release()
