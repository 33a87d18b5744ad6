"""L-BFGS: the two loops are the matrix of BFGS, and memory stays small."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.second_order.bfgs import update_inverse
from adjoint.optimize.second_order.lbfgs import add_pair, make_inverse_map, make_pairs


@pytest.mark.row("17.4.2")
@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_the_product_is_that_of_the_dense_update(count):
    rng = np.random.default_rng(2)
    n = 7
    M = rng.normal(size=(n, n))
    A = M @ M.T + np.eye(n)
    pairs, B = make_pairs(5, np.zeros(n)), np.eye(n)
    changes = [(s, A @ s) for s in rng.normal(size=(count, n))]
    for s, y in changes:
        pairs = add_pair(pairs, s, y, s @ y, True)
    if changes:
        s, y = changes[-1]
        B = (s @ y) / (y @ y) * np.eye(n)
    for s, y in changes:
        B = update_inverse(B, s, y, s @ y)
    np.testing.assert_allclose(make_inverse_map(pairs).to_dense(), B, atol=1e-12)
    v = rng.normal(size=n)
    np.testing.assert_allclose(ad.jit(lambda v: pairs.times(v))(v), B @ v, atol=1e-12)


def test_the_oldest_pair_gives_way():
    rng = np.random.default_rng(3)
    A = np.diag([1.0, 2.0, 3.0, 4.0])
    changes = [(s, A @ s) for s in rng.normal(size=(5, 4))]
    small, large = make_pairs(2, np.zeros(4)), make_pairs(2, np.zeros(4))
    for s, y in changes:
        small = add_pair(small, s, y, s @ y, True)
    for s, y in changes[-2:]:
        large = add_pair(large, s, y, s @ y, True)
    v = rng.normal(size=4)
    np.testing.assert_allclose(small.times(v), large.times(v), atol=1e-13)
    untouched = add_pair(small, changes[0][0], changes[0][1], np.float64(-1.0), False)
    np.testing.assert_array_equal(untouched.times(v), small.times(v))


def test_a_preconditioner_saves_iterations():
    d = np.logspace(0, 6, 50)
    f = lambda x: 0.5 * np.sum(d * (x - 1) ** 2) + 0.1 * np.sum(np.cos(x))
    plain = optimize.minimize(f, np.zeros(50), method=optimize.LBFGS(memory=5), tol=1e-6)
    helped = optimize.minimize(
        f, np.zeros(50), method=optimize.LBFGS(memory=5, preconditioner=lambda v: v / d), tol=1e-6
    )
    assert helped.status == "converged"
    assert helped.iterations < plain.iterations / 3


def test_many_unknowns():
    n = 20000
    pairwise = lambda x: np.sum(100 * (x[1::2] - x[::2] ** 2) ** 2 + (1 - x[::2]) ** 2)
    found = ad.jit(lambda x: optimize.minimize(pairwise, x, method="lbfgs"))(np.zeros(n))
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, 1.0, atol=1e-5)
    assert sum(a.size for a in ad.tree.leaves(found.state.pairs)) < 21 * n
