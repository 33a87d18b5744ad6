"""Orthogonal factors, eigenvalues and singular values: LAPACK's routines, the same that NumPy calls, from the kernel.

Matrices are copied by columns, and their factors back by rows. A factor that nobody reads is not computed.
"""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.expand import RULES, constant_of_nothing
from adjoint.compile.ir import Value
from adjoint.compile.lapack_calls import call_lapack, each_matrix, transpose
from adjoint.compile.small_matrices import is_small, qr, write_small
from adjoint.compile.statuses import NO_EIGENVALUES, NO_SCHUR_FORM, NO_SINGULAR_VALUES, SINGULAR
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.linalg.decompose import LU, QR, Cholesky
from adjoint.ops.linalg.eigenvalues import Eig
from adjoint.ops.linalg.matrices import factor_dtype
from adjoint.ops.linalg.schur import Schur
from adjoint.ops.linalg.solve import Inverse, Solve, TriangularSolve
from adjoint.ops.linalg.spectral import SVD, Eigh
from adjoint.program.program import Equation, Literal
from adjoint.program.types import ArrayType, real_dtype

BLOCK = 64  # columns that LAPACK's routines work on together, given the memory for it


@RULES.rule(Cholesky, LU, QR, Eig, Eigh, SVD, Schur, Solve, TriangularSolve, Inverse)
def _conversion_rule(eq: Equation) -> Callable[..., Any] | None:
    """Operands in the dtype in which LAPACK computes."""
    if all(0 in a.type.shape for a in eq.inputs):
        return constant_of_nothing
    dtype = factor_dtype(eq.op.title, *[a.type for a in eq.inputs])
    if all(isinstance(a, Literal) or a.type.dtype == dtype for a in eq.inputs):
        return None
    return lambda op, *xs: op(*[x if x.dtype == dtype else Convert(dtype)(x) for x in xs])


class Matrices:
    """The stack of matrices that an equation factorizes, a copy of one of them by columns, and workspace."""

    def __init__(self, emitter: Emitter, eq: Equation) -> None:
        self.emitter, self.eq = emitter, eq
        self.a = emitter.view(eq.inputs[0])
        self.dtype, self.real = self.a.dtype, real_dtype(self.a.dtype)
        self.m, self.n = self.a.shape[-2:]
        self.is_complex = self.dtype.kind == "c"
        self._taken: list[Value] = []
        self.copy = self.numbers(self.m * self.n)

    def numbers(self, count: int, dtype: np.dtype[Any] | None = None) -> Value:
        """Memory for some numbers, of the dtype of the matrices unless another is given."""
        buffer = self.emitter.allocate(max(count, 1) * (dtype or self.dtype).itemsize)
        self._taken.append(buffer)
        return buffer

    def integers(self, count: int) -> Value:
        return self.numbers(count, np.dtype(np.int32))

    def by_columns(self, source: Value) -> None:
        """Copy one matrix into `copy`."""
        matrix = Operand(source, self.a.strides[-2:], ArrayType((self.m, self.n), self.dtype))
        self.emitter.copy_strided(self.copy, transpose(matrix))

    def by_rows(self, target: Value, source: Value, m: int, n: int, step: int | None = None) -> None:
        """Copy a matrix of m rows that stands by columns, `step` numbers from one to the next."""
        self.emitter.copy_strided(target, Operand(source, (1, step or m), ArrayType((m, n), self.dtype)))

    def refuse_nonfinite(self, status: int, lower: bool | None = None) -> None:
        """Leave when the copy, or a triangle of it, has a number that is infinite or NaN.

        Some routines would not come to an end, others give finite numbers.
        """
        f = self.emitter.f
        total = f.allocate(vectors.component(self.real), align=8)
        zero = vectors.number(f, self.real, 0, 1)
        assert isinstance(zero, Value)
        f.store(zero, total)
        parts = 2 if self.is_complex else 1
        with f.loop(f.index(0), f.index(self.n)) as column:
            below = f.add(column, f.index(1))
            first = column if lower else f.index(0)
            last = below if lower is False else f.index(self.m)
            start = f.mul(column, f.index(parts * self.m))
            with f.loop(f.mul(first, f.index(parts)), f.mul(last, f.index(parts))) as i:
                x = vectors.load(f, self.real, self.copy, f.add(start, i), 1, 1)
                assert isinstance(x, Value)
                f.store(f.fadd(f.load(zero.type, total), f.fmul(x, zero)), total)
        self.emitter.leave_if(f.fcmp("uno", f.load(zero.type, total), zero), status)

    def call(self, name: str, arguments: Sequence[Any], status: int | None) -> None:
        call_lapack(self.emitter, self.dtype, name, arguments, status)

    def visit(self, write: Callable[..., None], work: float, shown: str) -> None:
        """Write the factorization of each matrix: write(address of A, addresses of its results)."""
        emitter, stack = self.emitter, self.a.shape[:-2]
        results: list[Operand] = []
        for v in self.eq.outputs:  # vectors and numbers are walked over as matrices
            shape = (*v.type.shape, *[1] * (len(stack) + 2 - v.type.ndim))
            results.append(Operand(emitter.pointer(v), strides_of(shape), ArrayType(shape, v.type.dtype)))
        each_matrix(emitter, stack, [self.a, *results], lambda pointers: write(*pointers))
        for buffer in self._taken:
            emitter.free(buffer)
        number = math.prod(stack)
        emitter.shared.work += emitter.times * number * (work + 1000)
        several = " of a stack" if number > 1 else ""
        emitter.shared.steps.append(f"{self.eq.op.title} {self.m}×{self.n}{several}: {shown}")


