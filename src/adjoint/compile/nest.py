"""A fused kernel as loops: one nest over a box of counters, many results, reductions inside.

Every node is computed at the outermost loop that it depends on. One axis is walked a vector at a time. A reduction
accumulates in registers over the innermost loops that it sums over, and in memory beyond them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.elements import write
from adjoint.compile.graph import Graph, Mask, Node
from adjoint.compile.ir import Function, Value
from adjoint.compile.order import axis_across
from adjoint.compile.results import COMBINE, Output, neutral
from adjoint.compile.vectors import Element
from adjoint.compile.views import Index
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.program import Var
from adjoint.program.types import ArrayType

LONG = 256  # vectors: longer sums go block by block
ACROSS = 64  # elements of an array that lies across the vectors, before the next vectors


class Nest:
    """Writes the loops of one box."""

    def __init__(
        self,
        function: Function,
        graph: Graph,
        outputs: Sequence[Output],
        order: Sequence[int],
        vector: int | None,
        width: int,
        number: Callable[[Any], Value],
        memory: Callable[[Var], Value],
        out_of_bounds: Callable[[Value, Value, Any, Node], None],
    ) -> None:
        self.f, self.graph, self.outputs = function, graph, outputs
        self.order, self.vector, self.width = list(order), vector, width
        self.number, self.memory, self.out_of_bounds = number, memory, out_of_bounds
        self.spans: dict[int, tuple[Value, Value]] = {}  # axes of which a part is gone through
        self.across = axis_across(graph, list(outputs), vector)  # an axis that goes some elements at a time
        self.counters: dict[int, Value] = {}
        self._value: dict[Any, Element] = {}
        self._accumulators: dict[tuple[int, int], list[Value]] = {}  # buffers on the stack
        position = {axis: p for p, axis in enumerate(self.order)}
        self.levels: list[list[Node]] = [[] for _ in range(len(self.order) + 1)]
        for node in graph.nodes:
            at = 0
            for axis in self.order:
                if node.axes >> axis & 1:
                    at = max(at, position[axis] + 1)
            self.levels[at].append(node)
        for out in outputs:
            if out.root.kind != "store":
                level = len(self.order)
                while level and self.order[level - 1] in out.root.axes:
                    level -= 1
                out.registers = level
                out.outside = any(position[a] < level for a in out.root.axes if a in position)

    def emit(self) -> None:
        if self.across is None:
            self._level(0, 1, None)
            return
        f, axis, step = self.f, self.across, self.f.index(ACROSS)
        low, high = self.graph.box[axis]
        first, last = given = self.spans.get(axis, (self.number(low), self.number(high)))
        with f.loop(first, last, step) as start:
            self.spans[axis] = (start, f.intrinsic("smin", f.add(start, step), last))
            self._level(0, 1, None)
        self.spans[axis] = given

    # Loops

    def _level(self, level: int, width: int, mask: Value | None) -> None:
        for node in self.levels[level]:
            wide = self.vector is not None and node.axes >> self.vector & 1
            self._value[node] = self._compute(node, width if wide else 1, mask if wide else None)
        if level == len(self.order):
            for out in self.outputs:
                self._finish(out, width, mask)
            return
        mine = [out for out in self.outputs if out.root.kind != "store" and out.registers == level]
        axis = self.order[level]
        low, high = self.graph.box[axis]
        chunks = self._chunks(low, high) if axis == self.vector else []
        inside = self.vector in self.order[level:]  # then an accumulator has lanes that are folded at the end
        widths = sorted({w for _, _, w, _ in self._chunks(*self.graph.box[self.vector])}) if inside else [width]  # type: ignore[index]
        for out in mine:
            for w in widths:
                self._start(out, w)
        part = self.spans.get(axis)
        if chunks and part is not None:
            self._vectors_of_part(level, *part, chunks)
        elif chunks:
            for first, last, w, partial in chunks:
                self._vectors(level, first, last, w, partial)
        elif isinstance(low, int) and isinstance(high, int) and high - low == 1:
            self.counters[axis] = self.f.index(low)
            self._level(level + 1, width, mask)
        else:
            known = dict(self._value)
            with self.f.loop(*(part or (self.number(low), self.number(high)))) as counter:
                self.counters[axis] = counter
                self._level(level + 1, width, mask)
            self._value = known
        for out in mine:
            self._store_accumulator(out, widths, inside, width, mask)

    def _chunks(self, low: Any, high: Any) -> list[tuple[Any, Any, int, bool]]:
        """(first, last, lanes, whether the last lanes are masked) along the vector axis."""
        w = self.width
        if not (type(low) is int and type(high) is int):
            return [(low, high, w, True)]
        n = high - low
        whole = low + n // w * w
        chunks: list[tuple[Any, Any, int, bool]] = [(low, whole, w, False)] if whole > low else []
        if whole < high:
            chunks.append((whole, high, high - whole, False))
        return chunks

    def _vectors(self, level: int, first: Any, last: Any, width: int, partial: bool) -> None:
        f, axis = self.f, self.vector
        assert axis is not None
        known = dict(self._value)
        if not partial:
            sums = [o for o in self.outputs if o.root.kind == "sum" and o.registers <= level]
            if last - first <= width:
                self.counters[axis] = f.index(first)
                self._level(level + 1, width, None)
            elif sums and last - first > LONG * width:
                self._in_blocks(level, f.index(first), f.index(last), width, sums)
            else:
                with f.loop(f.index(first), f.index(last), f.index(width)) as counter:
                    self.counters[axis] = counter
                    self._level(level + 1, width, None)
            self._value = known
            return
        self._masked(level, self.number(first), self.number(last), width)

    def _vectors_of_part(self, level: int, start: Value, stop: Value, chunks: list[tuple[Any, Any, int, bool]]) -> None:
        """A part that begins at a whole vector, and ends at one or at the end of the axis."""
        f, axis = self.f, self.vector
        assert axis is not None
        first, last, width, partial = chunks[0]
        if partial:
            self._masked(level, start, stop, width)
            return
        known = dict(self._value)
        sums = [o for o in self.outputs if o.root.kind == "sum" and o.registers <= level]
        whole = f.intrinsic("smin", stop, f.index(last))
        if sums:
            self._in_blocks(level, start, whole, width, sums)
        else:
            with f.loop(start, whole, f.index(width)) as counter:
                self.counters[axis] = counter
                self._level(level + 1, width, None)
        self._value = dict(known)
        for first, last, left, _ in chunks[1:]:
            with f.when(f.icmp("eq", stop, f.index(last))):
                self.counters[axis] = f.index(first)
                self._level(level + 1, left, None)
        self._value = known

    def _masked(self, level: int, start: Value, stop: Value, width: int) -> None:
        """Whole vectors, and a last one whose lanes are masked."""
        f, axis = self.f, self.vector
        assert axis is not None
        known = dict(self._value)
        length = f.sub(stop, start)
        whole = f.sub(stop, f.binary("srem", length, f.index(width)))
        sums = [o for o in self.outputs if o.root.kind == "sum" and o.registers <= level]
        if sums:
            self._in_blocks(level, start, whole, width, sums)
        else:
            with f.loop(start, whole, f.index(width)) as counter:
                self.counters[axis] = counter
                self._level(level + 1, width, None)
        self._value = dict(known)
        with f.when(f.icmp("slt", whole, stop)):
            self.counters[axis] = whole
            left = f.spread(f.sub(stop, whole), width)
            mask = f.icmp("slt", f.lane_numbers(width), left)
            self._level(level + 1, width, mask)
        self._value = known

    def _in_blocks(self, level: int, first: Value, last: Value, width: int, sums: list[Output]) -> None:
        """A long sum block by block: the error grows with the length of a block, not of the whole."""
        f, axis = self.f, self.vector
        assert axis is not None
        totals = [(out, self._accumulators[id(out), width], self._new_accumulator(out, width)) for out in sums]
        for out, _, total in totals:
            self._assign(total, self._zero(out, width))
        with f.loop(first, last, f.index(LONG * width)) as start:
            end = f.intrinsic("smin", f.add(start, f.index(LONG * width)), last)
            with f.loop(start, end, f.index(width)) as counter:
                self.counters[axis] = counter
                self._level(level + 1, width, None)
            for out, buffer, total in totals:
                self._assign(total, self._combine(out, self._read(total), self._read(buffer)))
                self._assign(buffer, self._zero(out, width))
        for out, buffer, total in totals:
            self._assign(buffer, self._combine(out, self._read(total), self._read(buffer)))

    # Values

    def wide(self, node: Node, width: int) -> Element:
        """The value of a node in as many lanes as its reader has."""
        if node.kind == "number":
            return vectors.number(self.f, node.type.dtype, node.number, width)
        value = self._value[node]
        have = value.width if isinstance(value, Value) else value[0].width
        if have == width:
            return value
        if (node, width) not in self._value:
            self._value[node, width] = vectors.spread(self.f, value, width)
        return self._value[node, width]

    def locate(self, index: Index) -> tuple[Value, Any]:
        """The position of lane 0, and the distance between lanes."""
        f = self.f
        at = self.number(index.offset)
        stride: Any = 0
        for axis, c in index.terms:
            if axis == self.vector:
                stride = c
            at = f.add(at, f.mul(self.counters[axis], self.number(c)))
        return at, stride if type(stride) is int else vectors.Step(f, self.number(stride))

    def _compute(self, node: Node, width: int, mask: Value | None) -> Element:
        f = self.f
        if node.kind == "point":
            args = [a.number if a.kind == "number" else self.wide(a, width) for a in node.args]
            return write(f, node.op, node.types, node.type, args)
        if node.kind == "load":
            at, stride = self.locate(node.position)
            mask = self._windows(node.mask, width, mask)
            if width > 1 and stride == 0:  # only the mask depends on the vector axis
                mask = None if mask is None else f.any_lane(mask)
                return vectors.spread(f, vectors.load(f, node.type.dtype, self.memory(node.var), at, 0, 1, mask), width)
            return vectors.load(f, node.type.dtype, self.memory(node.var), at, stride, width, mask)
        if node.kind == "count":
            return self._positions(node.position, width)
        if node.kind == "choose":
            condition = self._windows(node.mask, width, None)
            assert condition is not None
            return vectors.select(f, condition, self.wide(node.args[0], width), self.wide(node.args[1], width))
        return self._gather(node, width, mask)

    def _positions(self, index: Index, width: int) -> Value:
        """An index in each lane."""
        f = self.f
        at, stride = self.locate(index)
        positions = f.spread(at, width)
        if stride != 0 and width > 1:
            positions = f.binary("add", positions, self._steps(stride, width))
        return positions

    def _steps(self, stride: Any, width: int) -> Value:
        """0, stride, 2 stride, … in the lanes."""
        step = stride.value if isinstance(stride, vectors.Step) else self.number(stride)
        return self.f.binary("mul", self.f.lane_numbers(width), self.f.spread(step, width))

    def _windows(self, windows: Mask, width: int, mask: Value | None) -> Value | None:
        """Where all windows are open, in each lane."""
        f = self.f
        for w in windows:
            positions = self._positions(w.index, width)
            size = f.spread(self.number(w.high - w.low), width)
            inside = f.icmp("ult", f.binary("sub", positions, f.spread(self.number(w.low), width)), size)
            mask = inside if mask is None else f.binary("and", mask, inside)
        return mask

    def _gather(self, node: Node, width: int, mask: Value | None) -> Element:
        """Elements at computed positions; negative indices count from the end, those out of bounds are reported."""
        f = self.f
        strides, rest = node.position
        mask = self._windows(node.mask, width, mask)
        scalar_index = all(self.vector is None or not a.axes >> self.vector & 1 for a in node.args)
        w = 1 if scalar_index else width
        at, stride = self.locate(rest)
        total = f.spread(at, w)
        if not scalar_index and stride != 0:
            total = f.add(total, self._steps(stride, w))
        for arg, size, step in zip(node.args, node.number, strides, strict=False):
            index = vectors.number(f, arg.type.dtype, arg.number, w) if arg.kind == "number" else self.wide(arg, w)
            if arg.type.dtype.kind == "b":
                index = f.cast("zext", index, "i64")
            index = f.cast("zext" if arg.type.dtype.kind == "u" else "sext", index, "i64")
            n = f.spread(self.number(size), w)
            index = f.select(f.icmp("slt", index, f.same(index, 0)), f.binary("add", index, n), index)
            bad = f.icmp("uge", index, n)
            if mask is not None:
                bad = f.binary("and", bad, mask if mask.width == w else f.any_lane(mask))
            self.out_of_bounds(bad, index, size, node)
            index = f.select(bad, f.same(index, 0), index)
            total = f.add(total, f.binary("mul", index, f.spread(self.number(step), w)))
        base, dtype = self.memory(node.var), node.type.dtype
        if not scalar_index:
            return vectors.load_at(f, dtype, base, total, mask)
        return vectors.load(f, dtype, base, total, stride, width, mask)

    # Results

    def _finish(self, out: Output, width: int, mask: Value | None) -> None:
        """What is done with a root at every point of the nest."""
        if out.root.kind == "store":
            at, stride = self.locate(out.position)
            dtype = out.root.var.type.dtype
            if width > 1 and stride == 0:
                width, mask = 1, None
            vectors.store(self.f, dtype, self.wide(out.node, width), out.base, at, stride, width, mask)
        elif out.registers == len(self.order):
            self._combine_into_memory(out, self.wide(out.node, width), width, mask)
        else:
            value = self.wide(out.node, width)
            if mask is not None:
                value = vectors.select(self.f, mask, value, self._zero(out, width))
            buffer = self._accumulators[id(out), width]
            self._assign(buffer, self._combine(out, self._read(buffer), value))

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
        key = (id(out), width)
        if key not in self._accumulators:
            self._accumulators[key] = self._new_accumulator(out, width)
        self._assign(self._accumulators[key], self._zero(out, width))

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
                part = self._fold(out, self._read(self._accumulators[id(out), w]), w)
                total = part if total is None else self._combine(out, total, part)
            width, mask = 1, None
        else:
            total = self._read(self._accumulators[id(out), width])
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
