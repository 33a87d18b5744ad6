"""Normalization: each feature over the batch, or each example over its features; then a scale and a shift.

(x - μ) / √(σ² + ε) · weight + bias, σ² the variance with divisor n; gradients go through μ and σ².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.nn.locating import LayerShapeError, checked_array, checked_input, shown, title_of
from adjoint.nn.statistics import RunningStatistics
from adjoint.program.types import Value

__all__ = ["BatchNorm", "GroupNorm", "LayerNorm", "RMSNorm"]


def _normalized(x: Value, axes: Any, eps: float) -> tuple[Value, Value, Value]:
    """x with mean 0 and variance 1 over some axes; and mean and variance, which keep these axes."""
    mean = np.mean(x, axis=axes, keepdims=True)
    centered = x - mean
    variance = np.mean(centered * centered, axis=axes, keepdims=True)
    return centered * (1 / np.sqrt(variance + eps)), mean, variance


def _scaled(x: Value, weight: Value | None, bias: Value | None) -> Value:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@dataclass(frozen=True)
class LayerNorm:
    """Each example over its last axis: mean 0, variance 1, then · weight + bias.

    ```python
    norm = ad.nn.LayerNorm.init(4, eps=0.0)
    norm(np.array([1.0, 2.0, 3.0, 4.0]))  # → [-1.341640…, -0.447213…, 0.447213…, 1.341640…]
    ```
    """

    weight: Value
    bias: Value | None = None
    eps: float = tree.static(default=1e-5)

    def __post_init__(self) -> None:
        checked_array(self, "weight", "features")

    @classmethod
    @user_facing
    def init(cls, features: int, *, bias: bool = True, eps: float = 1e-5, dtype: Any = np.float64) -> LayerNorm:
        """Weight 1 and bias 0."""
        return cls(np.ones(features, dtype), np.zeros(features, dtype) if bias else None, eps)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"LayerNorm {self.weight.shape[-1]}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        x = checked_input(self, x, self.weight, self.weight.shape[0])
        return _scaled(_normalized(x, -1, self.eps)[0], self.weight, self.bias)


@dataclass(frozen=True)
class RMSNorm:
    """x / √(mean x² + ε) · weight along the last axis: no mean is taken away.

    ```python
    norm = ad.nn.RMSNorm.init(2, eps=0.0)
    norm(np.array([1.0, 7.0]))  # → [0.2, 1.4]
    ```
    """

    weight: Value
    eps: float = tree.static(default=1e-6)

    def __post_init__(self) -> None:
        checked_array(self, "weight", "features")

    @classmethod
    @user_facing
    def init(cls, features: int, *, eps: float = 1e-6, dtype: Any = np.float64) -> RMSNorm:
        """Weight 1."""
        return cls(np.ones(features, dtype), eps)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"RMSNorm {self.weight.shape[-1]}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        x = checked_input(self, x, self.weight, self.weight.shape[0])
        return x * (1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.eps)) * self.weight


@dataclass(frozen=True)
class GroupNorm:
    """Each example over groups of channels and all positions; x[n, channels, *space].

    One group is layer normalization of images, as many groups as channels is instance normalization. With `axis=-1`
    channels stand last.

    ```python
    norm = ad.nn.GroupNorm.init(4, groups=2)
    norm(np.ones((3, 4, 5, 5))).shape  # → (3, 4, 5, 5)
    ```
    """

    weight: Value
    bias: Value
    groups: int = tree.static()
    eps: float = tree.static(default=1e-5)
    axis: int = tree.static(default=1)

    def __post_init__(self) -> None:
        checked_array(self, "weight", "features, groups")

    @classmethod
    @user_facing
    def init(
        cls, channels: int, groups: int, *, eps: float = 1e-5, axis: int = 1, dtype: Any = np.float64
    ) -> GroupNorm:
        """Weight 1 and bias 0."""
        if groups < 1 or channels % groups:
            raise ValueError(f"GroupNorm: {channels} channels do not divide into {groups} groups.")
        return cls(np.ones(channels, dtype), np.zeros(channels, dtype), groups, eps, axis)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"GroupNorm {self.weight.shape[-1]} in {self.groups}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        channels = self.weight.shape[0]
        x = checked_input(self, x, self.weight, channels, self.axis)
        axis = self.axis % x.ndim
        split = np.reshape(x, (*x.shape[:axis], self.groups, channels // self.groups, *x.shape[axis + 1 :]))
        axes = tuple(i for i in range(1, split.ndim) if i != axis)
        y = np.reshape(_normalized(split, axes, self.eps)[0], x.shape)
        return _scaled(y, *[along(p, axis, x.ndim) for p in (self.weight, self.bias)])


@dataclass(frozen=True)
class BatchNorm:
    """Each feature over the batch, and over positions: x[n, features], or x[n, channels, *space].

    In training (with a generator) by the mean and variance (divisor n) of the batch, which move the running ones
    (divisor n - 1) by `momentum`; in evaluation by the running ones. Those are no parameters.

    ```python
    norm = ad.nn.BatchNorm.init(2, eps=0.0)
    norm(np.array([[1.0, 2.0], [3.0, 6.0]]), rng=ad.random.default_rng(0))  # → [[-1.0, -1.0], [1.0, 1.0]]
    norm.statistics.mean  # → [0.2, 0.4]
    ```
    """

    weight: Value
    bias: Value
    statistics: RunningStatistics
    eps: float = tree.static(default=1e-5)
    momentum: float = tree.static(default=0.1)
    axis: int = tree.static(default=1)

    def __post_init__(self) -> None:
        checked_array(self, "weight", "features")

    @classmethod
    @user_facing
    def init(
        cls, features: int, *, eps: float = 1e-5, momentum: float = 0.1, axis: int = 1, dtype: Any = np.float64
    ) -> BatchNorm:
        """Weight 1, bias 0; mean 0 and variance 1 before any training."""
        zeros, ones = np.zeros(features, dtype), np.ones(features, dtype)
        return cls(ones, zeros, RunningStatistics(zeros.copy(), ones.copy()), eps, momentum, axis)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"BatchNorm {self.weight.shape[-1]}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        x = checked_input(self, x, self.weight, self.weight.shape[0], self.axis)
        axis = self.axis % x.ndim
        weight, bias = [along(p, axis, x.ndim) for p in (self.weight, self.bias)]
        if rng is None:
            mean, variance = self.statistics.mean, self.statistics.variance
            scale = self.weight / np.sqrt(variance + self.eps)
            return x * along(scale, axis, x.ndim) + along(self.bias - mean * scale, axis, x.ndim)
        axes = tuple(i for i in range(x.ndim) if i != axis)
        count = x.size // x.shape[axis]
        if count < 2:
            raise LayerShapeError(
                title_of(self),
                f"x is {x.shape}, one number for each feature, which has no variance; train on larger batches, and "
                "outside of vmap",
            )
        y, mean, variance = _normalized(x, axes, self.eps)
        features = self.weight.shape
        self.statistics.update(
            np.reshape(mean, features), np.reshape(variance, features) * (count / (count - 1)), self.momentum
        )
        return _scaled(y, weight, bias)


def along(parameter: Value, axis: int, ndim: int) -> Value:
    """A vector with its elements along one of `ndim` axes."""
    return np.reshape(parameter, (-1, *(1,) * (ndim - 1 - axis)))
