"""Laplacians against the trace of the Hessian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 3))
X = RNG.normal(size=3)

FUNCTIONS = {
    "network": lambda x: np.sum(np.tanh(A @ x) ** 2),
    "product": lambda x: x[0] * x[1] * np.exp(x[2]) / (1 + x[0] ** 2),
    "written": lambda x: _written(x),
    "loop": lambda x: ad.scan(lambda c, _: (np.sin(c) * x[0], None), x[1] * x[2], None, length=4)[0],
    "branch": lambda x: ad.cond(x[0] > 0, lambda x: np.sum(x**3), lambda x: np.sum(np.exp(x)), x),
    "norm": lambda x: np.linalg.norm(x),
    "determinant": lambda x: np.linalg.slogdet(np.eye(3) * 3 + np.outer(x, x))[1],
    "linear": lambda x: np.sum(A @ x),
}


def _written(x):
    y = ad.numpy.zeros(3)
    y[0] = x[1] ** 3
    y[1:] += x[:2] * x[2]
    return np.prod(y + 1.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_the_trace_of_the_hessian(name):
    f = FUNCTIONS[name]
    assert ad.laplacian(f)(X) == pytest.approx(np.trace(ad.hessian(f)(X)), rel=1e-12, abs=1e-13)


def test_harmonic_functions():
    """1/‖x‖ in space and log ‖x‖ in the plane."""
    assert ad.laplacian(lambda x: 1 / np.sqrt(np.sum(x**2)))(X) == pytest.approx(0.0, abs=1e-12)
    assert ad.laplacian(lambda x: np.log(np.sum(x**2)))(X[:2]) == pytest.approx(0.0, abs=1e-12)


def test_trees_and_other_arguments():
    g = lambda p, c: {"s": c * np.sum(p["a"] ** 3) * p["b"], "v": p["a"] ** 2, "k": 1.0}
    found = ad.laplacian(g)({"a": np.array([1.0, 2.0]), "b": 3.0}, 2.0)
    assert found["s"] == pytest.approx(2 * 6 * 3.0 * 3)
    assert_allclose(found["v"], [2.0, 2.0])
    assert found["k"] == 0.0
    assert ad.laplacian(np.sin)(1.0) == pytest.approx(-np.sin(1.0))


def test_transformations():
    f = FUNCTIONS["network"]
    delta = ad.laplacian(f)
    h = 1e-5
    expected = [(delta(X + h * e) - delta(X - h * e)) / (2 * h) for e in np.eye(3)]
    assert_allclose(ad.grad(delta)(X), expected, rtol=1e-7)
    assert_allclose(ad.vmap(delta)(np.stack([X, 2 * X])), [delta(X), delta(2 * X)], rtol=1e-12)
    value, slope = ad.jit(ad.value_and_grad(delta))(X)
    assert value == pytest.approx(delta(X), rel=1e-12)
    assert_allclose(slope, expected, rtol=1e-7)
    assert ad.laplacian(delta)(X) == pytest.approx(np.trace(ad.hessian(delta)(X)), rel=1e-10)
    scaled = lambda c: ad.laplacian(lambda x: np.sum(np.exp(c * x)))(X)  # closing over a traced value
    assert ad.grad(scaled)(0.5) == pytest.approx((scaled(0.5 + h) - scaled(0.5 - h)) / (2 * h), rel=1e-7)
