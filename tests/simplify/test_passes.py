"""Simplified programs compute what they did, with fewer equations, and are not simplified further by a second run."""

import numpy as np
import pytest
from hypothesis import given

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify import simplify
from tests.program.test_random import searching
from tests.strategies import programs


def agree(before: Program, args, rtol=1e-12, atol=1e-12) -> Program:
    """The simplified program: well formed, of the same types, with the same values, and as simple as it gets."""
    after = check(simplify(before))
    assert [(t.shape, t.dtype) for t in after.output_types] == [(t.shape, t.dtype) for t in before.output_types]
    with np.errstate(all="ignore"):
        found, expected = after(*args), before(*args)
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
    again = simplify(Program(after.inputs, after.equations, after.outputs, after.constants))
    assert str(again) == str(after)
    return after


@searching
@given(programs())
def test_values_and_gradients_stay(program) -> None:
    x = program.inputs
    both = lambda *xs: (program.pool(*xs), ad.grad(program, argnums=tuple(range(len(x))))(*xs))
    agree(ad.trace(both)(*x).program, x, rtol=1e-11, atol=1e-11)


def rosenbrock(x):
    a, b = x[:-1], x[1:]
    t = b - a * a
    return np.sum(100.0 * t * t + (1.0 - a) ** 2)


def scalar(x):
    c = x**2 + np.exp(x**2)
    return np.sqrt(c) + np.cos(c)


@pytest.mark.parametrize("f, x, most", [(rosenbrock, np.linspace(-1, 2, 10), 16), (scalar, np.float64(0.7), 14)])
def test_the_number_of_equations(f, x, most) -> None:
    program = ad.trace(ad.value_and_grad(f))(x).program
    assert len(agree(program, [x]).equations) <= most
