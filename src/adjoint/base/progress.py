"""The progress of loops: rich's bars in a terminal, a few plain lines elsewhere, nothing when switched off."""

import atexit
import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TextIO, TypeVar, final
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.base.config import config
from adjoint.base.forking import free_in_child
from adjoint.base.source import explainers

__all__ = ["Steps", "progress", "reported"]

T = TypeVar("T")

_REDRAW_SECONDS = 0.05
_PATIENCE_SECONDS = 0.5  # work of the library that ends sooner is not shown


class _Thread(threading.local):
    """What is open in a thread: loops that print lines, and the runs of `Steps`."""

    def __init__(self) -> None:
        self.lines: set[_Lines] = set()
        self.runs: WeakKeyDictionary[Steps, _Run] = WeakKeyDictionary()


_thread = _Thread()


@final
class _Lines:
    """Plain lines: one for each tenth of the total; one for each power of ten when it is not known."""

    def __init__(self, description: str, total: int | None, stream: TextIO) -> None:
        self.description, self.total, self.stream = description or "progress", total, stream
        self.start, self.shown, self.mark = time.perf_counter(), -1, 0
        self.open = _thread.lines  # a loop that was left open may be closed by another thread, which collects garbage
        self.open.add(self)

    def update(self, done: int, note: str) -> None:
        within = self.total is not None and done <= self.total
        mark = 10 * done // self.total if within and self.total else 10 * bool(self.total) + len(str(done))
        if mark != self.mark:
            self.mark = mark
            self.show(done, note)

    def close(self, done: int, note: str) -> None:
        self.open.discard(self)
        if done != self.shown:
            self.show(done, note)

    def show(self, done: int, note: str) -> None:
        self.shown = done
        count = f"{done}/{self.total} ({100 * done // self.total}%)" if self.total else f"{done}"
        parts = [f"{self.description}: {count}", f"{time.perf_counter() - self.start:.1f} s", *([note] if note else [])]
        print(", ".join(parts), file=self.stream, flush=True)


@final
class _Bar:
    """A task of rich's; nested loops, and loops of several threads, share one display."""

    lock = free_in_child(threading.RLock())  # reentrant: garbage that is collected meanwhile may close a bar
    bars: ClassVar[Any] = None  # rich.progress.Progress while a bar is open

    def __init__(self, description: str, total: int | None, stream: TextIO) -> None:
        with self.lock:
            if _Bar.bars is None:
                _Bar.bars = _new_bars(stream)
                _Bar.bars.start()
            self.task, self.drawn = _Bar.bars.add_task(description, total=total, note=""), 0.0

    def update(self, done: int, note: str) -> None:
        if time.perf_counter() - self.drawn > _REDRAW_SECONDS:
            self.drawn = time.perf_counter()
            _Bar.bars.update(self.task, completed=done, note=note)

    def close(self, done: int, note: str) -> None:
        """The bar goes while others are open, so that inner loops leave no trail; the last one stays."""
        with self.lock:
            _Bar.bars.update(self.task, completed=done, note=note)
            if len(_Bar.bars.tasks) > 1:
                _Bar.bars.remove_task(self.task)
            else:
                _stop_bars()


def _stop_bars() -> None:
    if _Bar.bars is not None:
        bars, _Bar.bars = _Bar.bars, None
        bars.stop()


atexit.register(_stop_bars)  # so that the cursor comes back, whatever was left open


def _new_bars(stream: TextIO) -> Any:
    from rich import progress as rich
    from rich.console import Console

    return rich.Progress(
        rich.TextColumn("{task.description}", markup=False), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(), rich.TimeRemainingColumn(), rich.TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=stream, force_terminal=True if config.progress else None),
    )  # fmt: skip


