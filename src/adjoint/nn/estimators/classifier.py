"""`Classifier`: a network that tells classes, as an estimator of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn.activations import log_softargmax
from adjoint.nn.estimators.base import NetworkEstimator, keep_arguments, learn, read_weights, validate, weigh_classes
from adjoint.nn.losses.classification import cross_entropy

__all__ = ["Classifier"]


def classification_loss(model: Any, batch: Any, rng: Any) -> Any:
    """-log p(y | x) of each example."""
    return cross_entropy(model(batch["x"], rng=rng), batch["y"])


class Classifier(learn.base.ClassifierMixin, NetworkEstimator):
    """A network for classes, trained by Adam on the cross-entropy: an estimator of scikit-learn.

    `hidden` are the sizes of the layers between; or `network(rng, inputs, outputs)` makes a model of any kind. A `loss`
    of (scores, class numbers) and a `rule`, an update rule, replace the defaults. `validation` is a fraction of the
    examples, or a pair (X, y): the best model on it is kept; it ends when more than `patience` epochs in a row were no
    better.

    ```python
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = ad.nn.Classifier(hidden=(16,), epochs=200, learning_rate=0.05, random_state=0).fit(X, ["a", "b", "b", "a"])
    model.predict(X).tolist(), model.predict_proba(X).shape  # → (['a', 'b', 'b', 'a'], (4, 2))
    ```
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (100,),
        *,
        activation: Any = "relu",
        dropout: float = 0.0,
        network: Any = None,
        loss: Any = None,
        rule: Any = None,
        learning_rate: Any = 3e-3,
        decay: float = 1e-4,
        batch: int | str = "auto",
        epochs: int = 100,
        class_weight: Any = None,
        validation: Any = None,
        patience: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        dtype: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_arguments(self, locals())

    def _encode(self, y: Any) -> Any:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the label {unknown[0]!r}, which is none of the classes {list(self.classes_)}.")
        return np.searchsorted(self.classes_, y).astype(np.int64)

    def _loss(self) -> Any:
        return classification_loss if self.loss is None else _Scored(self.loss)

    def _weigh(self, y: Any, weight: Any) -> Any:
        return weigh_classes(self.class_weight, y, weight)

    @user_facing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train on examples X (one row each) and their classes y."""
        X, y = validate(self, X, y)
        learn.utils.multiclass.check_classification_targets(y)
        weight = self._weigh(y, read_weights(sample_weight, X))
        goes_on = bool(self.warm_start) and hasattr(self, "_state") and set(np.unique(y)) <= set(self.classes_)
        if not goes_on:
            self.classes_ = np.unique(y)
        self._train(X, self._encode(y), weight, len(self.classes_), self._loss(), self.epochs, goes_on)
        return self

    @user_facing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Classifier:
        """One epoch more on these examples; the first call names all classes."""
        begun = hasattr(self, "_state")
        X, y = validate(self, X, y, reset=not begun)
        learn.utils.multiclass.check_classification_targets(y)
        if not begun:
            if classes is None:
                raise ValueError("partial_fit: the first call needs classes=, all labels that may come.")
            self.classes_ = np.unique(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"partial_fit: classes are {list(self.classes_)} since the first call, not {list(classes)}."
            )
        weight = self._weigh(y, read_weights(sample_weight, X))
        self._train(X, self._encode(y), weight, len(self.classes_), self._loss(), 1, begun)
        return self

    @user_facing
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return np.asarray(log_softargmax(self._scores(X)))

    @user_facing
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, a row for each example."""
        return np.exp(self.predict_log_proba(X))

    @user_facing
    def predict(self, X: Any) -> Any:
        """The most probable classes."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]


@dataclass(frozen=True)
class _Scored:
    """A loss of scores and labels as one of models and batches; equal to another of the same function."""

    loss: Any

    def __call__(self, model: Any, batch: Any, rng: Any) -> Any:
        return self.loss(model(batch["x"], rng=rng), batch["y"])
