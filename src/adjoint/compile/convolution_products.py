"""Convolutions as products of matrices: windows of x beside each other, times the kernels, a part at a time.

*Columns*: z[o, p] = w[o, (c, k)] X[(c, k), p], rows of X are runs of positions. *Patches*: zᵗ[(n, p), o] =
X[(n, p), (c, k)] wᵗ[(c, k), o], rows of X are runs of taps. The longer runs win: the derivative of a kernel has few
positions and as many taps as the image has places.
"""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.convolution_windows import Geometry, add_row, fill_zero, offset_by, pack_kernels
from adjoint.compile.emit import Operand
from adjoint.compile.ir import Value
from adjoint.compile.matrices import Matrix
from adjoint.compile.products import product
from adjoint.compile.views import strides_of
from adjoint.program.types import ArrayType

BUDGET = 2**16  # elements of windows beside each other: they stay in the caches


class Frame:
    """Some channels of an image as windows see them: element i at place a·i - e, zeros elsewhere.

    Place `step`·t + r of the last axis is the t-th of its part r, so that what is read at this step are neighbors. An
    image that windows can be read from as it is needs no copy.
    """

    def __init__(self, it: Geometry, channels: int, step: int) -> None:
        self.it, self.step = it, step
        self.extent = [
            b * (p - 1) + d * (k - 1) + 1 for b, p, d, k in zip(it.b, it.lengths, it.d, it.size, strict=True)
        ]
        self.part = -(-self.extent[-1] // step)
        inside = all(
            a == 1 and e >= 0 and e + m <= n for a, e, m, n in zip(it.a, it.e, self.extent, it.space, strict=True)
        )
        self.is_image = inside and (it.taps == 1 or step * it.x.strides[-1] == 1)
        if self.is_image:
            self.source, self.strides, self.across = it.x.pointer, it.x.strides[2:], step * it.x.strides[-1]
            return
        kind = ArrayType((channels, *self.extent[:-1], step * self.part), it.dtype)
        self.source = it.emitter.allocate(kind.size * it.dtype.itemsize)
        self.strides, self.across = strides_of(kind.shape), 1
        it.emitter.fill(self.source, kind, 0)  # places that no element of x has stay zero

    def take(self, n: Value, g: Value, first: Value, count: int) -> Value:
        """Some channels of an image; the position of the first one."""
        it, f = self.it, self.it.f
        if self.is_image:
            return it.at(it.x, [n, g, first, *it.e])
        ranges = [
            (max(0, -(-e // a)), min(size, (e + m - 1) // a + 1))
            for a, e, m, size in zip(it.a, it.e, self.extent, it.space, strict=True)
        ]
        if any(low >= high for low, high in ranges):
            return f.index(0)
        lows = [low for low, _ in ranges]

        def row(counters: list[Value]) -> None:
            c, *before = counters
            indices = [f.add(i, f.index(low)) for i, low in zip(before, lows, strict=False)]
            source = it.at(it.x, [n, g, f.add(first, c), *indices, lows[-1]])
            target = f.mul(c, f.index(self.strides[0]))
            for i, a, e, s in zip(indices, it.a, it.e, self.strides[1:], strict=False):
                target = f.add(target, f.mul(f.sub(f.mul(i, f.index(a)), f.index(e)), f.index(s)))
            number, a, start = ranges[-1][1] - lows[-1], it.a[-1], it.a[-1] * lows[-1] - it.e[-1]
            if self.step == 1:
                to = offset_by(it, self.source, f.add(target, f.index(start)))
                copy_row(it, to, a, it.x.pointer, source, it.x.strides[-1], number)
                return
            for r in range(min(self.step, number)):  # elements of which all lie in one part, if a = 1
                if a == 1:
                    at = f.add(target, f.index(self.offset(start + r)))
                    origin = f.add(source, f.index(r * it.x.strides[-1]))
                    several = -(-(number - r) // self.step)
                    to = offset_by(it, self.source, at)
                    copy_row(it, to, 1, it.x.pointer, origin, self.step * it.x.strides[-1], several)
            if a > 1:
                with f.loop(f.index(0), f.index(number)) as i:
                    q = f.add(f.mul(i, f.index(a)), f.index(start))
                    value = vectors.load(
                        f, it.dtype, it.x.pointer, f.add(source, f.mul(i, f.index(it.x.strides[-1]))), 1, 1
                    )
                    vectors.store(f, it.dtype, value, self.source, f.add(target, self.offset_of(q)), 1, 1)

        it.each([count, *[high - low for low, high in ranges[:-1]]], row)
        return f.index(0)

    def offset(self, q: int) -> int:
        """Where a place of the last axis stands."""
        return q % self.step * self.part + q // self.step

    def offset_of(self, q: Value) -> Value:
        f, step = self.it.f, self.step
        if step == 1:
            return q
        if self.is_image:  # one tap: q is 0
            return f.mul(q, f.index(self.it.x.strides[-1]))
        rest = f.binary("srem", q, f.index(step))
        return f.add(f.mul(rest, f.index(self.part)), f.binary("sdiv", q, f.index(step)))

    def at(self, begin: Value, c: Value, ps: Sequence[Value], ks: Sequence[Value]) -> Value:
        """The position of what window p has at tap k; of the last axis the one that makes no runs is given."""
        it, f = self.it, self.it.f
        total = f.add(begin, f.mul(c, f.index(self.strides[0])))
        n = len(it.size) - 1
        for j in range(n):
            q = f.add(f.mul(ps[j], f.index(it.b[j])), f.mul(ks[j], f.index(it.d[j])))
            total = f.add(total, f.mul(q, f.index(self.strides[1 + j])))
        last = f.mul(ps[n], f.index(it.b[n])) if len(ps) > n else f.mul(ks[n], f.index(it.d[n]))
        if self.is_image and self.step == 1:
            return f.add(total, f.mul(last, f.index(self.strides[-1])))
        return f.add(total, self.offset_of(last))

    def free(self) -> None:
        if not self.is_image:
            self.it.emitter.free(self.source)


def copy_row(it: Geometry, target: Value, to: int, source: Value, start: Value, stride: int, count: int) -> None:
    """target[to·i] = source[start + stride·i], i = 0 … count - 1."""
    f = it.f
    if stride == to == 1:
        nbytes = f.index(count * it.dtype.itemsize)
        begin = offset_by(it, source, start)
        f.call("llvm.memcpy.p0.p0.i64", "void", target, begin, nbytes, f.constant("i1", 0), declared=True)
        return
    with f.loop(f.index(0), f.index(count)) as i:
        value = vectors.load(f, it.dtype, source, f.add(start, f.mul(i, f.index(stride))), 1, 1)
        vectors.store(f, it.dtype, value, target, f.mul(i, f.index(to)), 1, 1)


def write_products(it: Geometry) -> None:
    """By patches or by columns."""
    if it.size[-1] > it.lengths[-1]:
        _write_patches(it)
    else:
        _write_columns(it)


def _write_columns(it: Geometry) -> None:
    """Some positions and some channels at a time; sums over channels that do not fit at once are added up."""
    f, emitter = it.f, it.emitter
    along = it.lengths[0] if len(it.lengths) > 1 else 1
    row = it.positions // along
    rows = max(1, min(along, BUDGET // max(1, it.channels * it.taps * row)))
    some = max(1, min(it.channels, BUDGET // max(1, it.taps * row * rows)))
    frame = Frame(it, it.channels, it.b[-1])
    buffer = emitter.allocate(some * it.taps * rows * row * it.dtype.itemsize)
    adds = some < it.channels
    part = emitter.allocate(it.out * rows * row * it.dtype.itemsize) if adds else None
    kernels = pack_kernels(it)
    depth = it.channels * it.taps

    def copy(begin: Value, first: Value, number: int, first_row: Value, count: int) -> None:
        """columns[(c, k…), p…] of some channels and some positions along the first axis."""
        width = count * row
        is_line = len(it.size) == 1  # the only axis is the first and the last: all of it at once

        def visit(counters: list[Value]) -> None:
            c, *rest = counters
            ks, ps = rest[: len(it.size)], rest[len(it.size) :]
            position = f.mul(_number([c, *ks], it.size, f), f.index(width))
            for j, p in enumerate(ps):
                position = f.add(position, f.mul(p, f.index(math.prod(it.lengths[j + 1 :]))))
            windows = [f.add(p, first_row) if j == 0 else p for j, p in enumerate(ps)]
            start = frame.at(begin, f.add(first, c), windows, ks)
            copy_row(it, offset_by(it, buffer, position), 1, frame.source, start, frame.across, it.lengths[-1])

        it.each([number, *it.size, *([] if is_line else [count, *it.lengths[1:-1]])], visit)

    def block(n: Value, g: Value, begin: Value, first_row: Value, count: int) -> None:
        width = count * row
        target = offset_by(
            it, it.z.pointer, f.add(it.at(it.z, [n, g, *[0] * (1 + len(it.size))]), f.mul(first_row, f.index(row)))
        )
        weights = offset_by(it, kernels, f.mul(g, f.index(it.out * depth)))

        def channels(first: Value, number: int) -> None:
            copy(begin, first, number, first_row, count)
            left = Matrix(offset_by(it, weights, f.mul(first, f.index(it.taps))), it.out, number * it.taps, depth, 1)
            right = Matrix(buffer, number * it.taps, width, width, 1)
            if part is None:
                product(emitter, it.dtype, left, right, Matrix(target, it.out, width, it.positions, 1))
            else:
                product(emitter, it.dtype, left, right, Matrix(part, it.out, width, width, 1))
                with f.loop(f.index(0), f.index(it.out)) as o:
                    to = offset_by(it, target, f.mul(o, f.index(it.positions)))
                    add_row(it, to, part, f.mul(o, f.index(width)), width)
            _free(it)

        if part is not None:
            with f.loop(f.index(0), f.index(it.out)) as o:
                first = f.mul(o, f.index(it.positions))
                fill_zero(it, target, first, f.add(first, f.index(width)))
        in_parts(it, it.channels, some, channels)

    def image(counters: list[Value]) -> None:
        n, g = counters
        begin = frame.take(n, g, f.index(0), it.channels)
        in_parts(it, along, rows, lambda first, count: block(n, g, begin, first, count))

    it.each([it.count, it.groups], image)
    for taken in (buffer, part, kernels):
        if taken is not None:
            emitter.free(taken)
    frame.free()


def _write_patches(it: Geometry) -> None:
    """Some images and some channels at a time: zᵗ[(n, p), o] = Σ X[(n, p), (c, k)] wᵗ[(c, k), o], then transposed."""
    f, emitter = it.f, it.emitter
    some = max(1, min(it.channels, BUDGET // (4 * it.taps * it.positions)))
    images = max(1, min(it.count, BUDGET // (some * it.taps * it.positions)))
    frame = Frame(it, some, it.d[-1])
    line, height = some * it.taps, images * it.positions
    buffer = emitter.allocate(height * line * it.dtype.itemsize)
    part, total = (emitter.allocate(height * it.out * it.dtype.itemsize) for _ in range(2))
    kernels = pack_kernels(it, order=(0, 2, *range(3, 3 + len(it.size)), 1))  # [g, c, k…, o]

    def copy(n: Value, g: Value, first: Value, number: int, line: int, target: Value) -> None:
        begin = frame.take(n, g, first, number)

        def visit(counters: list[Value]) -> None:
            ps, (c, *ks) = counters[: len(it.size)], counters[len(it.size) :]
            position = f.mul(_number([f.index(0), *ps], it.lengths, f), f.index(line))
            position = f.add(position, f.mul(_number([c, *ks], it.size[:-1], f), f.index(it.size[-1])))
            start = frame.at(begin, c, ps, ks)
            copy_row(it, offset_by(it, target, position), 1, frame.source, start, frame.across, it.size[-1])

        it.each([*it.lengths, number, *it.size[:-1]], visit)

    def block(g: Value, first_image: Value, count: int) -> None:
        rows = count * it.positions

        def channels(first: Value, number: int) -> None:
            line = number * it.taps
            with f.loop(f.index(0), f.index(count)) as n:
                target = offset_by(it, buffer, f.mul(n, f.index(it.positions * line)))
                copy(f.add(first_image, n), g, first, number, line, target)
            above = f.mul(f.add(f.mul(g, f.index(it.channels)), first), f.index(it.taps * it.out))
            right = Matrix(offset_by(it, kernels, above), line, it.out, it.out, 1)
            left = Matrix(buffer, rows, line, line, 1)
            product(emitter, it.dtype, left, right, Matrix(part, rows, it.out, it.out, 1))
            _free(it)
            add_row(it, total, part, f.index(0), rows * it.out)

        fill_zero(it, total, f.index(0), f.index(rows * it.out))
        in_parts(it, it.channels, some, channels)
        with f.loop(f.index(0), f.index(count)) as n:
            start = it.at(it.z, [f.add(first_image, n), g, *[0] * (1 + len(it.size))])
            source = offset_by(it, total, f.mul(n, f.index(it.positions * it.out)))
            kind = ArrayType((it.out, it.positions), it.dtype)
            emitter.copy_strided(offset_by(it, it.z.pointer, start), Operand(source, (1, it.out), kind))

    with f.loop(f.index(0), f.index(it.groups)) as g:
        in_parts(it, it.count, images, lambda first, count: block(g, first, count))
    for taken in (buffer, part, total, kernels):
        emitter.free(taken)
    frame.free()


def _number(counters: Sequence[Value], sizes: Sequence[int], f: Any) -> Value:
    """The number of an element in an array of these sizes behind the first axis."""
    number, *rest = counters
    for i, m in zip(rest, sizes, strict=False):
        number = f.add(f.mul(number, f.index(m)), i)
    return number


def _free(it: Geometry) -> None:
    while it.emitter.until_done:
        it.emitter.free(it.emitter.until_done.pop())


def in_parts(it: Geometry, total: int, step: int, visit: Callable[[Value, int], None]) -> None:
    """Ranges of `step`, and what is left."""
    f = it.f
    whole = total // step * step
    with f.loop(f.index(0), f.index(whole), f.index(step)) as first:
        visit(first, step)
    if whole < total:
        visit(f.index(whole), total - whole)


__all__ = ["write_products"]
