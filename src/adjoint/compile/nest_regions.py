"""Nests of loops as regions: the axis that is cut, and partial results of what is reduced over it."""

from __future__ import annotations

import math
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.elements import write
from adjoint.compile.graph import cost_of
from adjoint.compile.ir import Value
from adjoint.compile.nest import Nest
from adjoint.compile.order import NEAR
from adjoint.compile.regions import MOST, Cut, cut_items, may_cut, pays, region
from adjoint.compile.results import COMBINE, neutral
from adjoint.compile.symbolic_sizes import Sym, expected, is_found_later
from adjoint.compile.views import Index
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.types import ArrayType

ACCESS, CYCLE = 0.3, 0.06  # nanoseconds: an element read or written, and one cycle of a function of vectors
LEAST = 16  # items of an axis that is cut, if there is another one
WIDTH = 8  # lanes in which partial results are combined
ROWS = 64  # items of the first axis that all boxes do before the next ones: whole vectors
OVERHEAD = 4  # elements of partial results weigh so much more than those of the nest


def emit_nests(emitter: Any, nests: list[Nest]) -> None:
    """Write the boxes of a nest one after the other, or some rows at a time where they write to the same lines."""
    if len(nests) > 1 and _interlace(nests):
        _emit_row_by_row(emitter, nests)
        return
    for nest in nests:
        emit_nest(emitter, nest)


def _interlace(nests: list[Nest]) -> bool:
    """Whether boxes side by side write rows of results that are far larger than the innermost cache."""
    first = nests[0].graph.box
    sizes = [high - low for nest in nests for low, high in nest.graph.box]
    if len(first) < 2 or not all(type(n) is int for n in sizes) or first[0][1] - first[0][0] < 2 * ROWS:
        return False
    if any(o.root.kind != "store" for nest in nests for o in nest.outputs):
        return False
    if any(nest.graph.box[0] != first[0] or 0 not in nest.order for nest in nests):
        return False
    return sum(elements_of(nest) for nest in nests) * 8 > NEAR


def _emit_row_by_row(emitter: Any, nests: list[Nest]) -> None:
    """All boxes for some items of the first axis, then for the next ones."""
    low, high = nests[0].graph.box[0]
    items, f = high - low, emitter.f

    def write(first: Value, last: Value) -> None:
        with f.loop(first, last, f.index(ROWS)) as start:
            stop = f.intrinsic("smin", f.add(start, f.index(ROWS)), last)
            for nest in nests:
                nest.spans[0] = (start, stop)
                nest.emit()

    nanoseconds = sum(map(nanoseconds_of, nests))
    if not may_cut(emitter) or not pays(2, nanoseconds, int(sum(map(elements_of, nests)))):
        write(f.index(low), f.index(high))
        return
    cut = cut_items(emitter, items, nanoseconds, ROWS)
    with region(emitter, items, cut, f"{len(nests)} nests of {items} rows") as one:
        write(f.add(one.first, f.index(low)), f.add(one.last, f.index(low)))


def emit_nest(emitter: Any, nest: Nest) -> None:
    """Write a nest; as a region if it is worth it."""
    axis = _axis(emitter, nest) if may_cut(emitter) and nest.order else None
    if axis is None:
        nest.emit()
        return
    low, high = nest.graph.box[axis]
    items, nanoseconds = high - low, nanoseconds_of(nest)
    step = nest.width if axis == nest.vector else 1
    partial = [o for o in nest.outputs if axis in o.root.axes and o.root.kind != "store"]
    most = MOST
    if partial:
        size = sum(int(math.prod(o.root.var.type.shape)) for o in partial)
        most = max(2, min(MOST, int(elements_of(nest) / (OVERHEAD * size))))
    cut = cut_items(emitter, items, nanoseconds, step, most)
    buffers = [emitter.allocate(cut.most * emitter.nbytes(o.root.var.type)) for o in partial]
    shown = "×".join(str(int(h - b)) if not is_found_later(h - b) else "?" for b, h in nest.graph.box if h - b != 1)
    with region(emitter, items, cut, f"nest of {shown}" if shown else "nest") as one:
        f, targets = emitter.f, [o.base for o in partial]
        for out, buffer in zip(partial, buffers, strict=True):
            kind = out.root.var.type
            out.base = f.element(buffer, f.mul(one.number, emitter.number(emitter.nbytes(kind))), "i8")
            if out.outside or not out.fresh or out.registers == len(nest.order):  # other boxes have the other elements
                emitter.fill(out.base, kind, neutral(out.root.kind, kind.dtype))
        start = emitter.number(low)
        nest.spans[axis] = (f.add(one.first, start), f.add(one.last, start))
        kept = [(o, o.fresh) for o in partial]
        for out in partial:
            out.fresh = True
        nest.emit()
        for out, fresh in kept:
            out.fresh = fresh
    for out, buffer, target in zip(partial, buffers, targets, strict=True):
        combine_chunks(emitter, out.root.kind, out.root.var.type, buffer, target, cut, fresh=out.fresh)
        emitter.free(buffer)


