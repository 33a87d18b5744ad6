"""Derivatives of the smallest value, where x or its prices are not unique, against solving again by HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

import adjoint as ad
from adjoint import optimize

# the vertex (1, 1), where four constraints meet
G, H, C = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 1.0, 2.0, 3.0]), -np.ones(2)


def test_degenerate_vertex():
    """The derivative lies between those to both sides, along many directions."""
    value = lambda h: optimize.lp(C, G=G, h=h).fun
    gradient = ad.grad(value)(H)
    again = lambda h: linprog(C, G, h, bounds=(None, None)).fun
    for d in np.random.default_rng(0).normal(size=(12, 4)):
        below, above = ((again(H + s * 1e-6 * d) - again(H)) / (s * 1e-6) for s in (-1.0, 1.0))
        assert min(below, above) - 1e-6 <= gradient @ d <= max(below, above) + 1e-6
    np.testing.assert_allclose(ad.grad(lambda c: optimize.lp(c, G=G, h=H).fun)(C), [1.0, 1.0], atol=1e-8)
    # in a compiled batch: prices, each of which explains the costs
    found = ad.jit(ad.vmap(ad.grad(value)))(np.stack([H, 2 * H]))
    np.testing.assert_allclose(found @ G, np.stack([C, C]), atol=1e-7)
    assert np.all(found <= 0)
    pushed = ad.jvp(lambda h: optimize.lp(C, G=G, h=h, check="ignore").fun, (H,), (np.ones(4),))[1]
    np.testing.assert_allclose(pushed, np.sum(gradient), rtol=1e-6)


def test_solutions_that_are_not_unique():
    """Every x with x₁ + x₂ = b costs b."""
    value = lambda b: optimize.lp(np.ones(2), A=np.ones((1, 2)), b=b, lower=0.0).fun
    np.testing.assert_allclose(ad.grad(value)(np.ones(1)), [1.0], atol=1e-9)


def test_second_derivative_is_that_of_the_solution():
    given = {"G": np.ones((1, 3)), "h": np.ones(1), "lower": -0.1, "upper": 0.9}
    solve = lambda q: optimize.qp(2.0 * np.eye(3), q, **given)
    q = np.array([-1.0, -2.0, -2.5])
    np.testing.assert_allclose(ad.grad(lambda q: solve(q).fun)(q), solve(q).value, atol=1e-12)
    np.testing.assert_allclose(ad.hessian(lambda q: solve(q).fun)(q), ad.jacobian(lambda q: solve(q).value)(q))


def test_without_solution_it_is_nan():
    value = lambda h: optimize.qp(np.eye(1), np.ones(1), G=np.array([[1.0], [-1.0]]), h=h).fun
    assert np.all(np.isnan(ad.grad(value)(np.array([-1.0, -1.0]))))


@pytest.mark.parametrize("compiled", [False, True])
def test_constraints_that_say_the_same_twice(compiled):
    """x = b / 2 twice, so that the value is 2 (b / 2 - 2)²; x is a tree."""

    def value(b):
        twice = [optimize.inequality(lambda p, k=k: k * (p["u"] + p["v"] - b)) for k in (1.0, 2.0)]
        f = lambda p: (p["u"] - 2.0) ** 2 + (p["v"] - 2.0) ** 2
        return optimize.minimize(f, {"u": 0.0, "v": 0.0}, subject_to=twice).fun

    found = (ad.jit(ad.grad(value)) if compiled else ad.grad(value))(1.0)
    np.testing.assert_allclose(found, -3.0, atol=1e-7)
