"""Programs whose memory is predicted and measured, and the arrays that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {}  # by name: a function, and its argument


def program(x: Any, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function of x to the programs."""

    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[name or f.__name__] = (f, x)
        return f

    return add


R = np.random.default_rng(0)
N = 60_000
X = np.linspace(0.1, 1, N)
XL = np.linspace(0.1, 1, 2_000_000)
BIG = np.linspace(0.1, 1, 5_000_000)
SMALL = np.linspace(0.1, 1, 20)
