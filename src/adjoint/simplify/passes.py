"""The order in which a program is simplified.

    from adjoint.simplify import simplify
    simplify(program)        # computes the same, with fewer and cheaper equations

Programs inside (bodies of loops, branches) come first, each by all passes; then the passes of `PASSES` follow one
another, on the equations of the program itself, until none of them finds anything to do. Then come those of
`RESHAPING`, which weigh one form of a program against another, and if they change it, the others again. A pass takes a
program and gives one with the same inputs and outputs; the very same object when it changed nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.program.subprograms import map_programs
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.factorizations import share_factorizations
from adjoint.simplify.loops.checkpoint_states import expand_checkpoints
from adjoint.simplify.loops.order import apply_once, reshape_loops, tidy_loops
from adjoint.simplify.reroll.driver import reroll
from adjoint.simplify.rewriting import rewrite
from adjoint.simplify.strip_stop_gradient import drop_derivative_marks, write_out

Pass: TypeAlias = Callable[[Program], Program]

WORTH_A_LOOP = 128  # equations: fewer compile quickly as they are, and sums of slices stay one nest of loops


def reroll_long(program: Program) -> Program:
    """Long repetitions as loops."""
    return reroll(program, least=WORTH_A_LOOP)


PASSES: list[Pass] = [
    expand_checkpoints,
    drop_derivative_marks,
    drop_dead_code,
    reroll_long,  # before the rest: a loop is read once, not iteration by iteration
    rewrite,
    drop_dead_code,
    tidy_loops,
]

RESHAPING: list[Pass] = [
    share_factorizations,
    reshape_loops,
]

MOST_ROUNDS = 12  # far more than any program needs: each round leaves less to do

# what was simplified inside the program that is being simplified
_known: ContextVar[dict[Any, Program] | None] = ContextVar("simplified", default=None)

CHECKED = False  # check the program after every pass, and name the pass that broke it


def simplify(program: Program) -> Program:
    """A program that computes the same with less work; its derivative is not the same (see `strip_stop_gradient`)."""
    if "_simplified" in program.__dict__:
        return program
    known = _known.get()
    if known is None:
        token = _known.set({})
        try:
            return _simplify(program)
        finally:
            _known.reset(token)
    # solvers hold what they solve many times: what is equal, line by line, is simplified once
    key = program, _lines(program)
    found = known.get(key)
    if found is None:
        found = known[key] = _simplify(program)
    return found


def _lines(program: Program) -> tuple[Any, ...]:
    """The lines of users at which the equations were written, also inside."""
    known = program.__dict__.get("_lines")
    if known is None:
        inside = lambda op: map(_lines, op.programs().values()) if "programs" in op.stated else ()
        known = program.__dict__["_lines"] = tuple([(eq.location, *inside(eq.op)) for eq in program.equations])
    return known


def _simplify(program: Program) -> Program:
    for _ in range(MOST_ROUNDS):
        before = program
        program = _apply_passes(simplify_inside(write_out(program)), PASSES)
        if program is before:
            program = _apply_passes(program, RESHAPING)
            if program is before:
                break
    program.__dict__["_simplified"] = True
    return program


def _apply_passes(program: Program, passes: list[Pass]) -> Program:
    for apply in passes:
        program = apply_once(apply, program)
        if CHECKED:
            check(program, f"after {apply.__name__}: ")
    return program


def simplify_inside(program: Program) -> Program:
    """The program with the programs inside it simplified."""
    equations = list(program.equations)
    changed = False
    for i, eq in enumerate(equations):
        if eq.op.several and "programs" in eq.op.stated:
            op = map_programs(eq.op, simplify)
            if op is not eq.op:
                equations[i] = dataclasses.replace(eq, op=op)
                changed = True
    return Program(program.inputs, tuple(equations), program.outputs, program.constants) if changed else program
