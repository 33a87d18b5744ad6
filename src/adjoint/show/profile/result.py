"""The profile of a function: a table by line of user code, and what can be made of it."""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.base.source import Location, describe, line
from adjoint.jit.report import shorten
from adjoint.memory.report import format_bytes
from adjoint.show.profile.compiled import CompiledProfile
from adjoint.show.profile.export import chrome_trace, speedscope, write_json
from adjoint.show.profile.nesting import Nest, format_time, nested
from adjoint.show.profile.timing import Site, Timing

__all__ = ["Profile", "ProfileLine", "lines_of"]

ESTIMATE = "~ estimates: the time of the machine code as a whole is measured, and shared out by predicted cost"
MOST_ROWS = 40


@dataclasses.dataclass(frozen=True)
class ProfileLine:
    """What one line of user code took. Seconds are those of its primitives, without Python and the record."""

    line: str  # "model.py:12, in loss: y = A @ x"
    file: str
    number: int
    forward: float = 0.0
    backward: float = 0.0
    calls: int = 0  # of primitives, forwards and backwards
    bytes: int = 0  # read and written
    flops: int = 0
    saved: int = 0  # bytes that reverse mode keeps for it
    compiled_forward: float | None = None  # estimates
    compiled_backward: float | None = None

    @property
    def seconds(self) -> float:
        """Forwards and backwards together."""
        return self.forward + self.backward


