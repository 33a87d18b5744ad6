"""Generalized derivatives, enumerated, against derivatives by differences at points nearby."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.audit import directional, generalized_jacobian, lipschitz
from adjoint.base.errors import ShapeError
from adjoint.testing import difference_gradient

relu = lambda x: np.maximum(x, 0.0)
A = np.array([[1.0, 2.0], [-1.0, 0.5], [0.5, -1.0]])

FUNCTIONS = {
    "sum of absolute values": (lambda x: np.sum(np.abs(x)), np.zeros(2)),
    "identity from two rectifiers": (lambda x: np.sum(relu(x) - relu(-x)), np.zeros(2)),
    "network": (lambda x: np.sum(relu(A @ x) * np.array([1.0, -2.0, 3.0])), np.zeros(2)),
    "two layers": (lambda x: relu(np.sum(np.abs(A @ x)) - 2 * relu(x[0])), np.zeros(2)),
    "maximum of three": (lambda x: np.max(A @ x), np.zeros(2)),
    "minimum": (lambda x: np.min(np.stack([x[0], x[1], 2.0])), np.ones(2)),
    "where": (lambda x: np.where(x[0] > x[1], x[0] ** 2, x[1] ** 2), np.ones(2)),
    "cond": (lambda x: ad.cond(x[0] > 0, lambda x: x[0] + x[1], lambda x: x[1] - 2 * x[0], x), np.zeros(2)),
    "smooth": (lambda x: np.sin(x[0]) * x[1], np.ones(2)),
    "clip": (lambda x: np.sum(np.clip(x, 0.0, 1.0)), np.array([0.0, 1.0])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_vertices_are_the_derivatives_around_the_point(name):
    f, x = FUNCTIONS[name]
    found = generalized_jacobian(f, method="exact")(x)
    assert found.exact
    rng = np.random.default_rng(0)
    nearby = [difference_gradient(f, x + 1e-4 * v, step=1e-7) for v in rng.normal(size=(60, 2))]
    matches = np.max(np.abs(np.array(nearby)[:, None] - found.vertices[None]), axis=-1) < 2e-3
    assert np.all(np.any(matches, axis=1))  # each of them is a vertex,
    assert np.all(np.any(matches, axis=0))  # and each vertex is one of them
    sampled = generalized_jacobian(f, method="sampled", samples=60)(x)
    assert len(sampled) == len(found)
    assert not sampled.exact


@pytest.mark.parametrize("name", FUNCTIONS)
def test_directional_derivatives_against_quotients(name):
    f, x = FUNCTIONS[name]
    for v in np.random.default_rng(1).normal(size=(2, 2)):
        estimate = directional(f, method="sampled", samples=400)(x, v)
        assert directional(f)(x, v) == pytest.approx(estimate, abs=1e-3)


def test_what_is_not_enumerated_is_sampled():
    def by_python(x):
        return x if x >= 0 else -2 * x

    for f, ends in (
        (by_python, {1.0, -2.0}),
        (lambda x: np.sort(np.stack([x, -x]))[0], {1.0, -1.0}),
        (lambda x: np.where(x * x > 0, x, 2 * x), {1.0}),  # decided at second order
        (lambda x: np.where(x * x == 0, 2 * x, x), {1.0}),
        (lambda x: ad.fori_loop(0, 2, lambda i, y: np.abs(y), x), {1.0, -1.0}),
    ):
        found = generalized_jacobian(f, samples=10)(0.0)
        assert not found.exact
        assert set(found.vertices.tolist()) == ends
        with pytest.raises(NotImplementedError, match="sampled"):
            generalized_jacobian(f, method="exact")(0.0)


def test_a_single_point_where_two_sides_are_equal_does_not_count():
    found = generalized_jacobian(lambda x: np.where(x == 0, 5 * x, x))(0.0)
    assert found.exact
    assert found.vertices.tolist() == [1.0]


def test_membership():
    found = generalized_jacobian(lambda x: np.max(x))(np.ones(3))
    assert np.full(3, 1 / 3) in found
    assert np.array([0.5, 0.5, 0.0]) in found
    assert np.array([0.5, 0.6, 0.0]) not in found
    assert np.array([1.5, -0.5, 0.0]) not in found


def test_jumps_and_bad_arguments():
    with pytest.raises(ValueError, match="jumps"):
        generalized_jacobian(lambda x: np.where(x > 0, 1.0, 0.0))(0.0)
    with pytest.raises(ValueError, match="method"):
        generalized_jacobian(np.abs, method="guess")
    with pytest.raises(TypeError, match="one array"):
        generalized_jacobian(np.maximum)(0.0, 1.0)


def test_lipschitz_constants():
    assert lipschitz(relu, samples=20)(0.0) == 1.0
    assert lipschitz(lambda x: A @ x, samples=3)(np.ones(2)) == pytest.approx(np.linalg.norm(A, 2))


@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_directional_derivatives_are_those_of_one_number(method):
    with pytest.raises(ShapeError, match="must return one number; it returned shape"):
        directional(np.abs, method=method)(np.ones(3), np.ones(3))
