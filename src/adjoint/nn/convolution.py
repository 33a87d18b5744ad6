"""Convolution as a layer; `adjoint.signal` has the operation itself, pooling and resampling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.initializers import Initializer
from adjoint.nn.locating import LayerShapeError, checked_array, checked_input, shown
from adjoint.nn.normalization import along
from adjoint.program.types import Value
from adjoint.signal import conv, conv_transpose

__all__ = ["Conv", "ConvTranspose"]


def _sizes(call: str, inputs: int, outputs: int, size: Any, axes: int, groups: int) -> tuple[int, ...]:
    """The sizes of a kernel along each axis of space; channels must divide into groups."""
    sizes = tuple(size) if isinstance(size, list | tuple) else (size,) * axes
    if not sizes or any(not isinstance(n, int | np.integer) or n < 1 for n in sizes):
        raise ValueError(f"{call}: size is an integer or one for each axis of space, got {size!r}.")
    if inputs % groups or outputs % groups:
        raise ValueError(f"{call}: {inputs} and {outputs} channels do not divide into {groups} groups.")
    return sizes


@dataclass(frozen=True)
class Conv:
    """Convolution of x[…, channels, *space] with kernels weight[outputs, channels / groups, *size], then + bias.

    With `channels="last"`: x[…, *space, channels] and weight[*size, channels / groups, outputs]. Options are those of
    `ad.signal.conv`.

    ```python
    layer = ad.nn.Conv.init(ad.random.default_rng(0), 3, 8, (3, 3), padding="same")
    layer(np.ones((2, 3, 10, 10))).shape  # → (2, 8, 10, 10)
    ```
    """

    weight: Value
    bias: Value | None = None
    stride: Any = tree.static(default=1)
    padding: Any = tree.static(default="valid")
    dilation: Any = tree.static(default=1)
    groups: int = tree.static(default=1)
    channels: str = tree.static(default="first")

    def __post_init__(self) -> None:
        checked_array(self, "weight", "rng, inputs, outputs, size")

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: int,
        outputs: int,
        size: Any,
        *,
        axes: int = 2,
        stride: Any = 1,
        padding: Any = "valid",
        dilation: Any = 1,
        groups: int = 1,
        channels: str = "first",
        bias: bool = True,
        weight: Initializer = initializers.he_normal,
        dtype: Any = np.float64,
    ) -> Conv:
        """Random kernels; a `size` that is one number is that of each of `axes` axes of space."""
        sizes = _sizes("Conv", inputs, outputs, size, axes, groups)
        depth, window = inputs // groups, math.prod(sizes)
        shape = (outputs, depth, *sizes) if channels == "first" else (*sizes, depth, outputs)
        made = weight(rng, shape, dtype, fan=(depth * window, outputs // groups * window))
        return cls(made, np.zeros(outputs, dtype) if bias else None, stride, padding, dilation, groups, channels)

    __repr__ = shown

    @property
    def title(self) -> str:
        first = self.channels == "first"
        (o, c), size = (self.weight.shape[:2], self.weight.shape[2:]) if first else (
            self.weight.shape[:-3:-1], self.weight.shape[:-2]
        )  # fmt: skip
        return f"Conv {c * self.groups} → {o}, {' x '.join(map(str, size))}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        n = self.weight.ndim - 2
        axis, own = (-1 - n, 1) if self.channels == "first" else (-1, -2)
        x = checked_input(self, x, self.weight, self.weight.shape[own] * self.groups, axis)
        y = conv(
            x, self.weight, stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups,
            channels=self.channels,
        )  # fmt: skip
        if 0 in y.shape and 0 not in x.shape:
            raise LayerShapeError(self.title, f"x is {x.shape}, smaller than the kernel; pad it, or take a smaller one")
        return y if self.bias is None else y + along(self.bias, axis % y.ndim, y.ndim)


@dataclass(frozen=True)
class ConvTranspose:
    """The transpose of a convolution: x[…, channels, *space] with weight[channels, outputs / groups, *size], + bias.

    Each position of x writes a kernel into the result, at steps of `stride`.

    ```python
    layer = ad.nn.ConvTranspose.init(ad.random.default_rng(0), 8, 3, (2, 2), stride=2)
    layer(np.ones((1, 8, 5, 5))).shape  # → (1, 3, 10, 10)
    ```
    """

    weight: Value
    bias: Value | None = None
    stride: Any = tree.static(default=1)
    padding: Any = tree.static(default="valid")
    output_padding: Any = tree.static(default=0)
    dilation: Any = tree.static(default=1)
    groups: int = tree.static(default=1)

    def __post_init__(self) -> None:
        checked_array(self, "weight", "rng, inputs, outputs, size")

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: int,
        outputs: int,
        size: Any,
        *,
        axes: int = 2,
        stride: Any = 1,
        padding: Any = "valid",
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        weight: Initializer = initializers.lecun_normal,
        dtype: Any = np.float64,
    ) -> ConvTranspose:
        """Random kernels."""
        sizes = _sizes("ConvTranspose", inputs, outputs, size, axes, groups)
        shape, window = (inputs, outputs // groups, *sizes), math.prod(sizes)
        made = weight(rng, shape, dtype, fan=(inputs // groups * window, outputs // groups * window))
        return cls(made, np.zeros(outputs, dtype) if bias else None, stride, padding, output_padding, dilation, groups)

    __repr__ = shown

    @property
    def title(self) -> str:
        c, o = self.weight.shape[:2]
        return f"ConvTranspose {c} → {o * self.groups}, {' x '.join(map(str, self.weight.shape[2:]))}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        axis = -1 - (self.weight.ndim - 2)
        x = checked_input(self, x, self.weight, self.weight.shape[0], axis)
        y = conv_transpose(
            x, self.weight, stride=self.stride, padding=self.padding, output_padding=self.output_padding,
            dilation=self.dilation, groups=self.groups,
        )  # fmt: skip
        return y if self.bias is None else y + along(self.bias, axis % y.ndim, y.ndim)
