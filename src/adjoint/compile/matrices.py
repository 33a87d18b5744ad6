"""Matrices in memory: rows and columns at any strides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.emit import Block
from adjoint.compile.ir import Value


@dataclass
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


def by_rows(block: Block, dtype: np.dtype[Any], x: Matrix) -> Matrix:
    """A copy, row by row."""
    f = block.f
    room = block.room(x.rows * x.columns * dtype.itemsize)
    with f.loop(f.index(0), block.number(x.rows)) as i, f.loop(f.index(0), block.number(x.columns)) as j:
        place = f.add(f.mul(i, block.number(x.down)), f.mul(j, block.number(x.across)))
        value = vectors.load(f, dtype, x.pointer, place, 1, 1)
        vectors.store(f, dtype, value, room, f.add(f.mul(i, block.number(x.columns)), j), 1, 1)
    block.until_done.append(room)
    return Matrix(room, x.rows, x.columns, x.columns, 1)
