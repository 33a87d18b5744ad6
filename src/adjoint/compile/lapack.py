"""Linear equations, LU and Cholesky factors: LAPACK, called from the kernel itself.

LAPACK counts by columns: it is given A by columns (a copy, as it overwrites it), and X is copied back by rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.compile import blas, vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.gemm import LETTERS
from adjoint.compile.ir import Value
from adjoint.compile.views import strides_of
from adjoint.ops.linalg.decompose import LU, Cholesky
from adjoint.ops.linalg.solve import Inverse, Solve, TriangularSolve
from adjoint.program.program import Equation
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType

SINGULAR, INDEFINITE = -5, -6  # status of a kernel that cannot go on


def _fits(eq: Equation) -> bool:
    """Whether all operands have the type that LAPACK computes in, and there is something to compute."""
    out = eq.outputs[0].type
    return out.dtype.name in LETTERS and out.size > 0 and all(a.type.dtype == out.dtype for a in eq.inputs)


class Routines(NamedTuple):
    """The routines of LAPACK that solve A X = B, given A by columns."""

    # (emitter, dtype, n, A, pivots): A is overwritten with its factors
    factor: Callable[[Emitter, np.dtype[Any], int, Value, Value], None]
    # (emitter, op, dtype, n, m, factors, pivots, B): B is overwritten with X
    solve: Callable[[Emitter, Any, np.dtype[Any], int, int, Value, Value, Value], None]


ROUTINES: RuleTable[Routines] = RuleTable("LAPACK", of="evaluate")


def _factor_lu(emitter: Emitter, dtype: np.dtype[Any], n: int, a: Value, pivots: Value) -> None:
    _call(emitter, dtype, "getrf", [n, n, a, n, pivots], SINGULAR)


def _solve_lu(
    emitter: Emitter, op: Any, dtype: np.dtype[Any], n: int, m: int, factors: Value, pivots: Value, b: Value
) -> None:
    _call(emitter, dtype, "getrs", ["N", n, m, factors, n, pivots, b, n], SINGULAR)


def _keep_triangle(emitter: Emitter, dtype: np.dtype[Any], n: int, a: Value, pivots: Value) -> None:
    """A triangle needs no factors."""


def _solve_triangle(
    emitter: Emitter, op: TriangularSolve, dtype: np.dtype[Any], n: int, m: int, a: Value, pivots: Value, b: Value
) -> None:
    letters = ["L" if op.lower else "U", "N", "U" if op.unit else "N"]
    _call(emitter, dtype, "trtrs", [*letters, n, m, a, n, b, n], SINGULAR)


ROUTINES.update(dict.fromkeys((Solve, Inverse), Routines(_factor_lu, _solve_lu)))
ROUTINES.update({TriangularSolve: Routines(_keep_triangle, _solve_triangle)})


@lowers(Solve, TriangularSolve, Inverse, strided=True)
def write_solve(emitter: Emitter, op: Solve | TriangularSolve | Inverse, eq: Equation) -> None:
    """X with A X = B; the inverse has B = 1. One factor serves all B when A is no stack."""
    if not _fits(eq):
        return write_callback(emitter, eq)
    routines, out = ROUTINES[op], eq.outputs[0].type
    a, *right = (emitter.view(x) for x in eq.inputs)
    target = emitter.pointer(eq.outputs[0])
    n, m = out.shape[-2:]
    factor = emitter.allocate(n * n * out.dtype.itemsize)
    columns = emitter.allocate(n * m * out.dtype.itemsize) if m > 1 else None
    pivots = emitter.allocate(4 * n)
    once = len(a.shape) == 2

    def factorize(source: Value) -> None:
        matrix = Operand(source, a.strides[-2:], ArrayType(a.shape[-2:], out.dtype))
        emitter.copy_strided(factor, _transpose(matrix))
        routines.factor(emitter, out.dtype, n, factor, pivots)

    def solve(pointers: Sequence[Value]) -> None:
        if not once:
            factorize(pointers[0])
        buffer = columns or pointers[-1]
        if right:
            b = Operand(pointers[1], right[0].strides[-2:], ArrayType((n, m), out.dtype))
            emitter.copy_strided(buffer, _transpose(b))
        else:
            _identity(emitter, buffer, n, out.dtype)
        routines.solve(emitter, op, out.dtype, n, m, factor, pivots, buffer)
        if columns is not None:
            emitter.copy_strided(pointers[-1], Operand(columns, (1, n), ArrayType((n, m), out.dtype)))

    if once:
        factorize(a.pointer)
    _each(emitter, out.shape[:-2], [a, *right, Operand(target, strides_of(out.shape), out)], solve)
    for buffer in (factor, columns, pivots):
        if buffer is not None:
            emitter.free(buffer)
    stack = math.prod(out.shape[:-2])
    emitter.shared.work += emitter.times * stack * (n * n * (0.7 * n + 2.0 * m) + 500)
    emitter.shared.steps.append(f"{op.title} {n}×{n}, {m} columns{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


@lowers(Cholesky, strided=True)
def write_cholesky(emitter: Emitter, op: Cholesky, eq: Equation) -> None:
    """L Lᴴ = A: the lower triangle by rows is the upper one by columns, of the conjugate."""
    if not _fits(eq):
        return write_callback(emitter, eq)
    f, out = emitter.f, eq.outputs[0].type
    a, target, n = emitter.view(eq.inputs[0]), emitter.pointer(eq.outputs[0]), out.shape[-1]

    def factorize(pointers: Sequence[Value]) -> None:
        source, factor = pointers
        emitter.copy_strided(factor, Operand(source, a.strides[-2:], ArrayType((n, n), out.dtype)))
        _call(emitter, out.dtype, "potrf", ["U", n, factor, n], INDEFINITE)
        zero = vectors.number(f, out.dtype, 0, 1)
        with f.loop(f.index(0), f.index(n)) as i, f.loop(f.add(i, f.index(1)), f.index(n)) as j:
            vectors.store(f, out.dtype, zero, factor, f.add(f.mul(i, f.index(n)), j), 1, 1)

    _each(emitter, out.shape[:-2], [a, Operand(target, strides_of(out.shape), out)], factorize)
    stack = math.prod(out.shape[:-2])
    emitter.shared.work += emitter.times * stack * (0.4 * n**3 + 300)
    emitter.shared.steps.append(f"cholesky {n}×{n}{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


@lowers(LU, strided=True)
def write_lu(emitter: Emitter, op: LU, eq: Equation) -> None:
    """P A = L U, packed; pivots count from zero, and the order of the rows follows from the exchanges."""
    if not _fits(eq):
        return write_callback(emitter, eq)
    f = emitter.f
    out, pivot_type, order_type = (v.type for v in eq.outputs)
    a, targets = emitter.view(eq.inputs[0]), [emitter.pointer(v) for v in eq.outputs]
    (m, n), k = out.shape[-2:], pivot_type.shape[-1]
    buffer = emitter.allocate(m * n * out.dtype.itemsize)

    def factorize(pointers: Sequence[Value]) -> None:
        source, packed, pivots, order = pointers
        emitter.copy_strided(buffer, _transpose(Operand(source, a.strides[-2:], ArrayType((m, n), out.dtype))))
        _call(
            emitter, out.dtype, "getrf", [m, n, buffer, m, pivots], None
        )  # U of a singular matrix has a zero: no error
        emitter.copy_strided(packed, Operand(buffer, (1, m), ArrayType((m, n), out.dtype)))
        with f.loop(f.index(0), f.index(m)) as i:
            f.store(i, f.element(order, i, "i64"), 8)
        with f.loop(f.index(0), f.index(k)) as i:
            pivot = f.element(pivots, i, "i32")
            other = f.sub(f.load("i32", pivot, 4), f.constant("i32", 1))
            f.store(other, pivot, 4)
            first, second = f.element(order, i, "i64"), f.element(order, f.cast("sext", other, "i64"), "i64")
            kept, moved = f.load("i64", first, 8), f.load("i64", second, 8)
            f.store(moved, first, 8)
            f.store(kept, second, 8)

    # vectors are walked over as matrices with rows of one element
    vectors = [
        Operand(t, (*strides_of(v.shape), 1), ArrayType((*v.shape, 1), v.dtype))
        for t, v in zip(targets[1:], (pivot_type, order_type), strict=True)
    ]
    _each(emitter, out.shape[:-2], [a, Operand(targets[0], strides_of(out.shape), out), *vectors], factorize)
    emitter.free(buffer)
    stack = math.prod(out.shape[:-2])
    emitter.shared.work += emitter.times * stack * (0.7 * m * n * k + 500)
    emitter.shared.steps.append(f"lu {m}×{n}{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


def _transpose(x: Operand) -> Operand:
    return Operand(x.pointer, x.strides[::-1], ArrayType(x.shape[::-1], x.dtype))


def _identity(emitter: Emitter, buffer: Value, n: int, dtype: np.dtype[Any]) -> None:
    f = emitter.f
    emitter.fill(buffer, ArrayType((n, n), dtype), 0)
    with f.loop(f.index(0), f.index(n)) as i:
        vectors.store(f, dtype, vectors.number(f, dtype, 1, 1), buffer, f.mul(i, f.index(n + 1)), 1, 1)


def _each(emitter: Emitter, stack: Sequence[int], operands: Sequence[Operand], visit: Callable[..., None]) -> None:
    """The addresses of the matrices of each operand, for each element of the stack; shorter stacks are broadcast."""
    f = emitter.f

    def walk(axis: int, pointers: Sequence[Value]) -> None:
        if axis == len(stack):
            visit(pointers)
            return
        with f.loop(f.index(0), f.index(stack[axis])) as i:
            moved: list[Value] = []
            for x, pointer in zip(operands, pointers, strict=True):
                own = axis - len(stack) + len(x.shape) - 2
                step = x.strides[own] if own >= 0 and x.shape[own] != 1 else 0
                at = f.mul(i, f.index(step * x.dtype.itemsize)) if step else f.index(0)
                moved.append(f.element(pointer, at, "i8"))
            walk(axis + 1, moved)

    walk(0, [x.pointer for x in operands])


def _call(emitter: Emitter, dtype: np.dtype[Any], name: str, arguments: Sequence[Any], status: int | None) -> None:
    """Call a routine: letters and numbers go by address, and so does what it reports; leave when it has failed."""
    f = emitter.f
    full = f"adjoint_lapack_{LETTERS[dtype.name]}{name}"
    emitter.shared.symbols[full] = blas.address(full)
    pointers: list[Value] = []
    for argument in arguments:
        if isinstance(argument, Value):
            pointers.append(argument)
            continue
        buffer = f.allocate("i32", align=8)
        f.store(f.constant("i32", ord(argument) if isinstance(argument, str) else argument), buffer)
        pointers.append(buffer)
    info = f.allocate("i32", align=8)
    f.store(f.constant("i32", 0), info)
    f.call(full, "void", *pointers, info, declared=True)
    if status is not None:
        emitter.leave_if(f.icmp("ne", f.load("i32", info, 4), f.constant("i32", 0)), status)


__all__ = ["INDEFINITE", "SINGULAR", "write_cholesky", "write_lu", "write_solve"]