def elements_of(nest: Nest) -> float:
    """About how many elements a nest goes through."""
    return float(math.prod(expected(high - low) for low, high in nest.graph.box))


def nanoseconds_of(nest: Nest) -> float:
    """About how long the nest takes on one thread."""
    total = ACCESS * len(nest.outputs)
    for node in nest.graph.nodes:
        if node.kind == "point":
            total += CYCLE * cost_of(node.op)
        elif node.kind in ("load", "gather"):
            total += ACCESS * (1 if node.kind == "load" else 4)
    return total * elements_of(nest)


def _axis(emitter: Any, nest: Nest) -> int | None:
    """The outermost axis that can be cut: each chunk writes its own elements, or few partial results."""
    nanoseconds, box = nanoseconds_of(nest), nest.graph.box
    sizes = [high - low for low, high in box]
    if any(is_found_later(n) for n in sizes) or not pays(2, nanoseconds, math.prod(sizes)):
        return None
    best = None
    outermost = [nest.across] if nest.across is not None else []
    for axis in [*outermost, *nest.order]:
        n = sizes[axis]
        if int(n) < 2 * (nest.width if axis == nest.vector else 1) or not _separates(nest, axis):
            continue
        if type(n) is Sym or n >= LEAST:
            return axis
        best = axis if best is None else best
    return best


def _separates(nest: Nest, axis: int) -> bool:
    """Whether no two chunks write the same element, except for few partial results."""
    partial = 0
    for out in nest.outputs:
        if out.root.kind != "store" and axis in out.root.axes:
            if out.root.var.type.dtype.kind not in "fcbiu":
                return False
            partial += int(math.prod(out.root.var.type.shape))
        elif not _moves(out.position, axis):
            return False
    return partial * OVERHEAD * 4 <= elements_of(nest)


def _moves(index: Index, axis: int) -> bool:
    return any(a == axis and not (type(c) is int and c == 0) for a, c in index.terms)


def combine_chunks(
    emitter: Any, how: str, kind: Any, buffer: Value, target: Value, cut: Cut, *, fresh: bool = True
) -> None:
    """The partial results one after the other, in the order of the chunks, into a fresh target or one that has some."""
    f, dtype, size = emitter.f, kind.dtype, math.prod(kind.shape)
    chunks = f.index(cut.chunks) if type(cut.chunks) is int else cut.chunks
    scalar = ArrayType((), dtype)
    if fresh:
        emitter.copy(target, buffer, kind)

    def add(source: Value, at: Value, width: int) -> None:
        both = [vectors.load(f, dtype, pointer, at, 1, width) for pointer in (target, source)]
        total = write(f, BY_NAME[COMBINE[how]], (scalar, scalar), scalar, both)
        vectors.store(f, dtype, total, target, at, 1, width)

    with f.loop(f.index(1 if fresh else 0), chunks) as chunk:
        source = f.element(buffer, f.mul(chunk, emitter.number(emitter.nbytes(kind))), "i8")
        whole = size // WIDTH * WIDTH if type(size) is int else 0
        if whole:
            with f.loop(f.index(0), f.index(whole), f.index(WIDTH)) as at:
                add(source, at, WIDTH)
        if type(size) is not int or whole < size:
            with f.loop(f.index(whole), emitter.number(size)) as at:
                add(source, at, 1)
