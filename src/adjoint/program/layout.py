"""How an array lies in memory when NumPy makes it: strides in bytes. They decide which of NumPy's results are views.

Traced values may have no memory (variables of a program) or memory of another shape (batches): their strides follow
from those of the arguments, by the same rules that NumPy follows. Strides of axes of length one mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.program.types import ArrayType, Size

Strides = tuple[int, ...]
_STEPS: Any = tuple  # (start, stop, step); as Any, so that a test against it leaves the item Any


def compact(kind: ArrayType, order: Sequence[int] | None = None) -> Strides:
    """An array without gaps, its axes in this order from the slowest to the fastest; None is C order."""
    strides, step = [0] * kind.ndim, kind.dtype.itemsize
    for axis in reversed(range(kind.ndim) if order is None else order):
        strides[axis] = step
        step *= kind.shape[axis]
    return tuple(strides)


def is_compact(kind: ArrayType, strides: Strides, order: Sequence[int] | None = None) -> bool:
    """Whether an array lies so; an array without elements lies in any way."""
    shape, step = kind.shape, kind.dtype.itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        n = shape[axis]
        if n != 1:
            if strides[axis] != step:
                return 0 in shape
            step *= n
    return True


def is_sized(kind: ArrayType) -> bool:
    """Whether all lengths are known."""
    return not any(isinstance(n, Size) for n in kind.shape)


def fortran(ndim: int) -> tuple[int, ...]:
    """The order of the axes in Fortran's order."""
    return tuple(range(ndim))[::-1]


def memory_order(kind: ArrayType, strides: Strides) -> tuple[int, ...]:
    """The axes as they lie in memory, the slowest first: the order "K" of copies. Ties stay in C order."""
    if is_compact(kind, strides):
        return tuple(range(kind.ndim))
    if is_compact(kind, strides, fortran(kind.ndim)):
        return fortran(kind.ndim)
    return tuple(sorted(range(kind.ndim), key=lambda axis: -abs(strides[axis])))


def canonical(kind: ArrayType, strides: Strides) -> Strides:
    """Strides that stand for all arrays whose views are the same: gaps are there or not, their width means nothing."""
    result = [0] * kind.ndim
    if 0 in kind.shape:  # NumPy gives strides of any kind to an array without elements
        return tuple(result)
    last = (
        kind.dtype.itemsize,
        kind.dtype.itemsize,
    )  # where the next axis follows without a gap: in x, in the result
    for axis in sorted(range(kind.ndim), key=lambda axis: (abs(strides[axis]), -axis)):
        n, step = kind.shape[axis], strides[axis]
        if n != 1 and step != 0:
            wide = last[1] if abs(step) == last[0] else 2 * last[1]
            result[axis] = wide if step > 0 else -wide
            last = (n * abs(step), n * wide)
    return tuple(result)


def keep_order(kind: ArrayType, strides: Strides, result: ArrayType) -> Strides:
    """A new array of the same number of axes, in the order in which an old one lies."""
    return compact(result, memory_order(kind, strides))


def reshape_strides(kind: ArrayType, strides: Strides, shape: Sequence[int]) -> Strides | None:
    """The strides of a reshaped view; None when the elements do not lie so that there is one.

    Runs of old and new axes with the same number of elements are matched; the old ones of a run must leave no gaps.
    """
    itemsize = kind.dtype.itemsize
    if math.prod(shape) == 0:
        return compact(ArrayType(tuple(shape), kind.dtype))
    old = [(n, s) for n, s in zip(kind.shape, strides, strict=True) if n != 1]
    result, i, j = [0] * len(shape), 0, 0
    while i < len(old):
        first, size = i, old[i][0]
        start, wide = j, shape[j]
        while size != wide:
            if size < wide:
                i += 1
                size *= old[i][0]
            else:
                j += 1
                wide *= shape[j]
        if any(old[k][1] != old[k + 1][0] * old[k + 1][1] for k in range(first, i)):
            return None
        step = old[i][1]
        for axis in reversed(range(start, j + 1)):
            result[axis], step = step, step * shape[axis]
        i, j = i + 1, j + 1
    return tuple(result) if old else (itemsize,) * len(shape)


def slice_strides(kind: ArrayType, strides: Strides, items: Sequence[Any]) -> Strides:
    """The strides of x[items] for integers, slices (start, stop, step), new axes and an ellipsis."""
    rest = kind.ndim - sum(item is not None and item is not Ellipsis for item in items)
    result: list[int] = []
    axis = 0
    for item in items:
        if item is None:
            result.append(0)
        elif item is Ellipsis:
            result += strides[axis : axis + rest]
            axis += rest
        else:
            if isinstance(item, _STEPS):
                result.append(strides[axis] * (1 if item[2] is None else item[2]))
            axis += 1
    return (*result, *strides[axis:])


def broadcast_strides(kind: ArrayType, strides: Strides, shape: Sequence[int]) -> Strides:
    """The strides of an array that is repeated without a copy: 0 along axes that are new or of length one."""
    old = [0 if n == 1 else s for n, s in zip(kind.shape, strides, strict=True)]
    return (*[0] * (len(shape) - kind.ndim), *old)


def iteration_order(kind: ArrayType, strides: Strides) -> tuple[int, ...]:
    """The axes in the order in which NumPy's iterator walks through an array: repeated ones stay where they are."""
    return memory_order(kind, elementwise_strides([kind], [strides], kind))


def elementwise_strides(kinds: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides:
    """How the result of a ufunc lies: in the order in which NumPy's iterator walks through its arguments."""
    if all(is_compact(k, s) for k, s in zip(kinds, strides, strict=True)):
        return compact(result)
    return probe_strides(lambda *xs: np.nditer([*xs, None]).operands[-1], kinds, strides, result)  # type: ignore[list-item]


def probe_strides(
    function: Callable[..., Any], kinds: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType
) -> Strides:
    """How the result of a function of NumPy's lies, by a trial on small arrays of zeros that lie like the arguments."""
    if 0 in result.shape or any(0 in kind.shape for kind in kinds):
        return compact(result)
    small = np.asarray(function(*[_probe(k, s) for k, s in zip(kinds, strides, strict=True)]))
    return compact(result, memory_order(ArrayType(small.shape, small.dtype), small.strides))


def _probe(kind: ArrayType, strides: Strides) -> Any:
    """Two elements along each axis that has more than one."""
    order = sorted(range(kind.ndim), key=lambda axis: -abs(strides[axis]))
    small = [min(2, n) for n in kind.shape]
    x = np.zeros([1 if strides[axis] == 0 else small[axis] for axis in order], np.int8)
    x = x.transpose(np.argsort(order))[tuple(slice(None, None, -1 if s < 0 else 1) for s in strides)]
    return np.broadcast_to(x, small)
