"""Dropout: rates, means, masks that agree between value and gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn


@pytest.mark.row("L4.a")
def test_training_and_evaluation():
    """x · mask / (1 - p): the mean over generators is x; one generator gives one mask, in value and gradient."""
    x = np.linspace(0.5, 1.5, 50)
    layer = nn.Dropout(0.3)
    assert_array_equal(layer(x), x)
    rng = ad.random.default_rng(0)
    many = np.stack([layer(x, rng=rng) for _ in range(4000)])
    share = np.mean(many == 0)
    assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / many.size))
    deviation = x * np.sqrt(0.3 / 0.7) / np.sqrt(4000)
    assert np.all(np.abs(many.mean(0) - x) < 5 * deviation)
    value, gradient = ad.value_and_grad(lambda x, rng: np.sum(layer(x, rng=rng) * x))(x, ad.random.default_rng(7))
    again = layer(x, rng=ad.random.default_rng(7))
    assert value == pytest.approx(np.sum(again * x))
    assert_allclose(gradient, 2 * again, rtol=1e-14)


def test_the_mask_is_the_same_compiled_checkpointed_and_eager():
    x = np.ones((20, 30), np.float32)
    f = lambda x, rng: nn.dropout(x, 0.5, rng)
    masks = [g(x, ad.random.default_rng(3)) for g in (f, ad.jit(f), ad.checkpoint(f))]
    assert masks[0].dtype == np.float32
    assert_array_equal(masks[0], masks[1])
    assert_array_equal(masks[0], masks[2])
    slopes = ad.jit(ad.grad(lambda x, rng: np.sum(ad.checkpoint(f)(x, rng))))(x, ad.random.default_rng(3))
    assert_array_equal(slopes, masks[0])


def test_the_generator_moves_on():
    rng = ad.random.default_rng(0)
    x = np.ones(100)
    assert not np.array_equal(nn.dropout(x, 0.5, rng), nn.dropout(x, 0.5, rng))
    step = ad.jit(lambda x, rng: nn.dropout(x, 0.5, rng))
    assert not np.array_equal(step(x, rng), step(x, rng))


def test_examples_of_a_batch_have_masks_of_their_own():
    x = np.ones((4, 50))
    made = ad.vmap(lambda x, rng: nn.dropout(x, 0.5, rng))(x, ad.random.default_rng(0))
    assert len({row.tobytes() for row in made}) == 4


@pytest.mark.parametrize("rate", [1.0, -0.1, 1.5, float("nan"), "0.5"])
def test_bad_rates(rate):
    with pytest.raises(ValueError, match="0 <= rate < 1"):
        nn.Dropout(rate)
    with pytest.raises(ValueError, match="0 <= rate < 1"):
        nn.dropout(np.ones(3), rate, ad.random.default_rng(0))
    with pytest.raises(ValueError, match="0 <= rate < 1"):
        nn.MLP.init(ad.random.default_rng(0), [2, 2, 2], dropout=rate)


def test_a_generator_of_numpy_is_refused():
    with pytest.raises(TypeError, match=r"ad.random.default_rng\(seed\)"):
        nn.dropout(np.ones(3), 0.5, np.random.default_rng(0))
