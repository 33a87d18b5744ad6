"""The passes over loops and branches, in the order in which they help one another.

`TIDYING` takes away what is not needed, and loses nothing. `RESHAPING` moves work between loops and out of them, as
cheap as it can be in the programs as they are: it comes when there is nothing to tidy any more, and is followed by
tidying again. Each pass is about the loops of a program; those inside other loops come with the programs inside. Each
gives back the very same program where it finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.program.program import Program
from adjoint.simplify.loops.accumulate import move_sums_out
from adjoint.simplify.loops.batch_matmul import batch_products
from adjoint.simplify.loops.branch_sums import move_sums_into_branches
from adjoint.simplify.loops.branches import simplify_branches
from adjoint.simplify.loops.constant_rows import count_by_flags, know_constant_rows
from adjoint.simplify.loops.hoist import hoist_invariants
from adjoint.simplify.loops.interface import simplify_interfaces
from adjoint.simplify.loops.liveness import prune_dead_parts
from adjoint.simplify.loops.merge_elements import merge_element_loops
from adjoint.simplify.loops.parts import inside_first
from adjoint.simplify.loops.rematerialize import choose_residuals
from adjoint.simplify.loops.row_views import move_row_views

TIDYING: tuple[Callable[[Program], Program], ...] = (
    simplify_branches,
    move_sums_into_branches,
    know_constant_rows,
    simplify_interfaces,
    move_row_views,
    merge_element_loops,
    hoist_invariants,
    prune_dead_parts,
    count_by_flags,
)
RESHAPING: tuple[Callable[[Program], Program], ...] = (
    choose_residuals,
    batch_products,
    move_sums_out,
    prune_dead_parts,
)


def tidy_loops(program: Program) -> Program:
    """The loops and branches of a program without what they do not need."""
    return _apply_passes(program, TIDYING)


def reshape_loops(program: Program) -> Program:
    """The loops of a program with their work where it is cheapest."""
    return _apply_passes(program, RESHAPING)


def apply_once(each: Callable[[Program], Program], program: Program) -> Program:
    """What a pass makes of a program; one that found nothing to do in this very program is not asked again."""
    settled = program.__dict__.setdefault("_unchanged_by", set[str]())  # names: programs are written to disk
    if each.__name__ in settled:
        return program
    new = each(program)
    if new is program:
        settled.add(each.__name__)
    return new


def _apply_passes(program: Program, passes: Sequence[Callable[[Program], Program]]) -> Program:
    if any("programs" in eq.op.stated for eq in program.equations):
        for each in passes:
            program = apply_once(each, program)
    return program


def simplify_loops(program: Program) -> Program:
    """All passes over loops and branches, at every depth."""
    program = inside_first(tidy_loops)(program)
    program = inside_first(reshape_loops)(program)
    return inside_first(tidy_loops)(program)
