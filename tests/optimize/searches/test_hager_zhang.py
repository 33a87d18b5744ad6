"""Hager and Zhang's search: its conditions hold, and minima are found beyond the rounding of values."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from tests.optimize.functions import STANDARD
from tests.optimize.searches.test_strong_wolfe import line_of


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("first", [1e-6, 1.0, 1e3])
def test_one_pair_of_conditions_holds(name, first):
    f, x0, _ = STANDARD[name]
    search = optimize.HagerZhang()
    problem, line = line_of(f, x0, first=first)
    found = search.search(problem, line)
    assert found.success
    d, d0 = np.vdot(ad.grad(f)(found.x), line.direction), line.derivative
    wolfe = found.value <= line.value + search.sufficient * found.step * d0 and d >= search.curvature * d0
    level = (2 * search.sufficient - 1) * d0 >= d >= search.curvature * d0
    assert wolfe or (level and found.value <= line.value + search.blur * abs(line.value))


def test_derivatives_decide_where_values_are_lost_in_rounding():
    """Near its minimum a function of size 1e8 does not change by as much as its last digit; its gradient does."""
    f = lambda x: 1e8 + np.sum((x - 1.0) ** 2)
    problem, line = line_of(f, np.array([1.0 + 1e-6]), first=5.0)
    assert abs(optimize.Armijo().search(problem, line).x[0] - 1.0) > 8e-6  # values do not tell it from a fall
    found = optimize.HagerZhang(curvature=0.1).search(problem, line)
    assert found.success
    assert abs(found.x[0] - 1.0) < 1e-7


def test_a_wall_of_nan_is_not_passed():
    problem, line = line_of(lambda x: np.sum(x - np.log(x)), np.array([3.0]), first=100.0)
    with np.errstate(all="ignore"):
        found = optimize.HagerZhang().search(problem, line)
    assert found.success
    assert 0 < found.x[0] < 3


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["eager", "jit"])
def test_methods_use_it(run):
    f, x0, _ = STANDARD["wood"]
    method = optimize.ConjugateGradients("HZ", search=optimize.HagerZhang())
    found = run(lambda x: optimize.minimize(f, x, method=method))(x0)
    assert found.status == "converged"
    assert found.fun < 1e-12
