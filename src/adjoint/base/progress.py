"""How far a loop is: a bar in a terminal, a few plain lines elsewhere, nothing when switched off."""

import atexit
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TextIO, TypeVar, final

import numpy as np

from adjoint.base.config import config
from adjoint.base.source import explainers

__all__ = ["Steps", "progress", "reported"]

T = TypeVar("T")

_REDRAW_SECONDS = 0.05
_PATIENCE_SECONDS = 0.5  # work of the library that ends sooner is not shown


class Display(Protocol):
    """What shows the state of one loop."""

    def update(self, done: int, note: str) -> None:
        """Called after every item."""
        ...

    def close(self, done: int, note: str) -> None:
        """Called once, however the loop ends."""
        ...


@final
class Silence:
    """Shows nothing."""

    def update(self, done: int, note: str) -> None:
        pass

    def close(self, done: int, note: str) -> None:
        pass


@final
class Lines:
    """Plain lines: one for each tenth of the way; one for each power of ten when the length is not known."""

    open_here = threading.local()

    def __init__(self, description: str, total: int | None, stream: TextIO) -> None:
        self.description, self.total, self.stream = description or "progress", total, stream
        self.start = time.perf_counter()
        self.shown = -1
        self.next = self.due_after(0)
        self.open = self.opened()  # a loop that was left open may be closed by another thread, which collects garbage
        self.open.add(id(self))

    @classmethod
    def opened(cls) -> set[int]:
        """The loops that show lines in this thread now."""
        if not hasattr(cls.open_here, "loops"):
            cls.open_here.loops = set[int]()
        return cls.open_here.loops

    def due_after(self, done: int) -> int:
        """The count at which the next line is due."""
        if self.total is None or done >= self.total:
            return 10 ** len(str(done)) if done else 1
        tenth = 10 * done // self.total + 1
        return -(-tenth * self.total // 10)

    def update(self, done: int, note: str) -> None:
        if done >= self.next:
            self.show(done, note)
            self.next = self.due_after(done)

    def close(self, done: int, note: str) -> None:
        self.open.discard(id(self))
        if done != self.shown:
            self.show(done, note)

    def show(self, done: int, note: str) -> None:
        """Write a line."""
        self.shown = done
        count = f"{done}/{self.total} ({100 * done // self.total}%)" if self.total else f"{done}"
        parts = [f"{self.description}: {count}", f"{time.perf_counter() - self.start:.1f} s", *([note] if note else [])]
        print(", ".join(parts), file=self.stream, flush=True)


@final
class Screen:
    """The bars in the terminal: nested loops, and loops of several threads, share one display."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open = 0
        self.bars: Any = None  # rich.progress.Progress, imported when the first bar is shown

    def add(self, description: str, total: int | None, stream: TextIO) -> "Bar":
        """A new line with a bar."""
        with self.lock:
            if self.bars is None:
                self.bars = _bars(stream)
                atexit.register(self.bars.stop)  # so that the cursor comes back, whatever was left open
                self.bars.start()
            self.open += 1
            return Bar(self, self.bars, self.bars.add_task(description, total=total, note=""))

    def remove(self, task: Any) -> None:
        """One bar less: it goes while others are open, so that inner loops leave no trail; the last one stays."""
        with self.lock:
            self.open -= 1
            if self.open:
                self.bars.remove_task(task)
            else:
                bars, self.bars = self.bars, None
                atexit.unregister(bars.stop)
                bars.stop()


def _bars(stream: TextIO) -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=stream, force_terminal=True if config.progress else None),
    )


@final
class Bar:
    """One line of the screen."""

    def __init__(self, screen: Screen, bars: Any, task: Any) -> None:
        self.screen, self.bars, self.task = screen, bars, task
        self.drawn = 0.0

    def update(self, done: int, note: str) -> None:
        now = time.perf_counter()
        if now - self.drawn > _REDRAW_SECONDS:
            self.drawn = now
            self.bars.update(self.task, completed=done, note=note)

    def close(self, done: int, note: str) -> None:
        self.bars.update(self.task, completed=done, note=note)
        self.bars.stop_task(self.task)
        self.screen.remove(self.task)


_screen = Screen()


@final
class Patience:
    """Shows what lasts: nothing of what is done soon."""

    def __init__(self, show: Callable[[], Display]) -> None:
        self.show = show
        self.shown: Display = Silence()
        self.due = time.perf_counter() + _PATIENCE_SECONDS

    def update(self, done: int, note: str) -> None:
        if time.perf_counter() > self.due:
            self.due = float("inf")
            self.shown = self.show()
        self.shown.update(done, note)

    def close(self, done: int, note: str) -> None:
        self.shown.close(done, note)


def _display(description: str, total: int | None) -> Display:
    wanted = config.progress
    # Either is None in a Windows program without a console.
    streams: list[Any] = [stream for stream in (sys.stderr, sys.stdout) if stream is not None]  # pyright: ignore[reportUnnecessaryComparison]
    terminals = [stream for stream in streams if stream.isatty()]
    if wanted is False or not streams:
        return Silence()
    if terminals or wanted:
        return _screen.add(description, total, (terminals or streams)[0])
    # A few lines are good to have in a log; a few for every round of an outer loop are not.
    return Silence() if Lines.opened() else Lines(description, total, streams[0])


def _shown(value: Any) -> str:
    if type(value) is np.ndarray and np.ndim(value) == 0:
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float | complex | np.floating) else str(value)


@final
class progress(Generic[T]):  # noqa: N801 (it is used like a function)
    """Iterate over `iterable` and show how far it is.

        for step in (bar := progress(range(1000), "fit")):
            ...
            bar.note(loss=loss)

    `total` is the number of items where `iterable` has no length. In a terminal it is a bar, elsewhere a few plain
    lines; `config.progress` switches all of it off or on. `with progress.showing():` shows the progress of work inside
    the library too.
    """

    def __init__(self, iterable: Iterable[T], description: str = "", total: int | None = None) -> None:
        if not (hasattr(iterable, "__iter__") or hasattr(iterable, "__getitem__")):
            raise TypeError(
                f"progress goes over the items of something, not {type(iterable).__name__}: progress(range(n))."
            )
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        self._items = iterable
        self._description = description
        self._total = total
        self._note = ""
        self._started = False
        self._patient = False

    def __len__(self) -> int:
        if self._total is None:
            raise TypeError("progress(...) does not know how many items there are; give total=.")
        return self._total

    def __iter__(self) -> Iterator[T]:
        if self._started:
            raise RuntimeError("progress(...) is iterated over once; make a new one for a second loop.")
        self._started = True
        return self._run()

    def _run(self) -> Iterator[T]:
        display = _begun(self._description, self._total, self._patient)
        done = 0
        try:
            for item in self._items:
                yield item
                done += 1
                display.update(done, self._note)
        finally:
            # Reached after `break` and after an error in the loop, too: this generator is then closed.
            display.close(done, self._note)

    def note(self, **values: object) -> None:
        """Show values beside the bar: `bar.note(loss=0.25)`."""
        self._note = _noted(values)

    @staticmethod
    @contextmanager
    def showing() -> Generator[None]:
        """Inside, solvers and other long work of the library show how far they are, as if they were asked to."""
        with config.override(reports=True):
            yield


def _noted(values: dict[str, object]) -> str:
    return " ".join(f"{name}={_shown(value)}" for name, value in values.items())


def _begun(description: str, total: int | None, patient: bool) -> Display:
    return Patience(lambda: _display(description, total)) if patient else _display(description, total)


def reported(iterable: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
    """What work inside the library iterates over: shown when it lasts and `config.reports` is on, else as it is."""
    if not config.reports:
        return iterable
    shown = progress(iterable, description, total)
    shown._patient = True  # pyright: ignore[reportPrivateUsage]
    return shown


@final
class Steps:
    """How far something is that tells it step by step: a loop in a compiled function, a solver.

    `begin` and `end` may be called again and again; each thread has a display of its own.
    """

    def __init__(self, description: str, total: int | None = None, *, patient: bool = False) -> None:
        self._description, self._total, self._patient = description, total, patient
        self._local = threading.local()

    def begin(self) -> None:
        """A new run; one that was left by an error ends."""
        self.end()
        self._local.open = _Open(_begun(self._description, self._total, self._patient))

    def step(self) -> None:
        """One more is done."""
        opened = getattr(self._local, "open", None)
        if opened is not None:
            opened.reach(opened.done + 1, "")

    def reach(self, done: int, **values: object) -> None:
        """So many are done, with values to be shown beside the bar; begins a run if there is none."""
        if getattr(self._local, "open", None) is None:
            self.begin()
        self._local.open.reach(done, _noted(values))

    def end(self) -> None:
        """The bar stays as it is."""
        opened: _Open | None = getattr(self._local, "open", None)
        self._local.open = None
        if opened is not None:
            opened.close()


_steps_here = threading.local()  # the runs of steps that are open in this thread


class _Open:
    """A display that is closed at last when nobody refers to it."""

    def __init__(self, display: Display) -> None:
        self.display, self.done, self.note, self.closed = display, 0, "", False
        _opened_here().add(self)

    def reach(self, done: int, note: str) -> None:
        self.done, self.note = done, note
        if not self.closed:
            self.display.update(done, note)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.display.close(self.done, self.note)

    __del__ = close


def _opened_here() -> "weakref.WeakSet[_Open]":
    if not hasattr(_steps_here, "open"):
        _steps_here.open = weakref.WeakSet[_Open]()
    return _steps_here.open


def _left_by(error: Exception) -> None:
    """An error is on its way to the user: compiled loops that it has left cannot close their bars themselves."""
    for one in list(getattr(_steps_here, "open", ())):
        one.close()


explainers.append(_left_by)
