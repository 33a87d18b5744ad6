"""What rules of broadcasting functions need."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compat.autograd.numpy.numpy_wrapper import metadata

__all__ = ["match_complex", "replace_zero", "unbroadcast", "unbroadcast_f"]


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """The sum of x over the axes along which a target was broadcast; its real part for a real target."""
    shape, ndim, _, is_complex = target_meta
    extra = max(np.ndim(x) - ndim, 0)
    if extra:
        first = broadcast_idx % (np.ndim(x) + 1 if broadcast_idx < 0 else np.ndim(x) or 1)
        x = np.sum(x, axis=tuple(range(first, first + extra)))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and np.shape(x)[i] != 1)
    x = np.sum(x, axis=stretched, keepdims=True) if stretched else x
    return np.real(x) if np.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """g ↦ f(g), brought back to the shape of the target."""
    meta = metadata(target)
    return lambda g: unbroadcast(f(g), meta)


def match_complex(target: Any, x: Any) -> Any:
    """x, complex where the target is, real where that is."""
    if np.iscomplexobj(x) and not np.iscomplexobj(target):
        return np.real(x)
    return x + 0j if np.iscomplexobj(target) and not np.iscomplexobj(x) else x


def replace_zero(x: Any, val: Any) -> Any:
    """x, with `val` where it is zero."""
    return np.where(x, x, val)
