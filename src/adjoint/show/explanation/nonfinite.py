"""Where a NaN or an infinity came from: the first operation that made one out of finite numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.source import describe
from adjoint.program.types import Value
from adjoint.show.explanation.expressions import Symbol
from adjoint.show.explanation.formulas import expand_formula, forward_formula, pulled_formula
from adjoint.show.explanation.model import Event, ExplanationModel, Variable
from adjoint.show.explanation.notation import text, write_accent
from adjoint.show.explanation.summaries import summary

__all__ = ["NonFinite", "origins"]


@dataclass(frozen=True)
class NonFinite:
    """One origin: the variable, whether its value or its adjoint is meant, what was computed from what, and where."""

    variable: Variable
    what: str  # "value", "adjoint" or "tangent"
    formula: str
    operands: tuple[str, ...]
    line: str

    def __str__(self) -> str:
        name = {"value": "", "adjoint": "bar", "tangent": "dot"}[self.what]
        shown = summary({"value": self.variable.value, "adjoint": self.variable.adjoint}.get(
            self.what, self.variable.tangent))  # fmt: skip
        if self.variable.event is None and self.what == "value":
            return f"{self.formula} ({write_accent(self.variable.name)}) is {shown}"
        operands = f" with {', '.join(self.operands)}" if self.operands else ""
        subject = write_accent(self.variable.name, name)
        if self.variable.hidden:  # it has no row in the table
            subject = f"the {self.what} of {_named(self.variable)}" if name else _named(self.variable)
        if subject == self.formula:
            return f"{subject} is {shown}{operands}, at {self.line}"
        return f"{subject} = {self.formula} is {shown}{operands}, at {self.line}"


def finite(value: Value) -> bool:
    """Whether there is neither NaN nor infinity in a value; None and numbers of other kinds have none."""
    if type(value) is np.float64 or type(value) is float:  # most are, and there may be many
        return math.isfinite(value)
    return value is None or np.asarray(value).dtype.kind not in "fc" or bool(np.all(np.isfinite(value)))


def origins(model: ExplanationModel) -> list[NonFinite]:
    """Every operation that got finite numbers and gave others, forwards; then the same in the backward pass."""
    return [*_forward(model), *_backward(model)]


def _forward(model: ExplanationModel) -> Iterable[NonFinite]:
    for v in model.inputs:
        if not finite(v.value):
            yield NonFinite(v, "value", f"the argument {v.label or v.name}", (), "the call")
    for event in model.events:
        for v in event.outputs:
            if not finite(v.value) and all(map(finite, event.values)):
                yield NonFinite(v, "value", text(forward_formula(event)), _operands(event), describe(event.location))
            elif finite(v.value) and not finite(v.tangent) and all(
                finite(a.value) and finite(getattr(a, "tangent", None)) for a in event.operands
            ):  # fmt: skip
                yield NonFinite(
                    v, "tangent", f"d {text(forward_formula(event))}", _operands(event), describe(event.location)
                )


def _backward(model: ExplanationModel) -> Iterable[NonFinite]:
    for event in reversed(model.events):
        if all(map(finite, event.contributions)):
            continue
        come = [v.adjoint for v in event.outputs] + [v.value for v in event.outputs]
        if not all(map(finite, [*come, *event.values])):
            continue
        for i, part in enumerate(event.contributions):
            operand = event.operands[i]
            if not finite(part) and isinstance(operand, Variable):
                formula = pulled_formula(event, i)
                operation = event.op.title if formula is None else text(expand_formula(formula))
                come_from = [f"{_named(v, 'bar')} = {summary(v.adjoint)}" for v in event.outputs]
                operands = (*_operands(event), *come_from)
                yield NonFinite(operand, "adjoint", operation, operands, describe(event.location))


def _named(v: Variable, accent: str = "") -> str:
    """v₁; for a part of a statement what it is."""
    return text(expand_formula(Symbol(v, accent)))


def _operands(event: Event) -> tuple[str, ...]:
    shown: dict[str, Any] = {_named(a): a.value for a in event.operands if isinstance(a, Variable)}
    return tuple(f"{name} = {summary(value)}" for name, value in shown.items())
