"""Adapters of low rank."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn


def test_it_begins_as_its_base_and_trains_the_change_alone():
    rng = ad.random.default_rng(0)
    base = nn.Linear.init(rng, 6, 4)
    layer = nn.LoRA.init(rng, base, 2, scale=0.5)
    x = np.random.default_rng(0).normal(size=(7, 6))
    assert_array_equal(layer(x), base(x))
    trained = ad.tree.replace(layer, "up", np.random.default_rng(1).normal(size=(2, 4)))
    full = base.weight + 0.5 * trained.down @ trained.up
    assert_allclose(trained(x), x @ full + base.bias, rtol=1e-12)
    assert_allclose(trained.merged()(x), trained(x), rtol=1e-12)
    assert np.linalg.matrix_rank(trained.merged().weight - base.weight) == 2
    gradient = ad.grad(lambda layer: np.sum(layer(x) ** 2))(trained)
    assert_array_equal(gradient.base.weight, 0)
    assert np.all(gradient.up != 0)
    for rank in (0, 5):
        with pytest.raises(ValueError, match="between 1 and 4"):
            nn.LoRA.init(rng, base, rank)


def test_the_base_stays_in_training():
    """Also under weight decay, which moves leaves that have no gradient."""
    rng = ad.random.default_rng(0)
    base = nn.MLP.init(rng, [3, 8, 2])
    model = ad.tree.replace(base, "layers[0]", nn.LoRA.init(rng, base.layers[0], 2))
    flags = nn.trainable(model)
    assert not any(ad.tree.leaves(flags.layers[0].base))
    assert all(ad.tree.leaves(flags.layers[1]))
    x = np.random.default_rng(0).normal(size=(40, 3))
    data = ad.data.arrays(x=x, y=(x[:, 0] > 0).astype(int))
    loss = lambda m, batch: nn.cross_entropy(m(batch["x"]), batch["y"])
    rule = ad.optimize.updates.adamw(0.05, decay=0.5)
    run = nn.fit(model, loss, data, rule, epochs=3, batch=20, rng=rng)
    np.testing.assert_array_equal(run.model.layers[0].base.weight, base.layers[0].weight)
    assert np.any(run.model.layers[0].up != 0)
    assert np.any(run.model.layers[1].weight != base.layers[1].weight)
