"""Calibration against scikit-learn, by hand, and under the law that coverage obeys."""

import numpy as np
import pytest
import scipy.stats
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

import adjoint as ad
from adjoint.nn import calibration, conformal


def sample(n: int = 2000, seed: int = 0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3)) * 2
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=row) for row in p])
    return z, y


def test_bins_against_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(500)
    y = rng.random(500) < p**2
    bins = calibration.reliability(p, y, bins=10)
    theirs = calibration_curve(y, p, n_bins=10)
    full = bins.count > 0
    np.testing.assert_allclose(bins.accuracy[full], theirs[0])
    np.testing.assert_allclose(bins.confidence[full], theirs[1])
    by_mass = calibration.reliability(p, y, bins=10, by="mass")
    assert np.all(by_mass.count == 50)


def test_temperature_is_found_again() -> None:
    z, y = sample()
    found = calibration.temperature(2.5 * z, y).temperature
    assert found == pytest.approx(2.5, rel=0.1)
    before = np.mean(ad.nn.cross_entropy(2.5 * z, y))
    after = np.mean(ad.nn.cross_entropy(2.5 * z / found, y))
    assert after <= before
    assert ad.grad(lambda s: calibration.temperature(s * z, y).temperature)(1.0) == pytest.approx(
        calibration.temperature(z, y).temperature, rel=1e-5
    )  # scaling logits scales the temperature


def test_isotonic_against_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    s = np.round(rng.normal(size=200), 1)
    y = (rng.random(200) < 1 / (1 + np.exp(-2 * s))).astype(int)
    ours = calibration.isotonic(s, y)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(s, y)
    grid = np.linspace(-3, 3, 61)
    np.testing.assert_allclose(ours(grid), theirs.predict(grid), atol=1e-10)


def test_platt_against_scikit_learn() -> None:
    from sklearn.calibration import _sigmoid_calibration

    rng = np.random.default_rng(0)
    s = rng.normal(size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-(1.7 * s + 0.4)))).astype(int)
    a, b = _sigmoid_calibration(s, y)
    found = calibration.platt(s, y)
    assert (found.factor, found.offset) == pytest.approx((-a, -b), rel=1e-4)


def test_temperature_against_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    model = LogisticRegression(C=100.0, max_iter=500).fit(X[::2], y[::2])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="temperature").fit(X[1::2], y[1::2])
    ours = calibration.Calibrated(model, "temperature").fit(X[1::2], y[1::2])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    z, labels = sample(500)  # with many classes, from a model whose scores are given
    given = LogisticRegression(max_iter=500).fit(z, labels)
    theirs = CalibratedClassifierCV(FrozenEstimator(given), method="temperature").fit(z, labels)
    ours = calibration.Calibrated(given, "temperature").fit(z, labels)
    np.testing.assert_allclose(ours.predict_proba(z), theirs.predict_proba(z), atol=1e-5)


def test_brier_against_scikit_learn() -> None:
    z, y = sample(300)
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    theirs = brier_score_loss(y, p, scale_by_half=False)
    np.testing.assert_allclose(ad.nn.metrics.brier(z, y), theirs, rtol=1e-12)
    np.testing.assert_allclose(
        ad.nn.metrics.brier(z[:, 0], y == 0), brier_score_loss(y == 0, 1 / (1 + np.exp(-z[:, 0])))
    )


def test_vector_scaling_is_no_worse_than_temperature() -> None:
    z, y = sample(800)
    shifted = z * np.array([1.0, 2.0, 0.5]) + np.array([0.3, 0.0, -0.2])
    vector, one = calibration.vector_scaling(shifted, y), calibration.temperature(shifted, y)
    nll = lambda p: -np.mean(np.log(p[np.arange(len(y)), y]))
    assert nll(vector(shifted)) < nll(one(shifted))


