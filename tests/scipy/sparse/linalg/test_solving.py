"""Equations with sparse matrices: SciPy's values, and derivatives in the entries and the right side."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import AdjointError
from adjoint.ops.linalg import sparse_solve
from adjoint.scipy import sparse
from adjoint.scipy.sparse import linalg
from tests.numpy.checking import Case, signed
from tests.scipy.signal.agreement import CHECKS

RNG = np.random.default_rng(3)
A = (scipy.sparse.random_array((6, 6), density=0.3, rng=RNG) + 3 * scipy.sparse.eye_array(6)).tocsc()
LOWER = scipy.sparse.tril(A).tocsr()
B, COLUMNS = signed(6), signed(6, 2)


def matrix(d):
    return sparse.csc_array((d, A.indices, A.indptr), shape=A.shape)


def lower(d):
    return sparse.csr_array((d, LOWER.indices, LOWER.indptr), shape=A.shape)


EQUATIONS = {
    "spsolve": (lambda d, b: linalg.spsolve(matrix(d), b), A.data, B),
    "spsolve columns": (lambda d, b: linalg.spsolve(matrix(d), b), A.data, COLUMNS),
    "spsolve one column": (lambda d, b: linalg.spsolve(matrix(d), b[:, None]), A.data, B),
    "spsolve complex": (lambda d, b: linalg.spsolve(matrix(d * (1 + 1j)), b), A.data, B),
    "spsolve sparse": (lambda d, b: linalg.spsolve(matrix(d), matrix(d).T).toarray() @ b, A.data, B),
    "splu": (lambda d, b: linalg.splu(matrix(d)).solve(b), A.data, B),
    "splu T": (lambda d, b: linalg.splu(matrix(d)).solve(b, "T"), A.data, B),
    "splu H": (lambda d, b: linalg.splu(matrix(d)).solve(b, "H"), A.data, COLUMNS),
    "factorized": (lambda d, b: linalg.factorized(matrix(d))(b), A.data, B),
    "spsolve_triangular": (lambda d, b: linalg.spsolve_triangular(lower(d), b), LOWER.data, B),
    "upper": (lambda d, b: linalg.spsolve_triangular(lower(d).T.tocsr(), b, lower=False), LOWER.data, COLUMNS),
    "inv": (lambda d, b: linalg.inv(matrix(d)) @ b, A.data, B),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", EQUATIONS)
def test_every_transformation(name, check):
    function, *inputs = EQUATIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
        check(Case(name, function, tuple(inputs)))


def test_unit_diagonal():
    strict = scipy.sparse.tril(A, -1).tocsr()
    make = lambda d: sparse.csr_array((d, strict.indices, strict.indptr), shape=A.shape)
    f = lambda d, b: linalg.spsolve_triangular(make(d), b, unit_diagonal=True)
    wanted = lambda d, b: np.linalg.solve(np.eye(6) + make(d).toarray(), b)
    value, pull = ad.vjp(f, strict.data, B)
    reference, other = ad.vjp(wanted, strict.data, B)
    np.testing.assert_allclose(value, reference, rtol=1e-12)
    for one, two in zip(pull(B), other(B), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11)


def test_the_gradient_has_the_pattern_of_the_entries():
    f = lambda d: np.sum(linalg.spsolve(matrix(d), B) ** 2)
    dense = ad.grad(lambda a: np.sum(np.linalg.solve(a, B) ** 2))(A.toarray())
    rows, columns = A.tocoo().coords
    np.testing.assert_allclose(ad.grad(f)(A.data), dense[rows, columns], rtol=1e-11)


def test_one_factorization_for_the_solution_and_its_derivatives(monkeypatch):
    counted = []
    original = scipy.sparse.linalg.splu
    count = lambda *args, **options: counted.append(1) or original(*args, **options)
    monkeypatch.setattr(scipy.sparse.linalg, "splu", count)
    sparse_solve._factors.clear()
    f = lambda d: np.sum(linalg.spsolve(matrix(d), B) ** 2)
    ad.grad(f)(1.01 * A.data)
    assert len(counted) == 1
    ad.hvp(f, (1.01 * A.data,), (A.data,)) if hasattr(ad, "hvp_of") else ad.jvp(ad.grad(f), (1.01 * A.data,), (A.data,))
    assert len(counted) == 1
    for k in range(10):
        f(A.data + k)
        sparse_solve.factorize(A.data + k, *A.tocoo().coords, 6)
    assert len(sparse_solve._factors) == sparse_solve.REMEMBERED


def test_compiled():
    f = lambda d, b: np.sum(linalg.spsolve(matrix(d), b) ** 2)
    for one, two in zip(ad.jit(ad.grad(f, (0, 1)))(A.data, B), ad.grad(f, (0, 1))(A.data, B), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_plain_factors_take_traced_sides():
    lu = linalg.splu(A)
    assert lu.L.shape == (6, 6)
    np.testing.assert_allclose(lu.solve(B), scipy.sparse.linalg.spsolve(A, B))
    gradient = ad.grad(lambda b: np.sum(lu.solve(b, "T") * B))(B)
    np.testing.assert_allclose(gradient, np.linalg.solve(A.toarray(), B), rtol=1e-12)
    np.testing.assert_allclose(ad.grad(lambda b: np.sum(linalg.factorized(A)(b)))(B), np.linalg.inv(A.toarray()).sum(0))


def test_singular_matrices_give_nan_and_a_warning():
    with pytest.warns(scipy.sparse.linalg.MatrixRankWarning):
        x = ad.vjp(lambda d: linalg.spsolve(sparse.diags_array(d).tocsc(), np.ones(2)), np.array([1.0, 0.0]))[0]
    assert np.isnan(x).all()


def test_what_cannot_be_is_refused():
    d = A.data
    with pytest.raises(AdjointError, match="square"):
        ad.grad(lambda d: np.sum(linalg.spsolve(matrix(d)[:3], B[:3])))(d)
    with pytest.raises(ValueError, match="dimension mismatch"):
        ad.grad(lambda d: np.sum(linalg.spsolve(matrix(d), B[:3])))(d)
    with pytest.raises(AdjointError, match="toarray"):
        ad.grad(lambda d: np.sum(linalg.splu(matrix(d)).L.toarray()))(d)
    with pytest.raises(np.linalg.LinAlgError, match="triangular"):
        ad.grad(lambda d: np.sum(linalg.spsolve_triangular(matrix(d), B)))(d)
    with pytest.raises(ValueError, match="trans"):
        ad.grad(lambda d: np.sum(linalg.splu(matrix(d)).solve(B, "X")))(d)


def test_scipys_own_name_the_counterpart():
    solved = lambda b: np.sum(scipy.sparse.linalg.spsolve(A, b))
    summed = lambda d: scipy.sparse.csr_array((d, LOWER.indices, LOWER.indptr)).sum()
    with config.override(convert=False):
        with pytest.raises(AdjointError, match=r"adjoint\.scipy\.sparse\.linalg\.spsolve"):
            ad.grad(solved)(B)
        with pytest.raises(AdjointError, match=r"adjoint\.scipy\.sparse\.csr_array"):
            ad.grad(summed)(LOWER.data)
    transposed = scipy.sparse.csc_array(A.T)
    np.testing.assert_allclose(ad.grad(solved)(B), scipy.sparse.linalg.spsolve(transposed, np.ones_like(B)), rtol=1e-10)
    np.testing.assert_array_equal(ad.grad(summed)(LOWER.data), np.ones_like(LOWER.data))
