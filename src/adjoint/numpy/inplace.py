"""Assignment to traced arrays: recorded as pure updates, seen by every name and every view of the array.

A view knows what it is a view of and how to put itself back. Writing to it writes to its base; writing to the base
refreshes its views. What is a view is NumPy's decision: how arrays lie in memory decides (`layout`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ReadOnlyError, ShapeError, TraceError
from adjoint.base.source import describe, here
from adjoint.ops.arrays.rearrange import Concatenate, Reshape, Transpose, inverse_permutation
from adjoint.ops.operators import GENERAL
from adjoint.program.journal import note_array
from adjoint.program.layout import Strides, fortran, is_compact, memory_order
from adjoint.program.record import is_symbolic
from adjoint.program.trace import Trace, Tracer, live_trace
from adjoint.program.types import ArrayType, Value, type_of


class View(NamedTuple):
    """How a view is read from its base, and how a changed view is put back."""

    read: Callable[[Value], Value] | None  # None: it is not known whether NumPy makes a view (see `doubtful`)
    put: Callable[[Value, Value], Value] | None  # None: it cannot be written to
    key: Any = None  # of a slice: so that `x[key] += v` writes once
    layout: Callable[[ArrayType, Strides], Strides] | None = None  # from that of the base; None: `read` is a primitive
    reason: str = ""  # why it cannot be written to
    refusal: Callable[[], BaseException] | None = None  # what is raised where it is written to; None: an error of ours


def viewed(
    view: Value,
    base: Tracer,
    read: Callable[[Value], Value] | None,
    put: Callable[[Value, Value], Value] | None,
    *,
    key: Any = None,
    scalar: bool = False,
    layout: Callable[[ArrayType, Strides], Strides] | None = None,
    reason: str = "",
) -> Value:
    """Declare that `view` shares memory with `base`, as NumPy's own result would. A scalar is a copy, unless it is
    a 0-d array (`scalar`).
    """
    if not base.shape and put is not None and not hasattr(base, "_base"):
        return view  # a number is a value, and shares its memory with nothing
    if isinstance(view, Tracer) and (view.shape or scalar):
        view._base = (base, View(read, put, key, layout, reason))
        try:
            base._views.append(weakref.ref(view))
        except AttributeError:
            base._views = [weakref.ref(view)]
    return view


def doubtful(z: Value, a: Tracer, reason: str) -> Value:
    """Declare that NumPy's own result may be a view of `a` or a copy, which is not known here.

    As long as what `a` belongs to is alive, neither may be written to; then there is no difference.
    """
    while (base := getattr(a, "_base", None)) is not None and base[1].read is not None:
        a = base[0]
    owner = weakref.ref(a) if base is None else base[0]
    if isinstance(z, Tracer) and (alive := owner()) is not None:
        z._base = (owner, View(None, None, reason=reason))  # type: ignore[assignment]
        if isinstance(alive, Tracer):  # a plain array takes no traced values before it is traced itself
            alive._views = [*getattr(alive, "_views", ()), weakref.ref(z)]
    return z


class Owners:
    """Arrays that another one may share memory with, held weakly: one of those that are alive, when it is called."""

    def __init__(self, arrays: Sequence[Value]) -> None:
        self.references = [weakref.ref(a) for a in arrays]

    def __call__(self) -> Value:
        return next(iter(self.alive()), None)

    def alive(self) -> list[Value]:
        """Those that are alive."""
        return [a for reference in self.references if (a := reference()) is not None]


def roots(a: Value) -> list[Value]:
    """The arrays whose memory an array may have: what it is a view of, and what that may be."""
    found: dict[int, Value] = {}
    waiting = [a]
    while waiting:
        array = waiting.pop()
        base = None
        if isinstance(array, Tracer):
            while (base := getattr(array, "_base", None)) is not None and base[1].read is not None:
                array = base[0]
        else:
            while isinstance(getattr(array, "base", None), np.ndarray):
                array = array.base
        if id(array) in found:  # two arrays may each be the other
            continue
        found[id(array)] = array
        if base is not None:
            owners = base[0].alive() if isinstance(base[0], Owners) else [base[0]()]
            waiting += [owner for owner in owners if owner is not None]
    return list(found.values())


def may_share(z: Tracer, others: Sequence[Value], reason: str, refusal: Callable[[], BaseException]) -> None:
    """Declare that z may be each of these arrays or a view of it: while one is alive, neither may be written to."""
    z._base = (Owners(others), View(None, None, reason=reason, refusal=refusal))  # type: ignore[assignment]
    for other in others:
        if isinstance(other, Tracer):
            other._views = [*getattr(other, "_views", ()), weakref.ref(z)]


def layout(x: Value) -> Strides | None:
    """How the array that NumPy would have here lies in memory: its strides in bytes; None when they are not known."""
    if not isinstance(x, Tracer):
        return getattr(x, "strides", ())
    views: list[Tracer] = []
    root, followed = x, True  # whether the value of the view itself is a view of memory
    while (base := getattr(root, "_base", None)) is not None:
        if base[1].read is None:
            return None
        views.append(root)
        followed = followed and base[1].layout is None
        root = base[0]
    strides = getattr(root, "_strides", None)
    if strides is None:
        if followed and type(x._value) is np.ndarray and type(x).layout is Tracer.layout:
            return x._value.strides
        strides = root.layout()
    for view in reversed(views):
        base, how = view._base
        if strides is None:
            return None
        layout_of = how.layout
        strides = (
            layout_of(base.type, strides)
            if layout_of is not None
            else how.read.layout((base.type,), (strides,), view.type)
        )
    return strides


def arranged(x: Value, order: Sequence[int] | None = None) -> Value:
    """x without gaps in memory, its axes in this order from the slowest to the fastest (None: C order)."""
    kind, strides = type_of(x), layout(x)
    if strides is not None and is_compact(kind, strides, order):
        return x
    axes = tuple(range(kind.ndim)) if order is None else tuple(order)
    if is_symbolic(x):
        copy = Reshape(kind.shape)(x)
        copy.lay_out(axes)
        return copy
    moved = x if order is None else Transpose(axes)(x)
    flat = Concatenate(0)(Reshape((kind.size,))(moved))  # joining copies, in any case
    copy = Reshape(moved.shape)(flat)
    return copy if order is None else Transpose(inverse_permutation(axes))(copy)


def is_fortran(x: Value) -> bool:
    """Whether an array is known to lie in Fortran's order, and not in C order."""
    strides = layout(x)
    if strides is None or len(strides) < 2:
        return False
    kind = type_of(x)
    return is_compact(kind, strides, fortran(kind.ndim)) and not is_compact(kind, strides)


