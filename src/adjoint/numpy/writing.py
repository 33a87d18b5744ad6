"""NumPy's functions that write into their first argument. Into a traced array they are pure updates; into a plain
one they refuse.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, normal_axis, refuse_plain_target
from adjoint.numpy.indexing import along, positions_of, setitem, updated
from adjoint.numpy.inplace import overwrite, settle
from adjoint.numpy.shaping import convert, reshaped_copy
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


def _target(call: str, a: Any) -> Tracer:
    if not isinstance(a, Tracer):
        refuse_plain_target(call, type(a).__name__)
    return a


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    dst, src = _target("np.copyto (as in np.full_like(plain, x) or np.nan_to_num(nan=x))", dst), as_array(src)
    if not np.can_cast(src.dtype, dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {src.dtype} to {dst.dtype} according to the rule {casting!r}")
    src = convert(src, dst.dtype)
    overwrite(dst, src if where is True else np.where(where, src, dst), "np.copyto")


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    a = _target("np.put", a)
    positions, values, n = np.ravel(as_array(ind)), np.ravel(as_array(v)), a.type.size
    if positions.shape[0] == 0:
        return
    if mode == "wrap":
        positions = positions % n
    elif mode == "clip":
        positions = np.clip(positions, 0, n - 1)
    new = updated(reshaped_copy(a, (-1,)), (positions,), np.resize(values, positions.shape))
    settle(a, np.reshape(new, a.shape))


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    arr = _target("np.place", arr)
    (positions,) = positions_of(np.ravel(as_array(mask)) != 0, "np.place")
    values = np.ravel(as_array(vals))
    if len(positions):
        if values.shape[0] == 0:
            raise ValueError("Cannot insert from an empty array!")
        put(arr, positions, np.resize(values, positions.shape))


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    a = _target("np.putmask", a)
    mask, values = as_array(mask), as_array(values)
    if mask.shape != a.shape:
        raise ValueError("putmask: mask and data must be the same size")
    overwrite(a, np.where(mask, convert(np.resize(values, a.shape), a.dtype), a), "np.putmask")


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    a = _target("np.fill_diagonal", a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step, size = a.shape[1] + 1, a.type.size
        stop = size if wrap else min(size, a.shape[1] * a.shape[1])
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step, stop = 1 + sum(a.shape[0] ** k for k in range(1, a.ndim)), a.type.size
    put(a, np.arange(0, stop, step), val)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    arr = _target("np.put_along_axis", arr)
    if axis is None:
        new = updated(reshaped_copy(arr, (-1,)), (indices,), values)
        settle(arr, np.reshape(new, arr.shape))
        return
    axis = normal_axis(operator.index(axis), arr.ndim)
    setitem(arr, along(arr.shape, np.shape(indices), indices, axis), values)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Value:
    x = as_array(x)
    if x.dtype.kind not in "fc":
        return np.copy(x)
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (np.real(x), np.imag(x))]
        z = convert(parts[0] + 1j * parts[1], x.dtype)
    else:
        info = np.finfo(x.dtype)
        low, high = info.min if neginf is None else neginf, info.max if posinf is None else posinf
        z = convert(
            np.where(np.isnan(x), nan, np.where(np.equal(x, np.inf), high, np.where(np.equal(x, -np.inf), low, x))),
            x.dtype,
        )
    if not copy:
        overwrite(_target("np.nan_to_num(copy=False)", x), z, "np.nan_to_num")
        return x
    return z
