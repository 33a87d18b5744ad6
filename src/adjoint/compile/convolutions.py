"""Convolutions: by products of matrices (`adjoint.compile.convolution_products`), by shifts, or by scattering.

    z[n,g,o,p] = Σ x[n,g,c,i] w[g,o,c,k]   over  a·i = b·p + d·k + e   with a, b, d > 0

Where there is one channel in and one out, rows of x times one tap after another are added up. The transpose of a stride
(a > 1, b = 1) multiplies first, and adds each product at its place.
"""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.convolution_products import write_products
from adjoint.compile.convolution_windows import Geometry, accumulate, inside_of, offset_by, pack_kernels
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.expand import RULES
from adjoint.compile.ir import Value
from adjoint.compile.matrices import Matrix
from adjoint.compile.products import product
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.signal.convolution import Convolution
from adjoint.ops.signal.convolution_algorithms import fourier_pays
from adjoint.ops.signal.vector_convolution import VectorConvolution
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType


@RULES.rule(VectorConvolution)
def _vector_rule(eq: Equation) -> Callable[..., Any] | None:
    return _as_convolution if all(0 not in a.type.shape for a in eq.inputs) else None


def _as_convolution(op: VectorConvolution, a: Any, v: Any) -> Any:
    """Along one axis, one channel in, one out; rows with kernels of their own are groups."""
    if not op.valid and v.shape[-1] > a.shape[-1]:
        a, v = v, a
    n, m = a.shape[-1], v.shape[-1]
    stack = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
    if v.ndim == 1 or math.prod(v.shape[:-1]) == 1:  # one kernel for all rows
        x, w = np.reshape(a, (-1, 1, 1, n)), np.reshape(v, (1, 1, 1, m))
    else:
        x, w = (np.broadcast_to(y, (*stack, y.shape[-1])) for y in (a, v))
        x, w = np.reshape(x, (1, -1, 1, n)), np.reshape(w, (-1, 1, 1, m))
    length, start = (n - m + 1, 0) if op.valid else (n + m - 1, 1 - m)
    z = Convolution((1,), (1,), (1,), (start,), (length,))(x, w[..., ::-1])
    return np.reshape(z, (*stack, length))


@RULES.rule(Convolution)
def _convolution_rule(eq: Equation) -> Callable[..., Any] | None:
    """Operands of one dtype, and steps that go forwards."""
    op: Any = eq.op
    dtype = eq.outputs[0].type.dtype
    same = all(a.type.dtype == dtype for a in eq.inputs)
    if not op.stride:
        return _without_axes
    return None if same and min(*op.stride, *op.dilation, *op.spread) > 0 else _forwards


def _without_axes(op: Convolution, x: Any, w: Any) -> Any:
    return np.einsum("ngc,goc->ngo", x, w)


def _forwards(op: Convolution, x: Any, w: Any) -> Any:
    dtype = np.result_type(x.dtype, w.dtype)
    x, w = (y if y.dtype == dtype else Convert(dtype)(y) for y in (x, w))
    a, b, d, e = list(op.spread), list(op.stride), list(op.dilation), list(op.start)
    backwards: list[int] = []
    for j in range(len(a)):
        if a[j] < 0:
            a[j], b[j], d[j], e[j] = -a[j], -b[j], -d[j], -e[j]
        if d[j] < 0:
            w = np.flip(w, 3 + j)
            e[j] += d[j] * (w.shape[3 + j] - 1)
            d[j] = -d[j]
        if b[j] < 0:
            backwards.append(3 + j)
            e[j] += b[j] * (op.lengths[j] - 1)
            b[j] = -b[j]
    z = Convolution(tuple(b), tuple(d), tuple(a), tuple(e), op.lengths)(x, w)
    return np.flip(z, tuple(backwards)) if backwards else z


@lowers(Convolution, strided=True)
def write_convolution(emitter: Emitter, op: Convolution, eq: Equation) -> None:
    """By products of matrices, by shifts or by scattering."""
    out = eq.outputs[0].type
    types = [a.type for a in eq.inputs]
    if 0 in out.shape:
        return None
    if any(t.size == 0 for t in types):
        return emitter.fill(emitter.pointer(eq.outputs[0]), out, 0)
    it = Geometry(emitter, op, eq)
    is_plain = out.dtype.kind in "fc" and out.dtype != np.float16 and all(t.dtype == out.dtype for t in types)
    extent = [s * (p - 1) + t * (k - 1) + 1 for s, p, t, k in zip(it.b, it.lengths, it.d, it.size, strict=True)]
    if not is_plain or min(*it.a, *it.b, *it.d) < 1 or fourier_pays(types[0], types[1], extent, it.lengths):
        return write_callback(emitter, eq)
    if it.channels == it.out == 1:
        _write_shifted(it)
    elif all(n == 1 for n in it.b) and any(n > 1 for n in it.a):
        _write_scattered(it)
    else:
        write_products(it)
    products = out.size * it.channels * it.taps
    emitter.shared.work += emitter.times * 2.0 * products
    emitter.shared.steps.append(f"convolution of {types[0]} with {types[1]}")
    return None


