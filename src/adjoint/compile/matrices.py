"""Matrices in memory: rows and columns at any strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.compile import vectors
from adjoint.compile.emit import Emitter
from adjoint.compile.ir import Value


@record(frozen=False)
class Matrix:
    """Rows and columns in memory."""

    pointer: Value
    rows: Any
    columns: Any
    down: Any  # distance between rows, in elements
    across: Any  # distance between columns

    @property
    def transposed(self) -> Matrix:
        return Matrix(self.pointer, self.columns, self.rows, self.across, self.down)


def by_rows(emitter: Emitter, dtype: np.dtype[Any], x: Matrix) -> Matrix:
    """A copy, row by row."""
    f = emitter.f
    buffer = emitter.allocate(x.rows * x.columns * dtype.itemsize)
    with f.loop(f.index(0), emitter.number(x.rows)) as i, f.loop(f.index(0), emitter.number(x.columns)) as j:
        position = f.add(f.mul(i, emitter.number(x.down)), f.mul(j, emitter.number(x.across)))
        value = vectors.load(f, dtype, x.pointer, position, 1, 1)
        vectors.store(f, dtype, value, buffer, f.add(f.mul(i, emitter.number(x.columns)), j), 1, 1)
    emitter.until_done.append(buffer)
    return Matrix(buffer, x.rows, x.columns, x.columns, 1)
