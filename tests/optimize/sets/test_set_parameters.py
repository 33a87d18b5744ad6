"""Parameters of sets: those of no set, of other shapes, trees of them; sets of the parts of a tree."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.optimize import sets


def test_parameters_without_a_set_are_nan_in_compiled_programs():
    """Where they are known they are refused."""
    x = np.array([1.0, 2.0])
    balls = [sets.l1_ball, sets.l2_ball, sets.linf_ball, sets.l2_sphere, sets.simplex, lambda r: sets.box(0.0, r)]
    for make in balls:
        project = ad.jit(lambda r, make=make: make(r).project(x))
        assert np.isnan(project(-1.0)).all()
        np.testing.assert_allclose(project(0.5), make(0.5).project(x))


def test_empty_sets_are_nan_with_their_derivatives_in_compiled_programs():
    x, w = np.array([1.2, 3.0, 0.7]), np.array([1.0, 2.0, 3.0])
    square = np.array([[0.5, 0.2], [0.1, 0.9]])
    cases = [
        (lambda r: sets.box_section(0.0, r, w, 1.0).project(x), -0.5, 0.8),
        (lambda r: sets.box_section(r, 2.0, w, 1.0).project(x), 1.5, 0.1),
        (lambda r: sets.capped_simplex(r, 1.0).project(x), 5.0, 1.5),
        (lambda r: sets.order_simplex(r, 1.0).project(x), 2.0, 0.2),
        (lambda r: sets.weighted_l1_ball(r * w, 1.0).project(x), -1.0, 1.0),
        (lambda r: sets.weighted_l2_ball(r * w, 1.0).project(x), -1.0, 1.0),
        (lambda r: sets.mahalanobis_ball(np.diag(r + w)).project(x), -2.0, 1.0),
        (lambda r: sets.affine(np.array([[1.0, 1, 1], [2, 2, 2]]), np.stack([r, 2.0])).project(x), 3.0, 1.0),
        (lambda r: sets.transport(r * np.ones(2), np.ones(2)).bregman_project(square), 2.0, 1.0),
        (lambda r: sets.simplex().bregman_project(r * x), -1.0, 1.0),
        (lambda r: sets.l1_ball(r).lmo(x), -1.0, 1.0),
        (lambda r: sets.l2_ball(r).support(x), -1.0, 1.0),
    ]
    for run, empty, full in cases:
        assert np.isnan(ad.jit(run)(empty)).all()
        assert np.isnan(ad.jacobian(run)(empty)).all()
        np.testing.assert_allclose(ad.jit(run)(full), run(full), atol=1e-12)
        assert np.isfinite(ad.jacobian(run)(full)).all()
    assert not ad.jit(lambda r: sets.l2_ball(r).contains(np.zeros(2)))(-1.0)


def test_numbers_at_minus_infinity_are_zero_in_a_simplex():
    for project in (sets.simplex().project, ad.jit(sets.simplex().project)):
        np.testing.assert_array_equal(project(np.array([0.0, 0.0, -np.inf])), [0.5, 0.5, 0.0])
    J = ad.jacobian(sets.simplex().project)(np.array([0.0, 0.0, -np.inf]))
    np.testing.assert_allclose(J, [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]])
    assert not sets.simplex().contains(np.array([0.5, 0.5, -np.inf]))


def test_parameters_may_be_trees_like_the_points():
    """All numbers of a tree stand in one vector, those of the parameters too."""
    x = {"a": np.array([1.0, 3.0]), "b": (2.0, -1.0)}
    ones = {"a": np.ones(2), "b": (1.0, 0.0)}
    vector = np.array([1.0, 3.0, 2.0, -1.0])
    known = np.array([1.0, 1.0, 1.0, 0.0])
    for make in (lambda p: sets.hyperplane(p, 1.0), lambda p: sets.half_space(p, 1.0), lambda p: sets.box(-1.0, p),
                 lambda p: sets.l2_ball(0.5, p), lambda p: sets.l1_ball(0.5, p)):  # fmt: skip
        found = ad.tree.ravel(make(ones).project_tree(x))[0]
        np.testing.assert_allclose(found, make(known).project(vector))


def test_products_ask_each_set_for_what_they_are_asked():
    x = {"a": np.array([0.5, 2.0]), "b": (np.array([3.0]), 4.0)}
    both = sets.product({"a": sets.simplex(), "b": sets.l2_ball()})
    one = sets.product({"a": sets.simplex()})
    np.testing.assert_allclose(one.bregman_project({"a": x["a"]})["a"], [0.2, 0.8])
    np.testing.assert_allclose(one.bregman_project({"a": x["a"]}, "euclidean")["a"], [0.0, 1.0])
    assert not one.contains({"a": np.array([0.5, 0.51])})
    assert one.contains({"a": np.array([0.5, 0.51])}, tol=0.1)
    best = both.lmo(x)  # a part that is a tree counts as one vector
    np.testing.assert_allclose(ad.tree.ravel(best["b"])[0], [0.6, 0.8])
    np.testing.assert_allclose(both.support(x), 2.0 + 5.0)
    assert not both.contains(x)


def test_parameters_of_another_shape_are_named():
    for make in (lambda v: sets.box(0.0, v), lambda v: sets.l2_ball(1.0, v), lambda v: sets.half_space(v, 1.0),
                 lambda v: sets.weighted_l1_ball(v), lambda v: sets.box_section(0, 1, v, 1.0),
                 lambda v: sets.order_simplex(weights=v), lambda v: sets.weighted_l2_ball(v)):  # fmt: skip
        with pytest.raises(ShapeError, match=r"has shape \(3,\), and x \(2,\)"):
            make(np.ones(3)).project(np.ones(2))
    with pytest.raises(TypeError, match="needs both"):
        sets.polyhedron(np.eye(2), np.ones(2), np.ones((1, 2)))
    with pytest.raises(ValueError, match="nothing lies between"):
        sets.order_simplex(2.0, 1.0)


def test_parameters_that_are_one_number_are_not_many():
    pair = np.array([1.0, 2.0])
    for make in (sets.l1_ball, sets.l2_ball, sets.l2_sphere, sets.simplex, lambda v: sets.half_space(pair, v),
                 lambda v: sets.hyperplane(pair, v), lambda v: sets.box_section(0.0, 1.0, pair, v),
                 lambda v: sets.order_simplex(v, 3.0)):  # fmt: skip
        with pytest.raises(ShapeError, match=r"has shape \(2,\); it is one number"):
            make(pair).project(pair)


def test_points_without_numbers():
    empty = np.zeros(0)
    for each in (sets.l1_ball(), sets.weighted_l1_ball(1.0), sets.order_simplex(), sets.capped_simplex(0.0)):
        assert each.project(empty).shape == each.lmo(empty).shape == (0,)
        assert each.support(empty) == 0
        assert each.contains(empty)
    for each in (sets.simplex(), sets.linf_sphere(), sets.second_order_cone()):
        with pytest.raises(ShapeError, match="no point of the set is empty"):
            each.project(empty)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_norms_of_very_large_and_small_numbers(size):
    x = size * np.array([3.0, 4.0])
    for project in (sets.l2_sphere(5.0).project, ad.jit(sets.l2_sphere(5.0).project)):
        np.testing.assert_allclose(project(x), [3.0, 4.0])
    np.testing.assert_allclose(sets.second_order_cone().project(np.array([0.0, *x])), [2.5 * size, *(0.5 * x)])


def test_nothing_is_nearest_or_largest_of_nan_in_compiled_programs():
    for each in (sets.simplex(), sets.l1_ball(), sets.box(0.0, 1.0)):
        assert np.isnan(ad.jit(each.lmo)(np.array([0.5, np.nan]))).all()


def test_sets_that_are_not_convex_are_not_intersected():
    for part in (sets.l2_sphere(), sets.simplex(nonzeros=2)):
        with pytest.raises(ValueError, match="is not convex here"):
            sets.intersection(sets.box(0.0, 1.0), part)


def test_balls_without_end_hold_every_point():
    x = np.array([1.0, 2.0])
    for ball in (sets.weighted_l2_ball(x, np.inf), sets.mahalanobis_ball(np.eye(2), np.inf)):
        np.testing.assert_array_equal(ball.project(x), x)
        np.testing.assert_array_equal(ad.jacobian(ball.project)(x), np.eye(2))


def test_rows_of_single_precision_agree_with_their_right_sides_as_far_as_it_tells():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(2, 5)).astype(np.float32), rng.normal(size=2).astype(np.float32)
    p = sets.affine(A, b).project(np.zeros(5, np.float32))
    assert p.dtype == np.float32
    np.testing.assert_allclose(A @ p, b, atol=1e-6)
