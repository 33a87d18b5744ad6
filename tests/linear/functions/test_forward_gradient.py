"""Gradients from random forward passes: trees, arguments, transformations, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad

X = {"a": np.array([0.3, -1.0, 0.7]), "b": 0.4}


def f(scale, p):
    return scale * np.sum(np.sin(p["a"]) * p["b"])


def test_trees_and_other_arguments():
    found = ad.forward_gradient(f, 1, samples=3000)(0, 2.0, X)
    exact = ad.grad(f, 1)(2.0, X)
    for name in X:
        assert np.all(np.abs(found.value[name] - exact[name]) < 5 * found.error[name])
    assert found.products == 3000


def test_generators_compiled():
    rng = ad.random.default_rng(1)
    compiled = ad.jit(lambda rng, p: ad.forward_gradient(f, 1, samples=3)(rng, 2.0, p).value)
    first, second = compiled(rng, X), compiled(rng, X)
    assert_allclose(first["a"], ad.forward_gradient(f, 1, samples=3)(1, 2.0, X).value["a"], rtol=1e-12)
    assert abs(second["b"] - first["b"]) > 1e-6


def test_derivatives_and_lanes():
    g = lambda x: ad.forward_gradient(lambda y: np.sum(np.exp(y)), samples=2)(0, x).value
    x = X["a"]
    h = 1e-6
    expected = (g(x + h) - g(x - h)) / (2 * h)
    assert_allclose(ad.jvp(g, (x,), (np.ones(3),))[1], expected, rtol=1e-7)
    assert_allclose(ad.vmap(g)(np.stack([x, 2 * x])), [g(x), g(2 * x)], rtol=1e-13)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="one real number"):
        ad.forward_gradient(np.sin)(0, np.ones(2))
    with pytest.raises(TypeError, match="complex"):
        ad.forward_gradient(np.abs)(0, 1j)
    with pytest.raises(ValueError, match="argnums=2"):
        ad.forward_gradient(np.sin, 2)(0, 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        ad.forward_gradient(np.sin, samples=0)
