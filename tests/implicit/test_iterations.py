"""The solvers that stand in: from far away, flat starts, many unknowns, saddle points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import rosen

import adjoint as ad
from adjoint import implicit


def test_newton_shortens_its_steps():
    # a whole step from 10 jumps ever farther away: arctan
    x = implicit.root(lambda x, a: np.arctan(x - a), x0=10.0)
    assert_allclose(x(2.0), 2.0, rtol=1e-12)
    assert_allclose(ad.jit(x)(2.0), 2.0, rtol=1e-12)


def test_newton_on_a_singular_derivative_takes_the_shortest_step():
    F = lambda x, a: np.stack([x[0] + x[1] - a, (x[0] + x[1]) ** 2 - a**2])
    x = implicit.root(F, lambda a: np.zeros(2) + a / 2, check="ignore")
    assert_allclose(np.sum(x(3.0)), 3.0)
    started = implicit.root(F, x0=np.zeros(2))
    assert_allclose(np.sum(started(3.0)), 3.0, rtol=1e-12)


def test_descent_leaves_a_saddle_point():
    f = lambda x, a: x[0] ** 2 - x[1] ** 2 + x[1] ** 4 / 2 - a * x[1]
    found = implicit.argmin(f, x0=np.array([0.3, -1e-3]))(0.01)
    assert f(found, 0.01) < -0.48
    assert np.linalg.norm(ad.grad(f)(found, 0.01)) < 1e-10


def test_descent_on_the_valley_of_rosenbrock():
    def valley(x, a):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)

    x = implicit.argmin(valley, x0=np.array([-1.2, 1.0, -0.5, 2.0]))
    found = x(1.0)
    assert rosen(found) < 1e-20
    step = 1e-5
    assert_allclose(ad.jacobian(x)(1.0), (x(1.0 + step) - x(1.0 - step)) / (2 * step), rtol=1e-6)


def test_many_unknowns_need_a_solver_for_a_minimum_and_none_for_a_root():
    with pytest.raises(ad.ShapeError, match="Give a solver"):
        implicit.argmin(lambda x, a: np.sum((x - a) ** 2), x0=np.zeros(300))(1.0)
    root = implicit.root(lambda x, a: 2 * x + 0.1 * np.roll(x, 1) - a, x0=np.zeros(300))
    assert_allclose(root(2.1), 1.0, rtol=1e-8)


def test_picard_ends_where_the_last_digits_go_round():
    x = implicit.fixed_point(lambda x, a: np.sqrt(a + x), x0=1.0)
    assert_allclose([x(2.0), ad.grad(x)(2.0)], [2.0, 1 / 3], rtol=1e-14)
    away = implicit.fixed_point(lambda x, a: 2 * x + a, x0=1.0)
    with pytest.warns(implicit.DerivativeWarning, match="does not settle"):
        assert not abs(away(1.0)) < 1e100


LOST = {
    "no root": (implicit.root(lambda x, a: x * x + a, x0=1.0), "no root"),
    "two equations without a root": (implicit.root(lambda x, a: x * x + a, x0=np.ones(2)), "no root"),
    "no number": (implicit.root(lambda x, a: x * x - np.nan * a, x0=1.0), "no root"),
    "a maximum": (implicit.argmin(lambda x, a: x**4 - a * x * x, x0=0.0), "no minimum"),
    "no minimum": (implicit.argmin(lambda x, a: a * np.exp(-x), x0=0.5), "no minimum"),
    "a line": (implicit.argmin(lambda x, a: a * np.sum(x), x0=np.ones(2)), "no minimum"),
    "a map that stretches": (implicit.fixed_point(lambda x, a: 2.0 * x + a, x0=0.0), "does not settle"),
    "a map that hardly contracts": (implicit.fixed_point(lambda x, a: 0.99999 * x + a, x0=0.0), "does not settle"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_not_found_is_said_to_whoever_asks_for_x_alone(name):
    solve, words = LOST[name]
    with pytest.warns(implicit.DerivativeWarning, match=words):
        solve(1.0)
    with pytest.warns(implicit.DerivativeWarning, match=words):
        ad.jit(ad.vmap(solve))(np.array([1.0, 1.0]))


def test_nothing_is_said_of_roots_that_are_hard_to_find():
    """Warnings are errors here: double roots, roots at zero, equations that several points solve, start at the root."""
    assert abs(implicit.root(lambda x, a: (x - a) ** 2, x0=1.0)(2.0) - 2.0) < 1e-6
    assert abs(implicit.root(lambda x, a: a * x**3, x0=1.0)(2.0)) < 1e-6
    found = implicit.root(lambda x, a: np.stack([x[0] + x[1] - a, 2 * x[0] + 2 * x[1] - 2 * a]), x0=np.zeros(2))(1.0)
    assert_allclose(found, [0.5, 0.5])
    assert implicit.root(lambda x, a: x - a, x0=2.0)(2.0) == 2.0
    assert_allclose(implicit.argmin(lambda x, a: (x[0] - a) ** 2, x0=np.zeros(2))(1.0), [1.0, 0.0])
    assert np.isnan(implicit.root(lambda x, a: x - a, x0=2.0, check="ignore")(np.nan))
