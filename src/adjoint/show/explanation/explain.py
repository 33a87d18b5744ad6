"""`ad.explain(f)(*args)`: what a function and its derivative did, step by step, to be looked at."""

# pyright: basic
from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed
from adjoint.audit.kinks import Kinks, kinks
from adjoint.base.garbage import uncollected
from adjoint.base.source import user_facing
from adjoint.program.types import type_of
from adjoint.show.drawing.graph import graph_data
from adjoint.show.drawing.picture import draw_graph
from adjoint.show.explanation import derivatives
from adjoint.show.explanation.export import Written
from adjoint.show.explanation.latex import derivation
from adjoint.show.explanation.lines import columns, lay_out_lines, natural_width
from adjoint.show.explanation.model import ExplanationModel, Variable
from adjoint.show.explanation.nonfinite import NonFinite, origins
from adjoint.show.explanation.notation import write_subscript
from adjoint.show.explanation.programs import Programs
from adjoint.show.explanation.recording import Recorded, recorded
from adjoint.show.explanation.summaries import summary
from adjoint.show.explanation.table import Row, divide_rows, headings, rows, shown
from adjoint.show.explanation.unroll import MOST_EVENTS, unroll
from adjoint.show.profile.driver import profile
from adjoint.show.profile.result import Profile
from adjoint.transform.arguments import Argnums, argument_key

__all__ = ["MODES", "Explanation", "explain"]

MODES = ("reverse", "forward", "second")
PRINTED = 60  # rows of a table that is printed
MOST_CONSTANTS = 12  # arrays that are named below it
COST_SECONDS = 0.05  # for each measurement of a cost table


@dataclass(frozen=True)
class _ExplainOptions(Options):
    """The options of `explain`."""

    mode: str
    argnums: Any
    detail: str
    seed: Any
    direction: Any
    most: int


