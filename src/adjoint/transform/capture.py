"""What a record captured must not change under it: small arrays are copied, large ones locked while the record lives."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from adjoint.program.trace import Traced
from adjoint.program.types import Value

COPY_BELOW = 1 << 16  # bytes: below this a copy costs less than the bookkeeping of a lock

_locks: dict[int, list[Any]] = {}  # id(array) -> [array, how many records hold it]
_guard = threading.Lock()


def lock(array: np.ndarray[Any, Any]) -> None:
    """Make an array read-only until as many `unlock`s have come."""
    with _guard:
        held = _locks.get(id(array))
        if held is not None:
            held[1] += 1
        else:
            _locks[id(array)] = [array, 1]
            array.flags.writeable = False


def unlock(array: np.ndarray[Any, Any]) -> None:
    """Give one lock back; the last one makes the array writeable again."""
    with _guard:
        held = _locks[id(array)]
        held[1] -= 1
        if held[1] == 0:
            del _locks[id(array)]
            array.flags.writeable = True


def any_locked() -> bool:
    """Whether some record holds a lock now (to explain NumPy's 'read-only' errors)."""
    return bool(_locks)


class Captured:
    """The arrays of the caller that one record refers to."""

    __slots__ = ("_locked", "_outlives")

    def __init__(self, outlives_call: bool) -> None:
        self._locked: dict[int, np.ndarray[Any, Any]] = {}
        self._outlives = outlives_call  # the record lives on after the call (vjp, linearize): only copies are safe then

    def hold(self, value: Value) -> Value:
        """A version of `value` that nobody else will change while the record lives."""
        if isinstance(value, np.ndarray):
            if id(value) in self._locked:
                return value
            own = value.base is None and value.flags.owndata
            if (
                self._outlives
                or not own
                or value.nbytes <= COPY_BELOW
                or (not value.flags.writeable and id(value) not in _locks)
            ):
                # a read-only array cannot be locked again: someone else may make it writeable
                return value.copy()
            lock(value)
            self._locked[id(value)] = value
            return value
        return value.snapshot() if isinstance(value, Traced) else value

    def release(self) -> None:
        """Unlock everything."""
        while self._locked:
            unlock(self._locked.popitem()[1])
