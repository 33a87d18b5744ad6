"""What machine code leaves to NumPy: operands that stand in memory at any strides."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.random_programs.running import agrees


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool, np.float16])
def test_products_of_views(dtype: Any) -> None:
    x = np.arange(48).reshape(4, 4, 3).astype(dtype)

    def f(x: Any) -> Any:
        row = np.broadcast_to(x[1, :, 2], (4, 4))
        return [a @ b for a in (x[..., 0], x[..., 1].T, x[::-1, ::-1, 2], row) for b in (x[..., 0].T, x[..., 1], row)]

    for got, want in zip(ad.jit(f)(x), f(x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_other_operations_of_views() -> None:
    x = np.random.default_rng(0).normal(size=(5, 5)) + 3 * np.eye(5)

    def f(x: Any) -> Any:
        return [
            np.argsort(x[::2, ::-1].T, axis=0),
            np.linalg.solve(x.T, np.broadcast_to(x[0], (5, 5))),
            np.fft.fft(x[:, ::-1].T),
            np.linalg.eigh(x[::-1].T @ x[::-1])[0],
            np.maximum.accumulate(np.broadcast_to(x[0], (5, 5)) * 1j),
            np.cumprod(x.T[::-1] * 1j, axis=1),
        ]

    for got, want in zip(ad.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_exceptions_of_numpy_reach_the_caller() -> None:
    compiled = ad.jit(lambda x: np.linalg.cholesky(x) * 2.0)
    np.testing.assert_allclose(compiled(np.eye(3)), 2.0 * np.eye(3))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(-np.eye(3))
    np.testing.assert_allclose(compiled(4.0 * np.eye(3)), 4.0 * np.eye(3))  # and nothing of it is left


def test_operations_of_nothing_of_numbers_and_with_several_results() -> None:
    agrees(
        lambda x: [np.sort(x[:0], axis=1), np.linalg.det(x), *np.linalg.qr(x), np.argsort(x[0, :1])], X + 3 * np.eye(5)
    )


X = np.random.default_rng(4).normal(size=(5, 5))
