"""Iterative solvers by SciPy's names: SciPy's solutions, and derivatives of the equation."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import adjoint as ad
from adjoint.linear import LinearMap
from adjoint.scipy import sparse
from adjoint.scipy.sparse import linalg

n = 8
A = scipy.sparse.diags_array([-np.ones(n - 1), 2.5 + np.arange(n) / n, -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
B = np.cos(np.arange(n))
NAMES = ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"]


def matrix(d):
    return sparse.csr_array((d, A.indices, A.indptr), shape=A.shape)


@pytest.mark.parametrize("name", NAMES)
def test_solution_and_derivatives(name):
    solver = getattr(linalg, name)
    f = lambda d, b: solver((matrix(d) + matrix(d).T) / 2, b, rtol=1e-12)[0]
    wanted = lambda d, b: np.linalg.solve((matrix(d).toarray() + matrix(d).toarray().T) / 2, b)
    np.testing.assert_allclose(f(A.data, B), wanted(A.data, B), rtol=1e-9)
    value, pull = ad.vjp(f, A.data, B)
    np.testing.assert_allclose(value, wanted(A.data, B), rtol=1e-9)
    for one, two in zip(pull(B), ad.vjp(wanted, A.data, B)[1](B), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)


def test_options():
    info = ad.vjp(lambda b: linalg.cg(A, b, maxiter=1)[0], B)[0]
    assert np.abs(A @ info - B).max() > 1e-3
    M = scipy.sparse.diags_array(1 / A.diagonal())
    x, code = ad.jit(lambda b: linalg.cg(A, b, np.ones(n), rtol=1e-10, M=M))(B)
    np.testing.assert_allclose(A @ x, B, atol=1e-8)
    assert code == 0
    assert ad.jit(lambda b: linalg.gmres(A, b, maxiter=1, restart=2))(B)[1] > 0
    with pytest.raises(TypeError, match=r"adjoint\.linear\.cg"):
        ad.grad(lambda b: np.sum(linalg.cg(A, b, callback=print)[0]))(B)


def test_operators():
    f = lambda d: np.sum((linalg.aslinearoperator(matrix(d)) @ B) ** 2)
    np.testing.assert_allclose(ad.grad(f)(A.data), ad.grad(lambda d: np.sum((matrix(d) @ B) ** 2))(A.data))
    assert isinstance(linalg.aslinearoperator(A), scipy.sparse.linalg.LinearOperator)
    assert isinstance(ad.jit(lambda d: linalg.aslinearoperator(matrix(d)))(A.data), LinearMap)


def test_operators_whose_products_close_over_traced_values():
    """In code as it stands; d alone is traced in the second, where the right side is plain."""

    def solved(d, b):
        operator = scipy.sparse.linalg.LinearOperator((3, 3), matvec=lambda v: d * v + 0.3 * np.roll(v, 1))
        jacobi = scipy.sparse.linalg.LinearOperator((3, 3), matvec=lambda v: v / d, dtype=float)
        x, code = scipy.sparse.linalg.gmres(operator, b, rtol=1e-13, atol=0.0, M=jacobi)
        return x + (code == 0) - 1 + operator.matvec(b)

    d, b = np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, -1.0])
    dense = lambda d: np.diag(d) + 0.3 * np.roll(np.eye(3), 1, axis=0)
    expected = lambda d, b: np.linalg.solve(dense(d), b) + dense(d) @ b
    np.testing.assert_allclose(solved(d, b), expected(d, b), rtol=1e-10)
    for argnum in (0, 1):
        want = ad.jacobian(expected, argnums=argnum)(d, b)
        np.testing.assert_allclose(ad.jacobian(solved, argnums=argnum)(d, b), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.jacobian(solved))(d, b), ad.jacobian(expected)(d, b), rtol=1e-9, atol=1e-12)


def test_operators_by_their_functions():
    def products(d, b):
        forwards, backwards = lambda v: np.stack([d @ v, v.sum()]), lambda u: d * u[0] + u[1]
        operator = scipy.sparse.linalg.LinearOperator((2, 3), matvec=forwards, rmatvec=backwards, dtype=float)
        return np.sum(operator.matvec(b)) + operator.rmatvec(np.ones(2)) @ b

    d, b = np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(ad.grad(products)(d, b), 2 * b, rtol=1e-14)
