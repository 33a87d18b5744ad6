"""Locks in a process that forks: other threads are not there in the child, what they held would be held for ever."""

from __future__ import annotations

import os
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["free_in_child"]

L = TypeVar("L")
_locks: WeakSet[Any] = WeakSet()


def free_in_child(lock: L) -> L:
    """The lock itself, which a forked child will find free unless the thread that forks holds it."""
    _locks.add(lock)
    return lock


def _free() -> None:
    for lock in list(_locks):
        owned = getattr(lock, "_is_owned", None)  # a lock that is not reentrant is never held where anything forks
        if owned is None or not owned():
            lock._at_fork_reinit()  # what the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
