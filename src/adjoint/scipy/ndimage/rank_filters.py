"""Filters that choose among the neighbors of each element: extremes, medians, ranks; and morphology with gray values.

The derivative is that of the chosen element.
"""

# ruff: noqa: A002

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.ndimage.arguments import array, axes_of, each, finished, for_traced, real_image, spread
from adjoint.scipy.ndimage.extension import extended
from adjoint.scipy.passing import settled

EXTREMES: dict[str, Callable[..., Value]] = {"minimum": np.min, "maximum": np.max}


def _windows(x: Value, shape: Sequence[int], modes: Sequence[str], cval: Any, origins: Sequence[int]) -> Value:
    """For each element all in a box around it, as a last axis."""
    wide = x
    for axis, (size, mode, origin) in enumerate(zip(shape, modes, origins, strict=True)):
        if not 0 <= size // 2 + origin < size:
            raise ValueError("invalid origin")
        if size > 1:
            wide = extended(wide, axis, size // 2 + origin, size - 1 - size // 2 - origin, mode, cval)
    windows = np.lib.stride_tricks.sliding_window_view(wide, tuple(shape))
    return np.reshape(windows, (*x.shape, math.prod(shape)))


def _extreme1d(kind: str, input: Any, size: int, axis: int, output: Any, mode: str, cval: Any, origin: int) -> Value:
    x = real_image(f"{kind}_filter1d", input)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    axis = axes_of(axis, x.ndim)[0]
    ones = spread([size], (axis,), x.ndim, 1)
    windows = _windows(x, ones, [mode] * x.ndim, cval, spread([origin], (axis,), x.ndim, 0))
    return finished(f"{kind}_filter1d", EXTREMES[kind](windows, axis=-1), input, output)


@for_traced
def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Value:
    """The least of `size` neighbors along an axis."""
    return _extreme1d("minimum", input, size, axis, output, mode, cval, origin)


@for_traced
def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Value:
    """The largest of `size` neighbors along an axis."""
    return _extreme1d("maximum", input, size, axis, output, mode, cval, origin)


def _footprint(call: str, size: Any, footprint: Any, count: int) -> Any:
    """The neighbors that count, as an array of truth values; None: all in a box."""
    footprint = settled(f"scipy.ndimage.{call}", "footprint", footprint)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        return np.ones([operator.index(n) for n in each(size, count)], bool)
    if size is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=4)
    chosen = np.asarray(footprint, bool)
    if not chosen.any():
        raise ValueError("All-zero footprint is not supported.")
    if chosen.ndim != count:
        raise RuntimeError(f"footprint.ndim ({chosen.ndim}) must match len(axes) ({count})")
    return chosen


def _neighbors(x: Value, footprint: Any, mode: Any, cval: Any, origin: Any, axes: tuple[int, ...]) -> Value:
    """The neighbors that count, as a last axis, in the order of the footprint."""
    shape = spread(list(footprint.shape), tuple(sorted(axes)), x.ndim, 1)  # the order of axes is that of origins
    origins = spread(each(origin, len(axes)), axes, x.ndim, 0)
    modes = spread(each(mode, len(axes)), axes, x.ndim, "constant")
    windows = _windows(x, shape, modes, cval, origins)
    return windows if footprint.all() else windows[..., np.flatnonzero(footprint)]


