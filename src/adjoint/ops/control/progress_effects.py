"""Loops that tell how far they are: an effect at the end of every turn, which runs wherever the turn runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.base.progress import Steps
from adjoint.ops.effects import Arguments, Callback

__all__ = ["act", "told"]

R = TypeVar("R")


def act(function: Callable[[], object]) -> None:
    """Call a function when the program runs: now, where none is recorded."""
    arguments, _ = Arguments.of((), {})
    Callback(function, arguments)()


def told(
    progress: bool | str, total: int | None, body: Callable[..., Any], run: Callable[[Callable[..., Any]], R]
) -> R:
    """`run(body)`, where each turn of the body is told; `progress` is what to call the loop, or True."""
    if not isinstance(progress, bool | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"progress must be a text that names the loop, True or False; got {type(progress).__name__}.")
    steps = Steps("loop" if progress is True else str(progress), total)

    @functools.wraps(body)
    def turn(*args: Any) -> Any:
        result = body(*args)
        act(steps.step)
        return result

    act(steps.begin)
    try:
        result = run(turn)
    except BaseException:
        steps.end()
        raise
    act(steps.end)
    return result
