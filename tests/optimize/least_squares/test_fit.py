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