def _extreme(
    call: str,
    kind: str,
    input: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Value:
    """The extreme of the neighbors, plus (of the largest) or minus (of the least) what the structure adds to them."""
    x = real_image(call, input)
    chosen = axes_of(axes, x.ndim)
    if structure is not None:
        structure = array(structure)
        size = structure.shape if footprint is None else None
    if structure is not None and structure.ndim != len(chosen):
        raise RuntimeError("structure array has incorrect shape")
    found = _footprint(call, size, footprint, len(chosen))
    if structure is None and found.all() and found.size > 1:  # one axis after the other
        for axis, n, m, o in zip(chosen, found.shape, each(mode, len(chosen)), each(origin, len(chosen)), strict=True):
            if n > 1:
                x = _extreme1d(kind, x, n, axis, None, m, cval, o)
        return x
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    windows = _neighbors(x, found, mode, cval, origin, chosen)
    if structure is not None:
        added = np.take(np.reshape(structure, (found.size,)), np.flatnonzero(found))
        windows = windows + added if kind == "maximum" else windows - added
    return EXTREMES[kind](windows, axis=-1)


@for_traced
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The least of the neighbors."""
    z = _extreme("minimum_filter", "minimum", input, size, footprint, None, mode, cval, origin, axes)
    return finished("minimum_filter", z, input, output)


@for_traced
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The largest of the neighbors."""
    z = _extreme("maximum_filter", "maximum", input, size, footprint, None, mode, cval, origin, axes)
    return finished("maximum_filter", z, input, output)


def _ranked(
    call: str,
    input: Any,
    rank_of: Callable[[int], int],
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Value:
    """The neighbor of the rank that a function finds from their number."""
    x = real_image(call, input)
    chosen = axes_of(axes, x.ndim)
    found = _footprint(call, size, footprint, len(chosen))
    count = int(np.count_nonzero(found))
    rank = rank_of(count)
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    if rank in (0, count - 1):
        z = _extreme(call, "maximum" if rank else "minimum", x, None, found, None, mode, cval, origin, axes)
    elif not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported by non-separable rank filters")
    else:
        z = np.sort(_neighbors(x, found, mode, cval, origin, chosen), axis=-1)[..., rank]
    return finished(call, z, input, output)


@for_traced
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The neighbor of the given rank, from the least on; a negative rank counts from the largest."""
    index = operator.index(rank)
    return _ranked("rank_filter", input, lambda _: index, size, footprint, output, mode, cval, origin, axes)


@for_traced
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The neighbor in the middle of all."""
    return _ranked("median_filter", input, lambda n: n // 2, size, footprint, output, mode, cval, origin, axes)


@for_traced
def percentile_filter(
    input: Any,
    percentile: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The neighbor below which the given percentage of them lies."""
    percentage = float(settled("scipy.ndimage.percentile_filter", "percentile", percentile))
    percentage = percentage + 100.0 if percentage < 0 else percentage
    if not 0 <= percentage <= 100:
        raise RuntimeError("invalid percentile")
    rank_of = lambda n: n - 1 if percentage == 100 else int(n * percentage / 100)
    return _ranked("percentile_filter", input, rank_of, size, footprint, output, mode, cval, origin, axes)


@for_traced
def vectorized_filter(
    input: Any,
    function: Callable[..., Value],
    *,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = None,
    origin: Any = None,
    axes: Any = None,
    batch_memory: Any = 2**30,
) -> Value:
    """What a function `function(windows, axis=…)` makes of the neighbors of each element, of all at once."""
    x = array(input)
    chosen = axes_of(axes, x.ndim)
    if (size is None) == (footprint is None):
        raise ValueError("Either `size` or `footprint` must be provided, and not both.")
    found = _footprint("vectorized_filter", size, footprint, len(chosen))
    moved = np.moveaxis(x, chosen, range(-len(chosen), 0))
    origins = each(0 if origin is None else origin, len(chosen))
    if mode != "valid":
        # here, unlike in other filters, this mode is that without the edge itself
        kind = "mirror" if mode == "grid-mirror" else mode
        for axis, n, o in zip(range(x.ndim - len(chosen), x.ndim), found.shape, origins, strict=True):
            moved = extended(moved, axis, n // 2 + o, (n - 1) // 2 - o, kind, 0.0 if cval is None else cval)
    last = tuple(range(-len(chosen), 0))
    windows = np.lib.stride_tricks.sliding_window_view(moved, found.shape, last)
    if footprint is not None:
        flat = np.reshape(windows, (*windows.shape[: -len(chosen)], found.size))
        z = function(flat[..., np.flatnonzero(found)], axis=-1)
    else:
        z = function(windows, axis=last)
    return finished("vectorized_filter", np.moveaxis(z, last, chosen), z, output)
