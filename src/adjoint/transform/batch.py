"""Batching: a value that stands for a stack of batch elements; the stack is always the first axis of what it holds."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
from collections.abc import Sequence
from threading import get_ident
from typing import Any

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.control.batch_elements import has_loops_over_elements
from adjoint.program.layout import Strides, compact, memory_order
from adjoint.program.op import Op
from adjoint.program.record import WEAKENED
from adjoint.program.trace import Trace, Tracer, known, primal
from adjoint.program.types import ArrayType, Value, result_dtype, type_of

_batches = itertools.count()


class BatchTracer(Tracer):
    """One batch element of a stack, as the mapped function sees it.

    `_mapped` is False for a value that is the same in all batch elements. `_weak` marks a stack of Python numbers: each
    gives way in promotion, as it does outside of a batch.
    """

    __slots__ = ("_mapped", "_weak")

    def __init__(self, trace: Batch, value: Value, mapped: bool = True, weak: bool = False) -> None:
        self._trace = trace
        self._value = value
        self._mapped = mapped
        self._weak = weak

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._value.shape[1:] if self._mapped else np.shape(self._value)

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.shape, self._value.dtype)

    @property
    def weak(self) -> bool:
        return self._weak if self._mapped else super().weak

    def primal(self) -> Value:
        return BatchTracer(self._trace, primal(self._value), self._mapped, self._weak)  # type: ignore[arg-type]

    def snapshot(self) -> BatchTracer:
        return BatchTracer(self._trace, self._value, self._mapped, self._weak)  # type: ignore[arg-type]

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
        self._weak = mine and other._weak


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
        if any(m and a._weak for a, m in zip(args, mapped, strict=True)):
            return self._converted(op, args, xs, mapped)
        with self.below():
            z = op.batch(xs, mapped, self.size)
        if op.several:
            return tuple(BatchTracer(self, part) for part in z)
        return BatchTracer(self, z, weak=op.weakens and np.ndim(z) == 1)

    def _converted(self, op: Op, args: Sequence[Value], xs: list[Value], mapped: list[bool]) -> Value:
        """Stacks of Python numbers among others: converted where one of them would have given way."""
        types = [_element_type(a) for a in args]
        result = op.result_type(*types)
        wanted = [t.dtype for t in (result if op.several else (result,))]
        strong = [ArrayType(t.shape, t.dtype) if m else t for t, m in zip(types, mapped, strict=True)]
        plain = op.result_type(*strong)
        with self.below():
            if [t.dtype for t in (plain if op.several else (plain,))] != wanted:
                dtype = result_dtype(*types)
                xs = [Convert(dtype)(x) if m and t.weak else x for x, t, m in zip(xs, types, mapped, strict=True)]
            z = op.batch(xs, mapped, self.size)
            parts = [
                part if part.dtype == dtype else Convert(dtype)(part)
                for part, dtype in zip(z if op.several else (z,), wanted, strict=True)
            ]
        if op.several:
            return tuple(BatchTracer(self, part) for part in parts)
        weak = op.weakens or (op in WEAKENED and all(t.weak for t in types))
        return BatchTracer(self, parts[0], weak=weak and np.ndim(parts[0]) == 1)


def _element_type(a: Value) -> ArrayType:
    """The type that one batch element sees."""
    if not isinstance(a, Tracer):
        return type_of(a)
    return ArrayType(a.shape, a.dtype, weak=a.weak and not a.shape)
