"""Losses of numbers: one for each prediction, in the shape of the predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn.losses.shapes import match_shapes
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["absolute", "gaussian_nll", "huber", "log_cosh", "nll_of", "poisson_nll", "quantile", "squared"]


@user_facing
def squared(f: Any, y: Any) -> Value:
    """(f - y)².

    ```python
    ad.nn.losses.squared(np.array([1.0, 3.0]), np.array([0.0, 3.0]))  # → [1.0, 0.0]
    ```
    """
    f, y = match_shapes("squared", f, y)
    return (f - y) ** 2


@user_facing
def absolute(f: Any, y: Any) -> Value:
    """|f - y|; its derivative at zero is zero.

    ```python
    ad.nn.losses.absolute(np.array([1.0, 3.0]), np.array([0.0, 5.0]))  # → [1.0, 2.0]
    ```
    """
    f, y = match_shapes("absolute", f, y)
    return np.abs(f - y)


@user_facing
def huber(f: Any, y: Any, delta: float = 1.0) -> Value:
    """½ e² where |e| ≤ δ, else δ (|e| - ½ δ): squares near zero, and outliers count as far as they are.

    ```python
    ad.nn.losses.huber(np.array([0.5, 2.0]), np.zeros(2))  # → [0.125, 1.5]
    ```
    """
    f, y = match_shapes("huber", f, y)
    if not isinstance(delta, TRACED) and not np.all(np.asarray(delta) > 0):
        raise ValueError(f"losses.huber: delta is {delta}; it must be above zero.")
    error = np.abs(f - y)
    near = np.minimum(error, delta)
    return 0.5 * near * near + delta * (error - near)


@user_facing
def log_cosh(f: Any, y: Any) -> Value:
    """log cosh(f - y): as Huber's loss, and smooth.

    ```python
    ad.nn.losses.log_cosh(np.array([0.0, 100.0]), np.zeros(2))  # → [0.0, 99.306852…]
    ```
    """
    f, y = match_shapes("log_cosh", f, y)
    return np.logaddexp(f - y, y - f) - np.log(2.0)


@user_facing
def quantile(f: Any, y: Any, q: Any) -> Value:
    """q (y - f) above the prediction, (1 - q) (f - y) below: smallest in the mean at the q-quantile of y.

    ```python
    ad.nn.losses.quantile(np.zeros(2), np.array([1.0, -1.0]), 0.9)  # → [0.9, 0.1]
    ```
    """
    f, y = match_shapes("quantile", f, y)
    if not isinstance(q, TRACED) and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError(f"losses.quantile: q is {q}; it lies between 0 and 1.")
    error = y - f
    return np.maximum(q * error, (q - 1.0) * error)


@user_facing
def gaussian_nll(mean: Any, scale: Any, y: Any) -> Value:
    """log σ + ½ log 2π + (y - μ)² / (2 σ²): of a normal distribution, whose scale may be predicted too.

    ```python
    ad.nn.losses.gaussian_nll(0.0, 2.0, 1.0)  # → 1.737085…
    ```
    """
    mean, y = match_shapes("gaussian_nll", mean, y)
    if not isinstance(scale, TRACED) and not np.all(np.asarray(scale) > 0):
        raise ValueError("losses.gaussian_nll: the scale must be above zero; predict its logarithm, or take "
                         "nn.softplus of what the network gives.")  # fmt: skip
    return np.log(scale) + 0.5 * np.log(2 * np.pi) + 0.5 * ((y - mean) / scale) ** 2


@user_facing
def poisson_nll(log_rate: Any, y: Any) -> Value:
    """λ - y log λ + log y!, from the logarithm of the rate.

    ```python
    ad.nn.losses.poisson_nll(0.0, 2.0)  # → 1.693147…
    ```
    """
    from scipy.special import gammaln

    log_rate, y = match_shapes("poisson_nll", log_rate, y)
    return np.exp(log_rate) - y * log_rate + gammaln(y + 1.0)


def nll_of(log_density: Callable[..., Any]) -> Callable[..., Value]:
    """The loss of a distribution, from its log-density (y, *parameters): loss(*parameters, y).

    ```python
    loss = ad.nn.losses.nll_of(lambda y, rate: np.log(rate) - rate * y)
    loss(2.0, 1.0)  # → 1.306852…
    ```
    """

    def loss(*arguments: Any) -> Value:
        *parameters, y = arguments
        return -log_density(y, *parameters)

    return loss
