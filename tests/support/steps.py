"""How much work something is, counted: what a busy machine cannot disturb."""

import sys
from collections.abc import Callable
from typing import Any


def steps(run: Callable[[], Any]) -> int:
    """The number of function calls, of Python's and of built-in functions, while `run` runs."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
