"""Depth as a loop: the same as layers one by one, in value, gradient and random streams; checkpoints; compile time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn

X = np.random.default_rng(0).normal(size=(5, 4))


def block(rng):
    return nn.Residual(nn.Sequential((nn.LayerNorm.init(4), nn.Linear.init(rng, 4, 4), np.tanh, nn.Dropout(0.2))))


@pytest.mark.parametrize("checkpoint", [None, "full", 2])
def test_one_by_one(checkpoint):
    stack = nn.Stack.init(ad.random.default_rng(0), 6, block, checkpoint=checkpoint)
    plain = nn.Sequential(tuple(stack.unstacked()))
    assert_allclose(stack(X), plain(X), rtol=1e-13)
    loss = lambda model: np.sum(np.sin(model(X)))
    ours, theirs = ad.jit(ad.grad(loss))(stack), ad.grad(loss)(plain)
    for i, layer in enumerate(theirs.layers):
        own = ad.tree.map(lambda leaf, i=i: leaf[i], ours.layers)
        for a, b in zip(ad.tree.leaves(own), ad.tree.leaves(layer), strict=True):
            assert_allclose(a, b, atol=1e-12)


def test_every_layer_draws_for_itself():
    stack = nn.Stack.init(
        ad.random.default_rng(0), 3, lambda rng: nn.Sequential((nn.Dropout(0.5), nn.RMSNorm.init(64)))
    )
    x = np.linspace(0.5, 1.5, 64)[None]
    one, two = (stack(x, rng=ad.random.default_rng(1)) for _ in range(2))
    assert_allclose(one, two)
    rng = ad.random.default_rng(1)
    first = stack(x, rng=rng)
    assert np.max(np.abs(stack(x, rng=rng) - first)) > 0.1
    value, gradient = ad.value_and_grad(lambda x, rng: np.sum(np.sin(stack(x, rng=rng))))(x, ad.random.default_rng(1))
    assert value == pytest.approx(np.sum(np.sin(one)))
    h = 1e-6
    e = np.zeros((1, 64))
    e[0, np.argmax(np.abs(gradient))] = h
    run = lambda x: np.sum(np.sin(stack(x, rng=ad.random.default_rng(1))))
    assert np.max(np.abs(gradient)) == pytest.approx(abs(run(x + e) - run(x - e)) / (2 * h), rel=1e-5)


def test_a_program_of_one_layer():
    """The number of equations does not grow with the depth."""
    sizes = []
    for depth in (2, 16):
        stack = nn.Stack.init(ad.random.default_rng(0), depth, block)
        sizes.append(len(ad.trace(ad.grad(lambda m: np.sum(m(X))))(stack).program.equations))
    assert sizes[0] == sizes[1]


def test_layers_that_differ():
    rng = ad.random.default_rng(0)
    with pytest.raises(ad.TreeError, match="layer 1 differs from layer 0"):
        nn.Stack.of([nn.Linear.init(rng, 4, 4), nn.Linear.init(rng, 4, 4, bias=False)])
    with pytest.raises(ad.TreeError, match="no layer to stack"):
        nn.Stack.of([])
