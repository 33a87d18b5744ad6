"""Texts with traced numbers in them: formatted now where the value is known, when the program runs where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.conversion.questions import is_undecided
from adjoint.program.trace import Tracer, concrete
from adjoint.program.types import Value

_DIRECTIVE = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]")


class TracedText(str):
    """A text whose numbers are known when the program runs: shown with their types until then."""

    operands: tuple[Value, ...]
    _parts: tuple[Any, ...]  # texts, and (conversion, format) for each operand

    @staticmethod
    def of(parts: Sequence[Any]) -> TracedText:
        """One text of several parts: texts, such texts, and (operand, conversion, format)."""
        flat: list[Any] = []
        operands: list[Value] = []
        for part in parts:
            if isinstance(part, TracedText):
                flat += part._parts
                operands += part.operands
            elif isinstance(part, tuple):
                operands.append(part[0])
                flat.append(part[1:])
            else:
                flat.append(str(part))
        shown = iter(operands)
        made = TracedText("".join(p if isinstance(p, str) else f"<{next(shown).type}>" for p in flat))
        made.operands, made._parts = tuple(operands), tuple(flat)
        return made

    def filled(self, values: Iterator[Value]) -> str:
        """The text with the operands' values."""
        return "".join(p if isinstance(p, str) else show(next(values), *p) for p in self._parts)

    def __add__(self, other: str) -> TracedText:
        return TracedText.of([self, other])


def show(value: Any, conversion: int, spec: str) -> str:
    """One number as an f-string shows it."""
    value = value.item() if isinstance(value, np.ndarray) and not value.ndim else value
    if conversion in (114, 115, 97):
        value = {114: repr, 115: str, 97: ascii}[conversion](value)
    return format(value, spec)


def formatted(value: Any, conversion: int, spec: str) -> Any:
    """What stands in braces in an f-string."""
    if not isinstance(value, Tracer):
        if isinstance(value, TracedText):
            return value
        return show(value, conversion, spec)
    if is_undecided(value):
        return TracedText.of([(value, conversion, str(spec))])
    return show(concrete(value), conversion, spec)


def text(*parts: Any) -> str:
    """An f-string."""
    if any(isinstance(part, TracedText) for part in parts):
        return TracedText.of(parts)
    return "".join(parts)


def percent(template: str, values: Any) -> Any:
    """template % values."""
    given = values if isinstance(values, tuple) else (values,)
    if not any(isinstance(v, Tracer) for v in given):
        return template % values
    if any(isinstance(v, Tracer) and is_undecided(v) for v in given):
        return _deferred(template, given)
    plain = tuple(plain_number(v) for v in given)
    return template % plain


def _deferred(template: str, given: tuple[Any, ...]) -> TracedText:
    parts: list[Any] = []
    begin = 0
    values = iter(given)
    for found in _DIRECTIVE.finditer(template):
        parts.append(template[begin : found.start()].replace("%%", "%"))
        value, spec = next(values), found.group()[1:]
        if isinstance(value, Tracer):
            parts.append((value, -1, spec.lstrip("-+ #") if spec[-1] not in "rs" else ""))
        else:
            parts.append(found.group() % value)
        begin = found.end()
    parts.append(template[begin:].replace("%%", "%"))
    return TracedText.of(parts)


def plain_number(value: Any) -> Any:
    """A traced number as the plain one that it is; a text for those that are not known."""
    if not isinstance(value, Tracer):
        return value
    if is_undecided(value):
        return TracedText.of([(value, -1, "")])
    known = concrete(value)
    return known.item() if isinstance(known, np.ndarray) and not known.ndim else known
