"""Estimators: all checks of scikit-learn, its own linear models, its tools around them, digits."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model as sk
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates

QUICK = [
    nn.LinearClassifier(), nn.LinearClassifier("l1", strength=0.1), nn.LinearClassifier("elasticnet", strength=0.1),
    nn.LinearClassifier(strength=0.01), nn.LinearClassifier(class_weight="balanced"),
    nn.LinearClassifier(warm_start=True), nn.LinearRegressor(), nn.LinearRegressor("quantile", strength=1e-3),
    nn.LinearRegressor(fit_intercept=False), nn.LinearRegressor(strength=0.0), nn.LinearRegressor(warm_start=True),
    nn.LinearRegressor("quantile", quantile=0.4, strength=0.0), nn.LinearRegressor("huber"),
    nn.LinearRegressor("huber", epsilon=2.0, fit_intercept=False), nn.LinearRegressor("poisson"),
]  # fmt: skip
# Not among them, since scikit-learn's own estimators fail with them too: no intercept (weights of classes cannot shift
# the border), warm starts (two fits give two results), dropout (what is drawn depends on the number of examples).
SLOW = [
    nn.Classifier(), nn.Classifier((50,)), nn.Classifier(learning_rate=0.01), nn.Classifier(class_weight="balanced"),
    nn.Classifier(dtype=np.float64), nn.Classifier(rule=updates.nesterov(0.05)),
    nn.Regressor(), nn.Regressor((30, 30), activation="gelu"), nn.Regressor(learning_rate=0.01),
    nn.Regressor(scale=False, learning_rate=0.02), nn.Regressor(dtype=np.float64),
    nn.Regressor(rule=updates.nadam(0.01)),
]  # fmt: skip


def check(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {each["check_name"]: repr(each["exception"]) for each in found if each["status"] == "failed"}
    assert not failed
    assert len(found) > 50


def names(estimators: list[Any]) -> list[str]:
    """Names that are the same in every process: an estimator may hold functions."""
    return [f"{type(one).__name__}-{number}" for number, one in enumerate(estimators)]


CHECKED = [QUICK[0], QUICK[6], QUICK[8]]


@pytest.mark.parametrize("estimator", CHECKED, ids=names(CHECKED))
def test_checks(estimator: Any) -> None:
    check(estimator)


@pytest.mark.sweep
@pytest.mark.parametrize("estimator", [*QUICK, *SLOW], ids=names([*QUICK, *SLOW]))
def test_all_checks(estimator: Any) -> None:
    check(estimator)


IRIS = load_iris(return_X_y=True)
X3, Y3 = StandardScaler().fit_transform(IRIS[0]), IRIS[1]
X2, Y2 = load_breast_cancer(return_X_y=True)
X2 = StandardScaler().fit_transform(X2)[:, :6]
XD, YD = load_diabetes(return_X_y=True)
XD = StandardScaler().fit_transform(XD)


@pytest.mark.parametrize("penalty, options", [
    ("l2", {"l1_ratio": 0.0}), ("l1", {"l1_ratio": 1.0, "solver": "saga"}),
    ("elasticnet", {"l1_ratio": 0.5, "solver": "saga"}), (None, {"C": np.inf}),
])  # fmt: skip
def test_logistic_regression(penalty: str | None, options: dict[str, Any]) -> None:
    judge = sk.LogisticRegression(tol=1e-10, max_iter=20000, **options)
    for X, y in ((X3, Y3), (X2, Y2)):
        if penalty is None and X is X3:
            continue  # separable: there is no minimum
        theirs, ours = clone(judge).fit(X, y), nn.LinearClassifier(penalty).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_regressions() -> None:
    theirs, ours = sk.Ridge(2.0).fit(XD, YD), nn.LinearRegressor(strength=2.0).fit(XD, YD)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    judge = sk.PoissonRegressor(alpha=0.5, tol=1e-10, max_iter=5000).fit(XD, YD)
    ours = nn.LinearRegressor("poisson", strength=0.5).fit(XD, YD)
    np.testing.assert_allclose(ours.coef_, judge.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict(XD), judge.predict(XD), rtol=1e-4)

    def huber(model: Any) -> Any:
        r = np.abs(YD - model.predict(XD)) / model.scale_
        each = np.where(r < model.epsilon, r * r, 2 * model.epsilon * r - model.epsilon**2)
        return np.sum(model.scale_ * (1 + each)) + 1e-4 * np.sum(model.coef_**2)

    for epsilon in (1.1, 1.35, 3.0):
        judge = sk.HuberRegressor(epsilon=epsilon, tol=1e-9, max_iter=5000).fit(XD, YD)
        ours = nn.LinearRegressor("huber", epsilon=epsilon).fit(XD, YD)
        np.testing.assert_allclose(huber(ours), huber(judge), rtol=1e-6)
        assert huber(ours) <= huber(judge) * (1 + 1e-10)

    def pinball(model: Any) -> Any:
        r = YD - model.predict(XD)
        return np.mean(np.maximum(0.3 * r, -0.7 * r)) + 0.1 * np.sum(np.abs(model.coef_))

    judge = sk.QuantileRegressor(quantile=0.3, alpha=0.1).fit(XD, YD)
    ours = nn.LinearRegressor("quantile", quantile=0.3, strength=0.1).fit(XD, YD)
    np.testing.assert_allclose(pinball(ours), pinball(judge), rtol=1e-6)


def test_scale_of_exact_fits() -> None:
    """Where most examples lie on a plane, the scale goes to zero, and Huber's is the least absolute deviation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + 3.0
    y[:8] += 10 * rng.normal(size=8)
    found = nn.LinearRegressor("huber", strength=0.0).fit(X, y)
    np.testing.assert_allclose([*found.coef_, found.intercept_], [1.0, -2.0, 0.5, 3.0], rtol=1e-6)
    assert found.scale_ < 1e-6


