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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape, axis", [((1000,), 0), ((8, 128), 1), ((128, 9), 0), ((4, 60, 6), 1)], ids=str)
def test_real_signals_as_complex_ones_of_half_the_length(shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    """What stands where the spectrum of a real signal has no imaginary part does not count; none is made there."""
    x = R.normal(size=shape).astype(dtype)
    tight = (1e-14 if dtype == np.float64 else 3e-6) * np.sqrt(shape[axis])
    forward = lambda x: np.fft.rfft(x, axis=axis)
    backward = lambda z: np.fft.irfft(z, axis=axis, norm="forward")
    z = forward(x)
    z = z + 1j * R.normal(size=z.shape).astype(dtype)
    for f, given in ((forward, x), (backward, z)):
        got, want = compiled_without_callbacks(f, given), f(given)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=tight * (1 + np.max(np.abs(given))))
    ends = np.take(compiled_without_callbacks(forward, x), [0, -1], axis=axis)
    np.testing.assert_array_equal(ends.imag, 0)
    to_x = compiled_without_callbacks(ad.grad(lambda x: np.sum(np.abs(forward(x)) ** 2)), x)
    np.testing.assert_allclose(to_x, ad.grad(lambda x: np.sum(np.abs(forward(x)) ** 2))(x), rtol=0, atol=tight * 1e3)
