"""Factors are made once, serve many right sides, and have derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import ShapeError
from tests.book.recording import names, recorded

RNG = np.random.default_rng(17)
a = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
spd = a @ a.T


def test_later_solves_are_substitutions():
    for A, kind in ((linear.matrix(spd, "positive definite"), "cholesky"), (linear.matrix(a), "lu")):
        F = linear.factored(A)
        assert F.method == f"{kind} factors"
        assert names(recorded(F.solve, np.ones(4)))["solve_triangular"] == 2
        assert not {"solve", "cholesky", "lu"} & set(names(recorded(F.solve, np.ones(4))))
    assert linear.factored(linear.diagonal(np.ones(3))).method == "diagonal"


def test_least_squares_and_adjoint_equations():
    tall, b = RNG.normal(size=(6, 3)), RNG.normal(size=6)
    expected = np.linalg.lstsq(tall, b)[0]
    assert_allclose(linear.factored(linear.matrix(tall)).solve(b), expected, rtol=1e-10)
    assert_allclose(linear.matrix(tall).solve(b), expected, rtol=1e-10)
    c = RNG.normal(size=3)
    assert_allclose(linear.matrix(tall).T.solve(c), np.linalg.pinv(tall.T) @ c, rtol=1e-9)
    F = linear.factored(linear.matrix(a))
    assert_allclose(F.T.solve(b[:4]), np.linalg.solve(a.T, b[:4]), rtol=1e-10)
    with pytest.raises(ShapeError, match="factor its adjoint"):
        linear.factored(linear.matrix(tall).T)


@pytest.mark.parametrize("kind", ["positive definite", ""])
def test_derivatives_in_the_matrix(kind):
    b = RNG.normal(size=4)

    def by_factors(root):
        F = linear.factored(linear.matrix(root @ root.T, *([kind] if kind else [])))
        return np.sum(F.solve(F.solve(b)) ** 2)

    expected = lambda root: np.sum(np.linalg.solve(root @ root.T, np.linalg.solve(root @ root.T, b)) ** 2)
    assert_allclose(ad.grad(by_factors)(a), ad.grad(expected)(a), rtol=1e-8, atol=1e-10)
    assert_allclose(ad.jit(ad.grad(by_factors))(a), ad.grad(expected)(a), rtol=1e-8, atol=1e-10)
    stack = np.stack([a, a.T])
    assert_allclose(ad.vmap(by_factors)(stack), [expected(a), expected(a.T)], rtol=1e-9)


def test_direct_methods_by_name():
    b = RNG.normal(size=4)
    A = linear.matrix(spd, "positive definite")
    for method in ("cholesky", "lu", "qr"):
        assert_allclose(A.solve(b, method=method), np.linalg.solve(spd, b), rtol=1e-9)
    with pytest.raises(ValueError, match="is no direct method"):
        A.solve(b, method="magic")
    with pytest.raises(ShapeError, match="needs as many rows"):
        linear.matrix(np.ones((2, 3))).solve(np.ones(2), method="lu")
