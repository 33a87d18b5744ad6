"""Keys and values of tokens that a language model has seen: each further token then costs one step.

A cache has slots for `context` tokens. A token that is padding takes a slot, but nobody looks at it, and it does not
count as a position: so prompts of different lengths are padded on the left, and go on together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.nn.sequence.attention import MultiHead, causal_mask
from adjoint.numpy import array
from adjoint.ops.arrays.logsumexp import largest
from adjoint.program.types import Value

__all__ = ["Cache"]


@dataclass(frozen=True)
class Cache:
    """Keys and values (layers, …, kv_heads, context, d) of the tokens so far.

    `used` counts slots, `seen` real tokens of each sequence, `valid` says which slots hold one.

    ```python
    model = ad.nn.LanguageModel.init(ad.random.default_rng(0), tokens=5, width=8, heads=2, depth=2, context=6)
    cache = ad.nn.Cache.empty(model, (3,))
    scores, cache = model.step(np.array([[1, 2], [3, 4], [0, 1]]), cache)
    scores.shape, int(cache.used), cache.keys.shape  # → ((3, 2, 5), 2, (2, 3, 2, 6, 4))
    ```
    """

    keys: Value
    values: Value
    used: Value
    seen: Value
    valid: Value

    @classmethod
    def empty(cls, model: Any, batch: Any = ()) -> Cache:
        """A cache for a `LanguageModel` with no token in it, for a batch of sequences."""
        return cls.of(model.layers, (batch,) if isinstance(batch, int) else tuple(batch), model.context)

    @classmethod
    def of(cls, stack: Any, batch: tuple[int, ...], context: int) -> Cache:
        """An empty cache for a `Stack` of transformer layers."""
        attention: MultiHead = stack.layers.attention
        size = attention.key.weight.shape[-1] // attention.kv_heads
        keys = np.zeros((stack.depth, *batch, attention.kv_heads, context, size), attention.key.weight.dtype)
        seen, valid = np.zeros(batch, np.int64), np.zeros((*batch, context), bool)
        return cls(keys, np.zeros_like(keys), np.int64(0), seen, valid)

    @property
    def context(self) -> int:
        """How many tokens fit."""
        return self.keys.shape[-2]


def written(store: Value, new: Value, start: Value, axis: int) -> Value:
    """`store` with `new` written at `start` along an axis, counted from the end."""
    n = new.shape[axis]
    made = array(store)  # a traced position needs a traced array
    rest = (slice(None),) * (-axis - 1)
    if n == 1:
        made[(..., start, *rest)] = new[(..., 0, *rest)]
    else:
        made[(..., start + np.arange(n), *rest)] = new
    return made


def step_layers(
    layers: Any,
    cache: Cache,
    x: Value,
    real: Value,
    where: Value,
    bias: Any = None,
    look: Any = None,
    memory: Any = None,
) -> tuple[Value, Cache]:
    """Further tokens x[…, n, width] through stacked layers, and the cache with them.

    `real` is False where a token is padding, `where` its position. `look(layer, x, part)` is what stands between
    attention and the network, cross-attention say; `part` is the layer's own part of `memory`.
    """
    n = x.shape[-2]
    before = np.broadcast_to(cache.valid[..., None, :], (*x.shape[:-1], cache.context))
    own = causal_mask(n, n) & real[..., None, :]

    def body(x: Value, item: Any) -> tuple[Value, Any]:
        layer, keys, values, part = item
        made: list[Value] = []

        def attend(x: Value) -> Value:
            out, k, v = attend_to_cache(layer.attention, x, keys, values, own, before, where, bias)
            made.extend((k, v))
            return out

        x = layer.around("attention", layer.attention_norm, attend, x, None)
        return layer.feed(x if look is None else look(layer, x, part)), tuple(made)

    x, (k, v) = scan(body, x, (layers, cache.keys, cache.values, memory))
    return x, Cache(
        written(cache.keys, k, cache.used, -2),
        written(cache.values, v, cache.used, -2),
        cache.used + n,
        cache.seen + np.sum(real, axis=-1),
        written(cache.valid, real, cache.used, -1),
    )


def attend_to_cache(
    attention: MultiHead, x: Value, keys: Value, values: Value, own: Value, before: Value, positions: Value, bias: Any
) -> tuple[Value, Value, Value]:
    """Attention of new tokens to those in the cache (where `before` allows) and to each other (where `own` does).

    Gives the result and the keys and values of the new tokens. The softmax goes over both parts without joining them.
    """
    q, k, v = attention.project(x, positions=positions)
    groups = attention.heads // attention.kv_heads
    length, size = q.shape[-2:]
    q = q * (1 / math.sqrt(size))
    q = np.reshape(q, (*q.shape[:-3], attention.kv_heads, groups, length, size))
    old_bias, new_bias = (None, None) if bias is None else bias
    shape = (attention.kv_heads, groups)
    old = _scores(q, keys, before, old_bias, shape)
    new = _scores(q, k, own, new_bias, shape)
    top = np.maximum(largest(old, (old.ndim - 1,)), largest(new, (new.ndim - 1,)))
    top = np.where(np.isneginf(top), 0, top)
    old, new = np.exp(old - top), np.exp(new - top)
    total = np.sum(old, axis=-1, keepdims=True) + np.sum(new, axis=-1, keepdims=True)
    mixed = _mixed(old, values) + _mixed(new, v)
    out = mixed * (1 / np.where(total == 0, 1, total))
    return attention.merge(np.reshape(out, (*out.shape[:-4], attention.heads, length, size))), k, v


def _scores(q: Value, k: Value, allowed: Value, bias: Any, heads: tuple[int, int]) -> Value:
    """Scores […, kv_heads, groups, length, keys], -∞ where it is not allowed: heads that share keys are one matrix."""
    groups, length, size = q.shape[-3:]
    flat = np.reshape(q, (*q.shape[:-3], groups * length, size)) @ np.swapaxes(k, -1, -2)
    scores = np.reshape(flat, (*flat.shape[:-2], groups, length, flat.shape[-1]))
    if bias is not None:
        scores = scores + np.reshape(bias, (*bias.shape[:-3], *heads, *bias.shape[-2:]))
    return np.where(allowed[..., None, None, :, :], scores, -np.inf)


def _mixed(weights: Value, v: Value) -> Value:
    groups, length, keys = weights.shape[-3:]
    flat = np.reshape(weights, (*weights.shape[:-3], groups * length, keys)) @ v
    return np.reshape(flat, (*flat.shape[:-2], groups, length, flat.shape[-1]))
