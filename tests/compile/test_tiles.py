"""Products in tiles: all sizes around the width of vectors, all orders of memory, both dtypes."""

import itertools

import numpy as np
import pytest

from adjoint.compile.kernel import compile_program
from adjoint.compile.tiles import _shape_of_tile, _tiles
from tests.random_programs.running import agrees
from tests.simplify.programs import program_of

rng = np.random.default_rng(11)
ORDERS = ["rows", "columns", "every other", "backwards"]


def seen(order, x):
    """The same matrix in the program, as a view of what is given."""
    if order == "rows":
        return x
    if order == "columns":
        return x.T
    return x[::2, ::2] if order == "every other" else x[::-1, ::-1]


def lay_out(order, x):
    """What such a view is taken of."""
    if order == "rows":
        return x
    if order == "columns":
        return np.ascontiguousarray(x.T)
    if order == "every other":
        big = rng.normal(size=(2 * x.shape[0] - 1, 2 * x.shape[1] - 1)).astype(x.dtype)
        big[::2, ::2] = x
        return big
    return np.ascontiguousarray(x[::-1, ::-1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("first, second", list(itertools.product(ORDERS, repeat=2)))
def test_all_orders_of_memory(first, second, dtype) -> None:
    """Several sizes in one program: matrices, rows, columns, numbers."""
    sizes = [(1, 9, 5), (5, 3, 1), (1, 6, 1), (7, 17, 18), (8, 8, 8)]
    pairs = [(rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)) for m, k, n in sizes]
    args = [x for a, b in pairs for x in (lay_out(first, a), lay_out(second, b))]

    def f(*xs):
        return [seen(first, a) @ seen(second, b) for a, b in zip(xs[::2], xs[1::2], strict=True)]

    program, flat = program_of(f, *args)
    for actual, (a, b) in zip(compile_program(program).run(flat), pairs, strict=True):
        np.testing.assert_allclose(actual, a @ b, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-5)


def test_long_sums_in_blocks_and_vectors() -> None:
    a, b = rng.normal(size=(20, 900)), rng.normal(size=(900, 12))
    agrees(lambda a, b: [a @ b, b.T @ a.T, a[0] @ b, a @ b[:, 1], a[1] @ b[:, 2]], a, b, rounding=1e-11)
    agrees(lambda a, b: b.T @ a.T, np.ascontiguousarray(a[:, ::2]), np.ascontiguousarray(b[::2]), rounding=1e-11)


def test_tiles_cover_everything_once() -> None:
    for size, tile in itertools.product(range(1, 40), (1, 3, 4, 8)):
        covered = [
            start + k * width + j
            for start, width, many in _tiles(size, tile)
            for k in range(many)
            for j in range(width)
        ]
        assert covered == list(range(size))
    for vectors, rows in itertools.product(range(1, 20), (1, 2, 9)):
        v, r = _shape_of_tile(vectors, rows)
        assert v >= 1
        assert r >= 1
        assert v * r <= 24
