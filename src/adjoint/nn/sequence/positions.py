"""Where a token stands: vectors added to it, rotations of queries and keys, or a bias of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.locating import LayerShapeError, shown, title_of
from adjoint.numpy import take
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["LearnedPositions", "alibi", "rope", "sinusoidal"]


@dataclass(frozen=True)
class LearnedPositions:
    """A learned vector for each of a fixed number of positions.

    ```python
    table = ad.nn.LearnedPositions.init(ad.random.default_rng(0), 16, 4)
    table(3).shape  # → (3, 4)
    ```
    """

    weight: Value

    @classmethod
    @user_facing
    def init(
        cls, rng: Any, context: int, width: int, *, scale: float = 0.02, dtype: Any = np.float64
    ) -> LearnedPositions:
        """Normal numbers with this standard deviation."""
        return cls(initializers.normal(scale)(rng, (context, width), dtype))

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"LearnedPositions {self.weight.shape[-2]} → {self.weight.shape[-1]}"

    def __call__(self, positions: Any, *, rng: Any = None) -> Value:
        """The vectors of the first n positions, or of an array of them."""
        n = self.weight.shape[0]
        if isinstance(positions, int):
            if positions > n:
                raise LayerShapeError(title_of(self), f"{positions} tokens; the context has {n}: cut the sequence")
            return self.weight[:positions]
        where: Value = as_values(positions)
        if not isinstance(where, Tracer) and where.size and (where.min() < 0 or where.max() >= n):
            raise LayerShapeError(title_of(self), f"position {where.max()}; the context ends with {n - 1}")
        return take(self.weight, where, axis=0)


def sinusoidal(length: int, width: int, *, base: float = 10000.0, dtype: Any = np.float64) -> Value:
    """sin(ωⱼ i) at even j, cos(ωⱼ₋₁ i) at odd j, for i < length and ωⱼ = base^(-j/width), both counted from 0.

    ```python
    ad.nn.sinusoidal(2, 4)  # → [[0.0, 1.0, 0.0, 1.0], [0.841470…, 0.540302…, 0.009999…, 0.999950…]]
    ```
    """
    if width % 2:
        raise ShapeError(f"sinusoidal: the width must be even, for pairs of sine and cosine; got {width}.")
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, width).astype(dtype)


def rope(x: Any, position: Any, *, base: float = 10000.0, layout: str = "pairs") -> Value:
    """Rotary positions: pairs of features of x[…, length, width] turned by position · base^(-2j/width).

    So ⟨rope(q, m), rope(k, n)⟩ depends on m - n alone. A pair is (2j, 2j + 1) in the layout "pairs" (the paper, Su and
    others 2021), and (j, j + width/2) in "halves" (Llama's weights). Complex x has one number for each pair.

    ```python
    ad.nn.rope(np.array([[1.0, 0.0]]), np.array([1]))  # → [[0.540302…, 0.841470…]]
    ```
    """
    x, where = as_values(x), as_values(position)
    is_complex = x.dtype.kind == "c"
    pairs = x.shape[-1] if is_complex else x.shape[-1] // 2
    if not is_complex and x.shape[-1] % 2:
        raise ShapeError(f"rope: the last axis of x must be even, for pairs of features; x is {x.shape}.")
    if layout not in ("pairs", "halves"):
        raise ValueError(f"rope: layout must be 'pairs' or 'halves', got {layout!r}.")
    cosine, sine = rotations(where, pairs, base, x.dtype)
    if is_complex:
        return x * (cosine + 1j * sine)
    if layout == "halves":
        a, b = x[..., :pairs], x[..., pairs:]
        return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=-1)
    split = np.reshape(x, (*x.shape[:-1], pairs, 2))
    a, b = split[..., 0], split[..., 1]
    return np.reshape(np.stack([a * cosine - b * sine, a * sine + b * cosine], axis=-1), x.shape)


def rotations(positions: Value, pairs: int, base: float, dtype: Any) -> tuple[Value, Value]:
    """Cosines and sines of position · base^(-j/pairs) in this type; computed in float64 where positions are known."""
    real = np.zeros((), dtype).real.dtype
    rates = base ** (-np.arange(pairs) / pairs)
    angles = positions[..., None]
    if isinstance(positions, Tracer):
        angles = angles.astype(real) * rates.astype(real)
        return np.cos(angles), np.sin(angles)
    angles = angles * rates
    return np.cos(angles).astype(real), np.sin(angles).astype(real)


def alibi(heads: int, queries: int, keys: int | None = None, *, dtype: Any = np.float64) -> Value:
    """A bias (heads, queries, keys) of scores: -s_h · distance, s_h = 2^(-8h/heads), h from 1 (Press and others 2022).

    The last query stands where the last key does. For a number of heads that is no power of two, the rates of the next
    smaller one are completed by every other rate of the next larger one, as in the paper.

    ```python
    ad.nn.alibi(2, 2)  # → [[[0.0, -0.0625], [-0.0625, 0.0]], [[0.0, -0.00390625], [-0.00390625, 0.0]]]
    ```
    """
    keys = queries if keys is None else keys
    rates = [2.0 ** (-8 * h / (1 << (heads.bit_length() - 1))) for h in range(1, (1 << (heads.bit_length() - 1)) + 1)]
    more = [2.0 ** (-4 * h / (1 << (heads.bit_length() - 1))) for h in range(1, 2 * len(rates) + 1, 2)]
    rates = [*rates, *more][:heads]
    distance = np.abs(np.arange(queries)[:, None] + (keys - queries) - np.arange(keys))
    return (-np.array(rates)[:, None, None] * distance).astype(dtype)
