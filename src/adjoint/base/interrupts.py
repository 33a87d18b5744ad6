"""Ctrl-C that waits: what was interrupted half way could not be begun again."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import signal as signals
else:
    try:
        import _signal as signals  # `signal` without its classes of names, which take a millisecond to make
    except ImportError:  # another Python
        import signal as signals

__all__ = ["uninterrupted"]


@contextmanager
def uninterrupted() -> Generator[None]:
    """While inside, Ctrl-C is noted; it takes effect at the end. Python asks for signals in the main thread alone."""
    handler: Any = signals.getsignal(signals.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[Any, ...]] = []

    def note(*args: Any) -> None:
        came.append(args)

    signals.signal(signals.SIGINT, note)
    try:
        yield
    finally:
        signals.signal(signals.SIGINT, handler)
        if came:
            handler(*came[-1])
