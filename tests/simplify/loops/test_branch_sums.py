"""Sums of what branches give, written in the branches."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify import simplify
from adjoint.simplify.loops.branch_sums import move_sums_into_branches
from tests.simplify.programs import program_of, same_results, titles

X = np.array([0.6, 0.9, 0.35])


def moved(f, *args) -> Program:
    before, arguments = program_of(f, *args)
    after = check(move_sums_into_branches(before))
    same_results(before, after, arguments, rounding=0.0)
    same_results(before, after, [-a for a in arguments], rounding=0.0)
    return after


def choice_of(program: Program):
    (eq,) = [eq for eq in program.equations if eq.op.title == "cond"]
    return eq


def test_terms_that_are_zero_in_turn() -> None:
    def f(x):
        a, b = ad.cond(x[0] > 0.0, lambda x: (2.0 * x[1], 0.0), lambda x: (0.0, 3.0 * x[2]), x)
        return a + b

    program = moved(f, X)
    assert program.equations[-1].op.title == "cond"
    eq = choice_of(simplify(program))
    assert len(eq.outputs) == 1
    assert all("add" not in titles(p) for p in eq.op.branches)


def test_three_terms_and_arrays_of_zeros() -> None:
    def f(x):
        zero = np.zeros(3)
        a, b, c = ad.cond(x[0] > 0.0, lambda x: (2.0 * x, zero, zero), lambda x: (zero, x * x, 1.0 - x), x)
        return a + b + c

    program = moved(f, X)
    assert "add" not in titles(program)
    assert [titles(p).count("add") for p in choice_of(simplify(program)).op.branches] == [0, 1]


@pytest.mark.parametrize("read_again", [False, True])
def test_a_term_that_is_read_elsewhere_stays(read_again) -> None:
    """Where one branch has something to add, that is done twice if others read the terms as well."""

    def f(x):
        a, b = ad.cond(x[0] > 0.0, lambda x: (2.0 * x[1], 0.0), lambda x: (x[0], 3.0 * x[2]), x)
        return (a + b, a) if read_again else a + b

    assert ("add" in titles(moved(f, X))) == read_again


def test_results_of_two_choices_are_added_behind_them() -> None:
    def f(x):
        a = ad.cond(x[0] > 0.0, lambda x: 2.0 * x[1], lambda x: 0.0, x)
        b = ad.cond(x[1] > 0.0, lambda x: 2.0 * x[2], lambda x: 0.0, x)
        return a + b

    assert "add" in titles(moved(f, X))


def test_the_gradient_through_nested_branches_has_one_result_for_each_argument() -> None:
    def f(x, y):
        return ad.cond(
            x > 0.0,
            lambda x, y: x * y,
            lambda x, y: ad.cond(y > 0.0, lambda x, y: x - y, lambda x, y: np.sin(x) * y, x, y),
            x,
            y,
        )

    gradient = ad.grad(f, argnums=(0, 1))
    program, _ = program_of(gradient, 0.3, 0.4)
    assert [len(eq.outputs) for eq in simplify(program).equations if eq.op.title == "cond"][-1] == 2
    for x, y in ((0.3, 0.4), (-0.3, 0.4), (-0.3, -0.4)):
        h = 1e-6
        differences = ((f(x + h, y) - f(x - h, y)) / (2 * h), (f(x, y + h) - f(x, y - h)) / (2 * h))
        np.testing.assert_allclose(ad.jit(gradient)(x, y), differences, rtol=1e-8)
