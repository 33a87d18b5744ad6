"""Where elements are: nonzero, searchsorted, partitions, unique values, bins."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ControlFlowError
from adjoint.base.source import describe, here
from adjoint.numpy.dispatch import as_array, implements, is_traced, normal_axis, refuse_keywords
from adjoint.numpy.indexing import places_of, take
from adjoint.numpy.joining import static
from adjoint.numpy.shaping import convert
from adjoint.ops.index import ScatterSum
from adjoint.ops.search import SearchSorted
from adjoint.program.trace import Traced, bind
from adjoint.program.types import Value


@implements(np.nonzero)
def nonzero(a: Value) -> Any:
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return places_of(np.not_equal(a, 0), "np.nonzero")


@implements(np.flatnonzero)
def flatnonzero(a: Value) -> Any:
    return nonzero(np.ravel(a))[0]


@implements(np.argwhere)
def argwhere(a: Value) -> Any:
    places = np.not_equal(a, 0)
    return np.stack(places_of(places, "np.argwhere"), axis=-1) if a.ndim else np.argwhere(bool(places))


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Value:
    a, v = as_array(a), as_array(v)
    if a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    return bind(SearchSorted(side), a if sorter is None else take(a, sorter), v)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Value:
    bins = as_array(bins)
    if is_traced(bins):
        ends = bins[0] <= bins[-1] if bins.shape[0] > 1 else True
        rising = bool(ends)
    else:
        rising = bool(np.all(np.diff(bins) >= 0))
        if not rising and not np.all(np.diff(bins) <= 0):
            raise ValueError("bins must be monotonically increasing or decreasing")
    if rising:
        return searchsorted(bins, x, "left" if right else "right")
    return bins.shape[0] - searchsorted(np.flip(bins), x, "right" if right else "left")


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Value:
    """A sorted array is a partition at every place."""
    refuse_keywords("np.partition", {"order": order}, order=None)
    _check_places(as_array(a), kth, axis)
    return np.sort(a, axis=axis)


def _check_places(a: Value, kth: Any, axis: Any) -> None:
    n = math.prod(a.shape) if axis is None else a.shape[normal_axis(axis, a.ndim)]
    for k in np.ravel(static("np.partition", "kth", kth)):
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Value:
    refuse_keywords("np.argpartition", {"order": order}, order=None)
    _check_places(as_array(a), kth, axis)
    return np.argsort(a, axis=axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Value:
    """Sort by the last key first: stable sorts from the first key to the last."""
    parts = [as_array(k) for k in keys]
    if any(part.shape != parts[0].shape for part in parts):
        raise ValueError("all keys need to be the same shape")
    axis = normal_axis(axis, parts[0].ndim)
    order = np.argsort(parts[0], axis=axis, kind="stable")
    for key in parts[1:]:
        again = np.argsort(np.take_along_axis(key, order, axis), axis=axis, kind="stable")
        order = np.take_along_axis(order, again, axis)
    return order


@implements(np.sort_complex)
def sort_complex(a: Any) -> Value:
    return convert(np.sort(a, axis=-1), np.result_type(as_array(a).dtype, np.complex64))


class Unique(NamedTuple):
    """What unique_all gives."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class UniqueCounts(NamedTuple):
    values: Value
    counts: Value


class UniqueInverse(NamedTuple):
    values: Value
    inverse_indices: Value


def _unique(x: Value) -> Unique:
    """Distinct elements in order; each keeps the derivative of the first element that has its value."""
    flat: Any = np.ravel(as_array(x))
    order = np.argsort(flat)
    if isinstance(order, Traced) and not hasattr(order._trace, "places"):
        raise ControlFlowError(
            f"np.unique of a traced {flat.type}, at {describe(here())}: how many elements differ is not known here. "
            "Use np.sort, and keep the shape."
        )
    ordered = flat[order]
    n = len(order)
    new = np.concatenate([np.ones(min(1, n), bool), np.not_equal(ordered[1:], ordered[:-1])])
    inverse = (np.cumsum(new) - 1)[np.argsort(order)]
    (firsts,) = places_of(new, "np.unique")
    return Unique(flat[order[firsts]], order[firsts], np.reshape(inverse, x.shape), np.diff(np.append(firsts, n)))


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    refuse_keywords("np.unique", {"axis": axis}, axis=None)
    found = _unique(ar)
    flags = (True, return_index, return_inverse, return_counts)
    parts = tuple(part for part, wanted in zip(found, flags, strict=True) if wanted)
    return parts[0] if len(parts) == 1 else parts


@implements(np.unique_all)
def unique_all(x: Any) -> Unique:
    return _unique(x)


@implements(np.unique_counts)
def unique_counts(x: Any) -> UniqueCounts:
    found = _unique(x)
    return UniqueCounts(found.values, found.counts)


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> UniqueInverse:
    found = _unique(x)
    return UniqueInverse(found.values, found.inverse_indices)


@implements(np.unique_values)
def unique_values(x: Any) -> Value:
    return _unique(x).values


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Value:
    return _unique(np.concatenate([np.ravel(as_array(ar1)), np.ravel(as_array(ar2))])).values


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Value:
    element, test = as_array(element), np.ravel(as_array(test_elements))
    found = np.any(np.equal(np.expand_dims(element, -1), test), axis=-1)
    return np.logical_not(found) if invert else found


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Value:
    first = np.ravel(as_array(ar1)) if assume_unique else _unique(as_array(ar1)).values
    return first[isin(first, ar2, invert=True)]


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Value:
    places = static("np.bincount", "x", x)
    if weights is None:
        return np.bincount(places, minlength=minlength)
    weights = convert(as_array(weights), np.float64)
    if weights.shape != places.shape:
        raise ValueError("The weights and list don't have the same length.")
    n = max(int(minlength), int(places.max()) + 1 if places.size else 0)
    return ScatterSum((n,), np.dtype(np.float64), (("gather", 1),))(weights, places)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Value:
    refuse_keywords("np.trim_zeros", {"axis": axis}, axis=None)
    places = nonzero(filt)
    if len(places) != 1:
        raise ValueError("np.trim_zeros of a traced array: it must have one axis")
    found = places[0]
    n = filt.shape[0]
    if len(found) == 0:
        return filt[:0]
    return filt[found[0] if "f" in trim.lower() else 0 : found[-1] + 1 if "b" in trim.lower() else n]
