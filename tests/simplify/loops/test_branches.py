"""Branches: choices that are none, operands and results that stand there twice."""

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Literal, Program
from adjoint.simplify import simplify
from adjoint.simplify.loops.branches import simplify_branches
from adjoint.simplify.loops.parts import inside_first
from tests.simplify.programs import program_of, same_results, titles

X = np.array([0.6, 0.9, 0.35])


def plain(f, *args) -> Program:
    before, arguments = program_of(f, *args)
    after = check(inside_first(simplify_branches)(before))
    same_results(before, after, arguments, rounding=0.0)
    same_results(before, after, [-a for a in arguments], rounding=0.0)
    return after


def test_equal_branches_are_no_branches() -> None:
    program = plain(lambda x: ad.cond(x[0] > 0.0, lambda x: np.sin(x) * 2.0, lambda x: np.sin(x) * 2.0, x), X)
    assert "cond" not in titles(program)
    assert "sin" in titles(program)


def test_a_known_index_takes_its_branch() -> None:
    program, arguments = program_of(lambda x: ad.switch(np.argmax(x), [np.sin, np.cos, np.exp], x[1]), X)
    (position,) = [i for i, eq in enumerate(program.equations) if eq.op.title == "cond"]
    for index, name in ((-3, "sin"), (1, "cos"), (7, "exp")):
        eq = program.equations[position]
        known = type(eq)(eq.op, (Literal(index), *eq.inputs[1:]), eq.outputs)
        equations = (*program.equations[:position], known, *program.equations[position + 1 :])
        given = Program(program.inputs, equations, program.outputs, program.constants)
        after = check(simplify_branches(given))
        assert titles(after)[-1] == name
        same_results(given, after, arguments, rounding=0.0)


def test_results_that_are_known_outside() -> None:
    def f(x):
        a = x[0] * x[1]
        return ad.cond(x[2] > 0.0, lambda a: (a, np.sin(a), 1.0, a), lambda a: (a, np.cos(a), 1.0, a), a)

    program = plain(f, X)
    (eq,) = [eq for eq in program.equations if eq.op.title == "cond"]
    assert len(eq.outputs) == 1
    assert isinstance(program.outputs[2], Literal)
    assert program.outputs[0] is program.outputs[3]


def test_operands_once() -> None:
    def f(x):
        a = x[0] * x[1]
        return ad.cond(x[2] > 0.0, lambda p, q, r: p * q - r, lambda p, q, r: p + q * r, a, a, 2.0)

    program = plain(f, X)
    (eq,) = [eq for eq in program.equations if eq.op.title == "cond"]
    assert len(eq.inputs) == 2


def test_inside_loops_and_with_derivatives() -> None:
    def f(x):
        def body(c, t):
            return ad.cond(c > 0.3, lambda c, t: np.sin(c) * t, lambda c, t: c - t, c, t), None

        return ad.scan(body, x[0], x)[0]

    plain(ad.value_and_grad(f), X)


def test_nothing_to_do() -> None:
    program, _ = program_of(lambda x: ad.cond(x[0] > 0.0, np.sin, np.cos, x), X)
    assert simplify_branches(program) is program


def test_a_choice_between_numbers_is_a_select() -> None:
    """Nothing is computed on either side; arrays, and sides that compute, are left as they are."""
    larger = lambda x, y: ad.cond(x > y, lambda x, y: (x, 1.0), lambda x, y: (y, 0.0), x, y)
    third = lambda x, k: ad.switch(k, [lambda x: x, lambda x: 2.0], x)
    for f, args in ((larger, (1.5, 0.3)), (larger, (0.3, 1.5)), *[(third, (1.5, np.int64(k))) for k in (-3, 0, 1, 7)]):
        before, arguments = program_of(f, *args)
        after = check(simplify(before))
        assert "cond" not in titles(after)
        same_results(before, after, arguments)
    arrays = lambda x, y: ad.cond(x[0] > y[0], lambda x, y: x, lambda x, y: y, x, y)
    assert "cond" in titles(simplify(program_of(arrays, np.ones(3), np.zeros(3))[0]))
    sides = lambda x, y: ad.cond(x > y, lambda x, y: np.sin(x), lambda x, y: y, x, y)
    assert "cond" in titles(simplify(program_of(sides, 1.0, 0.0)[0]))
