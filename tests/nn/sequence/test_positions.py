"""Positions: printed values, the rotation property, both layouts, complex numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn


@pytest.mark.row("B4.8.o")
def test_learned_positions_end_with_the_context():
    table = nn.LearnedPositions.init(ad.random.default_rng(0), 6, 4)
    assert_array_equal(table(3), table.weight[:3])
    assert_array_equal(table(np.array([5, 0])), table.weight[[5, 0]])
    with pytest.raises(ad.ShapeError, match="7 tokens; the context has 6"):
        table(7)
    with pytest.raises(ad.ShapeError, match="position 6; the context ends with 5"):
        table(np.array([6]))


@pytest.mark.row("B4.8.p")
def test_sinusoidal():
    """sin at even, cos at odd coordinates, both counted from 0: no coordinate is left without its partner."""
    table = nn.sinusoidal(50, 4)
    assert_allclose(table[0], [0, 1, 0, 1])
    assert_allclose(table[1], [0.8414710, 0.5403023, 0.0099998, 0.9999500], atol=5e-8)
    assert np.max(np.abs(table)) <= 1
    with pytest.raises(ad.ShapeError, match="even"):
        nn.sinusoidal(3, 5)


@pytest.mark.row("B4.8.q")
def test_a_shift_is_a_rotation():
    width, shift = 8, 11
    table = nn.sinusoidal(60, width)
    for j in range(0, width, 2):
        angle = 10000 ** (-j / width) * shift
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        pairs = table[:, [j + 1, j]]  # (cos, sin)
        assert_allclose(pairs[shift:], pairs[:-shift] @ turn.T, atol=1e-12)


@pytest.mark.row("B4.8.r")
@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_rotary_positions(layout):
    """(1, 0) at 1 becomes (cos 1, sin 1); norms stay; products depend on the distance alone."""
    assert_allclose(nn.rope(np.array([[1.0, 0.0]]), np.array([1]), layout=layout), [[0.5403023, 0.8414710]], atol=5e-8)
    r = np.random.default_rng(0)
    q, k = r.normal(size=(2, 1, 8))
    at = lambda x, m: nn.rope(x, np.array([m]), layout=layout)
    assert_allclose(np.linalg.norm(at(q, 17)), np.linalg.norm(q), rtol=1e-14)
    products = [float(np.sum(at(q, m) * at(k, m - 5))) for m in (5, 20, 300)]
    assert_allclose(products, products[0], rtol=1e-11)
    assert abs(products[0] - float(np.sum(at(q, 5) * at(k, 1)))) > 1e-3
    long = nn.rope(np.tile(q, (9, 1)), np.arange(9), layout=layout)
    assert_allclose(long[4], at(q, 4)[0], rtol=1e-14)
    assert_allclose(
        ad.jit(lambda x, p: nn.rope(x, p, layout=layout))(np.tile(q, (9, 1)), np.arange(9)), long, atol=1e-13
    )


@pytest.mark.row("B4.8.s")
def test_rotary_positions_as_complex_products():
    """z e^{imθ}: the same as the real form of either layout, and for complex x itself."""
    x, positions = np.random.default_rng(0).normal(size=(6, 8)), np.arange(6)
    phases = np.exp(1j * positions[:, None] * 10000.0 ** (-np.arange(4) / 4))
    z = (x[:, 0::2] + 1j * x[:, 1::2]) * phases
    paired = nn.rope(x, positions)
    assert_allclose(paired[:, 0::2] + 1j * paired[:, 1::2], z, atol=1e-14)
    half = nn.rope(x, positions, layout="halves")
    assert_allclose(half[:, :4] + 1j * half[:, 4:], (x[:, :4] + 1j * x[:, 4:]) * phases, atol=1e-14)
    assert_allclose(nn.rope(x[:, 0::2] + 1j * x[:, 1::2], positions), z, atol=1e-14)


def test_long_positions_keep_single_precision():
    x = np.ones((1, 4), np.float32)
    far = nn.rope(x, np.array([100_000]))
    exact = nn.rope(x.astype(float), np.array([100_000]))
    assert far.dtype == np.float32
    assert_allclose(far, exact, atol=3e-7)


def test_bias_by_distance():
    bias = nn.alibi(8, 3)
    assert bias.shape == (8, 3, 3)
    assert_allclose(-bias[:, 2, 0], 2 * 0.5 ** np.arange(1, 9))
    assert_allclose(-nn.alibi(6, 1, 2)[:, 0, 0], [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])
    assert_array_equal(nn.alibi(2, 2, 5), nn.alibi(2, 5)[:, 3:])
    with pytest.raises(ad.ShapeError, match="even"):
        nn.rope(np.ones((2, 3)), np.arange(2))
    with pytest.raises(ValueError, match="layout"):
        nn.rope(np.ones((2, 4)), np.arange(2), layout="interleaved")
