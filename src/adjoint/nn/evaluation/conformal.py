"""Sets and intervals that hold the truth with a promised chance, whatever the model: split conformal prediction.

Of n scores of examples kept aside, the ⌈(n + 1)(1 - α)⌉-th smallest bounds that of a new example with a chance of at
least 1 - α, if all examples come alike. Coverage given the calibration set follows Beta(k, n + 1 - k).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing, warn_user
from adjoint.nn.evaluation import conformal_scores as scores
from adjoint.nn.losses.shapes import match_shapes

__all__ = ["CrossConformal", "Mondrian", "Split", "quantile", "scores", "threshold_sets"]


def _check_coverage(title: str, coverage: Any) -> float:
    if not 0 < coverage < 1:
        raise ValueError(f"conformal.{title}: coverage is {coverage}; it lies between 0 and 1, 0.9 say.")
    return float(coverage)


@user_facing
def quantile(scores: Any, coverage: float) -> float:
    """The ⌈(n + 1) coverage⌉-th smallest of n scores; infinite where there is none: n is too small for the promise.

    ```python
    ad.nn.conformal.quantile(np.arange(1.0, 10.0), 0.8), ad.nn.conformal.quantile(np.ones(5), 0.9)  # → (8.0, inf)
    ```
    """
    given = np.asarray(scores, float)
    if given.size != max(given.shape, default=1):
        raise ShapeError(f"conformal.quantile: scores has shape {given.shape}; there is one score for an example, that "
                         "of its true label.")  # fmt: skip
    given = np.sort(given.ravel())
    if np.any(np.isnan(given)):
        raise ValueError("conformal.quantile: a score is NaN.")
    # products as 10 · 0.9 may lie a rounding above the number that is meant
    k = int(np.ceil(round((given.size + 1) * _check_coverage("quantile", coverage), 9)))
    return float(given[k - 1]) if k <= given.size else np.inf


def _warn_of_too_few(title: str, n: int, coverage: float, threshold: float) -> None:
    """Sets of everything keep any promise; that is seldom what is meant."""
    if np.isposinf(threshold):
        enough = int(np.ceil(coverage / (1 - coverage) - 1e-9))
        warn_user(f"conformal.{title}: {n} scores promise a coverage of {n / (n + 1):.4g} at most, not {coverage:.4g}: "
                  f"the threshold is infinite. Take at least {enough} scores, or "
                  "a smaller coverage.")  # fmt: skip


@user_facing
def threshold_sets(p: Any, gamma: float) -> Any:
    """The classes with a probability above γ, as truth values.

    ```python
    ad.nn.conformal.threshold_sets(np.array([0.2, 0.5, 0.3]), 0.25)  # → [False, True, True]
    ```
    """
    return np.asarray(p) > gamma


@final
@dataclass(eq=False)
class Split:
    """Split conformal prediction: `calibrate` with scores of examples kept aside, then ask for intervals or sets.

    ```python
    split = ad.nn.conformal.Split(0.8).calibrate(np.arange(1.0, 10.0))
    split.interval(np.array([0.0, 10.0]))  # → ([-8.0, 2.0], [8.0, 18.0])
    ```
    """

    coverage: float = 0.9
    threshold: float = field(default=np.nan, init=False)

    def calibrate(self, scores: Any) -> Split:
        """Take the quantile of the scores."""
        self.threshold = quantile(scores, self.coverage)
        _warn_of_too_few("Split", np.size(scores), self.coverage, self.threshold)
        return self

    def _known(self) -> float:
        if np.isnan(self.threshold):
            raise ValueError("conformal.Split: calibrate it first, with the scores of examples that were kept aside.")
        return self.threshold

    def interval(self, low: Any, high: Any = None, scale: Any = 1.0) -> tuple[Any, Any]:
        """(f - q σ, f + q σ), or of a predicted interval (l - q, u + q)."""
        q = self._known()
        low = np.asarray(low, float)
        high = low if high is None else np.asarray(high, float)
        low, high = match_shapes("Split.interval", low, high, "conformal")
        low, scale = match_shapes("Split.interval", low, np.asarray(scale, float), "conformal")
        reach = q * scale
        return low - reach, high + reach

    def sets(self, scores: Any, nonempty: bool = True) -> Any:
        """The labels whose scores (n, k) are small enough; with `nonempty` at least the best one of each row."""
        given = np.asarray(scores, float)
        chosen = given <= self._known()
        if nonempty:
            chosen[np.arange(len(given)), np.argmin(given, axis=1)] = True
        return chosen


@final
@dataclass(eq=False)
class Mondrian:
    """A threshold for each group, so that each group has its coverage.

    ```python
    groups = np.array([0, 0, 0, 1, 1, 1])
    found = ad.nn.conformal.Mondrian(0.7).calibrate(np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), groups)
    found.thresholds  # → {0: 3.0, 1: 30.0}
    ```
    """

    coverage: float = 0.9
    thresholds: dict[Any, float] = field(default_factory=dict, init=False)

    def calibrate(self, scores: Any, groups: Any) -> Mondrian:
        """Take the quantile of the scores of each group."""
        scores, groups = np.asarray(scores, float), np.asarray(groups)
        if scores.shape != groups.shape:
            raise ShapeError(f"conformal.Mondrian: scores have shape {scores.shape} and groups {groups.shape}.")
        self.thresholds = {g.item(): quantile(scores[groups == g], self.coverage) for g in np.unique(groups)}
        for group, threshold in self.thresholds.items():
            _warn_of_too_few(f"Mondrian, group {group!r}", int(np.sum(groups == group)), self.coverage, threshold)
        return self

    def _of(self, groups: Any) -> Any:
        """The thresholds of some examples; of a group that was never seen it is infinite."""
        return np.array(
            [self.thresholds.get(g.item() if hasattr(g, "item") else g, np.inf) for g in np.asarray(groups)]
        )

    def interval(self, f: Any, groups: Any) -> tuple[Any, Any]:
        """(f - q, f + q), with the q of each example's group."""
        f, q = match_shapes("Mondrian.interval", f, self._of(groups), "conformal")
        return f - q, f + q

    def sets(self, scores: Any, groups: Any) -> Any:
        """The labels whose scores (n, k) are small enough for the example's group."""
        return np.asarray(scores, float) <= self._of(groups)[:, None]


