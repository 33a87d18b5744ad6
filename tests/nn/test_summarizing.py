"""The table of a model."""

import numpy as np

import adjoint as ad
from adjoint import nn


def test_rows_shapes_and_counts():
    rng = ad.random.default_rng(0)
    model = nn.Sequential(
        (
            nn.Conv.init(rng, 1, 4, 3),
            nn.BatchNorm.init(4),
            nn.relu,
            lambda x: x.reshape(len(x), -1),
            nn.Linear.init(rng, 144, 3),
        )
    )
    made = nn.summary(model, np.ones((2, 1, 8, 8)))
    assert [row.path for row in made.rows] == ["", "layers[0]", "layers[1]", "layers[4]"]
    assert [row.shape for row in made.rows] == ["(2, 3)", "(2, 4, 6, 6)", "(2, 4, 6, 6)", "(2, 3)"]
    assert [row.parameters for row in made.rows] == [40 + 8 + 435, 40, 8, 435]
    assert (made.parameters, made.state, made.bytes) == (483, 8, 8 * 491)
    text = str(made)
    assert "483 parameters, 8 numbers of state" in text
    assert "Conv 1 → 4, 3 x 3" in text


def test_a_language_model():
    model = nn.LanguageModel.init(ad.random.default_rng(0), tokens=11, width=8, heads=2, depth=3, context=6)
    made = nn.summary(model, np.zeros((2, 5), int))
    shapes = {row.path: row.shape for row in made.rows}
    assert shapes["layers"] == "(2, 5, 8)"
    assert shapes[""] == "(2, 5, 11)"
    assert made.parameters == sum(leaf.size for leaf in ad.tree.leaves(model))


def test_deep_models_fit_on_a_screen():
    """Long paths are shown by what they add to that above them; titles of stacked layers are those of one."""
    rng = ad.random.default_rng(0)
    model = nn.LanguageModel.init(rng, tokens=256, width=64, heads=4, depth=2, context=64)
    both = nn.EncoderDecoderTransformer.init(rng, 256, 256, width=64, heads=4, depth=2, context=64)
    for made in (nn.summary(model, np.zeros((2, 8), int)), nn.summary(both)):
        assert max(map(len, str(made).splitlines())) <= 80
    lines = str(nn.summary(model)).splitlines()
    assert any(line.split()[:4] == ["attention", "MultiHead", "64,", "4"] for line in lines)
    assert any(line.startswith("      query") for line in lines)
    two = nn.Sequential(nn.Sequential(nn.Linear.init(rng, 2, 2)), nn.Linear.init(rng, 2, 2))
    assert "layers[0].layers[0]  Linear 2 → 2" in str(nn.summary(two))
