"""Probabilities made right after training, on examples that were kept aside.

| | map | parameters |
|---|---|---|
| temperature | softargmax(z / τ) | one |
| vector scaling | softargmax(a z + b) | two for each class |
| Platt | σ(a s + b) | two, for two classes |
| isotonic | a step function that rises | as many as there are steps |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.activations import logistic as sigmoid
from adjoint.nn.activations import softargmax
from adjoint.nn.losses.classification import cross_entropy, logistic
from adjoint.nn.losses.shapes import as_array
from adjoint.optimize.minimizing import minimize
from adjoint.optimize.sets.simplices import order_simplex
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = [
    "Calibrated", "Isotonic", "Platt", "Temperature", "VectorScaling", "isotonic", "platt", "temperature",
    "vector_scaling",
]  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class Temperature:
    """softargmax(z / τ): the order of the classes stays.

    ```python
    ad.nn.calibration.Temperature(2.0)(np.array([2.0, 0.0]))  # → [0.731058…, 0.268941…]
    ```
    """

    temperature: Value

    def __call__(self, z: Any) -> Value:
        return softargmax(as_array(z) / self.temperature)


@final
@dataclass(frozen=True, eq=False)
class VectorScaling:
    """softargmax(a z + b), with a factor and an offset for each class.

    ```python
    ad.nn.calibration.VectorScaling(np.ones(2), np.array([0.0, np.log(3.0)]))(np.zeros(2))  # → [0.25, 0.75]
    ```
    """

    scale: Value
    offset: Value

    def __call__(self, z: Any) -> Value:
        return softargmax(self.scale * as_array(z) + self.offset)


@final
@dataclass(frozen=True, eq=False)
class Platt:
    """σ(a s + b) of a score s: the chance of class 1.

    ```python
    ad.nn.calibration.Platt(2.0, 0.0)(np.array([0.0, 1.0]))  # → [0.5, 0.880797…]
    ```
    """

    factor: Value
    offset: Value

    def __call__(self, s: Any) -> Value:
        return sigmoid(self.factor * as_array(s) + self.offset)


@final
@dataclass(frozen=True, eq=False)
class Isotonic:
    """A function that rises from score to chance, linear between the scores it was fitted to.

    ```python
    ad.nn.calibration.Isotonic(np.array([0.0, 1.0]), np.array([0.2, 0.6]))(0.5)  # → 0.4
    ```
    """

    scores: Value
    chances: Value

    def __call__(self, s: Any) -> Value:
        return np.interp(as_array(s), self.scores, self.chances)


def _read(title: str, z: Any, y: Any, axes: int) -> tuple[Value, Value]:
    z, y = as_array(z), as_array(y)
    if len(z.shape) != axes or y.shape != z.shape[:1]:
        wanted = "a row of logits for each example" if axes == 2 else "one score for each example"
        raise ShapeError(f"calibration.{title}: z has shape {z.shape} and y {y.shape}; z has {wanted}, y one class.")
    if axes == 1 and not isinstance(y, TRACED) and not np.all((y == 0) | (y == 1)):
        raise ValueError(f"calibration.{title}: y is 0 or 1, and there is {np.unique(y)[:4]}. Write (y + 1) / 2 for "
                         "classes ±1.")  # fmt: skip
    return z * 1.0, y


@user_facing
def temperature(z: Any, y: Any) -> Temperature:
    """The temperature that makes the likelihood of classes y largest, from logits z (n, k) kept aside.

    ```python
    z, y = np.array([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 0.0]]), np.array([0, 0, 1, 1])
    bool(ad.nn.calibration.temperature(z, y).temperature > 2.0)  # → True
    ```
    """
    z, y = _read("temperature", z, y, 2)
    loss = lambda log_t, z: np.mean(cross_entropy(z * np.exp(-log_t), y))
    found = minimize(loss, np.zeros((), z.dtype), z, bounds=(-12.0, 12.0), tol=1e-9)
    return Temperature(np.exp(found.value))


@user_facing
def vector_scaling(z: Any, y: Any) -> VectorScaling:
    """A factor and an offset for each class, of largest likelihood; the offsets sum to zero.

    ```python
    z, y = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 1, 1, 0])
    found = ad.nn.calibration.vector_scaling(z, y)
    found(z).shape  # → (4, 2)
    ```
    """
    z, y = _read("vector_scaling", z, y, 2)
    k = z.shape[1]

    def loss(p: Any, z: Value) -> Value:
        smooth = 1e-8 * (np.sum((p["scale"] - 1.0) ** 2) + np.sum(p["offset"] ** 2))
        return np.mean(cross_entropy(p["scale"] * z + p["offset"], y)) + smooth

    start = {"scale": np.ones(k, z.dtype), "offset": np.zeros(k, z.dtype)}
    found = minimize(loss, start, z, tol=1e-8).value
    return VectorScaling(found["scale"], found["offset"] - np.mean(found["offset"]))


@user_facing
def platt(s: Any, y: Any) -> Platt:
    """σ(a s + b) of largest likelihood, with Platt's targets, which keep separated scores from growing without end.

    ```python
    found = ad.nn.calibration.platt(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 1, 0, 1]))
    bool(found.factor > 0)  # → True
    ```
    """
    s, y = _read("platt", s, y, 1)
    y = y * 1.0
    ones, count = np.sum(y), y.shape[0]
    high, low = (ones + 1.0) / (ones + 2.0), 1.0 / (count - ones + 2.0)
    targets = np.where(y > 0, high, low)
    loss = lambda p, s: np.mean(logistic(p[0] * s + p[1], targets))
    found = minimize(loss, np.zeros(2, s.dtype), s, tol=1e-10).value
    return Platt(found[0], found[1])


@user_facing
def isotonic(s: Any, y: Any) -> Isotonic:
    """The rising function of scores that is nearest to truth values y: the projection onto rising sequences.

    ```python
    found = ad.nn.calibration.isotonic(np.array([0.1, 0.4, 0.5, 0.9]), np.array([0, 1, 0, 1]))
    found(np.array([0.1, 0.45, 0.9]))  # → [0.0, 0.5, 1.0]
    ```
    """
    s, y = _read("isotonic", s, y, 1)
    if isinstance(s, TRACED):
        raise TypeError("calibration.isotonic: scores are sorted, and equal ones merged, so that they must be plain.")
    scores, which, counts = np.unique(s, return_inverse=True, return_counts=True)
    means = np.bincount(which, np.asarray(y, float)) / counts
    order = np.repeat(np.arange(len(scores)), counts)  # each score as often as it occurs, so that weights are right
    projected = order_simplex(increasing=True).project(means[order])
    first = np.cumsum(counts) - counts
    return Isotonic(scores, np.clip(projected[first], 0.0, 1.0))


@final
@dataclass(eq=False)
class Calibrated:
    """A classifier of scikit-learn whose probabilities are recalibrated: `fit` on examples kept aside.

    `how` is "temperature", "vector scaling", "platt" or "isotonic"; scores are `decision_function`, or the logarithms
    of `predict_proba`.

    ```python
    from sklearn.linear_model import LogisticRegression
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = ad.nn.calibration.Calibrated(LogisticRegression().fit(X, y), "temperature").fit(X, y)
    model.predict(X)  # → [0, 0, 1, 1]
    ```
    """

    estimator: Any
    how: str = "temperature"
    map_: Any = field(default=None, init=False)

    def _logits(self, X: Any) -> Any:
        if not hasattr(self.estimator, "decision_function"):
            return np.log(np.maximum(self.estimator.predict_proba(X), 1e-300))
        z = np.asarray(self.estimator.decision_function(X), float)
        return np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z

    @property
    def classes_(self) -> Any:
        """The classes, as the estimator has them."""
        return self.estimator.classes_

    def fit(self, X: Any, y: Any) -> Calibrated:
        """Find the map, on examples that the estimator has not seen."""
        number = np.searchsorted(self.classes_, y)
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"Calibrated: the estimator does not know the classes {unknown[:4]}.")
        z = self._logits(X)
        if self.how in ("platt", "isotonic"):
            if len(self.classes_) != 2:
                raise ValueError(f"Calibrated: {self.how!r} is for two classes, and there are {len(self.classes_)}.")
            self.map_ = (platt if self.how == "platt" else isotonic)(z[:, 1] - z[:, 0], number)
        elif self.how in ("temperature", "vector scaling"):
            self.map_ = (temperature if self.how == "temperature" else vector_scaling)(z, number)
        else:
            raise ValueError(f"Calibrated: how={self.how!r}; it is temperature, vector scaling, platt or isotonic.")
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities, recalibrated."""
        if self.map_ is None:
            raise ValueError("Calibrated: fit it first, on examples that were kept aside.")
        z = self._logits(X)
        if self.how in ("platt", "isotonic"):
            one = np.asarray(self.map_(z[:, 1] - z[:, 0]))
            return np.stack([1.0 - one, one], axis=1)
        return np.asarray(self.map_(z))

    def predict(self, X: Any) -> Any:
        """The most probable classes."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
