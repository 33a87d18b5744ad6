"""Quadratic models as trees: arguments and results of transformations, pickled, stacked."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.curvature import quadratic_model

W = np.array([0.3, -0.7, 1.1])
V = np.array([0.1, 0.2, -0.4])
WS = np.stack([W, 2 * W, 0.5 * W])


def f(w):
    return np.sum(np.cosh(w)) + np.prod(w)


def expected(w, v):
    H = np.diag(np.cosh(w)) + np.array([[0, w[2], w[1]], [w[2], 0, w[0]], [w[1], w[0], 0]])
    slope = np.sinh(w) + np.array([w[1] * w[2], w[0] * w[2], w[0] * w[1]])
    return f(w) + slope @ v + v @ H @ v / 2


def model(w):
    return np.sin(w) * w[::-1]


def loss(z):
    return np.sum(np.cosh(z))


def test_models_are_arguments_and_results_of_transformations():
    q = quadratic_model(f)(W)
    assert_allclose(q(V), expected(W, V), rtol=1e-14)
    assert_allclose(ad.jit(lambda q, v: q(v))(q, V), expected(W, V), rtol=1e-14)
    assert_allclose(q(2 * V), expected(W, 2 * V), rtol=1e-14)
    assert_allclose(ad.jit(quadratic_model(f))(W)(V), expected(W, V), rtol=1e-14)
    assert_allclose(ad.scan(lambda q, v: (q, q(v)), q, np.stack([V, 2 * V]))[1][1], expected(W, 2 * V), rtol=1e-14)
    step = 1e-5
    slope = [(expected(W + step * e, V) - expected(W - step * e, V)) / (2 * step) for e in np.eye(3)]
    for differentiated in (ad.grad, lambda g: ad.jit(ad.grad(g))):
        assert_allclose(differentiated(lambda w: quadratic_model(f)(w)(V))(W), slope, rtol=1e-8)


def test_models_with_a_loss_leave_jit():
    J = np.diag(np.cos(W) * W[::-1]) + np.diag(np.sin(W))[:, ::-1]
    quadratic = V @ J.T @ np.diag(np.cosh(model(W))) @ J @ V / 2
    wanted = loss(model(W)) + np.sinh(model(W)) @ J @ V + quadratic
    assert_allclose(quadratic_model(model, loss=loss)(W)(V), wanted, rtol=1e-13)
    assert_allclose(ad.jit(quadratic_model(model, loss=loss))(W)(V), wanted, rtol=1e-13)


def test_stacks_and_pickles():
    stack = ad.vmap(quadratic_model(f))(WS)
    assert_allclose(ad.vmap(lambda q: q(V))(stack), [expected(w, V) for w in WS], rtol=1e-14)
    with pytest.raises(ShapeError, match="a stack of models"):
        stack(V)
    assert_allclose(pickle.loads(pickle.dumps(quadratic_model(f)(W)))(V), expected(W, V), rtol=1e-14)
    assert repr(quadratic_model(f)(W)) == "<quadratic model of f>"