def _is_empty(eq: Equation) -> bool:
    return 0 in eq.inputs[0].type.shape


@lowers(Eigh, strided=True)
def write_eigh(emitter: Emitter, op: Eigh, eq: Equation) -> None:
    """A V = V diag(w), by xSYEVD; w alone where nobody reads V."""
    if _is_empty(eq):
        return write_callback(emitter, eq)
    it = Matrices(emitter, eq)
    n, wants_vectors = it.n, emitter.is_read(eq.outputs[1])
    sizes = (1 + 6 * n + 2 * n * n, 3 + 5 * n) if wants_vectors else (2 * n + 1, 1)
    length = (2 * n + n * n if it.is_complex else sizes[0]) + BLOCK * n
    work, integers = it.numbers(length), it.integers(sizes[1])
    extra = [it.numbers(1 + 5 * n + 2 * n * n, it.real), 1 + 5 * n + 2 * n * n] if it.is_complex else []

    def write(a: Value, w: Value, v: Value) -> None:
        it.by_columns(a)
        it.refuse_nonfinite(NO_EIGENVALUES, op.lower)
        letters = ["V" if wants_vectors else "N", "L" if op.lower else "U"]
        name = "heevd" if it.is_complex else "syevd"
        it.call(name, [*letters, n, it.copy, n, w, work, length, *extra, integers, sizes[1]], NO_EIGENVALUES)
        if wants_vectors:
            it.by_rows(v, it.copy, n, n)

    return it.visit(write, 9.0 * n**3, "LAPACK")


