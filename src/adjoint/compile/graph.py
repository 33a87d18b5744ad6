"""What one element of a result is computed from: a graph of loads and scalar operations over loop counters.

Variables that are not kept in memory are expanded where they are read, under the index map of the reader, so whole
chains of pointwise operations, slices, transposes, pads and joins become one expression. Equal expressions are one
node. A part of an array that exists only for some indices (a pad, a join, the cotangent of a slice) is decided for the
box of counters at hand, or masked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjoint.compile.elements import is_native
from adjoint.compile.views import Index, Map, View, broadcast, identity, linear, strides_of, through, walks, whole
from adjoint.ops.arrays.index import Gather, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate, Convert, Pad, Reshape, Transpose
from adjoint.ops.arrays.search import Count
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType

Box: TypeAlias = tuple[tuple[Any, Any], ...]  # the range of each loop counter


class Window(NamedTuple):
    """low ≤ index < high."""

    index: Index
    low: Any
    high: Any


Mask: TypeAlias = tuple[Window, ...]
Part: TypeAlias = tuple[Atom, Map, Sequence[Window]]  # (operand, map over it, where it is defined)


class Node:
    """One value inside a loop nest: `kind` is load, point, number, choose, gather or count."""

    __slots__ = ("args", "axes", "kind", "mask", "number", "op", "position", "type", "types", "var")

    def __init__(self, kind: str, out: ArrayType, axes: int, args: tuple[Node, ...] = ()) -> None:
        self.kind, self.type, self.axes, self.args = kind, out, axes, args
        self.op: Any = None
        self.types: tuple[ArrayType, ...] = ()
        self.var: Any = None  # load, gather: whose memory
        self.position: Any = None  # load, count: the linear index; gather: strides and the rest of the map
        self.mask: Mask = ()
        self.number: Any = None


def axes_of(index: Index) -> int:
    """The loop axes that an index depends on, as bits."""
    bits = 0
    for axis, _ in index.terms:
        bits |= 1 << axis
    return bits


def scalar_type(kind: ArrayType) -> ArrayType:
    key = (kind.dtype, kind.weak)
    known = _scalar_types.get(key)
    if known is None:
        known = _scalar_types[key] = ArrayType((), kind.dtype, kind.weak)
    return known


_scalar_types: dict[Any, ArrayType] = {}


def cost_of(op: Any) -> int:
    """About how many cycles one element takes, beside an addition's one."""
    price = PRICES[op](op)
    return 1 if price < 2.0 else 8 if price < 10.0 else 20


PRICES: RuleTable[Callable[[Any], float]] = RuleTable("the cost of an element")
PRICES.update({Pointwise: lambda op: op.work.price, Op: lambda op: 1.0})


class LazyRule(NamedTuple):
    """How one element of a result is computed where it is read."""

    node: Callable[[Graph, Equation, Map, Mask], Node]
    is_lazy: Callable[[Equation], bool] = lambda eq: True  # whether it can be
    reads_memory: Callable[[Equation], bool] = lambda eq: False  # whether the first operand must be in memory
    strided: bool = False  # … at any stride
    elementwise: bool = False  # from the same elements of operands of the same shape


LAZY: RuleTable[LazyRule] = RuleTable("elements where they are read", of="evaluate")


def is_lazy(eq: Equation) -> bool:
    """Whether the result can be computed element by element where it is read."""
    return lazy_rule(eq.op).is_lazy(eq)


def lazy_rule(op: Op) -> LazyRule:
    return LAZY.get(op) or POINTWISE


def _is_native(eq: Equation) -> bool:
    if eq.op.several or eq.op.effect:
        return False
    known = [a.value if isinstance(a, Literal) else None for a in eq.inputs]
    return is_native(eq.op, [a.type for a in eq.inputs], eq.outputs[0].type, known)


class Source(NamedTuple):
    """What the graph may know of the program around it."""

    definitions: dict[Var, Equation]  # of variables that are expanded where they are read
    memory: set[Var]  # variables that are kept in memory, contiguous
    view: Callable[[Var], View | None] = whole  # a variable as elements in the memory of another


