"""scikit-learn: an estimator whose fit uses gradients from here, and data sets as constants."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import adjoint as ad
from adjoint.scipy.special import logsumexp


def cross_entropy(params, x, y, strength):
    """The penalized loss of multinomial logistic regression."""
    scores = x @ params["weight"] + params["bias"]
    likelihood = np.sum(scores[np.arange(len(y)), y] - logsumexp(scores, axis=1))
    return -likelihood + 0.5 / strength * np.sum(params["weight"] ** 2)


class Classifier(ClassifierMixin, BaseEstimator):
    """Logistic regression, fitted by L-BFGS with gradients from here."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, x, y):
        self.classes_, labels = np.unique(y, return_inverse=True)
        shapes = {"weight": np.zeros((x.shape[1], len(self.classes_))), "bias": np.zeros(len(self.classes_))}
        vector, unravel = ad.tree.ravel(shapes)
        loss = lambda v: cross_entropy(unravel(v), x, labels, self.C)
        found = minimize(
            ad.value_and_grad(loss),
            vector,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7},
        )
        self.params_ = unravel(found.x)
        return self

    def predict(self, x):
        return self.classes_[np.argmax(x @ self.params_["weight"] + self.params_["bias"], axis=1)]


@pytest.fixture(scope="module")
def iris():
    x, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(x), y


def test_the_same_model_as_scikit_learns(iris) -> None:
    x, y = iris
    ours, theirs = Classifier().fit(x, y), LogisticRegression(tol=1e-8, max_iter=2000).fit(x, y)
    weight = ours.params_["weight"] - ours.params_["weight"].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(weight.T, theirs.coef_, atol=2e-4)
    np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))


def test_cross_validation(iris) -> None:
    x, y = iris
    assert cross_val_score(Classifier(), x, y, cv=3).mean() > 0.9
    scores = cross_val_score(make_pipeline(StandardScaler(), Classifier()), x, y, cv=3)
    assert scores.mean() > 0.9


def test_search_clone_pickle(iris) -> None:
    x, y = iris
    search = GridSearchCV(Classifier(), {"C": [0.01, 1.0]}, cv=3).fit(x, y)
    assert search.best_params_ == {"C": 1.0}
    fitted = search.best_estimator_
    assert clone(fitted).C == 1.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(x), fitted.predict(x))


def test_digits_are_constants() -> None:
    """Integer labels index, pixels multiply; the data stay as they are, and the gradient is that of differences."""
    x, y = load_digits(return_X_y=True)
    x, y = x[:200] / 16.0, y[:200]
    before = x.copy(), y.copy()
    params = {"weight": np.random.default_rng(0).normal(size=(64, 10)) * 0.1, "bias": np.zeros(10)}
    value, slope = ad.value_and_grad(cross_entropy)(params, x, y, 1.0)
    direction = {"weight": np.random.default_rng(1).normal(size=(64, 10)), "bias": np.ones(10)}
    moved = lambda h: cross_entropy(ad.tree.map(lambda p, d: p + h * d, params, direction), x, y, 1.0)
    along = sum(np.sum(slope[k] * direction[k]) for k in slope)
    assert value == pytest.approx(moved(0.0))
    assert along == pytest.approx((moved(1e-5) - moved(-1e-5)) / 2e-5, rel=1e-6)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_through_a_fitted_scaler(iris) -> None:
    """What a transformer learned is constants to us; the transformer itself converts, and says so."""
    x, _ = iris
    scaler = StandardScaler().fit(x)
    scaled = lambda v: np.sum(((v - scaler.mean_) / scaler.scale_) ** 2)
    np.testing.assert_allclose(ad.grad(scaled)(x[0]), 2 * (x[0] - scaler.mean_) / scaler.scale_**2)
    with pytest.raises(TypeError, match="traced"):
        ad.grad(lambda v: np.sum(scaler.transform(v[None])))(x[0])
