"""Gauss-Newton matrices as means of products of gradients, by Bartlett's identity.

For a loss L(w; y) = -log p(y | θ(w)) of an exponential family with natural parameters θ, and labels drawn *from the
model*, y ~ p(· | θ(w)), not taken from the data,

    GN(w) = E[∇L ⊗ ∇L] ≈ (1/S) Σⱼ gⱼ ⊗ gⱼ,        gⱼ = ∇L(w; yⱼ).

All possible labels with their probabilities as weights give it exactly; all labels with equal weights do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, stop_gradient, vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.functions.probes import Estimate, average_samples
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operations import congruence
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import Value

__all__ = ["Bartlett", "bartlett", "bartlett_diagonal"]

Loss = Callable[[Any, Any], Any]


@final
@dataclass(frozen=True, eq=False)
class Bartlett:
    """Σⱼ pⱼ gⱼ ⊗ gⱼ by its factors: the rows of `gradients`, in the order of `ravel`, and the weights (None: 1/S).

    ```python
    loss = lambda w, y: np.logaddexp(0.0, w) - y * w
    ad.linear.bartlett(loss, 0.0, np.array([0.0, 1.0])).gradients  # → [[0.5], [-0.5]]
    ```
    """

    gradients: Value
    weights: Value | None
    space: Space = field(metadata={"static": True})

    @property
    def map(self) -> LinearMap:
        """v ↦ Σⱼ pⱼ gⱼ ⟨gⱼ, v⟩, positive semidefinite, of rank at most S."""
        count = self.gradients.shape[0]
        root = 1.0 / np.sqrt(count) if self.weights is None else np.sqrt(self.weights)[:, None]
        return congruence(matrix(root * self.gradients, domain=self.space))

    def diagonal(self) -> Estimate:
        """Σⱼ pⱼ gⱼ ∘ gⱼ, in the structure of w; with weights it is no estimate, and its error is zero."""
        squares = np.abs(self.gradients) ** 2
        count = squares.shape[0]
        if self.weights is None:
            found = average_samples(squares, count, "bartlett")
            value, error = found.value, found.error
        else:
            value = np.sum(self.weights[:, None] * squares, axis=0)
            error = stop_gradient(value) * 0.0
        return Estimate(self.space.unravel(value), self.space.unravel(error), count, "bartlett")

    def trace(self) -> Estimate:
        """Σⱼ pⱼ ‖gⱼ‖²."""
        squares = np.sum(np.abs(self.gradients) ** 2, axis=1)
        if self.weights is None:
            return average_samples(squares, squares.shape[0], "bartlett")
        value = np.sum(self.weights * squares)
        return Estimate(value, stop_gradient(value) * 0.0, squares.shape[0], "bartlett")


def _count(samples: Any, title: str) -> int:
    counts = {np.shape(leaf)[:1] for leaf in tree.leaves(samples)}
    if len(counts) != 1 or counts == {()}:
        raise ShapeError(f"{title}: the samples are stacked along the first axis of every array; got first axes "
                         f"{sorted(counts)}.")  # fmt: skip
    return counts.pop()[0]


@user_facing
def bartlett(loss: Loss, w: Any, samples: Any, weights: Any = None) -> Bartlett:
    """Σⱼ pⱼ ∇L(w; yⱼ) ⊗ ∇L(w; yⱼ) for samples yⱼ stacked along the first axis; S gradients.

    Without weights the samples are drawn from the model, and each counts 1/S. `.map` is the matrix as a linear map,
    `.diagonal()` and `.trace()` come with standard errors.

    ```python
    loss = lambda w, y: np.logaddexp(0.0, w) - y * w
    ad.linear.bartlett(loss, 0.0, np.array([0.0, 1.0]), np.array([0.5, 0.5])).map @ 1.0  # → 0.25
    ```
    """
    count = _count(samples, "bartlett")
    if weights is not None and np.shape(weights) != (count,):
        raise ShapeError(f"bartlett: {count} samples need {count} weights; got shape {np.shape(weights)}.")
    space = Space.of(w)
    w = space.checked(w, "bartlett: w")
    gradients = vmap(grad(loss), in_axes=(None, 0))(w, samples)
    weights = None if weights is None else weights if hasattr(weights, "dtype") else np.asarray(weights, float)
    return Bartlett(np.transpose(space.ravel_columns(gradients)), weights, space)


@user_facing
def bartlett_diagonal(loss: Loss, w: Any, samples: Any) -> Estimate:
    """S (∇ mean_j L(w; yⱼ)) ∘ (∇ mean_j L(w; yⱼ)): the diagonal of E[∇L ⊗ ∇L] from one gradient of the mean loss.

    Unbiased, because scores of labels from the model have mean zero, so that the products of different samples cancel
    on average. It costs one backward pass and varies more than `bartlett(...).diagonal()`. Its standard error is √2
    times the value itself, the limit for many samples, in which the mean score is normal.

    ```python
    loss = lambda w, y: np.logaddexp(0.0, w) - y * w
    ad.linear.bartlett_diagonal(loss, 0.0, np.array([0.0, 1.0, 1.0])).value  # → 0.0833333…
    ```
    """
    count = _count(samples, "bartlett_diagonal")
    space = Space.of(w)
    w = space.checked(w, "bartlett_diagonal: w")
    gradient = space.ravel(grad(lambda w: np.mean(vmap(loss, in_axes=(None, 0))(w, samples)))(w))
    value = count * np.abs(gradient) ** 2
    error = np.sqrt(2.0) * stop_gradient(value)
    return Estimate(space.unravel(value), space.unravel(error), 1, "bartlett, averaged loss")