@final
@dataclass(eq=False)
class CrossConformal:
    """Jackknife+ and CV+: every example is used for training and for calibration, in turns.

    `fit(train, predict, X, y, folds)` trains a model without each fold; `folds=None` leaves out one at a time.

    ```python
    mean = ad.nn.conformal.CrossConformal(0.6).fit(lambda X, y: np.mean(y), lambda m, X: np.full(len(X), m),
                                                   np.zeros((5, 1)), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    low, high = mean.interval(np.zeros((1, 1)))
    bool(low[0] < 3.0 < high[0])  # → True
    ```
    """

    coverage: float = 0.9
    models: list[Any] = field(default_factory=list, init=False)
    residuals: Any = field(default=None, init=False)
    fold: Any = field(default=None, init=False)
    predict: Any = field(default=None, init=False)

    def fit(
        self,
        train: Callable[[Any, Any], Any],
        predict: Callable[[Any, Any], Any],
        X: Any,
        y: Any,
        folds: int | None = None,
    ) -> CrossConformal:
        """Train a model without each fold, and keep how far it is off there."""
        X, y = np.asarray(X), np.asarray(y, float)
        n = len(y)
        count = n if folds is None else int(folds)
        if not 2 <= count <= n:
            raise ValueError(f"conformal.CrossConformal: {count} folds of {n} examples; there are 2 to {n}.")
        self.fold, self.predict = np.arange(n) % count, predict
        self.models = [train(X[self.fold != k], y[self.fold != k]) for k in range(count)]
        self.residuals = np.empty(n)
        for k, model in enumerate(self.models):
            inside = self.fold == k
            self.residuals[inside] = np.abs(y[inside] - self._predict(model, X[inside]))
        return self

    def _predict(self, model: Any, X: Any) -> Any:
        """One number for each example."""
        found = np.asarray(self.predict(model, X), float)
        if found.size != len(X):
            raise ShapeError(f"conformal.CrossConformal: predict returned shape {found.shape} for {len(X)} examples; "
                             "it returns one number for each.")  # fmt: skip
        return found.reshape(-1)

    def interval(self, X: Any) -> tuple[Any, Any]:
        """Intervals for new examples, with coverage of at least 1 - 2 α in the worst case and 1 - α mostly."""
        if self.residuals is None:
            raise ValueError("conformal.CrossConformal: fit it first.")
        predicted = np.stack([self._predict(model, X) for model in self.models])[self.fold]  # (n, m)
        n = len(self.residuals)
        alpha = 1.0 - _check_coverage("CrossConformal", self.coverage)
        low = np.sort(predicted - self.residuals[:, None], axis=0)
        high = np.sort(predicted + self.residuals[:, None], axis=0)
        k = int(np.ceil(round((n + 1) * (1.0 - alpha), 9)))
        below = int(np.floor(round((n + 1) * alpha, 9)))
        infinite = np.full(low.shape[1], np.inf)
        return (low[below - 1] if below >= 1 else -infinite), (high[k - 1] if k <= n else infinite)
