"""Assignment to traced arrays: recorded as pure updates, seen by every name and every view of the array.

A view knows what it is a view of and how to put itself back. Writing to it writes to its base; writing to the base
refreshes its views.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ShapeError, TraceError
from adjoint.base.source import describe, here
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.operators import GENERAL
from adjoint.program.trace import Traced
from adjoint.program.types import Value


class View(NamedTuple):
    """How a view is read from its base, and how a changed view is put back."""

    read: Callable[[Value], Value]
    put: Callable[[Value, Value], Value]
    key: Any = None  # of a slice: so that `x[key] += v` writes once


def viewed(
    view: Value,
    base: Traced,
    read: Callable[[Value], Value],
    put: Callable[[Value, Value], Value],
    *,
    key: Any = None,
    scalar: bool = False,
) -> Value:
    """Declare that `view` shares memory with `base`, as NumPy's own result would. A scalar is a copy, unless it is
    a 0-d array (`scalar`).
    """
    if not base.shape and not hasattr(base, "_base"):  # a number is a value, and shares its memory with nothing
        return view
    if isinstance(view, Traced) and (view.shape or scalar):
        view._base = (base, View(read, put, key))
        try:
            base._views.append(weakref.ref(view))
        except AttributeError:
            base._views = [weakref.ref(view)]
    return view


def shares_memory(z: Value, a: Value) -> bool | None:
    """Whether NumPy's result would be a view of `a`: the values underneath tell; None when they are not known."""
    while isinstance(z, Traced) and isinstance(a, Traced) and z._trace is a._trace:
        z, a = z._value, a._value
    return np.may_share_memory(z, a) if isinstance(z, np.ndarray) and isinstance(a, np.ndarray) else None


def layout(x: Value) -> Any:
    """The flags of the array that NumPy would have here (c_contiguous, f_contiguous); None when they are not known."""
    while isinstance(x, Traced):
        lanes = getattr(x, "_mapped", False)
        x = x._value
        if lanes:
            return x[0].flags if isinstance(x, np.ndarray) and x.ndim > 1 else None
    return x.flags if isinstance(x, np.ndarray) else None


def laid_out(x: Value, flags: Any) -> Value:
    """x in memory as `flags` say: an assignment does not move an array, and what is a view depends on how it lies."""
    now = layout(x)
    if now is None or len(x.shape) < 2:
        return x
    if flags.c_contiguous and not now.c_contiguous:
        return Reshape(x.shape)(Reshape((x.type.size,))(x))
    if flags.f_contiguous and not now.f_contiguous:
        back = Transpose(tuple(range(len(x.shape)))[::-1])
        return back(Reshape(x.shape[::-1])(Reshape((x.type.size,))(back(x))))
    return x


def read_only(value: Value, reason: str) -> Value:
    """Declare that writing to `value` would have to reach memory that cannot be followed."""
    if isinstance(value, Traced):
        value._base = (value, reason)
    return value


def overwrite(x: Traced, new: Value, what: str) -> None:
    """x[...] = new, with NumPy's rules for shape and dtype."""
    if np.shape(new) != x.shape:
        if len(np.shape(new)) > x.ndim or np.broadcast_shapes(np.shape(new), x.shape) != x.shape:
            raise ShapeError(f"{what}: the result has shape {np.shape(new)}, which does not fit into {x.type}.")
        new = np.broadcast_to(new, x.shape)
    if new.dtype != x.dtype:
        if not np.can_cast(new.dtype, x.dtype, "same_kind"):
            raise TypeError(
                f"{what}: cannot cast {new.dtype} to the array's {x.dtype} without losing something; use a new name "
                "instead."
            )
        new = new.astype(x.dtype)
    settle(x, new)


def settle(x: Traced, new: Value) -> None:
    """Let x be `new` from now on, for all its names and views."""
    if type(new) is np.ndarray:
        new = new.copy()  # the caller may write to it later
    chain = [x]  # x, what it is a view of, what that is a view of, …: thousands, perhaps, so no recursion
    while (base := getattr(chain[-1], "_base", None)) is not None:
        if isinstance(base[1], str):
            raise TraceError(f"Assignment to {base[1]}, at {describe(here())}. Take a copy first: y = x.copy().")
        chain.append(base[0])
    if isinstance(new, Traced) and any(new._trace.level > array._trace.level for array in chain):
        raise TraceError(
            f"A value of an inner transformation was stored in an array of an outer one, at {describe(here())}: it "
            "would outlive its transformation. Make the array inside the inner function (a copy with "
            "adjoint.numpy.array(x)), and return it."
        )
    before = layout(chain[-1]) if len(x.shape) > 1 or len(chain) > 1 else None
    x._adopt(new)
    for view, owner in pairwise(chain):
        owner._adopt(view._base[1].put(owner, view))
    if before is not None and (moved := laid_out(chain[-1], before)) is not chain[-1]:
        chain[-1]._adopt(moved)
    refresh_views(chain[-1])


def refresh_views(x: Traced) -> None:
    """Read again every living view of an array that has changed, and the views of these."""
    changed = [x]
    while changed:
        base = changed.pop()
        alive = [view for reference in getattr(base, "_views", ()) if (view := reference()) is not None]
        if alive:
            base._views = [weakref.ref(view) for view in alive]
        for view in alive:
            view._adopt(view._base[1].read(base))
        changed += alive


GENERAL["overwrite"] = overwrite
