"""Random programs with a fixed unknown and rows that say the same, or hold without pressing.

Solution and multipliers are built in, and derivatives follow from the conditions of either face.
"""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.implicit.diagnosis import DerivativeWarning
from tests.support.sweeps import sampled

N, ROWS = 5, 8


def build(seed, *, same=False, weak=False):
    """A program whose solution x is known: rows 0 and 1 press, row 2 may be their mean, row 3 may be weak."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(N, N))
    P, x, G = root @ root.T / N + 0.2 * np.eye(N), rng.normal(size=N), rng.normal(size=(ROWS, N))
    y, slack = np.zeros(ROWS), rng.uniform(0.2, 1.0, ROWS)
    y[:2], slack[:2] = rng.uniform(0.5, 1.5, 2), 0.0
    if same:
        G[2], slack[2] = (G[0] + G[1]) / 2, 0.0
    if weak:
        slack[3] = 0.0
    lower, upper = x - 1.0, x + 1.0
    lower[4] = upper[4] = x[4]  # fixed
    push = rng.normal() * np.eye(N)[4]  # what holds it there
    return P, -P @ x - G.T @ y + push, G, G @ x + slack, lower, upper, x


def move(P, rows, direction):
    """dx where these rows of G, and the last unknown, are held: from the conditions."""
    C = np.vstack([rows, np.eye(N)[4]])
    K = np.block([[P, C.T], [C, np.zeros((len(C), len(C)))]])
    return np.linalg.solve(K, np.concatenate([-direction, np.zeros(len(C))]))[:N]


def solve(q, data):
    P, _, G, h, lower, upper, _ = data
    return optimize.qp(P, q, G=G, h=h, lower=lower, upper=upper)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_fixed_unknowns(seed, compiled):
    data = build(seed)
    P, q, G, x = data[0], data[1], data[2], data[-1]
    value = lambda q: solve(q, data).value
    direction = np.random.default_rng(100 + seed).normal(size=N)
    derivative = lambda q: ad.jvp(value, (q,), (direction,))
    found, moved = (ad.jit(derivative) if compiled else derivative)(q)
    np.testing.assert_allclose(found, x, atol=1e-7)
    np.testing.assert_allclose(moved, move(P, G[:2], direction), atol=1e-6)
    np.testing.assert_allclose(ad.grad(lambda q: np.sum(direction * value(q)))(q), move(P, G[:2], direction), atol=1e-6)


@pytest.mark.parametrize("seed, compiled", sampled(itertools.product(range(3), [False, True]), 5))
def test_degenerate_vertices(seed, compiled):
    """Solution, value and their derivatives in q are right; those of prices, which are not unique, are NaN."""
    data = build(seed, same=True)
    q, x = data[1], data[-1]
    compiling = ad.jit if compiled else lambda f: f
    both = compiling(lambda q: (solve(q, data).value, ad.grad(lambda q: solve(q, data).fun)(q)))
    for found in both(q):
        np.testing.assert_allclose(found, x, atol=1e-6)  # d value / dq is the solution
    moved = np.random.default_rng(seed).normal(size=N)
    x_at = lambda q: solve(q, data).value
    sides = [(x_at(q + s * 1e-6 * moved) - x) / (s * 1e-6) for s in (1, -1)]
    with pytest.warns(DerivativeWarning, match=r"follow from others.*Leave out"):
        slopes = [compiling(mode(x_at))(q) @ moved for mode in (ad.jacrev, ad.jacfwd)]
    for slope in slopes:
        np.testing.assert_allclose(slope, np.mean(sides, 0), atol=1e-5)
    with pytest.warns(DerivativeWarning, match="follow from others"):
        prices = compiling(ad.jacfwd(lambda q: solve(q, data).multipliers.inequality))(q)
    assert np.isnan(prices).any()


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_hold_without_pressing(seed):
    data = build(10 + seed, weak=True)
    P, q, G, x = data[0], data[1], data[2], data[-1]
    direction = np.random.default_rng(200 + seed).normal(size=N)
    np.testing.assert_allclose(solve(q, data).value, x, atol=1e-6)
    sides = [move(P, G[:2], direction), move(P, G[[0, 1, 3]], direction)]
    along = ad.jvp(lambda q: solve(q, data).value, (q,), (direction,))[1]  # the one into which it goes
    into = 0 if G[3] @ sides[0] <= 0 else 1
    np.testing.assert_allclose(along, sides[into], atol=1e-5)
    with pytest.warns(DerivativeWarning, match="weakly active"):
        found = ad.jacrev(lambda q: solve(q, data).value)(q) @ direction
    np.testing.assert_allclose(found, sides[1], atol=1e-5)
    np.testing.assert_allclose(ad.grad(lambda q: solve(q, data).fun)(q), x, atol=1e-6)


def test_a_batch_of_all_of_them():
    """Each element has its own active set, and gets what it gets alone."""
    every = [build(seed) for seed in range(4)]
    stacked = [np.stack(part) for part in zip(*every, strict=True)]
    one = lambda P, q, G, h, lower, upper: optimize.qp(P, q, G=G, h=h, lower=lower, upper=upper).value
    jacobians = ad.jit(ad.vmap(ad.jacrev(one, 1)))(*stacked[:6])
    for found, data in zip(jacobians, every, strict=True):
        wanted = np.stack([move(data[0], data[2][:2], e) for e in np.eye(N)], axis=1)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_single_precision_finds_the_same_solutions():
    """P of low rank, degenerate vertices (h = 0), bounds that are numbers of Python: 1 of 3 was not found before."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(2, 8), rng.integers(1, 12)
        B = rng.normal(size=(n - (seed % 3 == 0), n))
        P, q, G = B.T @ B, rng.normal(size=n), rng.normal(size=(p, n))
        h = rng.random(p) * (seed % 2)
        exact = optimize.qp(P, q, G=G, h=h, lower=-3.0, upper=3.0)
        single = [v.astype(np.float32) for v in (P, q, G, h)]
        found = optimize.qp(*single[:2], G=single[2], h=single[3], lower=-3.0, upper=3.0)
        assert found.converged
        assert found.value.dtype == np.float32
        np.testing.assert_allclose(found.value, exact.value, atol=1e-3 * (1 + np.max(np.abs(exact.value))))
