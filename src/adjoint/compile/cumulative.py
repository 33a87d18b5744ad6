"""Running sums, products, extrema, linear recurrences: a loop along one axis, vectors along another if there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert, write
from adjoint.compile.emit import Block, Operand, lowers
from adjoint.compile.ir import Function, Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.cumulative import ArgCumExtremum, CumProd, CumSum, LinearRecurrence
from adjoint.ops.elementwise.arithmetic import add, maximum, minimum, multiply
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType


@lowers(CumSum, CumProd, ArgCumExtremum, LinearRecurrence, strided=True)
def write_running(block: Block, eq: Equation) -> None:
    """zₖ = zₖ₋₁ + xₖ, zₖ₋₁ xₖ, aₖ zₖ₋₁ + bₖ, or the place of the largest xⱼ so far."""
    op: Any = eq.op
    out = eq.outputs[0].type
    if out.ndim == 0 or (isinstance(op, ArgCumExtremum) and eq.inputs[0].type.dtype.kind == "c"):
        return write_callback(block, eq)
    operands = [block.view(x) for x in eq.inputs]
    target = block.pointer(eq.outputs[0])
    if math.prod(out.shape) == 0:
        return None
    strides = [_aligned(x, out.ndim) for x in operands]
    axis = op.axis % out.ndim
    others = [a for a in range(out.ndim) if a != axis]
    last = others[-1] if others else None
    width = vector_bits() // 8 // max(out.dtype.itemsize, 1)
    wide = last is not None and last == out.ndim - 1 and all(s[last] in (0, 1) for s in strides)
    block.shared.work += block.times * 4.0 * math.prod(out.shape)
    block.shared.steps.append(f"{op.title} of {out}")
    place = [block.f.index(0) for _ in operands]
    loops = others[:-1] if wide else others
    _around(block, eq, loops, out, operands, strides, [*place, block.f.index(0)], target, last if wide else None, width)
    return None


def _aligned(x: Operand, ndim: int) -> tuple[Any, ...]:
    lead = ndim - len(x.shape)
    return (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True))


def _around(
    block: Block, eq: Equation, loops: Sequence[int], out: ArrayType, operands: Sequence[Operand],
    strides: Sequence[Any], places: list[Value], target: Value, vector: int | None, width: int,
) -> None:  # fmt: skip
    """Loops over the other axes; then the running loop, for one element or for a vector of them."""
    f = block.f
    own = strides_of(out.shape)

    def moved(counter: Value, axis: int) -> list[Value]:
        steps = [s[axis] for s in strides] + [own[axis]]
        return [f.add(p, f.mul(counter, block.number(s))) for p, s in zip(places, steps, strict=True)]

    if loops:
        with f.loop(f.index(0), block.number(out.shape[loops[0]])) as i:
            _around(block, eq, loops[1:], out, operands, strides, moved(i, loops[0]), target, vector, width)
        return
    if vector is None:
        _run(block, eq, out, operands, strides, places, target, 1, None)
        return
    n = out.shape[vector]
    whole = n // width * width
    if whole:
        with f.loop(f.index(0), f.index(whole), f.index(width)) as i:
            _run(block, eq, out, operands, strides, moved(i, vector), target, width, vector)
    if whole < n:
        _run(block, eq, out, operands, strides, moved(f.index(whole), vector), target, n - whole, vector)


class State:
    """What is carried along the axis: an element for each lane, real or complex."""

    def __init__(self, f: Function, start: Any) -> None:
        self.f = f
        self.parts = (start,) if isinstance(start, Value) else start
        self.rooms = [f.allocate(part.type) for part in self.parts]
        self.set(start)

    def set(self, value: Any) -> None:
        for part, room in zip((value,) if isinstance(value, Value) else value, self.rooms, strict=True):
            self.f.store(part, room)

    def get(self) -> Any:
        loaded = tuple(self.f.load(part.type, room) for part, room in zip(self.parts, self.rooms, strict=True))
        return loaded[0] if len(loaded) == 1 else loaded


def _run(
    block: Block, eq: Equation, out: ArrayType, operands: Sequence[Operand], strides: Sequence[Any],
    places: Sequence[Value], target: Value, width: int, vector: int | None,
) -> None:  # fmt: skip
    op: Any = eq.op
    f = block.f
    axis = op.axis % out.ndim
    reverse = getattr(op, "reverse", False)
    own = strides_of(out.shape)
    kind = ArrayType((), out.dtype)
    n = out.shape[axis]

    def row(k: Value) -> list[Any]:
        values: list[Any] = []
        for x, s, p in zip(operands, strides, places, strict=False):
            at = f.add(p, f.mul(k, block.number(s[axis])))
            step = 1 if vector is None else s[vector]
            values.append(vectors.spread(f, vectors.load(f, x.dtype, x.pointer, at, 1, width if step else 1), width))
        return values

    def put(k: Value, value: Any) -> None:
        vectors.store(f, out.dtype, value, target, f.add(places[-1], f.mul(k, block.number(own[axis]))), 1, width)

    if isinstance(op, ArgCumExtremum):
        _extremum(block, eq, operands[0].dtype, row, put, width)
        return

    def element(turn: Value) -> tuple[Value, list[Any]]:
        k = f.sub(f.sub(block.number(n), turn), f.index(1)) if reverse else turn
        given = zip(row(k), operands, strict=True)
        return k, [v if x.dtype == out.dtype else convert(f, v, x.dtype, out.dtype) for v, x in given]

    types = (kind, kind)
    state = State(f, vectors.number(f, out.dtype, 0, width))
    first = f.index(0)
    if not isinstance(op, LinearRecurrence):
        # the first one as it is, as NumPy does: 0 + -0.0 would lose the sign, and (1 + 0j) · (inf + 0j) is a NaN
        with f.when(f.icmp("sgt", block.number(n), first)):
            k, (value,) = element(first)
            state.set(value)
            put(k, value)
        first = f.index(1)
    with f.loop(first, block.number(n)) as turn:
        k, values = element(turn)
        before = state.get()
        if isinstance(op, LinearRecurrence):
            now: Any = write(f, add, types, kind, [write(f, multiply, types, kind, [values[0], before]), values[1]])
        else:
            now = write(f, add if isinstance(op, CumSum) else multiply, types, kind, [before, values[0]])
        state.set(now)
        put(k, now)


def _extremum(block: Block, eq: Equation, dtype: Any, row: Any, put: Any, width: int) -> None:
    """The places at which the best so far changes; the first NaN is the best of all."""
    f, op, kind = block.f, eq.op, ArrayType((), dtype)
    assert isinstance(op, ArgCumExtremum)
    best = State(f, row(f.index(0))[0])
    place = State(f, f.constant(f.spread(f.index(0), width).type, 0))
    better = maximum if op.kind == "max" else minimum
    with f.loop(f.index(0), block.number(eq.outputs[0].type.shape[op.axis])) as k:
        before = best.get()
        now: Any = write(f, better, (kind, kind), kind, [before, row(k)[0]])
        if dtype.kind == "f":
            new = f.binary("and", f.fcmp("une", now, before), f.fcmp("ord", before, before))
        else:
            new = f.icmp("ne", now, before)
        place.set(f.select(new, f.spread(k, width), place.get()))
        best.set(now)
        put(k, place.get())
