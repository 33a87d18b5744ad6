"""Moving elements about: flip, roll, rotate, diagonals, triangles, copies."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, into, normal_axes, normal_axis
from adjoint.numpy.indexing import getitem, take
from adjoint.numpy.inplace import laid_out, viewed
from adjoint.numpy.shaping import convert
from adjoint.ops.arrays.index import Gather, ScatterSum
from adjoint.ops.arrays.rearrange import Transpose
from adjoint.program.layout import Strides
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value


@implements(np.flip)
def flip(m: Value, axis: Any = None) -> Value:
    axes = normal_axes(axis, m.ndim)
    return getitem(m, tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim)))


@implements(np.fliplr)
def fliplr(m: Value) -> Value:
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@implements(np.flipud)
def flipud(m: Value) -> Value:
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@implements(np.rot90)
def rot90(m: Value, k: int = 1, axes: Any = (0, 1)) -> Value:
    first, second = (normal_axis(a, m.ndim) for a in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    k = operator.index(k) % 4
    if k == 0:
        return m[:]
    if k == 2:
        return flip(m, (first, second))
    return np.swapaxes(flip(m, second), first, second) if k == 1 else flip(np.swapaxes(m, first, second), second)


@implements(np.roll)
def roll(a: Value, shift: Any, axis: Any = None) -> Value:
    a = as_array(a)
    if axis is None:
        return np.reshape(roll(np.ravel(a), shift, 0), a.shape)
    shifts, axes = np.broadcast_arrays(np.atleast_1d(_whole(shift)), np.atleast_1d(axis))
    total: dict[int, int] = {}
    for s, i in zip(shifts.tolist(), axes.tolist(), strict=True):
        position = normal_axis(i, a.ndim)
        total[position] = total.get(position, 0) + s
    like = a
    for position, s in total.items():
        n = a.shape[position]
        if n and s % n:
            before = (slice(None),) * position
            a = np.concatenate(
                [a[(*before, slice(n - s % n, None))], a[(*before, slice(None, n - s % n))]], axis=position
            )
    return +a if not total or not isinstance(a, Tracer) else laid_out(a if a is not like else a.copy(), like)  # type: ignore[attr-defined]


def _whole(shift: Any) -> Any:
    """A shift that Python knows: a traced integer is asked."""
    return operator.index(shift) if isinstance(shift, Tracer) else shift  # pyright: ignore[reportArgumentType]


@implements(np.diagonal)
def diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    axis1, axis2 = normal_axis(axis1, a.ndim), normal_axis(axis2, a.ndim)
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = [i for i in range(a.ndim) if i not in (axis1, axis2)]
    n = max(0, min(a.shape[axis1] + min(offset, 0), a.shape[axis2] - max(offset, 0)))
    rows, columns = np.arange(n) - min(offset, 0), np.arange(n) + max(offset, 0)
    back = (*range(1, a.ndim - 1), 0)

    def read(base: Value) -> Value:
        return Transpose(back)(Gather(2)(Transpose((axis1, axis2, *rest))(base), rows, columns))

    def along(kind: ArrayType, strides: Strides) -> Strides:
        return (*[strides[i] for i in rest], strides[axis1] + strides[axis2])

    return viewed(read(a), a, read, None, layout=along, reason="a diagonal, which NumPy makes read-only")


def _on_diagonal(v: Value, k: int) -> Value:
    """The square matrix with a vector on a diagonal."""
    n = v.shape[0] + abs(k)
    positions = np.arange(v.shape[0])
    return ScatterSum((n, n), v.dtype, (("gather", 2),))(v, positions - min(k, 0), positions + max(k, 0))


@implements(np.diag)
def diag(v: Value, k: int = 0) -> Value:
    if v.ndim == 1:
        return _on_diagonal(v, operator.index(k))
    if v.ndim == 2:
        return diagonal(v, k)
    raise ValueError("Input must be 1- or 2-d.")


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Value:
    return _on_diagonal(np.ravel(as_array(v)), operator.index(k))


@implements(np.tril)
def tril(m: Value, k: int = 0) -> Value:
    return np.where(np.tri(*_last_two(m), k=k, dtype=bool), m, m.dtype.type(0))


@implements(np.triu)
def triu(m: Value, k: int = 0) -> Value:
    return np.where(np.tri(*_last_two(m), k=k - 1, dtype=bool), m.dtype.type(0), m)


def _last_two(m: Value) -> tuple[int, int]:
    return m.shape[-2:] if m.ndim > 1 else (m.shape[0], m.shape[0])


@implements(np.copy)
def copy(a: Value, order: str = "K", subok: bool = False) -> Value:
    return a.copy(order)


@implements(np.vander)
def vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:  # noqa: N803
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    x = convert(x, np.promote_types(x.dtype, int))
    count = x.shape[0] if N is None else N
    if count == 0:
        return np.zeros_like(x, shape=(x.shape[0], 0))
    powers = [np.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers if increasing else powers[::-1], axis=1)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Value:
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normal_axis(axis, a.ndim)
    if np.ndim(condition) != 1:
        raise ValueError("condition must be a 1-d array")
    return into(out, take(a, np.nonzero(as_array(condition))[0], axis=axis))


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Value:
    return take(np.ravel(as_array(arr)), np.nonzero(np.ravel(as_array(condition)))[0])


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Value:
    a = as_array(a)
    parts = [as_array(c) for c in choices]
    shape = np.broadcast_shapes(a.shape, *[p.shape for p in parts])
    table = np.stack([np.broadcast_to(p, shape) for p in parts])
    n = len(parts)
    if mode == "clip":
        a = np.clip(a, 0, n - 1)
    elif mode == "wrap":
        a = a % n
    elif not isinstance(a, Tracer) and (np.any(a < 0) or np.any(a >= n)):
        raise ValueError("invalid entry in choice array")
    flat = np.reshape(table, (n, math.prod(shape)))
    positions = np.ravel(np.broadcast_to(a, shape))  # pyright: ignore[reportArgumentType, reportCallIssue]
    picked = flat[positions, np.arange(math.prod(shape))]
    return into(out, np.reshape(picked, shape))
