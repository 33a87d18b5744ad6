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
