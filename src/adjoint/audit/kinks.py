"""`ad.kinks(f)(*args)`: which primitives sit where they are not smooth, and which derivative was taken there.

A derivative that automatic differentiation gives at such a point is a choice: an element of the set of generalized
derivatives of that primitive. The choices need not fit together to one for the whole function.
"""

# pyright: basic
from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed
from adjoint.audit.distances import beside, non_smooth
from adjoint.audit.walk import record_at, walk
from adjoint.base.source import describe, user_facing
from adjoint.ops.arrays.reduce import Extremum
from adjoint.ops.control.guards import Mismatch
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program
from adjoint.program.rule_table import RuleTable

__all__ = ["Kink", "Kinks", "kinks"]

TOLERANCE = 1e-12
MOST_TRIED = 64  # so many jumps are looked at from both sides
MOST_SHOWN = 20  # so many rows are printed
# (primitive, arguments, results, element) → the partials of that element which derivatives use.
USED: RuleTable[Callable[[Any, Sequence[Any], Sequence[Any], tuple[int, ...]], tuple[float, ...]]] = RuleTable("kinks")


@dataclass(frozen=True)
class Kink:
    """One element of one primitive at, or near, a point where it is not smooth.

    ```python
    ad.kinks(np.abs)(0.0)[0].primitive  # → 'absolute'
    ```
    """

    primitive: str
    kind: str  # "kink", "jump" or "singular"
    line: str
    element: tuple[int, ...]  # of the result
    distance: float  # of the arguments from the point
    used: tuple[float, ...]  # the partials that derivatives take here, one for each argument
    hull: str  # what they could be


@dataclass(frozen=True)
class Kinks:
    """All of them, and how far the nearest other one is. Print it, show it with rich or in a notebook.

    ```python
    ad.kinks(np.abs)(0.5).margin  # → 0.5
    ```
    """

    name: str
    kinks: tuple[Kink, ...]
    margin: float  # the least distance of all elements that were not found: inf when nothing else has a kink

    def __len__(self) -> int:
        return len(self.kinks)

    def __iter__(self) -> Iterator[Kink]:
        return iter(self.kinks)

    def __getitem__(self, number: int) -> Kink:
        return self.kinks[number]

    @property
    def verdict(self) -> str:
        """The worst of what was found: "singular", "jump", "kink", or "smooth"."""
        kinds = {one.kind for one in self.kinks}
        return next((kind for kind in ("singular", "jump", "kink") if kind in kinds), "smooth")

    def _title(self) -> str:
        nearest = f"; the nearest other is {self.margin:.2g} away" if np.isfinite(self.margin) else ""
        many = len(self.kinks)
        return f"{self.name}: {many or 'no'} element{'' if many == 1 else 's'} where it is not smooth{nearest}"

    def _table(self) -> Iterator[tuple[str, ...]]:
        yield "primitive", "kind", "element", "distance", "derivative used", "could be", "line"
        for one in self.kinks[:MOST_SHOWN]:
            used = ", ".join(f"{u:g}" for u in one.used)
            yield one.primitive, one.kind, str(list(one.element)), f"{one.distance:.2g}", used, one.hull, one.line
        if len(self.kinks) > MOST_SHOWN:
            yield f"… and {len(self.kinks) - MOST_SHOWN} more", *[""] * 6

    def __str__(self) -> str:
        table = list(self._table()) if self.kinks else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([self._title(), *lines])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        heading, *rows = self._table()
        table = Table(*heading, title=self._title())
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def _repr_html_(self) -> str:
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._table())
        return f"<p>{html.escape(self._title())}</p><table>{rows}</table>"


@user_facing
def kinks(function: Function, *, tolerance: float = TOLERANCE) -> Transformed:
    """Where a function is not smooth: `kinks(f)(*args, **kwargs)` returns Kinks.

    The function is run on the arguments, into the branches taken and every iteration of its loops. An element is a kink
    when its distance from the point is at most `tolerance`. A condition at equality, or a step, is a "jump"; but a
    "kink" if the function comes out the same on both sides of it (which is not known for Python's own `if`).

    ```python
    found = ad.kinks(lambda x: np.sum(np.abs(x)))(np.array([0.0, 2.0]))
    [kink.element for kink in found]  # → [(0,)]
    ```
    """
    return Transformed(_kinks, function, _KinkOptions(tolerance))


