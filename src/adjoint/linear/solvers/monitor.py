"""Who is told of every iteration: the caller's function, a bar that shows how far a solver is, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from adjoint.base.config import config
from adjoint.base.progress import Steps
from adjoint.program.trace import live_trace

__all__ = ["Monitor"]


@final
class Monitor:
    """Called with (iterations so far, residual); `end` when the solver has ended."""

    def __init__(self, callback: Callable[[Any, Any], object] | None, title: str, steps: Steps | None) -> None:
        self._callback, self._steps = callback, steps
        self.__name__ = f"the progress of {title}" if callback is None else getattr(callback, "__name__", title)

    @staticmethod
    def of(callback: Callable[[Any, Any], object] | None, shown: bool, title: str, total: int) -> Monitor | None:
        """None when nobody wants to know. The total is how many iterations there may be: no one knows how many."""
        steps = Steps(title, total, patient=not shown) if shown or _reports() else None
        return None if callback is None and steps is None else Monitor(callback, title, steps)

    def __call__(self, done: Any, residual: Any) -> None:
        if self._steps is not None:
            self._steps.reach(int(done), residual=float(residual))
        if self._callback is not None:
            self._callback(done, residual)

    def end(self) -> None:
        """The bar stays as it is."""
        if self._steps is not None:
            self._steps.end()


def _reports() -> bool:
    """Whether solvers show what they do without being asked; not in programs, which run when nobody may look."""
    if not config.reports:
        return False
    trace = live_trace()
    while trace is not None and not trace.records:
        trace = trace.outer
    return trace is None
