"""All prefixes e₀, e₀∘e₁, … of an associative operation, in O(log n) steps over whole arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.program.types import Value


def prefixes(combine: Callable[..., list[Value]], xs: list[Value]) -> list[Value]:
    """By pairing neighbors, scanning the half, and filling in between. The first axis is scanned."""
    n = np.shape(xs[0])[0]
    if n < 2:
        return xs
    pairs = combine([x[0 : n - 1 : 2] for x in xs], [x[1::2] for x in xs])
    odd = prefixes(combine, pairs)
    even_tail = combine([x[: (n - 1) // 2] for x in odd], [x[2::2] for x in xs]) if n > 2 else None
    out: list[Value] = []
    for j, x in enumerate(xs):
        even = x[0:1] if even_tail is None else np.concatenate([x[0:1], even_tail[j]])
        out.append(_interleave(even, odd[j], n))
    return out


def _interleave(even: Value, odd: Value, n: int) -> Value:
    """even[0], odd[0], even[1], odd[1], …"""
    order = np.argsort(np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)]), kind="stable")
    return np.take(np.concatenate([even, odd]), order, axis=0)
