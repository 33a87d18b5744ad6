"""All mixed partial derivatives, against nested derivatives and exact ones."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.series.multi_indices import interpolation, multi_indices, of_degree

X = np.array([0.3, -0.5, 0.7])


def f(x):
    return np.exp(x[0] * x[1]) * np.sin(x[2] + x[0] ** 2)


def test_against_nested_derivatives():
    found = ad.partials(f, 4)(X)
    third = ad.jacobian(ad.hessian(f))
    assert found[0, 0, 0] == f(X)
    assert_allclose(found.tensor(0), f(X))
    assert_allclose(found.tensor(1), ad.grad(f)(X), rtol=1e-13)
    assert_allclose(found.tensor(2), ad.hessian(f)(X), rtol=1e-12)
    assert_allclose(found.tensor(3), third(X), rtol=1e-11, atol=1e-13)
    assert_allclose(found.tensor(4), ad.jacobian(third)(X), rtol=1e-10, atol=1e-12)


def test_each_is_stored_once():
    found = ad.partials(f, 4)(X)
    assert len(found) == len(found.indices) == found.values.shape[0] == math.comb(7, 4) == 35
    assert list(found) == list(multi_indices(3, 4))
    assert len(of_degree(10, 3)) == math.comb(12, 3)


@pytest.mark.parametrize("order, digits", [(4, 1e-14), (7, 1e-11), (10, 1e-9)])
def test_high_orders(order, digits):
    """∂^α e^(x + 2y - z/2) = 2^α₂ (-1/2)^α₃ at zero."""
    found = ad.partials(lambda x: np.exp(x[0] + 2 * x[1] - x[2] / 2), order)(np.zeros(3))
    expected = [2.0 ** a[1] * (-0.5) ** a[2] for a in found]
    assert_allclose(found.values, expected, rtol=digits, atol=digits)


def test_polynomials_are_exact():
    found = ad.partials(lambda x: x[0] ** 3 * x[1] ** 2 - x[1], 6)(np.array([1.0, 2.0]))
    assert found[3, 2] == pytest.approx(12.0, rel=1e-12)
    assert found[0, 1] == pytest.approx(3.0, rel=1e-12)
    assert found[4, 2] == pytest.approx(0.0, abs=1e-10)


def test_weights_reproduce_monomials():
    """Along s, x^α has the coefficient s^α at order |α|; the weights give α! for α and 0 for the others."""
    for degree in (1, 2, 3):
        places, weights = interpolation(3, degree, 4)
        directions = np.array(of_degree(3, 4))
        for j, index in enumerate(of_degree(3, degree)):
            values = np.prod(directions**index, axis=1)
            expected = np.zeros(places.shape[0])
            expected[j] = math.prod(map(math.factorial, index))
            assert_allclose(np.sum(weights * values[places], axis=1), expected, atol=1e-12)


def test_trees_of_arguments_and_results():
    g = lambda p, scale: {"y": scale * p["a"] * p["b"] ** 2, "z": np.stack([p["a"] ** 2, p["b"]])}
    found = ad.partials(g, 3)({"a": 2.0, "b": 3.0}, 5.0)
    assert found[1, 2]["y"] == pytest.approx(10.0)
    assert_allclose(found[2, 0]["z"], [2.0, 0.0], atol=1e-13)
    assert found.tensor(2)["z"].shape == (2, 2, 2)


def test_transformations():
    third = lambda x: ad.partials(f, 3)(x)[1, 1, 1]
    h = 1e-5
    step = np.array([h, 0.0, 0.0])
    assert ad.grad(third)(X)[0] == pytest.approx((third(X + step) - third(X - step)) / (2 * h), rel=1e-6)
    assert ad.jit(third)(X) == pytest.approx(third(X), rel=1e-11)
    assert_allclose(ad.vmap(third)(np.stack([X, 2 * X])), [third(X), third(2 * X)], rtol=1e-12)


def test_what_does_not_fit_is_refused():
    found = ad.partials(f, 2)(X)
    for wrong in ((1, 1), (2, 1, 0), (-1, 0, 0), 1):
        with pytest.raises(IndexError, match="multi-index"):
            found[wrong]
    with pytest.raises(IndexError, match="tensor"):
        found.tensor(3)
    with pytest.raises(ValueError, match="partial derivatives up to order"):
        ad.partials(np.sum, 6)(np.zeros(200))
    with pytest.raises(ValueError, match="no elements"):
        ad.partials(np.sum, 1)(np.zeros(0))


def test_indices_are_whole_numbers():
    found = ad.partials(f, 2)(X)
    assert found[np.array([1, 1, 0])] == found[1, 1, 0]
    with pytest.raises(TypeError, match="integer"):
        found[0.5, 0, 0]
