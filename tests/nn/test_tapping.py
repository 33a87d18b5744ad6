"""Intermediate values by path, under transformations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn

X = np.random.default_rng(0).normal(size=(5, 4))


def test_values_on_the_way():
    model = nn.MLP.init(ad.random.default_rng(0), [4, 6, 3], activation=np.tanh)
    output, values = nn.taps(model, "layers[0]", "layers[1]")(X)
    assert_allclose(values["layers[0]"], model.layers[0](X))
    assert_allclose(values["layers[1]"], output)
    assert_allclose(output, model(X))
    run = lambda model, x: nn.taps(model, "layers[0]")(x)[1]["layers[0]"]
    assert_allclose(ad.jit(run)(model, X), model.layers[0](X))
    gradient = ad.grad(lambda x: np.sum(run(model, x)))(X)
    assert_allclose(gradient, np.tile(model.layers[0].weight.sum(1), (5, 1)))


def test_layers_of_a_stack():
    encoder = nn.Encoder.init(ad.random.default_rng(0), 4, 2, 3)
    output, values = nn.taps(encoder, "layers.layers[1]", "layers.layers[2]")(X)
    one, two, three = encoder.layers.unstacked()
    assert_allclose(values["layers.layers[1]"], two(one(X)), rtol=1e-12)
    assert_allclose(values["layers.layers[2]"], three(two(one(X))), rtol=1e-12)
    assert_allclose(output, encoder(X), rtol=1e-12)


def test_shared_layers_and_bad_paths():
    layer = nn.Linear.init(ad.random.default_rng(0), 4, 4)
    twice = nn.Sequential((nn.Residual(layer), layer))
    _, values = nn.taps(twice, "layers[0].inner")(X)
    assert_allclose(values["layers[0].inner"], layer(X))
    with pytest.raises(ad.TreeError, match=r"There is no \[7\]"):
        nn.taps(twice, "layers[7]")(X)
    with pytest.raises(ad.TreeError, match="no layer"):
        nn.taps(twice, "layers[1].weight")(X)
