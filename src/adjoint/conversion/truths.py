"""The ternary, and, or, not and chained comparisons of converted code: Python's own, or branches of the program."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from adjoint.conversion.branches import choose_block
from adjoint.conversion.questions import as_truth, becomes_branch
from adjoint.program.trace import Tracer


def choose(
    predicate: Any, then: Callable[[], Any], other: Callable[[], Any], block_code: CodeType | None = None
) -> Any:
    """then() if predicate else other()."""
    if not becomes_branch(predicate):
        return then() if predicate else other()
    block_code = block_code or then.__code__  # type: ignore[attr-defined]
    return choose_block(predicate, lambda: (then(),), lambda: (other(),), (), ("the result of a ternary",), block_code)[
        0
    ]


def all_of(*parts: Callable[[], Any]) -> Any:
    """a and b and …"""
    return _chain(parts, stop=False)


def any_of(*parts: Callable[[], Any]) -> Any:
    """a or b or …"""
    return _chain(parts, stop=True)


def _chain(parts: Sequence[Callable[[], Any]], *, stop: bool) -> Any:
    value: Any = None
    for number, part in enumerate(parts):
        value = part()
        if number == len(parts) - 1:
            break
        if becomes_branch(value):
            rest = lambda left=parts[number + 1 :]: _chain(left, stop=stop)
            kept = lambda value=value: value
            sides = (kept, rest) if stop else (rest, kept)
            return choose(value, *sides, part.__code__)  # type: ignore[attr-defined]
        if bool(value) is stop:
            break
    return value


def negate(value: Any) -> Any:
    """Not value."""
    return np.logical_not(as_truth(value)) if becomes_branch_quietly(value) else not value


def becomes_branch_quietly(value: Any) -> bool:
    """Whether `not value` stays part of the program: it will be asked later, if at all."""
    return isinstance(value, Tracer) and (not value.shape or value.type.size == 1)


def compare(left: Any, signs: Sequence[str], *others: Callable[[], Any]) -> Any:
    """left < b < c …: every operand is evaluated once, and none behind a comparison that is false."""
    held = [left]

    def part(number: int) -> Any:
        held.append(others[number]())
        return getattr(operator, signs[number])(held[number], held[number + 1])

    return all_of(*[lambda number=number: part(number) for number in range(len(signs))])
