"""Programs to be simplified: how they are made, looked at and compared."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.program import Equation, Program


def program_of(f: Callable[..., Any], *args: Any) -> tuple[Program, list[Any]]:
    """The program of a function, and its flat arguments."""
    return ad.trace(f)(*args).program, ad.tree.flatten(args)[0]


def same_results(before: Program, after: Program, arguments: list[Any], *, rounding: float = 1e-12) -> None:
    """Two programs give the same types and numbers."""
    assert before.output_types == after.output_types
    for a, b in zip(before(*arguments), after(*arguments), strict=True):
        np.testing.assert_allclose(b, a, rtol=rounding, atol=rounding)


def loops_of(program: Program) -> list[Equation]:
    """The loops of a program, in order; those inside others are not among them."""
    return [eq for eq in program.equations if isinstance(eq.op, Scan | While)]


def loop_of(program: Program) -> Equation:
    """The one loop of a program."""
    (eq,) = loops_of(program)
    return eq


def titles(program: Program) -> list[str]:
    """The names of the operations of a program."""
    return [eq.op.title for eq in program.equations]
