"""`curvature=`: a matrix that stands for the Hessian."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import curvature, optimize

T = np.linspace(0.0, 2.0, 12)
DATA = 1.5 * np.exp(-0.8 * T) + 0.05 * np.cos(7 * T)


def model(p, t):
    return p["a"] * np.exp(-p["k"] * t)


def f(p, t):
    return 0.5 * np.sum((model(p, t) - DATA) ** 2)


def product(p, u, t):
    return curvature.gauss_newton_product(lambda z: 0.5 * np.sum((z - DATA) ** 2), lambda p: model(p, t), (p,), (u,))


@pytest.mark.parametrize("method", ["newton", "trust-exact", "newton-cg", "cubic"])
def test_gauss_newton_for_the_hessian(method):
    start = {"a": 1.0, "k": 1.0}
    reference = optimize.least_squares(lambda p: model(p, T) - DATA, start).value
    for found in (
        optimize.minimize(f, start, T, method=method, curvature=product),
        ad.jit(lambda t: optimize.minimize(f, start, t, method=method, curvature=product))(T),
        optimize.minimize(f, start, T, method=method, curvature=product, scale={"a": 2.0, "k": 0.5}),
    ):
        assert found.converged
        np.testing.assert_allclose(found.value["k"], reference["k"], atol=1e-6)


def test_derivatives_are_those_of_the_function_whatever_stood_for_the_hessian():
    start = {"a": 1.0, "k": 1.0}
    g = lambda p, lam: f(p, T) + lam * p["k"] ** 2
    solve = lambda lam, **own: optimize.minimize(g, start, lam, tol=1e-11, **own).value["k"]
    rough = lambda p, u, lam: product(p, u, T)
    found = ad.grad(lambda lam: solve(lam, method="newton", curvature=rough))(0.1)
    np.testing.assert_allclose(found, (solve(0.1001) - solve(0.0999)) / 2e-4, rtol=1e-5)


def test_frozen_leaves_do_not_move_and_other_trees_are_refused():
    start = {"a": 1.4, "k": 1.0}
    found = optimize.minimize(f, start, T, method="newton", curvature=product, frozen="a")
    assert found.converged
    assert found.value["a"] == 1.4
    with pytest.raises(ad.TreeError, match="curvature"):
        optimize.minimize(f, start, T, method="newton", curvature=lambda p, u, t: u["a"])


def test_products_make_a_gradient_of_the_users_enough_for_second_order():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    found = optimize.minimize(lambda x: 0.5 * x @ H @ x - x[0], np.ones(2), grad=lambda x: H @ x - np.array([1.0, 0.0]),
                              method="newton", curvature=lambda x, u: H @ u)  # fmt: skip
    assert found.iterations == 1
    np.testing.assert_allclose(found.value, np.linalg.solve(H, [1.0, 0.0]))
