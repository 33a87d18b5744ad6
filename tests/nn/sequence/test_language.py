"""Language models: probabilities that sum to one, causality, tying, packing, heads, encoder-decoder."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn
from tests.nn.sequence.models import POSITIONS
from tests.nn.sequence.models import language_model as model


def cross_entropy(scores, targets):
    return -np.take_along_axis(nn.log_softargmax(scores), targets[..., None], axis=-1)[..., 0]


@pytest.mark.row("B4.8.t")
@pytest.mark.parametrize("positions", POSITIONS)
def test_probabilities_of_all_sequences_sum_to_one(positions):
    """P(x) = Π softargmax(scores after x₁…x_{k-1})[x_k], from a first token: over 2³ sequences it sums to 1."""
    small = model(positions, tokens=2)
    total = 0.0
    for x in itertools.product((0, 1), repeat=3):
        row = np.array((0, *x))
        total += np.exp(-np.sum(cross_entropy(small(row[:-1]), row[1:])))
    assert total == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ad.ShapeError, match="13 tokens; the context has 12: cut the sequence"):
        small(np.zeros(13, int))


@pytest.mark.row("B4.8.u")
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("block", [None, 2])
def test_the_future_does_not_matter(positions, block):
    """The Jacobian of the scores at k by the embedding of a token behind k is exactly zero."""
    lm = model(positions)
    tokens = np.array([1, 2, 3, 4, 5])
    table = np.random.default_rng(0).normal(size=(7, 8))

    def scores(table):
        return ad.tree.replace(lm, "embedding", nn.Embedding(table))(tokens, block=block)

    untied = ad.tree.replace(lm, "head", nn.Linear.init(ad.random.default_rng(1), 8, 7))
    run = lambda table: ad.tree.replace(untied, "embedding.weight", table)(tokens, block=block)
    jacobian = ad.jacrev(run)(table)  # (position, score, token, feature)
    for k in range(5):
        assert_array_equal(jacobian[k][:, tokens[k + 1 :]], 0)
        assert np.max(np.abs(jacobian[k][:, tokens[: k + 1]])) > 0
    assert scores(table).shape == (5, 7)


@pytest.mark.row("B4.8.v")
def test_tied_weights_have_the_gradient_of_both_uses():
    """One leaf: its gradient is that of the table plus that of the head, as if they were two."""
    lm = model()
    tokens = np.array([1, 2, 3, 2, 6])
    loss = lambda m: np.sum(cross_entropy(m(tokens[:-1]), tokens[1:]))
    apart = ad.tree.replace(lm, "head", nn.Linear(lm.embedding.weight.T.copy()))
    tied, both = ad.grad(loss)(lm), ad.grad(loss)(apart)
    assert loss(lm) == pytest.approx(loss(apart), rel=1e-14)
    assert_allclose(tied.embedding.weight, both.embedding.weight + both.head.weight.T, atol=1e-13)
    assert len(ad.tree.leaves(lm)) == len(ad.tree.leaves(apart)) - 1


@pytest.mark.row("B4.8.w", "B4.8.m")
@pytest.mark.parametrize("positions", POSITIONS)
def test_packed_sequences_have_their_own_losses(positions):
    """Sequences in one row under a block-diagonal mask: the sum of the separate losses; padding changes nothing."""
    lm = model(positions)
    r = np.random.default_rng(0)
    sequences = [r.integers(1, 7, n) for n in (5, 3, 9, 2, 4)]
    rows = nn.packed(sequences, 12, pad=0)
    assert len(rows.tokens) == 2
    run = lambda lm, tokens: lm(tokens, mask=rows.mask, positions=rows.positions)
    loss = lambda lm, tokens: np.sum(rows.weights * cross_entropy(run(lm, tokens), rows.targets))
    separate = lambda lm: sum(np.sum(cross_entropy(lm(s[:-1]), s[1:])) for s in sequences)
    assert loss(lm, rows.tokens) == pytest.approx(separate(lm), rel=1e-12)
    a, b = ad.grad(loss)(lm, rows.tokens), ad.grad(separate)(lm)
    for x, y in zip(ad.tree.leaves(a), ad.tree.leaves(b), strict=True):
        assert_allclose(x, y, atol=1e-11)
    other = np.where(rows.segments == 0, 6, rows.tokens)  # another token as padding
    assert loss(lm, other) == pytest.approx(loss(lm, rows.tokens), rel=1e-13)


@pytest.mark.row("B4.8.ad")
def test_prompted_targets():
    """A source in front of the target: weights are 0 on the prompt, and the loss is that of the target given it."""
    lm = model()
    source, target = np.array([1, 2, 3]), np.array([4, 5])
    tokens, targets, weights = nn.prompted(source, target)
    assert_array_equal(weights, [0, 0, 1, 1])
    value = np.sum(weights * cross_entropy(lm(tokens), targets))
    conditional = 0.0
    for k in range(2):
        seen = np.concatenate([source, target[:k]])
        conditional += cross_entropy(lm(seen)[-1:], target[k : k + 1])[0]
    assert value == pytest.approx(conditional, rel=1e-12)


@pytest.mark.row("B4.8.l")
def test_a_repeated_token_collects_gradient():
    """A gather forward, a scatter-add backward: the product with one-hot rows."""
    table = nn.Embedding.init(ad.random.default_rng(0), 5, 3)
    ids, c = np.array([2, 0, 2, 2]), np.random.default_rng(0).normal(size=(4, 3))
    assert_allclose(table(ids), nn.one_hot(ids, 5) @ table.weight)
    gradient = ad.grad(lambda t: np.sum(c * t(ids)))(table).weight
    assert_allclose(gradient, nn.one_hot(ids, 5).T @ c)
    with pytest.raises(ad.ShapeError, match="from 0 to 5; they must be from 0 to 4"):
        table(np.array([0, 5]))
    with pytest.raises(ad.DtypeError, match="integers"):
        table(np.array([0.0]))


@pytest.mark.row("B4.8.ab")
def test_heads_for_other_tasks():
    states, rng = np.random.default_rng(0).normal(size=(2, 6, 8)), ad.random.default_rng(0)
    assert nn.Classify.init(rng, 8, 3)(states).shape == (2, 3)
    head = nn.Classify.init(rng, 8, 3)
    assert_array_equal(head(states), head(states[:, :1]))  # from the first token alone
    assert nn.Tag.init(rng, 8, 4)(states[0]).shape == (6, 4)
    begin, end = nn.Span.init(rng, 8)(states[0])
    assert begin.shape == end.shape == (6,)


@pytest.mark.row("B4.8.ac")
def test_encoder_and_decoder():
    """Every decoder step sees all of the source, and no later target; padding of the source is not seen."""
    made = nn.EncoderDecoderTransformer.init(ad.random.default_rng(0), 9, 7, width=8, heads=2, depth=2, context=10)
    source, target = np.array([[1, 2, 3, 4]]), np.array([[1, 2, 3]])
    scores = made(source, target)
    assert scores.shape == (1, 3, 7)
    for i in range(4):
        other = source.copy()
        other[0, i] = 8
        assert np.all(np.max(np.abs(made(other, target) - scores), axis=-1) > 1e-8)
    for k in range(1, 3):
        other = target.copy()
        other[0, k] = 6
        assert_array_equal(made(source, other)[:, :k], scores[:, :k])
    longer = np.array([[1, 2, 3, 4, 5, 6]])
    mask = np.array([[True] * 4 + [False] * 2])
    assert_allclose(made(longer, target, source_mask=mask), scores, atol=1e-12)
