"""The pass that reads a program once and writes it anew by all rules; see `Rewriter`."""

from __future__ import annotations

from adjoint.program.program import Program
from adjoint.simplify.dead_code import SETTLED
from adjoint.simplify.loops import short_loops
from adjoint.simplify.rewriter import Rewriter
from adjoint.simplify.rules import algebra, contractions, gathers, indexing, reductions, shapes, undefined
from adjoint.simplify.rules.rule import RuleBook

BOOK = RuleBook(
    [
        *shapes.RULES,
        *indexing.RULES,
        *gathers.RULES,
        *reductions.RULES,
        *contractions.RULES,
        *algebra.RULES,
        *short_loops.RULES,
        *undefined.RULES,
    ]
)


def rewrite(program: Program) -> Program:
    """The program with constants folded, common subexpressions shared and all rules applied, dead code left in."""
    if SETTLED in program.__dict__:
        return program
    rewriter = Rewriter(program, BOOK)
    program = rewriter.run()
    if not rewriter.readers.waits():
        program.__dict__[SETTLED] = True
    return program
