"""Support functions and linear maximizers, and their derivatives against differences; projections by entropy."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.optimize import sets


def difference(f, x, dx, eps=1e-6):
    return (f(x + eps * dx) - f(x - eps * dx)) / (2 * eps)


def test_supports_move_with_the_sums_of_a_transport_polytope():
    rng = np.random.default_rng(0)
    u, b = rng.normal(size=(2, 3)), np.array([0.5, 0.7, 0.8])
    support = lambda t: sets.transport(np.stack([0.6 + t, 1.4 - t]), b).support(u)

    def largest(t):  # by rows, then by columns
        sums = np.concatenate([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))])
        return -linprog(-u.ravel(), A_eq=sums, b_eq=[0.6 + t, 1.4 - t, *b]).fun

    for run in (ad.value_and_grad(support), ad.jit(ad.value_and_grad(support))):
        value, slope = run(0.13)
        np.testing.assert_allclose(value, largest(0.13))
        np.testing.assert_allclose(slope, difference(largest, 0.13, 1.0, 1e-3), rtol=1e-9)


def test_the_maximizer_of_a_transport_polytope_moves_with_its_sums():
    u, b = np.array([[3.0, 1.0, -0.5], [0.0, 2.0, 1.0]]), np.array([0.5, 0.7, 0.8])
    best = lambda t: sets.transport(np.stack([0.6 + t, 1.4 - t]), b).lmo(u)
    np.testing.assert_allclose(ad.jvp(best, (0.1,), (1.0,))[1], difference(best, 0.1, 1.0), atol=1e-9)


def test_the_maximizer_of_a_nuclear_ball_turns_with_its_direction():
    rng = np.random.default_rng(1)
    u, du = rng.normal(size=(2, 3, 4))
    ball = sets.nuclear_ball(0.7)
    np.testing.assert_allclose(ad.jvp(ball.lmo, (u,), (du,))[1], difference(ball.lmo, u, du), atol=1e-8)
    slope = lambda u: np.sum(du * ad.grad(ball.support)(u))
    np.testing.assert_allclose(ad.jvp(slope, (u,), (du,))[1], difference(slope, u, du), atol=1e-8)


def test_maximizers_on_a_section_without_upper_bounds():
    section = sets.box_section(0.0, np.inf, np.array([1.0, 2.0, 1.0]), 1.0)
    u = np.array([0.1, 0.9, 0.4])
    np.testing.assert_allclose(section.lmo(u), [0.0, 0.5, 0.0])
    np.testing.assert_allclose(section.support(u), 0.45)


def test_supports_of_cones_and_planes_are_infinite_but_in_some_directions():
    a = np.array([1.0, -2.0])
    A = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    cases = [
        (sets.psd(), -np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[-2.0, 0.0], [0.0, 1e-3]]), 0.0),
        (sets.second_order_cone(), np.array([-2.0, 1.0, 1.0]), np.array([-2.0, 2.0, 1.0]), 0.0),
        (sets.exponential_cone(), np.array([0.5, -1.0, -1.0]), np.array([0.5, 1.0, -1.0]), 0.0),
        (sets.half_space(a, 3.0), 2.0 * a, -2.0 * a, 6.0),
        (sets.hyperplane(a, 3.0), -2.0 * a, np.array([1.0, 2.0]), -6.0),
        (sets.affine(A, np.array([2.0, 1.0])), np.array([1.0, 3.0, 1.0]), np.array([1.0, 3.0, 1.1]), 5.0),
        (sets.polyhedron(-np.eye(2), np.ones(2)), -np.array([1.0, 2.0]), np.array([1.0, -1.0]), 3.0),
    ]
    for each, inside, outside, value in cases:
        for support in (each.support, ad.jit(each.support)):
            np.testing.assert_allclose(support(inside), value, atol=1e-9)
            assert support(outside) == np.inf
    np.testing.assert_allclose(ad.grad(lambda b: sets.half_space(a, b).support(2.0 * a))(3.0), 2.0)


def test_matrices_whose_rows_and_columns_cannot_both_sum_to_one():
    for run in (sets.birkhoff().project, sets.birkhoff().lmo):
        with pytest.raises(ShapeError, match="both are the sum of all elements"):
            run(np.zeros((2, 3)))


def test_rows_without_a_sum_are_zero_in_the_nearest_plan_by_entropy():
    rng = np.random.default_rng(2)
    x, w = rng.random((2, 3, 3))
    plan = lambda x: sets.transport(np.array([0.0, 0.6, 0.4]), np.array([0.3, 0.3, 0.4])).bregman_project(x)
    p = plan(x)
    np.testing.assert_allclose(p.sum(1), [0.0, 0.6, 0.4], atol=1e-12)
    np.testing.assert_allclose(p.sum(0), [0.3, 0.3, 0.4], atol=1e-12)
    np.testing.assert_allclose(ad.jvp(plan, (x,), (w,))[1], difference(plan, x, w), atol=1e-8)


def test_zeros_that_leave_no_plan_are_not_answered_by_an_iterate():
    for zeros in ([[1.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]):
        assert np.isnan(sets.birkhoff().bregman_project(np.array(zeros))).all()


def test_the_nearest_point_of_a_section_by_entropy():
    rng = np.random.default_rng(3)
    x, w, upper = rng.random(5) + 0.05, np.array([1.0, 0.7, -0.4, 1.2, 0.9]), np.full(5, 0.4)
    total = 0.9
    distance = lambda p: np.sum(p * np.log(p / x) - p + x)
    judge = minimize(distance, np.full(5, 0.3), bounds=[(1e-9, 0.4)] * 5, method="SLSQP", options={"ftol": 1e-15},
                     constraints={"type": "eq", "fun": lambda p: w @ p - total})  # fmt: skip
    nearest = lambda x, total: sets.box_section(0.0, upper, w, total).bregman_project(x)
    np.testing.assert_allclose(nearest(x, total), judge.x, atol=1e-7)
    np.testing.assert_allclose(ad.jit(nearest)(x, total), judge.x, atol=1e-7)
    d = rng.normal(size=5)
    moved = ad.jvp(nearest, (x, total), (d, 0.3))[1]
    np.testing.assert_allclose(moved, difference(lambda s: nearest(x + s * d, total + 0.3 * s), 0.0, 1.0), atol=1e-8)
    capped = sets.capped_simplex(1.0, 0.5)
    np.testing.assert_array_equal(capped.bregman_project(np.array([0.0, 1.0, 1.0])), [0.0, 0.5, 0.5])
    assert np.isnan(capped.bregman_project(np.array([0.0, 0.0, 1.0]))).all()  # no factor makes of zeros what is missing
