"""The strong Wolfe conditions hold after a search, where cheaper searches break them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import Armijo, HagerZhang, StrongWolfe
from adjoint.optimize.problem import Problem, read_unknowns
from adjoint.optimize.searches.search import Line
from tests.optimize.functions import STANDARD


def line_of(f, x, direction=None, first=1.0):
    x, unknowns = read_unknowns("test", x)
    problem = Problem("test", f, unknowns, 1e-8)
    value, g = problem.value_and_gradient(x)
    direction = -g if direction is None else direction
    return problem, Line(x, direction, value, g, np.vdot(g, direction), np.float64(first))


def conditions(problem, line, found, search):
    slope = np.vdot(ad.grad(lambda v: problem.value(v))(found.x), line.direction)
    falls = found.value <= line.value + search.sufficient * found.step * line.derivative
    return bool(falls), bool(abs(slope) <= search.curvature * abs(line.derivative))


@pytest.mark.row("16.2.4b")
@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("curvature", [0.9, 0.1])
@pytest.mark.parametrize("first", [1e-6, 1.0, 1e3])
def test_both_inequalities(name, curvature, first):
    f, x0, _ = STANDARD[name]
    search = StrongWolfe(curvature=curvature)
    problem, line = line_of(f, x0, first=first)
    found = search.search(problem, line)
    assert found.success
    assert conditions(problem, line, found, search) == (True, True)
    assert found.value == f(found.x)


def test_backtracking_alone_breaks_the_second_one():
    f = lambda x: np.sum(np.cosh(x))
    problem, line = line_of(f, np.array([5.0]), first=1e-6)
    found = Armijo().search(problem, line)
    assert conditions(problem, line, found, StrongWolfe()) == (True, False)
    assert conditions(problem, line, StrongWolfe().search(problem, line), StrongWolfe()) == (True, True)


def test_a_wall_of_nan_is_not_passed():
    problem, line = line_of(lambda x: np.sum(x - np.log(x)), np.array([0.01]), first=1.0)
    far = line._replace(direction=-line.direction * 0 - 1.0, derivative=np.float64(-1.0))
    problem, line = line_of(lambda x: np.sum(x - np.log(x)), np.array([3.0]), first=100.0)
    with np.errstate(all="ignore"):
        found = StrongWolfe().search(problem, line)
    assert found.success
    assert 0 < found.x[0] < 3
    assert far.derivative < 0


def test_a_zero_step_is_no_success():
    problem, line = line_of(lambda x: np.sum(x**2), np.array([1.0, 1.0]))
    uphill = line._replace(direction=line.gradient)  # the slope is not that of the direction
    assert not StrongWolfe().search(problem, uphill).success


@pytest.mark.parametrize("search", [StrongWolfe, HagerZhang, Armijo])
def test_conditions_that_no_step_fulfills_are_refused(search):
    with pytest.raises(ValueError, match=f"{search.__name__}: sufficient is 2.0"):
        search(sufficient=2.0)
    other = {"shrink": 1.0} if search is Armijo else {"curvature": 1e-5}
    with pytest.raises(ValueError, match=next(iter(other))):
        search(**other)
