"""Static indices of arrays in one normal form: their items compared, composed and looked into.

Items are int | None | (start, stop, step) | ..., as in `adjoint.ops.arrays.index`. In normal form numbers count from
the front, slices end where their last element ends, nothing is left out by `...`, and no full slice stands at the end.
"""

from __future__ import annotations

import math
from typing import Any

Items = tuple[Any, ...]
Shape = tuple[Any, ...]

FULL = (None, None, None)


def normal(items: Items, shape: Shape) -> Items | None:
    """The items in normal form; None where a size is not known or an index is out of bounds."""
    result: list[Any] = []
    axis = 0
    if Ellipsis in items:
        at = items.index(Ellipsis)
        rest = len(shape) - sum(item is not None and item is not Ellipsis for item in items)
        items = (*items[:at], *[FULL] * rest, *items[at + 1 :])
    for item in items:
        if item is None:
            result.append(None)
            continue
        if axis >= len(shape):
            return None
        n = shape[axis]
        axis += 1
        if not isinstance(n, int):
            if item != FULL:
                return None
            result.append(FULL)
        elif isinstance(item, tuple):
            result.append(_normal_slice(*slice(*item).indices(n), n))
        else:
            if not -n <= item < n:
                return None
            result.append(int(item) + n if item < 0 else int(item))
    while result and result[-1] == FULL:
        result.pop()
    return tuple(result)


def _normal_slice(start: int, stop: int, step: int, n: int) -> tuple[Any, ...]:
    length = len(range(start, stop, step))
    if length == n and step == 1:
        return FULL
    if length == 0:
        return (0, 0, 1)
    if length == 1:
        return FULL if n == 1 else (start, start + 1, 1)
    last = start + (length - 1) * step
    if step > 0:
        return (start, last + 1, step)
    return (start, last - 1 if last > 0 else None, step)


def extent(item: tuple[Any, ...], n: int) -> tuple[int, int, int]:
    """(first position, step, number of positions) of a slice in normal form."""
    start, stop, step = slice(*item).indices(n)
    return start, step, len(range(start, stop, step))


def shape_of(items: Items, shape: Shape) -> Shape:
    """The shape of x[items], for items in normal form."""
    sizes: list[Any] = []
    axis = 0
    for item in items:
        if item is None:
            sizes.append(1)
            continue
        if isinstance(item, tuple):
            sizes.append(shape[axis] if item == FULL else extent(item, shape[axis])[2])
        axis += 1
    return (*sizes, *shape[axis:])


def keeps_order(items: Items, shape: Shape) -> bool:
    """Whether x[items] has all elements of x in their order, so that it is a reshape (items in normal form)."""
    axis = 0
    for item in items:
        if item is not None:
            if item != FULL and not (isinstance(item, int) and shape[axis] == 1):
                return False
            axis += 1
    return True


def compose(inner: Items, outer: Items, shape: Shape) -> Items | None:
    """The items of x[inner][outer]; None where they are no items. Both in normal form, x of this shape."""
    items: list[Any] = []
    rest = list(outer)
    axis = 0
    for item in (*inner, *[FULL] * (len(shape) - sum(i is not None for i in inner))):
        if isinstance(item, int):  # this axis is gone, nothing outside speaks of it
            items.append(item)
            axis += 1
            continue
        while rest and rest[0] is None:
            items.append(rest.pop(0))
        next_item = rest.pop(0) if rest else FULL
        if item is None:
            if next_item == FULL:
                items.append(None)
            elif not isinstance(next_item, int):
                return None
            continue
        n = shape[axis]
        axis += 1
        items.append(_compose_slices(item, next_item, n))
        if items[-1] is None:
            return None
    items += rest
    return normal(tuple(items), shape)


def _compose_slices(item: Any, next_item: Any, n: Any) -> Any:
    if next_item == FULL:
        return item
    if item == FULL:
        return next_item
    start, step, length = extent(item, n)
    if isinstance(next_item, int):
        return start + next_item * step
    first, stride, count = extent(next_item, length)
    if count == 0:
        return (0, 0, 1)
    begin, by = start + first * step, step * stride
    end = begin + count * by
    return (begin, end if end >= 0 else None, by)


def disjoint(a: Items, b: Items, shape: Shape) -> bool:
    """Whether two static indices of an array have no element in common, seen axis by axis (both in normal form)."""
    ours, theirs = ([i for i in items if i is not None] for items in (a, b))
    for n, one, two in zip(shape, ours, theirs, strict=False):
        if one == FULL or two == FULL:
            continue
        first, second = (_run(item, n) for item in (one, two))
        if not first or not second:
            return True
        if first[-1] < second[0] or second[-1] < first[0]:
            return True
        if len(first) == 1 and first[0] not in second:
            return True
        if len(second) == 1 and second[0] not in first:
            return True
        stride = math.gcd(first.step, second.step)
        if (first[0] - second[0]) % stride:
            return True
    return False


def _run(item: Any, n: int) -> range:
    """The positions that an item names, upwards."""
    if isinstance(item, int):
        return range(item, item + 1)
    start, step, length = extent(item, n)
    return (
        range(start, start + step * length, step) if step > 0 else range(start + step * (length - 1), start + 1, -step)
    )
