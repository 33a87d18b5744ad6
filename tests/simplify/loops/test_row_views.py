"""Views of rows of different lengths: given as they are, taken as they are, with the same results."""

from typing import Any

import numpy as np

import adjoint as ad
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.control.scan import Scan
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.program.subprograms import all_equations
from adjoint.simplify import simplify
from adjoint.simplify.loops.row_views import VIEWS, move_row_views
from tests.simplify.programs import program_of, same_results


def halving(x: Any, p: Any) -> Any:
    """A while loop in a scan, as often for all elements of a batch p."""
    slow = lambda t: ad.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] / 2, np.sin(s[1] * p)), (x * t, p))[1]
    return ad.scan(lambda c, t: (c + slow(t), None), 0.0 * p, np.array([3.0, 50.0, 0.1]))[0]


def moved(program: Program) -> list[str]:
    """Transposes of what has a size that is found while the program runs."""
    found = [eq for eq in all_equations(program) if isinstance(eq.op, Transpose)]
    return [str(eq.outputs[0].type) for eq in found if not all(isinstance(n, int) for n in eq.outputs[0].type.shape)]


def test_views_move_from_one_loop_to_the_next_and_cancel() -> None:
    before, arguments = program_of(ad.vmap(ad.grad(halving, 1), in_axes=(None, 0)), 20.0, np.array([0.3, 0.7]))
    assert moved(before)
    after = check(move_row_views(before))
    same_results(before, after, arguments, rounding=0.0)
    assert not moved(simplify(before))
    same_results(before, simplify(before), arguments)


def test_a_program_without_such_rows_is_left_alone() -> None:
    f = lambda x: ad.scan(lambda c, t: (c + t.T, c.T), 0.0 * x, np.arange(12.0).reshape(3, 2, 2))[1]
    program, _ = program_of(f, np.ones((2, 2)))
    assert any(isinstance(eq.op, Scan) for eq in program.equations)
    assert move_row_views(program) is program


def test_views_of_stacks_and_of_rows_are_inverse_to_one_another() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for op in (Transpose((1, 0)), Reshape((6, 2))):
        whole = VIEWS[op].of_stack(op, 2)
        np.testing.assert_array_equal(whole.evaluate(x), [op.evaluate(row) for row in x])
        kind = ad.ArrayType(x.shape, x.dtype)
        assert VIEWS[op].of_row(whole, kind) == op
    assert VIEWS[Transpose((1, 0, 2))].of_row(Transpose((1, 0, 2)), ad.ArrayType(x.shape, x.dtype)) is None
    assert VIEWS[Reshape((6, 4))].of_row(Reshape((6, 4)), ad.ArrayType(x.shape, x.dtype)) is None