def laid_out(z: Value, like: Value = None) -> Value:
    """A new array as NumPy's function makes it: in C order, or in the order of another array of as many axes."""
    if not isinstance(z, Tracer) or z.ndim < 2:
        return z
    order = None
    if like is not None:
        strides = layout(like)
        if strides is None:
            return z
        order = memory_order(type_of(like), strides)
    if is_symbolic(z):
        if hasattr(z, "_base"):  # of what was made on the way, which nobody else has
            del z._base
        z.lay_out(range(z.ndim) if order is None else order)
        return z
    return arranged(z, order)


def overwrite(x: Tracer, new: Value, what: str) -> None:
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


def settle(x: Tracer, new: Value) -> None:
    """Let x be `new` from now on, for all its names and views."""
    if type(new) is np.ndarray:
        new = new.copy()  # the caller may write to it later
    chain = [x]  # x, what it is a view of, what that is a view of, …: thousands, perhaps, so no recursion
    while (base := getattr(chain[-1], "_base", None)) is not None:
        if base[1].read is None and base[0]() is None:
            break
        if base[1].put is None:
            if base[1].refusal is not None:
                raise base[1].refusal()
            raise ReadOnlyError(
                f"assignment destination is read-only: {base[1].reason}, at {describe(here())}. Take a copy first: "
                "y = x.copy()."
            )
        chain.append(base[0])
    outer = [a for a in chain if isinstance(new, Tracer) and new._trace.level > a._trace.level]
    if any(_shading(array) is None for array in outer):
        raise TraceError(
            f"A value of an inner transformation was stored in an array of an outer one, at {describe(here())}: it "
            "would outlive its transformation. Make the array inside the inner function (a copy: x.copy()), and return "
            "it."
        )
    root = chain[-1]
    for view in living_views(root):
        if view is not chain[0] and view._base[1].refusal is not None:
            raise view._base[1].refusal()
    before = layout(root) if root.shape and _shading(root) is None else ()
    _become(x, new)
    for view, owner in pairwise(chain):
        _become(owner, view._base[1].put(owner, view))
    if before and before != root.layout():
        _keep_layout(root, before)
    refresh_views(root)


def _shading(array: Tracer) -> Trace | None:
    """The branch or body that is traced now, which keeps a write to an array of an outer transformation inside."""
    trace = live_trace()
    while trace is not None and trace.shadows is None:
        trace = trace.outer
    return trace if trace is not None and array._trace.level < trace.level else None


def _become(array: Tracer, value: Value) -> None:
    """An array is another one from now on: for all that refer to it, or inside what is traced now."""
    shading = _shading(array)
    if shading is None:
        note_array(array)
        array._adopt(value)
    else:
        shading.shade(array, value)


def _keep_layout(x: Tracer, strides: Strides) -> None:
    """An assignment does not move an array in memory, and what is a view depends on how it lies."""
    order = memory_order(x.type, strides)
    if not is_compact(x.type, strides, order):
        x._strides = strides
    elif (moved := arranged(x, order)) is not x:
        x._adopt(moved)


def living_views(x: Tracer) -> list[Tracer]:
    """The views of an array that somebody still refers to; the others are forgotten.

    A branch or a body may be traced more than once. What it made before is no value of any transformation.
    """
    references = getattr(x, "_views", ())
    found = [view for reference in references if (view := reference()) is not None]
    alive = [view for view in found if not view._trace.has_ended]
    if len(alive) < len(references):
        x._views = [weakref.ref(view) for view in alive]
    return alive


def refresh_views(x: Tracer) -> None:
    """Read again every living view of an array that has changed, and the views of these."""
    changed = [x]
    while changed:
        base = changed.pop()
        alive = living_views(base)
        for view in alive:
            read = view._base[1].read
            if read is None:
                raise TraceError(
                    f"Assignment to a traced {x.type}, at {describe(here())}, of which there is "
                    f"{view._base[1].reason}. Take a copy of that (.copy()), or of the array before it is reshaped."
                )
            _become(view, read(base))
        changed += alive


GENERAL["overwrite"] = overwrite
