"""Linear equations, LU and Cholesky factors: LAPACK, called from the kernel itself.

LAPACK counts by columns: it is given A by columns (a copy, as it overwrites it), and X is copied back by rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import blas, vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.emit import Block, Operand, lowers
from adjoint.compile.gemm import LETTERS
from adjoint.compile.ir import Value
from adjoint.compile.views import strides_of
from adjoint.ops.linalg.decompose import LU, Cholesky
from adjoint.ops.linalg.solve import Inverse, Solve, TriangularSolve
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType

SINGULAR, INDEFINITE = -5, -6  # status of a kernel that cannot go on


def _fits(eq: Equation) -> bool:
    """Whether all operands have the type that LAPACK computes in, and there is something to compute."""
    out = eq.outputs[0].type
    return out.dtype.name in LETTERS and out.size > 0 and all(a.type.dtype == out.dtype for a in eq.inputs)


@lowers(Solve, TriangularSolve, Inverse, strided=True)
def write_solve(block: Block, eq: Equation) -> None:
    """X with A X = B; the inverse has B = 1. One factor serves all B when A is no stack."""
    if not _fits(eq):
        return write_callback(block, eq)
    op, out = eq.op, eq.outputs[0].type
    a, *right = (block.view(x) for x in eq.inputs)
    target = block.pointer(eq.outputs[0])
    n, m = out.shape[-2:]
    factor = block.room(n * n * out.dtype.itemsize)
    columns = block.room(n * m * out.dtype.itemsize) if m > 1 else None
    pivots = block.room(4 * n)
    once = len(a.shape) == 2

    def factored(place: Value) -> None:
        """A by columns, as LU with pivots; a triangle is ready as it is."""
        block.copy_strided(factor, _transposed(Operand(place, a.strides[-2:], ArrayType(a.shape[-2:], out.dtype))))
        if not isinstance(op, TriangularSolve):
            _call(block, out.dtype, "getrf", [n, n, factor, n, pivots], SINGULAR)

    def solved(places: Sequence[Value]) -> None:
        if not once:
            factored(places[0])
        room = columns or places[-1]
        if right:
            b = Operand(places[1], right[0].strides[-2:], ArrayType((n, m), out.dtype))
            block.copy_strided(room, _transposed(b))
        else:
            _identity(block, room, n, out.dtype)
        if isinstance(op, TriangularSolve):
            letters = ["L" if op.lower else "U", "N", "U" if op.unit else "N"]
            _call(block, out.dtype, "trtrs", [*letters, n, m, factor, n, room, n], SINGULAR)
        else:
            _call(block, out.dtype, "getrs", ["N", n, m, factor, n, pivots, room, n], SINGULAR)
        if columns is not None:
            block.copy_strided(places[-1], Operand(columns, (1, n), ArrayType((n, m), out.dtype)))

    if once:
        factored(a.pointer)
    _each(block, out.shape[:-2], [a, *right, Operand(target, strides_of(out.shape), out)], solved)
    for room in (factor, columns, pivots):
        if room is not None:
            block.free(room)
    stack = math.prod(out.shape[:-2])
    block.shared.work += block.times * stack * (n * n * (0.7 * n + 2.0 * m) + 500)
    block.shared.steps.append(f"{op.title} {n}×{n}, {m} columns{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


@lowers(Cholesky, strided=True)
def write_cholesky(block: Block, eq: Equation) -> None:
    """L Lᴴ = A: the lower triangle by rows is the upper one by columns, of the conjugate."""
    if not _fits(eq):
        return write_callback(block, eq)
    f, out = block.f, eq.outputs[0].type
    a, target, n = block.view(eq.inputs[0]), block.pointer(eq.outputs[0]), out.shape[-1]

    def factored(places: Sequence[Value]) -> None:
        block.copy_strided(places[1], Operand(places[0], a.strides[-2:], ArrayType((n, n), out.dtype)))
        _call(block, out.dtype, "potrf", ["U", n, places[1], n], INDEFINITE)
        zero = vectors.number(f, out.dtype, 0, 1)
        with f.loop(f.index(0), f.index(n)) as i, f.loop(f.add(i, f.index(1)), f.index(n)) as j:
            vectors.store(f, out.dtype, zero, places[1], f.add(f.mul(i, f.index(n)), j), 1, 1)

    _each(block, out.shape[:-2], [a, Operand(target, strides_of(out.shape), out)], factored)
    stack = math.prod(out.shape[:-2])
    block.shared.work += block.times * stack * (0.4 * n**3 + 300)
    block.shared.steps.append(f"cholesky {n}×{n}{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


@lowers(LU, strided=True)
def write_lu(block: Block, eq: Equation) -> None:
    """P A = L U, packed; pivots count from zero, and the order of the rows follows from the exchanges."""
    if not _fits(eq):
        return write_callback(block, eq)
    f = block.f
    out, pivot_type, order_type = (v.type for v in eq.outputs)
    a, targets = block.view(eq.inputs[0]), [block.pointer(v) for v in eq.outputs]
    (m, n), k = out.shape[-2:], pivot_type.shape[-1]
    room = block.room(m * n * out.dtype.itemsize)

    def factored(places: Sequence[Value]) -> None:
        source, packed, pivots, order = places
        block.copy_strided(room, _transposed(Operand(source, a.strides[-2:], ArrayType((m, n), out.dtype))))
        _call(block, out.dtype, "getrf", [m, n, room, m, pivots], None)  # U of a singular matrix has a zero: no error
        block.copy_strided(packed, Operand(room, (1, m), ArrayType((m, n), out.dtype)))
        with f.loop(f.index(0), f.index(m)) as i:
            f.store(i, f.element(order, i, "i64"), 8)
        with f.loop(f.index(0), f.index(k)) as i:
            place = f.element(pivots, i, "i32")
            other = f.sub(f.load("i32", place, 4), f.constant("i32", 1))
            f.store(other, place, 4)
            first, second = f.element(order, i, "i64"), f.element(order, f.cast("sext", other, "i64"), "i64")
            kept, moved = f.load("i64", first, 8), f.load("i64", second, 8)
            f.store(moved, first, 8)
            f.store(kept, second, 8)

    # vectors are walked over as matrices with rows of one element
    vectors = [
        Operand(t, (*strides_of(v.shape), 1), ArrayType((*v.shape, 1), v.dtype))
        for t, v in zip(targets[1:], (pivot_type, order_type), strict=True)
    ]
    _each(block, out.shape[:-2], [a, Operand(targets[0], strides_of(out.shape), out), *vectors], factored)
    block.free(room)
    stack = math.prod(out.shape[:-2])
    block.shared.work += block.times * stack * (0.7 * m * n * k + 500)
    block.shared.steps.append(f"lu {m}×{n}{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


def _transposed(x: Operand) -> Operand:
    return Operand(x.pointer, x.strides[::-1], ArrayType(x.shape[::-1], x.dtype))


def _identity(block: Block, room: Value, n: int, dtype: np.dtype[Any]) -> None:
    f = block.f
    block.fill(room, ArrayType((n, n), dtype), 0)
    with f.loop(f.index(0), f.index(n)) as i:
        vectors.store(f, dtype, vectors.number(f, dtype, 1, 1), room, f.mul(i, f.index(n + 1)), 1, 1)


def _each(block: Block, stack: Sequence[int], operands: Sequence[Operand], visit: Callable[..., None]) -> None:
    """The addresses of the matrices of each operand, for each element of the stack; shorter stacks are broadcast."""
    f = block.f

    def walk(axis: int, places: Sequence[Value]) -> None:
        if axis == len(stack):
            visit(places)
            return
        with f.loop(f.index(0), f.index(stack[axis])) as i:
            moved: list[Value] = []
            for x, place in zip(operands, places, strict=True):
                own = axis - len(stack) + len(x.shape) - 2
                step = x.strides[own] if own >= 0 and x.shape[own] != 1 else 0
                at = f.mul(i, f.index(step * x.dtype.itemsize)) if step else f.index(0)
                moved.append(f.element(place, at, "i8"))
            walk(axis + 1, moved)

    walk(0, [x.pointer for x in operands])


def _call(block: Block, dtype: np.dtype[Any], name: str, arguments: Sequence[Any], status: int | None) -> None:
    """Call a routine: letters and numbers go by address, and so does what it reports; leave when it has failed."""
    f = block.f
    full = f"adjoint_lapack_{LETTERS[dtype.name]}{name}"
    block.shared.symbols[full] = blas.address(full)
    given: list[Value] = []
    for argument in arguments:
        if isinstance(argument, Value):
            given.append(argument)
            continue
        room = f.allocate("i32", align=8)
        f.store(f.constant("i32", ord(argument) if isinstance(argument, str) else argument), room)
        given.append(room)
    info = f.allocate("i32", align=8)
    f.store(f.constant("i32", 0), info)
    f.call(full, "void", *given, info, declared=True)
    if status is not None:
        block.leave_if(f.icmp("ne", f.load("i32", info, 4), f.constant("i32", 0)), status)


__all__ = ["INDEFINITE", "SINGULAR", "write_cholesky", "write_lu", "write_solve"]
