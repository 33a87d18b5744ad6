"""One product of matrices: tiles, panels or BLAS, whole or in parts that threads share.

A large product is cut along its rows or columns, each part of which is a product of its own, or along the sum, with a
partial result for each part. Where it is cut depends on the sizes alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.compile import panels
from adjoint.compile.emit import Emitter
from adjoint.compile.gemm import write_gemm
from adjoint.compile.ir import INLINED, Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.matrices import Matrix, by_rows
from adjoint.compile.nest_regions import combine_chunks
from adjoint.compile.regions import MOST, PIECE, Cut, region
from adjoint.compile.tiles import write_any_size, write_dots, write_rows
from adjoint.program.types import ArrayType

SMALL = 30_000  # products: below, a call of BLAS costs more than it saves
CALLED = 4096  # products: beside so many a call is not felt
NEAR = 3 * 2**14  # bytes that stay close to the processor
CLOSE = 2**20  # bytes of a factor on the right that tiles still read quicker than panels copy it
FEW, SOME = 32, 64  # rows on the left: a copy of the right factor costs more than it saves, and as much
NARROW = 256  # bytes of a row of the right factor: panels are wider
MULTIPLY, READ = 0.03, 0.5  # nanoseconds: a product of two numbers, and a number read from memory
FEWEST = 64  # rows or columns of a part
PACKED = 128, 256  # the same for BLAS, which packs one factor for each part: of two parts, and of more
DEEP = 8  # a sum that is so many times longer than the result is wide is cut itself


def time_of_product(m: Any, k: Any, n: Any, dtype: np.dtype[Any]) -> float:
    """Nanoseconds that a product takes on one thread."""
    numbers = dtype.itemsize / 8
    return max(MULTIPLY * m * k * n, READ * (m * k + k * n + m * n)) * numbers


def product(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """C = A B."""
    m, k, n = a.rows, a.columns, b.columns
    if any(type(size) is not int for size in (m, k, n)):
        write_any_size(emitter, dtype, a, b, c)
        return
    if k == 0:
        emitter.fill(c.pointer, ArrayType((m * n,), dtype), 0)
        return
    if dtype.kind == "c":
        write_gemm(emitter, dtype, a, b, c)
    elif n == 1 and a.down == 1 and m > 1:
        _call_rows(emitter, dtype, b.transposed, a.transposed, c.transposed)
    elif (m == 1 or n == 1) and a.across == 1 and b.down == 1:
        write_dots(emitter, dtype, a, b, c)
    elif uses_tiles(m, k, n, dtype, by_columns=a.across != 1) and (
        n == 1 or b.across == 1 or _pays_copy(m, k, n, dtype)
    ):
        _call_rows(emitter, dtype, a, b if b.across == 1 or n == 1 else by_rows(emitter, dtype, b), c)
    else:
        write_gemm(emitter, dtype, a, b, c)


def _call_rows(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """C = A B by tiles, as a function: where there are many products of one size, its code stands there once."""
    f, sizes = emitter.f, [size for x in (a, b, c) for size in (x.rows, x.columns, x.down, x.across)]
    if a.rows * a.columns * b.columns < CALLED:
        write_rows(emitter, dtype, a, b, c)
        return
    name = "_".join(["adjoint_product", dtype.name, *[str(size).replace("-", "m") for size in sizes]])
    if name not in f.module.parts:
        with f.apart(["ptr"] * 4) as part:
            matrices = [
                Matrix(p, x.rows, x.columns, x.down, x.across) for p, x in zip(part.params[1:], (a, b, c), strict=True)
            ]
            write_rows(emitter, dtype, *matrices)
            f.line("ret i64 0")
        read = f.separate(part, name, f'{INLINED} "prefer-vector-width"="{vector_bits()}"')
        assert not read
    f.call(name, "i64", Value("null", "ptr"), a.pointer, b.pointer, c.pointer)


def uses_tiles(m: Any, k: Any, n: Any, dtype: np.dtype[Any], *, by_columns: bool = False) -> bool:
    """Whether tiles beat BLAS: for little work, and when one factor or the result stays in the innermost cache.

    They have the widest registers, which not every BLAS uses: beside panels, they read a right factor that stays in the
    second level of the cache, unless A stands by columns, and one of any size for few rows.
    """
    if m * k * n <= SMALL or min(k * n, m * n) * dtype.itemsize <= NEAR:
        return True
    return panels.pays() and (m <= FEW or (not by_columns and k * n * dtype.itemsize <= CLOSE))


def _pays_copy(m: Any, k: Any, n: Any, dtype: np.dtype[Any]) -> bool:
    """Whether tiles are worth a copy of B, by rows."""
    return m * k * n <= SMALL or (m >= SOME and (n * dtype.itemsize <= NARROW or not panels.pays()))


def write_in_parts(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix, nanoseconds: float) -> None:
    """C = A B on several threads, if it can be cut."""
    if a.rows == 1 and b.columns > 1:  # a row is the column of what is transposed
        a, b, c = b.transposed, a.transposed, c.transposed
    m, k, n = a.rows, a.columns, b.columns
    most = max(2, min(MOST, int(nanoseconds / (4 * PIECE))))
    if n == 1:
        deep = k >= 2 * FEWEST and (m * DEEP <= k or (a.down == 1 and 2 * m <= k))
        axis, size = ("k", k) if deep else ("m", m)
    elif k >= DEEP * max(m, n) and not (m >= DEEP * FEWEST or n >= DEEP * FEWEST):
        axis, size = "k", k
    elif m >= min(n, 2 * PACKED[0]) or uses_tiles(m, k, n, dtype):  # rows are cheaper to cut
        axis, size = "m", m
    else:
        axis, size = "n", n
    if axis != "k" and n > 1 and not uses_tiles(m, k, n, dtype):
        few, many = PACKED
        most = min(most, size // many) if size >= 4 * many else 2 if size >= 2 * few else 1
    part = _part(size, most)
    if part >= size:
        product(emitter, dtype, a, b, c)
        _free(emitter)
        return
    if axis == "k":
        most = max(2, min(most, k // (2 * FEWEST)))
        part = _part(size, most)
    cut = Cut(1, -(-size // part), -(-size // part))
    kind = ArrayType((m * n,), dtype)
    partial = emitter.allocate(cut.most * emitter.nbytes(kind)) if axis == "k" else None
    f = emitter.f
    with region(emitter, cut.chunks, cut, f"product {m}×{k}×{n}") as one:
        whole = size // part

        def write(number: Value, length: int) -> None:
            first = f.mul(number, f.index(part))
            target = c
            if partial is not None:
                own = f.element(partial, f.mul(number, emitter.number(emitter.nbytes(kind))), "i8")
                target = Matrix(own, m, n, n, 1)
            parts = _parts(emitter, dtype, (a, b, target), axis, first, length)
            product(emitter, dtype, *parts)
            _free(emitter)

        if whole == cut.chunks:
            with f.loop(one.first, one.last) as number:
                write(number, part)
        else:
            with f.loop(one.first, f.intrinsic("smin", one.last, f.index(whole))) as number:
                write(number, part)
            with f.when(f.icmp("sgt", one.last, f.index(whole))):
                write(f.index(whole), size - whole * part)
    if partial is not None:
        combine_chunks(emitter, "sum", kind, partial, c.pointer, cut)
        emitter.free(partial)


def _part(size: int, most: int) -> int:
    """How long a part is: a divisor of the size, if there is one that is not much longer."""
    least = max(FEWEST, -(-size // most))
    return next((n for n in range(least, least + least // 2) if size % n == 0), -(-least // 8) * 8)


def _parts(
    emitter: Emitter,
    dtype: np.dtype[Any],
    matrices: tuple[Matrix, Matrix, Matrix],
    axis: str,
    first: Value,
    length: int,
) -> tuple[Matrix, Matrix, Matrix]:
    """The parts of A, B and C that belong to a part of the axis."""
    f = emitter.f

    def rows(x: Matrix) -> Matrix:
        pointer = f.element(x.pointer, f.mul(first, emitter.number(x.down * dtype.itemsize)), "i8")
        return Matrix(pointer, length, x.columns, x.down, x.across)

    def columns(x: Matrix) -> Matrix:
        return rows(x.transposed).transposed

    a, b, c = matrices
    if axis == "m":
        return rows(a), b, rows(c)
    return (a, columns(b), columns(c)) if axis == "n" else (columns(a), rows(b), c)


def _free(emitter: Emitter) -> None:
    while emitter.until_done:
        emitter.free(emitter.until_done.pop())