def _write_shifted(it: Geometry) -> None:
    """One channel in, one out: for each tap, the row of x that it sees, times the tap."""
    f, emitter = it.f, it.emitter
    emitter.fill(it.z.pointer, it.z.type, 0)

    def visit(counters: list[Value]) -> None:
        n, g, *rest = counters
        positions, ks = rest[: len(it.size) - 1], rest[len(it.size) - 1 :]
        before = [it.seen(j, p, k) for j, (p, k) in enumerate(zip(positions, ks[:-1], strict=True))]
        inside = inside_of(it, before)
        source = it.at(it.x, [n, g, 0, *[i for i, _ in before], 0])
        row = it.at(it.z, [n, g, 0, *positions, 0])
        tap = vectors.load(f, it.dtype, it.w.pointer, it.at(it.w, [g, 0, 0, *ks]), 1, 1)
        if it.a[-1] == 1:
            first, last = it.range_of(ks[-1])
            count = f.sub(last, first)
            count = count if inside is None else f.select(inside, count, f.index(0))
            shift = f.add(f.mul(ks[-1], f.index(it.d[-1])), f.index(it.e[-1]))
            begin = f.add(f.mul(first, f.index(it.b[-1])), shift)
            begin = f.add(source, f.mul(begin, f.index(it.x.strides[-1])))
            target = offset_by(it, it.z.pointer, f.add(row, first))
            accumulate(it, target, it.x.pointer, begin, tap, count, it.b[-1] * it.x.strides[-1])
            return
        with f.loop(f.index(0), f.index(it.lengths[-1])) as p:
            i, there = it.seen(len(it.size) - 1, p, ks[-1])
            there = there if inside is None else f.binary("and", there, inside)
            with f.when(there):
                at = f.add(source, f.mul(i, f.index(it.x.strides[-1])))
                target = offset_by(it, it.z.pointer, f.add(row, p))
                accumulate(it, target, it.x.pointer, at, tap, f.index(1), 1)

    it.each([it.count, it.groups, *it.lengths[:-1], *it.size], visit)


def _write_scattered(it: Geometry) -> None:
    """All products of x and w, of one image at a time, each added at its position p = a·i - d·k - e."""
    f, emitter = it.f, it.emitter
    inputs = math.prod(it.space)
    emitter.fill(it.z.pointer, it.z.type, 0)
    kernels = pack_kernels(it, order=(0, 1, *range(3, 3 + len(it.size)), 2))  # [g, (o, k…), c]
    products = emitter.allocate(it.out * it.taps * inputs * it.dtype.itemsize)
    image = emitter.allocate(it.channels * inputs * it.dtype.itemsize)

    def visit(counters: list[Value]) -> None:
        n, g = counters
        start = offset_by(it, it.x.pointer, it.at(it.x, [n, g, *[0] * (1 + len(it.size))]))
        emitter.copy_strided(image, Operand(start, it.x.strides[2:], ArrayType((it.channels, *it.space), it.dtype)))
        weights = offset_by(it, kernels, f.mul(g, f.index(it.out * it.taps * it.channels)))
        product(
            emitter, it.dtype, Matrix(weights, it.out * it.taps, it.channels, it.channels, 1),
            Matrix(image, it.channels, inputs, inputs, 1), Matrix(products, it.out * it.taps, inputs, inputs, 1),
        )  # fmt: skip
        while emitter.until_done:
            emitter.free(emitter.until_done.pop())
        it.each([it.out, *it.size, *it.space[:-1]], lambda rest: scatter(n, g, rest))

    def scatter(n: Value, g: Value, counters: list[Value]) -> None:
        o, *rest = counters
        ks, before = rest[: len(it.size)], rest[len(it.size) :]
        line = o
        for k, m in zip(ks, it.size, strict=True):
            line = f.add(f.mul(line, f.index(m)), k)
        for i, m in zip(before, it.space[:-1], strict=True):
            line = f.add(f.mul(line, f.index(m)), i)
        inside: Value | None = None
        positions: list[Value] = []
        for j, (i, k) in enumerate(zip(before, ks[:-1], strict=True)):
            p = f.sub(f.sub(f.mul(i, f.index(it.a[j])), f.mul(k, f.index(it.d[j]))), f.index(it.e[j]))
            there = f.binary("and", f.icmp("sge", p, f.index(0)), f.icmp("slt", p, f.index(it.lengths[j])))
            inside = there if inside is None else f.binary("and", inside, there)
            positions.append(p)
        # along the last axis: 0 ≤ a·i - shift < length
        a, length, number = it.a[-1], it.lengths[-1], it.space[-1]
        shift = f.add(f.mul(ks[-1], f.index(it.d[-1])), f.index(it.e[-1]))
        first = f.binary("sdiv", f.add(f.intrinsic("smax", shift, f.index(0)), f.index(a - 1)), f.index(a))
        rest_of = f.add(shift, f.index(length - 1))
        last = f.select(
            f.icmp("slt", rest_of, f.index(0)), f.index(0), f.add(f.binary("sdiv", rest_of, f.index(a)), f.index(1))
        )
        last = f.intrinsic("smin", last, f.index(number))
        count = f.intrinsic("smax", f.sub(last, first), f.index(0))
        count = count if inside is None else f.select(inside, count, f.index(0))
        row = it.at(it.z, [n, g, o, *positions, 0])
        target = offset_by(it, it.z.pointer, f.add(row, f.sub(f.mul(first, f.index(a)), shift)))
        source = f.add(f.mul(line, f.index(number)), first)
        accumulate(it, target, products, source, None, count, 1, a)

    it.each([it.count, it.groups], visit)
    for taken in (kernels, products, image):
        emitter.free(taken)


__all__ = ["write_convolution"]