@dataclasses.dataclass(frozen=True)
class Profile:
    """Where the time of a function and of its gradient goes.

    Print it, show it with rich or in a notebook; `nested()` follows the calls, `speedscope` and `chrome_trace` write
    files for viewers.
    """

    name: str
    lines: tuple[ProfileLine, ...]  # the dearest first
    gradient: bool  # whether there is a backward pass
    value_seconds: float  # one call of the function, as it is
    seconds: float  # one call of its value_and_grad; without a gradient the same as value_seconds
    saved: int  # bytes kept for the backward pass
    runs: int  # of which the quickest counts
    compiled: CompiledProfile | None = None
    notes: tuple[str, ...] = ()
    timing: Timing = dataclasses.field(repr=False, compare=False, kw_only=True)

    @property
    def forward(self) -> float:
        """Seconds in primitives, forwards."""
        return sum(one.forward for one in self.lines)

    @property
    def backward(self) -> float:
        """Seconds in primitives, backwards."""
        return sum(one.backward for one in self.lines)

    @property
    def kernels(self) -> float:
        """Seconds in primitives, forwards and backwards."""
        return self.forward + self.backward

    @property
    def overhead(self) -> float:
        """Seconds of the whole that are not spent in primitives: Python, NumPy on constants, the record.

        What a whole run of the primitives takes is subtracted, which other work on the machine interrupts as it
        interrupts the whole; so this and `kernels` may be less than the whole.
        """
        return max(self.seconds - max(self.timing.whole_run, self.kernels), 0.0)

    def nested(self, by: str = "calls") -> Nest:
        """The times of primitives as user functions call each other, or (by="scope") as scopes enclose them."""
        return nested(self.name, self.timing.sites, by)

    def by_primitive(self) -> dict[str, tuple[float, float, int]]:
        """(seconds forwards, seconds backwards, calls) of each primitive, the dearest first."""
        totals: dict[str, tuple[float, float, int]] = {}
        for site in self.timing.sites:
            f, b, n = totals.get(site.name, (0.0, 0.0, 0))
            spent = (f, b + site.seconds) if site.backward else (f + site.seconds, b)
            totals[site.name] = (*spent, n + site.calls)
        ordered = sorted(totals.items(), key=lambda item: -(item[1][0] + item[1][1]))
        return {name: row for name, row in ordered if row[2]}

    def as_dict(self) -> dict[str, Any]:
        """The profile as plain dicts, lists, strings and numbers."""
        data: dict[str, Any] = {
            "name": self.name,
            "gradient": self.gradient,
            "value_seconds": self.value_seconds,
            "seconds": self.seconds,
            "forward": self.forward,
            "backward": self.backward,
            "overhead": self.overhead,
            "saved": self.saved,
            "runs": self.runs,
            "notes": list(self.notes),
            "lines": [dataclasses.asdict(one) for one in self.lines],
            "primitives": {
                name: {"forward": f, "backward": b, "calls": n} for name, (f, b, n) in self.by_primitive().items()
            },
            "nested": self.nested().as_dict(),
        }
        if self.compiled is not None:
            fields = ("value_seconds", "seconds", "first_call", "how", "measured")
            data["compiled"] = {name: getattr(self.compiled, name) for name in fields}
            data["compiled"] |= {"steps": list(self.compiled.steps), "callbacks": list(self.compiled.callbacks)}
        return data

    def speedscope(self, path: str | os.PathLike[str]) -> None:
        """Write a file for speedscope (www.speedscope.app, or `npx speedscope`)."""
        estimates = () if self.compiled is None else self.compiled.sites
        write_json(path, speedscope(self.name, self.timing, self.overhead, estimates))

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file for chrome://tracing and ui.perfetto.dev: primitives end to end, in the order they ran."""
        write_json(path, chrome_trace(self.name, self.timing, self.overhead))

    def _titles(self) -> Iterator[str]:
        what = f"value {format_time(self.value_seconds)}"
        what += f", value and gradient {format_time(self.seconds)}" if self.gradient else ""
        yield f"{self.name}: {what} (the quickest of several calls)"
        back = f", backward {format_time(self.backward)}" if self._goes_back() else ""
        whole = self.seconds or 1.0
        rest = "Python and the record" if self.gradient else "Python"
        yield (
            f"  in primitives {format_time(self.kernels)} ({100 * min(self.kernels / whole, 1.0):.0f} %): forward "
            f"{format_time(self.forward)}{back}; {rest} {format_time(self.overhead)} "
            f"({100 * self.overhead / whole:.0f} %)"
        )
        if self.compiled is not None:
            one = self.compiled
            both = f", value and gradient {format_time(one.seconds)}" if self.gradient else ""
            yield f"  compiled: value {format_time(one.value_seconds)}{both}; first call {format_time(one.first_call)}"
            steps = f"  machine code: {'; '.join(shorten(one.steps, 6))}"
            yield from [steps] if one.steps else []
            yield from [f"  calls of NumPy: {'; '.join(shorten(one.callbacks, 6))}"] if one.callbacks else []

    def _headings(self) -> list[str]:
        back = ["backward"] if self._goes_back() else []
        saved = ["saved"] if self.gradient else []
        own = (["~compiled forward", "~compiled backward"] if back else ["~compiled"]) if self._estimated() else []
        return ["forward", *back, "share", "calls", "flops", "bytes", *saved, *own, "line"]

    def _goes_back(self) -> bool:
        """Whether there is a backward pass: that of the gradient, or of one that the function takes itself."""
        return self.gradient or any(site.backward for site in self.timing.sites)

    def _estimated(self) -> bool:
        return self.compiled is not None and bool(self.compiled.sites)

    def _rows(self, most: int | None = None) -> Iterator[list[str]]:
        whole = self.kernels or 1.0
        for one in self.lines[:most]:
            row = [format_time(one.forward)]
            row += [format_time(one.backward)] if self._goes_back() else []
            row += [f"{100 * one.seconds / whole:.1f} %", str(one.calls), f"{one.flops:,}", format_bytes(one.bytes)]
            row += [format_bytes(one.saved)] if self.gradient else []
            if self._estimated():
                row += [f"~{format_time(one.compiled_forward or 0.0)}"]
                row += [f"~{format_time(one.compiled_backward or 0.0)}"] if self._goes_back() else []
            yield [*row, one.line]

    def _notes(self) -> list[str]:
        notes = list(self.notes)
        if self._estimated():
            notes.append(ESTIMATE)
        return notes

    def __str__(self) -> str:
        rows = [self._headings(), *self._rows(MOST_ROWS)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  " + "  ".join([*[f"{c:>{w}}" for c, w in zip(row[:-1], widths[:-1], strict=True)], row[-1]])
            for row in rows
        ]
        left = len(self.lines) - MOST_ROWS
        more = [f"  and {left} more lines, in .lines"] if left > 0 else []
        return "\n".join([*self._titles(), *table, *more, *[f"  note: {note}" for note in self._notes()]])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title="\n".join(self._titles()), caption="\n".join(self._notes()) or None, title_justify="left")
        headings = self._headings()
        for heading in headings:
            table.add_column(heading, justify="left" if heading == "line" else "right")
        for row in self._rows(MOST_ROWS):
            table.add_row(*row[:-1], Text(row[-1]))
        return table

    def _repr_html_(self) -> str:
        titles = "<br>".join(html.escape(title) for title in self._titles())
        heading = "".join(f"<th>{html.escape(text)}</th>" for text in self._headings())
        rows = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:right'>{html.escape(cell)}</td>" for cell in row[:-1])
            + "<td style='text-align:left'><code>"
            f"{html.escape(row[-1])}</code></td></tr>"
            for row in self._rows(MOST_ROWS)
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        return f"<p>{titles}</p><table><tr>{heading}</tr>{rows}</table>{notes}{self.nested().flame()}"


def lines_of(
    sites: Iterable[Site], saved: dict[Location | str | None, int], compiled: Iterable[Site] | None
) -> tuple[ProfileLine, ...]:
    """Sites added up by line, the dearest first."""
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}

    def row(location: Location | str | None) -> dict[str, Any]:
        if not isinstance(location, Location):
            return rows.setdefault((describe(location), "", 0), {})
        return rows.setdefault((describe(location), location.code.co_filename, line(location)), {})

    def add(to: dict[str, Any], **amounts: float) -> None:
        for name, amount in amounts.items():
            to[name] = to.get(name, 0) + amount

    for site in sites:
        if site.calls:
            part = row(site.location)
            add(part, calls=site.calls, bytes=site.nbytes, flops=site.flops)
            add(part, **{"backward" if site.backward else "forward": site.seconds})
    for location, nbytes in saved.items():
        add(row(location), saved=nbytes)
    for site in compiled or ():
        add(row(site.location), **{"compiled_backward" if site.backward else "compiled_forward": site.seconds})
    lines = [ProfileLine(*key, **amounts) for key, amounts in rows.items() if any(amounts.values())]
    return tuple(sorted(lines, key=lambda one: (-one.seconds, -one.saved, one.file, one.number)))
