"""QR, eigenvalues, singular values and Schur's form in compiled programs: those of NumPy and SciPy, or what defines
them where signs and phases may differ.
"""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.scipy import linalg
from tests.compile.test_ufuncs import compiled_without_callbacks

DTYPES = [np.float64, np.complex128, np.float32, np.complex64]
SHAPES = [(1, 1), (4, 4), (5, 3), (2, 3, 5)]
SQUARE = [(1, 1), (4, 4), (2, 2, 3, 3), (17, 17)]


def matrices(shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def close(a: Any, b: Any) -> None:
    tight = 1e-12 if np.finfo(a.dtype).bits == 64 else 2e-5
    np.testing.assert_allclose(a, b, rtol=0, atol=tight * 10 * (1 + np.max(np.abs(b), initial=0)))


def is_unitary(q: Any) -> None:
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_square_matrices(shape: tuple[int, ...], dtype: Any) -> None:
    a = matrices(shape, dtype)
    h = a + adjoint(a)
    for uplo, part in (("L", np.tril(h)), ("U", np.triu(h))):
        w, v = compiled_without_callbacks(lambda x, uplo=uplo: tuple(np.linalg.eigh(x, uplo)), part)
        assert w.dtype == np.linalg.eigvalsh(h).dtype
        close(w, np.linalg.eigvalsh(h))
        close(h @ v, v * w[..., None, :])
        is_unitary(v)
    close(compiled_without_callbacks(np.linalg.eigvalsh, h), np.linalg.eigvalsh(h))
    w, v = compiled_without_callbacks(lambda x: tuple(np.linalg.eig(x)), a)
    close(a.astype(w.dtype) @ v, v * w[..., None, :])
    close(np.sum(np.abs(v) ** 2, axis=-2), np.ones(w.shape))
    close(np.prod(w, axis=-1), np.linalg.det(a).astype(w.dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_and_qr(shape: tuple[int, ...], dtype: Any, full: bool) -> None:
    a = matrices(shape, dtype)
    u, s, vh = compiled_without_callbacks(lambda x: tuple(np.linalg.svd(x, full_matrices=full)), a)
    k = s.shape[-1]
    close(s, np.linalg.svd(a, compute_uv=False))
    close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
    is_unitary(u)
    is_unitary(adjoint(vh))
    mode: Any = "complete" if full else "reduced"
    q, r = compiled_without_callbacks(lambda x: tuple(np.linalg.qr(x, mode)), a)
    for got, want in zip((q, r), np.linalg.qr(a, mode), strict=True):
        assert got.shape == want.shape
    close(q @ r, a)
    close(r, np.linalg.qr(a, mode)[1])
    is_unitary(q)
    close(compiled_without_callbacks(lambda x: np.linalg.svd(x, compute_uv=False), a), s)
    close(compiled_without_callbacks(lambda x: np.linalg.qr(x, "r"), a), np.linalg.qr(a, "r"))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_schur(dtype: Any) -> None:
    a = matrices((4, 4), dtype)
    t, z = compiled_without_callbacks(lambda x: tuple(linalg.schur(x)), a)
    close(z @ t @ adjoint(z), a)
    is_unitary(z)
    close(np.abs(t), np.abs(scipy.linalg.schur(a)[0]))


def test_views_integers_and_empty_stacks() -> None:
    a = matrices((3, 4, 4), np.float64)
    for f in (np.linalg.qr, np.linalg.svd):
        for x in (a[:, ::-1].T, a[::2, 1:, ::2]):
            got = compiled_without_callbacks(lambda x, f=f: tuple(f(x)), x)
            for one, other in zip(got, f(x), strict=True):
                close(np.abs(one), np.abs(other))
        for shape in ((0, 0), (2, 0), (0, 2), (3, 0, 0), (0, 2, 2)):
            for one, other in zip(
                compiled_without_callbacks(lambda x, f=f: tuple(f(x)), np.zeros(shape)), f(np.zeros(shape)), strict=True
            ):
                np.testing.assert_array_equal(one, other)
    whole = np.array([[2, 1], [1, 3]])
    close(compiled_without_callbacks(np.linalg.eigvalsh, whole), np.linalg.eigvalsh(whole))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["eigvalsh", "svd", "eigvals", "qr"])
def test_numbers_that_are_not_finite(name: str, bad: float) -> None:
    """What NumPy does: an exception of the same class, or numbers that are not finite.

    Of infinite numbers NumPy's svd may not end; of NaN its eigh gives finite numbers at some sizes: an exception.
    """
    f = {
        "eigvalsh": np.linalg.eigvalsh,
        "svd": lambda x: np.linalg.svd(x)[1],
        "eigvals": np.linalg.eigvals,
        "qr": lambda x: np.linalg.qr(x)[1],
    }[name]
    x = np.eye(3)
    x[0, 1] = x[1, 0] = bad

    def outcome(f: Any, x: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return bool(np.all(np.isfinite(f(x))))
        except np.linalg.LinAlgError:
            return "LinAlgError"

    want = "LinAlgError" if name in ("svd", "eigvalsh") else outcome(f, x)
    assert outcome(ad.jit(f), x) == want
    assert outcome(lambda x: ad.jvp(f, (x,), (x,))[0], x) == want
    looped = ad.jit(lambda x: ad.scan(lambda c, t: (c, f(c * t)), x, np.ones(3))[1])
    assert outcome(looped, x) == want
    assert outcome(looped, np.eye(3)) is True


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30])
def test_eigenvalues_and_cholesky_factors_of_nan(n: int) -> None:
    """Only the triangle counts that is read; Cholesky factors of NaN are NaN, as NumPy's are."""
    a = np.eye(n) + 0.1
    bad, unread = a.copy(), a.copy()
    bad[-1, 0] = np.nan
    unread[0, -1] = np.nan if n > 1 else a[0, 0]
    for f in (np.linalg.eigvalsh, lambda x: np.linalg.eigh(x)[0]):
        for g in (ad.jit(f), lambda x, f=f: ad.jvp(f, (x,), (x,))[0]):
            with pytest.raises(np.linalg.LinAlgError, match="Eigenvalues did not converge"):
                g(bad)
            close(g(unread), np.linalg.eigvalsh(a))
    with np.errstate(invalid="ignore"):
        expected = np.linalg.cholesky(bad)
    np.testing.assert_array_equal(np.isnan(ad.jit(np.linalg.cholesky)(bad)), np.isnan(expected))


@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.sum(np.linalg.eigvalsh(c + c.T) ** 3),
        lambda c: np.sum(np.linalg.eigh(c + c.T)[1] ** 4),
        lambda c: np.sum(np.linalg.svd(c)[0] ** 4),
        lambda c: np.sum(np.linalg.qr(c)[0] ** 4),
        lambda c: np.sum(np.abs(np.linalg.eig(c)[1]) ** 4),
        lambda c: np.linalg.det(c),
    ],
    ids=["eigvalsh", "eigh", "svd", "qr", "eig", "det"],
)
def test_gradients_in_a_loop(f: Any) -> None:
    a = matrices((4, 4), np.float64)

    def summed(a: Any) -> Any:
        return np.sum(ad.scan(lambda c, t: (c + 0.1 * t * a, f(c)), a, np.arange(1.0, 4.0))[1])

    slope = compiled_without_callbacks(ad.grad(summed), a)
    step, direction = 1e-6, matrices((4, 4), np.float32).astype(float)
    difference = (summed(a + step * direction) - summed(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(np.sum(slope * direction), difference, rtol=2e-6, atol=1e-6)
