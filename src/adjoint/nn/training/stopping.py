"""How a run ends before its time: patience with validation data, and signals that wait for the end of a step."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Interruption", "Patience"]


class Patience(NamedTuple):
    """The best value so far, at which step, and how many epochs were not better since."""

    value: Any
    step: Any
    waited: Any

    @classmethod
    def start(cls) -> Patience:
        """Nothing was seen yet."""
        return cls(np.float64(np.inf), np.int64(-1), np.int64(0))

    def see(self, value: float, step: int) -> tuple[Patience, bool]:
        """After one more value; and whether it is the best."""
        if value < float(self.value):
            return Patience(np.float64(value), np.int64(step), np.int64(0)), True
        return self._replace(waited=self.waited + 1), False


class Interruption:
    """While it is open, Ctrl-C and SIGTERM raise a flag; a second one acts as always. In the main thread alone."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.getsignal(number)
                signal.signal(number, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(number, self._before.get(number) or signal.SIG_DFL)

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
