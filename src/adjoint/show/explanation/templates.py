"""Formulas of many operations: one is written for each kind of operation, and the names are filled in.

A formula that depends on values (a `where` whose condition is known) is written for its operation alone; the general
one, with the condition, stands beside it for a page that tries other values.
"""

# pyright: basic
from __future__ import annotations

import re
from typing import Any

from adjoint.ops.elementwise.select import Select
from adjoint.program.types import type_of
from adjoint.show.explanation.expressions import Apply, Formula, Number, Symbol
from adjoint.show.explanation.formulas import (
    adjoint_formula,
    forward_formula,
    pull_program,
    pulled_formula,
    push_program,
    read,
    tangent_formula,
)
from adjoint.show.explanation.model import Event, ExplanationModel, Variable
from adjoint.show.explanation.notation import text, write_accent
from adjoint.show.explanation.tidy import covers

__all__ = ["Templates"]

FIRST_LETTER = 0xE000  # private letters stand for variables
MOST_TERMS = 12  # of a sum over everything that reads a variable
_LETTERS = re.compile("([\ue000-\uf8ff][\u0304\u0307]*)")
_ACCENTS = {"": "", "\u0304": "bar", "\u0307": "dot"}
Pieces = list[Any]  # texts, and (number of the variable in the operation, accent)
General = tuple[str, list[str]] | None


class Templates:
    """The texts of all operations of an explanation."""

    def __init__(self, model: ExplanationModel) -> None:
        self.hides = any(v.hidden for v in model.variables)
        self._known: dict[Any, tuple[Pieces | None, Pieces | None, list[Pieces | None], bool]] = {}
        self._loose: set[int] = set()  # events whose formulas depend on values

    def of(self, event: Event, key: Any) -> tuple[str, str, list[str], General]:
        """What the operation computes, its tangent, and what it adds to the adjoint of each operand ("": nothing).

        Last, tangent and terms for any values, when these are for those of the explanation alone.
        """
        if len(event.outputs) > 1:
            return *self._alone(event), None
        literals = tuple(None if isinstance(a, Variable) else repr(a.value) for a in event.operands)
        full = (key, literals)
        if full not in self._known:
            self._known[full] = _template(event)
        forward, tangent, terms, depends = self._known[full]
        if depends:
            self._loose.add(event.number)
        if self.hides:
            return *self._alone(event), ("", [""] * len(terms)) if depends else None
        names = [getattr(a, "name", "") for a in (*event.operands, *event.outputs)]
        general = _fill(tangent, names), [_fill(term, names) for term in terms]
        if depends:
            return *self._alone(event), general
        return _fill(forward, names), *general, None

    def _alone(self, event: Event) -> tuple[str, str, list[str]]:
        is_active = any(v.is_active for v in event.outputs)
        tangent = tangent_formula(event) if is_active else None
        terms = [pulled_formula(event, i) if is_active and m else None for i, m in enumerate(event.moving)]
        return text(forward_formula(event)), _text(tangent), [_text(term) for term in terms]

    def loose(self, model: ExplanationModel) -> list[bool]:
        """For each variable, whether the formula of its adjoint depends on values, by way of hidden ones too."""
        is_loose = [False] * len(model.variables)
        for event in reversed(model.events):
            inner = event.number in self._loose or any(is_loose[v.number] and v.hidden for v in event.outputs)
            for a in event.operands if inner else ():
                if isinstance(a, Variable):
                    is_loose[a.number] = True
        return is_loose

    def adjoint(self, v: Variable) -> str:
        """The adjoint of a variable in an explanation with hidden ones, whose terms do not stand one by one."""
        if not self.hides or not v.is_active or len(v.uses) > MOST_TERMS:
            return ""
        return _text(adjoint_formula(v))


def _text(formula: Formula | None) -> str:
    return "" if formula is None else text(formula)


def _template(event: Event) -> Any:
    count = len(event.operands)
    operands = [
        Symbol(chr(FIRST_LETTER + i)) if isinstance(a, Variable) else Number(a.value)
        for i, a in enumerate(event.operands)
    ]
    out = [Symbol(chr(FIRST_LETTER + count))]
    types = [type_of(a.value) for a in event.operands]
    whole: list[Any] = [Apply(event.op, tuple(operands), covers(event.op, types))]
    moving = event.moving
    tangent = None
    terms: list[Any] = [None] * count
    if any(v.is_active for v in event.outputs):
        program = push_program(event)
        if program is not None:
            dots = [Symbol(chr(FIRST_LETTER + i), "dot") for i, m in enumerate(moving) if m]
            tangent = read(program, [*operands, *out, *dots])[0]
        program = pull_program(event)
        if program is not None:
            pulled = iter(read(program, [Symbol(chr(FIRST_LETTER + count), "bar"), *operands, *out]))
            terms = [next(pulled) if m else None for m in moving]
    whole += [tangent, *terms]
    pieces = [None if formula is None else _pieces(text(formula)) for formula in whole]
    return pieces[0], pieces[1], pieces[2:], any(_depends(formula) for formula in whole[1:])


def _depends(formula: Any) -> bool:
    return isinstance(formula, Apply) and (formula.op == Select() or any(map(_depends, formula.parts)))


def _pieces(written: str) -> Pieces:
    return [
        (ord(piece[0]) - FIRST_LETTER, _ACCENTS.get(piece[1:], "bar dot")) if k % 2 else piece
        for k, piece in enumerate(_LETTERS.split(written))
    ]


def _fill(pieces: Pieces | None, names: list[str]) -> str:
    if pieces is None:
        return ""
    return "".join([p if isinstance(p, str) else write_accent(names[p[0]], p[1]) for p in pieces])
