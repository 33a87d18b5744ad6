"""Who is told of every iteration: the caller's function, a bar that shows how far a solver is, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from adjoint.base.progress import Progress, progress

__all__ = ["Teller"]


@final
class Teller:
    """Called with (iterations so far, residual); `end` when the solver has ended."""

    def __init__(self, callback: Callable[[Any, Any], object] | None, title: str, total: int | None) -> None:
        self._callback, self._title, self._total = callback, title, total
        self._bar: Progress[int] | None = None
        self._turns: Any = None
        self._done = 0
        self.__name__ = f"the progress of {title}" if callback is None else getattr(callback, "__name__", title)

    @staticmethod
    def of(callback: Callable[[Any, Any], object] | None, shown: bool, title: str, total: int) -> Teller | None:
        """None when nobody wants to know. The total is how many iterations there may be: no one knows how many."""
        return None if callback is None and not shown else Teller(callback, title, total if shown else None)

    def __call__(self, done: Any, residual: Any) -> None:
        if self._total is not None:
            if self._bar is None:
                self._bar = progress(range(self._total + 1), self._title)
                self._turns, self._done = iter(self._bar), 0
                next(self._turns)
            self._bar.note(residual=float(residual))
            while self._done < min(int(done), self._total):
                next(self._turns)
                self._done += 1
        if self._callback is not None:
            self._callback(done, residual)

    def end(self) -> None:
        """The bar stays as it is."""
        if self._turns is not None:
            self._turns.close()
        self._bar = self._turns = None