def test_tools_of_scikit_learn() -> None:
    model = nn.Classifier((12,), epochs=15, learning_rate=0.03, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    found = GridSearchCV(pipeline, {"classifier__dropout": [0.0, 0.2]}, cv=2).fit(*IRIS)
    assert found.best_score_ > 0.85
    proba = cross_val_predict(model, X3, Y3, cv=3, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X3, Y3)
    assert calibrated.score(X3, Y3) > 0.85
    fitted = pickle.loads(pickle.dumps(clone(model).fit(X3, Y3)))
    assert fitted.score(X3, Y3) > 0.9
    importance = permutation_importance(fitted, X3, Y3, n_repeats=2, random_state=0)
    assert importance.importances_mean.max() > 0.1


def test_seeds_going_on_and_parts() -> None:
    model = nn.Classifier((8,), epochs=4, random_state=3)
    a, b = (clone(model).fit(X3, Y3).predict_proba(X3) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    warm = clone(model).set_params(warm_start=True, epochs=2).fit(X3, Y3)
    np.testing.assert_allclose(warm.fit(X3, Y3).predict_proba(X3), a, rtol=1e-12)
    parts = clone(model)
    with pytest.raises(ValueError, match="classes="):
        parts.partial_fit(X3, Y3)
    for _ in range(4):
        parts.partial_fit(X3, Y3, classes=np.unique(Y3))
    np.testing.assert_allclose(parts.predict_proba(X3), a, rtol=1e-12)


def test_own_networks_losses_and_validation() -> None:
    network = lambda rng, inputs, outputs: nn.Sequential(
        (nn.Linear.init(rng, inputs, 10), nn.BatchNorm.init(10), nn.Linear.init(rng, 10, outputs))
    )
    smooth = lambda z, y: -np.sum((0.9 * np.eye(3)[y] + 0.1 / 3) * nn.log_softargmax(z), axis=-1)
    model = nn.Classifier(network=network, loss=smooth, epochs=30, learning_rate=0.02, validation=0.2, patience=5,
                          batch=30, random_state=0)  # fmt: skip
    assert model.fit(X3, Y3).score(X3, Y3) > 0.9
    assert "validation" in model.history_.columns
    held = nn.Regressor((16,), epochs=20, validation=(XD[:50], YD[:50]), random_state=0).fit(XD[50:], YD[50:])
    assert held.score(XD, YD) > 0.3
    both = nn.Regressor((16,), epochs=10, random_state=0).fit(XD, np.stack([YD, -YD], axis=1))
    assert both.predict(XD).shape == (len(XD), 2)


@pytest.mark.parametrize("seeds", [2, pytest.param(5, marks=pytest.mark.sweep)])
def test_digits(seeds: int) -> None:
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    scores = []
    for seed in range(seeds):
        a, b, c, d = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
        model = nn.Classifier((128,), dropout=0.1, epochs=40, batch=64, random_state=seed)
        scores.append(model.fit(a, c).score(b, d))
    assert np.mean(scores) >= 0.97
    assert ad.tree.leaves(model.model_)[0].dtype == np.float32


@pytest.mark.parametrize("call, text", [
    (lambda: nn.Classifier(activation="what").fit(X3, Y3), "activation="),
    (lambda: nn.Classifier(validation=2.0).fit(X3, Y3), "fraction"),
    (lambda: nn.LinearClassifier("l3").fit(X3, Y3), "penalty="),
    (lambda: nn.LinearClassifier().fit(X3, np.zeros(len(X3))), "class"),
    (lambda: nn.LinearRegressor("cubic").fit(XD, YD), "loss="),
    (lambda: nn.LinearRegressor("poisson").fit(XD, -YD), "negative"),
    (lambda: nn.LinearRegressor("quantile", quantile=2.0).fit(XD, YD), "between 0 and 1"),
])  # fmt: skip
def test_refusals(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()
