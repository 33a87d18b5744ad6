"""Contenders that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def least_times(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least processor seconds of each, in alternating rounds."""
    times = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            times[name] = min(times[name], time.process_time() - start)
    return times
