"""Generation: caches against recomputation, padding on the left, restricted and drawn tokens."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint import nn
from tests.nn.sequence.models import POSITIONS, language_model

TOKENS = np.random.default_rng(0).integers(0, 7, (3, 10))


@pytest.mark.row("B4.8.y")
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_a_cache_is_recomputation(positions, kv_heads):
    """In pieces of any size, for all kinds of positions, and for sequences padded on the left."""
    model = language_model(positions, kv_heads=kv_heads)
    full = model(TOKENS)
    cache, pieces = nn.Cache.empty(model, 3), []
    for a, b in ((0, 4), (4, 5), (5, 8), (8, 10)):
        scores, cache = model.step(TOKENS[:, a:b], cache)
        pieces.append(scores)
    assert_allclose(np.concatenate(pieces, axis=1), full, atol=1e-10)
    valid = np.ones((3, 6), bool)
    valid[1, :2] = valid[2, :5] = False
    first, cache = model.step(TOKENS[:, :6], nn.Cache.empty(model, 3), valid=valid)
    second, cache = model.step(TOKENS[:, 6:8], cache)
    for i, skipped in enumerate((0, 2, 5)):
        alone = model(TOKENS[i, skipped:8])
        assert_allclose(np.concatenate([first[i, skipped:], second[i]]), alone, atol=1e-10)
    with pytest.raises(ad.ShapeError, match="13 tokens; the context has 12"):
        model.step(TOKENS[:, :5], cache)


@pytest.mark.parametrize("positions", POSITIONS)
def test_greedy_generation_is_that_of_the_whole_model(positions):
    model = language_model(positions)
    made = nn.generate(model, TOKENS[:, :3], 8)
    whole = TOKENS[:, :3]
    for _ in range(8):
        whole = np.concatenate([whole, np.argmax(model(whole)[:, -1], axis=-1)[:, None]], axis=1)
    assert_array_equal(made, whole[:, 3:])


def test_prompts_of_different_lengths_go_on_together():
    model = language_model("rope")
    padded, valid = nn.padded([TOKENS[0, :3], TOKENS[1, :1]], side="left")
    together = nn.generate(model, padded, 5, valid=valid)
    assert_array_equal(together[0], nn.generate(model, TOKENS[0, :3], 5))
    assert_array_equal(together[1], nn.generate(model, TOKENS[1, :1], 5))


@pytest.mark.row("B4.8.x")
def test_drawn_sequences_have_the_model_s_frequencies():
    """Ancestral sampling, of two tokens three times: frequencies of the eight sequences against their probabilities."""
    model = language_model("learned", tokens=2)
    n = 4000
    drawn = nn.generate(model, np.zeros((n, 1), int), 3, ad.random.default_rng(0))
    counts, expected = [], []
    for x in itertools.product((0, 1), repeat=3):
        row = np.array((0, *x))
        log_p = nn.log_softargmax(model(row[:-1]))
        expected.append(n * np.exp(np.sum(log_p[np.arange(3), row[1:]])))
        counts.append(np.sum(np.all(drawn == x, axis=1)))
    assert stats.chisquare(counts, expected).pvalue > 1e-3
    again = nn.generate(model, np.zeros((n, 1), int), 3, ad.random.default_rng(0))
    assert_array_equal(again, drawn)


def test_stop():
    model = language_model("learned", tokens=3)
    rng = ad.random.default_rng(0)
    rows = nn.generate(model, np.ones((50, 1), int), 10, rng, stop=0)
    for row in rows:
        ended = np.argmax(row == 0) if np.any(row == 0) else 10
        assert np.all(row[:ended] != 0)
        assert_array_equal(row[ended:], 0)
    one = nn.generate(model, np.array([1]), 10, rng, stop=0)
    assert np.all(one[:-1] != 0)


def test_restricted_scores():
    scores = np.log(np.array([[0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5]]))
    assert_array_equal(np.isfinite(nn.restricted(scores, top_k=2)), [[1, 1, 0, 0], [0, 0, 1, 1]])
    for p, kept in ((0.4, 1), (0.5, 1), (0.51, 2), (0.79, 2), (0.96, 4), (1.0, 4)):
        assert_array_equal(np.sum(np.isfinite(nn.restricted(scores, top_p=p)), axis=1), kept)
    assert_array_equal(np.sum(np.isfinite(nn.restricted(scores, top_k=3, top_p=0.79)), axis=1), 2)
    for options in ({"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}):
        with pytest.raises(ValueError, match="restricted: top_"):
            nn.restricted(scores, **options)


def test_temperature_and_restrictions_in_generation():
    model = language_model("learned", tokens=5)
    prompt = np.zeros((3000, 1), int)
    for options in ({"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.6}):
        drawn = nn.generate(model, prompt, 1, ad.random.default_rng(1), **options)[:, 0]
        scores = model(np.array([0]))[0] / options.get("temperature", 1.0)
        p = nn.softargmax(nn.restricted(scores, options.get("top_k"), options.get("top_p")))
        counts = np.bincount(drawn, minlength=5)
        assert np.all(counts[p == 0] == 0)
        assert stats.chisquare(counts[p > 0], 3000 * p[p > 0]).pvalue > 1e-3


def test_bytes_and_bad_prompts():
    model = language_model("learned", tokens=256)
    text = nn.generate(model, b"ab", 5, ad.random.default_rng(0))
    assert text.dtype == np.uint8
    assert len(bytes(text)) == 5
    with pytest.raises(ad.ShapeError, match="prompt is empty"):
        nn.generate(model, b"", 5)
    with pytest.raises(ad.ShapeError, match="give its last 12"):
        nn.generate(model, b"a" * 13, 1)
    with pytest.raises(TypeError, match=r"ad.random.default_rng\(seed\)"):
        nn.generate(model, b"ab", 2, np.random.default_rng(0))
    with pytest.raises(ad.ShapeError, match=r"tokens go from|from 0 to"):
        language_model("learned", tokens=4)(np.array([9]))


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_beyond_the_context_the_last_tokens_count(positions):
    """Each further token is the likeliest after the last 12; prompts padded on the left go on as those without."""
    model = language_model(positions)
    whole = TOKENS[0, :3]
    for _ in range(20):
        whole = np.append(whole, np.argmax(model(whole[-12:])[-1]))
    assert_array_equal(nn.generate(model, TOKENS[0, :3], 20), whole[3:])
    prompts, valid = nn.padded([TOKENS[0, :3], TOKENS[1, :1]], side="left")
    assert_array_equal(nn.generate(model, prompts, 20, valid=valid)[0], whole[3:])
