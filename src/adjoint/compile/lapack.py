"""Linear equations, LU and Cholesky factors: LAPACK, called from the kernel itself.

LAPACK counts by columns: it is given A by columns (a copy, as it overwrites it), and X is copied back by rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.ir import Value
from adjoint.compile.lapack_calls import call_lapack, each_matrix, fits, transpose
from adjoint.compile.small_matrices import cholesky, is_small, lu, triangular_solve, write_small
from adjoint.compile.small_matrices import solve as solve_small
from adjoint.compile.statuses import INDEFINITE, SINGULAR
from adjoint.compile.views import strides_of
from adjoint.ops.linalg.decompose import LU, Cholesky
from adjoint.ops.linalg.solve import Inverse, Solve, TriangularSolve
from adjoint.program.program import Equation
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType


class Routines(NamedTuple):
    """The routines of LAPACK that solve A X = B, given A by columns."""

    # (emitter, dtype, n, A, pivots): A is overwritten with its factors
    factor: Callable[[Emitter, np.dtype[Any], int, Value, Value], None]
    # (emitter, op, dtype, n, m, factors, pivots, B): B is overwritten with X
    solve: Callable[[Emitter, Any, np.dtype[Any], int, int, Value, Value, Value], None]


ROUTINES: RuleTable[Routines] = RuleTable("LAPACK", of="evaluate")


def _factor_lu(emitter: Emitter, dtype: np.dtype[Any], n: int, a: Value, pivots: Value) -> None:
    call_lapack(emitter, dtype, "getrf", [n, n, a, n, pivots], SINGULAR)


def _solve_lu(
    emitter: Emitter, op: Any, dtype: np.dtype[Any], n: int, m: int, factors: Value, pivots: Value, b: Value
) -> None:
    call_lapack(emitter, dtype, "getrs", ["N", n, m, factors, n, pivots, b, n], SINGULAR)


def _keep_triangle(emitter: Emitter, dtype: np.dtype[Any], n: int, a: Value, pivots: Value) -> None:
    """A triangle needs no factors."""


def _solve_triangle(
    emitter: Emitter, op: TriangularSolve, dtype: np.dtype[Any], n: int, m: int, a: Value, pivots: Value, b: Value,
    by_rows: bool = False,
) -> None:  # fmt: skip
    """A lower triangle by rows is the transpose of an upper one by columns."""
    letters = ["L" if op.lower != by_rows else "U", "T" if by_rows else "N", "U" if op.unit else "N"]
    call_lapack(emitter, dtype, "trtrs", [*letters, n, m, a, n, b, n], SINGULAR)


ROUTINES.update(dict.fromkeys((Solve, Inverse), Routines(_factor_lu, _solve_lu)))
ROUTINES.update({TriangularSolve: Routines(_keep_triangle, _solve_triangle)})


@lowers(Solve, TriangularSolve, Inverse, strided=True)
def write_solve(emitter: Emitter, op: Solve | TriangularSolve | Inverse, eq: Equation) -> None:
    """X with A X = B; the inverse has B = 1. One factor serves all B when A is no stack."""
    if not fits(eq):
        return write_callback(emitter, eq)
    routines, out = ROUTINES[op], eq.outputs[0].type
    a, *right = (emitter.view(x) for x in eq.inputs)
    n, m = out.shape[-2:]
    stack = math.prod(out.shape[:-2])
    if is_small(out.dtype, n, m):
        name, compute = op.title, solve_small
        if isinstance(op, TriangularSolve):
            name, compute = f"{name}_{op.lower:d}{op.unit:d}", triangular_solve(op.lower, op.unit)
        write_small(emitter, name, [a, *right], eq.outputs, out.shape[:-2], compute, SINGULAR)
        emitter.shared.work += emitter.times * stack * n * n * (0.7 * n + 2.0 * m)
        emitter.shared.steps.append(
            f"{op.title} {n}×{n}, {m} columns{' of a stack' if stack > 1 else ''}: in registers"
        )
        return None
    target = emitter.pointer(eq.outputs[0])
    in_place = isinstance(op, TriangularSolve) and a.strides[-2:] in ((n, 1), (1, n))  # a triangle that is only read
    factor = None if in_place else emitter.allocate(n * n * out.dtype.itemsize)
    columns = emitter.allocate(n * m * out.dtype.itemsize) if m > 1 else None
    pivots = emitter.allocate(4 * n)
    once = len(a.shape) == 2 and not in_place

    def factorize(source: Value) -> None:
        assert factor is not None
        matrix = Operand(source, a.strides[-2:], ArrayType(a.shape[-2:], out.dtype))
        emitter.copy_strided(factor, transpose(matrix))
        routines.factor(emitter, out.dtype, n, factor, pivots)

    def solve(pointers: Sequence[Value]) -> None:
        if not once and not in_place:
            factorize(pointers[0])
        buffer = columns or pointers[-1]
        if right:
            b = Operand(pointers[1], right[0].strides[-2:], ArrayType((n, m), out.dtype))
            emitter.copy_strided(buffer, transpose(b))
        else:
            _identity(emitter, buffer, n, out.dtype)
        if isinstance(op, TriangularSolve) and in_place:
            _solve_triangle(emitter, op, out.dtype, n, m, pointers[0], pivots, buffer, a.strides[-1] == 1)
        else:
            assert factor is not None
            routines.solve(emitter, op, out.dtype, n, m, factor, pivots, buffer)
        if columns is not None:
            emitter.copy_strided(pointers[-1], Operand(columns, (1, n), ArrayType((n, m), out.dtype)))

    if once:
        factorize(a.pointer)
    each_matrix(emitter, out.shape[:-2], [a, *right, Operand(target, strides_of(out.shape), out)], solve)
    for buffer in (factor, columns, pivots):
        if buffer is not None:
            emitter.free(buffer)
    emitter.shared.work += emitter.times * stack * (n * n * (0.7 * n + 2.0 * m) + 500)
    emitter.shared.steps.append(f"{op.title} {n}×{n}, {m} columns{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


@lowers(Cholesky, strided=True)
def write_cholesky(emitter: Emitter, op: Cholesky, eq: Equation) -> None:
    """L Lᴴ = A: the lower triangle by rows is the upper one by columns, of the conjugate."""
    if not fits(eq):
        return write_callback(emitter, eq)
    f, out = emitter.f, eq.outputs[0].type
    a, n, stack = emitter.view(eq.inputs[0]), out.shape[-1], math.prod(out.shape[:-2])
    if is_small(out.dtype, n, 0):
        status = INDEFINITE if op.checked else None  # else the root of a negative pivot is NaN
        write_small(emitter, op.title, [a], eq.outputs, out.shape[:-2], cholesky, status)
        emitter.shared.work += emitter.times * stack * 0.4 * n**3
        emitter.shared.steps.append(f"cholesky {n}×{n}{' of a stack' if stack > 1 else ''}: in registers")
        return None
    target = emitter.pointer(eq.outputs[0])

    def factorize(pointers: Sequence[Value]) -> None:
        source, factor = pointers
        emitter.copy_strided(factor, Operand(source, a.strides[-2:], ArrayType((n, n), out.dtype)))
        info = call_lapack(emitter, out.dtype, "potrf", ["U", n, factor, n], INDEFINITE if op.checked else None)
        zero = vectors.number(f, out.dtype, 0, 1)
        with f.loop(f.index(0), f.index(n)) as i, f.loop(f.add(i, f.index(1)), f.index(n)) as j:
            vectors.store(f, out.dtype, zero, factor, f.add(f.mul(i, f.index(n)), j), 1, 1)
        if not op.checked:
            with f.when(f.icmp("ne", f.load("i32", info, 4), f.constant("i32", 0))):
                emitter.fill(factor, ArrayType((n, n), out.dtype), np.nan)

    each_matrix(emitter, out.shape[:-2], [a, Operand(target, strides_of(out.shape), out)], factorize)
    emitter.shared.work += emitter.times * stack * (0.4 * n**3 + 300)
    emitter.shared.steps.append(f"cholesky {n}×{n}{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


@lowers(LU, strided=True)
def write_lu(emitter: Emitter, op: LU, eq: Equation) -> None:
    """P A = L U, packed; pivots count from zero, and the order of the rows follows from the exchanges."""
    if not fits(eq):
        return write_callback(emitter, eq)
    f = emitter.f
    out, pivot_type, order_type = (v.type for v in eq.outputs)
    a = emitter.view(eq.inputs[0])
    (m, n), k = out.shape[-2:], pivot_type.shape[-1]
    stack = math.prod(out.shape[:-2])
    if is_small(out.dtype, max(m, n), 0):
        write_small(emitter, op.title, [a], eq.outputs, out.shape[:-2], lu, None)
        emitter.shared.work += emitter.times * stack * 0.7 * m * n * k
        emitter.shared.steps.append(f"lu {m}×{n}{' of a stack' if stack > 1 else ''}: in registers")
        return None
    targets = [emitter.pointer(v) for v in eq.outputs]
    buffer = emitter.allocate(m * n * out.dtype.itemsize)

    def factorize(pointers: Sequence[Value]) -> None:
        source, packed, pivots, order = pointers
        emitter.copy_strided(buffer, transpose(Operand(source, a.strides[-2:], ArrayType((m, n), out.dtype))))
        call_lapack(
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
    each_matrix(emitter, out.shape[:-2], [a, Operand(targets[0], strides_of(out.shape), out), *vectors], factorize)
    emitter.free(buffer)
    emitter.shared.work += emitter.times * stack * (0.7 * m * n * k + 500)
    emitter.shared.steps.append(f"lu {m}×{n}{' of a stack' if stack > 1 else ''}: LAPACK")
    return None


def _identity(emitter: Emitter, buffer: Value, n: int, dtype: np.dtype[Any]) -> None:
    f = emitter.f
    emitter.fill(buffer, ArrayType((n, n), dtype), 0)
    with f.loop(f.index(0), f.index(n)) as i:
        vectors.store(f, dtype, vectors.number(f, dtype, 1, 1), buffer, f.mul(i, f.index(n + 1)), 1, 1)


__all__ = ["write_cholesky", "write_lu", "write_solve"]
