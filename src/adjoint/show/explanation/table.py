"""The trace table of a lecture: forward trace and reverse trace side by side, one row for each variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from adjoint.base.source import short
from adjoint.program.types import Value
from adjoint.show.explanation.formulas import adjoint_formula, forward_formula, tangent_formula
from adjoint.show.explanation.model import ExplanationModel, Variable
from adjoint.show.explanation.notation import number, text, write_accent, write_subscript
from adjoint.show.explanation.summaries import summary

__all__ = ["Row", "divide_rows", "headings", "rows", "shown"]

LONGEST = 60  # letters of a formula


@dataclass(frozen=True)
class Row:
    """One variable: how it is computed, its value, and the same for the derivatives that were asked for."""

    variable: Variable
    name: str
    label: str
    formula: str
    value: str
    tangent_formula: str
    tangent: str
    adjoint_formula: str
    adjoint: str
    adjoint_tangent: str
    line: str
    depth: int


def shown(model: ExplanationModel) -> list[Variable]:
    """The variables of a table, in the order of the computation: constants and parts of statements are left out."""
    return [v for v in model.variables if not v.hidden and v.kind != "constant"]


def rows(model: ExplanationModel, mode: str, variables: Iterable[Variable], *, digits: int = 7) -> Iterator[Row]:
    """A row for each of these variables."""
    seeds = {v.number: describe_start(model.seed(v)) for v in model.outputs if isinstance(v, Variable)}
    for v in variables:
        event = v.event
        tangent = forward = back = ""
        if event is not None:
            forward = _short(text(forward_formula(event)) + part(v))
            if mode in ("forward", "second") and v.is_active:
                formula = tangent_formula(event)
                tangent = "" if formula is None else _short(text(formula))
        if mode in ("reverse", "second") and v.is_active:
            formula = adjoint_formula(v)
            terms = [seeds.get(v.number, ""), "" if formula is None else text(formula)]
            back = _short(" + ".join(filter(None, terms)).replace("+ −", "− "))
            back = back or ("0" if not any(e.contributions[i] is not None for e, i in v.uses) else "")
        yield Row(
            v, write_subscript(v.name), v.label, forward, summary(v.value, digits), tangent, summary(v.tangent, digits),
            back, summary(v.adjoint, digits), summary(v.adjoint_tangent, digits),
            "" if event is None or event.location is None else short(event.location),
            0 if event is None else len(event.group.path),
        )  # fmt: skip


def describe_start(seed: Value) -> str:
    """What the adjoint of a result starts from."""
    return "" if seed is None else number(seed) if np.ndim(seed) == 0 else "seed"


def part(v: Variable) -> str:
    """[1] for the second result of an operation that has several."""
    outputs = () if v.event is None else v.event.outputs
    return f"[{next(k for k, one in enumerate(outputs) if one is v)}]" if len(outputs) > 1 else ""


def headings(mode: str) -> list[str]:
    """The columns of a mode."""
    tangents = ["forward tangent trace", ""] if mode in ("forward", "second") else []
    adjoints = ["reverse adjoint trace", ""] if mode in ("reverse", "second") else []
    last = ["its derivative"] if mode == "second" else []
    return ["", "forward primal trace", "", *tangents, *adjoints, *last, "line"]


def cells(row: Row, mode: str) -> list[str]:
    """A row under those headings."""
    v = row.variable
    out = [row.label, f"{row.name} = {row.formula}" if row.formula else row.name, row.value]
    if mode in ("forward", "second"):
        name = write_accent(v.name, "dot")
        out += [f"{name} = {row.tangent_formula}" if row.tangent_formula else name if v.is_active else "", row.tangent]
    if mode in ("reverse", "second"):
        name = write_accent(v.name, "bar")
        tested = v.event is not None and row.adjoint_formula == "0"  # and read by tests alone
        tested = tested and not any(one.is_active for event, _ in v.uses for one in event.outputs)
        formula = f"{name} = {row.adjoint_formula}" if row.adjoint_formula else name if v.is_active else ""
        out += ["", ""] if tested else [formula, row.adjoint]
    if mode == "second":
        out.append(row.adjoint_tangent)
    return [*out, row.line]


def divide_rows(lines: Iterable[Row], mode: str) -> Iterator[list[str]]:
    """The cells of rows; before those of another call, loop, iteration or scope stands a line that names it."""
    before: tuple[str, ...] = ()
    for row in lines:
        event = row.variable.event
        path = () if event is None else tuple(group.name for group in event.group.path)
        if path != before:
            yield ["", f"┄ {' › '.join(path)}" if path else "┄"]
            before = path
        yield cells(row, mode)


def _short(formula: str) -> str:
    return formula if len(formula) <= LONGEST else formula[: LONGEST - 1] + "…"
