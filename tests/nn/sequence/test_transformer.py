"""Transformer layers: residuals and norms in their order, counts, equivariance, depth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn

X = np.random.default_rng(0).normal(size=(5, 8))


@pytest.mark.row("B4.8.g", "B4.8.h")
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_order_of_the_parts(norm):
    """pre: z = x + A(N₁ x), y = z + M(N₂ z); post: z = N₁(x + A x), y = N₂(z + M z); M token by token."""
    layer = nn.TransformerLayer.init(ad.random.default_rng(0), 8, 2, hidden=12, norm=norm)
    a, m, n1, n2 = layer.attention, layer.mlp, layer.attention_norm, layer.mlp_norm
    if norm == "pre":
        z = X + a(n1(X))
        expected = z + m(n2(z))
    else:
        z = n1(X + a(X))
        expected = n2(z + m(z))
    assert_allclose(layer(X), expected, rtol=1e-13)
    assert_allclose(m(X)[3], m(X[3]), rtol=1e-13)
    hidden = nn.gelu(X @ m.up.weight + m.up.bias)
    assert_allclose(m(X), hidden @ m.down.weight + m.down.bias, rtol=1e-13)
    ad.check_grads(lambda x: np.sum(np.sin(layer(x))), (X,))
    ad.check_grads(lambda layer: np.sum(np.sin(layer(X))), (layer,), order=1)
    with pytest.raises(ValueError, match="'pre' or 'post'"):
        nn.TransformerLayer.init(ad.random.default_rng(0), 8, 2, norm="both")


@pytest.mark.row("B4.8.j")
def test_depth():
    """K layers with parameters of their own, one after the other, under a mask: (L, D) → (L, D)."""
    encoder = nn.Encoder.init(ad.random.default_rng(0), 8, 2, 3)
    mask = np.tril(np.ones((5, 5), bool))
    x = X
    for layer in encoder.layers.unstacked():
        x = layer(x, mask=mask)
    assert_allclose(encoder(X, mask=mask), encoder.norm(x), rtol=1e-12)
    assert encoder(X).shape == X.shape
    weights = encoder.layers.layers.mlp.up.weight
    assert not np.allclose(weights[0], weights[1])


@pytest.mark.row("B4.8.k")
def test_counts():
    """D = 8, H = 2, D₁ = 32: 256 + 512 + 32 = 800 parameters, whatever the length; work is quadratic in it."""
    layer = nn.TransformerLayer.init(ad.random.default_rng(0), 8, 2, hidden=32, bias=False)
    layer = ad.tree.replace(layer, "attention_norm", nn.LayerNorm.init(8))
    layer = ad.tree.replace(layer, "mlp_norm", nn.LayerNorm.init(8))
    counts = {path: row for row in nn.summary(layer).rows for path in [row.path]}
    assert (counts["attention"].parameters, counts["mlp"].parameters) == (256, 512)
    assert nn.summary(layer).parameters == 800
    flops = [ad.cost(lambda x: layer.attention(x))(np.ones((n, 8))).value.flops for n in (200, 400, 800)]
    second = flops[2] - 3 * flops[1] + 2 * flops[0]  # a n² + b n: only the square is left
    assert second == pytest.approx(200**2 * 6 * (4 * 8 + 2 * 5), rel=0.5)
    token_wise = [ad.cost(lambda x: layer.mlp(x))(np.ones((n, 8))).value.flops for n in (200, 400)]
    assert token_wise[1] == pytest.approx(2 * token_wise[0], rel=1e-6)


@pytest.mark.row("B4.8.n")
def test_permutations_pass_through():
    """T(PX) = P T(X) without positions and mask; with rotary positions not."""
    order = np.random.default_rng(0).permutation(5)
    encoder = nn.Encoder.init(ad.random.default_rng(0), 8, 2, 2)
    assert np.max(np.abs(encoder(X[order]) - encoder(X)[order])) < 1e-12
    turned = nn.Encoder.init(ad.random.default_rng(0), 8, 2, 2, rope=10000.0)
    assert np.max(np.abs(turned(X[order]) - turned(X)[order])) > 1e-3


def test_variants():
    rng = ad.random.default_rng(0)
    for mlp in ("gelu", "gelu_tanh", "relu", "silu", "swiglu", np.tanh):
        assert nn.FeedForward.init(rng, 8, 12, mlp=mlp)(X).shape == X.shape
    with pytest.raises(ValueError, match="gelu, gelu_tanh, relu, silu, swiglu"):
        nn.FeedForward.init(rng, 8, 12, mlp="tanh")
    decoder = nn.TransformerLayer.init(rng, 8, 2, cross=True, memory_width=3)
    assert decoder(X, np.ones((4, 3))).shape == X.shape
    with pytest.raises(ad.ShapeError, match="it needs a memory"):
        decoder(X)
    with pytest.raises(ad.ShapeError, match="no cross-attention"):
        nn.TransformerLayer.init(rng, 8, 2)(X, X)


def test_dropout_in_training_alone():
    layer = nn.TransformerLayer.init(ad.random.default_rng(0), 8, 2, dropout=0.5)
    rng = ad.random.default_rng(1)
    assert_allclose(layer(X), layer(X))
    assert np.max(np.abs(layer(X, rng=rng) - layer(X, rng=rng))) > 0.1
