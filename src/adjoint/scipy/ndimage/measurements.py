"""Sums, means, extremes and centers of the parts of an image that labels name. Labels are plain."""

# ruff: noqa: A001, A002

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.ops.arrays.index import ScatterSum
from adjoint.program.types import Value
from adjoint.scipy.ndimage.arguments import array, for_traced
from adjoint.scipy.passing import settled


class Parts(NamedTuple):
    """Which elements of an image, as one line, belong to which part."""

    values: Value  # the elements that belong to a part
    chosen: Any  # which elements of the image they are
    part: Any  # the number of the part of each
    count: int
    several: bool  # whether there is one result for each part, or one alone


def _parts(call: str, input: Any, labels: Any, index: Any) -> Parts:
    x = array(input)
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    labels = settled(f"scipy.ndimage.{call}", "labels", labels)
    index = settled(f"scipy.ndimage.{call}", "index", index)
    if labels is None:
        flat = np.reshape(x, (x.size,))
        return Parts(flat, np.arange(x.size), np.zeros(x.size, np.intp), 1, False)
    shape = np.broadcast_shapes(x.shape, np.shape(labels))
    flat = np.reshape(np.broadcast_to(x, shape), (int(np.prod(shape)),))
    names = np.ravel(np.broadcast_to(labels, shape))
    if index is None or np.ndim(index) == 0:
        chosen = np.flatnonzero(names > 0 if index is None else names == index)
        return Parts(np.take(flat, chosen), chosen, np.zeros(chosen.size, np.intp), 1, False)
    wanted = np.ravel(np.asarray(index))
    members = [np.flatnonzero(names == name) for name in wanted]
    chosen = np.concatenate(members) if members else np.zeros(0, np.intp)
    part = np.repeat(np.arange(wanted.size), [m.size for m in members])
    return Parts(np.take(flat, chosen), chosen, part, wanted.size, True)


def _summed(values: Value, parts: Parts) -> Value:
    sums = ScatterSum((parts.count,), values.dtype, (("gather", 1),))(values, parts.part)
    return sums if parts.several else sums[0]


def _counts(parts: Parts) -> Any:
    counts = np.bincount(parts.part, minlength=parts.count).astype(np.float64)
    return counts if parts.several else counts[0]


@for_traced
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The sum of each part."""
    parts = _parts("sum_labels", input, labels, index)
    return _summed(parts.values, parts)


@for_traced
def sum(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The sum of each part."""
    return sum_labels(input, labels, index)


@for_traced
def mean(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The mean of each part; NaN of an empty one."""
    parts = _parts("mean", input, labels, index)
    return _summed(parts.values, parts) / _counts(parts)


@for_traced
def variance(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The mean squared distance from the mean of each part."""
    parts = _parts("variance", input, labels, index)
    means = np.reshape(_summed(parts.values, parts) / _counts(parts), (parts.count,))
    apart = parts.values - np.take(means, parts.part)
    return _summed(np.real(apart * np.conjugate(apart)), parts) / _counts(parts)


@for_traced
def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The root of the variance of each part."""
    return np.sqrt(variance(input, labels, index))


def _of_each(call: str, choose: Callable[[Value], Value], input: Any, labels: Any, index: Any) -> Value:
    """One value of each part; zero of an empty one among several."""
    parts = _parts(call, input, labels, index)
    if not parts.several:
        return choose(parts.values)
    found = [np.flatnonzero(parts.part == k) for k in range(parts.count)]
    zero = np.zeros((), parts.values.dtype)
    return np.stack([choose(np.take(parts.values, members)) if members.size else zero for members in found])


@for_traced
def minimum(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The least element of each part."""
    return _of_each("minimum", np.min, input, labels, index)


@for_traced
def maximum(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The largest element of each part."""
    return _of_each("maximum", np.max, input, labels, index)


@for_traced
def median(input: Any, labels: Any = None, index: Any = None) -> Value:
    """The median of each part."""
    return _of_each("median", np.median, input, labels, index)


def _positions(call: str, find: Callable[[Value], Value], input: Any, labels: Any, index: Any) -> Any:
    """Where an element of each part stands, as a tuple of integers, or as a list of them."""
    parts = _parts(call, input, labels, index)
    shape = array(input).shape
    found: list[Any] = []
    for k in range(parts.count):
        members = np.flatnonzero(parts.part == k)
        if parts.several and not members.size:
            found.append((0,) * len(shape))
            continue
        position = np.take(parts.chosen[members], find(np.take(parts.values, members)))
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        found.append(tuple(position // stride % n for stride, n in zip(strides, shape, strict=True)))
    return found if parts.several else found[0]


@for_traced
def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Where the least element of each part stands: integers, without a derivative."""
    return _positions("minimum_position", np.argmin, input, labels, index)


@for_traced
def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Where the largest element of each part stands: integers, without a derivative."""
    return _positions("maximum_position", np.argmax, input, labels, index)


@for_traced
def extrema(input: Any, labels: Any = None, index: Any = None) -> tuple[Any, Any, Any, Any]:
    """(minima, maxima, their positions) of each part."""
    return (
        minimum(input, labels, index),
        maximum(input, labels, index),
        minimum_position(input, labels, index),
        maximum_position(input, labels, index),
    )


@for_traced
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean position, weighted with the image, of each part."""
    x = array(input)
    whole = sum_labels(x, labels, index)
    grid = np.ogrid[tuple(slice(0, n) for n in x.shape)]
    centers = [sum_labels(x * positions.astype(np.float64), labels, index) / whole for positions in grid]
    if not centers[0].shape:
        return tuple(centers)
    return [tuple(center[k] for center in centers) for k in range(centers[0].shape[0])]
