"""Loops that a trace wrote out, written as loops again: the same numbers, in any length of code that is not longer."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.scan import Scan
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll import FEWEST, reroll
from tests.simplify.loop_cases import CASES

# What is stacked or transposed is laid out otherwise in memory, and BLAS and np.sum add in the order of memory.
ROUNDED = {"descent", "stacked_last"}


def traced(f, args):
    return drop_dead_code(ad.trace(f)(*args).program)


def plain(args):
    return [np.asarray(a)[()] for a in args]


def bits(values):
    return [(np.asarray(v).dtype, np.shape(v), np.asarray(v).tobytes()) for v in values]


def same(name, program, rolled, args):
    check(rolled)
    ours, theirs = (interpret(p, plain(args)) for p in (rolled, program))
    if name in ROUNDED:
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    else:
        assert bits(ours) == bits(theirs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("T", [1, 2, 3, 7, 8, 9, 10, 13, 24, 40])
def test_values_are_the_same_in_every_bit(name, T):
    f, args = CASES[name](T)
    program = traced(f, args)
    same(name, program, reroll(program, least=8), args)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("T", [2, 9, 12, 25])
def test_gradients_are_the_same_in_every_bit(name, T):
    f, args = CASES[name](T)
    program = traced(ad.value_and_grad(f, argnums=tuple(range(len(args)))), args)
    same(name, program, reroll(program, least=8), args)


def lengths(name, transform=lambda f, args: f):
    found = []
    for T in (40, 60):
        f, args = CASES[name](T)
        found.append(len(reroll(traced(transform(f, args), args)).equations))
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_code_does_not_grow_with_the_number_of_turns(name):
    first, second = lengths(name)
    assert first == second < 30


@pytest.mark.parametrize("name", CASES)
def test_the_code_of_a_gradient_does_not_grow_with_the_number_of_turns(name):
    first, second = lengths(name, lambda f, args: ad.value_and_grad(f, argnums=tuple(range(len(args)))))
    assert first == second < 120


def test_few_turns_stay_written_out():
    f, args = CASES["recurrent_network"](FEWEST - 1)
    program = traced(f, args)
    assert reroll(program) is program


def test_a_second_time_there_is_nothing_to_do():
    for make in CASES.values():
        f, args = make(30)
        once = reroll(traced(ad.value_and_grad(f), args))
        assert reroll(once) is once


def scans(program):
    return [eq for eq in program.equations if isinstance(eq.op, Scan)]


def test_rows_written_one_by_one_are_the_stack_of_the_loop():
    f, args = CASES["recurrent_network"](50)
    (eq,) = scans(reroll(traced(f, args)))
    assert len(eq.op.body.equations) == 3
    assert eq.op.length == 50


def test_the_way_back_is_a_loop_in_the_other_direction():
    f, args = CASES["recurrent_network"](50)
    forward, back = scans(reroll(traced(ad.value_and_grad(f), args)))
    assert not forward.op.reverse
    assert back.op.reverse


def test_loops_inside_loops():
    f, args = CASES["loops_in_a_loop"](40)
    (outer,) = scans(reroll(traced(f, args)))
    (inner,) = scans(outer.op.body)
    assert (outer.op.length, inner.op.length) == (40, 12)


def test_lines_are_those_of_the_first_turn():
    f, args = CASES["two_scalars"](50)
    program = traced(f, args)
    (eq,) = scans(reroll(program))
    assert eq.op.body.equations[0].location is not None
    assert {e.location for e in eq.op.body.equations} <= {e.location for e in program.equations}