class Explanation(Written):
    """What a function did for its arguments. Print it, show it in a notebook, or write a page.

    ```python
    page = ad.explain(np.sin)(1.0).html()
    "<html" in page  # → True
    ```
    """

    def __init__(self, model: ExplanationModel, run: Recorded, options: _ExplainOptions) -> None:
        self.model, self.mode = model, options.mode
        self._run, self._options = run, options

    @property
    def name(self) -> str:
        """The function's."""
        return self.model.name

    @property
    def programs(self) -> Programs:
        """What is computed: recorded, simplified, with derivative, as kernels and as LLVM's text."""
        return Programs(self._run, self.model, self.mode, self._options.seed, self._options.direction)

    @cached_property
    def kinks(self) -> Kinks:
        """Which operations sit where they are not smooth, and which derivative was taken there."""
        with np.errstate(all="ignore"):
            return kinks(self._run.again(guarded=True))(*self._run.values)

    @cached_property
    def cost(self) -> Profile:
        """Operations, bytes, time forwards and backwards, memory kept for the backward pass: by line of user code.

        What is timed are the operations as they were recorded: the function itself does not run again.
        """
        moving = tuple(i for i, v in enumerate(self.model.inputs) if v.is_active)
        with np.errstate(all="ignore"):
            return profile(self._run.again(), moving, compiled=False, seconds=COST_SECONDS)(*self._run.values)

    @cached_property
    def nonfinite(self) -> list[NonFinite]:
        """Where every NaN and every infinity came from."""
        return origins(self.model)

    def table(self, *, digits: int = 7) -> list[Row]:
        """The trace table, row by row."""
        return list(rows(self.model, self.mode, shown(self.model), digits=digits))

    def latex(self, *, digits: int = 5) -> str:
        """The chain rule step by step, in LaTeX: `align*` environments of amsmath."""
        return derivation(self.model, self.mode, digits)

    def __str__(self) -> str:
        variables = shown(self.model)
        left_out, half = len(variables) - PRINTED, PRINTED // 2
        lines = list(self._lines(variables if left_out <= 0 else variables[:half]))
        if left_out > 0:
            lines += [["", f"… {left_out} more rows …"], *self._lines(variables[-half:])]
        text: list[str] = []
        for sheet in self._sheets(lines, limit := columns()):
            text += ["", *lay_out_lines(sheet, limit)]
        return "\n".join([self._title(), *text, *self._below(lines)])

    def _below(self, lines: Sequence[Sequence[str]]) -> list[str]:
        """What stands under a table: the arrays that it speaks of, and the notes."""
        spoken = set(re.findall("c[₀-₉]+", " ".join(" ".join(line) for line in lines)))
        held = [v for v in self.model.constants if write_subscript(v.name) in spoken]
        constants = [f"{write_subscript(v.name)} = {summary(v.value)}" for v in held[:MOST_CONSTANTS]]
        constants += ["…"] if len(held) > MOST_CONSTANTS else []
        return [*([f"where {', '.join(constants)}"] if constants else []), *[f"note: {n}" for n in self.notes]]

    def _lines(self, variables: Sequence[Variable]) -> Iterator[list[str]]:
        return divide_rows(rows(self.model, self.mode, variables), self.mode)

    @property
    def notes(self) -> list[str]:
        """What a reader should know: the direction of tangents, loops that are too long, branches that were taken."""
        questions = list(dict.fromkeys(self.model.questions))
        asked = [f"Python asked on its way: {q}" for q in questions[:6]]
        more = len(questions) - 6
        bad = [f"not finite: {one}" for one in self.nonfinite[:6]]
        return [*bad, *self.model.notes, *asked, *([f"and {more} more questions"] if more > 0 else [])]

    @cached_property
    def graph(self) -> dict[str, Any]:
        """The computation graph as plain data: variables, groups and positions (see adjoint.show.drawing.graph)."""
        with uncollected():
            return graph_data(self.model, self.mode)

    def svg(self, path: str | os.PathLike[str] | None = None, *, opened: bool | Collection[int] | None = None) -> str:
        """The computation graph as a picture; with `path` it is written there too.

        `opened` says which groups are shown with what is in them: all (True), none (False), or those with these
        numbers; by default as many as give a picture of moderate size.
        """
        chosen = opened if not isinstance(opened, bool) else self.graph["groups"].keys() if opened else ()
        text = draw_graph(self.graph, chosen)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _title(self) -> str:
        events = len(self.model.events)
        what = {"reverse": "value and adjoints", "forward": "value and tangents", "second": "second derivatives"}
        return f"{self.name}: {what[self.mode]}, {events} operation{'' if events == 1 else 's'}"

    __repr__ = __str__

    def _sheets(self, lines: Sequence[list[str]], limit: int | None) -> list[list[list[str]]]:
        """The table with its headings; where that is too wide: the forward trace, then that of the derivatives."""
        head = headings(self.mode)
        whole = [head, *[[*line, *[""] * (len(head) - len(line))] for line in lines]]
        if all(line[-1].startswith("<expression") for line in whole[1:] if line[-1]):  # of a command: it has no lines
            whole = [[*line[:-1], ""] for line in whole]
        if limit is None or natural_width(whole) <= limit:
            return [whole]
        there = [[*line[:3], line[-1]] for line in whole]
        parts = [slice(3, 5), slice(5, 8)] if self.mode == "second" else [slice(3, len(head) - 1)]
        if self.mode == "second" and natural_width(both := [[*line[:5], line[-1]] for line in whole]) <= limit:
            there, parts = both, parts[1:]
        return [there, *([[line[0], *line[part]] for line in whole if any(line[part])] for part in parts)]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        variables = shown(self.model)
        lines = list(self._lines(variables[:PRINTED]))
        if len(variables) > PRINTED:
            lines.append(["", f"… {len(variables) - PRINTED} more rows …"])
        yield Text(self._title(), style="bold")
        for head, *body in self._sheets(lines, options.max_width):
            table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
            kept = [j for j in range(len(head)) if any(line[j] for line in (head, *body))]
            head, body = [head[j] for j in kept], [[line[j] for j in kept] for line in body]
            for j, title in enumerate(head):
                figures = bool(j) and title in ("", "its derivative")
                table.add_column(title, justify="right" if figures else "left", no_wrap=figures or title == "line")
            for line in body:
                table.add_row(*map(Text, line))
            yield table
        yield from map(Text, self._below(lines))


