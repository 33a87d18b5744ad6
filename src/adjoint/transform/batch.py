"""Batching: a value that stands for a stack of batch elements; the stack is always the first axis of what it holds."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
from collections.abc import Sequence
from threading import get_ident
from typing import Any

import numpy as np

from adjoint.ops.control.batch_elements import has_loops_over_elements
from adjoint.program.layout import Strides, compact, memory_order
from adjoint.program.op import Op
from adjoint.program.trace import Trace, Tracer, known, primal
from adjoint.program.types import ArrayType, Value

_batches = itertools.count()


class BatchTracer(Tracer):
    """One batch element of a stack, as the mapped function sees it.

    `_mapped` is False for a value that is the same in all batch elements.
    """

    __slots__ = ("_mapped",)

    def __init__(self, trace: Batch, value: Value, mapped: bool = True) -> None:
        self._trace = trace
        self._value = value
        self._mapped = mapped

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._value.shape[1:] if self._mapped else np.shape(self._value)

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.shape, self._value.dtype)

    def primal(self) -> Value:
        return BatchTracer(self._trace, primal(self._value), self._mapped)  # type: ignore[arg-type]

    def snapshot(self) -> BatchTracer:
        return BatchTracer(self._trace, self._value, self._mapped)  # type: ignore[arg-type]

    def layout(self) -> Strides | None:
        """As one element of the batch alone would lie: its axes in the order of the whole batch, without gaps."""
        strides = super().layout()
        if not self._mapped or strides is None:
            return strides
        return compact(self.type, memory_order(self.type, strides[1:]))

    def lay_out(self, order: Sequence[int]) -> None:
        super().lay_out((0, *[axis + 1 for axis in order]) if self._mapped else order)

    def _adopt(self, other: Value) -> None:
        mine = isinstance(other, BatchTracer) and other._trace is self._trace
        self._value, self._mapped = (other._value, other._mapped) if mine else (other, False)


class Batch(Trace):
    """Applies each primitive to all batch elements at once."""

    title = "vmap"

    def __init__(self, size: int, batch: int | None = None) -> None:
        super().__init__()
        self.size = size
        self.batch = next(_batches) if batch is None else batch  # the same in all traces of one batch
        if has_loops_over_elements():
            self.programs = self.programs.of_batch(self.batch)

    def constant(self, value: Value) -> BatchTracer:
        return BatchTracer(self, value, False)

    def known(self, x: BatchTracer) -> Value | None:
        return None if x._mapped else known(x._value)

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if get_ident() != self.thread:
            self.wrong_thread()
        mine = [isinstance(a, BatchTracer) and a._trace is self for a in args]
        xs = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        mapped = [m and a._mapped for a, m in zip(args, mine, strict=True)]
        if not any(mapped):
            z = op(*xs)
            return tuple(BatchTracer(self, part, False) for part in z) if op.several else BatchTracer(self, z, False)
        if "vmap" in op.stated:  # control flow maps batching over its own programs, and knows which results are stacked
            return tuple(BatchTracer(self, part, m) for part, m in op.vmap(xs, mapped, self))
        with self.below():
            z = op.batch(xs, mapped, self.size)
        return tuple(BatchTracer(self, part) for part in z) if op.several else BatchTracer(self, z)
