"""Arrays that a loop which is traced once writes to in place: `y += x`, where y has other names.

Before the loop and in it other variables, containers and views may be the same array; they see what is written.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import numpy as np

from adjoint.base.source import is_library
from adjoint.conversion.carrying import Carried, Slot
from adjoint.conversion.joining import NoBlock
from adjoint.conversion.regions import Region
from adjoint.conversion.sharing import is_array
from adjoint.numpy.inplace import Owners, roots
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

TWO_NAMES = "an array has two names before it, and is written to"


class Before(Carried):
    """The array that a variable held before a loop: an iteration writes to it and then assigns another one.

    `y += x; y = 2 * y` writes to what y was before in the first iteration alone; other names of it see that.
    """

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.array: Any = None  # what the variable holds at the beginning of an iteration
        super().__init__("an array", (slot.first, np.True_))

    def inside(self, inputs: Iterator[Value]) -> Any:
        self.array = self.slot.entered()
        self.content, self.is_first = super().inside(inputs)

    def last(self) -> tuple[Value, Value]:
        """What it is at the end of an iteration."""
        array, self.array = self.array, None
        return np.where(self.is_first, array, self.content), np.False_


def keep_arrays(slots: Sequence[Slot], region: Region, befores: list[Before]) -> bool:
    """Whether an iteration is found to write to arrays that variables were before the loop; then it is traced again.

    A variable that stays the same array is no carry any longer, its array is: `y += x`. One that is another array at
    the end of every iteration gets a `Before`. So all names of the first array see what is written.
    """
    known = [one.slot for one in befores]
    written = [s for s in slots if s.variable in region.overwritten and is_array(s.first)]
    new = [s for s in written if not any(s is k for k in known)]
    level = max(
        (v._trace.level for v in (*region.read(), *[s.first for s in slots]) if isinstance(v, Tracer)), default=0
    )
    for slot in new:
        if isinstance(slot.first, Tracer) and slot.first._trace.level < level and not _has_other_names(slot.first):
            continue  # an array of an outer transformation cannot hold what is written, and nobody would see it
        if slot.entered() is slot.left:
            slot.kind = None
        elif not _may_still_be(slot.left, slot.entered):
            befores.append(Before(slot))
        elif _has_other_names(slot.first):  # until which iteration it is written to is not known
            raise NoBlock(TWO_NAMES)
    read = {id(root) for value in region.read() for root in roots(value)}
    if any(id(root) in read for slot in written if slot.kind is not None for root in roots(slot.first)):
        raise NoBlock(TWO_NAMES)
    return any(s.kind is None for s in new) or len(befores) > len(known)


def are_written(values: Sequence[Value], slots: Sequence[Slot], arrays: Sequence[Value], region: Region) -> bool:
    """Whether iterations write to one of these values of an iteration: to `arrays`, and to what slots hold."""
    written = [*arrays]
    for slot in slots:
        if slot.variable in region.overwritten:
            written += [v for v in (slot.entered(), slot.left) if is_array(v)]
    known = {id(root) for array in written for root in roots(array)}
    return any(is_array(v) and not known.isdisjoint(map(id, roots(v))) for v in values)


def _may_still_be(z: Value, array: weakref.ref[Any]) -> bool:
    """Whether z may be an array, or a view of it, on some paths; the array may be gone."""
    while (base := getattr(z, "_base", None)) is not None:
        if base[1].read is None:
            owners = base[0].references if isinstance(base[0], Owners) else [base[0]]
            return any(one is array or one() is None for one in owners)
        z = base[0]
    return z is array()


def _has_other_names(array: Value) -> bool:
    """Whether functions that are running know an array, or one that shares its memory, by two names."""
    own = {id(root) for root in roots(array)}
    names: set[str] = set()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED and not is_library(frame.f_code.co_filename):
            held = frame.f_locals
            for name, value in held.items():
                if any(is_array(one) and not own.isdisjoint(map(id, roots(one))) for one in (value, *_items(value))):
                    names.add(name)
            if sys.version_info < (3, 13):
                held.clear()  # a copy, which would hold the arrays as long as the function runs
        frame = frame.f_back
    return len(names) > 1


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    return [*(value if isinstance(value, dict) else getattr(value, "__dict__", {})).values()]
