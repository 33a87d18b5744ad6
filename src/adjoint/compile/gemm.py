"""Products of large matrices: by panels of our own, or by BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.compile import blas, panels, vectors
from adjoint.compile.emit import Emitter
from adjoint.compile.matrices import Matrix, by_rows

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def write_gemm(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """C = A B, of which one has neighbors in one direction at least."""
    a, b = (_unit(emitter, dtype, x) for x in (a, b))
    if dtype.name in panels.DTYPES and c.across == 1 and panels.pays() and not emitter.shared.standalone:
        _call_panels(emitter, dtype, a, b, c)
    else:
        _call_blas(emitter, dtype, a, b, c)


def _call_panels(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    f, name = emitter.f, f"{panels.NAME}{dtype.name}"
    emitter.shared.symbols[name] = panels.address(name)
    blocks = panels.block_sizes(c.rows, a.columns, c.columns)
    buffers = [emitter.allocate(nbytes) for nbytes in panels.workspace(dtype, blocks)]
    sizes = (
        c.rows, a.columns, c.columns, a.down, a.across, b.down, b.across, c.down, *blocks,
    )  # fmt: skip
    f.call(name, "void", a.pointer, b.pointer, c.pointer, *buffers, *map(emitter.number, sizes), declared=True)
    for buffer in buffers:
        emitter.free(buffer)


def _call_blas(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """BLAS counts by columns: it is asked for Cᵀ = Bᵀ Aᵀ, whose memory is that of C."""
    f = emitter.f
    name = f"adjoint_blas_{LETTERS[dtype.name]}gemm"
    emitter.shared.symbols[name] = blas.symbols()[name]
    integers = [f.allocate("i32", align=8) for _ in range(6)]
    letters = [f.allocate("i8", align=8) for _ in range(2)]
    one, zero = (f.allocate("i8", 16, align=8) for _ in range(2))
    vectors.store(f, dtype, vectors.number(f, dtype, 1, 1), one, f.index(0), 1, 1)
    vectors.store(f, dtype, vectors.number(f, dtype, 0, 1), zero, f.index(0), 1, 1)
    flags, leads = [], []
    for x in (b, a):
        plain = x.across == 1 and (x.down >= x.columns or x.rows == 1)
        flags.append("N" if plain else "T")
        leads.append(max(x.down if plain else x.across, x.columns if plain else x.rows, 1))
    for buffer, letter in zip(letters, flags, strict=True):
        f.store(f.constant("i8", ord(letter)), buffer)
    numbers = (c.columns, c.rows, a.columns, leads[0], leads[1], max(c.down, c.columns, 1))
    for buffer, number in zip(integers, numbers, strict=True):
        f.store(f.constant("i32", number), buffer)
    m, n, k, ld_b, ld_a, ld_c = integers
    f.call(
        name, "void", letters[0], letters[1], m, n, k, one, b.pointer, ld_b, a.pointer, ld_a, zero, c.pointer, ld_c,
        declared=True,
    )  # fmt: skip


def _unit(emitter: Emitter, dtype: np.dtype[Any], x: Matrix) -> Matrix:
    """The matrix with neighbors in one direction; copied when it has none."""
    neighbors = x.across == 1 and (x.down >= x.columns or x.rows == 1)
    if neighbors or (x.down == 1 and (x.across >= x.rows or x.columns == 1)):
        return x
    return by_rows(emitter, dtype, x)
