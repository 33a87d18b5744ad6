"""Which elements of x the windows of a convolution see, and rows of it: a·i = b·p + d·k + e with a, b, d > 0."""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.elements import write
from adjoint.compile.emit import Emitter, Operand
from adjoint.compile.ir import Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.views import strides_of
from adjoint.ops.elementwise.arithmetic import add, multiply
from adjoint.ops.signal.convolution import Convolution
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType


class Geometry:
    """What is convolved: sizes, strides, and where the taps of a window are."""

    def __init__(self, emitter: Emitter, op: Convolution, eq: Equation) -> None:
        self.emitter, self.f = emitter, emitter.f
        self.x, self.w = (emitter.view(a) for a in eq.inputs)
        z = eq.outputs[0].type
        self.z = Operand(emitter.pointer(eq.outputs[0]), strides_of(z.shape), z)
        self.dtype = z.dtype
        self.count, self.groups, self.channels = self.x.shape[:3]
        self.out = self.w.shape[1]
        self.space, self.size, self.lengths = self.x.shape[3:], self.w.shape[3:], tuple(op.lengths)
        one = lambda values, sizes: [1 if n == 1 else v for v, n in zip(values, sizes, strict=True)]
        self.a, self.b, self.d = one(op.spread, self.space), one(op.stride, self.lengths), one(op.dilation, self.size)
        self.e = list(op.start)
        for j in range(len(self.e)):  # one element of x at i = 0: a does not matter, if b·p + d·k + e = 0 there
            if self.space[j] == 1 and op.spread[j] != 1:
                self.a[j] = op.spread[j]
        self.taps, self.positions = math.prod(self.size), math.prod(self.lengths)

    def at(self, x: Operand, counters: Sequence[Value | int]) -> Value:
        """The position of an element, in elements."""
        f = self.f
        total = f.index(0)
        for i, s in zip(counters, x.strides, strict=True):
            counter = f.index(i) if isinstance(i, int) else i
            total = f.add(total, f.mul(counter, f.index(s)))
        return total

    def each(self, sizes: Sequence[int], visit: Callable[[list[Value]], None]) -> None:
        """Loops over all counters."""
        counters: list[Value] = []

        def walk(axis: int) -> None:
            if axis == len(sizes):
                visit(list(counters))
                return
            with self.f.loop(self.f.index(0), self.f.index(sizes[axis])) as i:
                counters.append(i)
                walk(axis + 1)
                counters.pop()

        walk(0)

    def seen(self, axis: int, p: Value, k: Value) -> tuple[Value, Value]:
        """(i, whether there is one) with a·i = b·p + d·k + e."""
        f = self.f
        at = f.add(f.add(f.mul(p, f.index(self.b[axis])), f.mul(k, f.index(self.d[axis]))), f.index(self.e[axis]))
        i, whole = at, None
        if self.a[axis] > 1:
            step = f.index(self.a[axis])
            i = f.binary("sdiv", at, step)
            whole = f.icmp("eq", f.mul(i, step), at)
        inside = f.binary("and", f.icmp("sge", at, f.index(0)), f.icmp("slt", i, f.index(self.space[axis])))
        return i, inside if whole is None else f.binary("and", inside, whole)

    def range_of(self, k: Value) -> tuple[Value, Value]:
        """Which p of the last axis see an element of x at tap k, if a = 1 there: first, behind the last."""
        f, b = self.f, self.b[-1]
        shift = f.add(f.mul(k, f.index(self.d[-1])), f.index(self.e[-1]))
        divide = (lambda v: v) if b == 1 else (lambda v: f.binary("sdiv", v, f.index(b)))
        first = divide(f.add(f.intrinsic("smax", f.sub(f.index(0), shift), f.index(0)), f.index(b - 1)))
        rest = f.sub(f.index(self.space[-1] - 1), shift)
        last = f.select(f.icmp("slt", rest, f.index(0)), f.index(0), f.add(divide(rest), f.index(1)))
        last = f.intrinsic("smin", last, f.index(self.lengths[-1]))
        return f.intrinsic("smin", first, last), last


def fill_zero(it: Geometry, pointer: Value, first: Value, last: Value) -> None:
    f = it.f
    start = f.element(pointer, f.mul(first, f.index(it.dtype.itemsize)), "i8")
    nbytes = f.mul(f.sub(last, first), f.index(it.dtype.itemsize))
    zero, plain = f.constant("i8", 0), f.constant("i1", 0)
    f.call("llvm.memset.p0.i64", "void", start, zero, nbytes, plain, declared=True)


def offset_by(it: Geometry, pointer: Value, elements: Value) -> Value:
    return it.f.element(pointer, it.f.mul(elements, it.f.index(it.dtype.itemsize)), "i8")


def inside_of(it: Geometry, before: Sequence[tuple[Value, Value]]) -> Value | None:
    inside = None
    for _, there in before:
        inside = there if inside is None else it.f.binary("and", inside, there)
    return inside


def pack_kernels(it: Geometry, order: Sequence[int] | None = None) -> Value:
    """The kernels by rows, [g, o, c, k…], or with their axes in another order."""
    kernels = it.emitter.allocate(it.w.type.size * it.dtype.itemsize)
    shape, strides = it.w.shape, it.w.strides
    if order is not None:
        shape, strides = tuple(shape[i] for i in order), tuple(strides[i] for i in order)
    it.emitter.copy_strided(kernels, Operand(it.w.pointer, strides, ArrayType(shape, it.dtype)))
    return kernels


def add_row(it: Geometry, target: Value, source: Value, start: Value, count: Any, stride: int = 1) -> None:
    """target[i] += source[start + i]."""
    accumulate(it, target, source, start, None, it.f.index(count) if isinstance(count, int) else count, stride)


def accumulate(
    it: Geometry, target: Value, source: Value, start: Value, factor: Any, count: Value, stride: int, to: int = 1
) -> None:
    """target[to·i] += factor · source[start + stride·i], i = 0 … count - 1."""
    f, kind = it.f, ArrayType((), it.dtype)
    width = vector_bits() // 8 // it.dtype.itemsize if it.dtype.kind == "f" and stride == to == 1 else 1

    def step(i: Value, lanes: int) -> None:
        at = f.add(start, f.mul(i, f.index(stride)))
        x = vectors.load(f, it.dtype, source, at, 1, lanes)
        position = f.mul(i, f.index(to))
        z = vectors.load(f, it.dtype, target, position, 1, lanes)
        if it.dtype.kind == "f":
            new: Any = f.fadd(z, x) if factor is None else f.fma(f.spread(factor, lanes), x, z)
        else:
            term = x if factor is None else write(f, multiply, (kind, kind), kind, [factor, x])
            new = write(f, add, (kind, kind), kind, [z, term])
        vectors.store(f, it.dtype, new, target, position, 1, lanes)

    whole = f.index(0)
    if width > 1:
        whole = f.sub(count, f.binary("srem", count, f.index(width)))
        with f.loop(f.index(0), whole, f.index(width)) as i:
            step(i, width)
    with f.loop(whole, count) as i:
        step(i, 1)


__all__ = ["Geometry", "accumulate", "add_row", "fill_zero", "inside_of", "offset_by", "pack_kernels"]
