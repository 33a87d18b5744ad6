"""The last changes to a program that becomes machine code; NumPy would not gain by them, or read it otherwise."""

from __future__ import annotations

from adjoint.program.program import Program
from adjoint.simplify.loops.sums_in_place import add_in_place
from adjoint.simplify.loops.uniform_stacks import know_uniform_stacks
from adjoint.simplify.passes import simplify


def finish(program: Program) -> Program:
    """A simplified program, as machine code is written for it."""
    return add_in_place(simplify(know_uniform_stacks(program)))
