"""Transformers from one sequence to another: writing with a cache is writing with everything computed again."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import adjoint as ad
from adjoint import nn

SOURCE = np.random.default_rng(0).integers(0, 9, (6, 5))


def model(**options):
    return nn.EncoderDecoderTransformer.init(
        ad.random.default_rng(1), 9, 7, width=8, heads=4, depth=2, context=10, **options
    )


@pytest.mark.parametrize("options", [{}, {"norm": "post"}, {"kv_heads": 2, "mlp": "swiglu", "normalization": "rms"}])
def test_the_likeliest_tokens_are_those_of_teacher_forcing(options):
    made = model(**options)
    mask = np.arange(5) < np.array([5, 3, 5, 4, 1, 2])[:, None]
    tokens, lengths = made.generate(SOURCE, stop=-1, at_most=8, begin=1, source_mask=mask)
    before = np.concatenate([np.ones((6, 1), int), tokens[:, :-1]], axis=1)
    assert_array_equal(np.argmax(made(SOURCE, before, source_mask=mask), axis=-1), tokens)
    assert_array_equal(lengths, 8)
    one, _ = made.generate(SOURCE[1, :3], stop=-1, at_most=8, begin=1)
    assert_array_equal(one, tokens[1])  # padding does not matter, nor does the batch


def test_writing_stops():
    made = model()
    rng = ad.random.default_rng(0)
    tokens, lengths = made.generate(np.tile(SOURCE, (8, 1)), rng, stop=0, at_most=10)
    assert len(set(lengths.tolist())) > 3
    for row, n in zip(tokens, lengths, strict=True):
        assert np.all(row[: n - 1] != 0)
        assert_array_equal(row[n - 1 if n < 10 else n :], 0)
    with pytest.raises(ad.ShapeError, match="holds 1 to 10"):
        made.generate(SOURCE, stop=0, at_most=11)
    again, _ = made.generate(np.tile(SOURCE, (8, 1)), ad.random.default_rng(0), stop=0, at_most=10)
    assert_array_equal(again, tokens)
    few, _ = made.generate(SOURCE, rng, stop=-1, at_most=10, top_k=1)
    assert_array_equal(few, made.generate(SOURCE, stop=-1, at_most=10)[0])


def test_it_learns_to_turn_sequences_around():
    """From 4 tokens to the same ones backwards, by `fit`."""
    rng = np.random.default_rng(0)
    x = rng.integers(1, 9, (400, 4))
    y = x[:, ::-1]
    before = np.concatenate([np.zeros((400, 1), int), y[:, :-1]], axis=1)
    made = nn.EncoderDecoderTransformer.init(
        ad.random.default_rng(0), 9, 9, width=32, heads=4, depth=1, context=8, dtype=np.float32
    )
    loss = lambda m, batch: nn.cross_entropy(m(batch["x"], batch["before"]), batch["y"])
    data = ad.data.arrays(x=x, before=before, y=y)
    rule = ad.optimize.updates.adam(0.005)
    run = nn.fit(made, loss, data, rule, epochs=30, batch=50, rng=ad.random.default_rng(0))
    new = rng.integers(1, 9, (50, 4))
    assert np.mean(run.model.generate(new, stop=-1, at_most=4)[0] == new[:, ::-1]) > 0.9
