"""Fourier transforms side by side, against the sums that they are and NumPy's: lengths, axes, layouts, signs."""

import ctypes

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile import spectra
from adjoint.compile.machine import Loaded, compile_written, vector_bits
from adjoint.compile.masked import SCALARS
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(7)


def numbers(*shape, dtype="complex128"):
    return (R.normal(size=shape) + 1j * R.normal(size=shape)).astype(dtype)


@pytest.fixture(scope="module", params=sorted({128, vector_bits()}))
def bits(request):
    kept = spectra.vector_bits
    spectra.vector_bits = lambda: request.param
    yield request.param
    spectra.vector_bits = kept


@pytest.fixture(scope="module")
def functions(bits):
    return {dtype: Loaded(compile_written(spectra.write_spectra(f"{spectra.NAME}{dtype}"))) for dtype in SCALARS}


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 30, 36, 75, 128, 98])
def test_lines_are_the_sums(functions, bits, n, dtype):
    """Of 1 to 19 lines, that lie as rows or as columns; nothing is written beside them."""
    real = np.dtype(dtype).char.lower()
    real = {"f": "float32", "d": "float64"}[real]
    k = np.arange(n)
    for lines in (1, 3, 8, 19):
        x = numbers(lines, n, dtype=dtype)
        for sign in (-1, 1):
            expected = x.astype(complex) @ np.exp(sign * 2j * np.pi * (np.outer(k, k) % n) / n)
            for read, write in ((0, 0), (0, 1), (1, 0), (1, 1)):
                given = x if read == 0 else np.ascontiguousarray(x.T).T
                shape = (lines + 1, n) if write == 0 else (n + 1, lines)
                whole = np.full(shape, 7 + 7j, dtype)
                result = whole[:lines] if write == 0 else whole[:n].T
                transform(functions[real], real, given, result, sign)
                error = np.max(np.abs(result - expected)) / np.sqrt(n)
                assert error < (2e-14 if real == "float64" else 1e-5)
                assert (whole[-1] == 7 + 7j).all()


def transform(loaded, real, x, result, sign):
    lines, n = x.shape
    names = spectra.names_of(real, n)
    tables = [spectra.address(name) for name in names[1:]]
    memory = np.full(spectra.workspace(real, n) + 64, 255, np.uint8)
    steps = [s // x.itemsize for s in (x.strides[1], x.strides[0], result.strides[1], result.strides[0])]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6, *[ctypes.c_int64] * 7)(loaded.address(names.function))
    room = -(-memory.ctypes.data // 64) * 64
    call(x.ctypes.data, result.ctypes.data, room, tables[1], tables[0], None, lines, n, *steps, int(sign > 0))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_compiled_transforms(dtype):
    """Single lines in two stages, stacks along every axis, several axes, transposed arrays; other lengths by NumPy."""
    tight = 1e-14 if dtype == "complex128" else 3e-6
    shapes = [(64,), (1000,), (4096,), (67,), (1470,), (2, 90), (40, 12), (3, 20, 16), (16, 2, 3, 5), (7, 11)]

    def f(*xs):
        out = []
        for x in xs:
            out += [g(x, axis=axis) for axis in range(x.ndim) for g in (np.fft.fft, np.fft.ifft)]
            out += [np.fft.fftn(x), np.fft.fft(x.T), np.fft.ifft(x[::-1]), np.fft.fftshift(np.fft.fftn(x.T))]
        return out

    xs = [numbers(*shape, dtype=dtype) for shape in shapes]
    for got, want in zip(compiled_without_callbacks(f, *xs), f(*xs), strict=True):
        assert got.dtype == want.dtype
        scale = np.sqrt(np.mean(np.abs(want) ** 2)) * np.sqrt(want.size)
        np.testing.assert_allclose(got, want, rtol=0, atol=tight * scale)


def test_two_stages_where_a_length_has_alike_factors():
    assert spectra.radices_of(360) == (4, 2, 3, 3, 5)
    assert spectra.halves_of(1000) == (25, 40)
    assert spectra.halves_of(1024) == (32, 32)
    assert spectra.radices_of(77) is None
    assert spectra.radices_of(1) is None


def test_gradients_by_parseval():
    x = numbers(24, 40)
    f = lambda x: np.sum(np.abs(np.fft.fft2(x)) ** 2)
    np.testing.assert_allclose(compiled_without_callbacks(ad.grad(f), x), 2 * x.size * x, rtol=1e-11)
