"""Recurrent decoders: sequences from a vector, and from another sequence until a token says stop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn


@pytest.mark.row("B4.7.b")
def test_a_vector_becomes_a_sequence():
    """z_l = g(x, z_{l-1}), p_l = h(z_l), z₀ learned: a plain loop; (L, M) of any L."""
    decoder = nn.SequenceDecoder.init(ad.random.default_rng(0), 3, 4, 2)
    decoder = ad.tree.replace(decoder, "start", np.array([0.1, -0.2, 0.3, 0.0]))
    x = np.random.default_rng(0).normal(size=3)
    z, expected = decoder.start, []
    for _ in range(5):
        z = decoder.cell(x, z)
        expected.append(decoder.head(z))
    assert_allclose(decoder(x, 5), expected, rtol=1e-13)
    assert decoder(x, 1).shape == (1, 2)
    gradient = ad.grad(lambda decoder: np.sum(decoder(x, 5) ** 2))(decoder)
    assert np.all(gradient.start != 0)


@pytest.mark.row("B4.7.e")
def test_generation_stops():
    """At the stop token or after at_most: lengths differ, behind the end stands the stop token."""
    rng = ad.random.default_rng(0)
    model = nn.EncoderDecoder.init(rng, 6, 5, width=7, begin=1)
    x = np.random.default_rng(0).integers(0, 6, (40, 4))
    tokens, lengths = model.generate(x, rng, stop=0, at_most=8)
    assert tokens.shape == (40, 8)
    assert len(set(lengths.tolist())) > 3
    for row, n in zip(tokens, lengths, strict=True):
        assert np.all(row[: n - 1] != 0)
        assert_array_equal(row[n - 1 if n < 8 else n :], 0)
    never = ad.tree.replace(model, "head.bias", np.array([-1e9, 0.0, 0.0, 0.0, 0.0]))
    assert np.all(never.generate(x, rng, stop=0, at_most=8)[1] == 8)
    at_once = ad.tree.replace(model, "head.bias", np.array([1e9, 0.0, 0.0, 0.0, 0.0]))
    assert np.all(at_once.generate(x, rng, stop=0, at_most=8)[1] == 1)


def test_the_likeliest_tokens_are_those_of_teacher_forcing():
    """Without a generator: each token is the largest score of the model that is given all tokens before it."""
    model = nn.EncoderDecoder.init(ad.random.default_rng(3), 6, 5, width=7, begin=1)
    x = np.random.default_rng(0).integers(0, 6, (3, 4))
    tokens, _ = model.generate(x, stop=-1, at_most=6)
    scores = model(x, tokens)
    assert_array_equal(np.argmax(scores, axis=-1), tokens)
    changed = tokens.copy()
    changed[:, 3] = (changed[:, 3] + 1) % 5
    assert_array_equal(model(x, changed)[:, :4], scores[:, :4])  # the future does not matter
