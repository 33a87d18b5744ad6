"""Arrays on a finer or coarser grid, and arrays read at points between the samples.

Sample i of an axis stands at i + ½ of its length (half-pixel centres), unless `align_corners`: then the first and last
samples of both grids coincide. Beyond the ends, the last sample is repeated.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.index import Gather
from adjoint.ops.signal.resampling import WeightedTaps
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values, per_axis

METHODS = ("nearest", "nearest-exact", "linear", "cubic", "area")


def _cubic(t: Any, a: float) -> Any:
    """Keys' piecewise cubic: 1 at 0, 0 at the other integers."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _hat(t: Any, _: float) -> Any:
    return np.maximum(0.0, 1.0 - np.abs(t))


def taps(
    length: int, out: int, method: str, align_corners: bool, antialias: bool, scale: float | None
) -> tuple[Any, Any]:
    """index[p, t] and weight[p, t] of the samples that make up each of `out` positions."""
    p = np.arange(out)
    ratio = 1.0 / scale if scale else length / max(out, 1)
    if method in ("nearest", "nearest-exact"):
        source = np.floor((p + (0.5 if method == "nearest-exact" else 0.0)) * ratio).astype(np.intp)
        return np.minimum(source, length - 1)[:, None], np.ones((out, 1))
    if method == "area":
        first, last = p * length // out, -(-(p + 1) * length // out)
        index = first[:, None] + np.arange(np.max(last - first, initial=1))
        weight = (index < last[:, None]) / (last - first)[:, None]
        return np.minimum(index, length - 1), weight
    if align_corners:
        ratio = (length - 1) / (out - 1) if out > 1 else 0.0
        position = p * ratio
    else:
        position = (p + 0.5) * ratio - 0.5
    shape, reach = (_hat, 1) if method == "linear" else (_cubic, 2)
    if antialias:  # the curve is stretched over all the samples that a position stands for
        wide = max(ratio, 1.0)
        count = 2 * int(np.ceil(reach * wide)) + 1
        index = (np.floor(position - reach * wide).astype(np.intp) + 1)[:, None] + np.arange(count)
        weight = shape((index - position[:, None]) / wide, -0.5) * ((index >= 0) & (index < length))
        weight = weight / np.sum(weight, axis=1, keepdims=True)
    else:
        if method == "linear" and not align_corners:
            position = np.maximum(position, 0.0)
        index = np.floor(position).astype(np.intp)[:, None] + np.arange(1 - reach, 1 + reach)
        weight = shape(index - position[:, None], -0.75)
    return np.clip(index, 0, length - 1), weight


def resize(
    x: Any,
    shape: Any,
    method: str = "linear",
    *,
    align_corners: bool = False,
    antialias: bool = False,
    scale: Any = None,
    axes: Any = None,
) -> Value:
    """x with another number of samples along `axes` (by default the last ones, as many as `shape` has entries).

    `method`: "nearest" (the sample at ⌊p·ratio⌋), "nearest-exact" (the nearest centre), "linear", "cubic" (a = -0.75),
    "area" (the mean of the samples that a position covers). `antialias`: going down, "linear" and "cubic" average over
    all the samples that a position stands for (a = -0.5). `scale` replaces new length / old length in the positions.

    ```python
    ad.signal.resize(np.array([0.0, 1.0]), 4)  # → [0.0, 0.25, 0.75, 1.0]
    ```
    """
    x = as_values(x)
    wanted = list(shape) if isinstance(shape, list | tuple | np.ndarray) else [shape]
    n = len(wanted)
    chosen = tuple(range(x.ndim - n, x.ndim)) if axes is None else np.lib.array_utils.normalize_axis_tuple(axes, x.ndim)
    if method not in METHODS:
        raise ValueError(f"resize: method must be one of {', '.join(METHODS)}; got {method!r}.")
    if n > x.ndim or len(chosen) != n:
        raise ShapeError(f"resize: shape={shape!r} names {n} axes; x has shape {x.shape} and axes={axes!r}.")
    if (align_corners or antialias) and method not in ("linear", "cubic"):
        raise ValueError(f"resize: align_corners and antialias go with 'linear' and 'cubic', not with {method!r}.")
    if align_corners and antialias:
        raise ValueError("resize: antialias goes with half-pixel centres; leave align_corners out.")
    lengths = per_axis("resize", "shape", wanted, n)
    scales = list(scale) if isinstance(scale, list | tuple) else [scale] * n
    for axis, out, factor in zip(chosen, lengths, scales, strict=True):
        length = x.shape[axis]
        if length == 0:
            raise ShapeError(f"resize: axis {axis} of x{list(x.shape)} is empty; there is nothing to interpolate.")
        if out == length and factor is None:
            continue
        index, weight = taps(length, out, method, align_corners, antialias, factor)
        x = bind(WeightedTaps(axis, length), x, index, weight)
    return x


