"""Sets in subject_to=."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import sets

A = np.array([[3.0, 1.0, 0.0, 0.5], [1.0, 2.0, 0.3, 0.0], [0.0, 0.3, 1.5, 0.2], [0.5, 0.0, 0.2, 1.0]])


def cost(x, b):
    return 0.5 * x @ A @ x - b @ x


B = np.array([1.0, 0.2, -0.5, 0.8])


def by_program(b):
    return optimize.qp(A, -b, A=np.ones((1, 4)), b=np.ones(1), lower=0.0).value


@pytest.mark.parametrize("method", ["auto", "fista", "projected gradient", "frank-wolfe"])
def test_simplex_against_a_quadratic_program(method):
    solve = lambda b: optimize.minimize(cost, np.ones(4), b, subject_to=sets.simplex(), method=method, tol=1e-12)
    found = solve(B)
    assert found.converged
    np.testing.assert_allclose(found.value, by_program(B), atol=1e-7)
    expected = ad.jacobian(by_program)(B)
    np.testing.assert_allclose(ad.jacobian(lambda b: solve(b).value)(B), expected, atol=1e-6)
    batch = np.stack([B, -B, 2 * B])
    solved = ad.jit(ad.vmap(lambda b: solve(b).value))(batch)
    np.testing.assert_allclose(solved, [by_program(b) for b in batch], atol=1e-7)


def test_radius_of_the_set_has_a_derivative():
    solve = lambda r: optimize.minimize(cost, np.zeros(4), 5 * B, subject_to=sets.l2_ball(r), tol=1e-12)
    step = 1e-5
    differences = (solve(0.7 + step).value - solve(0.7 - step).value) / (2 * step)
    np.testing.assert_allclose(ad.jacobian(lambda r: solve(r).value)(0.7), differences, atol=1e-7)
    value = (solve(0.7 + step).fun - solve(0.7 - step).fun) / (2 * step)
    np.testing.assert_allclose(ad.grad(lambda r: solve(r).fun)(0.7), value, rtol=1e-7)


def test_several_sets_are_their_intersection():
    rules = [sets.simplex(), sets.box(-1.0, 0.35)]
    solve = lambda b: optimize.minimize(cost, np.ones(4), b, subject_to=rules, tol=1e-10).value
    capped = lambda b: optimize.qp(A, -b, A=np.ones((1, 4)), b=np.ones(1), lower=0.0, upper=0.35).value
    np.testing.assert_allclose(solve(B), capped(B), atol=1e-8)
    np.testing.assert_allclose(ad.jacobian(solve)(B), ad.jacobian(capped)(B), atol=1e-7)


def test_a_tree_lies_in_the_set_as_a_whole():
    start = {"a": np.ones(2), "b": np.ones(2)}
    joint = lambda x: cost(np.concatenate([x["a"], x["b"]]), B)
    found = optimize.minimize(joint, start, subject_to=[sets.simplex()], tol=1e-11)
    np.testing.assert_allclose(np.concatenate([found.value["a"], found.value["b"]]), by_program(B), atol=1e-8)


def test_what_does_not_go_together_is_refused():
    rule = optimize.equality(lambda x: x[0])
    with pytest.raises(TypeError, match="all constraints as sets"):
        optimize.minimize(np.sum, np.ones(2), subject_to=[sets.simplex(), rule])
    with pytest.raises(ValueError, match=r"sets\.box"):
        optimize.minimize(np.sum, np.ones(2), subject_to=sets.simplex(), bounds=(0.0, 1.0))
    with pytest.raises(ValueError, match="projected gradient"):
        optimize.minimize(np.sum, np.ones(2), subject_to=sets.simplex(), method="bfgs")
    with pytest.raises(ValueError, match="its set and without subject_to"):
        optimize.minimize(np.sum, np.ones(2), subject_to=sets.simplex(), method=optimize.BFGS())
    with pytest.raises(TypeError, match=r"optimize\.sets"):
        optimize.minimize(np.sum, np.ones(2), subject_to=[lambda x: x])


@pytest.mark.row("16.3a")
def test_each_set_says_what_it_can_and_answers_say_whether_they_lie_in_it():
    inside = {
        "simplex": (sets.simplex(), ("project", "lmo", "support", "bregman")),
        "l2_ball": (sets.l2_ball(1.0), ("project", "lmo", "support")),
        "hyperplane": (sets.hyperplane(np.ones(4), 1.0), ("project", "support")),
    }
    u = np.array([0.3, 0.1, 0.4, 0.7])
    for within, able in inside.values():
        asked = {"project": lambda s: s.project(u), "lmo": lambda s: s.lmo(u), "support": lambda s: s.support(u),
                 "bregman": lambda s: s.bregman_project(u)}  # fmt: skip
        for name, ask in asked.items():
            if name in able:
                answer = ask(within)
                if name != "support":
                    assert within.contains(answer)
                else:  # no point of the set is further along u
                    points = np.random.default_rng(0).normal(size=(50, 4))
                    assert all(u @ within.project(p) <= answer + 1e-12 for p in points)
            else:
                with pytest.raises(ad.RuleError, match="has no"):
                    ask(within)
        assert not within.contains(5.0 * u)
        # the method is chosen by what the set can do
        found = optimize.minimize(cost, u, B, subject_to=within)
        assert found.feasible
        assert within.contains(found.value, tol=1e-6)
    with pytest.raises(ad.RuleError, match="has no lmo"):
        optimize.minimize(cost, u, B, subject_to=inside["hyperplane"][0], method="frank wolfe")
    assert bool(ad.jit(lambda b: optimize.minimize(cost, u, b, subject_to=sets.simplex()).feasible)(B))
    assert optimize.minimize(cost, u, B, bounds=(0.0, 1.0)).feasible
    empty = optimize.qp(A, -B, A=np.ones((1, 4)), b=np.ones(1), lower=1.0)
    assert not empty.feasible
    assert optimize.qp(A, -B, A=np.ones((1, 4)), b=np.ones(1), lower=0.0).feasible
