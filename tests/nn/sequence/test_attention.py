"""Attention against an explicit loop over queries and keys, for masks of every kind, lengths, blocks and dtypes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn


def by_loops(q, k, v, mask=None, causal=False, scale=None):
    """One query and one key after the other."""
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    out = np.zeros((len(q), v.shape[-1]))
    for i in range(len(q)):
        scores, values = [], []
        for j in range(len(k)):
            score = scale * float(q[i] @ k[j])
            if causal and j > i + len(k) - len(q):
                continue
            if mask is not None and mask.dtype == bool and not mask[i, j]:
                continue
            if mask is not None and mask.dtype != bool:
                score += mask[i, j]
            if score > -np.inf:
                scores.append(score)
                values.append(v[j])
        if scores:
            e = np.exp(np.array(scores) - max(scores))
            out[i] = e @ np.array(values) / e.sum()
    return out


def masks(r, queries, keys):
    boolean = r.random((queries, keys)) < 0.5
    boolean[r.integers(queries)] = False
    additive = np.where(r.random((queries, keys)) < 0.4, -np.inf, r.normal(size=(queries, keys)))
    additive[0] = -np.inf
    return {"none": None, "boolean": boolean, "additive": additive, "nothing": np.zeros((queries, keys), bool)}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 6), st.integers(1, 7), st.integers(1, 9), st.booleans(),
    st.sampled_from(["none", "boolean", "additive", "nothing"]), st.integers(0, 1000),
)  # fmt: skip
def test_dense_and_in_blocks(queries, keys, block, causal, kind, seed):
    """Values and gradients of the loop, by differences where there is a mask; never NaN, 0 where there is no key."""
    r = np.random.default_rng(seed)
    q, k, v = r.normal(size=(queries, 3)), r.normal(size=(keys, 3)), r.normal(size=(keys, 2))
    mask = masks(r, queries, keys)[kind]
    expected = by_loops(q, k, v, mask, causal)
    c = r.normal(size=expected.shape)
    gradients = []
    for size in (None, block):
        run = lambda q, k, v, size=size: nn.attention(q, k, v, mask=mask, causal=causal, block=size)
        assert_allclose(run(q, k, v), expected, atol=1e-13)
        gradients.append(ad.grad(lambda *xs, run=run: np.sum(c * run(*xs)), argnums=(0, 1, 2))(q, k, v))
    for a, b in zip(*gradients, strict=True):
        assert np.all(np.isfinite(a))
        assert_allclose(a, b, atol=1e-12)
    h = 1e-6
    direction = r.normal(size=q.shape)
    moved = [np.sum(c * by_loops(q + s * h * direction, k, v, mask, causal)) for s in (1, -1)]
    assert_allclose(np.sum(gradients[0][0] * direction), (moved[0] - moved[1]) / (2 * h), atol=1e-7)
    silent = np.all(expected == 0, axis=1)
    assert_array_equal(gradients[0][0][silent], 0)


@pytest.mark.row("B4.8.a", "B4.8.b", "B4.8.c")
def test_two_tokens():
    """Q = K = I₂, V = [[1, 2], [3, 4]]; rows of weights are in the simplex; 0/-∞ is added, never multiplied."""
    identity, v = np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])
    plain = [[1.5378828, 2.5378828], [2.4621172, 3.4621172]]
    assert_allclose(nn.attention(identity, identity, v, scale=1.0), plain, atol=5e-8)
    assert_allclose(nn.attention(identity, identity, v), [[1.6604769, 2.6604769], [2.3395231, 3.3395231]], atol=5e-8)
    causal = [[1.0, 2.0], [2.4621172, 3.4621172]]
    additive = np.array([[0.0, -np.inf], [0.0, 0.0]])
    assert_allclose(nn.attention(identity, identity, v, scale=1.0, causal=True), causal, atol=5e-8)
    assert_allclose(nn.attention(identity, identity, v, scale=1.0, mask=additive), causal, atol=5e-8)
    assert_allclose(nn.attention(-identity, identity, v, scale=1.0, mask=additive)[0], [1.0, 2.0])  # negative scores
    weights = nn.attention(identity, identity, np.eye(2), scale=1.0)
    assert np.all(nn.in_simplex(weights))
    nowhere = np.array([[False, False], [True, True]])
    value, gradient = ad.value_and_grad(lambda q: np.sum(nn.attention(q, identity, v, mask=nowhere)[0]))(identity)
    assert value == 0
    assert_array_equal(gradient, 0)


@pytest.mark.row("B4.8.d")
def test_self_attention_for_any_length():
    layer = nn.MultiHead.init(ad.random.default_rng(0), 6, 2)
    r = np.random.default_rng(0)
    for length in (1, 3, 8):
        x = r.normal(size=(length, 6))
        assert layer(x).shape == (length, 6)
        assert_allclose(nn.attention(x, x, x), by_loops(x, x, x), atol=1e-13)


@pytest.mark.row("B4.8.e", "B4.8.f")
def test_heads_one_by_one():
    """concat(Y_i) W^O = Σ Y_i W_i^O, W_i^O the rows of W^O that belong to head i; cross-attention the same."""
    layer = nn.MultiHead.init(ad.random.default_rng(0), 6, 3)
    r = np.random.default_rng(0)
    x, memory = r.normal(size=(4, 6)), r.normal(size=(5, 6))
    for source in (x, memory):
        total = np.tile(layer.output.bias, (4, 1))
        for i in range(3):
            own = slice(2 * i, 2 * i + 2)
            q = x @ layer.query.weight[:, own] + layer.query.bias[own]
            k = source @ layer.key.weight[:, own] + layer.key.bias[own]
            v = source @ layer.value.weight[:, own] + layer.value.bias[own]
            total = total + by_loops(q, k, v) @ layer.output.weight[own]
        made = layer(x) if source is x else layer(x, memory)
        assert made.shape == (4, 6)
        assert_allclose(made, total, atol=1e-12)


def test_grouped_heads_are_repeated_ones():
    layer = nn.MultiHead.init(ad.random.default_rng(0), 8, 4, kv_heads=2)
    x = np.random.default_rng(0).normal(size=(2, 5, 8))
    wide = lambda linear: nn.Linear(
        np.repeat(linear.weight.reshape(8, 2, 2), 2, axis=1).reshape(8, 8),
        np.repeat(linear.bias.reshape(2, 2), 2, 0).ravel(),
    )
    full = nn.MultiHead(layer.query, wide(layer.key), wide(layer.value), layer.output, 4, 4)
    assert_allclose(layer(x, causal=True), full(x, causal=True), atol=1e-13)


def test_batches_masks_and_transformations():
    r = np.random.default_rng(1)
    q, k, v = r.normal(size=(3, 2, 5, 4)), r.normal(size=(3, 2, 6, 4)), r.normal(size=(3, 2, 6, 4))
    mask = r.random((3, 1, 5, 6)) < 0.6
    mask[:, :, 2] = False
    tangent = r.normal(size=q.shape)
    for block in (None, 4):
        f = lambda q, k, v, mask, block=block: nn.attention(q, k, v, mask=mask, block=block)
        whole = f(q, k, v, mask)
        assert_allclose(ad.vmap(f)(q, k, v, mask), whole, atol=1e-14)
        assert_allclose(ad.jit(f)(q, k, v, mask), whole, atol=1e-14)
        _, pushed = ad.jvp(lambda q, f=f: f(q, k, v, mask), (q,), (tangent,))
        h = 1e-6
        assert_allclose(pushed, (f(q + h * tangent, k, v, mask) - f(q - h * tangent, k, v, mask)) / (2 * h), atol=1e-8)
        second = ad.derivative(lambda t, f=f: np.sum(np.sin(f(q + t * tangent, k, v, mask))), 2)(0.0)
        slope = ad.grad(lambda t, f=f: np.sum(np.sin(f(q + t * tangent, k, v, mask))))
        assert_allclose(second, (slope(1e-4) - slope(-1e-4)) / 2e-4, rtol=1e-5)
        assert f(*[x.astype(np.float32) for x in (q, k, v)], mask).dtype == np.float32


def test_memory_in_blocks_grows_with_the_length():
    """Of a gradient, as predicted: twice the length takes about twice the memory, not four times, up to 8192."""

    def bytes_of(length):
        x = np.ones((length, 4), np.float32)
        loss = lambda x: np.sum(nn.attention(x, x, x, causal=True, block=64) ** 2)
        return ad.memory_report(loss)(x).peak

    found = [bytes_of(length) for length in (1024, 2048, 4096, 8192)]
    for small, large in pairwise(found):
        assert large < 2.2 * small


def test_dropped_weights_keep_their_mean():
    r = np.random.default_rng(0)
    q, k, v = r.normal(size=(3, 8, 4))
    rng = ad.random.default_rng(0)
    for block in (None, 3):
        drop = ad.jit(lambda rng, block=block: nn.attention(q, k, v, rate=0.3, rng=rng, block=block))
        many = [drop(rng) for _ in range(600)]
        error = np.abs(np.mean(many, axis=0) - nn.attention(q, k, v))
        assert np.all(error < 5 * np.std(many, axis=0) / np.sqrt(600))


def test_bad_shapes():
    x = np.ones((5, 4))
    with pytest.raises(ad.ShapeError, match=r"q is \(5, 4\), k \(5, 3\)"):
        nn.attention(x, np.ones((5, 3)), x)
    with pytest.raises(ad.ShapeError, match=r"the mask is \(4, 5\); it must broadcast to \[\.\.\., 5, 5\]"):
        nn.attention(x, x, x, mask=np.ones((4, 5), bool))
    with pytest.raises(TypeError, match="the mask is int64"):
        nn.attention(x, x, x, mask=np.ones((5, 5), int))
    with pytest.raises(ValueError, match="block is a number of tokens"):
        nn.attention(x, x, x, block=0)
    assert_array_equal(nn.attention(x, np.ones((0, 4)), np.ones((0, 3))), np.zeros((5, 3)))
    empty = np.ones((0, 5, 4))
    assert nn.MultiHead.init(ad.random.default_rng(0), 4, 2)(empty).shape == (0, 5, 4)
    assert nn.attention(empty, empty, empty, block=2).shape == (0, 5, 4)
