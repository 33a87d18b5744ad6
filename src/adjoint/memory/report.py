"""`memory_report`: how much memory value and gradient of a function will take, line by line, before they run."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Sequence
from typing import Any

from adjoint import tree
from adjoint.api.gradients import value_and_grad
from adjoint.base.errors import ControlFlowError, TraceError
from adjoint.base.source import describe, user_facing
from adjoint.jit import jit
from adjoint.jit.function import Jitted
from adjoint.jit.pipeline import build_executable
from adjoint.memory.counted_tape import CountedTape
from adjoint.memory.ledger import COMPILED, OBJECTS, Answers, Ledger, Line
from adjoint.memory.sizes import address
from adjoint.memory.workspace import callbacks
from adjoint.program.layout import is_sized
from adjoint.program.trace import Tracer, running
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import Argnums, Selection, check_argnums, select
from adjoint.transform.drivers import scalar_output
from adjoint.transform.reverse import SMALL_RECORD, sweep, sweep_small
from adjoint.transform.tape import SMALL, TapeTracer

OWN = {OBJECTS: "objects of Python", COMPILED: "workspace of compiled functions"}


@dataclasses.dataclass(frozen=True)
class Part:
    """What one line holds when the peak is reached."""

    line: str
    phase: str  # "forward": computed there and kept; "backward": cotangents that are pulled through it
    nbytes: int


@dataclasses.dataclass(frozen=True)
class MemoryReport:
    """The predicted memory of a value and gradient, in bytes beyond the arguments. Print it, or look at its parts.

    ```python
    report = ad.memory_report(lambda x: np.sum(np.sin(x)))(np.ones(100_000))
    report.parts[0].phase  # → 'forward'
    ```
    """

    name: str
    peak: int
    forward: int  # when the value is there and the backward pass begins
    results: int  # value and gradients
    parts: tuple[Part, ...]  # at the peak, the largest first
    notes: tuple[str, ...] = ()
    compiled: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def _summary(self) -> str:
        when = f", {format_bytes(self.forward)} when the backward pass begins" if not self.compiled else ""
        return f"{self.name}: {format_bytes(self.peak)} at most{when}; results {format_bytes(self.results)}"

    def __str__(self) -> str:
        lines = [self._summary()]
        for part in self.parts:
            share = 100 * part.nbytes / max(self.peak, 1)
            lines.append(f"  {format_bytes(part.nbytes):>10} {share:5.1f} %  {part.phase:<8}  {part.line}")
        return "\n".join([*lines, *[f"  note: {note}" for note in self.notes]])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=self._summary(), caption="\n".join(self.notes) or None)
        table.add_column("memory", justify="right")
        table.add_column("share", justify="right")
        table.add_column("")
        table.add_column("line")
        for part in self.parts:
            table.add_row(
                format_bytes(part.nbytes), f"{100 * part.nbytes / max(self.peak, 1):.1f} %", part.phase, part.line
            )
        return table

    def _repr_html_(self) -> str:
        rows = [
            f"<tr><td>{format_bytes(p.nbytes)}</td><td>{100 * p.nbytes / max(self.peak, 1):.1f} %</td>"
            f"<td>{p.phase}</td><td><code>{html.escape(p.line)}</code></td></tr>"
            for p in self.parts
        ]
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(self._summary())}</p><table>{''.join(rows)}</table>{notes}"


def format_bytes(nbytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1000
    return f"{nbytes:.1f} GB"


@user_facing
def memory_report(function: Callable[..., tree.Tree], argnums: Argnums = 0) -> Callable[..., MemoryReport]:
    """What `value_and_grad(function, argnums)` will take, from types: `memory_report(f)(x)`.

    The function runs on types alone, forwards and backwards, and every array that would be allocated is counted until
    nobody refers to it. Where Python branches or while loops depend on values, the function runs forwards once on the
    arguments to know its path; the report says so. Of a compiled function (`jit(f)`) it is the
    workspace of the machine code of its value and gradient, which is compiled but not run.

    ```python
    report = ad.memory_report(lambda x: np.sum(np.sin(x) ** 2))(np.ones(100_000))
    report.peak > 2 * 800_000  # → True
    ```
    """
    if not callable(function):
        raise TypeError(
            f"memory_report needs a function, not a {type(function).__name__}. Write memory_report(f)(x), not "
            "memory_report(f(x))."
        )
    check_argnums(argnums, "memory_report")

    @user_facing
    def report(*args: tree.Tree, **kwargs: tree.Tree) -> MemoryReport:
        name = getattr(function, "__name__", "function")
        if any(isinstance(leaf, Tracer) for leaf in tree.leaves((args, kwargs))):
            raise TraceError(
                "memory_report counts what a function takes by itself, not inside jit, vmap or a derivative. Call it "
                "outside, on the whole: memory_report(jit(f))(x), memory_report(vmap(f))(xs)."
            )
        if isinstance(function, Jitted):
            return _report_compiled(name, function, argnums, args, kwargs)
        return _Run(select(function, argnums, args, kwargs, "memory_report")).report(name)

    return report


class _Run:
    """A function and its arguments, of which those to be differentiated are leaves."""

    def __init__(self, chosen: Selection) -> None:
        self.chosen, self.values = chosen, chosen.values
        self.types = [ArrayType(t.shape, t.dtype) for t in map(type_of, self.values)]

    def call(self, active: Sequence[Value]) -> Any:
        return self.chosen.call(self.chosen.completed(active))

    def report(self, name: str) -> MemoryReport:
        try:
            ledger = Ledger()
            forward, results = self.count(ledger)
            needs_values = bool(ledger.open_sizes)
        except ControlFlowError:
            needs_values, forward, results, ledger = True, 0, 0, Ledger()
        notes: tuple[str, ...] = ()
        if needs_values:
            ledger = Ledger(self.run_forwards())
            forward, results = self.count(ledger)
            notes = (
                "The function ran forwards once on these arguments: branches or loops in it depend on values. Other "
                "values may take more or less.",
            )
        return MemoryReport(name, ledger.peak, forward, results, parts_of(ledger.at_peak), notes)

    def run_forwards(self) -> Answers:
        """The function on its values."""
        with running(Answers()) as answers:
            self.call([answers.input(t, v) for t, v in zip(self.types, self.values, strict=True)])
        return answers

    def count(self, ledger: Ledger) -> tuple[int, int]:
        """Run forwards and backwards on types: (memory between the two, of the results)."""
        with running(ledger):
            inputs = [ledger.input(t, v) for t, v in zip(self.types, self.values, strict=True)]
            with running(CountedTape(ledger)) as tape:
                small = all(t.nbytes <= SMALL for t in self.types)
                tracers = [tape.input(x) for x in inputs]  # they live until the gradient is there
                y = scalar_output(self.call(tracers), False, "memory_report")
                entries, forward = tape.entries, ledger.now
                if isinstance(y, TapeTracer) and y._trace is tape and y._index >= 0:
                    seed, at = ledger.own(ArrayType((), y.dtype)), y._index
                    with tape.reading_back(), tape.reading():
                        if small and len(entries) <= SMALL_RECORD:
                            gradients = sweep_small(entries, {at: seed})
                        else:
                            tape.entries = []
                            gradients = sweep(entries, len(inputs), {at: seed}, consume=True)
                    ledger.settle()
                    ledger.hand_out(gradients)
                    del gradients
        return forward, sum(t.nbytes for t in self.types) + 8


def parts_of(lines: dict[Line, int]) -> tuple[Part, ...]:
    """What lines hold, the largest first."""
    totals: dict[tuple[str, str], int] = {}
    for (location, pulled), nbytes in lines.items():
        if nbytes > 0:
            text = OWN.get((location, pulled)) or describe(location)
            phase = "forward" if pulled is None or location is None else "backward"
            totals[text, phase] = totals.get((text, phase), 0) + nbytes
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    return tuple(Part(line, phase, nbytes) for (line, phase), nbytes in ordered)


def _report_compiled(name: str, function: Jitted, argnums: Argnums, args: Any, kwargs: Any) -> MemoryReport:
    """The workspace and results of the machine code of value and gradient."""
    whole = jit(value_and_grad(function.function, argnums))
    call = whole.read_call(args, kwargs)
    guarded = whole.trace_call(call)
    compiled = build_executable(guarded.program)
    results = sum(t.nbytes for t in guarded.program.output_types)
    if compiled.kernel is None:
        return MemoryReport(name, 0, 0, results, (), (f"It is {compiled.how}: its memory is not known.",), True)
    kernel = compiled.kernel
    held = (*guarded.program.constants.values(), *compiled.program.constants.values(), *kernel.constants)
    constants = sum({address(c): c.nbytes for c in held}.values())
    parts = (
        Part("workspace of the machine code", "", kernel.workspace),
        Part("results", "", results),
        Part("constants", "", constants),
        Part("calls of NumPy", "", calls := callbacks(compiled)),
    )
    notes: list[str] = []
    if guarded.guards:
        notes.append("Branches depend on values: what they ask was evaluated with these arguments.")
    if not all(is_sized(v.type) for eq in compiled.program.equations for v in eq.outputs):
        notes.append("A while loop keeps what the backward pass reads of every iteration: that comes on top.")
    total = kernel.workspace + results + constants + calls
    return MemoryReport(name, total, 0, results, tuple(p for p in parts if p.nbytes), tuple(notes), True)
