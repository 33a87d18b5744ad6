"""Losses of classes, from logits: nothing overflows, and nothing is the logarithm of zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing, warn_user
from adjoint.nn.activations import log_softargmax, softargmax
from adjoint.nn.losses.shapes import as_array, match_shapes
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["cross_entropy", "entropy", "focal", "kl", "logistic", "soft_cross_entropy"]


def _base(base: float) -> float:
    """What natural logarithms are divided by."""
    if not base > 1:
        raise ValueError(f"losses: base is {base}; logarithms have a base above one.")
    return float(np.log(base))


@user_facing
def logistic(z: Any, y: Any, base: float = np.e) -> Value:
    """-y log σ(z) - (1 - y) log(1 - σ(z)) of a logit z, for y in {0, 1} or a probability between: softplus(z) - y z.

    ```python
    ad.nn.losses.logistic(np.array([0.0, 1000.0]), np.array([1, 1]))  # → [0.693147…, 0.0]
    ```
    """
    z, y = match_shapes("logistic", z, y)
    if not isinstance(y, TRACED) and not np.all((y >= 0) & (y <= 1)):
        raise ValueError("losses.logistic: targets are 0, 1, or probabilities between them; for classes ±1 write "
                         "(y + 1) / 2.")  # fmt: skip
    return (np.logaddexp(0.0, z) - y * z) / _base(base)


def _look_at_logits(z: Value) -> None:
    """A warning where probabilities stand in the place of logits."""
    if isinstance(z, TRACED) or z.size == 0 or z.shape[-1] < 2:
        return
    if np.all((z >= 0) & (z <= 1)) and np.allclose(np.sum(z, axis=-1), 1.0, atol=1e-6):
        warn_user("losses.cross_entropy: the logits lie between 0 and 1 and sum to 1, as probabilities do. Give the "
                  "logits themselves, or np.log of the probabilities.")  # fmt: skip


@user_facing
def cross_entropy(z: Any, y: Any, smoothing: float = 0.0, base: float = np.e) -> Value:
    """-log softargmax(z)_y, for logits z (…, k) and classes y (…) from 0 to k - 1, or one-hot rows y (…, k).

    `smoothing` ε replaces the one-hot row c by (1 - ε) c + ε / k.

    ```python
    ad.nn.losses.cross_entropy(np.array([2.0, 0.0, 0.0]), 0)  # → 0.239544…
    ad.nn.losses.cross_entropy(np.zeros(2), 1, base=2)  # → 1.0
    ```
    """
    z, y = as_array(z), as_array(y)
    k = z.shape[-1] if z.shape else 0
    if not k:
        raise ShapeError(f"losses.cross_entropy: the logits have shape {z.shape}; their last axis is that of classes. "
                         "One logit of two classes is for losses.logistic.")  # fmt: skip
    if not isinstance(smoothing, TRACED) and not 0 <= smoothing <= 1:
        raise ValueError(f"losses.cross_entropy: smoothing is {smoothing}; it lies between 0 and 1.")
    if y.dtype.kind not in "biufc":
        raise TypeError(f"losses.cross_entropy: the classes are of type {y.dtype}; they are integers from 0 on, which "
                        "names, numbers = np.unique(y, return_inverse=True) makes.")  # fmt: skip
    if y.dtype.kind in "fc" or y.shape == z.shape:
        if y.shape == z.shape:
            return soft_cross_entropy(z, (1.0 - smoothing) * y + smoothing / k, base)
        raise ShapeError(f"losses.cross_entropy: the logits have shape {z.shape} and the targets {y.shape} of "
                         f"{y.dtype}; targets are integers of shape {z.shape[:-1]}, or one-hot rows.")  # fmt: skip
    if z.shape[:-1] != y.shape:
        raise ShapeError(f"losses.cross_entropy: the logits have shape {z.shape}, so that the classes must have "
                         f"{z.shape[:-1]}, and they have {y.shape}.")  # fmt: skip
    if not isinstance(y, TRACED) and y.size and (np.min(y) < 0 or np.max(y) >= k):
        wrong = np.min(y) if np.min(y) < 0 else np.max(y)
        raise ValueError(f"losses.cross_entropy: class {wrong} is beyond the {k} classes of the logits, which are 0 to "
                         f"{k - 1}.")  # fmt: skip
    _look_at_logits(z)
    logs = log_softargmax(z)
    y = np.where(y < 0, k, y) if isinstance(y, TRACED) else y  # an index from the end would be another class
    chosen = np.take_along_axis(logs, y[..., None], axis=-1)[..., 0]
    if smoothing:
        chosen = (1.0 - smoothing) * chosen + smoothing * np.mean(logs, axis=-1)
    return -chosen / _base(base)


@user_facing
def soft_cross_entropy(z: Any, p: Any, base: float = np.e) -> Value:
    """-Σ p log softargmax(z), for logits z and probabilities p of one shape (…, k).

    ```python
    ad.nn.losses.soft_cross_entropy(np.log([0.25, 0.75]), np.array([0.5, 0.5]), base=2)  # → 1.207518…
    ```
    """
    z, p = match_shapes("soft_cross_entropy", z, p)
    if not isinstance(p, TRACED) and not np.allclose(sums := np.sum(p, axis=-1), 1.0, atol=1e-4):
        wrong = np.ravel(sums)[np.argmax(np.abs(np.ravel(sums) - 1.0))]
        raise ValueError(f"losses.soft_cross_entropy: the rows of the targets, {p.shape}, do not sum to 1 (one to "
                         f"{wrong}); they are probabilities: divide by np.sum(p, axis=-1, keepdims=True).")  # fmt: skip
    _look_at_logits(z)
    logs = log_softargmax(z)
    return -np.sum(np.where(p > 0, p * np.where(p > 0, logs, 0.0), 0.0), axis=-1) / _base(base)


@user_facing
def entropy(p: Any, base: float = np.e) -> Value:
    """-Σ p log p over the last axis, where 0 log 0 = 0.

    ```python
    ad.nn.losses.entropy(np.array([[0.5, 0.5], [1.0, 0.0]]), base=2)  # → [1.0, 0.0]
    ```
    """
    p = as_array(p)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=-1) / _base(base)


@user_facing
def kl(p: Any, q: Any, base: float = np.e) -> Value:
    """Σ p log(p / q) over the last axis: how many more digits p costs in a code for q; infinite where q alone is zero.

    ```python
    ad.nn.losses.kl(np.array([0.5, 0.5]), np.array([0.25, 0.75]), base=2)  # → 0.207518…
    ```
    """
    p, q = match_shapes("kl", p, q)
    with np.errstate(divide="ignore"):
        ratio = np.log(np.where(p > 0, p, 1.0)) - np.log(np.where(p > 0, q, 1.0))
    return np.sum(np.where(p > 0, p * ratio, 0.0), axis=-1) / _base(base)


@user_facing
def focal(z: Any, y: Any, gamma: float = 2.0) -> Value:
    """-(1 - p_y)^γ log p_y, with p = softargmax(z): examples that are easy count less. γ = 0 is the cross entropy.

    ```python
    ad.nn.losses.focal(np.zeros(2), 0)  # → 0.173286…
    ```
    """
    if not isinstance(gamma, TRACED) and not np.all(np.asarray(gamma) >= 0):
        raise ValueError(f"losses.focal: gamma is {gamma}; it must not be negative.")
    loss = cross_entropy(z, y)
    chosen = np.take_along_axis(softargmax(as_array(z)), as_array(y)[..., None], axis=-1)[..., 0]
    return (1.0 - chosen) ** gamma * loss
