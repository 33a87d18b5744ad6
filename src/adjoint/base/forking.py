"""Locks in a process that forks: other threads are not there in the child, what they held would be held for ever.

So is a module that another thread was importing, which no child could import again: a fork waits until it is there.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["free_in_child"]

L = TypeVar("L")
_locks: WeakSet[Any] = WeakSet()
_IMPORTED_LATE = ("adjoint", "llvmlite", "scipy")  # packages whose modules are imported when they are first needed
_PATIENCE = 10.0  # seconds; a module that forks while it is imported is one that is never there


def free_in_child(lock: L) -> L:
    """The lock itself, which a forked child will find free unless the thread that forks holds it."""
    _locks.add(lock)
    return lock


def _free() -> None:
    for lock in list(_locks):
        owned = getattr(lock, "_is_owned", None)  # a lock that is not reentrant is never held where anything forks
        if owned is None or not owned():
            lock._at_fork_reinit()  # what the standard library does with its own


def _wait_for_imports() -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and any(map(_is_importing, list(sys.modules.items()))):
        time.sleep(0.001)


def _is_importing(entry: tuple[str, Any]) -> bool:
    name, module = entry
    if name.partition(".")[0] not in _IMPORTED_LATE:
        return False
    return getattr(getattr(module, "__spec__", None), "_initializing", False)  # which importlib goes by itself


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_free)
