"""Programs of user functions that solvers evaluate again and again: compiled once their loops have cost more than that.

On plain numbers loops are read equation by equation, a few microseconds each. Machine code is hundreds of times
quicker, and takes about as long to make as reading every equation of the program EACH times, WORK equations at least:
what is lost by waiting that long is about as much as compiling costs. Work is counted, not timed: the same run is
compiled at the same call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ops.control.call import Call
from adjoint.ops.control.counted_loop import CountedLoop
from adjoint.program.evaluate import work
from adjoint.program.identity import identify
from adjoint.program.program import Equation, Program, Var, interpret
from adjoint.program.subprograms import all_equations
from adjoint.program.types import Value

__all__ = ["WORK", "call_program", "called_program", "has_loops", "keep_program"]

WORK = 200_000  # equations read in loops before a program is compiled: a second or two
EACH = 100  # times its equations, those of its loops and branches included
MOST_PROGRAMS = 128
LARGEST = 1 << 20  # bytes of constants in a program that is kept
_programs: dict[Any, Program] = {}


def has_loops(program: Program) -> bool:
    known = program.__dict__.get("_has_loops")
    if known is None:
        known = program.__dict__["_has_loops"] = any(isinstance(eq.op, CountedLoop) for eq in all_equations(program))
    return known


def keep_program(program: Program) -> Program:
    """The first program that did the same as this one: what it has cost and its machine code are known with it."""
    if not has_loops(program) or sum(getattr(v, "nbytes", 0) for v in program.constants.values()) > LARGEST:
        return program
    identity = identify(program)
    if identity not in _programs and len(_programs) >= MOST_PROGRAMS:
        _programs.pop(next(iter(_programs)), None)
    return _programs.setdefault(identity, program)


def called_program(program: Program) -> Program:
    """The program; once its loops have cost more than compiling, one that calls it."""
    if program.__dict__.get("_cost", 0) <= _worth(program):
        return program
    known = program.__dict__.get("_called")
    if known is None:
        inputs, outputs = (tuple(map(Var, types)) for types in (program.input_types, program.output_types))
        known = program.__dict__["_called"] = Program(inputs, (Equation(Call(program), inputs, outputs),), outputs)
    return known


def _worth(program: Program) -> int:
    """How much work a program must have been before it is compiled."""
    known = program.__dict__.get("_worth")
    if known is None:
        known = program.__dict__["_worth"] = max(WORK, EACH * sum(1 for _ in all_equations(program)))
    return known


def call_program(program: Program, values: Sequence[Value]) -> list[Value]:
    """program(*values), under any transformation."""
    if not has_loops(program):
        return interpret(program, values)
    before = work.equations
    try:
        return interpret(called_program(program), values)
    finally:
        program.__dict__["_cost"] = program.__dict__.get("_cost", 0) + work.equations - before
