"""`ad.cost(f)(*args)`: the operations and the memory traffic of a function and of its gradient, line by line.

Value and gradient of a rational function together take at most five times the operations of the value alone, however
many inputs there are (Baur and Strassen). A product x y takes one for itself and two for its cotangents z̄ y and z̄ x; a
quotient z = x / y one, and three for z̄ / y and z̄ (-z / y). Sums of cotangents are made where a value is read again, at
most one for each operation: every operation reads two values, and makes one that is read. Here it can be
counted, for any function.
"""

# pyright: basic
from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed, vjp
from adjoint.audit.flops import operations, reciprocals
from adjoint.audit.walk import record_at, walk
from adjoint.base.origins import Origin, at
from adjoint.base.source import describe, user_facing
from adjoint.program.program import Equation, Program
from adjoint.program.trace import Tracer
from adjoint.program.types import is_differentiable
from adjoint.transform.nonfinite import located

__all__ = ["Cost", "Count", "Tally", "cost", "count"]


@dataclass
class Count:
    """Operations, calls of elementary functions, bytes read and written, and how often it was applied."""

    flops: int = 0
    calls: int = 0
    bytes: int = 0
    times: int = 0

    def __iadd__(self, other: Count) -> Count:
        self.flops += other.flops
        self.calls += other.calls
        self.bytes += other.bytes
        self.times += other.times
        return self


@dataclass
class Tally(Count):
    """The count of a whole program, by primitive and by line; `unmodeled` names primitives whose flops are unknown."""

    by_primitive: dict[str, Count] = field(default_factory=dict)
    by_line: dict[str, Count] = field(default_factory=dict)
    unmodeled: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Cost:
    """What a function costs, and with its gradient. Print it, show it with rich or in a notebook.

    ```python
    counted = ad.cost(lambda x: np.exp(x), weights={"exp": 10})(1.0)
    counted.value.flops  # → 10
    ```
    """

    name: str
    value: Tally
    gradient: Tally  # value and gradient together

    @property
    def ratio(self) -> float:
        """flops of value and gradient / flops of the value."""
        ours = self.gradient.flops + self.gradient.calls
        theirs = self.value.flops + self.value.calls
        return ours / theirs if theirs else float("nan")

    def rows(self, by: str = "line") -> Iterator[tuple[str, Count, Count]]:
        """(line or primitive, count of the value, count of value and gradient), the dearest first."""
        value, gradient = (getattr(tally, f"by_{by}") for tally in (self.value, self.gradient))
        weight = lambda name: -(gradient.get(name, Count()).flops + gradient.get(name, Count()).calls)
        for name in sorted({**value, **gradient}, key=weight):
            yield name, value.get(name, Count()), gradient.get(name, Count())

    def _title(self) -> str:
        if self.ratio != self.ratio:
            return f"{self.name}: the value takes no operations"
        return f"{self.name}: the gradient takes {self.ratio:.2f} times the operations of the value"

    def _table(self) -> tuple[list[tuple[str, str]], list[tuple[str, ...]]]:
        """(group and heading of each column of numbers, the rows); without columns and rows of zeros alone."""
        rows = [("in all", self.value, self.gradient), *self.rows("line"), *self.rows("primitive")]
        kept = [k for k in range(len(_HEADINGS)) if any(_numbers(*counts)[k] for _, *counts in rows)]
        listed = [
            (name, *(f"{numbers[k]:,}" for k in kept))
            for name, *counts in rows
            if any(numbers := _numbers(*counts)) or name == "in all"
        ]
        return [_HEADINGS[k] for k in kept], listed

    def _notes(self) -> str:
        unknown = sorted(self.value.unmodeled | self.gradient.unmodeled)
        return f"not counted, for want of a model: {', '.join(unknown)}" if unknown else ""

    def __str__(self) -> str:
        headings, rows = self._table()
        widths = [max(len(heading), *(len(row[k]) for row in rows)) for k, (_, heading) in enumerate(headings, 1)]
        for group in dict(headings):  # a name that is longer than its columns gets a wider first one
            columns = [k for k, (name, _) in enumerate(headings) if name == group]
            widths[columns[0]] += max(len(group) - sum(widths[k] + 2 for k in columns) + 2, 0)
        first = min(max(len(row[0]) for row in rows), max(_WIDTH - sum(widths) - 2 * len(widths), 24))
        lines = [self._groups(headings, first, widths)]
        for name, *cells in [("", *(heading for _, heading in headings)), *rows]:
            name = name if len(name) <= first else f"{name[: first - 1]}…"
            lines.append(name.ljust(first) + "".join(f"  {c:>{w}}" for c, w in zip(cells, widths, strict=True)))
        return "\n".join([self._title(), *lines, *([self._notes()] if self._notes() else [])])

    @staticmethod
    def _groups(headings: list[tuple[str, str]], first: int, widths: list[int]) -> str:
        """The line above the headings: each group's name at the right end of its columns."""
        text = " " * first
        for k, ((group, _), width) in enumerate(zip(headings, widths, strict=True)):
            last = k + 1 == len(headings) or headings[k + 1][0] != group
            text += "  " + " " * width
            text = text[: len(text) - len(group)] + group if last else text
        return text

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self._title(), caption=self._notes() or None)
        headings, (total, *rest) = self._table()
        table.add_column("", overflow="ellipsis", no_wrap=True)
        for group, heading in headings:
            table.add_column(f"{group}\n{heading}", justify="right")
        table.add_row(*total, end_section=True)
        lines = sum(any(_numbers(*counts)) for _, *counts in self.rows("line"))
        for number, row in enumerate(rest, 1):
            table.add_row(Text(row[0]), *row[1:], end_section=number == lines)
        return table

    def _repr_html_(self) -> str:
        headings, rows = self._table()
        table = [("", *(f"{group}: {heading}" for group, heading in headings)), *rows]
        cells = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in table)
        return f"<p>{html.escape(self._title())}</p><table>{cells}</table><p>{html.escape(self._notes())}</p>"


