"""Colorings by strips: all elements of a variable that stand at one position along its shorter axes have one color.

Where the same is computed for many points, so for rows of shape (p, 2), the strips (:, 0) and (:, 1) are what one would
color by hand. It takes no walk over the vertices of a graph, and the seeds are constant along the long axis.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.program.types import ArrayType, Value
from adjoint.sparse.relations import Matrix

MOST_STRIPS = 512  # of all variables together
MOST_WEAVES = 64  # parts of an order


def strips_of(types: Sequence[ArrayType]) -> Any:
    """The strip of each number of values with these types, one value after the other; None where they are too many."""
    strips: list[Any] = []
    start = 0
    for t in types:
        short, count = _across(t)
        strips.append(np.ravel(np.broadcast_to(np.arange(start, start + count).reshape(short), t.shape)))
        start += count
    return np.concatenate(strips) if strips and start <= MOST_STRIPS else None


def _across(t: ArrayType) -> tuple[tuple[int, ...], int]:
    """(the shape without its longest axis, the number of strips)."""
    long = int(np.argmax(t.shape)) if t.shape else -1
    short = tuple(1 if k == long else n for k, n in enumerate(t.shape))
    return short, int(np.prod(short))


def color_rows(pattern: Matrix, types: Sequence[ArrayType]) -> Any:
    """Colors of the rows, the same within a strip; None where two rows of a strip share a column."""
    from scipy.sparse import coo_array

    strip = strips_of(types)
    if strip is None:
        return None
    n = pattern.shape[1]
    count = int(strip.max(initial=-1)) + 1
    rows = np.repeat(strip, np.diff(pattern.indptr))
    touched = coo_array((np.ones(rows.size), (rows, pattern.indices)), shape=(count, n)).tocsr()
    if touched.data.max(initial=0) > 1:
        return None
    meets = (touched @ touched.T).toarray() > 0
    colors = np.full(count, -1)
    for k in range(count):
        used = set(colors[:k][meets[k, :k]].tolist())
        colors[k] = next(c for c in range(k + 1) if c not in used)
    return colors[strip]


def seeds_by_value(colors: Any, types: Sequence[ArrayType]) -> list[list[Any]]:
    """For each color the seeds of each value: None where it has none of the color, else zeros and ones of its type.

    What is constant along an axis is an array of length one there, broadcast.
    """
    found: list[list[Any]] = []
    for color in range(int(colors.max(initial=-1)) + 1):
        seeds, start = [], 0
        for t in types:
            size = int(np.prod(t.shape, dtype=np.int64))
            mask = (colors[start : start + size] == color).reshape(t.shape)
            seeds.append(_compact(mask).astype(t.dtype) if mask.any() else None)
            start += size
        found.append(seeds)
    return found


def _compact(mask: Any) -> Any:
    for axis in range(mask.ndim):
        first = mask.take([0], axis)
        if (mask == first).all():
            mask = first
    return mask


Weave = list[tuple[int, Any]]  # strips that stand side by side, by value and by subscript


def find_weave(source: Any, types: Sequence[ArrayType]) -> list[Weave] | None:
    """Numbers of values with these types, in some order, as strips side by side, then others; None where they are not.

    Number k of the order is number source[k] of the values, one after the other.
    """
    strip = strips_of(types)
    if strip is None:
        return None
    subscripts, inside = _subscripts(types)
    strip, inside = strip[source], inside[source]
    lengths = np.bincount(strips_of(types), minlength=len(subscripts))
    woven: list[Weave] = []
    start = 0
    while start < source.size:
        if len(woven) == MOST_WEAVES or inside[start] != 0:
            return None
        length = int(lengths[strip[start]])
        again = np.flatnonzero(strip[start + 1 : start + MOST_STRIPS + 2] == strip[start])
        width = int(again[0]) + 1 if length > 1 and again.size else 1 if length > 1 else _singles(lengths, strip, start)
        stop = start + width * length
        if stop > source.size:
            return None
        block, along = strip[start:stop].reshape(length, width), inside[start:stop].reshape(length, width)
        if (
            (block != block[0]).any()
            or (along != np.arange(length)[:, None]).any()
            or (lengths[block[0]] != length).any()
        ):
            return None
        woven.append([subscripts[k] for k in block[0].tolist()])
        start = stop
    return woven


def _singles(lengths: Any, strip: Any, start: int) -> int:
    """How many strips of one number follow each other."""
    others = np.flatnonzero(lengths[strip[start : start + MOST_STRIPS]] != 1)
    return int(others[0]) if others.size else min(MOST_STRIPS, strip.size - start)


def _subscripts(types: Sequence[ArrayType]) -> tuple[list[tuple[int, Any]], Any]:
    """For each strip the value and the subscript; for each number its position in its strip."""
    found: list[tuple[int, Any]] = []
    inside: list[Any] = []
    for number, t in enumerate(types):
        short, _ = _across(t)
        long = int(np.argmax(t.shape)) if t.shape else -1
        for at in np.ndindex(*short):
            found.append((number, tuple(slice(None) if k == long else i for k, i in enumerate(at))))
        along = (
            np.arange(t.shape[long]).reshape([-1 if k == long else 1 for k in range(len(t.shape))]) if t.shape else 0
        )
        inside.append(np.ravel(np.broadcast_to(along, t.shape)))
    return found, np.concatenate(inside)


def weave(woven: Sequence[Weave], values: Sequence[Value]) -> Value:
    """The numbers in their order."""
    parts: list[Value] = []
    for strips in woven:
        columns = [np.reshape(values[number], (1,)) if not at else values[number][at] for number, at in strips]
        parts.append(columns[0] if len(columns) == 1 else np.reshape(np.stack(columns, axis=1), (-1,)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
