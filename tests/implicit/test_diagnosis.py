"""When a derivative is doubted, and when it is not."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import implicit


@pytest.fixture
def told():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def test_a_solution_at_zero_is_a_solution(told):
    for left in (0.0, 1e-17, 1e-12, 1e-9):
        x = implicit.argmin(lambda x, a: x**2 + a * x**4, lambda a, left=left: left)
        assert abs(ad.grad(x)(1.0)) < 1e-20
        assert abs(ad.jit(ad.grad(x))(1.0)) < 1e-20
    many = implicit.root(lambda x, a: 2 * x + 0.1 * np.roll(x, 1) - a, lambda a: np.full(500, 1e-12) + a / 2.1)
    ad.grad(lambda a: np.sum(many(a)))(0.0)
    assert not told


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_usual_tolerances_are_good_enough_and_a_failed_solve_is_not(scale, told):
    solver = lambda error: lambda a: np.cbrt(a) * (1 + error)
    F = lambda x, a: scale * (x**3 - a)
    ad.grad(implicit.root(F, solver(1e-6)))(8.0)
    assert not told
    ad.grad(implicit.root(F, solver(0.01)))(8.0)
    assert "x is no solution" in str(told[0].message)
    assert told[0].category is implicit.DerivativeWarning
    assert told[0].filename == __file__


def test_a_nan_of_the_solver_is_told_of(told):
    x = implicit.root(lambda x, a: x**3 - a, lambda a: np.nan)
    ad.grad(x)(8.0)
    assert told


def test_compiled_programs_tell_too_and_only_where_something_is_wrong(told):
    x = implicit.root(lambda x, a: x**3 - a, lambda a: np.where(a > 5.0, 1.0, np.cbrt(a)))
    compiled = ad.jit(ad.vmap(ad.grad(x)))
    compiled(np.array([1.0, 2.0]))
    assert not told
    compiled(np.array([1.0, 8.0, 2.0]))
    assert len(told) == 1
    raising = ad.jit(ad.grad(implicit.root(lambda x, a: x**3 - a, lambda a: 1.0 + 0 * a, check="raise")))
    with pytest.raises(ad.SolveError, match="x is no solution"):
        raising(8.0)


def test_forward_mode_and_taylor_mode_look_as_well(told):
    x = implicit.root(lambda x, a: x**3 - a, lambda a: 1.0)
    ad.jvp(x, (8.0,), (1.0,))
    assert told
    told.clear()
    ad.jet(x, (8.0,), ((1.0, 0.0),))
    assert told


def test_nothing_is_said_of_a_value_alone(told):
    implicit.root(lambda x, a: x**3 - a, lambda a: 1.0)(8.0)
    assert not told
