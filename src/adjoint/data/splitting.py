"""Which examples belong to which part: fractions or counts, in proportion to labels where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["split_numbers"]


def split_numbers(n: int, parts: Sequence[float | int], rng: Any, labels: Any) -> list[Any]:
    """Which examples belong to each part, in the order of the examples."""
    sizes = _sizes(n, parts)
    order = np.arange(n) if rng is None else rng.permutation(n)
    if labels is not None:
        labels = np.asarray(labels)
        if labels.shape[:1] != (n,):
            raise ValueError(f"split: stratify has shape {labels.shape}, and there are {n} examples.")
        _, group = np.unique(labels, return_inverse=True)
        order = _interleave(order[np.argsort(group[order], kind="stable")], sizes)
    bounds = np.cumsum([0, *sizes])
    return [np.sort(order[a:b]) for a, b in pairwise(bounds)]


def _interleave(order: Any, sizes: list[int]) -> Any:
    """Examples that stand beside each other go to all parts alternately, in proportion to their sizes."""
    n = len(order)
    rest = n - sum(sizes)
    shares = [*sizes, rest] if rest else sizes
    share = np.concatenate([(np.arange(size) + 0.5) / size for size in shares if size])
    owner = np.concatenate([np.full(size, i) for i, size in enumerate(shares)])[np.argsort(share, kind="stable")]
    return order[np.argsort(owner, kind="stable")]


def _sizes(n: int, parts: Sequence[float | int]) -> list[int]:
    if all(isinstance(part, int | np.integer) for part in parts):
        sizes = [int(part) for part in parts]
        if min(sizes, default=0) < 0 or sum(sizes) > n:
            raise ValueError(f"split: parts of {sizes} examples cannot be taken from {n}.")
        return sizes
    if any(not 0.0 <= float(part) <= 1.0 for part in parts) or sum(parts) > 1.0 + 1e-9:
        raise ValueError(f"split: {tuple(parts)} are no fractions that add up to at most 1.")
    bounds = np.round(np.cumsum([0.0, *map(float, parts)]) * n).astype(int)
    return [int(b - a) for a, b in pairwise(bounds)]
