"""Tasks of pretraining: rates of hidden tokens, pairs of sentences."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint import nn


@pytest.mark.row("B4.8.z")
def test_hidden_tokens():
    """15 % are chosen: 12 % become the mask, 1.5 % another token, 1.5 % stay; the weight is on the chosen alone."""
    special = nn.SpecialTokens()
    ids = np.random.default_rng(0).integers(special.count, 1000, (400, 500))
    ids[:, 0] = special.first
    made = nn.masked_tokens(ad.random.default_rng(0), ids, tokens=1000)
    chosen = made.weights == 1
    n = ids[:, 1:].size
    masked = np.sum(chosen & (made.inputs == special.mask))
    other = np.sum(chosen & (made.inputs != special.mask) & (made.inputs != ids))
    same = np.sum(chosen & (made.inputs == ids))
    for count, share in ((masked, 0.12), (other, 0.015), (same, 0.015)):
        assert stats.binomtest(int(count), n, share).pvalue > 1e-3
    assert_array_equal(made.inputs[~chosen], ids[~chosen])
    assert_array_equal(made.targets, ids)
    assert not np.any(chosen[:, 0])
    assert np.all(made.inputs[chosen & (made.inputs != special.mask)] >= special.count)
    compiled = ad.jit(lambda ids, rng: nn.masked_tokens(rng, ids, tokens=1000))(ids, ad.random.default_rng(0))
    assert_array_equal(compiled.inputs, made.inputs)


@pytest.mark.row("B4.8.aa")
def test_pairs_of_sentences():
    """[CLS] A [SEP] B [SEP], half of the B's those of another pair; segments 0 and 1; the head gives two scores."""
    pairs = [([10 + i, 500], [1000 + i]) for i in range(400)]
    made = nn.next_sentence(ad.random.default_rng(0), pairs)
    assert stats.binomtest(int(made.labels.sum()), 400, 0.5).pvalue > 1e-3
    assert_array_equal(made.tokens[:, 0], 4)
    assert_array_equal(made.tokens[:, 3], 5)
    assert_array_equal(made.segments[0], [0, 0, 0, 0, 1, 1])
    follows = made.tokens[:, 4] - 1000 == np.arange(400)
    assert_array_equal(follows, made.labels == 1)
    states = np.random.default_rng(0).normal(size=(400, 6, 8))
    assert nn.Classify.init(ad.random.default_rng(0), 8, 2)(states).shape == (400, 2)
    with pytest.raises(ad.ShapeError, match="two pairs"):
        nn.next_sentence(ad.random.default_rng(0), pairs[:1])


def test_bad_rates():
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.masked_tokens(ad.random.default_rng(0), np.array([9]), 1.5, tokens=20)
    with pytest.raises(ValueError, match="leave none"):
        nn.masked_tokens(ad.random.default_rng(0), np.array([9]), tokens=6)
