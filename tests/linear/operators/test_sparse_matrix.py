"""Sparse matrices as maps, against SciPy."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import ShapeError

RNG = np.random.default_rng(19)
A = scipy.sparse.random_array((6, 5), density=0.3, rng=RNG)
entries, rows, columns = A.tocoo().data, *A.tocoo().coords
x, u = RNG.normal(size=5), RNG.normal(size=6)


def test_products():
    S = linear.as_map(A)
    assert_allclose(S @ x, A @ x, rtol=1e-13)
    assert_allclose(S.T @ u, A.T @ u, rtol=1e-13)
    assert_allclose(S.to_dense(), A.toarray())
    assert "entries" in repr(S)
    assert_allclose(ad.jit(lambda S, x: S @ x)(S, x), A @ x, rtol=1e-13)
    assert_allclose(ad.vmap(lambda x: S @ x)(np.stack([x, 2 * x])), np.stack([A @ x, 2 * (A @ x)]), rtol=1e-13)


def test_derivatives_in_entries_and_vector():
    f = lambda e, x: np.sum((linear.sparse(e, rows, columns, (6, 5)) @ x) ** 3)
    g = lambda e, x: np.sum(((lambda y: (np.add.at(y, (rows, columns), e), y)[1])(ad.numpy.zeros((6, 5))) @ x) ** 3)
    for found, expected in zip(ad.grad(f, (0, 1))(entries, x), ad.grad(g, (0, 1))(entries, x), strict=True):
        assert_allclose(found, expected, rtol=1e-11)
    ad.check_grads(f, (entries, x), order=2)


def test_other_matrices_and_mistakes():
    assert_allclose(linear.as_map(np.eye(2), "identity").to_dense(), np.eye(2))
    assert linear.as_map(linear.identity(3)).has("identity")
    assert linear.as_map(scipy.sparse.eye_array(3, dtype=int)).dtype == float
    with pytest.raises(ShapeError, match="a row lies outside"):
        linear.sparse([1.0], [3], [0], (3, 3))
    with pytest.raises(ShapeError, match="entries at"):
        linear.sparse([1.0], [0, 1], [0, 0], (3, 3))


def test_diagonals_of_matrices_that_are_not_square():
    for shape in ((4, 2), (2, 4)):
        dense = np.arange(1.0, 9.0).reshape(shape)
        rows, columns = np.nonzero(dense)
        A = linear.sparse(dense[rows, columns], rows, columns, shape)
        assert_allclose(A.diagonal(), np.diagonal(dense))
        assert_allclose(ad.jit(lambda A: A.diagonal())(A), np.diagonal(dense))
        v = np.arange(1.0, 1 + shape[1])
        assert_allclose(ad.jit(lambda A, v=v: A @ v)(A), dense @ v)  # traced places in a plain vector
