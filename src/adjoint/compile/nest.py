"""A fused kernel as loops: one nest over a box of counters, many results, reductions inside.

Every node is computed at the outermost loop that it depends on. One axis is walked a vector at a time. A reduction
accumulates in registers over the innermost loops that it sums over, and in memory beyond them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.accumulators import Accumulators
from adjoint.compile.elements import register_type, write
from adjoint.compile.graph import Graph, Mask, Node
from adjoint.compile.ir import Function, Value, vector_of
from adjoint.compile.order import axis_across, goes_by_squares
from adjoint.compile.results import Output
from adjoint.compile.vectors import Element
from adjoint.compile.views import Index
from adjoint.program.program import Var

LONG = 256  # vectors: longer sums go block by block
ACROSS, SQUARES = 64, 16  # elements of an array that lies across the vectors, before the next vectors


class Nest(Accumulators):
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
        self._accumulators, self._copy = {}, 0
        self._squares: dict[Node, Value] = {}  # buffers on the stack
        self._read_square: dict[Node, Value] = {}  # by loads across the vectors, what was transposed
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
        f, axis = self.f, self.across
        step = f.index(SQUARES if self._loads_across(len(self.order) - 1, self.width) else ACROSS)
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
            first, last = part or (self.number(low), self.number(high))
            if axis == self.across and mask is None and (across := self._loads_across(level, width)):
                first = self._by_squares(level, first, last, width, across)
            with self.f.loop(first, last) as counter:
                self.counters[axis] = counter
                self._level(level + 1, width, mask)
            self._value = known
        for out in mine:
            self._store_accumulator(out, widths, inside, width, mask)

    def _loads_across(self, level: int, width: int) -> list[Node]:
        """Loads whose neighbors in memory stand along the axis across the vectors."""
        if width < 4 or width & (width - 1):
            return []
        loads = [n for n in self.levels[level + 1] if n.kind == "load" and not n.mask and goes_by_squares(n)]
        terms = [dict(n.position.terms) for n in loads]
        pairs = [(n, t.get(self.across), t.get(self.vector, 1)) for n, t in zip(loads, terms, strict=True)]
        return [n for n, near, far in pairs if type(near) is int and near == 1 and (type(far) is not int or far != 1)]

    def _by_squares(self, level: int, first: Value, last: Value, width: int, across: Sequence[Node]) -> Value:
        """As many elements of the axis across as a vector has lanes, at a time: what is read is transposed."""
        f, axis = self.f, self.across
        assert axis is not None
        known = dict(self._value)
        whole = f.add(first, f.binary("and", f.sub(last, first), f.index(-width)))
        with f.loop(first, whole, f.index(width)) as start:
            self.counters[axis] = start
            for node in across:
                at, distance = self.locate(node.position)
                step = distance.value if isinstance(distance, vectors.Step) else f.index(distance)
                starts = [f.add(at, f.mul(step, f.index(line))) if line else at for line in range(width)]
                lines = [vectors.load(f, node.type.dtype, self.memory(node.var), one, 1, width) for one in starts]
                buffer = self._squares.setdefault(node, f.allocate(lines[0].type, width))
                for row, values in enumerate(vectors.transpose(f, lines)):
                    f.store(values, f.element(buffer, f.index(row), values.type))
            with f.loop(f.index(0), f.index(width)) as row:
                self.counters[axis] = f.add(start, row)
                for node in across:
                    kind = vector_of(register_type(node.type.dtype), width)
                    self._read_square[node] = f.load(kind, f.element(self._squares[node], row, kind))
                self._level(level + 1, width, None)
                self._read_square.clear()
        self._value = known
        return whole

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
                self.walk(level, f.index(first), f.index(last), width, (last - first) // width)
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
            self.walk(level, start, whole, width)
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
            self.walk(level, start, whole, width)
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
        totals = [(out, self._accumulator(out, width), self._new_accumulator(out, width)) for out in sums]
        for out, _, total in totals:
            self._assign(total, self._zero(out, width))
        with f.loop(first, last, f.index(LONG * width)) as start:
            end = f.intrinsic("smin", f.add(start, f.index(LONG * width)), last)
            self.walk(level, start, end, width)
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
        if node in self._read_square:
            return self._read_square[node]
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
            buffer = self._accumulator(out, width)
            self._assign(buffer, self._combine(out, self._read(buffer), value))