@dataclass(frozen=True)
class _KinkOptions(Options):
    """The options of `kinks`."""

    tolerance: float


def _kinks(function: Callable[..., Any], options: _KinkOptions, args: Any, kwargs: Any) -> Kinks:
    kinks_found: list[Kink] = []
    jumps: list[tuple[int, int, tuple[int, ...]]] = []  # (number in found, number of the primitive that ran, element)
    margin = [np.inf]
    runs = itertools.count()

    def visit(eq: Equation, xs: Sequence[Any], zs: Sequence[Any]) -> None:
        run = next(runs)
        rule = non_smooth(eq.op, xs, zs)
        if rule is None:
            return
        what, distance = rule
        near = distance <= options.tolerance
        margin.append(np.min(distance[~near & ~np.isnan(distance)], initial=np.inf))
        for position in np.argwhere(near):
            element = tuple(int(i) for i in position)
            if what.kind == "jump":
                jumps.append((len(kinks_found), run, element))
            used = USED[eq.op](eq.op, xs, zs, element)
            line = describe(eq.location)
            kinks_found.append(Kink(eq.op.title, what.kind, line, element, float(distance[element]), used, what.hull))

    program, values = record_at("kinks", function, args, kwargs)
    results = walk(program, values, visit)
    for number, run, element in jumps[:MOST_TRIED]:
        if _meets(program, values, results, run, element):
            kinks_found[number] = replace(kinks_found[number], kind="kink", hull="a jump inside, but its sides meet")
    return Kinks(getattr(function, "__name__", "function"), tuple(kinks_found), float(min(margin)))


def _meets(program: Program, values: Sequence[Any], results: Sequence[Any], run: int, element: tuple[int, ...]) -> bool:
    """Whether the results of the program stay as they are when one primitive that ran takes the sides of its jump."""
    number, sides = 0, 1
    while number < sides:
        runs = itertools.count()

        def visit(eq: Equation, xs: Sequence[Any], zs: Sequence[Any], number: int = number) -> Sequence[Any] | None:
            nonlocal sides
            if next(runs) != run:  # noqa: B023 (used at once)
                return None
            others = beside(eq.op, xs, zs, element)
            sides = len(others)
            return [others[number]] if others else None

        try:
            changed = walk(program, values, visit)
        except Mismatch:  # Python's own condition, of which only one side was seen
            return False
        pairs = zip(changed, results, strict=True)
        if not sides or not all(np.shape(a) == np.shape(b) and np.allclose(a, b, 1e-6, 1e-6, True) for a, b in pairs):
            return False
        number += 1
    return True


@USED.rule(Op)
def _zero(op: Op, xs: Sequence[Any], zs: Sequence[Any], element: tuple[int, ...]) -> tuple[float, ...]:
    return (0.0,)


@USED.rule(Extremum)
def _shares(op: Extremum, xs: Sequence[Any], zs: Sequence[Any], element: tuple[int, ...]) -> tuple[float, ...]:
    weights = op.weights(np.asarray(xs[0]), np.asarray(zs[0]))
    rest = [a for a in range(np.ndim(xs[0])) if a not in op.axes]
    line = np.transpose(weights, [*rest, *op.axes])[element]
    return tuple(float(w) for w in np.ravel(line) if w)


@USED.rule(Ufunc)
def _factors(op: Ufunc, xs: Sequence[Any], zs: Sequence[Any], element: tuple[int, ...]) -> tuple[float, ...]:
    if op.flat or (op.kinks is not None and op.kinks.steps == "zero"):
        return (0.0,)
    partials: list[float] = []
    with np.errstate(all="ignore"):
        for i in range(op.arity):
            d = op.factor(i, [np.asarray(x) for x in xs], np.asarray(zs[0]))
            d = 1.0 if d is None else d
            partials.append(float(np.real(np.broadcast_to(d, np.shape(zs[0]))[element])))
    return tuple(partials)
