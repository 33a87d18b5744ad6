"""Attention: for each query a mean of values, weighted by how well its key fits; and with several heads.

A = softargmax over keys of (q kᵀ · scale + bias), where the mask allows; the result is A v. A query with no key gives
0, with derivative 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.dropping import checked_rate, dropout
from adjoint.nn.linear import Linear
from adjoint.nn.locating import LayerShapeError, apply, shown, title_of
from adjoint.nn.sequence.blockwise import attend_in_blocks
from adjoint.nn.sequence.positions import rope
from adjoint.ops.arrays.logsumexp import largest
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["MultiHead", "attention", "causal_mask"]


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    block: int | None = None,
    rate: float = 0.0,
    rng: Any = None,
) -> Value:
    """softargmax(q kᵀ · scale + bias) v for q[…, queries, d], k[…, keys, d], v[…, keys, e]; axes in front broadcast.

    `scale` is 1/√d. `mask` broadcasts to […, queries, keys]: booleans, True where a query may look, or numbers that are
    added (-∞ forbids). `causal` lets query i look at keys up to i, where the last query belongs to the last key. One
    that may look at nothing gives 0. With `block`, keys and queries are taken in blocks of this size, and memory grows
    with the length, not with its square; the result is the same. In training (`rng`), weights are dropped at `rate`.

    ```python
    identity, values = np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])
    ad.nn.attention(identity, identity, values, causal=True, scale=1.0)  # → [[1.0, 2.0], [2.462117…, 3.462117…]]
    ```
    """
    q, k, v = as_values(q), as_values(k), as_values(v)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"attention: q is {q.shape}, k {k.shape}, v {v.shape}; they must be [..., queries, d], [..., keys, d] and "
            "[..., keys, e]."
        )
    allowed, bias = _split_mask(mask, bias, q.dtype)
    for name, array in (("mask", allowed), ("bias", bias)):
        _check_square(name, array, q.shape[-2], k.shape[-2])
    q = q * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if not k.shape[-2]:
        return np.zeros((*np.broadcast_shapes(q.shape[:-2], v.shape[:-2]), q.shape[-2], v.shape[-1]), v.dtype)
    rate = checked_rate("attention", rate)
    if block is not None:
        return attend_in_blocks(q, k, v, allowed, bias, causal, block, rate, rng)
    if causal:
        lower = causal_mask(q.shape[-2], k.shape[-2])
        allowed = lower if allowed is None else allowed & lower
    scores = q @ np.swapaxes(k, -1, -2)
    weights = attention_weights(scores, allowed, bias)
    return dropout(weights, rate, rng) @ v


def attention_weights(scores: Value, allowed: Value | None, bias: Value | None) -> Value:
    """The softargmax of scores over the last axis, where it is allowed; rows of 0 where nothing is."""
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    top = largest(scores, (scores.ndim - 1,))
    if allowed is None and bias is None:
        e = np.exp(scores - top)
        return e * (1 / np.sum(e, axis=-1, keepdims=True))
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = np.sum(e, axis=-1, keepdims=True)
    return e * (1 / np.where(total == 0, 1, total))


def causal_mask(queries: int, keys: int) -> Any:
    """True where query i may look at key j ≤ i, counted from the end.

    ```python
    ad.nn.causal_mask(2, 3)  # → [[True, True, False], [True, True, True]]
    ```
    """
    return np.arange(keys) <= np.arange(queries)[:, None] + (keys - queries)


def _split_mask(mask: Any, bias: Any, dtype: Any) -> tuple[Value | None, Value | None]:
    """A mask as booleans, or as a bias."""
    bias = None if bias is None else _as_type(as_values(bias), dtype)
    if mask is None:
        return None, bias
    mask = as_values(mask)
    if mask.dtype.kind == "b":
        return mask, bias
    if mask.dtype.kind != "f":
        raise TypeError(f"attention: the mask is {mask.dtype}; it must be booleans, or floats that are added.")
    added = _as_type(mask, dtype)
    return None, added if bias is None else added + bias


def _as_type(array: Value, dtype: Any) -> Value:
    return array if array.dtype == dtype else array.astype(dtype)


def _check_square(name: str, array: Value | None, queries: int, keys: int) -> None:
    shape = () if array is None else array.shape
    if (shape[-1:] not in ((), (1,), (keys,))) or (len(shape) > 1 and shape[-2] not in (1, queries)):
        raise ShapeError(f"attention: the {name} is {shape}; it must broadcast to [..., {queries}, {keys}].")


@dataclass(frozen=True)
class MultiHead:
    """Attention with several heads: projections of x to queries, keys and values, and one of the results back.

    With `kv_heads` < heads, several heads share keys and values. `rope` (the base of its rates, or None) turns queries
    and keys by their positions. `memory` gives keys and values from another sequence (cross-attention).

    ```python
    layer = ad.nn.MultiHead.init(ad.random.default_rng(0), 8, heads=2)
    layer(np.ones((3, 5, 8)), causal=True).shape  # → (3, 5, 8)
    ```
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    heads: int = tree.static()
    kv_heads: int = tree.static()
    rope: float | None = tree.static(default=None)
    layout: str = tree.static(default="halves")
    dropout: float = tree.static(default=0.0)

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        width: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        memory_width: int | None = None,
        bias: bool = True,
        rope: float | None = None,
        layout: str = "halves",
        dropout: float = 0.0,
        dtype: Any = np.float64,
    ) -> MultiHead:
        """Weights of variance 1/width."""
        kv_heads = heads if kv_heads is None else kv_heads
        if heads < 1 or width % heads:
            fit = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            raise ValueError(f"MultiHead: {heads} heads do not divide a width of {width}; take {fit}.")
        if kv_heads < 1 or heads % kv_heads:
            raise ValueError(f"MultiHead: {heads} heads cannot share {kv_heads} heads of keys and values evenly.")
        checked_rate("MultiHead", dropout)
        size = width // heads
        make = lambda m, n: Linear.init(rng, m, n, bias=bias, weight=initializers.lecun_normal, dtype=dtype)
        source = width if memory_width is None else memory_width
        parts = make(width, width), make(source, kv_heads * size), make(source, kv_heads * size), make(width, width)
        return cls(*parts, heads, kv_heads, rope, layout, dropout)

    __repr__ = shown

    @property
    def title(self) -> str:
        shared = f", {self.kv_heads} of keys" if self.kv_heads != self.heads else ""
        return f"MultiHead {self.query.weight.shape[-2]}, {self.heads} heads{shared}"

    def project(self, x: Any, memory: Any = None, positions: Any = None) -> tuple[Value, Value, Value]:
        """Queries […, heads, length, d], keys and values […, kv_heads, length, d]."""
        q = self.project_queries(x)
        k, v = self.project_keys(x if memory is None else memory)
        if self.rope is not None and memory is None:
            where = np.arange(q.shape[-2]) if positions is None else as_values(positions)
            where = where[..., None, :] if where.ndim > 1 else where  # the same for all heads
            q = rope(q, where, base=self.rope, layout=self.layout)
            k = rope(k, where, base=self.rope, layout=self.layout)
        return q, k, v

    def project_queries(self, x: Any) -> Value:
        """Queries […, heads, length, d], not turned by their positions."""
        x = as_values(x)
        if x.ndim < 2:
            raise LayerShapeError(title_of(self), f"x is {x.shape}; it must be [..., length, width]")
        return _split_heads(apply(self.query, ".query", x), self.heads)

    def project_keys(self, source: Any) -> tuple[Value, Value]:
        """Keys and values […, kv_heads, length, d], not turned by their positions."""
        k = _split_heads(apply(self.key, ".key", source), self.kv_heads)
        return k, _split_heads(apply(self.value, ".value", source), self.kv_heads)

    def merge(self, attended: Value) -> Value:
        """[…, heads, length, d] back to […, length, width]."""
        attended = np.swapaxes(attended, -2, -3)
        return apply(
            self.output,
            ".output",
            np.reshape(attended, (*attended.shape[:-2], attended.shape[-2] * attended.shape[-1])),
        )

    def __call__(
        self,
        x: Any,
        memory: Any = None,
        *,
        mask: Any = None,
        causal: bool = False,
        bias: Any = None,
        positions: Any = None,
        block: int | None = None,
        rng: Any = None,
    ) -> Value:
        """`mask` and `bias` broadcast to […, heads, queries, keys]; a mask with one axis less is for all heads."""
        q, k, v = self.project(x, memory, positions)
        k, v = self.shared(k), self.shared(v)
        mask = over_heads(mask, q.ndim)
        return self.merge(
            attention(q, k, v, mask=mask, causal=causal, bias=bias, block=block, rate=self.dropout, rng=rng)
        )

    def shared(self, k: Value) -> Value:
        """Keys or values, each as often as heads share it."""
        return k if self.kv_heads == self.heads else np.repeat(k, self.heads // self.kv_heads, axis=-3)


def over_heads(mask: Any, ndim: int) -> Value | None:
    """A mask of […, queries, keys] with an axis for heads, if it has none."""
    if mask is None:
        return None
    array: Value = as_values(mask)
    return array[..., None, :, :] if 3 <= array.ndim < ndim else array


def _split_heads(x: Value, heads: int) -> Value:
    """[…, length, heads · d] as […, heads, length, d]."""
    return np.swapaxes(np.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads)), -2, -3)
