"""Random words by operations on arrays of 64-bit integers: what compiled programs hold instead of a draw.

The words are those of `adjoint.random.bits`, bit for bit; see there for the letters.
"""

# The functions are written in plain NumPy, on values that are being recorded.
# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.philox import INCREMENTS, MULTIPLIERS, ROUNDS, WORD, RandomBlocks
from adjoint.program.types import Value

WORDS = np.dtype(np.uint64)
LOW, HALF = np.uint64(WORD), np.uint64(32)


def as_words(x: Value) -> Value:
    """Integers modulo 2⁶⁴."""
    x = x if hasattr(x, "dtype") else np.asarray(x)
    x = x.astype(np.int64) if x.dtype.kind == "i" else x
    return x if x.dtype == WORDS else x.astype(WORDS)


def write_block(key: tuple[Value, Value], positions: Value, purpose: int) -> list[Value]:
    """The four words (c₀, c₁, c₂, c₃) of the blocks at 64-bit positions, for a purpose."""
    k0, k1 = key
    c0, c1 = positions & LOW, positions >> HALF
    c2: Value = np.zeros(positions.shape, WORDS)
    c3: Value = np.full(positions.shape, purpose, WORDS)
    for number in range(ROUNDS):
        if number:
            k0, k1 = (k0 + np.uint64(INCREMENTS[0])) & LOW, (k1 + np.uint64(INCREMENTS[1])) & LOW
        p0, p1 = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & LOW, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW
    return [c0, c1, c2, c3]


def halves(key: Value) -> tuple[Value, Value]:
    """The two words of a key, with an axis behind the streams."""
    wide = key.astype(WORDS)
    return wide[..., 0][..., None], wide[..., 1][..., None]


def write_words(key: Value, counter: Value, count: int, attempt: int) -> Value:
    """The words number counter, …, counter + count - 1 of the streams: […, count]."""
    counter = as_words(counter)
    streams = np.broadcast_shapes(key.shape[:-1], counter.shape)
    blocks = count // 2 + 1
    first, keys = np.broadcast_to(counter >> np.uint64(1), streams), np.broadcast_to(key, (*streams, 2))
    stream = np.reshape(RandomBlocks(blocks, attempt)(keys, first), (*streams, 2 * blocks))
    is_odd = np.not_equal(np.broadcast_to(counter, streams) & np.uint64(1), np.uint64(0))[..., None]
    return np.where(is_odd, stream[..., 1 : count + 1], stream[..., :count])


def write_keys(key: Value, positions: Value, purpose: int) -> Value:
    """The keys that a key and positions […, n] determine: […, n, 2]."""
    c0, c1, _, _ = write_block(halves(key), positions, purpose)
    return np.stack([c0, c1], axis=-1).astype(np.uint32)


def write_uniform(words: Value, dtype: np.dtype[Any], inside: bool) -> Value:
    """The leading p bits times 2⁻ᵖ, in [0, 1); if `inside`, the last of them is one: in (0, 1)."""
    precision = {"float64": 53, "float32": 24, "float16": 11}[dtype.name]
    precision = 24 if inside and dtype != np.float64 else precision
    integers = words >> np.uint64(64 - precision)
    integers = integers | np.uint64(1) if inside else integers
    return integers.astype(dtype) * dtype.type(2.0**-precision)
