"""What one element of a result is computed from: a graph of loads and scalar operations over loop counters.

Variables that are not kept in memory are expanded where they are read, under the index map of the reader, so whole
chains of pointwise operations, slices, transposes, pads and joins become one expression. Equal expressions are one
node. A part of an array that exists only for some indices (a pad, a join, the cotangent of a slice) is decided for the
box of counters at hand, or masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjoint.compile.elements import is_native
from adjoint.compile.views import Index, Map, broadcast, is_view, linear, strides_of, through, walks
from adjoint.ops.arrays.index import Gather, ScatterSum
from adjoint.ops.arrays.rearrange import Concatenate, Convert, Pad
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.program.program import Atom, Equation, Literal, Var
from adjoint.program.types import ArrayType

Box: TypeAlias = tuple[tuple[Any, Any], ...]  # the range of each loop counter


class Window(NamedTuple):
    """low ≤ index < high."""

    index: Index
    low: Any
    high: Any


Mask: TypeAlias = tuple[Window, ...]


class Node:
    """One value inside a loop nest: `kind` is load, point, number, choose or gather."""

    __slots__ = ("args", "axes", "kind", "mask", "number", "op", "place", "type", "types", "var")

    def __init__(self, kind: str, out: ArrayType, axes: int, args: tuple[Node, ...] = ()) -> None:
        self.kind, self.type, self.axes, self.args = kind, out, axes, args
        self.op: Any = None
        self.types: tuple[ArrayType, ...] = ()
        self.var: Any = None  # load, gather: whose memory
        self.place: Any = None  # load: the linear index; gather: strides and the rest of the map
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
    price = op.work.price if isinstance(op, Pointwise) else 1.0
    return 1 if price < 2.0 else 8 if price < 10.0 else 20


def is_pieces(op: Any) -> bool:
    """Whether a result is put together from its operands by unit steps."""
    if isinstance(op, Concatenate | Pad):
        return True
    return isinstance(op, ScatterSum) and all(
        key[0] == "slice" and all(not isinstance(i, tuple) or i[2] in (None, 1, -1) for i in key[1]) for key in op.keys
    )


def is_lazy(eq: Equation) -> bool:
    """Whether the result can be computed element by element where it is read."""
    op = eq.op
    if is_view(op) or isinstance(op, Gather) or is_pieces(op):
        return True
    if op.several or op.effect:
        return False
    known = [a.value if isinstance(a, Literal) else None for a in eq.inputs]
    return is_native(op, [a.type for a in eq.inputs], eq.outputs[0].type, known)


class Source(NamedTuple):
    """What the graph may know of the block around it."""

    definitions: dict[Var, Equation]  # of variables that are expanded where they are read
    memory: set[Var]  # variables that are kept in memory, contiguous


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
        op = eq.op
        self.visits[var] = self.visits.get(var, 0) + 1
        if is_view(op):
            (x,) = eq.inputs
            inner = through(op, index, x.type.shape, var.type.shape)
            if inner is None:  # a reshape that merges axes: its operand is in memory
                return self._load(x, linear(index, strides_of(var.type.shape)), mask)
            return self.node(x, inner, mask)
        if isinstance(op, Gather):
            return self._gather(eq, index, mask)
        if is_pieces(op):
            return self._pieces(eq, index, mask)
        args = tuple(self.node(a, broadcast(index, a.type.shape), mask) for a in eq.inputs)
        axes = 0
        for a in args:
            axes |= a.axes
        made = Node("point", scalar_type(var.type), axes, args)
        made.op, made.types = op, tuple(scalar_type(a.type) for a in eq.inputs)
        made.var = var
        return self._added(made)

    def _added(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _number(self, value: Any) -> Node:
        key = (type(value), np.asarray(value).tobytes())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Node("number", scalar_type(Literal(value).type), 0)
            known.number = value
        return known

    def _load(self, var: Any, place: Index, mask: Mask) -> Node:
        key = (var, place, mask, "load")
        known = self._known.get(key)
        if known is None:
            axes = axes_of(place)
            for w in mask:
                axes |= axes_of(w.index)
            known = self._known[key] = self._added(Node("load", ArrayType((), var.type.dtype), axes))
            known.var, known.place, known.mask = var, place, mask
        return known

    def _gather(self, eq: Equation, index: Map, mask: Mask) -> Node:
        """x[i₁ … iₙ, …]: the indices are nodes; x is in memory."""
        x, *indices = eq.inputs
        ndim = len(np.broadcast_shapes(*[i.type.shape for i in indices])) if indices else 0
        front = index[:ndim]
        args = tuple(self.node(i, broadcast(front, i.type.shape), mask) for i in indices)
        strides = strides_of(x.type.shape)
        rest = linear(index[ndim:], strides[len(indices) :])
        axes = axes_of(rest)
        for a in args:
            axes |= a.axes
        for w in mask:
            axes |= axes_of(w.index)
        made = Node("gather", scalar_type(eq.outputs[0].type), axes, args)
        made.var, made.place, made.mask = x, (strides, rest), mask
        made.number = x.type.shape[: len(indices)]
        made.op = eq
        self.checks.append(made)
        return self._added(made)

    # Results that are put together from parts

    def _pieces(self, eq: Equation, index: Map, mask: Mask) -> Node:
        op, out = eq.op, eq.outputs[0].type
        found: Node | None = None
        for part, inner, windows in _parts(op, eq.inputs, index):
            state, undecided = self._decided(windows, mask)
            if not state:
                continue
            value = self._converted(self.node(part, inner, mask + undecided), out)
            if undecided:
                value = self._chosen(undecided, value, self._number(out.dtype.type(0)), out)
            if found is None:
                found = value
            elif isinstance(op, ScatterSum):
                found = self._point(add, (found, value), out)
            elif undecided:
                found = self._chosen(undecided, value, found, out)
            else:
                found = value
        return self._number(out.dtype.type(0)) if found is None else found

    def _decided(self, windows: Sequence[Window], mask: Mask) -> tuple[bool, Mask]:
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

    def _chosen(self, windows: Mask, yes: Node, no: Node, out: ArrayType) -> Node:
        axes = yes.axes | no.axes
        for w in windows:
            axes |= axes_of(w.index)
        made = Node("choose", scalar_type(out), axes, (yes, self._converted(no, out)))
        made.mask = windows
        return self._added(made)

    def _point(self, op: Any, args: tuple[Node, ...], out: ArrayType) -> Node:
        axes = 0
        for a in args:
            axes |= a.axes
        made = Node("point", scalar_type(out), axes, args)
        made.op, made.types = op, tuple(a.type for a in args)
        return self._added(made)

    def _converted(self, node: Node, out: ArrayType) -> Node:
        return node if node.type.dtype == out.dtype and not node.type.weak else self.converted(node, out)

    def converted(self, node: Node, out: ArrayType) -> Node:
        """The node in the dtype of a result."""
        if node.type.dtype == out.dtype and not node.type.weak:
            return node
        return self._point(Convert(out.dtype), (node,), out)


def _parts(op: Any, inputs: Sequence[Atom], index: Map) -> list[tuple[Atom, Map, list[Window]]]:
    """The operands that an element may come from: (operand, map over it, where it is defined)."""
    found: list[tuple[Atom, Map, list[Window]]] = []
    if isinstance(op, Concatenate):
        start: Any = 0
        for x in inputs:
            n = x.type.shape[op.axis]
            here = index[op.axis].moved(-start)
            found.append((x, (*index[: op.axis], here, *index[op.axis + 1 :]), [Window(here, 0, n)]))
            start = start + n
        return found
    if isinstance(op, Pad):
        (x,) = inputs
        inner = tuple(i.moved(-before) for i, (before, _) in zip(index, op.widths, strict=True))
        return [(x, inner, [Window(i, 0, n) for i, n in zip(inner, x.type.shape, strict=True)])]
    for key, part in zip(op.keys, inputs, strict=False):
        inner_map = [Index(0)] * part.type.ndim
        windows: list[Window] = []
        for i, w in zip(index, walks(key[1], op.shape), strict=True):
            if w.axis is None:
                windows.append(Window(i, w.start, w.start + 1))
            else:
                at = i.moved(-w.start)
                at = at if w.step == 1 else at.scaled(-1)
                inner_map[w.axis] = at
                windows.append(Window(at, 0, w.count))
        found.append((part, tuple(inner_map), windows))
    return found
