"""Subgradients of convex functions, found and refuted."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.audit import generalized_jacobian, is_subgradient


@pytest.mark.row("A6.4.g")
def test_the_subdifferential_of_abs_is_an_interval_at_its_kink_and_one_slope_elsewhere():
    for z in (-1.0, -0.3, 0.0, 0.7, 1.0):
        assert is_subgradient(np.abs, 0.0, z)
    for z in (-1.001, 1.001, 3.0):
        assert not is_subgradient(np.abs, 0.0, z)
    assert is_subgradient(np.abs, 2.0, 1.0)
    assert not is_subgradient(np.abs, 2.0, 0.9)
    assert np.abs(ad.grad(np.abs)(0.0)) <= 1


@pytest.mark.row("A6.4.g")
def test_of_a_piecewise_linear_function_it_is_a_polytope():
    slopes = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -2.0]])
    f = lambda x: np.max(slopes @ x)
    origin = np.zeros(2)
    found = generalized_jacobian(f)(origin)
    assert sorted(found.vertices.tolist()) == sorted(slopes.tolist())
    rng = np.random.default_rng(1)
    for weights in rng.dirichlet(np.ones(3), 10):
        assert is_subgradient(f, origin, weights @ slopes)  # convex combinations of the slopes
        assert weights @ slopes in found
    for vertex in slopes:
        assert not is_subgradient(f, origin, 1.05 * vertex)
        assert 1.05 * vertex not in found


def test_trees_and_smooth_functions():
    f = lambda p: np.sum(p["a"] ** 2) + np.exp(p["b"])
    at = {"a": np.array([1.0, -2.0]), "b": 0.3}
    gradient = ad.grad(f)(at)
    assert is_subgradient(f, at, gradient)
    assert not is_subgradient(f, at, {"a": gradient["a"], "b": gradient["b"] + 0.01})
    with pytest.raises(ValueError, match="one for each"):
        is_subgradient(np.sum, np.ones(3), np.ones(2))
