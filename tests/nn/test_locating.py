"""Layers as text, and sizes where arrays belong."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

RNG = ad.random.default_rng(0)


def test_layers_as_text() -> None:
    assert repr(nn.MLP.init(RNG, [64, 128, 10], dtype=np.float32)) == "<MLP 64 → 128 → 10: 9,610 numbers, float32>"
    assert repr(nn.Linear(np.ones((1, 2)))) == "Linear(weight=array([[1., 1.]]), bias=None)"
    model = nn.Sequential(nn.Linear.init(RNG, 4, 8), nn.relu, nn.BatchNorm.init(8))
    assert repr(model) == "<Sequential of 3: 72 numbers, float64>"
    assert "GRU" in repr(nn.GRU.init(RNG, 8, 8))
    assert repr(nn.trainable(nn.Linear.init(RNG, 8, 8))).startswith("Linear(weight=")
    shapes = ad.tree.map(np.shape, nn.Linear.init(RNG, 8, 8))
    assert "(8, 8)" in repr(shapes)
    jitted = []
    ad.jit(lambda model: jitted.append(repr(model)) or model(np.ones(8)))(nn.Linear.init(RNG, 8, 8))
    assert jitted == ["<Linear 8 → 8: 72 numbers, float64>"]


@pytest.mark.parametrize("make", [
    lambda: nn.Linear(4, 8), lambda: nn.MLP([4, 8]), lambda: nn.Conv(1, 8, 3), lambda: nn.Embedding(10),
    lambda: nn.LayerNorm(8), lambda: nn.LSTM(4, 8), lambda: nn.RMSNorm(8),
])  # fmt: skip
def test_sizes_where_arrays_belong(make) -> None:
    with pytest.raises(TypeError, match=r"and no array\. Write nn\.\w+\.init\("):
        make()


def test_several_arguments_are_a_sequence() -> None:
    a, b = nn.Linear.init(RNG, 4, 8), nn.Linear.init(RNG, 8, 2)
    x = np.ones((3, 4))
    np.testing.assert_array_equal(nn.Sequential(a, nn.relu, b)(x), nn.Sequential((a, nn.relu, b))(x))
    np.testing.assert_array_equal(nn.Sequential(a)(x), a(x))
