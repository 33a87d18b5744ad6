"""Products that go to BLAS: large ones, complex ones, matrices that have neighbors in no direction."""

import numpy as np
import pytest

from tests.random_programs.running import agrees

rng = np.random.default_rng(13)


def matrix(m, n, dtype):
    x = rng.normal(size=(m, n))
    return (x + 1j * rng.normal(size=(m, n)) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "complex128"])
def test_large_products_of_all_orders(dtype) -> None:
    a, b = matrix(90, 100, dtype), matrix(100, 96, dtype)
    big = matrix(180, 300, dtype)
    rounding = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    agrees(
        lambda a, b, big: [a @ b, b.T @ a.T, big[::2, ::3] @ b, a @ big[:100, ::3], big[::-2, 200:] @ b[::-1, ::-1]],
        a, b, big, rounding=rounding,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_small_complex_products(dtype) -> None:
    a, b = matrix(3, 4, dtype), matrix(4, 5, dtype)
    agrees(
        lambda a, b: [a @ b, a[0] @ b, a @ b[:, 1], a[1] @ b[:, 0], np.conj(b).T @ a.T, a[:, ::2] @ b[::2], a[:0] @ b],
        a, b, rounding=1e-5,
    )  # fmt: skip


def test_stacks() -> None:
    a, b = rng.normal(size=(3, 1, 4, 5)), rng.normal(size=(2, 5, 6))
    agrees(lambda a, b: [a @ b, a[0, 0] @ b, b[0].T @ np.swapaxes(a, -1, -2), a @ b[:, :, 0][..., None]], a, b)
    agrees(lambda a, b: [(a + 1j) @ b, a[:, 0, :, ::2] @ b[0, ::2, :]], a, b)
