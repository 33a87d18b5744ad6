"""Attention in blocks: the softmax is streamed over blocks of keys, for one block of queries after the other.

For a block of queries, (m, l, a) holds the largest score so far, Σ exp(s - m) and Σ exp(s - m) v; a further block of
keys rescales the sums by exp(m - m'). The result a / l does not depend on m, so derivatives take m as a constant. Each
block of queries is computed again in the backward pass: memory grows with the length, not with its square. (Milakov,
Gimelshein 2018; Rabe, Staats 2021.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.api.checkpoint import checkpoint
from adjoint.api.control_flow import scan
from adjoint.api.gradients import stop_gradient
from adjoint.nn.dropping import checked_generator, dropout
from adjoint.program.types import Value

__all__ = ["attend_in_blocks"]


def attend_in_blocks(
    q: Value, k: Value, v: Value, allowed: Value | None, bias: Value | None, causal: bool, block: int, rate: float,
    rng: Any,
) -> Value:  # fmt: skip
    """softargmax(q kᵀ + bias) v where it is allowed, in blocks of queries and keys."""
    if isinstance(block, bool) or not isinstance(block, int) or block < 1:
        raise ValueError(f"attention: block is a number of tokens, 1 or more; got {block!r}.")
    queries, keys = q.shape[-2], k.shape[-2]
    rows, columns = min(block, max(queries, 1)), min(block, max(keys, 1))
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    root = None if rng is None or rate == 0 else checked_generator("attention", rng).spawn(1)[0]
    count = math.ceil(keys / columns)
    key_blocks, value_blocks = _blocks(k, -2, columns), _blocks(v, -2, columns)

    def attend(i: Value, q: Value, allowed: Any, bias: Any) -> Value:
        row = i * rows + np.arange(rows)[:, None] + (keys - queries)
        own_allowed, own_bias = _varying(allowed, -1, columns, keys), _varying(bias, -1, columns, keys)

        def body(carry: Any, item: Any) -> tuple[Any, None]:
            m, l, a = carry
            j, k, v, own = item
            column = j * columns + np.arange(columns)
            scores = q @ np.swapaxes(k, -1, -2)
            added = own.get("bias", bias)
            scores = scores if added is None else scores + added
            inside = column < keys
            inside = inside & (column <= row) if causal else inside
            some = own.get("allowed", allowed)
            inside = inside if some is None else inside & some
            scores = np.where(inside, scores, -np.inf)
            new = stop_gradient(np.maximum(m, np.max(scores, axis=-1, keepdims=True)))
            top = np.where(np.isneginf(new), 0, new)
            shrink, e = np.exp(m - top), np.exp(scores - top)
            l = l * shrink + np.sum(e, axis=-1, keepdims=True)
            kept = e if root is None else dropout(e, rate, root.at(i * count + j))
            return (new, l, a * shrink + kept @ v), None

        shape = np.broadcast_shapes(lead, q.shape[:-2], () if allowed is None else allowed.shape[:-2],
                                    () if bias is None else bias.shape[:-2])  # fmt: skip
        dtype = q.dtype
        start = (
            np.full((*shape, rows, 1), -np.inf, dtype), np.zeros((*shape, rows, 1), dtype),
            np.zeros((*shape, rows, v.shape[-1]), dtype),
        )  # fmt: skip
        own = {name: x for name, x in (("allowed", own_allowed), ("bias", own_bias)) if x is not None}
        (_, l, a), _ = scan(body, start, (np.arange(count), key_blocks, value_blocks, own))
        return a * (1 / np.where(l == 0, 1, l))

    def outer(_: None, item: Any) -> tuple[None, Value]:
        i, q, own = item
        return None, checkpoint(attend)(i, q, own.get("allowed", allowed), own.get("bias", bias))

    own = {name: made for name, x in (("allowed", allowed), ("bias", bias))
           if (made := _varying(x, -2, rows, queries)) is not None}  # fmt: skip
    _, out = scan(outer, None, (np.arange(math.ceil(queries / rows)), _blocks(q, -2, rows), own))
    out = np.moveaxis(out, 0, -3)  # […, blocks, rows, e]
    return np.reshape(out, (*out.shape[:-3], out.shape[-3] * out.shape[-2], out.shape[-1]))[..., :queries, :]


def _blocks(x: Value, axis: int, size: int) -> Value:
    """Blocks of an axis, counted from the end, stacked along a new first axis; the last one filled with zeros."""
    missing = -x.shape[axis] % size
    if missing:
        x = np.pad(x, [(0, missing if i == x.ndim + axis else 0) for i in range(x.ndim)])
    at = x.ndim + axis
    return np.moveaxis(np.reshape(x, (*x.shape[:at], x.shape[at] // size, size, *x.shape[at + 1 :])), at, 0)


def _varying(x: Value | None, axis: int, size: int, length: int) -> Value | None:
    """The blocks of a mask or bias along an axis; None where it is the same for all."""
    if x is None or x.ndim < -axis or x.shape[axis] == 1:
        return None
    return _blocks(x, axis, size)
