"""Garbage collection put off while a large structure grows.

Every collection walks over all objects that there are; while a trace makes hundreds of thousands that all stay, they
take as much time as the trace itself.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from adjoint.base.forking import free_in_child
from adjoint.base.interrupts import uninterrupted

_lock = free_in_child(threading.Lock())
_users: Counter[int] = Counter()  # by thread: how often it is inside
_was_enabled = False


@contextmanager
def loading() -> Generator[None]:
    """While files of the library are read: all that this makes stays, and is old at once.

    Otherwise the first collection afterwards would walk over all of it. Ctrl-C waits: Python would forget a file that
    was read half, and what it had declared in tables elsewhere would be declared twice.
    """
    with uninterrupted(), uncollected():
        try:
            yield
        finally:
            if hasattr(gc, "freeze") and not gc.get_freeze_count():
                gc.freeze()  # all that there is leaves the generations
                gc.unfreeze()  # and comes back into the oldest


@contextmanager
def uncollected() -> Generator[None]:
    """While inside, in any thread, nothing is collected; after the last one has left, it goes on as before."""
    global _was_enabled
    thread = threading.get_ident()
    with _lock:
        if not _users:
            _was_enabled = gc.isenabled()
            gc.disable()
        _users[thread] += 1
    try:
        yield
    finally:
        with _lock:
            _leave(thread, 1)


def _leave(thread: int, times: int) -> None:
    _users[thread] -= times
    if not _users[thread]:
        del _users[thread]
        if not _users and _was_enabled:
            gc.enable()


def _alone() -> None:
    """Only the thread that forked is there in the child."""
    for thread in [t for t in _users if t != threading.get_ident()]:
        _leave(thread, _users[thread])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
