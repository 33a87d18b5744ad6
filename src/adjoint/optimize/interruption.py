"""Ctrl-C in the middle of a search: the exception has the best point so far as `.optimum`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.optimize.iteration import Ending
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.setting import Setting

__all__ = ["keep_best"]


@contextmanager
def keep_best(
    title: str, setting: Setting, problem: Any, known: Any, read: Callable[[Ending], Ending] = lambda ending: ending
) -> Iterator[None]:
    """A search within: what it had found when the keyboard ended it becomes an answer."""
    try:
        yield
    except KeyboardInterrupt as error:
        ending = getattr(error, "ending", None)
        if ending is not None and not hasattr(error, "optimum"):
            x, reports = setting.reported(read(ending), dict(problem.counts), known)
            history, count = reports["history"], int(reports["iterations"])
            if history is not None:
                history = {name: entries[: count + 1] for name, entries in history.items()}
            error.optimum = Optimum(  # type: ignore[attr-defined]
                setting.parts.merge(x, known[0]), reports["fun"], reports["grad"], reports["code"], count,
                reports["evaluations"], reports["residual"], problem.tol, None, reports["active"], history,
                reports["state"], None, title,
            )  # fmt: skip
        raise
