"""The multilayer perceptron: layers by hand, initial variances, training."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn


@pytest.mark.row("B4.2.a")
def test_a_feedforward_network_is_fitted():
    """s_k = f_k(s_{k-1}, w_k), and the mean of squared distances decreases under gradient descent."""
    rng = ad.random.default_rng(0)
    model = nn.MLP.init(rng, [2, 8, 8, 3], activation=nn.relu, final=nn.softargmax)
    x = np.random.default_rng(0).normal(size=(40, 2))
    y = np.eye(3)[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0)]
    loss = lambda model: np.mean(np.sum((y - model(x)) ** 2, axis=1))
    step = ad.jit(lambda model: (loss(model), ad.tree.map(lambda p, g: p - 0.05 * g, model, ad.grad(loss)(model))))
    losses = []
    for _ in range(60):
        value, model = step(model)
        losses.append(float(value))
    assert np.all(np.diff(losses) < 0)
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.row("L6.b")
def test_a_constant_in_front_is_the_bias():
    """tanh, then rectifiers, then probabilities: y_h = act(W (1; y_{h-1})), the bias the first row of the weights."""
    rng = ad.random.default_rng(0)
    a, b, c = (nn.Linear.init(rng, m, n, bias=True) for m, n in ((2, 8), (8, 8), (8, 3)))
    model = nn.Sequential((a, np.tanh, b, nn.relu, c, nn.softargmax))
    model = ad.tree.map(lambda leaf: leaf + 0.1, model)
    x = s = np.random.default_rng(0).normal(size=(40, 2))
    for i, act in zip((0, 2, 4), (np.tanh, lambda u: np.maximum(u, 0), np.exp), strict=True):
        joint = np.vstack([model.layers[i].bias, model.layers[i].weight])
        s = act(np.hstack([np.ones((40, 1)), s]) @ joint)
    assert_allclose(model(x), s / s.sum(1, keepdims=True), rtol=1e-12)


def test_initial_variances_follow_the_activation():
    rng = ad.random.default_rng(0)
    deep = nn.MLP.init(rng, [400] * 6, activation=nn.relu)
    x = np.random.default_rng(0).normal(size=(50, 400))
    for layer in deep.layers[:-1]:
        x = nn.relu(layer(x))
    assert 0.3 < np.mean(x**2) < 3  # neither vanished nor exploded
    assert np.var(nn.MLP.init(rng, [300, 300, 300], activation=np.tanh).layers[0].weight) == pytest.approx(
        1 / 300, rel=0.05
    )


def test_dropout_between_layers():
    model = nn.MLP.init(ad.random.default_rng(0), [4, 50, 2], dropout=0.5)
    x = np.ones((3, 4))
    assert_allclose(model(x), model(x))
    assert np.max(np.abs(model(x, rng=ad.random.default_rng(0)) - model(x))) > 0.01
