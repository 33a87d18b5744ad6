"""Metrics as pairs (total, weight), so that they are exact over batches of any sizes.

A metric is called with predictions and targets and gives a number; `totals` gives what is added up over batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.activations import log_softargmax
from adjoint.nn.elsewhere import explain_name
from adjoint.nn.losses.classification import cross_entropy
from adjoint.program.types import Value

__all__ = [
    "Metric", "absolute_error", "accuracy", "brier", "confusion", "log_loss", "perplexity", "r2", "squared_error",
    "top_k",
]  # fmt: skip


@final
@dataclass(frozen=True)
class Metric:
    """A mean that is known by totals: `metric(prediction, target, weight)` is finish(total / weight).

    ```python
    half = ad.nn.metrics.Metric("within a half", lambda z, y: np.abs(z - y) < 0.5)
    float(half(np.array([0.1, 1.0, 5.0]), np.zeros(3)))  # → 0.333333333
    ```
    """

    name: str
    each: Callable[[Any, Any], Any]  # one number (or array of them) for each example
    finish: Callable[[Any], Any] | None = None

    @user_facing
    def totals(self, prediction: Any, target: Any, weight: Any = None) -> tuple[Value, Value]:
        """Σ cᵢ sᵢ and Σ cᵢ over the examples, in double precision."""
        found = self.each(prediction, target)
        parts = found if isinstance(found, tuple) else (found,)
        shape = np.shape(target)[: _axes(parts[0], target)]
        totals = []
        for part in parts:
            numbers = part.astype(np.float64) if hasattr(part, "astype") else np.asarray(part, np.float64)
            wide = 1.0 if weight is None else _widen(weight, numbers)
            totals.append(np.sum(numbers * wide, axis=tuple(range(len(shape)))))
        count = (
            np.float64(np.prod(shape)) if weight is None else np.sum(_widen(weight, np.zeros(shape)) + np.zeros(shape))
        )
        return (totals[0] if len(totals) == 1 else np.stack(totals)), count

    @user_facing
    def __call__(self, prediction: Any, target: Any, weight: Any = None) -> Value:
        """The metric of all examples."""
        return self.read(*self.totals(prediction, target, weight))

    def read(self, total: Any, weight: Any) -> Value:
        """The number that totals mean."""
        mean = total / weight
        return mean if self.finish is None else self.finish(mean)


def _axes(numbers: Any, target: Any) -> int:
    """How many leading axes count examples: those of the targets, as far as there is a number for each."""
    return min(np.ndim(numbers), np.ndim(target)) if np.ndim(target) else 0


def _widen(weight: Any, numbers: Any) -> Any:
    return np.reshape(weight, (*np.shape(weight), *(1,) * (np.ndim(numbers) - np.ndim(weight))))


def decide(prediction: Any, target: Any) -> Value:
    """Classes from scores: the largest one, or the sign where there is one score for each example."""
    if np.ndim(prediction) == np.ndim(target) + 1:
        return np.argmax(prediction, axis=-1)
    if np.shape(prediction) != np.shape(target):
        raise ShapeError(f"metrics: scores of shape {np.shape(prediction)} do not fit labels of shape "
                         f"{np.shape(target)}: give one row of scores for each label, or one score.")  # fmt: skip
    return np.where(prediction > 0, 1, 0)


def _same(prediction: Any, target: Any) -> None:
    if np.shape(prediction) != np.shape(target):
        raise ShapeError(f"metrics: predictions of shape {np.shape(prediction)} do not fit targets of shape "
                         f"{np.shape(target)}; np.reshape one of them.")  # fmt: skip


def _accuracy(prediction: Any, target: Any) -> Value:
    return decide(prediction, target) == target


def _log_loss(prediction: Any, target: Any) -> Value:
    if np.ndim(prediction) == np.ndim(target):
        _same(prediction, target)
        return np.logaddexp(0.0, prediction) - target * prediction
    return cross_entropy(prediction, target)


def _brier(prediction: Any, target: Any) -> Value:
    if np.ndim(prediction) == np.ndim(target):
        _same(prediction, target)
        return (1.0 / (1.0 + np.exp(-prediction)) - target) ** 2
    p = np.exp(log_softargmax(prediction))
    chosen = np.take_along_axis(p, target[..., None], axis=-1)[..., 0]
    return np.sum(p * p, axis=-1) - 2.0 * chosen + 1.0


def _absolute(prediction: Any, target: Any) -> Value:
    _same(prediction, target)
    return np.abs(prediction - target)


def _squared(prediction: Any, target: Any) -> Value:
    _same(prediction, target)
    return (prediction - target) ** 2


def _moments(prediction: Any, target: Any) -> tuple[Value, ...]:
    _same(prediction, target)
    return (prediction - target) ** 2, target, target * target


def _r2(means: Any) -> Value:
    error, mean, square = means
    return 1.0 - error / (square - mean * mean)


accuracy = Metric("accuracy", _accuracy)
log_loss = Metric("log_loss", _log_loss)
perplexity = Metric("perplexity", _log_loss, np.exp)
brier = Metric("brier", _brier)
absolute_error = Metric("absolute_error", _absolute)
squared_error = Metric("squared_error", _squared)
r2 = Metric("r2", _moments, _r2)


@user_facing
def top_k(k: int) -> Metric:
    """How often the label is among the k largest scores.

    ```python
    scores = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]])
    float(ad.nn.metrics.top_k(2)(scores, np.array([1, 1])))  # → 0.5
    ```
    """
    if k < 1:
        raise ValueError(f"top_k: k={k}; it is at least 1.")
    return Metric(f"top_{k}", _TopK(k))


@final
@dataclass(frozen=True)
class _TopK:
    k: int

    def __call__(self, prediction: Any, target: Any) -> Value:
        own = np.take_along_axis(prediction, target[..., None], axis=-1)
        return np.sum(prediction > own, axis=-1) < self.k


@user_facing
def confusion(classes: int) -> Metric:
    """How often a class (row) was taken for another (column), as fractions of all examples.

    ```python
    scores = np.array([[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]])
    3 * ad.nn.metrics.confusion(2)(scores, np.array([0, 1, 1]))  # → [[1.0, 0.0], [1.0, 1.0]]
    ```
    """
    return Metric("confusion", _Confusion(int(classes)))


@final
@dataclass(frozen=True)
class _Confusion:
    classes: int

    def __call__(self, prediction: Any, target: Any) -> Value:
        names = np.arange(self.classes)
        true = target[..., None, None] == names[:, None]
        return np.logical_and(true, decide(prediction, target)[..., None, None] == names)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        name if name.startswith("__") else explain_name("adjoint.nn.metrics", name, __all__), name=name
    )
