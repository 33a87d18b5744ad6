"""One vector for a container of arrays, and back. Dictionaries go by their sorted keys."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(all numbers of a container as one vector, the function that puts such a vector into its form)."""
    leaves: list[Any] = []
    rebuild = _walk(value, leaves)
    sizes = [int(np.size(leaf)) for leaf in leaves]
    flat = np.concatenate([np.reshape(leaf, (-1,)) for leaf in leaves]) if leaves else np.zeros(0)

    def unflatten(vector: Any) -> Any:
        parts, start = [], 0
        for leaf, size in zip(shapes, sizes, strict=True):
            parts.append(np.reshape(vector[start : start + size], leaf) if leaf else vector[start])
            start += size
        return rebuild(iter(parts))

    shapes = [np.shape(leaf) for leaf in leaves]
    return flat, unflatten


def _walk(value: Any, leaves: list[Any]) -> Callable[[Any], Any]:
    """Collect the arrays of a container; the function that makes such a container of others, in the same order."""
    if isinstance(value, dict):
        keys = sorted(value)
        made = {k: _walk(value[k], leaves) for k in keys}

        def rebuilt(parts: Any) -> Any:
            found = {k: made[k](parts) for k in keys}
            return {k: found[k] for k in order}

        order = list(value)
        return rebuilt
    if isinstance(value, list | tuple):
        inside = [_walk(v, leaves) for v in value]
        kind = type(value)
        if hasattr(kind, "_make"):  # a named tuple
            return lambda parts: kind._make([f(parts) for f in inside])  # type: ignore[attr-defined]
        return lambda parts: kind([f(parts) for f in inside])
    leaves.append(value)
    return next


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """(a function of containers as one of vectors, the backward pass, the example as a vector)."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
