"""Images beyond their edges, by SciPy's modes.

reflect, grid-mirror   d c b a | a b c d | d c b a        nearest                a a a a | a b c d | d d d d
mirror                   d c b | a b c d | c b a          constant               k k k k | a b c d | k k k k
wrap, grid-wrap        a b c d | a b c d | a b c d
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.program.types import Value

MODES = ("reflect", "grid-mirror", "mirror", "wrap", "grid-wrap", "nearest", "constant", "grid-constant")


def folded(positions: Any, n: int, mode: str) -> Any:
    """The element of n that stands for each position, also outside; for a constant any."""
    if mode not in MODES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    if mode in ("nearest", "constant", "grid-constant") or n == 1:
        return np.clip(positions, 0, n - 1)
    if mode in ("wrap", "grid-wrap"):
        return positions % n
    period = 2 * n - 2 if mode == "mirror" else 2 * n
    within = positions % period
    return np.where(within < n, within, period - within - (0 if mode == "mirror" else 1))


def extended(x: Value, axis: int, before: int, after: int, mode: str, cval: Any) -> Value:
    """x with as many elements more at both ends of an axis."""
    n = x.shape[axis]
    positions = np.arange(-before, n + after)
    wide = np.take(x, folded(positions, n, mode), axis=axis)
    if mode not in ("constant", "grid-constant"):
        return wide
    outside = (positions < 0) | (positions >= n)
    shape = tuple(-1 if i == axis else 1 for i in range(x.ndim))
    return np.where(np.reshape(outside, shape), cval, wide)
