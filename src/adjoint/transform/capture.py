"""What a record captured must not change under it: small arrays are copied, large ones locked while it lives."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from adjoint.base.errors import CaptureError
from adjoint.base.forking import free_in_child
from adjoint.program.journal import content
from adjoint.program.record import is_constant
from adjoint.program.trace import Trace, Tracer
from adjoint.program.types import Value

COPY_BELOW = 1 << 25  # bytes: up to this a copy costs less than the two checksums that a lock needs

_locks: dict[int, list[Any]] = {}  # id(array) -> [array, how many records hold it]
_guard = free_in_child(threading.Lock())


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
    """Whether some record holds a lock now."""
    return bool(_locks)


def explain_lock(problem: ValueError, title: str) -> None:
    """Say why an array is read-only, when a record has locked it."""
    if _locks and "read-only" in str(problem):
        raise CaptureError(
            f"{problem}, while {title} runs: it was given this array, or has read it, and will read it again in the "
            "backward pass, so writing to it would change the derivative. Write to a copy: w = w.copy()."
        ) from problem


def must_be_copied(value: np.ndarray[Any, Any]) -> bool:
    """Whether a record has a copy of an array rather than lock it: it is small, or others may write to it all the same.

    A read-only array cannot be locked again: someone else may make it writeable.
    """
    own = value.base is None and value.flags.owndata
    return not own or value.nbytes <= COPY_BELOW or (not value.flags.writeable and id(value) not in _locks)


# As Any: a test against it leaves the value Any, where the class would make it an array of unknown elements.
_ARRAY: Any = np.ndarray


class Captured:
    """The arrays of the caller that one record refers to."""

    __slots__ = ("_locked", "_outer", "_outlives")

    def __init__(self, outlives_call: bool, outer: Trace | None) -> None:
        self._locked: dict[int, tuple[np.ndarray[Any, Any], bytes]] = {}  # with a checksum of the elements
        self._outer = outer  # the trace around the record
        self._outlives = outlives_call  # the record lives on after the call (vjp, linearize): only copies are safe then

    def hold(self, value: Value) -> Value:
        """A version of `value` that nobody else will change while the record lives."""
        if isinstance(value, _ARRAY):
            if id(value) in self._locked or is_constant(value):
                return value
            if self._outlives or must_be_copied(value):
                return value.copy(order="K")  # as it lies: whether x.ravel() is a view depends on it
            lock(value)
            self._locked[id(value)] = (value, _checksum(value))
            return value
        return content(value, self._outer).held() if isinstance(value, Tracer) else value

    def release(self) -> None:
        """Unlock everything."""
        while self._locked:
            unlock(self._locked.popitem()[1][0])

    def verify(self) -> None:
        """Raise if a locked array was changed all the same: views made before the lock can still write."""
        for array, checksum in self._locked.values():
            if _checksum(array) != checksum:
                raise CaptureError(
                    f"An array of shape {array.shape} that the function had used was written to, through an older "
                    "view of it, before the derivative was complete. Write to a copy instead."
                )


# Odd weights, fixed: a change of one element changes the sum of its row, since an odd number times it is not 0 mod 2⁶⁴.
_ROW = 1024
_WEIGHTS = (np.arange(_ROW, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)


def _checksum(array: np.ndarray[Any, Any]) -> bytes:
    """A weighted sum of each 8 kB of an array, and the rest as it is: any change of one element shows."""
    data = array.reshape(-1, order="A").view(np.uint8)
    whole = data.size - data.size % (8 * _ROW)
    rows = data[:whole].view(np.uint64).reshape(-1, _ROW)
    return np.einsum("ij,j->i", rows, _WEIGHTS).tobytes() + data[whole:].tobytes()
