"""Rows read from where they were written."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as anp
from adjoint.ops.arrays.index import ScatterSet, Slice
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.loops.store_forwarding import forward_rows


def both(f, *args):
    program = drop_dead_code(ad.trace(f)(*args).program)
    return program, check(forward_rows(program))


def kinds(program):
    return [type(eq.op) for eq in program.equations]


def same(f, *args):
    program, forwarded = both(f, *args)
    for a, b in zip(interpret(program, args), interpret(forwarded, args), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return forwarded


def test_a_row_that_was_written_is_the_value():
    def f(x):
        y = anp.zeros(4)
        y[1] = x[0] * 2.0
        y[2] = y[1] + x[1]
        return y[2] * y[1]

    assert ScatterSet not in kinds(same(f, np.arange(3.0)))


def test_a_row_that_was_not_written_is_read_before_the_writes():
    def f(x):
        y = x * 1.0
        for t in range(1, 5):
            y[t] = y[t] + y[t - 1]
        return y[4]

    assert ScatterSet not in kinds(same(f, np.arange(5.0)))


def test_an_older_version_keeps_its_rows():
    def f(x):
        y = x * 1.0
        old = y.copy()
        y[0] = x[1]
        first = y[0]
        y[0] = x[2]
        return old[0] + 10.0 * first + 100.0 * y[0]

    same(f, np.arange(1.0, 4.0))


def test_elements_of_rows():
    def f(x):
        y = anp.zeros((3, 2))
        y[1] = x * 2.0
        return y[1, 0] + y[1, 1] * y[0, 0]

    assert ScatterSet not in kinds(same(f, np.arange(1.0, 3.0)))


def test_a_value_that_is_spread_over_a_row_is_read_from_the_array():
    def f(x):
        y = ScatterSet(("slice", (1,)))(np.stack([x, x, x]), x[0])
        return y[1] * x

    assert ScatterSet in kinds(same(f, np.arange(1.0, 3.0)))


def test_writes_of_another_form_are_not_looked_through():
    def f(x):
        y = x * 1.0
        y[1] = x[0]
        y[0:2] = x[2:4]
        return y[1]

    same(f, np.arange(1.0, 5.0))


@pytest.mark.parametrize("x", [np.arange(1.0, 7.0), np.array([0.0, -0.0, 1.0, -0.0, 0.0, -1.0])])
def test_cotangents_that_go_through_rows(x):
    def f(x):
        y = anp.zeros(6)
        for t in range(1, 6):
            y[t] = -0.5 * y[t - 1] * x[t - 1] + x[t]
        return np.sum(y * -0.0) + y[3] * y[5]

    forwarded = same(ad.value_and_grad(f), x)
    assert kinds(forwarded).count(ScatterSet) <= 5


def test_a_chain_is_read_in_time_that_does_not_grow():
    def f(x):
        y = x * 1.0
        for t in range(1, 300):
            y[t] = y[0] + y[t]
        return y[299]

    forwarded = same(f, np.arange(300.0))
    assert kinds(forwarded).count(Slice) < 700
    assert ScatterSet not in kinds(forwarded)
