"""Backtracking: the first step that makes the function small enough, and how many values it takes."""

import numpy as np
import pytest

from adjoint.optimize import Armijo
from tests.optimize.searches.test_strong_wolfe import line_of


@pytest.mark.row("16.2.4a")
def test_the_largest_power_that_fulfills_the_inequality():
    f = lambda x: np.sum(x**2)
    search = Armijo(sufficient=0.3, shrink=0.5)
    problem, line = line_of(f, np.array([1.0, -2.0]), first=16.0)
    before = int(problem.counts["value"])
    found = search.search(problem, line)
    passes = lambda step: f(line.at(step)) <= f(line.x) + 0.3 * step * line.derivative
    assert passes(found.step)
    assert not passes(found.step / 0.5)
    assert problem.counts["value"] - before == 1 + round(np.log(found.step / 16.0) / np.log(0.5))


@pytest.mark.row("17.1.5b")
def test_half_is_too_much_for_newtons_step_on_a_quadratic():
    f = lambda x: 0.5 * np.sum(np.array([1.0, 9.0]) * x**2)
    problem, line = line_of(f, np.array([1.0, 1.0]), direction=-np.array([1.0, 1.0]))
    assert Armijo(sufficient=0.4).search(problem, line).step == 1.0
    assert Armijo(sufficient=0.6).search(problem, line).step < 1.0


def test_nan_and_zero_steps():
    problem, line = line_of(lambda x: np.sum(x - np.log(x)), np.array([3.0]), first=1024.0)
    with np.errstate(all="ignore"):
        found = Armijo().search(problem, line)
    assert found.success
    assert found.x[0] > 0
    problem, line = line_of(lambda x: np.sum(x**2), np.array([1.0]))
    assert not Armijo().search(problem, line._replace(direction=line.gradient)).success
