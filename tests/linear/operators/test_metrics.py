"""Metrics inside transformations, over containers, compiled; natural gradients; what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree
from adjoint.base.errors import ShapeError

RNG = np.random.default_rng(23)
ROOT = RNG.normal(size=(3, 3))
X = RNG.normal(size=3)


def f(w):
    return np.sum(np.exp(w) * w[::-1])


def test_gradients_under_transformations():
    """Compiled, mapped, and differentiable in the metric and the point."""

    def length(root, w):
        product = linear.inner_product(root @ root.T + np.eye(3))
        return product.norm(linear.gradient(f, product)(w))

    expected = lambda root, w: np.sqrt(ad.grad(f)(w) @ np.linalg.solve(root @ root.T + np.eye(3), ad.grad(f)(w)))
    assert length(ROOT, X) == pytest.approx(expected(ROOT, X), rel=1e-12)
    assert ad.jit(length)(ROOT, X) == pytest.approx(expected(ROOT, X), rel=1e-12)
    for found, slope in zip(ad.grad(length, (0, 1))(ROOT, X), ad.grad(expected, (0, 1))(ROOT, X), strict=True):
        assert_allclose(found, slope, rtol=1e-8, atol=1e-10)
    points = np.stack([X, -X])
    assert_allclose(ad.vmap(lambda w: length(ROOT, w))(points), [expected(ROOT, w) for w in points], rtol=1e-10)
    ad.check_grads(length, (ROOT, X), order=1)


def test_the_natural_gradient_does_not_depend_on_the_parameters():
    """Steepest descent in the Fisher metric is the same direction of distributions in any parametrization."""
    probabilities = lambda logits: np.exp(logits - np.log(np.sum(np.exp(logits))))
    target = np.array([0.2, 0.5, 0.3])
    loss = lambda p: np.sum((p - target) ** 2 * np.array([1.0, 2.0, 5.0]))

    def push_of_step(to_logits, x):
        log_q = lambda x, y: np.log(probabilities(to_logits(x)))[y]
        weights = probabilities(to_logits(x))
        fisher = linear.fisher(log_q)(x, np.arange(3), weights)
        step = linear.gradient(lambda x: loss(probabilities(to_logits(x))), linear.inner_product(fisher))(x)
        return ad.jvp(lambda x: probabilities(to_logits(x)), (x,), (step,))[1]

    first = lambda x: np.stack([x[0], x[1], x[0] * 0.0])
    second = lambda y: np.stack([np.sinh(y[0]) + y[1], y[1] ** 3, y[0] * 0.0])
    y = np.array([0.3, 0.7])
    assert_allclose(push_of_step(first, second(y)[:2]), push_of_step(second, y), rtol=1e-9)


def test_covectors_are_trees():
    c = linear.Covector({"w": np.array([1.0, 2.0]), "b": 3.0})
    v = {"w": np.array([1.0, 1.0]), "b": -1.0}
    assert c(v) == 0.0
    assert (c + 2 * c - c)(v) == 0.0
    assert (2 * c)({"w": np.array([1.0, 0.0]), "b": 0.0}) == 2.0
    assert len(tree.leaves(c)) == 2
    assert ad.jit(lambda c, v: c(v))(c, v) == 0.0
    with pytest.raises(ShapeError):
        c({"w": np.ones(3), "b": 0.0})


def test_euclidean_is_the_default():
    product = linear.euclidean(X)
    assert product(X, X) == pytest.approx(X @ X)
    assert_allclose(linear.gradient(f)(X), ad.grad(f)(X))
    assert_allclose(linear.gradient(lambda p: p["a"] ** 2)({"a": 3.0})["a"], 6.0)
    assert_allclose(linear.adjoint(linear.matrix(ROOT)).to_dense(), ROOT.T)


def test_what_is_no_inner_product():
    with pytest.raises(ShapeError, match="as many rows as columns"):
        linear.inner_product(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="same space"):
        linear.inner_product(linear.matrix(np.ones((2, 3))))


def test_what_is_no_inner_product_is_refused():
    for wrong in (np.array([[1.0, 2.0], [0.0, 1.0]]), -np.eye(2)):
        with pytest.raises(ValueError, match="no inner product"):
            linear.inner_product(wrong)
    with pytest.raises(ValueError, match="Weights are > 0"):
        linear.inner_product(np.array([1.0, -1.0]))
    product = linear.inner_product(np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"linear\.Covector"):
        product.upper(np.ones(2))
    with pytest.raises(TypeError, match=r"linear\.Covector"):
        linear.pullback(lambda w: w**2)(np.ones(2))(np.ones(2))
