"""Small matrices in registers: equations, inverses, LU, QR and Cholesky factors, written out for their size.

Rows are exchanged by selects, so there are no branches; a stack is solved several matrices at a time, one in each lane.
The smallest ones stand where they are used, others in a function of their own, which all of one size and layout share.
"""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.emit import Emitter, Operand
from adjoint.compile.ir import Function, Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.views import strides_of

INLINE, MOST = 160, 450  # products: of those that stand where they are used, and of the largest here

Rows = list[list[Value]]
# (function, the operands by rows): the results by rows, and where it has failed
Compute = Callable[[Function, list[Rows]], tuple[list[Rows], Value]]


def is_small(dtype: np.dtype[Any], n: int, m: int) -> bool:
    """Whether equations with n unknowns and m right sides are worth registers."""
    return dtype.kind == "f" and dtype.itemsize >= 4 and n * n * (n + m) <= MOST


def write_small(
    emitter: Emitter, name: str, operands: Sequence[Operand], results: Sequence[Any], stack: Sequence[int],
    compute: Compute, status: int | None,
) -> None:  # fmt: skip
    """The results (variables) from the operands, for each matrix of a stack; leave with the status where it fails."""
    f = emitter.f
    targets = [Operand(emitter.pointer(v), strides_of(v.type.shape), v.type) for v in results]
    everything = [*operands, *targets]
    shapes = [x.shape[len(x.shape) - _axes(x, stack) :] for x in everything]
    size = math.prod(stack)
    width = min(vector_bits() // 8 // operands[0].dtype.itemsize, size)
    steps = [_step(x, stack) for x in everything]  # from one matrix to the next, where that is always the same
    if size == 1 or any(step is None for step in steps):
        width = 1

    def one(target: Function, pointers: Sequence[Value], lanes: int) -> Value:
        loaded = [
            _load(target, x, shape, pointer, step or 0, lanes)
            for x, shape, pointer, step in zip(operands, shapes, pointers, steps, strict=False)
        ]
        found, failed = compute(target, loaded)
        for k, rows in enumerate(found):
            at = len(operands) + k
            _store(target, targets[k], shapes[at], pointers[at], steps[at] or 0, lanes, rows)
        return target.any_lane(failed)

    def visit(pointers: Sequence[Value], lanes: int) -> None:
        if _products(shapes) <= INLINE:
            failed = one(f, pointers, lanes)
        else:
            full = f"adjoint_{name}_{'_'.join(map(_layout, everything))}_{'_'.join(str(s or 0) for s in steps)}_{lanes}"
            if full not in f.module.parts:
                inner = Function(f.module, full, ["ptr"] * len(everything), "i1", attributes="noinline nounwind")
                inner.ret(one(inner, inner.params, lanes))
                inner.finish()
            failed = f.call(full, "i1", *pointers)
        if status is not None:
            emitter.leave_if(failed, status)

    if width > 1:
        whole = size // width * width
        for first, last, lanes in ((0, whole, width), (whole, size, 1)):
            if first < last:
                with f.loop(f.index(first), f.index(last), f.index(lanes)) as i:
                    visit([_move(f, x, x.pointer, i, s or 0) for x, s in zip(everything, steps, strict=True)], lanes)
        return
    counters: list[Value] = []

    def walk(axis: int) -> None:
        if axis == len(stack):
            pointers: list[Value] = []
            for x, shape in zip(everything, shapes, strict=True):
                pointer, own = x.pointer, len(x.shape) - len(shape)
                for j in range(own):
                    counter = counters[len(stack) - own + j]
                    pointer = _move(f, x, pointer, counter, x.strides[j] if x.shape[j] != 1 else 0)
                pointers.append(pointer)
            visit(pointers, 1)
            return
        with f.loop(f.index(0), f.index(stack[axis])) as i:
            counters.append(i)
            walk(axis + 1)
            counters.pop()

    walk(0)


def _layout(x: Operand) -> str:
    """An operand in the name of a function: its dtype, the shape of a matrix, and its strides."""
    numbers = [*x.shape[-2:], *x.strides[-2:]]
    return x.dtype.char + "x".join(str(n).replace("-", "m") for n in numbers)


def _axes(x: Operand, stack: Sequence[int]) -> int:
    """How many axes of an operand belong to one matrix or vector: all that are not axes of the stack."""
    return 2 if x.dtype.kind == "f" else 1


def _step(x: Operand, stack: Sequence[int]) -> int | None:
    """The distance from one matrix to the next, if there is one for all of the stack."""
    own = len(x.shape) - _axes(x, stack)
    if own == 0:
        return 0
    if own != len(stack) or tuple(x.shape[:own]) != tuple(stack):
        return None
    expected = x.strides[own - 1]
    for axis in range(own - 1, -1, -1):
        if x.strides[axis] != expected:
            return None
        expected *= x.shape[axis]
    return x.strides[own - 1]


def _products(shapes: Sequence[Sequence[int]]) -> int:
    n = shapes[0][-1]
    return n * n * (n + (shapes[1][-1] if len(shapes) > 2 else n))


def _move(f: Function, x: Operand, pointer: Value, count: Value, step: int) -> Value:
    return f.element(pointer, f.mul(count, f.index(step * x.dtype.itemsize)), "i8") if step else pointer


def _load(f: Function, x: Operand, shape: Sequence[int], pointer: Value, step: int, lanes: int) -> Rows:
    rows: Rows = []
    for i in range(shape[0]):
        row: list[Value] = []
        for j in range(shape[1]):
            at = f.index(i * x.strides[-2] + j * x.strides[-1])
            value: Any = vectors.load(f, x.dtype, pointer, at, step, lanes if step else 1)
            row.append(f.spread(value, lanes))
        rows.append(row)
    return rows


def _store(f: Function, x: Operand, shape: Sequence[int], pointer: Value, step: int, lanes: int, rows: Rows) -> None:
    """A matrix, or a vector as a matrix of one row."""
    down, across = (x.strides[-2], x.strides[-1]) if len(shape) == 2 else (0, x.strides[-1])
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            vectors.store(f, x.dtype, value, pointer, f.index(i * down + j * across), step, lanes)


# What is computed


def _size_of(f: Function, x: Value) -> Value:
    return f.intrinsic("fabs", x)


def eliminate(f: Function, a: Rows, b: Rows, *, whole: bool = False) -> tuple[list[Value], list[Value], Value]:
    """P A = L U in place, and P and L⁻¹ applied to the rows of b; (1 / uₖₖ, pivots, where a pivot is zero).

    The pivot is the first of the largest elements of what is left of a column, as LAPACK chooses it. `whole`: rows of L
    are exchanged too.
    """
    n, m = len(a), len(a[0])
    inverses: list[Value] = []
    pivots: list[Value] = []
    lanes = a[0][0].width
    failed = f.spread(f.constant("i1", 0), lanes)
    integer = lambda k: f.spread(f.constant("i32", k), lanes)
    for k in range(min(n, m)):
        best, pivot = _size_of(f, a[k][k]), integer(k)
        for i in range(k + 1, n):
            size = _size_of(f, a[i][k])
            larger = f.fcmp("ogt", size, best)
            best, pivot = f.select(larger, size, best), f.select(larger, integer(i), pivot)
        pivots.append(pivot)
        for rows in (a, b):
            for j in range(0 if rows is b or whole else k, len(rows[0]) if rows else 0):
                kept = rows[k][j]
                chosen = kept
                for i in range(k + 1, n):
                    here = f.icmp("eq", pivot, integer(i))
                    chosen, rows[i][j] = f.select(here, rows[i][j], chosen), f.select(here, kept, rows[i][j])
                rows[k][j] = chosen
        diagonal = a[k][k]
        is_zero = f.fcmp("oeq", diagonal, f.same(diagonal, 0.0))
        failed = f.binary("or", failed, is_zero)
        inverses.append(f.fdiv(f.same(diagonal, 1.0), diagonal))
        for i in range(k + 1, n):
            factor = f.select(is_zero, a[i][k], f.fmul(a[i][k], inverses[k]))  # then that is zero too
            a[i][k] = factor
            less = f.fneg(factor)
            for j in range(k + 1, m):
                a[i][j] = f.fma(less, a[k][j], a[i][j])
            for j in range(len(b[0]) if b else 0):
                b[i][j] = f.fma(less, b[k][j], b[i][j])
    return inverses, pivots, failed


def substitute(f: Function, a: Rows, b: Rows, inverses: Sequence[Value | None], *, lower: bool) -> None:
    """b ← A⁻¹ b for a triangle, row by row; an inverse of the diagonal that is None is one."""
    n = len(a)
    for i in range(n) if lower else range(n - 1, -1, -1):
        inverse = inverses[i]
        for j in range(len(b[0])):
            total = b[i][j]
            for k in range(i) if lower else range(i + 1, n):
                total = f.fma(f.fneg(a[i][k]), b[k][j], total)
            b[i][j] = total if inverse is None else f.fmul(total, inverse)


def solve(f: Function, operands: list[Rows]) -> tuple[list[Rows], Value]:
    """X with A X = B; without B, the inverse."""
    a = [list(row) for row in operands[0]]
    n = len(a)
    number = lambda i, j: f.same(a[0][0], 1.0 if i == j else 0.0)
    b = (
        [list(row) for row in operands[1]]
        if len(operands) > 1
        else [[number(i, j) for j in range(n)] for i in range(n)]
    )
    inverses, _, failed = eliminate(f, a, b)
    substitute(f, a, b, inverses, lower=False)
    return [b], failed


def triangular_solve(lower: bool, unit: bool) -> Compute:
    """X with A X = B for a triangle A."""

    def compute(f: Function, operands: list[Rows]) -> tuple[list[Rows], Value]:
        a, b = operands[0], [list(row) for row in operands[1]]
        failed = f.spread(f.constant("i1", 0), a[0][0].width)
        inverses: list[Value | None] = []
        for i in range(len(a)):
            if unit:
                inverses.append(None)
                continue
            diagonal = a[i][i]
            failed = f.binary("or", failed, f.fcmp("oeq", diagonal, f.same(diagonal, 0.0)))
            inverses.append(f.fdiv(f.same(diagonal, 1.0), diagonal))
        substitute(f, a, b, inverses, lower=lower)
        return [b], failed

    return compute


def cholesky(f: Function, operands: list[Rows]) -> tuple[list[Rows], Value]:
    """L with L Lᵀ = A, from the lower triangle of A."""
    a = operands[0]
    n, zero = len(a), f.same(a[0][0], 0.0)
    factor: Rows = [[zero] * n for _ in range(n)]
    failed = f.spread(f.constant("i1", 0), zero.width)
    for j in range(n):
        square = a[j][j]
        for k in range(j):
            square = f.fma(f.fneg(factor[j][k]), factor[j][k], square)
        failed = f.binary("or", failed, f.fcmp("ole", square, zero))  # NaN goes on, as in LAPACK
        square = f.select(f.fcmp("ogt", square, zero), square, f.same(zero, np.nan))
        factor[j][j] = f.intrinsic("sqrt", square)
        inverse = f.fdiv(f.same(zero, 1.0), factor[j][j])
        for i in range(j + 1, n):
            total = a[i][j]
            for k in range(j):
                total = f.fma(f.fneg(factor[i][k]), factor[j][k], total)
            factor[i][j] = f.fmul(total, inverse)
    return [factor], failed


def lu(f: Function, operands: list[Rows]) -> tuple[list[Rows], Value]:
    """(M, pivots, order) with P A = L U packed in M."""
    a = [list(row) for row in operands[0]]
    lanes = a[0][0].width
    _, pivots, failed = eliminate(f, a, [], whole=True)
    order = [f.spread(f.index(i), lanes) for i in range(len(a))]
    for k, pivot in enumerate(pivots):
        kept = order[k]
        for i in range(k + 1, len(a)):
            here = f.icmp("eq", pivot, f.spread(f.constant("i32", i), lanes))
            order[k], order[i] = f.select(here, order[i], order[k]), f.select(here, kept, order[i])
    return [a, [pivots], [order]], failed


def qr(columns: int, wants_q: bool) -> Compute:
    """(Q, R) with A = Q R, or R alone: Householder's reflections 1 - τ v vᵀ, with the signs that LAPACK has."""

    def compute(f: Function, operands: list[Rows]) -> tuple[list[Rows], Value]:
        a = [list(row) for row in operands[0]]
        m, n = len(a), len(a[0])
        zero = f.same(a[0][0], 0.0)
        one = f.same(a[0][0], 1.0)
        reflections: list[tuple[list[Value], Value]] = []
        for k in range(min(m - 1, n)):
            v, tau, a[k][k] = _reflection(f, [row[k] for row in a[k:]])
            reflections.append((v, tau))
            _reflect(f, a[k:], v, tau, range(k + 1, n))
            for row in a[k + 1 :]:
                row[k] = zero
        r = a[:columns]
        failed = f.spread(f.constant("i1", 0), zero.width)
        if not wants_q:
            return [r], failed
        q = [[one if i == j else zero for j in range(columns)] for i in range(m)]
        for k in range(len(reflections) - 1, -1, -1):
            _reflect(f, q[k:], *reflections[k], range(k, columns))
        return [q, r], failed

    return compute


def _reflection(f: Function, x: list[Value]) -> tuple[list[Value], Value, Value]:
    """(v₂ …, τ, β) with (1 - τ v vᵀ) x = β e₁ and v₁ = 1; nothing is reflected where x is a multiple of e₁."""
    zero, one = f.same(x[0], 0.0), f.same(x[0], 1.0)
    largest = _size_of(f, x[0])
    for value in x[1:]:
        largest = f.intrinsic("maxnum", largest, _size_of(f, value))
    scale = f.select(f.fcmp("oeq", largest, zero), one, largest)  # so that no square overflows or vanishes
    rest = zero
    for value in x[1:]:
        part = f.fdiv(value, scale)
        rest = f.fma(part, part, rest)
    first = f.fdiv(x[0], scale)
    beta = f.fneg(f.intrinsic("copysign", f.fmul(scale, f.intrinsic("sqrt", f.fma(first, first, rest))), x[0]))
    is_plain = f.fcmp("oeq", rest, zero)
    tau = f.select(is_plain, zero, f.fdiv(f.fsub(beta, x[0]), beta))
    divisor = f.select(is_plain, one, f.fsub(x[0], beta))
    return [f.fdiv(value, divisor) for value in x[1:]], tau, f.select(is_plain, x[0], beta)


def _reflect(f: Function, rows: Rows, v: list[Value], tau: Value, columns: range) -> None:
    """Rows ← (1 - τ v vᵀ) rows, in some columns."""
    for j in columns:
        total = rows[0][j]
        for value, row in zip(v, rows[1:], strict=True):
            total = f.fma(value, row[j], total)
        less = f.fneg(f.fmul(tau, total))
        rows[0][j] = f.fadd(rows[0][j], less)
        for value, row in zip(v, rows[1:], strict=True):
            row[j] = f.fma(value, less, row[j])


__all__ = ["cholesky", "is_small", "lu", "qr", "solve", "triangular_solve", "write_small"]
