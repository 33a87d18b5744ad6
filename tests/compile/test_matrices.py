"""Matrices in memory, copied row by row when they have no neighbors."""

import numpy as np

from adjoint.compile.ir import Value
from adjoint.compile.matrices import Matrix
from tests.random_programs.running import agrees


def test_transposes_cost_nothing() -> None:
    x = Matrix(Value("%p", "ptr"), 3, 5, 5, 1)
    t = x.transposed
    assert (t.rows, t.columns, t.down, t.across) == (5, 3, 1, 5)
    assert t.transposed == x


def test_copies_row_by_row() -> None:
    big = np.random.default_rng(1).normal(size=(40, 60))
    agrees(lambda x: [x[::2, ::3] @ x[:20, ::4], x[:5, ::3] @ x[::2, 1::2]], big)