_HEADINGS = [(group, heading) for group in ("value", "value and gradient") for heading in ("flops", "calls", "bytes")]
_WIDTH = 80


def _numbers(*counts: Count) -> tuple[int, ...]:
    return tuple(number for count in counts for number in (count.flops, count.calls, count.bytes))


@user_facing
def cost(
    function: Function, argnums: int | Sequence[int] | None = None, *, weights: Mapping[str, int] | None = None
) -> Transformed:
    """What a function and its gradient cost: `cost(f)(*args, **kwargs)` returns a Cost.

    The function is run on the arguments: of a branch the side taken is counted, of a loop every iteration. `value`
    counts f, `gradient` counts f and one pull of ones, in the arguments `argnums` (None: all of floating point).
    `weights` are flops per element of a primitive's result that replace those of the table: {"divide": 4, "exp": 10}.

    ```python
    counted = ad.cost(lambda x: np.sum(x * x))(np.ones(10))
    counted.value.flops, counted.gradient.flops  # → (19, 49)
    ```
    """
    return Transformed(_cost, function, _CostOptions(argnums, dict(weights or {})))


@dataclass(frozen=True)
class _CostOptions(Options):
    """The options of `cost`."""

    argnums: Any
    weights: dict[str, int]


def _cost(function: Callable[..., Any], options: _CostOptions, args: Any, kwargs: Any) -> Cost:
    argnums = options.argnums
    if argnums is None:
        argnums = [i for i, a in enumerate(args) if tree.leaves(a) and all(map(is_differentiable, tree.leaves(a)))]
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    if not positions:
        raise TypeError("cost: none of the arguments is of floating point, so there is no gradient; pass floats.")

    def of_some(*some: Any) -> Any:
        full = list(args)
        for position, value in zip(positions, some, strict=True):
            full[position] = value
        return function(*full, **kwargs)

    def with_gradient(*some: Any) -> Any:
        with located():
            value, pull = vjp(of_some, *some)
            with at(Origin("sums of cotangents", ())):
                return value, pull(tree.map(np.ones_like, value))

    if any(isinstance(leaf, Tracer) for leaf in tree.leaves((args, kwargs))):
        record_at("cost", function, args, kwargs)  # says why not
    some = [args[position] for position in positions]
    tallies = [count(*record_at("cost", f, some, {}), options.weights) for f in (of_some, with_gradient)]
    return Cost(getattr(function, "__name__", "function"), *tallies)


def count(program: Program, args: Sequence[Any], weights: Mapping[str, int] = MappingProxyType({})) -> Tally:
    """The count of a program on given values."""
    tally = Tally()
    parts = {id(eq) for eq in reciprocals(program)}  # of a division that is counted where its other part stands

    def visit(eq: Equation, xs: Sequence[Any], zs: Sequence[Any]) -> None:
        counts = (0, 0) if id(eq) in parts else operations(eq.op, xs, zs, weights)
        if counts is None:
            tally.unmodeled.add(eq.op.title)
        flops, calls = counts or (0, 0)
        moved = 0 if eq.op.is_view else sum(np.asarray(v).nbytes for v in (*xs, *zs))
        one = Count(flops, calls, moved, 1)
        tally.__iadd__(one)
        for table, key in ((tally.by_primitive, eq.op.title), (tally.by_line, describe(eq.location))):
            table.setdefault(key, Count()).__iadd__(one)

    walk(program, args, visit)
    return tally
