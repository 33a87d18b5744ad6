"""Products of gradients of a softmax model, against its Gauss-Newton matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree

RNG = np.random.default_rng(6)
X = RNG.normal(size=4)
W = {"w": RNG.normal(size=(3, 4)), "b": RNG.normal(size=3)}


def scores(w):
    return w["w"] @ X + w["b"]


def softplus_loss(theta, y):
    return np.log(np.sum(np.exp(theta))) - theta @ y


def loss(w, y):
    return softplus_loss(scores(w), y)


def probabilities(w):
    e = np.exp(scores(w))
    return e / e.sum()


def test_weighted_labels_give_the_gauss_newton_map():
    found = linear.bartlett(loss, W, np.eye(3), probabilities(W))
    exact = linear.gauss_newton(lambda theta: softplus_loss(theta, np.eye(3)[0]), scores)(W).to_dense()
    assert_allclose(found.map.to_dense(), exact, atol=1e-13)
    assert found.map.has("positive semidefinite")
    diagonal = found.diagonal()
    flat = np.concatenate([leaf.ravel() for leaf in tree.leaves(diagonal.value)])
    assert_allclose(flat, np.diagonal(exact), atol=1e-13)
    assert found.trace().value == pytest.approx(np.trace(exact))
    assert found.trace().error == 0.0


def test_samples_of_the_model_within_their_errors():
    labels = np.eye(3)[np.random.default_rng(0).choice(3, 2000, p=probabilities(W))]
    found = linear.bartlett(loss, W, labels)
    exact = linear.bartlett(loss, W, np.eye(3), probabilities(W))
    estimate, truth = found.diagonal(), exact.diagonal()
    for name in W:
        assert np.all(np.abs(estimate.value[name] - truth.value[name]) < 5 * estimate.error[name])
    assert abs(found.trace().value - exact.trace().value) < 5 * found.trace().error


def test_transformations():
    f = lambda w: linear.bartlett_diagonal(loss, w, np.eye(3)[:2]).value
    g = lambda w: linear.bartlett(loss, w, np.eye(3)[:2]).diagonal().value
    for h in (f, g):
        compiled = ad.jit(h)(W)
        assert_allclose(compiled["w"], h(W)["w"], rtol=1e-12)
    size = lambda b: np.sum(f({**W, "b": b})["b"])
    step = 1e-6 * np.array([1.0, -1.0, 0.5])
    expected = (size(W["b"] + step) - size(W["b"] - step)) / 2e-6
    assert ad.grad(size)(W["b"]) @ (step / 1e-6) == pytest.approx(expected, rel=1e-6)


def test_samples_that_do_not_fit():
    with pytest.raises(ValueError, match="stacked"):
        linear.bartlett(loss, W, 1.0)
    with pytest.raises(ValueError, match="3 weights"):
        linear.bartlett(loss, W, np.eye(3), np.ones(2))
