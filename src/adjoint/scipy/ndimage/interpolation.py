"""Images between their points, by splines of order 0 to 5: coordinates, affine maps, shifts, zooms, rotations.

Differentiable in the image, in the coordinates, and in the matrix, offset, shift or angle that they come from.
"""

# ruff: noqa: A002

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from adjoint.program.types import Value
from adjoint.scipy.ndimage.arguments import array, axes_of, each, finished, for_traced, image
from adjoint.scipy.ndimage.extension import MODES, extended
from adjoint.scipy.ndimage.splines import PADDED, check_order, coefficients, gathered, taps
from adjoint.scipy.passing import settled


@for_traced
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    """The coefficients of the spline through the values along an axis."""
    check_order(order)
    x = image("spline_filter1d", input)
    return finished("spline_filter1d", coefficients(x, order, axes_of(axis, x.ndim)[0], _mode(mode)), x, output)


@for_traced
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Value:
    """The coefficients of the spline through all values."""
    check_order(order, 2)
    x = image("spline_filter", input)
    for axis in range(x.ndim):
        x = coefficients(x, order, axis, _mode(mode))
    return finished("spline_filter", x, x, output)


def _mode(mode: str) -> str:
    if mode not in MODES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    return "reflect" if mode == "grid-mirror" else mode


def _prepared(x: Value, order: int, mode: str, cval: Any, prefilter: bool, axes: Sequence[int]) -> tuple[Value, int]:
    """The coefficients along some axes, and how many points stand before the image."""
    if not prefilter or order < 2:
        return x, 0
    pad = PADDED if mode in ("nearest", "grid-constant") else 0
    for axis in axes:
        x = extended(x, axis, pad, pad, mode, cval) if pad else x
    for axis in axes:
        x = coefficients(x, order, axis, mode)
    return x, pad


def _sampled(x: Value, points: Sequence[Value], order: int, mode: str, cval: Any, prefilter: bool) -> Value:
    """The spline through x at points, one array of coordinates for each of the last axes; axes before are stacked."""
    check_order(order)
    d = len(points)
    lead = x.ndim - d
    x, pad = _prepared(x, order, mode, cval, prefilter, range(lead, x.ndim))
    sizes = x.shape[lead:]
    flat = np.reshape(x, (*x.shape[:lead], math.prod(sizes)))
    index: Any = 0
    weights: Any = 1.0
    outside: Any = None
    beyond: Any = None
    for axis, (values, n) in enumerate(zip(points, sizes, strict=True)):
        found = taps(values + float(pad) if pad else values, n, order, mode)
        shape = (*found.index.shape[:-1], *[order + 1 if i == axis else 1 for i in range(d)])
        index = index + np.reshape(found.index, shape) * math.prod(sizes[axis + 1 :])
        weights = weights * np.reshape(found.weights, shape)
        if found.outside is not None:
            there = np.reshape(found.outside, shape)
            outside = there if outside is None else outside | there
        if found.beyond is not None:
            beyond = found.beyond if beyond is None else beyond | found.beyond
    terms = gathered(flat, index, lead)
    terms = terms if outside is None else np.where(outside, cval, terms)
    z = np.sum(terms * weights, axis=tuple(range(-d, 0)))
    return z if beyond is None else np.where(beyond, cval, z)


def _separated(x: Value, points: Sequence[Value], order: int, mode: str, cval: Any, prefilter: bool) -> Value:
    """The spline through x on the grid of some coordinates for each axis, one axis after the other."""
    check_order(order)
    x, pad = _prepared(x, order, mode, cval, prefilter, range(x.ndim))
    beyond: Any = None
    for axis, values in enumerate(points):
        found = taps(values + float(pad) if pad else values, x.shape[axis], order, mode)
        shape = (*(1,) * axis, *found.index.shape, *(1,) * (x.ndim - axis - 1))
        terms = gathered(x, found.index, axis)
        if found.outside is not None:
            terms = np.where(np.reshape(found.outside, shape), cval, terms)
        x = np.sum(terms * np.reshape(found.weights, shape), axis=axis + 1)
        if found.beyond is not None:
            there = np.reshape(found.beyond, tuple(-1 if i == axis else 1 for i in range(x.ndim)))
            beyond = there if beyond is None else beyond | there
    return x if beyond is None else np.where(beyond, cval, x)


@for_traced
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Value:
    """The image at coordinates[0], coordinates[1], …"""
    x, points = image("map_coordinates", input), array(coordinates)
    if points.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if x.ndim < 1 or points.ndim < 2:
        raise RuntimeError("input and output rank must be > 0")
    if points.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    points = points.astype(np.float64)
    z = _sampled(x, [points[i] for i in range(x.ndim)], order, _mode(mode), cval, prefilter)
    return finished("map_coordinates", z, input, output)


@for_traced
def geometric_transform(
    input: Any,
    mapping: Callable[..., Any],
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Any = None,
) -> Value:
    """The image at mapping(position in the result, …), which is called for each element of the result."""
    x = image("geometric_transform", input)
    shape = _shape("geometric_transform", output_shape, x)
    found = [array(mapping(position, *extra_arguments, **extra_keywords or {})) for position in np.ndindex(*shape)]
    points = np.reshape(np.stack(found), (*shape, x.ndim)).astype(np.float64)
    z = _sampled(x, [points[..., i] for i in range(x.ndim)], order, _mode(mode), cval, prefilter)
    return finished("geometric_transform", z, input, output)


