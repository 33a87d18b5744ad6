"""Losses of batches: one number for each example, their weighted mean, and the sum over all data.

L(w) = Σᵢ cᵢ ℓ(w; i) / Σᵢ cᵢ        a mean is a total divided by a weight, whatever the batches are
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, stop_gradient, value_and_grad, vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.data.arrays import Arrays, gather
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Call", "FiniteSum", "Total", "read_loss", "sum_losses"]

GENERATORS = ("rng", "generator", "key")


class Total(NamedTuple):
    """A sum of losses, and of their weights; weight None where the loss gave one number itself."""

    total: Value
    weight: Any


@final
@dataclass(frozen=True)
class Call:
    """How a loss is called: loss(params, batch), with the parts of the batch as arguments, with a generator."""

    loss: Callable[..., Any]
    spread: bool = False
    generator: str | None = None  # the name of its argument, "" by position

    def __call__(self, params: Any, batch: Any, rng: Any) -> Any:
        args = (params, *batch) if self.spread else (params, batch)
        if self.generator is None:
            return self.loss(*args)
        return self.loss(*args, **{self.generator: rng}) if self.generator else self.loss(*args, rng)


def read_loss(title: str, loss: Callable[..., Any], batch: Any) -> Call:
    """How the loss wants its arguments: from its signature and the structure of a batch."""
    if not callable(loss):
        raise TypeError(f"{title}: the loss is a function of (params, batch), not {loss!r}.")
    try:
        known = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError):
        return Call(loss)
    positions = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = next((p.name for p in known if p.name in GENERATORS and p.kind != p.POSITIONAL_ONLY), None)
    count = len([p for p in positions if p.default is p.empty and p.name != named])
    width = len(batch) if isinstance(batch, tuple | list) and not hasattr(batch, "_fields") else 0
    if count == 1 + width and width > 1:
        return Call(loss, True, named)
    if count == 2 + width and width > 1 and named is None:
        return Call(loss, True, "")
    if count == 3 and named is None:
        return Call(loss, False, "")
    if count > 2:
        raise TypeError(f"{title}: the loss takes {count} arguments; it is called as loss(params, batch)"
                        + (f", or with the {width} parts of a batch" if width > 1 else "")
                        + ", and with rng where it asks for one.")  # fmt: skip
    return Call(loss, False, named)


def sum_losses(title: str, found: Any, weight: Any, size: int) -> Total:
    """What a loss returned as a total: numbers (one for each example, or more axes), or a pair (numbers, weights).

    Sums are in double precision.
    """
    numbers: Any = found
    own: Any = None
    if isinstance(found, tuple) and len(found) == 2:
        numbers, own = found
    if not hasattr(numbers, "dtype"):
        numbers = np.asarray(numbers)
    if numbers.dtype.kind != "f":
        why = (
            "which has no derivative, as counts and argmax have none"
            if numbers.dtype.kind in "biu"
            else "and losses are real numbers"
        )
        raise TypeError(f"{title}: the loss is of type {numbers.dtype}, {why}. Return floating numbers, one for each "
                        "example.")  # fmt: skip
    shape = np.shape(numbers)
    if shape == ():
        if own is not None:
            return Total(numbers.astype(np.float64), stop_gradient(own))
        return Total(numbers.astype(np.float64), None)
    if shape[0] != size:
        raise ShapeError(f"{title}: the loss has shape {shape}, and the batch has {size} examples: it must give one "
                         "number for each of them (its first axis), or a single number.")  # fmt: skip
    if own is not None and np.shape(own) != shape:
        raise ShapeError(f"{title}: the loss returns {shape} numbers with weights of shape {np.shape(own)}.")
    numbers = numbers.astype(np.float64)
    factor = None if own is None else stop_gradient(own).astype(np.float64)
    if weight is not None:
        wide = np.reshape(weight, (size, *(1,) * (len(shape) - 1))).astype(np.float64)
        factor = wide if factor is None else factor * wide
    if factor is None:
        return Total(np.sum(numbers), np.float64(np.prod(shape)))
    return Total(np.sum(numbers * factor), np.sum(np.broadcast_to(factor, shape)))


@final
class FiniteSum:
    """The mean of a loss over data, and its stochastic oracle: values and gradients of parts of it.

    `loss(params, batch)` gives one number for each example. `gradient(w, indices)` is an unbiased estimate of
    `gradient(w)` where the indices are drawn by `sample`, and costs as much as they are many.

    ```python
    x = np.array([1.0, 2.0, 6.0])
    mean = ad.optimize.FiniteSum(lambda w, x: 0.5 * (w - x) ** 2, x)
    mean.value(0.0), mean.gradient(0.0), mean.gradient(0.0, np.array([2]))  # → (6.833333333, -3.0, -6.0)
    float(np.round(mean.variance(0.0, 1), 6))  # → 4.666667
    ```
    """

    unbiased = True

    def __init__(self, loss: Callable[..., Any], data: Any, weight: Any = None) -> None:
        source = data if isinstance(data, Arrays) else Arrays(data)
        self.data, self.size = source.columns, len(source)
        self.call = loss if isinstance(loss, Call) else read_loss("FiniteSum", loss, source.columns)
        self.weight = weight
        if weight is not None and np.shape(weight) != (self.size,):
            raise ShapeError(f"FiniteSum: weight has shape {np.shape(weight)}, and there are {self.size} examples.")
        if weight is not None and not isinstance(weight, TRACED):
            self.weight = weight = np.asarray(weight)
            if not np.all(weight >= 0) or not np.any(weight > 0):
                raise ValueError("FiniteSum: weights are not negative, and not all of them zero; give some above zero.")

    def batch(self, indices: Any = None) -> tuple[Any, Any, int]:
        """Examples, their weights (None where all are 1), and how many they are."""
        if indices is None:
            return self.data, self.weight, self.size
        weight = None if self.weight is None else self.weight[indices]
        return gather(self.data, indices), weight, np.shape(indices)[0]

    def total(self, params: Any, indices: Any = None, weight: Any = None, rng: Any = None) -> Total:
        """The total over some examples, with weights beside those of the data."""
        batch, own, size = self.batch(indices)
        joint = own if weight is None else weight if own is None else own * weight
        return sum_losses("FiniteSum", self.call(params, batch, rng), joint, size)

    @user_facing
    def value(self, params: Any, indices: Any = None, weight: Any = None, rng: Any = None) -> Value:
        """L(w), or its estimate from some examples."""
        total, count = self.total(params, indices, weight, rng)
        return total if count is None else total / count

    @user_facing
    def gradient(self, params: Any, indices: Any = None, weight: Any = None, rng: Any = None) -> Any:
        """∇L(w), or its estimate from some examples."""
        return grad(lambda w: self.value(w, indices, weight, rng))(params)

    @user_facing
    def value_and_gradient(self, params: Any, indices: Any = None, weight: Any = None, rng: Any = None) -> Any:
        """Both in one."""
        return value_and_grad(lambda w: self.value(w, indices, weight, rng))(params)

    @user_facing
    def example_gradients(self, params: Any, indices: Any = None) -> Any:
        """The gradient of each example's loss, stacked along a first axis.

        ```python
        mean = ad.optimize.FiniteSum(lambda w, x: 0.5 * (w - x) ** 2, np.array([1.0, 2.0, 6.0]))
        mean.example_gradients(0.0)  # → [-1.0, -2.0, -6.0]
        ```
        """
        one = lambda row: grad(lambda w: self._one(w, row))(params)
        return vmap(one)(self.batch(indices)[0])

    def _one(self, params: Any, row: Any) -> Value:
        alone = tree.map(lambda leaf: leaf[None], row)
        return np.sum(sum_losses("FiniteSum", self.call(params, alone, None), None, 1).total)

    def sample(self, rng: Any, size: int, replace: bool = True) -> Value:
        """Numbers of examples, all equally likely; with replacement, or without."""
        return rng.integers(0, self.size, size=size) if replace else rng.choice(self.size, size, replace=False)

    @user_facing
    def variance(self, params: Any, size: int = 1, replace: bool = True) -> Value:
        """E‖g - ∇L‖² of the gradient of `size` examples: σ²/m with replacement, σ²/m · (n - m)/(n - 1) without."""
        each = self.example_gradients(params)
        squares = [np.sum(np.abs(leaf - np.mean(leaf, axis=0)) ** 2) / self.size for leaf in tree.leaves(each)]
        spread = sum(squares[1:], squares[0]) / size
        return spread if replace else spread * (self.size - size) / max(self.size - 1, 1)
