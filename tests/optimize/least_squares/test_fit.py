"""Fits as data."""

import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize


def test_fits_are_pickled_without_the_function():
    fit = optimize.curve_fit(lambda t, p: p * t, np.arange(4.0), np.arange(4.0) + 0.1, 1.0)
    again = pickle.loads(pickle.dumps(fit))
    assert again.value == fit.value
    assert again.standard_errors == fit.standard_errors
    with pytest.raises(ad.SolveError, match="pickles do not keep"):
        again.influence()


# y = 1 + 2 x₁ - x₂ with noise and two outliers; statsmodels 0.15.0: RLM(y, X, HuberT()).fit(cov="H1"), to convergence
RLM_SCALE = 0.3298957568468329
RLM_PARAMS = [1.0020339174628958, 1.987074589485105, -0.9998967669716103]
RLM_ERRORS = [0.050205415065833314, 0.05144651182111553, 0.05273009799427157]


def robust_data():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    y = X @ np.array([1.0, 2.0, -1.0]) + 0.3 * rng.normal(size=40)
    y[3] += 8
    y[9] -= 5
    return X, y


def test_robust_errors_are_those_of_statsmodels():
    X, y = robust_data()
    fit = optimize.least_squares(lambda p: X @ p - y, np.zeros(3), loss="huber", loss_scale=1.345 * RLM_SCALE)
    np.testing.assert_allclose(fit.value, RLM_PARAMS, rtol=1e-7)
    np.testing.assert_allclose(fit.standard_errors, RLM_ERRORS, rtol=1e-6)


@pytest.mark.parametrize("method", ["lm", "trf", "sparse"])
@pytest.mark.parametrize("loss", ["soft_l1", "cauchy"])
def test_robust_influence_is_the_derivative_of_the_fit(loss, method):
    X, y = robust_data()
    model = lambda x, p: x @ p
    fit = lambda y: optimize.curve_fit(model, X, y, np.ones(3), loss=loss, loss_scale=0.5, method=method)
    h = 1e-4
    for datum in (0, 3, 9):  # the last two are outliers, which pull little or the other way
        e = h * (np.arange(40) == datum)
        difference = (fit(y + e).value - fit(y - e).value) / (2 * h)
        np.testing.assert_allclose(fit(y).influence()[:, datum], difference, atol=2e-6)


def test_a_loss_that_is_nowhere_convex_tells_no_error():
    fit = optimize.least_squares(lambda p: p - np.array([-9.0, -8.0, 8.0, 9.0]), 0.0, loss="cauchy", max_iterations=0)
    with pytest.raises(ad.SolveError, match="larger loss_scale"):
        fit.covariance()


def test_frozen_parameters_have_no_error_and_the_others_theirs():
    """The same fit with the frozen parameter written into the model."""
    t = np.linspace(0.0, 4.0, 12)
    y = 2.0 * np.exp(-0.7 * t) + 0.3 + 0.02 * np.cos(9.0 * t)
    model = lambda t, p: p["a"] * np.exp(-p["k"] * t) + p["c"]
    frozen = optimize.curve_fit(model, t, y, {"a": 1.9, "c": 0.2, "k": 1.0}, frozen="a", bounds={"c": (0.0, None)})
    written = optimize.curve_fit(lambda t, p: model(t, {"a": 1.9, **p}), t, y, {"c": 0.2, "k": 1.0})
    errors, expected = frozen.standard_errors, written.standard_errors
    assert errors["a"] == 0.0
    np.testing.assert_allclose([errors["c"], errors["k"]], [expected["c"], expected["k"]])
    np.testing.assert_allclose(frozen.covariance()[1:, 1:], written.covariance())
    product = lambda p: p["c"] * p["k"]
    np.testing.assert_allclose(frozen.propagate(product), written.propagate(product))
    np.testing.assert_allclose(frozen.influence()["k"], written.influence()["k"], rtol=1e-9)
    assert np.all(frozen.influence()["a"] == 0.0)
    twice = lambda t, p: p["a"] * (p["b"] + p["c"]) * np.exp(-t)
    with pytest.raises(ad.SolveError, match=r"x\['b'\] and x\['c'\] separately"):
        optimize.curve_fit(twice, t, y, {"a": 1.0, "b": 1.0, "c": 1.0}, frozen="a").covariance()


def test_more_errors_than_data_are_refused():
    t = np.arange(4.0)
    for sigma in (np.eye(4) + 0.1, np.ones(3), np.ones((4, 1))):
        with pytest.raises(ad.ShapeError, match="sigma has shape"):
            optimize.curve_fit(lambda t, p: p * t, t, t, 1.0, sigma=sigma)
    assert optimize.curve_fit(lambda t, p: p * t, t, t, 1.0, sigma=2.0).converged