def _shape(call: str, shape: Any, x: Value) -> tuple[int, ...]:
    given = settled(f"scipy.ndimage.{call}", "output_shape", shape)
    return x.shape if given is None else tuple(operator.index(n) for n in given)


@for_traced
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Value:
    """The image at matrix @ i + offset, for each element i of the result. A vector stands for a diagonal matrix."""
    x, a = image("affine_transform", input), array(matrix).astype(np.float64)
    shape = _shape("affine_transform", output_shape, x)
    if a.ndim not in (1, 2) or a.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    if a.ndim == 2 and a.shape[1] == x.ndim + 1 and a.shape[0] in (x.ndim, x.ndim + 1):
        if a.shape[0] == x.ndim + 1 and not bool(np.all(a[x.ndim] == np.eye(x.ndim + 1)[-1])):
            raise ValueError(f"Expected homogeneous transformation matrix with shape {a.shape}: its last row is wrong")
        a, offset = a[: x.ndim, : x.ndim], a[: x.ndim, x.ndim]
    if a.shape[0] != x.ndim:
        raise RuntimeError("affine matrix has wrong number of rows")
    offsets = each(offset, x.ndim)
    if a.ndim == 1:
        points = [(np.arange(n) + offsets[i] / a[i]) * a[i] for i, n in enumerate(shape)]
        z = _separated(x, points, order, _mode(mode), cval, prefilter)
    else:
        if a.shape[1] != len(shape):
            raise RuntimeError("affine matrix has wrong number of columns")
        z = _sampled(x, _affine(a, offsets, shape), order, _mode(mode), cval, prefilter)
    return finished("affine_transform", z, input, output)


def _affine(a: Value, offsets: Sequence[Any], shape: Sequence[int]) -> list[Value]:
    """matrix @ i + offset for all elements i of a shape, by coordinate."""
    grid = np.meshgrid(*[np.arange(n, dtype=np.float64) for n in shape], indexing="ij")
    points = []
    for row, offset in enumerate(offsets):
        total: Any = offset
        for column, positions in enumerate(grid):
            total = total + positions * a[row, column]
        points.append(total)
    return points


@for_traced
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Value:
    """The image moved along each axis."""
    x = image("shift", input)
    points = [np.arange(n) + -by for n, by in zip(x.shape, each(shift, x.ndim), strict=True)]
    return finished("shift", _separated(x, points, order, _mode(mode), cval, prefilter), input, output)


@for_traced
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Value:
    """The image with more or fewer points. With `grid_mode` points are squares, whose edges are kept."""
    x = image("zoom", input)
    factors = each(settled("scipy.ndimage.zoom", "zoom", zoom), x.ndim)
    shape = tuple(round(n * float(factor)) for n, factor in zip(x.shape, factors, strict=True))
    if all(factor == 1 for factor in factors) and prefilter:
        return finished("zoom", x, input, output)
    if grid_mode and mode in ("constant", "wrap"):
        warnings.warn(
            f"It is recommended to use mode = grid-{mode} instead of {mode} when grid_mode is True.", stacklevel=3
        )
    grid_mode = grid_mode and x.dtype.kind != "c"  # SciPy does not look at it for complex numbers
    points = []
    for n, m in zip(x.shape, shape, strict=True):
        steps = (n, m) if grid_mode else (n - 1, m - 1)
        ratio = steps[0] / steps[1] if steps[1] else 1.0
        positions = np.arange(m, dtype=np.float64)
        points.append((positions + 0.5) * ratio - 0.5 if grid_mode else positions * ratio)
    return finished("zoom", _separated(x, points, order, _mode(mode), cval, prefilter), input, output)


@for_traced
def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Value:
    """The image turned by an angle in degrees, in the plane of two axes; `reshape`, so that all of it is seen."""
    x = image("rotate", input)
    if x.ndim < 2:
        raise ValueError("input array should be at least 2D")
    plane = sorted(axes_of(axes, x.ndim))
    if len(plane) != 2:
        raise ValueError("axes should contain exactly two values")
    c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
    a = np.stack([np.stack([c, s]), np.stack([-s, c])])
    sizes = np.array([x.shape[axis] for axis in plane])
    shape = sizes
    if reshape:
        corners = np.matmul(a, np.array([[0, 0, sizes[0], sizes[0]], [0, sizes[1], 0, sizes[1]]], float))
        extent = np.max(corners, axis=1) - np.min(corners, axis=1) + 0.5
        shape = np.array([int(extent[0]), int(extent[1])])  # integers: compiled code is right for one shape
    offset = (sizes - 1) / 2 - np.matmul(a, (shape - 1) / 2)
    rest = np.moveaxis(x, plane, (-2, -1))
    points = _affine(a, [offset[0], offset[1]], tuple(shape.tolist()))
    z = np.moveaxis(_sampled(rest, points, order, _mode(mode), cval, prefilter), (-2, -1), plane)
    return finished("rotate", z, input, output)