class Graph:
    """The nodes of one box of a nest, in the order of computation."""

    def __init__(self, source: Source, box: Box, here: set[Var]) -> None:
        self.source, self.box = source, box
        self.here = here  # variables that this nest itself stores
        self.nodes: list[Node] = []
        self.edges: set[tuple[int, Any]] = set()  # where an axis should be cut so that windows are decided
        self.visits: dict[Var, int] = {}  # how often each variable is expanded (under different maps)
        self.checks: list[Node] = []  # gathers, whose indices must be in bounds
        self._known: dict[Any, Node] = {}

    def node(self, atom: Atom, index: Map, mask: Mask = ()) -> Node:
        """The node of one element of a value, at the indices of a map."""
        if isinstance(atom, Literal):
            return self._number(atom.value)
        key = (atom, index, mask)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make(atom, index, mask)
        return known

    def _make(self, var: Var, index: Map, mask: Mask) -> Node:
        source = self.source
        if var in source.memory and var not in self.here:
            return self._load(var, linear(index, strides_of(var.type.shape)), mask)
        eq = source.definitions[var]
        self.visits[var] = self.visits.get(var, 0) + 1
        return lazy_rule(eq.op).node(self, eq, index, mask)

    def pointwise(self, eq: Equation, index: Map, mask: Mask) -> Node:
        args = tuple(self.node(a, broadcast(index, a.type.shape), mask) for a in eq.inputs)
        axes = 0
        for a in args:
            axes |= a.axes
        (var,) = eq.outputs
        node = Node("point", scalar_type(var.type), axes, args)
        node.op, node.types = eq.op, tuple(scalar_type(a.type) for a in eq.inputs)
        node.var = var
        return self._add(node)

    def view(self, eq: Equation, index: Map, mask: Mask) -> Node:
        (x,), (var,) = eq.inputs, eq.outputs
        inner = through(eq.op, index, x.type.shape, var.type.shape)
        if inner is None:  # a reshape that merges axes: its operand is in memory
            return self._load(x, linear(index, strides_of(var.type.shape)), mask)
        return self.node(x, inner, mask)

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _number(self, value: Any) -> Node:
        key = (type(value), np.asarray(value).tobytes())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Node("number", scalar_type(Literal(value).type), 0)
            known.number = value
        return known

    def _load(self, var: Any, position: Index, mask: Mask) -> Node:
        key = (var, position, mask, "load")
        known = self._known.get(key)
        if known is None:
            axes = axes_of(position)
            for w in mask:
                axes |= axes_of(w.index)
            known = self._known[key] = self._add(Node("load", ArrayType((), var.type.dtype), axes))
            known.var, known.position, known.mask = var, position, mask
        return known

    def gather(self, eq: Equation, index: Map, mask: Mask) -> Node:
        """x[i₁ … iₙ, …]: the indices are nodes; x is in memory, at any stride."""
        x, *indices = eq.inputs
        ndim = len(np.broadcast_shapes(*[i.type.shape for i in indices])) if indices else 0
        front = index[:ndim]
        args = tuple(self.node(i, broadcast(front, i.type.shape), mask) for i in indices)
        assert isinstance(x, Var)
        seen = self.source.view(x)
        assert seen is not None  # the plan keeps what is none
        strides = seen.strides
        rest = linear(index[ndim:], strides[len(indices) :]).shift(seen.offset)
        axes = axes_of(rest)
        for a in args:
            axes |= a.axes
        for w in mask:
            axes |= axes_of(w.index)
        node = Node("gather", scalar_type(eq.outputs[0].type), axes, args)
        node.var, node.position, node.mask = seen.base, (strides, rest), mask
        node.number = x.type.shape[: len(indices)]
        node.op = eq
        self.checks.append(node)
        return self._add(node)

    def count(self, eq: Equation, index: Map, mask: Mask) -> Node:
        """start + i: the counters of the loops themselves."""
        start = self.node(eq.inputs[0], (), mask)
        out = eq.outputs[0].type
        node = Node("count", scalar_type(out), axes_of(index[0]))
        node.position = index[0]
        return self._point(add, (start, self._add(node)), out)

    # Results that are put together from parts

    def assemble(self, eq: Equation, parts: Sequence[Part], mask: Mask, *, adds: bool = False) -> Node:
        """The part that an element comes from; with `adds`, the sum of all of them. Zero where there is none."""
        out = eq.outputs[0].type
        total: Node | None = None
        for part, inner, windows in parts:
            state, undecided = self._decide(windows, mask)
            if not state:
                continue
            value = self._convert(self.node(part, inner, mask + undecided), out)
            if undecided:
                value = self._choose(undecided, value, self._number(out.dtype.type(0)), out)
            if total is None:
                total = value
            elif adds:
                total = self._point(add, (total, value), out)
            elif undecided:
                total = self._choose(undecided, value, total, out)
            else:
                total = value
        return self._number(out.dtype.type(0)) if total is None else total

    def _decide(self, windows: Sequence[Window], mask: Mask) -> tuple[bool, Mask]:
        """(whether the part can be there at all in this box, the windows that differ inside it)."""
        open_windows: list[Window] = []
        for w in windows:
            low, high = self._range(w.index)
            if (low >= w.low and high < w.high) or w in mask:
                continue
            if high < w.low or low >= w.high:
                return False, ()
            open_windows.append(w)
            if len(w.index.terms) == 1 and w.index.terms[0][1] in (1, -1):
                axis, c = w.index.terms[0]
                for bound in (w.low, w.high):
                    at = bound - w.index.offset if c == 1 else w.index.offset - bound + 1
                    if self.box[axis][0] < at < self.box[axis][1]:
                        self.edges.add((axis, at))
        return True, tuple(open_windows)

    def _range(self, index: Index) -> tuple[Any, Any]:
        low = high = index.offset
        for axis, c in index.terms:
            first, last = self.box[axis][0], self.box[axis][1] - 1
            low, high = (low + c * first, high + c * last) if c > 0 else (low + c * last, high + c * first)
        return low, high

    def _choose(self, windows: Mask, yes: Node, no: Node, out: ArrayType) -> Node:
        axes = yes.axes | no.axes
        for w in windows:
            axes |= axes_of(w.index)
        node = Node("choose", scalar_type(out), axes, (yes, self._convert(no, out)))
        node.mask = windows
        return self._add(node)

    def _point(self, op: Any, args: tuple[Node, ...], out: ArrayType) -> Node:
        axes = 0
        for a in args:
            axes |= a.axes
        node = Node("point", scalar_type(out), axes, args)
        node.op, node.types = op, tuple(a.type for a in args)
        return self._add(node)

    def _convert(self, node: Node, out: ArrayType) -> Node:
        return node if node.type.dtype == out.dtype and not node.type.weak else self.convert_node(node, out)

    def convert_node(self, node: Node, out: ArrayType) -> Node:
        """The node in the dtype of a result."""
        if node.type.dtype == out.dtype and not node.type.weak:
            return node
        return self._point(Convert(out.dtype), (node,), out)


