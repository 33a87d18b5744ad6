"""`Expect`: a question that Python asked while a program was traced; what follows holds for its answer alone.

    expect[bool is True] x          the rest is what the function does when bool(x) is True

A program with guards is one way through a function. Run on other arguments, it stops at the first guard that they
answer differently; then another way has to be taken. So guards stand before all effects (`guards_first`): a way that is
given up has not printed anything.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ControlFlowError
from adjoint.base.number_texts import show_number
from adjoint.ops.effects import Batches, Effect, has_effects, silent_operation
from adjoint.program.op import primitive
from adjoint.program.program import Equation, Program, Var


def content(value: Any) -> tuple[Any, ...]:
    """All elements of an array, as something that can be compared and printed."""
    return tuple(np.ravel(value).tolist())


class Questions(dict[str, Callable[[Any], Any]]):
    """What answers a question: by its name, or how a number is shown ("text -1 .2f")."""

    def __missing__(self, question: str) -> Callable[[Any], Any]:
        _, conversion, spec = question.split(" ", 2)
        return functools.partial(show_number, conversion=int(conversion), spec=spec)


QUESTIONS = Questions(
    {
        "bool": bool,
        "int": int,
        "index": int,
        "floor": math.floor,
        "ceil": math.ceil,
        "float": float,
        "hash": hash,
        "value": lambda x: np.asarray(x).item(),
        "content": content,
    }
)


class Mismatch(ControlFlowError):
    """A guard has another answer for these arguments."""

    def __init__(self, guard: Expect, answer: Any = None) -> None:
        super().__init__(
            f"This program was traced for {guard.question}(…) = {guard.answer} at {guard.where}, and these arguments "
            f"give {'another answer' if answer is None else answer}: they take another way through the function. Trace "
            "it again with them, or write the branch as ad.cond."
        )
        self.guard = guard
        self.number = guard.number  # as it was asked


@primitive
class Expect(Effect):
    """Python asked its argument a question while the program was traced; what follows holds for this answer alone."""

    question: str
    answer: Any
    where: str = "unknown line"
    batches: Batches = ()
    guards: int = 0
    number: int = 0  # which question it was, in the order in which they were asked

    @property
    def label(self) -> str:
        return f"{self.question} is {self.answer}"

    def act(self, elements: Iterator[tuple[tuple[int, ...], list[Any]]]) -> None:
        for _, (x,) in elements:
            if not self.met(x):
                raise Mismatch(self, QUESTIONS[self.question](x))

    def met(self, value: Any) -> bool:
        """Whether a value gives the answer that the program is for."""
        return QUESTIONS[self.question](value) == self.answer


def expectations(program: Program) -> list[Expect]:
    """The guards of a program, in order."""
    return [eq.op for eq in program.equations if isinstance(eq.op, Expect)]


def acts(equations: Sequence[Equation]) -> bool:
    """Whether something is printed, called back or checked, at any depth."""
    return any(map(_acts, equations))


def guards_first(program: Program) -> Program:
    """The program with its guards, and what they are computed from, before the first effect.

    Where a guard reads what a loop or a branch with effects inside has computed, that is computed twice: once in
    silence, for the guard.
    """
    last = max((i for i, eq in enumerate(program.equations) if isinstance(eq.op, Expect)), default=-1)
    if last < 0 or not acts(program.equations[:last]):
        return program
    early, twice = _needed(program, last)
    before: list[Equation] = []
    copies: dict[Var, Var] = {}
    for number, eq in enumerate(program.equations[: last + 1]):
        if number not in early:
            continue
        inputs = tuple(copies.get(a, a) if isinstance(a, Var) else a for a in eq.inputs)
        outputs = eq.outputs
        if number in twice:
            outputs = tuple(Var(v.type) for v in eq.outputs)
            copies.update(zip(eq.outputs, outputs, strict=True))
        op = silent_operation(eq.op) if number in twice else eq.op
        before.append(Equation(op, inputs, outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
    after = [eq for i, eq in enumerate(program.equations) if i not in early or i in twice]
    return Program(program.inputs, (*before, *after), program.outputs, program.constants)


def _acts(eq: Equation) -> bool:
    """Whether an equation does something that must not be done twice."""
    return not isinstance(eq.op, Expect) and (
        eq.op.effect is not None or any(map(has_effects, eq.op.programs().values()))
    )


def _needed(program: Program, last: int) -> tuple[set[int], set[int]]:
    """The equations that the guards up to number `last` are computed from, with them; and those to compute twice.

    The latter have effects inside, or read what is computed twice.
    """
    wanted: set[Var] = set()
    early: set[int] = set()
    for i in range(last, -1, -1):
        eq = program.equations[i]
        if isinstance(eq.op, Expect) or wanted.intersection(eq.outputs):
            early.add(i)
            wanted.update(a for a in eq.inputs if isinstance(a, Var))
    twice: set[int] = set()
    doubled: set[Var] = set()
    for i in sorted(early):
        eq = program.equations[i]
        reads = any(isinstance(a, Var) and a in doubled for a in eq.inputs)
        if (_acts(eq) or reads) and not isinstance(eq.op, Expect):
            twice.add(i)
            doubled.update(eq.outputs)
    return early, twice
