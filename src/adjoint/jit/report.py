"""`f.report()`: what was compiled of a function, why, how long it took, and what is left to NumPy and to Python."""

from __future__ import annotations

import dataclasses
import html
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.base.source import short
from adjoint.jit.pipeline import Executable, made_of
from adjoint.jit.trace import Way
from adjoint.program.program import Program
from adjoint.transform.subprograms import halves_of

__all__ = ["Report", "Specialized"]


@dataclasses.dataclass(frozen=True)
class Specialized:
    """One way through a function, compiled."""

    arguments: dict[str, str]  # name of each input and fixed argument -> its type, or its value
    why: str  # it was made
    guards: list[str]  # what it holds for: "bool is True at model.py:3, in f: if x > 0:"
    how: str  # it runs: "compiled", or why not
    equations: tuple[int, int]  # as traced, and simplified
    kernels: list[str]  # the steps of the machine code
    callbacks: list[str]  # into NumPy or Python: "sort at model.py:9"
    cached: bool | None  # whether the machine code was found on disk
    seconds: dict[str, float]  # trace, simplify, compile, first run
    calls: int


@dataclasses.dataclass(frozen=True)
class Report:
    """All specializations of a compiled function. Print it, show it in a notebook, or take `as_dict()`."""

    name: str
    specializations: list[Specialized]
    eager_calls: int  # calls that ran as plain Python
    eager_reasons: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, texts and numbers."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        n = len(self.specializations)
        yield f"{self.name}: {n} specialization{'' if n == 1 else 's'}, {self._calls()}"
        for number, one in enumerate(self.specializations, 1):
            yield ""
            yield f"{number}. " + (", ".join(f"{k}: {v}" for k, v in one.arguments.items()) or "no arguments")
            for title, text in rows(one):
                yield f"   {title:<10} {text}"

    def _calls(self) -> str:
        calls = sum(one.calls for one in self.specializations)
        text = {0: "never called", 1: "called once"}.get(calls, f"called {calls} times")
        reasons = f" ({'; '.join(self.eager_reasons)})" if self.eager_reasons else ""
        return text + (f", {self.eager_calls} as plain Python{reasons}" if self.eager_calls else "")

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=f"{self.name}: {self._calls()}", show_lines=True)
        for heading in ("arguments", "", ""):
            table.add_column(heading)
        for one in self.specializations:
            titles, texts = zip(*rows(one), strict=True)
            arguments = "\n".join(f"{k}: {v}" for k, v in one.arguments.items())
            table.add_row(arguments, "\n".join(titles), "\n".join(texts))
        return table

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self.name)}</b>: {html.escape(self._calls())}</p><table>"]
        for one in self.specializations:
            arguments = "<br>".join(html.escape(f"{k}: {v}") for k, v in one.arguments.items())
            listed = list(rows(one))
            for i, (title, text) in enumerate(listed):
                first = f'<td rowspan="{len(listed)}">{arguments}</td>' if i == 0 else ""
                parts.append(f"<tr>{first}<td>{title}</td><td>{html.escape(text)}</td></tr>")
        return "".join([*parts, "</table>"])


def rows(one: Specialized) -> Iterator[tuple[str, str]]:
    """What is said about a specialization, line by line."""
    yield "made for", one.why
    for guard in shortened(counted(one.guards)):
        yield "holds when", guard
    yield "runs", one.how + {True: ", loaded from the cache", False: " in this process", None: ""}[one.cached]
    yield "equations", f"{one.equations[0]} traced, {one.equations[1]} after simplification"
    for step in shortened(one.kernels):
        yield "kernel", step
    for call in one.callbacks:
        yield "NumPy", call
    yield "seconds", ", ".join(f"{title} {_time(s)}" for title, s in one.seconds.items())
    yield "calls", str(one.calls)


def counted(texts: Sequence[str]) -> list[str]:
    """Each text once, with how often it stands there when it is more than once."""
    return [text if n == 1 else f"{text} ({n} times)" for text, n in Counter(texts).items()]


def shortened(steps: Sequence[str], most: int = 12) -> list[str]:
    """The first steps, and how many there are besides."""
    return list(steps) if len(steps) <= most else [*steps[: most - 1], f"and {len(steps) - most + 1} more"]


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def specialized(way: Way, calls: int) -> Specialized:
    """What there is to say about one way: of the program itself, or of what transformations have made of it."""
    made = made_of(way.program)
    runs = [made] if made is not None else list(derived(way.program))
    notes = [one.kernel.notes for one in runs if one.kernel is not None]
    seconds = dict(way.seconds)
    for one in runs:
        for title, spent in one.seconds.items():
            seconds[title] = seconds.get(title, 0.0) + spent
    found = [note["cached"] for note in notes if note.get("cached") is not None]
    return Specialized(
        arguments=dict(way.arguments),
        why=way.why,
        guards=[f"{guard.label} at {guard.place}" for guard in way.expected],
        how="; ".join(dict.fromkeys(one.how for one in runs)) or "nothing has run yet",
        equations=(len(way.program.equations), sum(len(one.program.equations) for one in runs)),
        kernels=[str(step) for note in notes for step in note.get("steps", ())],
        callbacks=[f"{title} at {short(place)}" for note in notes for title, place in note.get("callbacks", ())],
        cached=all(found) if found else None,
        seconds=seconds,
        calls=calls,
    )


def derived(program: Program) -> Iterator[Executable]:
    """What runs of the programs that transformations have made of this one."""
    for found in list(program.__dict__.get("_derived", {}).values()):
        parts = found if isinstance(found, tuple) else (found,)
        for part in parts:
            halves = (part,) if isinstance(part, Program) else halves_of(part)
            for half in halves:
                made = made_of(half)
                yield from () if made is None else (made,)
                yield from derived(half)