@final
class _Run:
    """One loop that is shown, or not; a patient one is shown when it lasts. Closed when nobody refers to it."""

    def __init__(self, description: str, total: int | None, patient: bool = False) -> None:
        self.description, self.total, self.done, self.note = description, total, 0, ""
        self.due = time.perf_counter() + _PATIENCE_SECONDS if patient else None  # None: opened already, or closed
        self.display = None if patient else self.open()

    def open(self) -> _Bar | _Lines | None:
        streams = [stream for stream in (sys.stderr, sys.stdout) if stream]  # None in Windows without a console
        terminals = [stream for stream in streams if stream.isatty()]
        if config.progress is False or not streams:
            return None
        if terminals or config.progress:
            return _Bar(self.description, self.total, (terminals or streams)[0])
        # A few lines are good to have in a log; a few for every iteration of an outer loop are not.
        return None if _thread.lines else _Lines(self.description, self.total, streams[0])

    def reach(self, done: int, note: str) -> None:
        self.done, self.note = done, note
        if self.due is not None and time.perf_counter() > self.due:
            self.due, self.display = None, self.open()
        if self.display is not None:
            self.display.update(done, note)

    def close(self) -> None:
        display, self.display, self.due = self.display, None, None
        if display is not None:
            display.close(self.done, self.note)

    __del__ = close


def _noted(values: dict[str, object]) -> str:
    return " ".join(f"{name}={_shown(value)}" for name, value in values.items())


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

    ```python
    sum(ad.progress(range(3), "sum"))  # → 3
    ```
    """

    def __init__(self, iterable: Iterable[T], description: str = "", total: int | None = None) -> None:
        if not (hasattr(iterable, "__iter__") or hasattr(iterable, "__getitem__")):
            raise TypeError(
                f"progress goes over the items of something, not {type(iterable).__name__}: progress(range(n))."
            )
        self._total = len(iterable) if total is None and isinstance(iterable, Sized) else total
        self._items, self._description, self._note = iterable, description, ""
        self._started = self._patient = False

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
        run = _Run(self._description, self._total, self._patient)
        try:
            for done, item in enumerate(self._items, 1):
                yield item
                run.reach(done, self._note)
        finally:  # reached after `break` and after an error in the loop, too: this generator is then closed
            run.note = self._note
            run.close()

    def note(self, **values: object) -> None:
        """Show values beside the bar: `bar.note(loss=0.25)`."""
        self._note = _noted(values)

    @staticmethod
    @contextmanager
    def showing() -> Generator[None]:
        """Inside, solvers and other long work of the library show how far they are, as if they were asked to."""
        with config.override(reports=True):
            yield


def reported(iterable: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
    """What work inside the library iterates over: shown when it lasts and `config.reports` is on, else as it is."""
    if not config.reports:
        return iterable
    shown = progress(iterable, description, total)
    shown._patient = True  # pyright: ignore[reportPrivateUsage]
    return shown


@final
class Steps:
    """The progress of something that reports it step by step: a loop in a compiled function, a solver.

    `begin` and `end` may be called again and again; each thread has a run of its own.
    """

    def __init__(self, description: str, total: int | None = None, *, patient: bool = False) -> None:
        self._arguments = description, total, patient

    def begin(self) -> None:
        """A new run; one that was left by an error ends."""
        self.end()
        _thread.runs[self] = _Run(*self._arguments)

    def step(self) -> None:
        """One more is done."""
        if (run := _thread.runs.get(self)) is not None:
            run.reach(run.done + 1, "")

    def reach(self, done: int, **values: object) -> None:
        """So many are done, with values to be shown beside the bar; begins a run if there is none."""
        if self not in _thread.runs:
            self.begin()
        _thread.runs[self].reach(done, _noted(values))

    def end(self) -> None:
        """The bar stays as it is."""
        if (run := _thread.runs.pop(self, None)) is not None:
            run.close()


def _close_left(error: Exception) -> None:
    """An error is on its way to the user: compiled loops that it has left cannot close their bars themselves."""
    for run in list(_thread.runs.values()):
        run.close()


explainers.append(_close_left)
