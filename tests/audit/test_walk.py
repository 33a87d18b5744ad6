"""Walking through a program gives its value, and sees every primitive that runs."""

import numpy as np
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.audit.walk import walk


def f(x):
    y = ad.scan(lambda c, t: (c + t, np.sin(c) * t), x[0], x, reverse=True)
    z = ad.while_loop(lambda c: c < 100.0, lambda c: c * x[1], 1.0)
    inner = ad.checkpoint(np.exp)(x[2])
    return y[0] + np.sum(y[1]) + z + inner + ad.cond(x[0] > 0, np.cos, np.sin, x[0])


def test_values_are_those_of_the_function():
    for x in (np.array([1.0, 2.0, 0.5]), np.array([-1.0, 3.0, 0.1])):
        assert_allclose(walk(ad.trace(f)(x).program, [x], lambda *_: None), [f(x)], rtol=1e-15)


def test_every_turn_and_only_the_side_taken_is_seen():
    seen = []
    walk(ad.trace(f)(np.ones(3)).program, [np.array([1.0, 2.0, 0.5])], lambda eq, xs, zs: seen.append(eq.op.title))
    assert seen.count("sin") == 3  # three turns of the scan, and not the other branch
    assert seen.count("cos") == seen.count("exp") == 1
    assert seen.count("less") == 8  # 1, 2, 4 … 128


def test_results_can_be_changed_on_the_way():
    program = ad.trace(lambda x: np.abs(x) + x)(1.0).program
    flip = lambda eq, xs, zs: [-zs[0]] if eq.op.title == "absolute" else None
    assert walk(program, [np.float64(3.0)], flip) == [0.0]