@lowers(SVD, strided=True)
def write_svd(emitter: Emitter, op: SVD, eq: Equation) -> None:
    """A = U diag(s) Vᴴ, by xGESDD; s alone where nobody reads U and V."""
    if _is_empty(eq):
        return write_callback(emitter, eq)
    it = Matrices(emitter, eq)
    m, n, least, most = it.m, it.n, min(it.m, it.n), max(it.m, it.n)
    wants_vectors = emitter.is_read(eq.outputs[0]) or emitter.is_read(eq.outputs[2])
    rows, columns = (m, n) if op.full else (least, least)
    length = 4 * least * least + 8 * least + most + BLOCK * (least + most)
    work, integers = it.numbers(length), it.integers(8 * least)
    extra = []
    if it.is_complex:
        extra.append(it.numbers(5 * least * least + 2 * most * least + 2 * least * least + 8 * least, it.real))
    left, right = (it.numbers(m * rows), it.numbers(columns * n)) if wants_vectors else (work, work)

    def write(a: Value, u: Value, s: Value, vh: Value) -> None:
        it.by_columns(a)
        it.refuse_nonfinite(NO_SINGULAR_VALUES)
        letter = ("A" if op.full else "S") if wants_vectors else "N"
        sides = [left, m, right, columns] if wants_vectors else [left, 1, right, 1]
        it.call("gesdd", [letter, m, n, it.copy, m, s, *sides, work, length, *extra, integers], NO_SINGULAR_VALUES)
        if wants_vectors:
            it.by_rows(u, left, m, rows)
            it.by_rows(vh, right, columns, n)

    return it.visit(write, 4.0 * m * n * least + 22.0 * least**3, "LAPACK")


@lowers(QR, strided=True)
def write_qr(emitter: Emitter, op: QR, eq: Equation) -> None:
    """A = Q R: Householder's reflections by xGEQRF, their product by xORGQR."""
    if _is_empty(eq):
        return write_callback(emitter, eq)
    columns, wants_q = eq.outputs[0].type.shape[-1], emitter.is_read(eq.outputs[0])
    if is_small(eq.inputs[0].type.dtype, max(eq.inputs[0].type.shape[-2:]), 0):
        return _write_small_qr(emitter, eq, columns, wants_q)
    f, it = emitter.f, Matrices(emitter, eq)
    m, n, k = it.m, it.n, min(it.m, it.n)
    length = BLOCK * max(m, n)
    scales, work = it.numbers(k), it.numbers(length)
    q = it.numbers(m * columns) if columns > n else it.copy
    zero = vectors.number(f, it.dtype, 0, 1)

    def write(a: Value, q_rows: Value, r: Value) -> None:
        it.by_columns(a)
        it.call("geqrf", [m, n, it.copy, m, scales, work, length], SINGULAR)
        rows = eq.outputs[1].type.shape[-2]
        it.by_rows(r, it.copy, rows, n, m)
        with f.loop(f.index(1), f.index(rows)) as i, f.loop(f.index(0), f.intrinsic("smin", i, f.index(n))) as j:
            vectors.store(f, it.dtype, zero, r, f.add(f.mul(i, f.index(n)), j), 1, 1)
        if not wants_q:
            return
        if q is not it.copy:
            emitter.copy(q, it.copy, ArrayType((m * n,), it.dtype))
        it.call("ungqr" if it.is_complex else "orgqr", [m, columns, k, q, m, scales, work, length], SINGULAR)
        it.by_rows(q_rows, q, m, columns)

    return it.visit(write, 4.0 * m * n * k, "LAPACK")


def _write_small_qr(emitter: Emitter, eq: Equation, columns: int, wants_q: bool) -> None:
    a = emitter.view(eq.inputs[0])
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    results = eq.outputs if wants_q else eq.outputs[1:]
    write_small(emitter, f"qr_{columns}_{wants_q:d}", [a], results, stack, qr(columns, wants_q), None)
    number = math.prod(stack)
    emitter.shared.work += emitter.times * number * 4.0 * m * n * min(m, n)
    emitter.shared.steps.append(f"qr {m}×{n}{' of a stack' if number > 1 else ''}: in registers")


