"""Functions with kinks and steps: where derivatives exist, what is chosen where they do not, what that can spoil."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.testing import NotDifferentiable, check_frechet, difference_gradient

RNG = np.random.default_rng(27)


@pytest.mark.row("2.7.0")
def test_steps_have_derivative_zero_and_are_known_as_such():
    """round, floor, comparisons, argmax: exactly 0 almost everywhere; such primitives say that they are flat."""
    x = np.array([0.3, 1.6, -0.7])
    for f in (np.round, np.floor, np.ceil, np.trunc, np.rint, lambda x: np.where(x > 0.5, 1.0, 0.0)):
        gradient = ad.grad(lambda x, f=f: np.sum(f(x) * np.array([1.0, 2.0, 3.0])))(x)
        assert np.array_equal(gradient, np.zeros(3))
        assert np.array_equal(ad.jvp(f, (x,), (np.ones(3),))[1], np.zeros(3))
    assert np.array_equal(ad.grad(lambda x: 1.0 * np.argmax(x))(x), np.zeros(3))
    steps = (np.floor, np.ceil, np.trunc, np.rint, np.greater, np.less_equal, np.equal, np.isnan)
    assert all(UFUNCS[f].flat for f in steps)
    kinks = (np.absolute, np.maximum, np.minimum, np.sin)
    assert not any(UFUNCS[f].flat for f in kinks)


def network(w, x):
    """Two layers with kinks: rectifiers, absolute values, and a maximum."""
    h = np.maximum(w["A"] @ x + w["b"], 0.0)
    return np.sum(np.abs(w["B"] @ h - 0.3)) + np.max(h)


@pytest.mark.row("2.7.1", "B2.7.b")
def test_a_network_with_kinks_is_differentiable_at_random_points():
    """Lipschitz functions have a derivative almost everywhere: of 10⁴ random points not one sits on a kink."""
    w = {"A": RNG.normal(size=(5, 3)), "b": RNG.normal(size=5), "B": RNG.normal(size=(4, 5))}
    points = RNG.normal(size=(10_000, 3))
    directions = RNG.normal(size=(10_000, 3))
    gradients = ad.vmap(ad.grad(network, argnums=1), in_axes=(None, 0))(w, points)
    step = 1e-9
    values = ad.vmap(network, in_axes=(None, 0))
    differences = (values(w, points + step * directions) - values(w, points - step * directions)) / (2 * step)
    mismatches = np.abs(np.sum(gradients * directions, axis=1) - differences) > 1e-4 * (1 + np.abs(differences))
    assert not np.any(mismatches)


@pytest.mark.row("2.7.1", "B2.7.b")
@pytest.mark.parametrize("f", [np.abs, lambda x: np.maximum(x, 0.0), lambda x: np.maximum(x, np.sin(3 * x))])
def test_kinks_are_seen_by_the_test_of_differentiability(f):
    """Away from its kink the derivative is a limit; at the kink no linear map is."""
    check_frechet(f, 0.7, derivative=lambda v: ad.jvp(f, (0.7,), (v,))[1])
    with pytest.raises(NotDifferentiable, match="kink"):
        check_frechet(f, 0.0, derivative=lambda v: ad.jvp(f, (0.0,), (v,))[1])


def tie(f):
    return lambda p: f(p[0], p[1])


ZERO, TIE = np.zeros(1), np.array([1.0, 1.0])
KINKS = {
    # function, kink, chosen element, and the vertices whose convex hull is the set of generalized gradients
    "abs": (lambda x: np.abs(x[0]), ZERO, [0.0], [[-1.0], [1.0]]),
    "fabs": (lambda x: np.fabs(x[0]), ZERO, [0.0], [[-1.0], [1.0]]),
    "relu": (lambda x: np.maximum(x[0], 0.0), ZERO, [0.5], [[0.0], [1.0]]),
    "relu by a branch": (lambda x: np.where(x[0] > 0, x[0], 0.0), ZERO, [0.0], [[0.0], [1.0]]),
    "clip": (lambda x: np.clip(x[0], 0.0, 1.0), ZERO, [0.5], [[0.0], [1.0]]),
    "maximum": (tie(np.maximum), TIE, [0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]),
    "minimum": (tie(np.minimum), TIE, [0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]),
    "fmax": (tie(np.fmax), TIE, [0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]),
    "max": (np.max, np.ones(3), [1 / 3] * 3, np.eye(3)),
    "min": (np.min, np.array([1.0, 2.0, 1.0]), [0.5, 0.0, 0.5], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "smallest by sorting": (lambda x: np.sort(x)[0], TIE, [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
    "sum of absolute values": (
        lambda x: np.sum(np.abs(x)),
        np.zeros(2),
        [0.0, 0.0],
        [[1, 1], [1, -1], [-1, 1], [-1, -1]],
    ),
}


@pytest.mark.row("2.7.2d")
@pytest.mark.parametrize("name", KINKS)
def test_the_choice_at_each_kink_is_a_generalized_gradient(name):
    """One documented element is chosen, by both modes; it is in the hull of the gradients at nearby points."""
    f, kink, chosen, vertices = KINKS[name]
    gradient = ad.grad(f)(kink)
    assert_allclose(gradient, chosen, rtol=1e-15)
    assert_allclose(ad.jacfwd(f)(kink), chosen, rtol=1e-15)
    vertices = np.array(vertices, float)
    # the vertices are what the gradient is around the kink …
    nearby = [difference_gradient(f, kink + 1e-3 * v, step=1e-6) for v in RNG.normal(size=(40, len(kink)))]
    found = {tuple(np.round(g, 6) + 0.0) for g in nearby}
    assert found == {tuple(v) for v in vertices}
    # … and g is in their hull when ⟨g, v⟩ <= max ⟨vertex, v⟩ for all v
    for v in RNG.normal(size=(200, len(kink))):
        assert gradient @ v <= np.max(vertices @ v) + 1e-12


@pytest.mark.row("2.7.2d", "B2.7.g")
def test_a_choice_at_each_kink_need_not_be_a_gradient_of_the_whole():
    """relu(x) - relu(-x) is x; with relu'(0) = 0, as a branch has it, the derivative at 0 comes out as 0 instead of 1.

    Splitting ties equally gives 1 here; but no choice is right for every composition.
    """
    by_branch = lambda x: np.where(x > 0, x, 0.0)
    by_maximum = lambda x: np.maximum(x, 0.0)
    identity = lambda relu: lambda x: relu(x) - relu(-x)
    for x in (-2.0, 0.0, 3.0):
        assert identity(by_branch)(x) == identity(by_maximum)(x) == x
    assert ad.grad(identity(by_branch))(0.0) == 0.0
    assert ad.grad(identity(by_maximum))(0.0) == 1.0
    for x in (-2.0, 3.0):
        assert ad.grad(identity(by_branch))(x) == ad.grad(identity(by_maximum))(x) == 1.0
    zero = lambda x: by_maximum(by_maximum(x)) - by_maximum(x)  # relu∘relu = relu, but ½·½ is not ½
    assert [ad.grad(zero)(x) for x in (-2.0, 0.0, 3.0)] == [0.0, -0.25, 0.0]


def test_a_branch_not_taken_leaves_no_trace():
    """√x has an infinite slope at 0, but behind a `where` that chose the other side it does not matter."""
    f = lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)
    assert ad.grad(f)(0.0) == 0.0
    assert ad.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0))(0.0) == 0.0
    assert ad.grad(np.sqrt)(0.0) == math.inf
