"""From losses to objectives: means, penalties, priors, and averages over models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.losses.shapes import as_array
from adjoint.program.types import Value

__all__ = ["average", "empirical_risk", "generalization_gap", "log_prior", "posterior", "regularized"]


@user_facing
def empirical_risk(losses: Any, weight: Any = None) -> Value:
    """Σ cᵢ ℓᵢ / Σ cᵢ: the mean loss of examples with weights, one by default.

    ```python
    ad.nn.losses.empirical_risk(np.array([1.0, 3.0]), np.array([3.0, 1.0]))  # → 1.5
    ```
    """
    losses = as_array(losses)
    if weight is None:
        return np.mean(losses)
    weight = as_array(weight)
    total = np.sum(weight)
    if not hasattr(total, "_trace") and not total > 0:
        raise ValueError("losses.empirical_risk: the weights sum to zero, so that there is no mean.")
    return np.sum(weight * losses) / total


def regularized(loss: Callable[..., Any], penalty: Callable[[Any], Any], strength: Any) -> Callable[..., Any]:
    """loss(model, …) + strength · penalty(model), as a function of the same arguments.

    ```python
    ridge = ad.nn.losses.regularized(lambda w, x: (w - x) ** 2, lambda w: w**2, 0.5)
    ridge(1.0, 3.0)  # → 4.5
    ```
    """

    def objective(model: Any, *args: Any) -> Any:
        return loss(model, *args) + strength * penalty(model)

    return objective


@user_facing
def log_prior(kind: str, model: Any, scale: Any = 1.0) -> Value:
    """The log-density of the parameters, but for a constant: "gaussian" -½ ‖w‖²/s², "laplace" -‖w‖₁/s, or "flat" 0.

    ```python
    ad.nn.losses.log_prior("gaussian", {"w": np.array([1.0, 2.0])})  # → -2.5
    ```
    """
    kinds = {
        "gaussian": lambda leaf: -0.5 * np.sum(np.abs(leaf) ** 2) / scale**2,
        "laplace": lambda leaf: -np.sum(np.abs(leaf)) / scale,
        "flat": lambda leaf: 0.0 * np.sum(np.real(leaf)),
    }
    if kind not in kinds:
        raise ValueError(f"losses.log_prior: {kind!r} is no prior; they are {', '.join(kinds)}.")
    total: Any = 0.0
    for leaf in tree.leaves(model):
        total = total + kinds[kind](as_array(leaf))
    return total


@user_facing
def generalization_gap(train: Any, test: Any) -> Value:
    """The mean loss of examples that were not seen, less that of those that were.

    ```python
    ad.nn.losses.generalization_gap(np.zeros(3), np.array([1.0, 0.0]))  # → 0.5
    ```
    """
    return np.mean(as_array(test)) - np.mean(as_array(train))


@user_facing
def posterior(log_likelihoods: Any, log_prior: Any = 0.0) -> Value:
    """The probability of each model of a finite family: likelihood times prior, normalized in logarithms.

    ```python
    ad.nn.losses.posterior(np.log([0.1, 0.3]), np.log([0.5, 0.5]))  # → [0.25, 0.75]
    ```
    """
    joint = as_array(log_likelihoods) + log_prior
    shifted = joint - np.max(joint, axis=-1, keepdims=True)
    weights = np.exp(shifted)
    return weights / np.sum(weights, axis=-1, keepdims=True)


@user_facing
def average(predictions: Sequence[Any], weights: Any = None) -> Any:
    """Σ wᵢ pᵢ of what several models predict: by their posterior, or the plain mean over samples of it.

    ```python
    ad.nn.losses.average([np.array([0.2, 0.8]), np.array([0.6, 0.4])], np.array([0.25, 0.75]))  # → [0.5, 0.5]
    ```
    """
    count = len(predictions)
    chosen = np.full(count, 1.0 / count) if weights is None else as_array(weights)
    if chosen.shape != (count,):
        raise ValueError(f"losses.average: there are {count} models and weights of shape {chosen.shape}.")
    shapes = [[np.shape(leaf) for leaf in tree.leaves(each)] for each in predictions]
    for number, other in enumerate(shapes):
        if other != shapes[0]:
            raise ShapeError(f"losses.average: number {number} has arrays of shapes {other}, and number 0 {shapes[0]}.")
    return tree.map(lambda *leaves: sum((w * leaf for w, leaf in zip(chosen, leaves, strict=True)), 0.0), *predictions)
