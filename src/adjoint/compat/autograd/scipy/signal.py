"""Convolution over some axes, sums of products over others.

    z[a…, b…, n…] = Σ_{d…} Σ_{k…} A[a…, d…, k…] B[b…, d…, n… - k…]

with k along the axes of the convolution, d along `dot_axes`, a and b along the axes that are left.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["convolve"]

_MODES = ("valid", "full", "same")


def convolve(A: Any, B: Any, axes: Any = None, dot_axes: Any = ((), ()), mode: str = "full") -> Any:  # noqa: N803
    """The convolution of A and B along pairs of axes (all, by default), as n-dimensional arrays.

    mode: "full" has every sum with a term in it, "valid" those with all terms, "same" as many as A has, from the
    middle. Axes of the result: those of A that are left, those of B that are left, those of the convolution.
    """
    if mode not in _MODES:
        raise ValueError(f"convolve: mode {mode!r} is none of {', '.join(_MODES)}.")
    along_a, along_b = (list(range(np.ndim(A))),) * 2 if axes is None else (list(axes[0]), list(axes[1]))
    dot_a, dot_b = list(dot_axes[0]), list(dot_axes[1])
    if len(along_a) != len(along_b) or len(dot_a) != len(dot_b):
        raise ValueError(f"convolve: axes and dot_axes name as many of A's as of B's; got {axes}, {dot_axes}.")
    sizes = [(np.shape(A)[i], np.shape(B)[j]) for i, j in zip(along_a, along_b, strict=True)]
    if mode == "valid" and not (all(a >= b for a, b in sizes) or all(a <= b for a, b in sizes)):
        raise ValueError(f"convolve: mode 'valid' needs one array that is the longer one along all axes; got {sizes}.")
    # the shorter one is turned round, and slides along the other
    slides_b = all(a >= b for a, b in sizes) or (mode != "valid" and np.size(A) >= np.size(B))
    if slides_b:
        long, short, long_axes, short_axes, dots, short_dots = A, B, along_a, along_b, dot_a, dot_b
    else:
        long, short, long_axes, short_axes, dots, short_dots = B, A, along_b, along_a, dot_b, dot_a
    windows = _windows(long, long_axes, [np.shape(short)[j] for j in short_axes], mode)
    left = _others(np.ndim(long), long_axes, dots)
    short_left = _others(np.ndim(short), short_axes, short_dots)
    names = iter(range(100))
    axes_of_windows, axes_of_short = [0] * np.ndim(windows), [0] * np.ndim(short)
    out_left, out_short, positions = [], [], []
    for i in left:
        out_left.append(next(names))
        axes_of_windows[i] = out_left[-1]
    for j in short_left:
        out_short.append(next(names))
        axes_of_short[j] = out_short[-1]
    for i, j in zip(dots, short_dots, strict=True):
        axes_of_windows[i] = axes_of_short[j] = next(names)
    for n, (i, j) in enumerate(zip(long_axes, short_axes, strict=True)):
        positions.append(next(names))
        axes_of_windows[i] = positions[-1]
        axes_of_windows[np.ndim(long) + n] = axes_of_short[j] = next(names)
    turned = np.flip(short, tuple(short_axes))
    first, second = (out_left, out_short) if slides_b else (out_short, out_left)
    z = np.einsum(windows, axes_of_windows, turned, axes_of_short, [*first, *second, *positions])
    return z if mode != "same" else _middle(z, len(first) + len(second), sizes)


def _others(ndim: int, *taken: Sequence[int]) -> list[int]:
    used = {axis % ndim for axes in taken for axis in axes}
    return [i for i in range(ndim) if i not in used]


def _windows(x: Any, axes: Sequence[int], sizes: Sequence[int], mode: str) -> Any:
    """All windows of these sizes along these axes, as new last axes; with zeros around unless the mode is "valid"."""
    if mode != "valid":
        margins = [(0, 0)] * np.ndim(x)
        for axis, n in zip(axes, sizes, strict=True):
            margins[axis] = (n - 1, n - 1)
        x = np.pad(x, margins)
    return np.lib.stride_tricks.sliding_window_view(x, tuple(sizes), axis=tuple(axes)) if sizes else x


def _middle(z: Any, first: int, sizes: Sequence[tuple[int, int]]) -> Any:
    """As many sums as A is long, from the middle of all."""
    cuts = tuple(slice((b - 1) // 2, (b - 1) // 2 + a) for a, b in sizes)
    return z[(slice(None),) * first + cuts]
