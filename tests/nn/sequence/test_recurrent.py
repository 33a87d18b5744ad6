"""Recurrent layers: states by a plain loop over time, lengths, directions, poolings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn

KINDS = [nn.RNN, nn.LSTM, nn.GRU]
X = np.random.default_rng(0).normal(size=(3, 6, 4))


@pytest.mark.row("B4.7.a")
def test_a_recursion_with_one_weight():
    """z ← a z + 1, a = 0.5, z₀ = 0: 1, 1.5, 1.75, and dz₃/da = 1 + 2a = 2: all uses of a count."""

    def last(a):
        cell = nn.RNNCell(np.ones((1, 1)), np.reshape(a, (1, 1)), np.zeros(1), activation=lambda u: u)
        return nn.RNN(((cell,),))(np.ones((3, 1)))[:, 0]

    assert_allclose(last(0.5), [1.0, 1.5, 1.75])
    assert ad.grad(lambda a: last(a)[2])(0.5) == pytest.approx(2.0)


@pytest.mark.row("B4.7.d")
@pytest.mark.parametrize("kind", KINDS)
def test_aligned_sequences(kind):
    """s_l = γ(x_l, s_{l-1}), p_l = h(s_l): a plain loop over time."""
    layer = kind.init(ad.random.default_rng(0), 4, 5)
    cell = layer.cells[0][0]
    state, outputs = cell.start((3,)), []
    for t in range(6):
        state = cell(X[:, t], state)
        outputs.append(cell.output(state))
    made, last = layer.run(X)
    assert_allclose(made, np.stack(outputs, axis=1), rtol=1e-13)
    assert_allclose(cell.output(last[0][0]), outputs[-1], rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("both", [False, True])
def test_lengths_are_shorter_sequences(kind, both):
    """A sequence with a length gives what it gives by itself; behind its end are zeros, and no gradient."""
    layer = kind.init(ad.random.default_rng(0), 4, 5, layers=2, bidirectional=both)
    lengths = np.array([6, 2, 0])
    made, last = layer.run(X, lengths=lengths)
    for i, n in enumerate(lengths):
        assert_array_equal(made[i, n:], 0)
        if n:
            alone, end = layer.run(X[i, :n])
            assert_allclose(made[i, :n], alone, rtol=1e-12)
            for a, b in zip(ad.tree.leaves(last), ad.tree.leaves(end), strict=True):
                assert_allclose(a[i], b, rtol=1e-12)
    gradient = ad.grad(lambda x: np.sum(layer(x, lengths=lengths) ** 2))(X)
    assert_array_equal(gradient[1, 2:], 0)
    assert np.all(np.isfinite(gradient))


def test_a_sequence_in_two_parts():
    layer = nn.LSTM.init(ad.random.default_rng(0), 4, 5, layers=2)
    whole, end = layer.run(X)
    first, state = layer.run(X[:, :4])
    second, last = layer.run(X[:, 4:], state)
    assert_allclose(np.concatenate([first, second], axis=1), whole, rtol=1e-12)
    for a, b in zip(ad.tree.leaves(last), ad.tree.leaves(end), strict=True):
        assert_allclose(a, b, rtol=1e-12)


@pytest.mark.row("B4.7.c")
def test_poolings():
    """A vector for a sequence: the last state, the mean, the largest coordinates; with lengths those of its part."""
    states = np.random.default_rng(1).normal(size=(3, 6, 2))
    assert_array_equal(nn.pool(states), states[:, -1])
    assert_allclose(nn.pool(states, "mean"), states.mean(1))
    assert_array_equal(nn.pool(states, "max"), states.max(1))
    lengths = np.array([6, 1, 4])
    for how in ("last", "mean", "max"):
        parts = [nn.pool(states[i, :n], how) for i, n in enumerate(lengths)]
        assert_allclose(nn.pool(states, how, lengths), parts, rtol=1e-14)
        assert_allclose(ad.jit(lambda s, n, how=how: nn.pool(s, how, n))(states, lengths), parts, rtol=1e-14)
    with pytest.raises(ValueError, match="'last', 'mean' or 'max'"):
        nn.pool(states, "first")


def test_bad_inputs():
    layer = nn.GRU.init(ad.random.default_rng(0), 4, 5)
    with pytest.raises(ad.ShapeError, match=r"model.cells\[0\]\[0\] \(GRUCell 4 → 5\): x is \(2, 3, 3\)"):
        layer(np.ones((2, 3, 3)))
    with pytest.raises(ad.ShapeError, match="lengths go from 0 to 9; x has 6 steps"):
        layer(X, lengths=np.array([0, 9, 1]))
    with pytest.raises(ad.ShapeError, match=r"they must be integers of shape \(3,\)"):
        layer(X, lengths=np.array([1.0, 2.0, 3.0]))
    with pytest.raises(ad.ShapeError, match=r"must be \[…, time, features\]"):
        layer(np.ones(4))
