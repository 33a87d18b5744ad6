"""Determinants, cofactors, inverses, exponentials in compiled programs: matrices of any rank, alone and in stacks."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.ops.linalg.determinant import Cofactors, SingularDecomposition
from adjoint.scipy import linalg
from tests.compile.test_factorizations import adjoint, close, is_unitary, matrices
from tests.compile.test_ufuncs import compiled_without_callbacks

DTYPES = [np.float64, np.complex128, np.float32]


def minors(a: Any) -> Any:
    """Cofactors by their definition."""
    n = a.shape[-1]
    c = np.empty(a.shape, a.dtype)
    for i in range(n):
        for j in range(n):
            rest = np.delete(np.delete(a, i, -2), j, -1)
            c[..., i, j] = (-1) ** (i + j) * np.linalg.det(rest)
    return c


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_cofactors_of_any_rank(n: int, dtype: Any) -> None:
    a = matrices((4, n, n), dtype)
    a[1, :, -1] = 2 * a[1, :, 0] if n > 1 else 0  # of rank n - 1
    a[2] = 0
    if n > 1:
        a[3, :, -1] = a[3, :, 0] * (1 + np.finfo(dtype).eps)  # nearly singular
    for x in (a, a[0], a[1], a[2], a[3]):
        got = compiled_without_callbacks(lambda x, z: Cofactors()(x, z), x, np.linalg.det(x))
        close(got, minors(x))


@pytest.mark.parametrize("n", [7, 9])
def test_what_one_factorization_finds_regular_no_other_finds_singular(n: int) -> None:
    """Of rank n - 1, in whole numbers: determinants are not 0 by rounding, and gradients do not raise."""
    rng = np.random.default_rng(n)
    for _ in range(12):
        low, up = rng.integers(-2, 3, (n, n - 1)), rng.integers(-2, 3, (n - 1, n))
        a = (low @ up).astype(np.float32)
        close(ad.jit(ad.grad(np.linalg.det))(a), minors(a.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("n", [1, 4, 5])
def test_the_gradient_of_a_determinant(n: int) -> None:
    a = matrices((3, n, n), np.float64)
    a[1, :, -1] = a[1, :, 0] if n > 1 else 0
    close(compiled_without_callbacks(ad.grad(lambda x: np.sum(np.linalg.det(x))), a), minors(a))
    broken = a[0].copy()
    broken[0, 0] = np.nan
    assert np.any(np.isnan(ad.jit(ad.grad(np.linalg.det))(broken))) or n == 1


def test_determinants_of_nothing_and_of_integers() -> None:
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3)):
        np.testing.assert_array_equal(compiled_without_callbacks(np.linalg.det, np.zeros(shape)), np.ones(shape[:-2]))
        for got, want in zip(
            compiled_without_callbacks(lambda x: tuple(np.linalg.slogdet(x)), np.zeros(shape)),
            np.linalg.slogdet(np.zeros(shape)),
            strict=True,
        ):
            np.testing.assert_array_equal(got, want)
    whole = np.array([[1, 2], [3, 4]])
    np.testing.assert_allclose(compiled_without_callbacks(np.linalg.det, whole), -2.0, rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_singular_decomposition(dtype: Any) -> None:
    a = matrices((2, 4, 4), dtype)
    a[1, 0] = a[1, 1]
    u, vh, p, c, phase, k = compiled_without_callbacks(lambda x: SingularDecomposition()(x), a)
    s = np.linalg.svd(a, compute_uv=False)
    is_unitary(u)
    close(u * s[..., None, :] @ vh, a)
    np.testing.assert_array_equal(k, [0, 1])
    np.testing.assert_array_equal(np.real(p), [[0, 0, 0, 0], [0, 0, 0, 1]])
    close(np.real(c), s[:, 0])
    close(phase, np.linalg.det(u) * np.linalg.det(vh))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_pseudo_inverse_and_polar_factor(dtype: Any) -> None:
    a = matrices((2, 5, 3), dtype)
    a[1, :, 2] = a[1, :, 0] - a[1, :, 1]
    close(compiled_without_callbacks(lambda x: np.linalg.pinv(x, 1e-4), a), np.linalg.pinv(a, 1e-4))
    h = adjoint(a) @ a
    symmetric = compiled_without_callbacks(lambda x: np.linalg.pinv(x, 1e-3, hermitian=True), h)
    close(symmetric, np.linalg.pinv(h, 1e-3, hermitian=True))
    close(compiled_without_callbacks(lambda x: linalg.polar(x)[0], a[0]), scipy.linalg.polar(a[0])[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 20.0])
def test_exponential(scale: float, dtype: Any) -> None:
    a = matrices((2, 4, 4), dtype) * dtype(scale)
    want = scipy.linalg.expm(a.astype(np.complex128 if np.dtype(dtype).kind == "c" else np.float64))
    tight = (1e-14 if np.finfo(dtype).bits == 64 else 2e-6) * max(1.0, 10 * scale)
    for x, exact in ((a, want), (a[0], want[0])):
        got = compiled_without_callbacks(linalg.expm, x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact, rtol=0, atol=tight * np.max(np.abs(exact)))


def test_exponentials_of_nothing_and_of_nan() -> None:
    assert compiled_without_callbacks(linalg.expm, np.zeros((3, 0, 0))).shape == (3, 0, 0)
    assert np.any(np.isnan(ad.jit(linalg.expm)(np.array([[np.nan, 1.0], [0.0, 1.0]]))))


def test_the_derivative_of_an_exponential_in_a_loop() -> None:
    a = matrices((3, 3), np.float64) / 3

    def f(a: Any) -> Any:
        return np.sum(ad.scan(lambda y, t: (linalg.expm(a * t) @ y, np.sum(y**2)), np.ones(3), np.arange(3.0))[1])

    slope = compiled_without_callbacks(ad.grad(f), a)
    direction = matrices((3, 3), np.float32).astype(float)
    difference = (f(a + 1e-6 * direction) - f(a - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(slope * direction), difference, rtol=1e-7)