@user_facing
def explain(
    function: Function, *, mode: str = "reverse", argnums: Argnums | None = None,
    detail: str = "primitives", seed: tree.Tree = None, direction: tree.Tree = None, most: int = MOST_EVENTS,
) -> Transformed:  # fmt: skip
    """See what a function and its derivative do: `explain(f)(*args, **kwargs)` returns an Explanation.

    `mode` is "reverse" (adjoints v̄), "forward" (tangents v̇ along `direction`) or "second" (both, and the derivative of
    the adjoints along the direction). `argnums` says which arguments are differentiated, by number or name: by default
    all of floats. `detail` is "primitives", or "statements": then each statement of the function is one step. `seed` is
    the adjoint of the results, when they are more than one number. Loops are shown iteration by iteration, up
    to `most` operations in all.

    ```python
    explained = ad.explain(lambda x: np.sin(x) * x)(1.0)
    "cos(" in str(explained)  # → True
    ```
    """
    if mode not in MODES:
        raise ValueError(f"explain: mode is one of {', '.join(map(repr, MODES))}; got {mode!r}.")
    if detail not in ("primitives", "statements"):
        raise ValueError(f"explain: detail is 'primitives' or 'statements'; got {detail!r}.")
    return Transformed(_explain, function, _ExplainOptions(mode, argnums, detail, seed, direction, most))


def _explain(function: Callable[..., Any], options: _ExplainOptions, args: Any, kwargs: Any) -> Explanation:
    with uncollected():
        return _explained(function, options, args, kwargs)


def _explained(function: Callable[..., Any], options: _ExplainOptions, args: Any, kwargs: Any) -> Explanation:
    flags = _select_leaves(function, options.argnums, args, kwargs)
    run = recorded(function, args, kwargs, flags)
    wanted = None if flags is None else [flags[i] for i in run.leaves]
    model = unroll(run, wanted, statements=options.detail == "statements", most=options.most)
    if options.mode == "reverse":
        derivatives.backward(model, options.seed)
    elif options.mode == "forward":
        derivatives.forward(model, options.direction)
    else:
        derivatives.second(model, options.seed, options.direction)
    model.notes += _without_derivative(model)
    return Explanation(model, run, options)


def _without_derivative(model: ExplanationModel) -> list[str]:
    """What a reader wonders about when all derivatives are zero, or there are none."""
    if not any(v.is_active for v in model.inputs):
        types = ", ".join(f"{v.label or v.name}: {type_of(v.value)}" for v in model.inputs) or "none"
        return [f"no argument is differentiated (got {types}): pass floats, and name them in argnums if that is given"]
    if not any(isinstance(v, Variable) and v.is_active for v in model.outputs):
        values = ", ".join(summary(v.value) for v in model.outputs)
        return [f"the result, {values}, does not depend on the arguments: its derivatives are zero"]
    return []


def _select_leaves(function: Callable[..., Any], argnums: Argnums | None, args: Any, kwargs: Any) -> list[bool] | None:
    """For each leaf of the arguments, whether it is differentiated; None for all that can be."""
    if argnums is None:
        return None
    named = (argnums,) if isinstance(argnums, int | str) else argnums
    chosen = {argument_key(function, one, args, kwargs, "explain") for one in named}
    if missing := [key for key in chosen if isinstance(key, str) and key not in kwargs]:
        raise TypeError(f"explain: argnums names {missing[0]}, which was not given. Call it with {missing[0]}=...")
    marks = lambda key, value: [key in chosen] * len(tree.leaves(value))
    positional = [mark for i, a in enumerate(args) for mark in marks(i, a)]
    return positional + tree.leaves({key: marks(key, value) for key, value in kwargs.items()})
