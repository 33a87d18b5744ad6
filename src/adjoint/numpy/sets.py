"""Sets of numbers: unique elements, unions, intersections, differences.

Every element of a result is an element of an argument, the first one that has its value, and has its derivative. How
many there are depends on the values: while a function is compiled the program is for that number; where values are not
known at all there is an error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, normal_axis
from adjoint.numpy.indexing import getitem, positions_of
from adjoint.numpy.searching import lexsort
from adjoint.numpy.selected import gaps
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

PAIRS = 1 << 14  # so many pairs are compared one by one; more elements are searched for in a sorted vector


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


def _groups(rows: Value, order: Any, equal_nan: bool) -> Unique:
    """The distinct ones of the first axis, from the order in which equal ones are neighbors."""
    n = order.shape[0]
    ordered = getitem(rows, order)
    differs = np.not_equal(ordered[1:], ordered[:-1])
    if equal_nan and rows.dtype.kind in "fc" and rows.ndim == 1:
        differs = np.logical_and(differs, np.logical_not(np.logical_and(np.isnan(ordered[1:]), np.isnan(ordered[:-1]))))
    if rows.ndim > 1:
        differs = np.any(differs, axis=tuple(range(1, rows.ndim)))
    new = np.concatenate([np.ones(min(1, n), bool), differs])
    inverse = getitem(np.cumsum(new) - 1, np.argsort(order))
    (firsts,) = positions_of(new, "np.unique")
    indices = getitem(order, firsts)
    return Unique(getitem(rows, indices), indices, inverse, gaps(firsts, n))


def _unique(x: Any, equal_nan: bool = True) -> Unique:
    """Distinct elements in order."""
    x = as_array(x)
    flat: Any = np.ravel(x)
    found = _groups(flat, np.argsort(flat), equal_nan)
    return found._replace(inverse_indices=np.reshape(found.inverse_indices, x.shape))


def _unique_along(x: Value, axis: int) -> Unique:
    """Distinct parts along an axis, in the order of their first elements, then the second, …"""
    rows = np.moveaxis(x, axis, 0)
    columns = np.reshape(rows, (rows.shape[0], -1)) if rows.shape[0] else np.zeros((0, 1))
    order = lexsort([columns[:, k] for k in range(columns.shape[1])][::-1])
    found = _groups(rows, order, False)
    return found._replace(values=np.moveaxis(found.values, 0, axis))


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
    ar = as_array(ar)
    found = _unique(ar, equal_nan) if axis is None else _unique_along(ar, normal_axis(axis, ar.ndim))
    flags = (True, return_index, return_inverse, return_counts)
    parts = tuple(part for part, wanted in zip(found, flags, strict=True) if wanted)
    return parts[0] if len(parts) == 1 else parts


@implements(np.unique_all)
def unique_all(x: Any) -> Unique:
    return _unique(x, equal_nan=False)


@implements(np.unique_counts)
def unique_counts(x: Any) -> UniqueCounts:
    found = _unique(x, equal_nan=False)
    return UniqueCounts(found.values, found.counts)


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> UniqueInverse:
    found = _unique(x, equal_nan=False)
    return UniqueInverse(found.values, found.inverse_indices)


@implements(np.unique_values)
def unique_values(x: Any) -> Value:
    return _unique(x, equal_nan=False).values


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Value:
    return _unique(np.concatenate([np.ravel(as_array(ar1)), np.ravel(as_array(ar2))])).values


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    first, second = np.ravel(as_array(ar1)), np.ravel(as_array(ar2))
    left: Value = np.arange(first.shape[0])
    right: Value = np.arange(second.shape[0])
    if not assume_unique:
        (first, left), (second, right) = _unique(first)[:2], _unique(second)[:2]
    both, order, ordered = _together(first, second)
    (positions,) = positions_of(np.equal(ordered[1:], ordered[:-1]), "np.intersect1d")
    chosen, partner = getitem(order[:-1], positions), getitem(order[1:], positions)
    values = getitem(both, chosen)
    if not return_indices:
        return values
    return values, getitem(left, chosen), getitem(right, partner - first.shape[0])


def _together(first: Value, second: Value) -> tuple[Value, Value, Value]:
    """Both sets one after the other, the order that sorts them, and them in this order."""
    both = np.concatenate([first, second])
    order = np.argsort(both, kind="stable")
    return both, order, getitem(both, order)


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Value:
    first, second = (np.ravel(as_array(a)) if assume_unique else _unique(a).values for a in (ar1, ar2))
    total = first.shape[0] + second.shape[0]
    if not isinstance(total, Tracer) and total == 0:
        return np.concatenate([first, second])
    _, _, ordered = _together(first, second)
    edge = np.concatenate([[True], np.not_equal(ordered[1:], ordered[:-1]), [True]])
    (positions,) = positions_of(np.logical_and(edge[1:], edge[:-1]), "np.setxor1d")
    return getitem(ordered, positions)


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Value:
    element, test = as_array(element), np.ravel(as_array(test_elements))
    n = test.shape[0]
    if np.size(element) * n <= PAIRS:
        found = np.any(np.equal(np.expand_dims(element, -1), test), axis=-1)
    else:
        ordered = np.sort(test)
        position = np.minimum(np.searchsorted(ordered, element), n - 1)
        found = np.equal(getitem(ordered, position), element)
    return np.logical_not(found) if invert else found


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Value:
    first = np.ravel(as_array(ar1)) if assume_unique else _unique(ar1).values
    (positions,) = positions_of(isin(first, ar2, invert=True), "np.setdiff1d")
    return getitem(first, positions)
