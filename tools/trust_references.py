"""Writes tests/nn/evaluation/trust.npz: prediction sets, intervals and calibration errors of MAPIE, crepes and netcal.

Run it where they are installed: `python tools/trust_references.py`. `examples()` has what all of them are given.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).resolve().parent.parent / "tests" / "nn" / "evaluation" / "trust.npz"
N, TESTS, CLASSES, COVERAGE, FOLDS = 100, 25, 8, 0.85, 5


def examples() -> dict[str, Any]:
    """Numbers with predictions, scales and groups; probabilities with classes. The first N are for calibration."""
    r = np.random.default_rng(7)
    size = N + TESTS
    x = r.normal(size=(size, 2))
    z = 3.0 * r.normal(size=(size, CLASSES))
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    chances = r.random(400)
    return {
        "x": x, "y": x @ np.array([1.0, -2.0]) + (0.5 + np.abs(x[:, 0])) * r.normal(size=size),
        "f": x @ np.array([0.9, -1.9]), "scale": 0.5 + np.abs(x[:, 0]), "low": x[:, 0] - 1, "high": x[:, 0] + 1.5,
        "group": r.integers(0, 3, size), "p": p, "label": np.array([r.choice(CLASSES, p=row) for row in p]),
        "chance": chances, "truth": (r.random(400) < chances**2).astype(int),
    }  # fmt: skip


def run_mapie(e: dict[str, Any]) -> dict[str, Any]:
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import ConformalizedQuantileRegressor, CrossConformalRegressor, SplitConformalRegressor
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import KFold, LeaveOneOut

    class Given(RegressorMixin, BaseEstimator):
        """Predictions that are known, by the number of the example."""

        def __init__(self, name: str = "f") -> None:
            self.name = name
            self.fitted_ = True

        def fit(self, X: Any, y: Any) -> Given:
            return self

        def predict(self, X: Any) -> Any:
            return e[self.name][X[:, 0].astype(int)]

    asked: list[Any] = []

    class Classes(ClassifierMixin, BaseEstimator):
        def __init__(self) -> None:
            self.classes_ = np.arange(CLASSES)

        def fit(self, X: Any, y: Any) -> Classes:
            return self

        def predict_proba(self, X: Any) -> Any:
            asked.append(X[:, 0].astype(int))
            return e["p"][asked[-1]]

        def predict(self, X: Any) -> Any:
            return np.argmax(self.predict_proba(X), axis=1)

    rows = np.arange(N + TESTS)[:, None].astype(float)
    old, new = rows[:N], rows[N:]
    found: dict[str, Any] = {}
    split = SplitConformalRegressor(Given(), COVERAGE).conformalize(old, e["y"][:N])
    found["mapie/absolute"] = split.predict_interval(new)[1][:, :, 0]
    three = [Given("low"), Given("high"), Given("f")]
    cqr = ConformalizedQuantileRegressor(three, COVERAGE, prefit=True).conformalize(old, e["y"][:N])
    found["mapie/quantile"] = cqr.predict_interval(new, symmetric_correction=True)[1][:, :, 0]
    order = np.argsort(np.arange(N) % FOLDS, kind="stable")  # their folds lie behind each other
    for name, cv in (("folds", KFold(FOLDS)), ("jackknife", LeaveOneOut())):
        cross = CrossConformalRegressor(LinearRegression(fit_intercept=False), COVERAGE, cv=cv)
        cross.fit_conformalize(e["x"][:N][order], e["y"][:N][order])
        found[f"mapie/{name}"] = cross.predict_interval(e["x"][N:])[1][:, :, 0]
    for name in ("lac", "aps", "raps"):
        model = SplitConformalClassifier(Classes(), COVERAGE, name, random_state=3)
        model.conformalize(old, e["label"][:N])
        options = {} if name == "lac" else {"include_last_label": name == "aps"}
        found[f"mapie/{name}"] = model.predict_set(new, conformity_score_params=options)[1][:, :, 0]
        inside = model._mapie_classifier.conformity_score_function_
        found[f"mapie/{name}_quantile"] = np.ravel(inside.quantiles_)[0]
        found[f"mapie/{name}_scores"] = np.ravel(model._mapie_classifier.conformity_scores_)
        if name == "raps":
            found["mapie/raps_penalty"] = np.array([np.ravel(inside.lambda_star)[0], np.ravel(inside.k_star)[0]])
            # a part of the examples is set aside for the choice of the penalty
            found["mapie/raps_rows"] = next(rows for rows in asked if len(rows) == len(inside.cutoff))
    return found


def run_crepes(e: dict[str, Any]) -> dict[str, Any]:
    from crepes import ConformalClassifier, ConformalRegressor

    found: dict[str, Any] = {}
    residuals = e["y"][:N] - e["f"][:N]
    for name, extras in (("absolute", ()), ("normalized", ("sigmas",)), ("groups", ("bins",))):
        source = {"sigmas": e["scale"], "bins": e["group"]}
        model = ConformalRegressor().fit(residuals, **{key: source[key][:N] for key in extras})
        options = {key: source[key][N:] for key in extras}
        found[f"crepes/{name}"] = model.predict_int(e["f"][N:], confidence=COVERAGE, **options)
    scores = 1.0 - e["p"]
    own = scores[np.arange(N), e["label"][:N]]
    sets = lambda model, **options: model.predict_set(scores[N:], confidence=COVERAGE, smoothing=False, **options)
    found["crepes/lac"] = sets(ConformalClassifier().fit(own))
    found["crepes/lac_groups"] = sets(ConformalClassifier().fit(own, bins=e["group"][:N]), bins=e["group"][N:])
    return found


def run_netcal(e: dict[str, Any]) -> dict[str, Any]:
    from netcal.metrics import ECE, MCE

    found: dict[str, Any] = {}
    for bins in (5, 10, 15):
        found[f"netcal/ece_{bins}"] = ECE(bins).measure(e["p"], e["label"])
        found[f"netcal/mce_{bins}"] = MCE(bins).measure(e["p"], e["label"])
        found[f"netcal/two_{bins}"] = ECE(bins).measure(e["chance"], e["truth"])
    return found


def compute() -> dict[str, Any]:
    e = examples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**e, **run_mapie(e), **run_crepes(e), **run_netcal(e)}


def main() -> None:
    found = compute()
    np.savez_compressed(FILE, **found)
    print(f"{FILE}: {len(found)} arrays, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
