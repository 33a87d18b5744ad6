"""Vectors chosen for a direction: factors stay factors, and values move as they do along the line."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.degenerate_basis import AdaptedEighBasis, AdaptedSVDBasis, equal_runs
from adjoint.ops.linalg.spectral import SVD

KINDS = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])


def draw(*shape, complex_=False, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if complex_ else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def test_groups_are_runs_of_equal_values() -> None:
    together = np.zeros((5, 5), bool)
    together[0, 1] = together[1, 0] = together[3, 4] = together[4, 3] = True
    assert list(equal_runs(together)) == [slice(0, 2), slice(3, 5)]


@KINDS
def test_equal_eigenvalues_move_along_the_line(complex_) -> None:
    q = np.linalg.qr(draw(4, 4, complex_=complex_))[0]
    a = hermitian((q * np.array([1.0, 2.0, 2.0, 2.0])) @ adjoint(q))
    e = hermitian(draw(4, 4, complex_=complex_, seed=1))
    (w, v), (dw, _) = ad.jvp(lambda a: tuple(np.linalg.eigh(a)), (a,), (e,))
    np.testing.assert_allclose((v * w) @ adjoint(v), a, atol=1e-12)
    np.testing.assert_allclose(adjoint(v) @ v, np.eye(4), atol=1e-12)
    h = 1e-6
    np.testing.assert_allclose(dw, (np.linalg.eigvalsh(a + h * e) - w) / h, atol=1e-4)
    turned = adjoint(v) @ e @ v
    np.testing.assert_allclose(turned[1:, 1:], np.diag(np.diag(turned)[1:]), atol=1e-12)


@KINDS
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)], ids=str)
@pytest.mark.parametrize("s", [(2, 2, 1), (2, 0, 0), (2, 2, 0)], ids=str)
def test_equal_and_zero_singular_values_move_along_the_line(s, shape, full, complex_) -> None:
    left, right = (np.linalg.qr(draw(k, k, complex_=complex_, seed=k))[0] for k in shape)
    a = (left[:, :3] * np.array(s)) @ adjoint(right)[:3]
    e = draw(*shape, complex_=complex_, seed=9)
    (u, found, vh), (_, ds, _) = ad.jvp(SVD(full and shape[0] != shape[1]), (a,), (e,))
    np.testing.assert_allclose((u[:, :3] * found) @ vh[:3], a, atol=1e-12)
    np.testing.assert_allclose(adjoint(u) @ u, np.eye(u.shape[1]), atol=1e-12)
    np.testing.assert_allclose(vh @ adjoint(vh), np.eye(len(vh)), atol=1e-12)
    h = 1e-6
    np.testing.assert_allclose(ds, (np.linalg.svd(a + h * e, compute_uv=False) - found) / h, atol=1e-4)


def test_values_apart_and_directions_that_are_not_numbers_change_nothing() -> None:
    w, v = np.linalg.eigh(hermitian(draw(3, 3)))
    assert AdaptedEighBasis().evaluate(w, v, np.ones((3, 3))) is v
    u, s, vh = np.linalg.svd(np.eye(2))
    nan = np.full((2, 2), np.nan)
    np.testing.assert_array_equal(AdaptedEighBasis().evaluate(np.ones(2), np.eye(2), nan), np.eye(2))
    for found, given in zip(AdaptedSVDBasis().evaluate(s, u, vh, nan), (u, vh), strict=True):
        np.testing.assert_array_equal(found, given)


def test_a_function_of_the_matrix_written_with_vectors_has_its_slope() -> None:
    """V g(w) Vᵀ by forward mode, where eigenvalues coincide."""
    a, e = np.diag([1.0, 1.0, 2.0]), hermitian(draw(3, 3))

    def exponential(a):
        w, v = np.linalg.eigh(a)
        return (v * np.exp(w)) @ v.T

    h = 1e-5
    expected = (exponential(a + h * e) - exponential(a - h * e)) / (2 * h)
    np.testing.assert_allclose(ad.jvp(exponential, (a,), (e,))[1], expected, atol=1e-8)
