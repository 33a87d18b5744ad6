"""Garbage collection put off while a large structure grows.

Every collection walks over all objects that there are; while a trace makes hundreds of thousands that all stay, they
take as much time as the trace itself.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_users = 0
_was_enabled = False


@contextmanager
def uncollected() -> Generator[None]:
    """While inside, in any thread, nothing is collected; after the last one has left, it goes on as before."""
    global _users, _was_enabled
    with _lock:
        if _users == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _was_enabled:
                gc.enable()
