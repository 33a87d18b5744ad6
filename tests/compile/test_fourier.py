"""Fourier transforms in compiled programs: any length, any axis, any stride, as NumPy has them."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(1)


def transforms(x: Any) -> list[Any]:
    axes = range(x.ndim)
    z = x + 1j * x[..., ::-1]
    return [
        *[np.fft.fft(x, axis=a) for a in axes],
        *[np.fft.ifft(z, axis=a) for a in axes],
        *[np.fft.rfft(x, axis=a) for a in axes],
        *[np.fft.irfft(z, n=7, axis=a) for a in axes],
        np.fft.fftn(z.T),
        np.fft.rfftn(x),
        np.fft.hfft(z, n=4),
        np.fft.fft(x, n=5),
        np.fft.irfft(x, n=2 * x.shape[-1]),
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(8,), (97,), (1,), (5, 12), (3, 1, 6)], ids=str)
def test_transforms(shape: tuple[int, ...], dtype: Any) -> None:
    x = R.normal(size=shape).astype(dtype)
    tight = 1e-13 if dtype == np.float64 else 1e-5
    for a, b in zip(compiled_without_callbacks(transforms, x), transforms(x), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=tight * (1 + np.max(np.abs(b))))


def test_in_a_loop_and_backwards() -> None:
    """By Parseval's theorem the gradient of Σ|Z|² is 2 n x."""
    x = R.normal(size=30)

    def f(x: Any) -> Any:
        rows = ad.scan(lambda c, t: (c, np.sum(np.abs(np.fft.fft(x * t)) ** 2)), 0.0, np.ones(4))[1]
        return np.sum(rows)

    np.testing.assert_allclose(compiled_without_callbacks(ad.grad(f), x), 4 * 2 * 30 * x, rtol=1e-12)


def test_no_elements() -> None:
    got = ad.jit(lambda x: np.fft.fft(x))(np.zeros((0, 4)))
    assert got.shape == (0, 4)
    assert got.dtype == np.complex128
