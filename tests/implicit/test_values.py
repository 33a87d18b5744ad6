"""Optimal values: closures, several arguments, trees, constraints; what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import implicit


def test_several_arguments_and_trees():
    f = lambda x, p, scale: np.sum((x["u"] - p["c"]) ** 2) + scale * (x["v"] - 1.0) ** 2 + scale * p["d"]
    h = implicit.value(f, lambda p, scale: {"u": p["c"], "v": 1.0})
    p = {"c": np.array([1.0, 2.0]), "d": 3.0}
    gradient, by_scale = ad.grad(h, argnums=(0, 1))(p, 2.0)
    assert_allclose(gradient["c"], 0.0, atol=1e-15)
    assert_allclose([gradient["d"], by_scale], [2.0, 3.0])


def test_what_the_objective_closes_over_is_differentiated():
    def outer(b):
        h = implicit.value(lambda x, a: a * x**2 / 2 - b * x, lambda a: 0.6 / a)
        return h(2.0)  # -b² / 4 where 0.6 is b

    assert_allclose(ad.grad(outer)(0.6), -0.3, rtol=1e-12)


def test_third_derivatives_and_mixed_ones():
    h = implicit.value(lambda x, a, b: a * x**4 / 4 - b * x, lambda a, b: np.cbrt(b / a))
    closed = lambda a, b: -0.75 * b * np.cbrt(b / a)
    for k in (1, 2, 3):
        found = ad.derivative(lambda t: h(1.0 + t, 2.0 - t), k)(0.0)
        assert_allclose(found, ad.derivative(lambda t: closed(1.0 + t, 2.0 - t), k)(0.0), rtol=1e-11)
    mixed = ad.grad(ad.grad(h, argnums=0), argnums=1)(1.0, 2.0)
    assert_allclose(mixed, ad.grad(ad.grad(closed, argnums=0), argnums=1)(1.0, 2.0), rtol=1e-12)


def test_it_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="sense='best'"):
        implicit.value(np.sin, np.sin, sense="best")
    with pytest.raises(TypeError, match="in order"):
        implicit.value(lambda x, a: (x - a) ** 2, lambda a: a)(a=1.0)
    with pytest.raises(ad.SolveError, match="not unique"):
        ad.grad(implicit.value(lambda x, a: a * x, lambda a: 0.0 * a, check="raise"))(1.0)


CONSTRAINED = {
    "equality": ({"equality": lambda x, a: x - 2 * a}, lambda a: 2 * a, "min", 9.0),
    "inequality": ({"inequality": lambda x, a: x - 2 * a}, lambda a: 2 * a, "min", 9.0),
    "largest": ({"inequality": lambda x, a: x - 2 * a}, lambda a: 2 * a, "max", -9.0),
    "inactive": ({"inequality": lambda x, a: x - 9 * a}, lambda a: 5 * a, "min", 0.0),
}


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_that_move_with_the_arguments(name):
    """min (x - 5a)² where x is 2a: 9a²; its derivative is that of the Lagrangian."""
    rules, solver, sense, factor = CONSTRAINED[name]
    sign = 1.0 if sense == "min" else -1.0
    h = implicit.value(
        lambda x, a: sign * (x - 5 * a) ** 2, solver, sense=sense, subject_to=implicit.Constraints(**rules)
    )
    assert_allclose(h(1.2), factor * 1.44, atol=1e-12)
    assert_allclose(ad.grad(h)(1.2), 2.4 * factor, atol=1e-12)
    assert_allclose(ad.grad(ad.grad(h))(1.2), 2.0 * factor, atol=1e-10)


def test_a_set_or_a_term_that_moves_with_the_arguments():
    below = implicit.Projected(lambda y, a: np.minimum(y, a))
    h = implicit.value(lambda x, a: (x - 3.0) ** 2, x0=0.0, subject_to=below)
    assert_allclose([h(1.2), ad.grad(h)(1.2), ad.grad(ad.grad(h))(1.2)], [3.24, -3.6, 2.0], rtol=1e-9)
    soft = implicit.Proximal(lambda y, step, a: np.sign(y) * np.maximum(np.abs(y) - step * a, 0.0))
    h = implicit.value(lambda x, a: 0.5 * (x - 3.0) ** 2, x0=0.0, subject_to=soft)  # x = 3 - a
    assert_allclose([h(1.2), ad.grad(h)(1.2), ad.grad(ad.grad(h))(1.2)], [0.72, 1.2, 1.0], rtol=1e-9)


def test_constraints_make_an_optimizer_unique():
    """A vertex and the middle of an edge of a linear program; a bound that cuts a direction without curvature."""
    costs = lambda x, a: -a * x[0] - x[1]
    cut = implicit.Constraints(inequality=lambda x, a: x[0] + x[1] - 1.0, bounds=(0.0, None))
    vertex = implicit.value(costs, lambda a: np.array([1.0, 0.0]), subject_to=cut, check="raise")
    assert vertex.is_unique(2.0)
    assert_allclose(ad.grad(vertex)(2.0), -1.0)
    edge = implicit.value(costs, lambda a: np.array([0.5, 0.5]), subject_to=cut, check="raise")
    assert not edge.is_unique(1.0)
    with pytest.raises(ad.SolveError, match="not unique"):
        ad.grad(edge)(1.0)
    ball = implicit.Constraints(inequality=lambda x, a: np.sum(x * x) - a)
    inside = implicit.value(lambda x, a: -np.sum(x), lambda a: np.sqrt(a / 2) * np.ones(2), subject_to=ball)
    assert inside.is_unique(2.0)
    assert_allclose(ad.grad(inside)(2.0), -0.5, rtol=1e-9)  # -√(2a)
