"""Products by packed panels, for registers of every width, against NumPy."""

import ctypes

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile import panels
from adjoint.compile.machine import Loaded, compile_written, vector_bits

SIZES = [(1, 1, 1), (9, 7, 25), (8, 256, 24), (37, 300, 61), (200, 5, 3), (3, 513, 100), (195, 257, 500)]


@pytest.fixture(scope="module", params=sorted({128, vector_bits()}))
def functions(request):
    kept = panels.vector_bits
    panels.vector_bits = lambda: request.param
    try:
        names = [f"{panels.NAME}{dtype}" for dtype in panels.DTYPES]
        return {name: Loaded(compile_written(panels.write_panels(name))) for name in names}
    finally:
        panels.vector_bits = kept


def product(functions, a, b):
    """By the function itself, whatever the compiler would choose, with garbage in its buffers."""
    (m, k), n, dtype = a.shape, b.shape[1], a.dtype
    blocks = panels.block_sizes(m, k, n)
    buffers = [np.full(nbytes + 64, 255, np.uint8) for nbytes in panels.workspace(dtype, blocks)]
    c = np.full((m + 1, n + 1), -7.0, dtype)
    steps = [s // dtype.itemsize for s in (*a.strides, *b.strides, c.strides[0])]
    pointers = [*[x.ctypes.data for x in (a, b, c)], *[-(-r.ctypes.data // 64) * 64 for r in buffers]]
    name = f"{panels.NAME}{dtype.name}"
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 11)
    call(functions[name].address(name))(*pointers, m, k, n, *steps, *blocks)
    assert (c[m] == -7).all(), "a row behind the last one was written"
    assert (c[:, n] == -7).all(), "a column behind the last one was written"
    return c[:m, :n]


@pytest.mark.parametrize("dtype", panels.DTYPES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_whole_numbers_are_exact_at_any_strides(functions, sizes, dtype):
    m, k, n = sizes
    rng = np.random.default_rng(m + k + n)
    a, b = rng.integers(-9, 10, (m, k)) + 0.0, rng.integers(-9, 10, (k, n)) + 0.0
    wide = np.zeros((m + 2, 3 * k + 5))
    wide[1:-1, 4 : k + 4] = a  # rows with something between them
    for left in (a.astype(dtype), a.T.astype(dtype, order="C").T, wide.astype(dtype)[1:-1, 4 : k + 4]):
        for right in (b.astype(dtype), b.T.astype(dtype, order="C").T):
            np.testing.assert_array_equal(product(functions, left, right), a @ b)


def test_what_is_not_finite_stays_in_its_row_and_column(functions):
    a, b = np.ones((20, 30)), np.ones((30, 40))
    a[19, 29], b[3, 39] = np.nan, np.inf
    np.testing.assert_array_equal(product(functions, a, b), a @ b)


def test_sums_are_as_good_as_those_of_numpy(functions):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((60, 700)), rng.standard_normal((700, 50))
    exact = (a.astype(np.longdouble) @ b.astype(np.longdouble)).astype(float)
    size = np.abs(a) @ np.abs(b)
    assert np.max(np.abs(product(functions, a, b) - exact) / size) < 4e-16


@pytest.mark.parametrize("m, k, n", [(70, 400, 800), (20, 900, 600), (300, 40, 200)])
def test_compiled_products_and_their_derivatives(monkeypatch, m, k, n):
    """Through the compiler, with panels chosen whether they pay here or not."""
    monkeypatch.setattr(panels, "pays", lambda: True)
    rng = np.random.default_rng(1)
    a, b, seed = rng.standard_normal((m, k)), rng.standard_normal((n, k)).T, rng.standard_normal((m, n))
    with ad.config.override(cache=False):
        f = ad.jit(ad.value_and_grad(lambda a, b: np.sum((a @ b) * seed), argnums=(0, 1)))
        value, (to_a, to_b) = f(a, b)
    np.testing.assert_allclose(value, np.sum((a @ b) * seed), rtol=1e-11)
    np.testing.assert_allclose(to_a, seed @ b.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(to_b, a.T @ seed, rtol=1e-10, atol=1e-10)
