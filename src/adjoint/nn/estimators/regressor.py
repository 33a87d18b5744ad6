"""`Regressor`: a network that tells numbers, as an estimator of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn.estimators.base import NetworkEstimator, keep_arguments, learn, read_weights, validate
from adjoint.nn.estimators.classifier import _Scored

__all__ = ["Regressor"]


def regression_loss(model: Any, batch: Any, rng: Any) -> Any:
    """Half the squared distance of each example."""
    return 0.5 * np.sum((model(batch["x"], rng=rng) - batch["y"]) ** 2, axis=-1)


class Regressor(learn.base.RegressorMixin, NetworkEstimator):
    """A network for numbers, trained by Adam on squares: an estimator of scikit-learn. Arguments as `Classifier`'s.

    Targets are scaled to mean 0 and variance 1 for training, and back in predictions (`scale=False` leaves them).

    ```python
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    model = ad.nn.Regressor(hidden=(32,), epochs=300, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    model.score(X, np.sin(3 * X[:, 0])) > 0.9  # → True
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
        learning_rate: Any = 5e-3,
        decay: float = 1e-4,
        batch: int | str = "auto",
        epochs: int = 200,
        scale: bool = True,
        validation: Any = None,
        patience: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        dtype: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_arguments(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode(self, y: Any) -> Any:
        wide = np.reshape(np.asarray(y, np.float64), (len(y), -1))
        return (wide - self._center) / self._spread

    def _loss(self) -> Any:
        return regression_loss if self.loss is None else _Scored(self.loss)

    def _measure(self, y: Any, weight: Any) -> None:
        wide = np.reshape(y, (len(y), -1)).astype(np.float64)
        self._center = np.average(wide, axis=0, weights=weight) if self.scale else np.zeros(wide.shape[1])
        spread = np.sqrt(np.average((wide - self._center) ** 2, axis=0, weights=weight))
        self._spread = np.where(spread > 0, spread, 1.0) if self.scale else np.ones(wide.shape[1])
        self._is_flat = np.ndim(y) == 1

    @user_facing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Train on examples X (one row each) and their numbers y, one or several for each."""
        X, y = validate(self, X, y, multi_output=True, y_numeric=True)
        weight = read_weights(sample_weight, X)
        goes_on = bool(self.warm_start) and hasattr(self, "_state")
        if not goes_on:
            self._measure(y, weight)
        self._train(X, self._encode(y), weight, len(self._center), self._loss(), self.epochs, goes_on)
        return self

    @user_facing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """One epoch more on these examples; the first call sets the scale of the targets."""
        begun = hasattr(self, "_state")
        X, y = validate(self, X, y, reset=not begun, multi_output=True, y_numeric=True)
        weight = read_weights(sample_weight, X)
        if not begun:
            self._measure(y, weight)
        self._train(X, self._encode(y), weight, len(self._center), self._loss(), 1, begun)
        return self

    @user_facing
    def predict(self, X: Any) -> Any:
        """The numbers that the network tells."""
        found = self._scores(X) * self._spread + self._center
        return found[:, 0] if self._is_flat else found
