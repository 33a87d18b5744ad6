"""Iterations beside a loop from which something is missing."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.control.scan import Scan
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll.candidates import find_candidates
from adjoint.simplify.reroll.driver import reroll
from adjoint.simplify.reroll.peeling import complete_iterations
from adjoint.simplify.reroll.repetitions import number_program

T = 20


def bits(values):
    return [(np.asarray(v).dtype, np.shape(v), np.asarray(v).tobytes()) for v in values]


def rolled(f, *args):
    """The only loops of a function, after a look at the numbers."""
    program = drop_dead_code(ad.trace(f)(*args).program)
    numbers = number_program(program)
    longer = complete_iterations(numbers, find_candidates(numbers, 8, 8))
    plain = [np.asarray(a)[()] for a in args]
    for p in (longer, new := reroll(program, least=8)):
        if p is not None:
            assert bits(interpret(check(p), plain)) == bits(interpret(program, plain))
    return [eq for eq in new.equations if isinstance(eq.op, Scan)], new


@pytest.mark.parametrize("start", [0.0, 1.0, -0.0, 3, 0.1])
def test_a_start_that_is_a_python_number(start):
    def f(x):
        s = start
        for t in range(T):
            s = s + x[t] * x[t]
        return s

    (loop,), _ = rolled(f, np.arange(1.0, T + 1.0))
    assert loop.op.length == T


def test_a_start_that_is_rounded_to_the_dtype_of_the_carry():
    def f(x):
        s = 0.1
        for t in range(T):
            s = s + x[t] * x[t]
        return s

    (loop,), _ = rolled(f, np.arange(1.0, T + 1.0, dtype=np.float32))
    assert loop.op.length == T


def test_a_whole_number_where_the_carry_is_none_stays_outside():
    def f(x):
        s = 2
        for t in range(T):
            s = (s + x[t]) * 0.5
        return s

    (loop,), _ = rolled(f, np.arange(T))
    assert loop.op.length == T - 1


@pytest.mark.parametrize("x", [np.linspace(-1.0, 1.0, T), np.zeros(T), -np.zeros(T)])
def test_the_first_iteration_of_a_backward_pass_has_nothing_to_add_to(x):
    def f(a, b, x):
        h = x[0]
        for _ in range(T):
            h = np.sin(a * h) + b * a
        return h * h

    (forward, back), _ = rolled(ad.value_and_grad(f, argnums=(0, 1, 2)), 0.7, 0.3, x)
    assert (forward.op.length, back.op.length) == (T, T)


def test_a_first_iteration_of_other_primitives_stays_outside():
    def f(a, x):  # the backward pass masks its products after it has passed the first x[t]
        h = x[0]
        for t in range(T):
            h = np.sin(a * h) + x[t] * a
        return h * h

    (forward, back), _ = rolled(ad.value_and_grad(f, argnums=(0, 1)), 0.7, np.linspace(-1.0, 1.0, T))
    assert (forward.op.length, back.op.length) == (T, T - 1)


def test_complex_sums():
    def f(a, x, h):
        for _ in range(T):
            h = a * h * h + x * a
        return np.abs(h) ** 2

    (forward, back), _ = rolled(ad.value_and_grad(f, argnums=(0, 1, 2)), 0.2 + 0.1j, 0.3 - 0.1j, 0.1j)
    assert (forward.op.length, back.op.length) == (T, T)


def test_the_last_iteration_of_a_backward_pass_need_not_go_on():
    def f(W, A):
        h, hs = np.zeros(3), np.empty_like(A)
        for t in range(T):
            h = np.tanh(W @ h + A[t])
            hs[t] = h
        return np.sum(hs)

    A = np.random.default_rng(0).normal(size=(T, 3))
    (forward, back), new = rolled(ad.value_and_grad(f), np.eye(3) * 0.5, A)
    assert (forward.op.length, back.op.length) == (T, T)
    assert len(new.equations) < 14


def test_another_first_iteration_stays_outside():
    def f(x):
        s = np.cos(x[0]) * 3.0
        for t in range(T):
            s = s + np.sin(x[t]) * x[t]
        return s

    (loop,), new = rolled(f, np.arange(1.0, T + 1.0))
    assert loop.op.length == T
    assert "cos" in [eq.op.title for eq in new.equations]
