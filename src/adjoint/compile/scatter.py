"""Writing into parts of arrays: sums and assignments at slices and at index arrays, element by element in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.elements import convert, write
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.ir import Value
from adjoint.compile.overwriting import takes_over
from adjoint.compile.views import VIEWS, strides_of, walks, written_out
from adjoint.ops.arrays.index import ScatterSet, ScatterSum, arity
from adjoint.ops.arrays.scatter_add import ScatterAdd, view_of
from adjoint.ops.elementwise.arithmetic import add
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType

Put = Callable[[Value, Any], None]  # (position in the target, element): what is done with one element


@lowers(ScatterSum, strided=True)
def write_scatter_sum(emitter: Emitter, op: ScatterSum, eq: Equation) -> None:
    """Zeros, with each part added at its position."""
    out = eq.outputs[0].type
    target = emitter.pointer(eq.outputs[0])
    emitter.fill(target, out, 0)
    accumulate = _accumulation(emitter, out, target)
    indices = list(eq.inputs[len(op.keys) :])
    for key, part in zip(op.keys, eq.inputs, strict=False):
        own = [indices.pop(0) for _ in range(arity(key))]
        whole = Operand(target, strides_of(out.shape), out)
        _each(emitter, eq, key, emitter.view(part), [emitter.view(i) for i in own], whole, accumulate)
    emitter.shared.steps.append(f"scatter into {out}")


def _accumulation(emitter: Emitter, out: ArrayType, target: Value) -> Put:
    """What adds an element to the one at a position."""
    kind = ArrayType((), out.dtype)

    def accumulate(position: Value, value: Any) -> None:
        f = emitter.f
        old = vectors.load(f, out.dtype, target, position, 1, 1)
        vectors.store(f, out.dtype, write(f, add, (kind, kind), kind, [old, value]), target, position, 1, 1)

    return accumulate


@lowers(ScatterAdd, strided=True)
def write_scatter_add(emitter: Emitter, op: ScatterAdd, eq: Equation) -> None:
    """A copy, with the part added where it belongs; in place when source and target are the same memory."""
    _, part, *indices = eq.inputs
    out = eq.outputs[0].type
    target = _copied(emitter, eq)
    offset, shape, strides = 0, out.shape, strides_of(out.shape)
    for view in map(view_of, op.views):
        kind = view.result_type(ArrayType(shape, out.dtype))
        moved = VIEWS[view].restride(view, strides, shape, kind.shape)
        assert moved is not None  # simplification writes views alone
        offset, shape, strides = offset + moved[0], kind.shape, moved[1]
    seen = Operand(emitter.offset(target, out.dtype, offset), strides, ArrayType(shape, out.dtype))
    operands = [emitter.view(i) for i in indices]
    _each(emitter, eq, op.index, emitter.view(part), operands, seen, _accumulation(emitter, out, seen.pointer))
    emitter.shared.steps.append(f"addition into {out}")


def _copied(emitter: Emitter, eq: Equation) -> Value:
    """Where a result stands that begins as a copy of the first operand: in its memory, if nobody reads that again."""
    x, out = eq.inputs[0], eq.outputs[0]
    if takes_over(emitter, x, out):
        return emitter.pointer(out)
    target = emitter.pointer(out)
    source = emitter.view(x)
    if source.pointer.text != target.text:
        emitter.copy_strided(target, source)
    return target


@lowers(ScatterSet, strided=True)
def write_scatter_set(emitter: Emitter, op: ScatterSet, eq: Equation) -> None:
    """A copy, with the values put where they belong; in place when source and target are the same memory."""
    _, v, *indices = eq.inputs
    out = eq.outputs[0].type
    target = _copied(emitter, eq)

    def put(position: Value, value: Any) -> None:
        vectors.store(emitter.f, out.dtype, value, target, position, 1, 1)

    whole = Operand(target, strides_of(out.shape), out)
    _each(emitter, eq, op.index, emitter.view(v), [emitter.view(i) for i in indices], whole, put)
    emitter.shared.steps.append(f"assignment into {out}")


def _each(
    emitter: Emitter, eq: Equation, key: Any, part: Operand, indices: Sequence[Operand], out: Operand, put: Put
) -> None:
    """Walk over the elements of a part and say where each belongs, from the start of the memory of `out`."""
    f = emitter.f
    strides = out.strides
    if key[0] == "slice":
        ndim = sum(i is None or isinstance(i, tuple) for i in written_out(key[1], len(out.shape)))
        shape = [1] * ndim
        steps: list[Any] = [0] * ndim
        start: Any = 0
        for w, s in zip(walks(key[1], out.shape), strides, strict=True):
            start = start + w.start * s
            if w.axis is not None:
                shape[w.axis], steps[w.axis] = w.count, w.step * s
        lead: list[Value] = []
    else:
        front = np.broadcast_shapes(*[i.shape for i in indices])
        shape = [*front, *out.shape[len(indices) :]]
        steps = [0] * len(front) + list(strides[len(indices) :])
        start = 0
        lead = []
    emitter.shared.work += emitter.times * 4.0 * math.prod(shape)
    if math.prod(shape) == 0:
        return
    counters: list[Value] = []

    def walk(axis: int, position: Value) -> None:
        if key[0] == "gather" and axis == len(np.broadcast_shapes(*[i.shape for i in indices])) and not lead:
            for i, size, s in zip(indices, out.shape, strides, strict=False):
                position = f.add(position, f.mul(_load_index(emitter, eq, i, counters, size), emitter.number(s)))
            lead.append(position)
            walk(axis, position)
            lead.clear()
            return
        if axis < len(shape):
            with f.loop(f.index(0), emitter.number(shape[axis])) as i:
                counters.append(i)
                walk(axis + 1, f.add(position, f.mul(i, emitter.number(steps[axis]))))
                counters.pop()
            return
        at = f.index(0)
        offset = len(shape) - len(part.shape)
        for k, (n, s) in enumerate(zip(part.shape, part.strides, strict=True)):
            if n != 1:
                at = f.add(at, f.mul(counters[offset + k], emitter.number(s)))
        value = vectors.load(f, part.dtype, part.pointer, at, 1, 1)
        put(position, value if part.dtype == out.dtype else convert(f, value, part.dtype, out.dtype))

    walk(0, emitter.number(start))


def _load_index(emitter: Emitter, eq: Equation, index: Operand, counters: Sequence[Value], size: Any) -> Value:
    """The value of an index array at the counters: wrapped when negative, refused when out of bounds."""
    f = emitter.f
    at = f.index(0)
    offset = len(counters) - len(index.shape)
    for k, (n, s) in enumerate(zip(index.shape, index.strides, strict=True)):
        if n != 1:
            at = f.add(at, f.mul(counters[offset + k], emitter.number(s)))
    value = vectors.load(f, index.dtype, index.pointer, at, 1, 1)
    value = f.cast("zext" if index.dtype.kind in "ub" else "sext", value, "i64")
    n = emitter.number(size)
    value = f.select(f.icmp("slt", value, f.index(0)), f.add(value, n), value)
    emitter.refuse_if(f.icmp("uge", value, n), value, size, eq)
    return value
