"""Generalized linear models by `minimize`: coefficients and standard errors as statsmodels has them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

I = np.arange(24.0)
X = np.column_stack([np.ones(24), np.sin(1.7 * I), np.cos(0.9 * I)])
COUNTS = np.round(np.exp(0.8 + 0.6 * X[:, 1] - 0.4 * X[:, 2]) + 0.7 * np.sin(5 * I) ** 2 + 0.2)
CLASSES = (0.3 + 1.1 * X[:, 1] - 0.8 * X[:, 2] + 1.3 * np.sin(11 * I) > 0).astype(float)
SIZES = np.exp(0.5 + 0.3 * X[:, 1]) * (1 + 0.3 * np.sin(7 * I))


def poisson(w, X, y):
    return np.sum(np.exp(X @ w) - y * (X @ w))


def binomial(w, X, y):
    return np.sum(np.logaddexp(0.0, X @ w) - y * (X @ w))


def gamma(w, X, y):
    return np.sum(X @ w + y * np.exp(-(X @ w)))


# statsmodels 0.15.0: GLM(y, X, family).fit(tol=1e-14), params and bse; Gamma with the link Log, and its scale
MODELS = {
    "poisson": (poisson, COUNTS, [1.0083480286223643, 0.5316030573352178, -0.3083380925856461],
                [0.12928820590396436, 0.17635069381338395, 0.18805990729926367]),
    "binomial": (binomial, CLASSES, [0.42867531170133777, 1.5375135323367237, -1.2284520493623892],
                 [0.49575992093205523, 0.7775946179093266, 0.7203462620474251]),
    "gamma": (gamma, SIZES, [0.5273193862127954, 0.2907258020615972, -0.09765601353200119],
              [0.04198245158539336, 0.05919033443771754, 0.05946367224207092]),
}  # fmt: skip


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "newton", "newton-cg", "trust-exact"])
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_and_errors_are_those_of_statsmodels(name, method):
    loss, y, coefficients, errors = MODELS[name]
    found = optimize.minimize(loss, np.zeros(3), X, y, method=method, tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.value, coefficients, rtol=1e-8)
    information = ad.hessian(loss)(found.value, X, y)
    if name == "gamma":  # statsmodels takes the expected information, and the scale of Pearson's residuals
        mean = np.exp(X @ found.value)
        information = X.T @ X / (np.sum(((y - mean) / mean) ** 2) / (len(y) - 3))
    np.testing.assert_allclose(np.sqrt(np.diag(np.linalg.inv(information))), errors, rtol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_influence_of_data_is_what_fitting_again_gives(name):
    loss, y, *_ = MODELS[name]
    fit = lambda y: optimize.minimize(loss, np.zeros(3), X, y, method="newton", tol=1e-12).value
    influence, h = ad.jacobian(fit)(y), 1e-5
    for datum in (0, 11):
        e = h * (datum == I)
        np.testing.assert_allclose(influence[:, datum], (fit(y + e) - fit(y - e)) / (2 * h), rtol=1e-6, atol=1e-9)
