"""Layers of layers: residuals, chains, several inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn

R = np.random.default_rng(0)


@pytest.mark.row("B4.6.a")
def test_two_kinds_of_residual():
    """s + h(s) with h = C a(W s + b) + d, or a(s + h(s)); with C = d = 0 the identity; its Jacobian is I + ∂h."""
    rng = ad.random.default_rng(0)
    inner = nn.MLP.init(rng, [3, 5, 3], activation=np.tanh)
    x = R.normal(size=3)
    h = lambda s: (
        np.tanh(s @ inner.layers[0].weight + inner.layers[0].bias) @ inner.layers[1].weight + inner.layers[1].bias
    )
    assert_allclose(nn.Residual(inner)(x), x + h(x), rtol=1e-13)
    assert_allclose(nn.Residual(inner, nn.relu)(x), np.maximum(x + h(x), 0), rtol=1e-13)
    assert_allclose(ad.jacobian(nn.Residual(inner))(x), np.eye(3) + ad.jacobian(h)(x), rtol=1e-12)
    zero = ad.tree.replace(inner, "layers[1]", nn.Linear(np.zeros((5, 3)), np.zeros(3)))
    assert_array_equal(nn.Residual(zero)(x), x)


@pytest.mark.row("B4.3.c")
def test_several_inputs():
    """Joined at the input, or after layers of their own; the gradient goes to each by itself."""
    rng = ad.random.default_rng(0)
    branch = nn.MLP.init(rng, [4, 3])
    model = nn.Sequential((nn.Concat((None, branch)), nn.Linear.init(rng, 5, 1)))
    x, y = R.normal(size=(6, 2)), R.normal(size=(6, 4))
    run = lambda x, y: np.sum(model((x, y)))
    head = model.layers[1].weight[:, 0]
    by_x, by_y = ad.grad(run, argnums=(0, 1))(x, y)
    assert_allclose(by_x, np.tile(head[:2], (6, 1)), rtol=1e-13)
    assert_allclose(by_y, np.tile(branch.layers[0].weight @ head[2:], (6, 1)), rtol=1e-13)
    with pytest.raises(ad.ShapeError, match="it has 2 parts but was given 3 inputs"):
        model((x, y, x))


def test_plain_functions_and_own_layers_mix():
    calls = []

    def noisy(x, *, rng=None):
        calls.append(rng)
        return x

    rng = ad.random.default_rng(0)
    model = nn.Sequential((noisy, np.tanh, lambda x: 2 * x, nn.Dropout(0.5)))
    x = np.ones(4)
    assert_allclose(model(x), 2 * np.tanh(1.0) * x)
    model(x, rng=rng)
    assert calls[0] is None
    assert calls[1] is rng
