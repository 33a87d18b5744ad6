"""The methods of ufuncs: reduce, accumulate, reduceat, at. Sums, products and extrema are primitives; any other
ufunc is folded.

reduce       z  = f(… f(f(x₀, x₁), x₂) …, xₙ)         (as a tree when f is associative)
accumulate   zₖ = f(zₖ₋₁, xₖ)
at           x[i] = f(x[i], v) once for each time that i occurs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.numpy import reducing
from adjoint.numpy.asking import settled
from adjoint.numpy.dispatch import NO_VALUE, as_array, is_traced, normal_axes, normal_axis, refuse_plain_target
from adjoint.numpy.indexing import getitem, updated
from adjoint.numpy.inplace import settle
from adjoint.numpy.shaping import convert, reshaped_copy
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.operators import GENERAL
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value

REDUCTIONS: dict[Any, Callable[..., Value]] = {
    np.add: reducing.sum,
    np.multiply: reducing.prod,
    np.maximum: reducing.max,
    np.minimum: reducing.min,
}
RUNNING: dict[Any, Callable[..., Value]] = {
    np.add: reducing.cumsum,
    np.multiply: reducing.cumprod,
    np.maximum: lambda a, axis: reducing.cumulative_extremum("max", a, axis),
    np.minimum: lambda a, axis: reducing.cumulative_extremum("min", a, axis),
}
ASSOCIATIVE = {
    np.logaddexp,
    np.logaddexp2,
    np.fmax,
    np.fmin,
    np.hypot,
    np.gcd,
    np.lcm,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.logical_xor,
}

LONGEST_CHAIN = 64  # rows that are taken one after another, written out


def reduce(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Value:
    """ufunc.reduce."""
    array = as_array(array)
    if ufunc in (np.logical_and, np.logical_or) and initial in (NO_VALUE, None):
        return (reducing.all if ufunc is np.logical_and else reducing.any)(array, axis, None, keepdims, where=where)
    if dtype is not None:
        array = convert(array, dtype)
    if initial is None:
        initial = NO_VALUE
    if ufunc in REDUCTIONS:
        return REDUCTIONS[ufunc](array, axis, keepdims=keepdims, initial=initial, where=where)
    axes = normal_axes(axis, array.ndim)
    if ufunc is np.logaddexp and initial is NO_VALUE and where is True and array.dtype.kind == "f":
        z = bind(LogSumExp(axes), array)
        return np.expand_dims(z, axes) if keepdims else z
    if len(axes) > 1 and ufunc not in ASSOCIATIVE and ufunc not in (np.logical_and, np.logical_or):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    z = _folded(
        ufunc,
        _front(array, axes),
        initial,
        True if where is True else _front(np.broadcast_to(as_array(where), array.shape), axes),
    )
    return np.expand_dims(z, axes) if keepdims else z


def _front(x: Value, axes: tuple[int, ...]) -> Value:
    """The axes to reduce as one axis, in front of the others."""
    rest = [a for a in range(x.ndim) if a not in axes]
    return np.reshape(np.transpose(x, (*axes, *rest)), (-1, *[x.shape[a] for a in rest]))


def _folded(ufunc: Any, x: Value, initial: Any, where: Value) -> Value:
    """f over the first axis."""
    start = initial if initial is not NO_VALUE else ufunc.identity
    if where is not True and start is None:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to "
            "specify 'initial'"
        )
    if x.shape[0] == 0:
        if start is None:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        return np.full(x.shape[1:], start, ufunc.resolve_dtypes((x.dtype, x.dtype, None))[2])
    if where is True and ufunc in ASSOCIATIVE:
        z = _tree(ufunc, x)
        return z if initial is NO_VALUE else ufunc(initial, z)
    if where is True and initial is NO_VALUE:
        z, first = x[0], 1
    else:
        z, first = np.full(x.shape[1:], start, x.dtype) if np.ndim(start) == 0 and not is_traced(start) else start, 0
    z = convert(z, ufunc.resolve_dtypes((z.dtype, x.dtype, None))[2])

    def combine(z: Value, row: Any) -> tuple[Value, None]:
        next_ = ufunc(z, row[0])
        return (next_ if where is True else np.where(row[1], next_, z)), None

    rows = (x[first:],) if where is True else (x[first:], where[first:])
    return _row_by_row(combine, z, rows)[0]


def _tree(ufunc: Any, x: Value) -> Value:
    """f over the first axis of an associative f: neighbors first."""
    while (n := x.shape[0]) > 1:
        pairs = ufunc(x[0 : n - n % 2 : 2], x[1 : n - n % 2 : 2])
        x = pairs if n % 2 == 0 else np.concatenate([pairs, x[n - 1 :].astype(pairs.dtype)])
    return x[0]


def accumulate(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None) -> Value:
    """ufunc.accumulate."""
    array = as_array(array)
    if dtype is not None:
        array = convert(array, dtype)
    axis = normal_axis(axis, array.ndim)
    if ufunc in RUNNING:
        return RUNNING[ufunc](array, axis)
    x = np.moveaxis(array, axis, 0)
    if x.shape[0] == 0:
        return np.copy(array)
    if ufunc in ASSOCIATIVE and x.shape[0] > LONGEST_CHAIN:
        return np.moveaxis(_running(ufunc, x), 0, axis)
    start = convert(x[0], ufunc.resolve_dtypes((x.dtype, x.dtype, None))[2])

    def combine(z: Value, row: Any) -> tuple[Value, Value]:
        z = ufunc(z, row[0])
        return z, z

    later = _row_by_row(combine, start, (x[1:],))[1]
    return np.moveaxis(np.concatenate([np.expand_dims(start, 0), later]), 0, axis)


def _row_by_row(combine: Callable[..., tuple[Value, Any]], z: Value, rows: tuple[Value, ...]) -> tuple[Value, Value]:
    """z and what is given at each row, row after row: written out when they are few, one loop when they are many."""
    if (n := rows[0].shape[0]) > LONGEST_CHAIN:
        return GENERAL["scan"](combine, z, rows)
    found: list[Value] = []
    for k in range(n):
        z, one = combine(z, [r[k] for r in rows])
        found.append(one)
    return z, np.stack(found) if n and found[0] is not None else np.zeros((0, *z.shape), z.dtype)


def _running(ufunc: Any, x: Value) -> Value:
    """f over the rows up to each one, of an associative f: those of pairs of neighbors, and between them one more."""
    n = x.shape[0]
    if n == 1:
        return x
    odd = _running(ufunc, ufunc(x[0 : n - 1 : 2], x[1:n:2]))
    even = ufunc(odd[: (n - 1) // 2], x[2:n:2])
    mixed = np.reshape(np.stack([odd[: even.shape[0]], even], axis=1), (-1, *x.shape[1:]))
    return np.concatenate([x[:1].astype(odd.dtype), mixed, odd[even.shape[0] :]])


def reduceat(ufunc: Any, array: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Value:
    """ufunc.reduceat: the reduction of x[iₖ : iₖ₊₁], or x[iₖ] itself when the next index is not larger."""
    array = as_array(array)
    axis = normal_axis(axis, array.ndim)
    positions, n = as_array(indices), array.shape[axis]
    x = np.moveaxis(array, axis, 0)
    if ufunc is np.add and dtype is None and array.dtype.kind in "fc" and _divide(positions, n):
        return np.moveaxis(_sum_groups(x, positions), 0, axis)
    positions = [int(i) for i in positions]
    for position in positions:
        if not 0 <= position < n:
            raise IndexError(f"index {position} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    parts = [
        reduce(ufunc, x[start : stop if stop > start else start + 1], 0, dtype)
        for start, stop in zip(positions, [*positions[1:], n], strict=True)
    ]
    return np.stack(parts, axis=axis)


def _divide(positions: Value, n: int) -> bool:
    """Whether positions cut n rows into groups, one behind the other."""
    if positions.ndim != 1 or positions.dtype.kind not in "iu" or not positions.shape[0]:
        return False
    is_inside = (positions[0] >= 0) & (positions[-1] < n)
    return settled(is_inside & np.all(positions[1:] > positions[:-1])) is True


def _sum_groups(x: Value, starts: Value) -> Value:
    """The sums of the rows from each start to the next: every row is added to that of its group."""
    count = starts.shape[0]
    begins = ScatterSum((x.shape[0],), np.dtype(np.int64), (("gather", 1),))(np.ones(count, np.int64), starts)
    group = np.cumsum(begins) - 1  # -1 in front of the first start
    in_one = np.reshape(group >= 0, (-1, *(1,) * (x.ndim - 1)))
    shape = (count, *x.shape[1:])
    return ScatterSum(shape, x.dtype, (("gather", 1),))(np.where(in_one, x, 0), np.maximum(group, 0))


def at(ufunc: Any, a: Any, indices: Any, *operands: Any) -> None:
    """ufunc.at: in place, and right where an index occurs several times."""
    if not isinstance(a, Tracer):
        refuse_plain_target(f"np.{ufunc.__name__}.at", type(a).__name__)
    positions = getitem(np.reshape(np.arange(a.type.size), a.shape), indices)  # of the elements in C order
    values = [np.reshape(np.broadcast_to(as_array(v), positions.shape), (-1,)) for v in operands]
    flat, positions = reshaped_copy(a, (-1,)), np.reshape(positions, (-1,))
    if ufunc in (np.add, np.subtract):
        dtype = np.result_type(flat.dtype, values[0].dtype)
        total = ScatterSum(flat.shape, dtype, (("gather", 1),))(values[0], positions)
        new = ufunc(flat, total)
    elif isinstance(positions, Tracer):  # which positions are equal is not known: one after another

        def combine(z: Value, row: Any) -> tuple[Value, None]:
            one, *operands = [np.expand_dims(v, 0) for v in row]
            return updated(z, (one,), ufunc(z[one], *operands)), None

        new = _row_by_row(combine, flat, (positions, *values))[0]
    else:
        new = flat
        for chosen in _rounds(positions):
            new = updated(new, (positions[chosen],), ufunc(new[positions[chosen]], *[v[chosen] for v in values]))
    if not np.can_cast(new.dtype, a.dtype, "same_kind"):
        raise TypeError(f"np.{ufunc.__name__}.at: cannot cast {new.dtype} to the array's {a.dtype}")
    settle(a, convert(np.reshape(new, a.shape), a.dtype))


def _rounds(positions: Value) -> list[Value]:
    """Groups of elements in which no position occurs twice, in the order of occurrence."""
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    first = np.maximum.accumulate(np.where(new, np.arange(len(ordered)), 0))
    occurrence = np.empty(len(positions), int)
    occurrence[order] = np.arange(len(ordered)) - first
    return [np.flatnonzero(occurrence == k) for k in range(int(occurrence.max(initial=-1)) + 1)]
