"""Loops that report progress: an effect at the end of every iteration, which runs wherever the iteration runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.base.progress import Steps
from adjoint.ops.effects import Arguments, Callback

__all__ = ["act", "report_progress"]

R = TypeVar("R")


def act(function: Callable[[], object]) -> None:
    """Call a function when the program runs: now, where none is recorded."""
    arguments, _ = Arguments.of((), {})
    Callback(function, arguments)()


def report_progress(
    progress: bool | str, total: int | None, body: Callable[..., Any], run: Callable[[Callable[..., Any]], R]
) -> R:
    """`run(body)`, where each iteration of the body is reported; `progress` is the name of the loop, or True."""
    if not isinstance(progress, bool | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"progress must be a string that names the loop, True or False; got {type(progress).__name__}.")
    steps = Steps("loop" if progress is True else str(progress), total)

    @functools.wraps(body)
    def report_iteration(*args: Any) -> Any:
        result = body(*args)
        act(steps.step)
        return result

    act(steps.begin)
    try:
        result = run(report_iteration)
    except BaseException:
        steps.end()
        raise
    act(steps.end)
    return result
