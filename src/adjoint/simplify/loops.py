"""The passes over loops and branches, in the order in which they help one another.

Between them the bodies are simplified as any program is; each pass gives back the very same program where it finds
nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.program.program import Program
from adjoint.simplify.branches import with_plain_branches
from adjoint.simplify.invariants import with_invariants_outside
from adjoint.simplify.loop_interface import with_plain_interface
from adjoint.simplify.loop_liveness import without_dead_parts
from adjoint.simplify.recompute import with_recomputed_residuals

LOOP_PASSES: tuple[Callable[[Program], Program], ...] = (
    with_plain_branches,
    with_plain_interface,
    with_invariants_outside,
    without_dead_parts,
    with_recomputed_residuals,
    with_plain_interface,
    without_dead_parts,
)


def simplify_loops(program: Program) -> Program:
    """All passes over loops and branches, in order."""
    if not any(hasattr(eq.op, "programs") for eq in program.equations):
        return program
    for each in LOOP_PASSES:
        program = each(program)
    return program
