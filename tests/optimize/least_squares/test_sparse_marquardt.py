"""Least squares with sparse Jacobians: the dense answers, for many unknowns, in all that SciPy calls them by."""

import numpy as np
import pytest
from scipy import optimize as theirs
from scipy import sparse

import adjoint as ad
from adjoint import optimize

LINEAR = ("cholesky", "schur", "lsmr")


def chain(x, a):
    """A chained Rosenbrock function, whose residuals see two unknowns each."""
    return np.concatenate([10 * (x[1:] - x[:-1] ** 2), a - x[:-1]])


def bundle(seed=0, cameras=5, points=30):
    """A small bundle adjustment: each residual sees one camera and one point."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(cameras) for j in range(points) if rng.random() < 0.6]
    i, j = np.array(pairs).T
    data = rng.normal(size=(len(i), 2))
    home = np.array([0.0, 0.0, 0.0, 1.0])

    def residual(p):
        c, q = p["camera"][i], p["point"][j]
        u = c[:, 3] * (q[:, 0] + c[:, 0]) / (2 + 0.1 * q[:, 1])
        v = c[:, 3] * (q[:, 1] + c[:, 1]) + c[:, 2] * q[:, 0]
        return {"seen": np.stack([u, v], axis=1) - data, "prior": 0.3 * (p["camera"] - home), "ridge": 0.1 * p["point"]}

    return residual, {"camera": np.tile(home, (cameras, 1)), "point": np.zeros((points, 2))}


@pytest.mark.parametrize("linear", LINEAR)
def test_the_answer_is_that_of_the_dense_method(linear):
    dense = optimize.least_squares(chain, np.full(8, 0.5), 1.3, method="lm")
    found = optimize.least_squares(chain, np.full(8, 0.5), 1.3, method=optimize.SparseMarquardt(linear=linear))
    assert found.converged
    np.testing.assert_allclose(found.value, dense.value, atol=1e-7)
    np.testing.assert_allclose(found.fun, dense.fun, rtol=1e-12)
    if linear == "lsmr":
        assert found.evaluations["jacobian"] == 0
        assert found.evaluations["vjp"] > 0
        with pytest.raises(ad.SolveError, match="products with the Jacobian alone"):
            _ = found.standard_errors
    else:
        np.testing.assert_allclose(found.standard_errors, dense.standard_errors, rtol=1e-6)


@pytest.mark.parametrize(
    "method",
    ["schur", "sparse", pytest.param("lsmr", marks=pytest.mark.sweep), optimize.SparseMarquardt(eliminate="camera")],
    ids=str,
)
def test_bundle_adjustment_agrees_with_scipy(method):
    residual, x0 = bundle()
    flat, back = ad.tree.ravel(x0)
    r = lambda v: np.concatenate([np.ravel(leaf) for leaf in ad.tree.leaves(residual(back(v)))])
    reference = theirs.least_squares(r, flat, xtol=1e-15, ftol=1e-15, gtol=1e-12)
    found = optimize.least_squares(residual, x0, method=method)
    assert found.converged
    np.testing.assert_allclose(found.fun, reference.cost, rtol=1e-9)


def test_many_unknowns_take_a_sparse_jacobian_of_few_products():
    found = optimize.least_squares(chain, np.full(3000, 0.9), 1.0)
    assert "SparseMarquardt" in found.method
    np.testing.assert_allclose(found.value, 1.0, atol=1e-9)
    assert "LevenbergMarquardt" in optimize.least_squares(chain, np.full(310, 0.9), 1.0, sparsity=None).method


def test_a_pattern_and_a_sparse_jacobian_of_the_users_are_taken():
    n = 6
    upper = lambda x: sparse.diags_array([-20 * x[:-1], np.full(n - 1, 10.0)], offsets=[0, 1], shape=(n - 1, n))
    J = lambda x, a: sparse.vstack([upper(x), -sparse.eye_array(n - 1, n)])
    expected = optimize.least_squares(chain, np.full(n, 0.5), 1.2, method="lm")
    given = optimize.least_squares(chain, np.full(n, 0.5), 1.2, method="sparse", jacobian=J)
    pattern = J(np.ones(n), 1.0) != 0
    known = optimize.least_squares(chain, np.full(n, 0.5), 1.2, method=optimize.SparseMarquardt(pattern=pattern))
    for found in (given, known):
        np.testing.assert_allclose(found.value, expected.value, atol=1e-8)


@pytest.mark.parametrize("linear", LINEAR)
def test_bounds_and_losses(linear):
    method = optimize.SparseMarquardt(linear=linear)
    x0 = np.full(6, 0.5)
    low = optimize.least_squares(chain, x0, 1.3, method=method, bounds=(None, 0.9))
    reference = theirs.least_squares(chain, x0, args=(1.3,), bounds=(-np.inf, 0.9), xtol=1e-15, ftol=1e-15, gtol=1e-13)
    np.testing.assert_allclose(low.fun, reference.cost, rtol=1e-8)
    assert np.all(low.value <= 0.9)
    soft = optimize.least_squares(chain, x0, 1.3, method=method, loss="soft_l1")
    reference = theirs.least_squares(chain, x0, args=(1.3,), loss="soft_l1", xtol=1e-15, ftol=1e-15, gtol=1e-13)
    np.testing.assert_allclose(soft.fun, reference.cost, rtol=1e-8)


def test_derivatives_compiled_and_batched():
    solve = lambda a: optimize.least_squares(chain, np.full(310, 0.9), a, tol=1e-12).value[2]
    h = 1e-4
    expected = (solve(1.05 + h) - solve(1.05 - h)) / (2 * h)
    np.testing.assert_allclose(ad.grad(solve)(1.05), expected, rtol=1e-5)
    np.testing.assert_allclose(ad.jit(solve)(1.05), solve(1.05), rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(solve)(np.array([1.0, 1.05])), [solve(1.0), solve(1.05)], rtol=1e-12)


def test_what_cannot_be_eliminated_is_said():
    residual, x0 = bundle()
    with pytest.raises(ad.ShapeError, match="is no leaf of x"):
        optimize.least_squares(residual, x0, method=optimize.SparseMarquardt(eliminate="points"))
    with pytest.raises(ad.ShapeError, match="more than one block"):
        optimize.least_squares(lambda p: p["a"][1:] - p["a"][:-1], {"a": np.arange(4.0)},
                               method=optimize.SparseMarquardt(eliminate="a"))  # fmt: skip
    with pytest.raises(ValueError, match="Did you mean cholesky"):
        optimize.SparseMarquardt(linear="cholesk")


def test_the_digits_that_normal_equations_lose_come_back():
    """Columns nearly parallel: JᵀJ has condition 1e14."""
    t = np.linspace(0.0, 1.0, 20)
    A = np.stack([np.ones(20), 1 + 1e-7 * t], axis=1)
    b = A @ np.array([1.0, 2.0])
    method = optimize.SparseMarquardt(linear="cholesky", damping=1e-14)
    found = optimize.least_squares(lambda x: A @ x - b, np.zeros(2), method=method, tol=1e-15)
    np.testing.assert_allclose(A @ found.value, b, atol=1e-14)
