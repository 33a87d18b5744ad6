"""`f.report()`: what was compiled of a function, why, how long it took, and what is left to NumPy and to Python."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.base.records import record
from adjoint.base.source import short
from adjoint.jit.executable import COMPILED, Executable, known_executable
from adjoint.jit.trace import GuardedProgram
from adjoint.program.program import Program
from adjoint.transform.subprograms import halves_of

__all__ = ["Report", "SpecializationReport"]


@record
class SpecializationReport:
    """One path through a function, compiled."""

    arguments: dict[str, str]  # name of each input and fixed argument -> its type, or its value
    why: str  # it was traced
    guards: list[str]  # what it holds for: "bool is True at model.py:3, in f: if x > 0:"
    remarks: list[str]  # loops and branches that could not be kept, and why
    how: str  # it runs: "compiled", or why not
    equations: tuple[int, int]  # as traced, and simplified
    kernels: list[str]  # the steps of the machine code
    callbacks: list[str]  # into NumPy or Python: "logm at model.py:9"
    looped: list[str]  # of these, what every iteration of a loop calls
    threads: list[str]  # what several threads work on, and what they cannot and why
    giant: int  # lines of LLVM's text without a branch, if they are so many that a cheaper tier compiles them; else 0
    cached: bool | None  # whether the machine code was found on disk
    seconds: dict[str, float]  # trace, simplify, compile, first run
    calls: int


@record
class Report:
    """All specializations of a compiled function. Print it, show it in a notebook, or take `as_dict()`."""

    name: str
    specializations: list[SpecializationReport]
    eager_calls: int  # calls that ran as plain Python
    eager_reasons: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
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
        import html

        parts = [f"<p><b>{html.escape(self.name)}</b>: {html.escape(self._calls())}</p><table>"]
        for one in self.specializations:
            arguments = "<br>".join(html.escape(f"{k}: {v}") for k, v in one.arguments.items())
            listed = list(rows(one))
            for i, (title, text) in enumerate(listed):
                first = f'<td rowspan="{len(listed)}">{arguments}</td>' if i == 0 else ""
                parts.append(f"<tr>{first}<td>{title}</td><td>{html.escape(text)}</td></tr>")
        return "".join([*parts, "</table>"])


def rows(one: SpecializationReport) -> Iterator[tuple[str, str]]:
    """What is said about a specialization, line by line."""
    yield "made for", one.why
    for guard in shorten(count_repeats(one.guards)):
        yield "holds when", guard
    for remark in shorten(one.remarks):
        yield "note", remark
    yield "runs", one.how + {True: ", loaded from the cache", False: " in this process", None: ""}[one.cached]
    yield "equations", f"{one.equations[0]} traced, {one.equations[1]} after simplification"
    for step in shorten(one.kernels):
        yield "kernel", step
    if one.giant:
        yield (
            "tier",
            f"quick: {one.giant} lines without a branch; compiled in a tenth of the time, runs a little slower",
        )
        yield "tier", "steps that are alike are shorter as a loop: ad.scan, ad.fori_loop"
    for part in shorten(count_repeats(one.threads)):
        yield "threads", part
    if not one.threads and one.how.startswith(COMPILED):
        yield "threads", "one: no part takes more than 50 µs or can be cut"
    for call in shorten(count_repeats(one.callbacks)):
        yield "NumPy", call
    for call in shorten(count_repeats(one.looped)):
        yield "warning", f"{call} stands in a loop: every iteration calls Python, 10 µs or more"
    yield "seconds", ", ".join(f"{title} {_time(s)}" for title, s in one.seconds.items())
    yield "calls", str(one.calls)


def count_repeats(lines: Sequence[str]) -> list[str]:
    """Each line once, with how often it occurs when it is more than once."""
    return [line if n == 1 else f"{line} ({n} times)" for line, n in Counter(lines).items()]


def shorten(steps: Sequence[str], most: int = 12) -> list[str]:
    """The first steps, and how many there are besides."""
    return list(steps) if len(steps) <= most else [*steps[: most - 1], f"and {len(steps) - most + 1} more"]


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def report_specialization(guarded: GuardedProgram, calls: int) -> SpecializationReport:
    """What there is to say about a guarded program: of itself, or of what transformations have derived from it."""
    executable = known_executable(guarded.program)
    runs = [executable] if executable is not None else list(derived_executables(guarded.program))
    notes = [one.kernel.notes for one in runs if one.kernel is not None]
    seconds = dict(guarded.seconds)
    for one in runs:
        for title, spent in one.seconds.items():
            seconds[title] = seconds.get(title, 0.0) + spent
    cached = [note["cached"] for note in notes if note.get("cached") is not None]
    return SpecializationReport(
        arguments=dict(guarded.arguments),
        why=guarded.why,
        remarks=list(guarded.remarks),
        guards=[f"{guard.label} at {guard.where}" for guard in guarded.guards],
        how="; ".join(dict.fromkeys(one.how for one in runs)) or "nothing has run yet",
        equations=(len(guarded.program.equations), sum(len(one.program.equations) for one in runs)),
        kernels=[str(step) for note in notes for step in note.get("steps", ())],
        callbacks=_called(notes, "callbacks"),
        looped=_called(notes, "looped"),
        threads=[part for note in notes for part in note.get("threads", ())],
        giant=max((note.get("giant", 0) for note in notes), default=0),
        cached=all(cached) if cached else None,
        seconds=seconds,
        calls=calls,
    )


def _called(notes: Sequence[dict[str, Any]], key: str) -> list[str]:
    return [f"{title} at {short(location)}" for note in notes for title, location in note.get(key, ())]


def derived_executables(program: Program) -> Iterator[Executable]:
    """What runs of the programs that transformations have derived from this one."""
    for derived in list(program.__dict__.get("_derived", {}).values()):
        for part in derived if isinstance(derived, tuple) else (derived,):
            for half in (part,) if isinstance(part, Program) else halves_of(part):
                executable = known_executable(half)
                yield from () if executable is None else (executable,)
                yield from derived_executables(half)


def report_calls(
    name: str, programs: Sequence[tuple[GuardedProgram, int]], eager: int, reasons: Sequence[str]
) -> Report:
    """The report of a function, from its guarded programs and how often each was called."""
    return Report(name, [report_specialization(one, calls) for one, calls in programs], eager, list(reasons))
