"""Whether a function would be recorded as the same program again: all that it reads is as it was at the last call."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import AdjointError
from adjoint.jit import jit as compiled


class Snapshot(NamedTuple):
    """What a program depends on: shapes and dtypes, facts that the function reads, and the contents of arrays."""

    signature: Any
    contents: list[Any]


class Watch:
    """What a function reads beside floats among its arguments, as compiled functions see it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._reader: Any = None

    def look(self, args: Any, kwargs: Any) -> Snapshot | None:
        """What it is now, not copied; None where that cannot be said."""
        if self._reader is None:
            self._reader = compiled(self._function)
        try:
            call = self._reader.read_call(args, kwargs)
        except (AdjointError, TypeError):
            return None
        if call.is_traced or call.captures.problems:
            return None
        own = len(call.inputs)
        fixed = [v for v in call.values[:own] if not (isinstance(v, np.ndarray) and v.dtype.kind in "fc")]
        return Snapshot(call.signature, [*fixed, *call.values[own:]])


def keep(snapshot: Snapshot | None) -> Snapshot | None:
    """A copy, to be compared later."""
    return None if snapshot is None else snapshot._replace(contents=[np.array(v) for v in snapshot.contents])


def is_same(kept: Snapshot | None, now: Snapshot | None) -> bool:
    """Whether nothing has changed since; an element that is NaN has."""
    if kept is None or now is None or kept.signature != now.signature:
        return False
    return all(map(np.array_equal, kept.contents, now.contents))
