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


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e12])
def test_solutions_and_derivatives_do_not_depend_on_units(size):
    """In small units what was absolute in a tolerance made x wrong by its own size, in large ones "unbounded"."""
    P, q, G, h = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([-1.0, -1.0]), np.array([[1.0, 1.0]]), np.array([1.0])
    whole = lambda q, h: optimize.qp(P, q, G=G, h=h, lower=0.0)
    money = lambda q, h: optimize.qp(size * P, size * q, G=G, h=h, lower=0.0)  # x = (¼, ¾), price 1/8
    length = lambda q, h: optimize.qp(P / size, q, G=G, h=size * h, lower=0.0)
    for solve, x, price in ((money, 1.0, size), (length, size, 1.0)):
        found = solve(q, h)
        np.testing.assert_allclose(found.value / x, [0.25, 0.75], rtol=1e-12)
        np.testing.assert_allclose(found.multipliers.inequality / price, [0.125], rtol=1e-12)
        moved = ad.jit(ad.jacobian(lambda q, solve=solve: solve(q, h).value))(q) / x
        np.testing.assert_allclose(moved, ad.jacobian(lambda q: whole(q, h).value)(q), atol=1e-12)
    least = optimize.lp(size * np.array([-1.0, -2.0]), G=G, h=h, lower=0.0)
    np.testing.assert_allclose(least.value, [0.0, 1.0], atol=1e-12)
    none = optimize.lp(size * np.array([-1.0, -2.0]), G=G, h=size * h, check="ignore")
    assert none.status == "unbounded"
    np.testing.assert_allclose(size * np.array([-1.0, -2.0]) @ none.certificate.direction, -1.0)


def test_tolerances_that_the_iteration_does_not_reach_are_reached_by_its_active_set():
    """The prices were 1e-5 off, with "no further progress": the last iterate is not the best one."""
    rng = np.random.default_rng(8)
    n, p = rng.integers(3, 6), rng.integers(2, 7)
    for _ in range(40):
        B, q, G, h = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(p, n)), rng.random(p)
        upper = np.concatenate([[-0.9], np.ones(n - 1)])
        found = optimize.qp(B @ B.T, q, G=G, h=h, lower=np.full(n, -0.9), upper=upper, tol=1e-13, check="ignore")
        if found.status != "infeasible":
            assert found.converged
            assert found.residual < 1e-13
