"""The order of the loops of a nest: which axis goes a vector at a time, which are one loop."""

from __future__ import annotations

import math
from typing import Any

from adjoint.compile.graph import Graph, Node, cost_of
from adjoint.compile.machine import vector_bits
from adjoint.compile.results import Output
from adjoint.compile.symbolic_sizes import is_found_later
from adjoint.compile.views import Index

NEAR = 2**15  # bytes: the innermost cache
LINE = 64  # bytes that are read from memory together
SQUARES = 2**11  # bytes: less is read as it lies
ALIKE = 1024  # bytes: lines at multiples of this share few places in the cache
FEW = 2  # additions that may be done again for some vectors


def _coefficient(index: Index, axis: int) -> Any:
    for a, c in index.terms:
        if a == axis:
            return c
    return 0


def _positions(graph: Graph, outputs: list[Output]) -> list[Index]:
    return [n.position for n in graph.nodes if n.kind == "load"] + [o.position for o in outputs]


def vector_axis(graph: Graph, outputs: list[Output]) -> int | None:
    """The axis along which most reads and writes go from one element to its neighbor."""
    axes = [
        a for a, (low, high) in enumerate(graph.box) if not (type(low) is int and type(high) is int and high - low == 1)
    ]
    if not axes:
        return None
    loads = [n.position for n in graph.nodes if n.kind == "load"]
    gathers = [n for n in graph.nodes if n.kind == "gather"]

    def score(axis: int) -> tuple[float, int]:
        total = 0.0
        for position in loads:
            c = _coefficient(position, axis)
            total += 1 if c == 1 else 0 if c == 0 else -2
        for out in outputs:
            c = _coefficient(out.position, axis)
            if out.root.kind == "store":
                total += 2 if c == 1 else -4
            else:
                total += 0.5 if c == 1 else 0 if c == 0 else -2
        for node in gathers:
            c = _coefficient(node.position[1], axis)
            total += 1 if c == 1 else 0
        low, high = graph.box[axis]
        if type(low) is int and type(high) is int and high - low < 4:
            total -= 1.5
        return total, axis

    return max(axes, key=score)


def loop_order(graph: Graph, outputs: list[Output], vector: int | None) -> list[int]:
    """Outer to inner. Reductions over the other axes go inside the vector axis when nothing else needs the nest."""
    axes = [a for a, (low, high) in enumerate(graph.box) if a != vector]
    if vector is None:
        return axes
    across = axis_across(graph, outputs, vector)
    if across is not None:
        return [*[a for a in axes if a != across], vector, across]
    stores = any(o.root.kind == "store" for o in outputs)
    sets = {o.root.axes for o in outputs if o.root.kind != "store"}
    if len(sets) == 1 and (not stores or _near(graph, outputs)):
        (reduced,) = sets
        if vector not in reduced:
            return [*[a for a in axes if a not in reduced], vector, *[a for a in axes if a in reduced]]
        return [*[a for a in axes if a not in reduced], *[a for a in axes if a in reduced], vector]
    return [*axes, vector]


def axis_across(graph: Graph, outputs: list[Output], vector: int | None) -> int | None:
    """The axis along which an array stands in memory that lies across the vectors, as one that is transposed does.

    It goes inside the vectors, some elements at a time, so that each line of memory is read once. Numbers are
    transposed in registers, square by square; others, where the rows of a large array are so far apart that their lines
    take the same places in the cache, as those of 512 numbers do.
    """
    sizes = [high - low for low, high in graph.box]
    if vector is None or any(o.root.kind != "store" for o in outputs) or any(map(is_found_later, sizes)):
        return None
    is_known = all(type(n) is int for n in sizes)
    for node in graph.nodes:
        by_squares = goes_by_squares(node)
        if node.kind != "load" or node.mask or not (is_known or by_squares):
            continue
        if is_known and math.prod(sizes) * node.type.dtype.itemsize <= (SQUARES if by_squares else NEAR):
            continue
        line, distance = LINE // node.type.dtype.itemsize, _coefficient(node.position, vector)
        along = [a for a, c in node.position.terms if type(c) is int and c == 1 and a != vector]
        along = [a for a in along if type(sizes[a]) is not int or sizes[a] > line]
        if not along or not (type(sizes[vector]) is not int or sizes[vector] >= line):
            continue
        if by_squares:
            is_far = type(distance) is not int or distance not in (0, 1)
        else:
            is_far = distance and distance * node.type.dtype.itemsize % ALIKE == 0
        if is_far:
            return None if _is_dear_to_repeat(graph, vector) else along[0]
    return None


