"""Derivatives where eigenvalues or singular values coincide, compiled: the same as without compilation."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.degenerate_basis import AdaptedEighBasis
from adjoint.ops.linalg.eigenvalues import Defect
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(5)
Q = np.linalg.qr(R.normal(size=(4, 4)))[0]


@pytest.mark.parametrize("w", [[1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
@pytest.mark.parametrize("imaginary", [0.0, 1.0])
def test_the_basis_makes_the_tangent_diagonal(w: list[float], imaginary: float) -> None:
    da = R.normal(size=(4, 4)) + imaginary * 1j * R.normal(size=(4, 4))
    da = (da + np.conj(da.T)) if imaginary else np.real(da + da.T)
    v = Q.astype(da.dtype)
    values = np.array(w)
    got = compiled_without_callbacks(lambda w, v, da: AdaptedEighBasis()(w, v, da), values, v, da)
    inner = np.conj(got.T) @ da @ got
    same = np.equal.outer(values, values)
    np.testing.assert_allclose(np.where(same, inner - np.diag(np.diag(inner)), 0), 0, atol=1e-12)
    np.testing.assert_allclose(np.conj(got.T) @ got, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(got * values @ np.conj(got.T), v * values @ np.conj(v.T), atol=1e-12)
    for value in set(w):  # ascending in each block
        block = np.real(np.diag(inner))[values == value]
        assert np.all(np.diff(block) >= 0)
    alone = np.sum(same, axis=0) == 1
    np.testing.assert_array_equal(got[:, alone], v[:, alone])


def test_stacks_decide_for_each_matrix() -> None:
    w = np.array([[1.0, 2.0], [3.0, 3.0]])
    v = np.broadcast_to(np.eye(2), (2, 2, 2)).copy()
    da = np.broadcast_to(np.array([[0.0, 1.0], [1.0, 0.0]]), (2, 2, 2)).copy()
    got = compiled_without_callbacks(lambda w, v, da: AdaptedEighBasis()(w, v, da), w, v, da)
    np.testing.assert_array_equal(got[0], v[0])
    np.testing.assert_allclose(np.abs(got[1]), np.sqrt(0.5), atol=1e-14)


def test_defective_matrices() -> None:
    w = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]]) + 0j
    v = np.array([[[1.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]]) + 0j
    got = compiled_without_callbacks(lambda w, v: Defect()(w, v), w, v)
    np.testing.assert_array_equal(np.isnan(got), [True, False, False])


@pytest.mark.parametrize("name", ["eigvalsh", "svd", "eigvals"])
@pytest.mark.parametrize("degenerate", [False, True])
def test_second_derivatives(name: str, degenerate: bool) -> None:
    """tr A⁴ by eigenvalues, tr (Aᵀ A)² by singular values: polynomials, whatever coincides."""
    a = Q * (np.array([1.0, 1.0, 2.0, 3.0]) if degenerate else np.array([1.0, 1.5, 2.0, 3.0])) @ Q.T
    values = {
        "eigvalsh": lambda x: np.linalg.eigvalsh(x) ** 4,
        "svd": lambda x: np.linalg.svd(x)[1] ** 4,
        "eigvals": lambda x: np.real(np.linalg.eig(x)[0] ** 4),
    }[name]
    direction = R.normal(size=(4, 4))
    direction = direction + direction.T

    def along(f: Any) -> Any:
        return lambda t: ad.jvp(lambda t: ad.jvp(lambda t: f(a + t * direction), (t,), (1.0,))[1], (t,), (1.0,))[1]

    got = ad.jit(along(lambda x: np.sum(values(x))))(0.0)
    want = along(lambda x: np.trace(x @ x @ x @ x))(0.0)
    np.testing.assert_allclose(got, want, rtol=1e-9)
