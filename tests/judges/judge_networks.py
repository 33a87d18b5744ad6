"""Networks: what tests hold of PyTorch, transformers, MAPIE, crepes and netcal, again; and estimators in them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from crepes import WrapClassifier, WrapRegressor
from mapie.classification import SplitConformalClassifier
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

from adjoint import nn
from tools import loss_references, pretrained_references, torch_references, trust_references

TOOLS = {"layers": torch_references, "losses": loss_references, "models": pretrained_references,
         "trust": trust_references}  # fmt: skip
IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
X, Y = StandardScaler().fit_transform(IRIS[0]), IRIS[1]
XD, YD = StandardScaler().fit_transform(DIABETES[0]), DIABETES[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOOLS)
def test_frozen_numbers(name: str) -> None:
    tool = TOOLS[name]
    with np.load(tool.FILE) as file:
        frozen = dict(file)
    found = tool.compute()
    assert sorted(found) == sorted(frozen)
    for key, value in frozen.items():
        single = np.asarray(value).dtype == np.float32
        np.testing.assert_allclose(found[key], value, rtol=1e-4 if single else 1e-7, atol=1e-6 if single else 1e-10,
                                   err_msg=key)  # fmt: skip


def classifiers() -> list[object]:
    return [nn.Classifier((12,), epochs=25, learning_rate=0.03, random_state=0), nn.LinearClassifier()]


def regressors() -> list[object]:
    return [nn.Regressor((12,), epochs=30, random_state=0), *map(nn.LinearRegressor, ("squared", "huber", "quantile"))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(2))
def test_classifiers(number: int) -> None:
    """Sets of MAPIE and crepes around our estimators cover what they promise, nearly: there are 40 examples."""
    order = np.random.default_rng(0).permutation(len(Y))
    train, old, new = order[:60], order[60:110], order[110:]
    model = classifiers()[number].fit(X[train], Y[train])
    for score in ("lac", "aps"):
        found = SplitConformalClassifier(model, 0.9, score, random_state=0).conformalize(X[old], Y[old])
        sets = found.predict_set(X[new])[1][:, :, 0]
        assert np.mean(sets[np.arange(len(new)), Y[new]]) > 0.75
    own = nn.conformal.Split(0.9).calibrate(nn.conformal.scores.lac(model.predict_proba(X[old]), Y[old]))
    lac = SplitConformalClassifier(model, 0.9, "lac").conformalize(X[old], Y[old]).predict_set(X[new])[1][:, :, 0]
    ours = own.sets(nn.conformal.scores.lac(model.predict_proba(X[new])), nonempty=False)
    np.testing.assert_array_equal(ours, lac)
    wrapped = WrapClassifier(model)
    wrapped.calibrate(X[old], Y[old])
    sets = wrapped.predict_set(X[new], confidence=0.9, smoothing=False)
    np.testing.assert_array_equal(ours, [[k in own for k in range(3)] for own in sets])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(4))
def test_regressors(number: int) -> None:
    order = np.random.default_rng(0).permutation(len(YD))
    train, old, new = order[:200], order[200:300], order[300:]
    model = regressors()[number].fit(XD[train], YD[train])
    ours = nn.conformal.Split(0.9).calibrate(nn.conformal.scores.absolute(model.predict(XD[old]), YD[old]))
    interval = np.stack(ours.interval(model.predict(XD[new])), axis=1)
    theirs = SplitConformalRegressor(model, 0.9).conformalize(XD[old], YD[old]).predict_interval(XD[new])[1][:, :, 0]
    np.testing.assert_allclose(interval, theirs, rtol=1e-10)
    wrapped = WrapRegressor(model)
    wrapped.calibrate(XD[old], YD[old])
    np.testing.assert_allclose(interval, wrapped.predict_int(XD[new], confidence=0.9), rtol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross = CrossConformalRegressor(model, 0.9, cv=3).fit_conformalize(XD[train], YD[train])
    low, high = cross.predict_interval(XD[new])[1][:, :, 0].T
    assert np.mean((low <= YD[new]) & (YD[new] <= high)) > 0.8