def goes_by_squares(node: Node) -> bool:
    """Whether the numbers that a node reads can be transposed in registers."""
    return node.type.dtype.kind in "fiu" and node.type.dtype.itemsize in (4, 8)


def _is_dear_to_repeat(graph: Graph, vector: int) -> bool:
    """Whether much is computed that all vectors of a row share."""
    shared = [n for n in graph.nodes if n.kind == "point" and n.axes and not n.axes >> vector & 1]
    return sum(cost_of(n.op) for n in shared) > FEW


def _near(graph: Graph, outputs: list[Output]) -> bool:
    """Whether all that is written stays close to the processor, so that it may be written in any order."""
    sizes = [high - low for low, high in graph.box]
    if not all(type(n) is int for n in sizes):
        return False
    return math.prod(sizes) * sum(_size(o.root.var.type) for o in outputs if o.root.kind == "store") <= NEAR


def _size(node_type: Any) -> int:
    dtype = node_type.dtype
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def vector_width(graph: Graph, outputs: list[Output], vector: int | None) -> int:
    """How many lanes: the widest number fills a register, or two of the narrower kind.

    Each constant of a function costs those a load, which two vectors share.
    """
    if vector is None:
        return 1
    sizes = [_size(n.type) for n in graph.nodes if n.axes >> vector & 1] + [_size(o.root.var.type) for o in outputs]
    bits = vector_bits()
    width = (bits if bits == 512 else 2 * bits) // 8 // max(sizes, default=8)
    low, high = graph.box[vector]
    if type(low) is int and type(high) is int:
        width = min(width, high - low)
    return max(1, min(width, 32))


def collapse_axes(graph: Graph, outputs: list[Output]) -> tuple[Graph, list[Output]]:
    """Neighboring axes made one where every read and write walks through both as through one."""
    if any(n.kind in ("gather", "choose", "count") or n.mask for n in graph.nodes):
        return graph, outputs
    for axis in range(len(graph.box) - 2, -1, -1):
        low, high = graph.box[axis + 1]
        if low != 0:
            continue
        if all(_joins(p, axis, high) for p in _positions(graph, outputs)) and all(
            (axis in o.root.axes) == (axis + 1 in o.root.axes) for o in outputs
        ):
            _merge(graph, outputs, axis, high)
    return graph, outputs


def _joins(index: Index, axis: int, n: Any) -> bool:
    return _coefficient(index, axis) == _coefficient(index, axis + 1) * n


def _merge(graph: Graph, outputs: list[Output], axis: int, n: Any) -> None:
    """Axis `axis` runs over both; axis + 1 becomes a single iteration."""

    def shift(index: Index) -> Index:
        c = _coefficient(index, axis + 1)
        terms = [(a, k) for a, k in index.terms if a not in (axis, axis + 1)]
        return Index(index.offset, tuple(sorted([*terms, (axis, c)] if c else terms)))

    nodes: list[Node] = graph.nodes
    both = 3 << axis
    for node in nodes:
        if node.kind == "load":
            node.position = shift(node.position)
        if node.axes & both:
            node.axes = node.axes & ~both | 1 << axis
    for out in outputs:
        out.position = shift(out.position)
    low, high = graph.box[axis]
    box = list(graph.box)
    box[axis], box[axis + 1] = (low * n, high * n), (0, 1)
    graph.box = tuple(box)