POINTWISE = LazyRule(Graph.pointwise, _is_native, elementwise=True)


# Rules of operations that move elements


def _merges_axes(eq: Equation) -> bool:
    (x,), out = eq.inputs, eq.outputs[0].type
    return through(eq.op, identity(out.ndim), x.type.shape, out.shape) is None


LAZY.update(dict.fromkeys((Slice, Transpose, Broadcast), LazyRule(Graph.view)))
LAZY.update({Reshape: LazyRule(Graph.view, reads_memory=_merges_axes)})
LAZY.update({Count: LazyRule(Graph.count)})
LAZY.update({Gather: LazyRule(Graph.gather, reads_memory=lambda eq: True, strided=True)})


def _assemble_concatenation(graph: Graph, eq: Equation, index: Map, mask: Mask) -> Node:
    axis = eq.op.axis  # type: ignore[attr-defined]
    start: Any = 0
    parts: list[Part] = []
    for x in eq.inputs:
        n = x.type.shape[axis]
        here = index[axis].shift(-start)
        parts.append((x, (*index[:axis], here, *index[axis + 1 :]), [Window(here, 0, n)]))
        start = start + n
    return graph.assemble(eq, parts, mask)


def _assemble_pad(graph: Graph, eq: Equation, index: Map, mask: Mask) -> Node:
    (x,) = eq.inputs
    widths: Sequence[Any] = eq.op.widths  # type: ignore[attr-defined]
    inner = tuple(i.shift(-before) for i, (before, _) in zip(index, widths, strict=True))
    return graph.assemble(eq, [(x, inner, [Window(i, 0, n) for i, n in zip(inner, x.type.shape, strict=True)])], mask)


def _assemble_scatter(graph: Graph, eq: Equation, index: Map, mask: Mask) -> Node:
    op: Any = eq.op
    parts: list[Part] = []
    for key, part in zip(op.keys, eq.inputs, strict=False):
        inner = [Index(0)] * part.type.ndim
        windows: list[Window] = []
        for i, w in zip(index, walks(key[1], op.shape), strict=True):
            if w.axis is None:
                windows.append(Window(i, w.start, w.start + 1))
            else:
                at = i.shift(-w.start)
                at = at if w.step == 1 else at.scale(-1)
                inner[w.axis] = at
                windows.append(Window(at, 0, w.count))
        parts.append((part, tuple(inner), windows))
    return graph.assemble(eq, parts, mask, adds=True)


def _has_unit_steps(eq: Equation) -> bool:
    keys: Sequence[Any] = eq.op.keys  # type: ignore[attr-defined]
    return all(
        key[0] == "slice" and all(not isinstance(i, tuple) or i[2] in (None, 1, -1) for i in key[1]) for key in keys
    )


LAZY.update({Concatenate: LazyRule(_assemble_concatenation), Pad: LazyRule(_assemble_pad)})
LAZY.update({ScatterSum: LazyRule(_assemble_scatter, _has_unit_steps)})