@pytest.mark.parametrize("how", ["temperature", "vector scaling", "platt", "isotonic"])
def test_calibrated_classifiers(how: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    model = LogisticRegression(C=100.0, max_iter=500).fit(X[::2], y[::2])
    found = calibration.Calibrated(model, how).fit(X[1::4], y[1::4])
    p = found.predict_proba(X[3::4])
    np.testing.assert_allclose(p.sum(1), 1.0)
    assert np.mean(found.predict(X[3::4]) == y[3::4]) > 0.9


def test_decisions() -> None:
    costs = np.array([[0.0, 10.0], [1.0, 0.0]])
    assert calibration.decide(np.array([0.85, 0.15]), costs) == 1
    with pytest.raises(ad.ShapeError, match="a column for each of 3 classes"):
        calibration.decide(np.ones(3) / 3, costs)


@pytest.mark.parametrize("n", [20, 99, 1000])
def test_coverage_follows_its_law(n: int) -> None:
    """Coverage given the calibration set is Beta(k, n + 1 - k), for scores that are uniform."""
    rng = np.random.default_rng(n)
    coverage, k = 0.9, int(np.ceil((n + 1) * 0.9))
    thresholds = np.array([conformal.quantile(rng.random(n), coverage) for _ in range(2000)])
    assert scipy.stats.kstest(thresholds, scipy.stats.beta(k, n + 1 - k).cdf).pvalue > 1e-3


def test_quantile_edges() -> None:
    assert conformal.quantile(np.arange(1.0, 10.0), 0.9) == 9.0
    assert conformal.quantile(np.arange(1.0, 9.0), 0.9) == np.inf
    with pytest.raises(ValueError, match=r"coverage is 1\.5"):
        conformal.quantile(np.ones(3), 1.5)


def test_adaptive_sets_are_never_empty_and_cover() -> None:
    z, y = sample(3000, 3)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    rng = np.random.default_rng(0)
    half = len(y) // 2
    for score in (conformal.scores.aps, conformal.scores.raps, conformal.scores.lac):
        split = conformal.Split(0.9).calibrate(score(p[:half], y[:half]))
        sets = split.sets(score(p[half:]))
        assert np.all(sets.any(axis=1))
        assert np.mean(sets[np.arange(half), y[half:]]) > 0.87
    u = rng.random(len(y))  # with a part of the last probability sets are shorter, and cover exactly
    split = conformal.Split(0.9).calibrate(conformal.scores.aps(p[:half], y[:half], u[:half]))
    sets = split.sets(conformal.scores.aps(p[half:], u=u[half:]), nonempty=False)
    assert np.mean(sets[np.arange(half), y[half:]]) == pytest.approx(0.9, abs=0.03)


def test_groups_have_their_own_coverage() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 4000)
    y = rng.normal(size=4000) * np.where(groups == 0, 1.0, 5.0)
    found = conformal.Mondrian(0.9).calibrate(np.abs(y[:2000]), groups[:2000])
    low, high = found.interval(np.zeros(2000), groups[2000:])
    inside = (y[2000:] >= low) & (y[2000:] <= high)
    for g in (0, 1):
        assert np.mean(inside[groups[2000:] == g]) == pytest.approx(0.9, abs=0.04)
    assert np.isinf(found.interval(np.zeros(1), np.array([7]))[1][0])


def test_cross_conformal_covers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ np.array([1.0, -2.0]) + rng.normal(size=200)
    train = lambda X, y: np.linalg.lstsq(X, y, rcond=None)[0]
    for folds in (None, 5):
        found = conformal.CrossConformal(0.9).fit(train, lambda w, X: X @ w, X[:100], y[:100], folds)
        low, high = found.interval(X[100:])
        assert 0.8 < np.mean((y[100:] >= low) & (y[100:] <= high)) <= 1.0


def test_scores_of_columns_against_rows_are_refused():
    f, y = np.arange(4.0)[:, None], np.arange(4.0)
    for call in (
        lambda: conformal.scores.absolute(f, y),
        lambda: conformal.scores.normalized(y, f, y),
        lambda: conformal.scores.quantile(f, f, y),
        lambda: conformal.quantile(np.ones((4, 3)), 0.5),
        lambda: conformal.Split(0.5).calibrate(y).interval(f, scale=y),
        lambda: conformal.Mondrian(0.5).calibrate(y, y).interval(f, y),
    ):
        with pytest.raises(ad.ShapeError, match="conformal"):
            call()
    columns = lambda m, X: np.full((len(X), 1), m)
    rows = lambda m, X: np.full(len(X), m)
    train = lambda X, y: np.mean(y)
    found = [conformal.CrossConformal(0.6).fit(train, p, f, y, 2).interval(f) for p in (columns, rows)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(conformal.scores.absolute(np.array([200], np.uint8), np.array([210], np.uint8)), [10.0])


def test_classes_are_those_of_the_probabilities():
    p = np.array([[0.2, 0.8], [0.6, 0.4]])
    for score in (conformal.scores.lac, conformal.scores.aps):
        with pytest.raises(ValueError, match="classes are 0 to 1"):
            score(p, np.array([0, -1]))
    for call in (calibration.ece, calibration.platt, calibration.isotonic):
        with pytest.raises(ValueError, match="0 or 1"):
            call(np.array([0.2, 0.8]), np.array([-1, 1]))
