"""Eigenvectors of tridiagonal matrices: NumPy's up to their sign, with derivatives like those by differences."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.special.eigenvectors import TridiagonalEigh
from adjoint.testing import check_grads

DIAGONAL = np.array([[0.0, 4.0, 16.0, 36.0], [1.0, 1.5, -2.0, 0.5]])
BESIDE = np.array([[-1.3, 2.0, 0.7], [0.4, -0.9, 1.1]])


def matrix(d, e):
    inside = np.eye(len(e) + 1)
    return np.diag(d) + inside[:, :-1] * e @ inside[1:, :] + inside[:, 1:] * e @ inside[:-1, :]


@pytest.mark.parametrize("stack", [(), (2,)])
def test_values_and_signs(stack):
    a = np.array([np.diag(d) + np.diag(e, 1) + np.diag(e, -1) for d, e in zip(DIAGONAL, BESIDE, strict=True)])
    a = a if stack else a[0]
    w, v = TridiagonalEigh()(a)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=1e-13)
    np.testing.assert_allclose(a @ v, v * w[..., None, :], atol=1e-13)
    np.testing.assert_allclose(np.swapaxes(v, -1, -2) @ v, np.broadcast_to(np.eye(4), a.shape), atol=1e-14)
    assert np.all(np.max(v, axis=-2) == np.max(np.abs(v), axis=-2))


def test_derivatives():
    weights = np.cos(np.arange(16.0)).reshape(4, 4)

    def f(q):
        w, v = TridiagonalEigh()(np.diag(DIAGONAL[0]) + q * matrix(np.zeros(4), BESIDE[0]))
        return np.sum(w**2 * np.arange(1.0, 5.0)) + np.sum(v * weights)

    check_grads(f, (0.8,), order=3)
    check_grads(f, (0.0,), order=2)
    mapped = ad.vmap(ad.grad(f))(np.array([0.8, -2.0]))
    np.testing.assert_allclose(mapped, [ad.grad(f)(0.8), ad.grad(f)(-2.0)], rtol=1e-12)
