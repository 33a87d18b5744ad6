"""Batches of loops and their backward passes in one loop over the elements, with the same results."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify.loops.merge_elements import merge_element_loops
from tests.simplify.programs import program_of

X, P = np.array([20.0, 3.0, 700.0, 0.5]), np.array([0.3, 0.7, 1.1, 0.2])


def halving(x: Any, p: Any) -> Any:
    """A while loop with a while loop inside, as often as x says."""
    inner = lambda y: ad.while_loop(lambda s: s[0] > 2.0, lambda s: (s[0] / 3, np.sin(s[1] * p) + 1), (10.0 * y, y))[1]
    return ad.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] / 2, inner(s[1]) * p + s[1]), (x, p))[1]


def element_loops(program: Program) -> list[Scan]:
    return [eq.op for eq in program.equations if isinstance(eq.op, Scan) and eq.op.length == len(X)]


@pytest.mark.parametrize(
    "loss, loops",
    [
        (halving, 1),
        (lambda x, p: halving(x, p) ** 2 * p, 1),  # what comes back depends on the results, element by element
        (lambda x, p: np.sum((halving(x, p) * np.array([1.0, 2.0]) - np.arange(2.0)) ** 2), 1),
        (lambda x, p: np.sort(np.stack([halving(x, p), p]))[0] ** 2, 2),  # by what is not elementwise: not merged
    ],
)
def test_the_backward_pass_of_an_element_follows_its_forward_pass(loss: Any, loops: int) -> None:
    gradient = ad.grad(loss, 1)
    compiled = ad.jit(ad.vmap(gradient))
    expected = [gradient(x, p) for x, p in zip(X, P, strict=True)]
    np.testing.assert_allclose(compiled(X, P), expected, rtol=1e-14)
    assert len(element_loops(compiled.lower(X, P).simplified)) == loops


def test_one_loop_holds_both_passes() -> None:
    compiled = ad.jit(ad.vmap(ad.grad(lambda x, p: halving(x, p) ** 2 * p, 1)))
    (loop,) = element_loops(compiled.lower(X, P).simplified)
    kinds = [type(eq.op) for eq in loop.body.equations]
    assert kinds.count(While) == 1
    assert kinds.count(Scan) == 1
    assert all(isinstance(n, int) for kind in loop.body.output_types for n in kind.shape)  # no history leaves it


def test_elements_that_meet_between_the_passes_are_not_merged() -> None:
    def spread(p: Any) -> Any:
        return np.var(ad.vmap(halving)(X, p))

    gradient = ad.grad(spread)
    found = ad.jit(gradient)(P)
    step = 1e-6 * np.eye(4)
    differences = [(spread(P + d) - spread(P - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(found, differences, rtol=1e-6)
    assert len(element_loops(ad.jit(gradient).lower(P).simplified)) == 2


def test_what_is_checked_between_the_passes_is_still_checked() -> None:
    def checked(x: Any, p: Any) -> Any:
        value = halving(x, p)
        ad.check(value < 60.0, "too large: {}", value)
        return value

    compiled = ad.jit(ad.vmap(ad.grad(checked, 1)))
    np.testing.assert_allclose(compiled(X, P), ad.vmap(ad.grad(halving, 1))(X, P), rtol=1e-13)
    with pytest.raises(ad.CheckError, match="too large"):
        compiled(X * 1e9, P + 2)


def test_a_program_without_such_loops_is_left_alone() -> None:
    program, _ = program_of(ad.vmap(lambda x: ad.scan(lambda c, t: (c + t, c), x, np.arange(3.0))[1]), X)
    assert merge_element_loops(check(program)) is program
