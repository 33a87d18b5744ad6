"""Accumulators of the reductions in a nest: in registers over the innermost loops, in memory beyond them.

A sum whose terms cost little would wait for each addition before the next one. So its innermost loop goes several
vectors at a time, each with an accumulator of its own, and these are combined behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.elements import write
from adjoint.compile.graph import Graph, Node, cost_of
from adjoint.compile.ir import Function, Value
from adjoint.compile.results import COMBINE, Output, neutral
from adjoint.compile.vectors import Element
from adjoint.compile.views import Index
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.types import ArrayType

COPIES = 4  # accumulators side by side: an addition takes as many cycles, and one can begin in each
LIGHT = 12  # cycles: beside terms that take longer, nobody waits for an addition
FEWEST = 4  # iterations of a loop over so many vectors


class Accumulators:
    """What a nest does with its reductions."""

    f: Function
    graph: Graph
    outputs: Sequence[Output]
    order: list[int]
    vector: int | None
    levels: list[list[Node]]
    counters: dict[int, Value]
    locate: Callable[[Index], tuple[Value, Any]]
    wide: Callable[[Node, int], Element]
    _level: Callable[[int, int, Value | None], None]
    _value: dict[Any, Element]
    _accumulators: dict[tuple[int, int, int], list[Value]]  # buffers on the stack
    _copy: int  # which of the accumulators side by side is meant

    def walk(self, level: int, first: Value, last: Value, width: int, count: Any = None) -> None:
        """The loop along the vector axis, by whole vectors, of which there are `count` where that is known."""
        f, axis = self.f, self.vector
        assert axis is not None
        copies = COPIES if self._waits(level) and (count is None or count >= FEWEST * COPIES) else 1
        start = first
        if copies > 1:
            known = dict(self._value)
            sums = [out for out in self.outputs if out.root.kind != "store"]
            span = f.index(copies * width)
            start = f.add(first, f.mul(f.binary("sdiv", f.sub(last, first), span), span))
            for self._copy in range(1, copies):
                for out in sums:
                    self._start(out, width)
            with f.loop(first, start, span) as counter:
                for self._copy in range(copies):
                    self.counters[axis] = f.add(counter, f.index(self._copy * width))
                    self._level(level + 1, width, None)
                    self._value = dict(known)
            self._copy = 0
            for out in sums:
                buffers = [self._accumulator(out, width, copy) for copy in range(copies)]
                while len(buffers) > 1:
                    one = buffers.pop()
                    into = buffers[len(buffers) // 2 - 1] if len(buffers) > 1 else buffers[0]
                    self._assign(into, self._combine(out, self._read(into), self._read(one)))
            if count is not None and count % copies == 0:
                return
        with f.loop(start, last, f.index(width)) as counter:
            self.counters[axis] = counter
            self._level(level + 1, width, None)

    def _waits(self, level: int) -> bool:
        """Whether the loop at a level does little but add up."""
        if level != len(self.order) - 1:
            return False
        sums = [out for out in self.outputs if out.root.kind != "store"]
        if not sums or len(sums) < len(self.outputs) or any(out.registers > level for out in sums):
            return False
        inside = self.levels[level + 1]
        if any(node.kind not in ("point", "load") or node.mask for node in inside):
            return False
        return sum(cost_of(node.op) for node in inside if node.kind == "point") <= LIGHT

    def _accumulator(self, out: Output, width: int, copy: int | None = None) -> list[Value]:
        key = (id(out), width, self._copy if copy is None else copy)
        if key not in self._accumulators:
            self._accumulators[key] = self._new_accumulator(out, width)
        return self._accumulators[key]

    def _zero(self, out: Output, width: int) -> Element:
        dtype = out.root.var.type.dtype
        return vectors.number(self.f, dtype, neutral(out.root.kind, dtype), width)

    def _new_accumulator(self, out: Output, width: int) -> list[Value]:
        """A buffer on the stack: its address, with the type that it holds."""
        start = self._zero(out, width)
        parts = [start] if isinstance(start, Value) else start
        return [Value(self.f.allocate(p.type).text, p.type) for p in parts]

    def _start(self, out: Output, width: int) -> None:
        """The buffer of an accumulator, at its neutral element."""
        self._assign(self._accumulator(out, width), self._zero(out, width))

    def _read(self, buffer: list[Value]) -> Element:
        parts = [self.f.load(r.type, r) for r in buffer]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _assign(self, buffer: list[Value], value: Element) -> None:
        for r, part in zip(buffer, [value] if isinstance(value, Value) else value, strict=True):
            self.f.store(part, r)

    def _combine(self, out: Output, a: Element, b: Element) -> Element:
        kind = ArrayType((), out.root.var.type.dtype)
        return write(self.f, BY_NAME[COMBINE[out.root.kind]], (kind, kind), kind, [a, b])

    def _fold(self, out: Output, value: Element, width: int) -> Element:
        """All lanes of an accumulator combined."""
        f = self.f
        while width > 1 and width % 2 == 0:
            half = width // 2
            value = self._combine(
                out, vectors.shuffle(f, value, range(half)), vectors.shuffle(f, value, range(half, width))
            )
            width = half
            if width == 1:
                value = vectors.lane(f, value, 0)
        if width > 1:
            total = vectors.lane(f, value, 0)
            for k in range(1, width):
                total = self._combine(out, total, vectors.lane(f, value, k))
            return total
        return vectors.lane(f, value, 0)

    def _store_accumulator(self, out: Output, widths: list[int], fold: bool, width: int, mask: Value | None) -> None:
        """The loops that an accumulator runs over are done: put it where it belongs."""
        if fold:
            total: Element = None
            for w in reversed(widths):
                part = self._fold(out, self._read(self._accumulator(out, w)), w)
                total = part if total is None else self._combine(out, total, part)
            width, mask = 1, None
        else:
            total = self._read(self._accumulator(out, width))
        if out.outside or not out.fresh:
            self._combine_into_memory(out, total, width, mask)
            return
        at, stride = self.locate(out.position)
        vectors.store(self.f, out.root.var.type.dtype, total, out.base, at, stride, width, mask)

    def _combine_into_memory(self, out: Output, value: Element, width: int, mask: Value | None) -> None:
        f, dtype = self.f, out.root.var.type.dtype
        at, stride = self.locate(out.position)
        if width > 1 and stride == 0:  # the vector axis is summed over
            if mask is not None:
                start = vectors.number(f, dtype, neutral(out.root.kind, dtype), width)
                value = vectors.select(f, mask, value, start)
            value, width, mask = self._fold(out, value, width), 1, None
        old = vectors.load(f, dtype, out.base, at, stride, width, mask)
        vectors.store(f, dtype, self._combine(out, old, value), out.base, at, stride, width, mask)