@lowers(Eig, strided=True)
def write_eig(emitter: Emitter, op: Eig, eq: Equation) -> None:
    """A V = V diag(w), by xGEEV; of real A, vectors of conjugate pairs come as real and imaginary parts."""
    if _is_empty(eq):
        return write_callback(emitter, eq)
    it = Matrices(emitter, eq)
    n, wants_vectors = it.n, emitter.is_read(eq.outputs[1])
    length = (4 + BLOCK) * n
    work, right = it.numbers(length), it.numbers(n * n)
    letters = ["N", "V" if wants_vectors else "N"]
    extra = it.numbers(2 * n, it.real)  # of real A: real and imaginary parts of w

    def write_complex(a: Value, w: Value, v: Value) -> None:
        it.by_columns(a)
        it.call("geev", [*letters, n, it.copy, n, w, right, 1, right, n, work, length, extra], NO_EIGENVALUES)
        if wants_vectors:
            it.by_rows(v, right, n, n)

    def write_real(a: Value, w: Value, v: Value) -> None:
        it.by_columns(a)
        parts = [extra, emitter.offset(extra, it.real, n)]
        it.call("geev", [*letters, n, it.copy, n, *parts, right, 1, right, n, work, length], NO_EIGENVALUES)
        _pair_up(emitter, it.real, n, parts, right, w, v if wants_vectors else None)

    return it.visit(write_complex if it.is_complex else write_real, 25.0 * n**3, "LAPACK")


def _pair_up(
    emitter: Emitter, dtype: np.dtype[Any], n: int, parts: Sequence[Value], right: Value, w: Value, v: Value | None
) -> None:
    """Complex w from their parts, and V: columns j and j + 1 of a pair are x ± i y for those of `right`, x and y."""
    f = emitter.f
    wide = np.result_type(dtype, np.complex64)

    def number(base: Value, at: Value) -> Value:
        value = vectors.load(f, dtype, base, at, 1, 1)
        assert isinstance(value, Value)
        return value

    with f.loop(f.index(0), f.index(n)) as j:
        imaginary = number(parts[1], j)
        vectors.store(f, wide, (number(parts[0], j), imaginary), w, j, 1, 1)
        if v is None:
            return
        zero = f.same(imaginary, 0.0)
        is_first, is_second = f.fcmp("ogt", imaginary, zero), f.fcmp("olt", imaginary, zero)
        x = f.select(is_second, f.sub(j, f.index(1)), j)
        y = f.select(is_first, f.add(j, f.index(1)), j)
        sign = f.select(is_second, f.same(imaginary, -1.0), f.select(is_first, f.same(imaginary, 1.0), zero))
        with f.loop(f.index(0), f.index(n)) as i:
            real, rest = (number(right, f.add(f.mul(c, f.index(n)), i)) for c in (x, y))
            turned = f.select(f.fcmp("oeq", sign, zero), zero, f.fmul(sign, rest))
            vectors.store(f, wide, (real, turned), v, f.add(f.mul(i, f.index(n)), j), 1, 1)


@lowers(Schur, strided=True)
def write_schur(emitter: Emitter, op: Schur, eq: Equation) -> None:
    """A = Z T Zᴴ, by xGEES."""
    if _is_empty(eq) or op.sort is not None:
        return write_callback(emitter, eq)
    it = Matrices(emitter, eq)
    n, length = it.n, (3 + BLOCK) * it.n
    work, z, values, flags = it.numbers(length), it.numbers(n * n), it.numbers(2 * n), it.integers(n)
    count = it.integers(1)
    nothing = Value("null", "ptr")  # no order is asked for
    if it.is_complex:
        before, after = [values], [it.numbers(n, it.real)]
    else:
        before, after = [values, emitter.offset(values, it.dtype, n)], []

    def write(a: Value, t: Value, z_rows: Value, chosen: Value) -> None:
        it.by_columns(a)
        emitter.fill(chosen, ArrayType((), eq.outputs[2].type.dtype), 0)
        arguments = ["V", "N", nothing, n, it.copy, n, count, *before, z, n, work, length, *after, flags]
        it.call("gees", arguments, NO_SCHUR_FORM)
        it.by_rows(t, it.copy, n, n)
        it.by_rows(z_rows, z, n, n)

    return it.visit(write, 25.0 * n**3, "LAPACK")


__all__ = ["write_eig", "write_eigh", "write_qr", "write_schur", "write_svd"]