def _reflected(p: Value, low: float, high: float) -> Value:
    """Positions reflected at both ends."""
    span = high - low
    if span == 0:
        return 0.0 * p
    away = np.abs(p - low)
    reflections = np.floor(away / span)
    rest = away - reflections * span
    return np.where(reflections % 2 == 0, rest + low, high - rest)


def _cubic_weights(t: Value) -> list[Value]:
    """Of the samples at -1, 0, 1, 2 for a point at t in [0, 1)."""
    a = -0.75
    near = lambda s: ((a + 2) * s - (a + 3)) * s * s + 1
    far = lambda s: ((a * s - 5 * a) * s + 8 * a) * s - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def grid_sample(
    x: Any, grid: Any, method: str = "linear", *, padding: str = "zeros", align_corners: bool = False
) -> Value:
    """x[n, c, *space] at points between the samples: grid[n, *out, d] holds coordinates from -1 to 1, the last axis of
    space first; gives z[n, c, *out]. Differentiable in x and in the points.

    `method`: "nearest", "linear", "cubic". `padding`: what lies beyond the ends: "zeros", "border" (the last sample),
    "reflection". -1 and 1 are the ends of the first and last cell, or with `align_corners` the first and last sample.

    ```python
    image = np.arange(4.0).reshape(1, 1, 2, 2)
    ad.signal.grid_sample(image, np.zeros((1, 1, 1, 2)))  # → [[[[1.5]]]]
    ```
    """
    x, grid = as_values(x), as_values(grid)
    d = x.ndim - 2
    if d < 1 or grid.ndim != d + 2 or grid.shape[-1] != d or grid.shape[0] != x.shape[0]:
        raise ShapeError(
            f"grid_sample: x[n, c, *space] and grid[n, *out, d] with d axes of space are needed, got shapes {x.shape} "
            f"and {grid.shape}."
        )
    if method not in ("nearest", "linear", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: method={method!r}, padding={padding!r} is not known.")
    inside = lambda p, m: _within(p, m, padding, align_corners)
    choices: list[list[tuple[Value, Value]]] = []  # for each axis: (which sample, its weight)
    for j, m in enumerate(x.shape[2:]):
        g = grid[..., d - 1 - j]
        p = (g + 1) * (0.5 * (m - 1)) if align_corners else ((g + 1) * m - 1) * 0.5
        if method == "cubic":
            base = np.floor(p)
            weights = _cubic_weights(p - base)
            choices.append([(inside(base + k, m), weight) for k, weight in zip(range(-1, 3), weights)])
            continue
        p = inside(p, m)
        base = np.rint(p) if method == "nearest" else np.floor(p)
        choices.append([(base, 1.0)] if method == "nearest" else [(base, 1 - (p - base)), (base + 1, p - base)])
    batch = np.reshape(np.arange(x.shape[0]), (-1,) + (1,) * d)
    last = np.moveaxis(x, 1, -1)
    z: Value = 0.0
    for corner in itertools.product(*choices):
        weight, index = 1.0, []
        for (sample, share), m in zip(corner, x.shape[2:]):
            weight = weight * share * ((sample >= 0) & (sample <= m - 1))
            index.append(np.clip(sample, 0, m - 1).astype(np.intp))
        z = z + _read(last, (batch, *index)) * np.expand_dims(weight, -1)
    return np.moveaxis(z, -1, 1)


def _within(p: Value, m: int, padding: str, align_corners: bool) -> Value:
    """Positions beyond the ends brought back, as the padding says."""
    if padding == "zeros":
        return p
    if padding == "reflection":
        p = _reflected(p, 0.0, m - 1.0) if align_corners else _reflected(p, -0.5, m - 0.5)
    return np.clip(p, 0.0, m - 1.0)


def _read(x: Value, index: tuple[Value, ...]) -> Value:
    return bind(Gather(len(index)), x, *index)
