"""Derivatives where active constraints depend on each other: sums of rows and columns, vertices of boxes with sums."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.implicit.diagnosis import DerivativeWarning

ROWS, COLUMNS = np.array([0.3, 0.3, 0.4]), np.array([0.2, 0.3, 0.1, 0.4])
SUMS = np.concatenate([np.kron(np.eye(3), np.ones(4)), np.kron(np.ones(3), np.eye(4))])  # one follows from the others


def plan(costs, scale=1.0, check="ignore"):
    """Optimal transport with a quadratic penalty; the polytope's equations depend on each other."""
    b = scale * np.concatenate([ROWS, COLUMNS])
    return optimize.qp(0.3 * np.eye(12), costs, A=SUMS, b=b, lower=0.0, check=check)


@pytest.mark.parametrize("seed", range(3))
def test_equations_that_follow_from_others_do_no_harm(seed):
    costs, v = np.random.default_rng(seed).random((2, 12))
    solve = lambda c: plan(c).value
    along = (solve(costs + 1e-6 * v) - solve(costs - 1e-6 * v)) / 2e-6
    for J in (ad.jacrev(solve)(costs), ad.jacfwd(solve)(costs), ad.jit(ad.vmap(ad.jacrev(solve)))(costs[None])[0]):
        np.testing.assert_allclose(J @ v, along, atol=1e-8)
    cubes = lambda c: np.sum(solve(c) ** 3)
    along = (ad.grad(cubes)(costs + 1e-6 * v) - ad.grad(cubes)(costs - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(ad.hessian(cubes)(costs) @ v, along, atol=1e-7)
    # rows and columns that grow together are a direction that has a derivative, and one alone has none
    moved = ad.jacfwd(lambda s: plan(costs, s).value)(1.0)
    np.testing.assert_allclose(moved, (plan(costs, 1 + 1e-6).value - plan(costs, 1 - 1e-6).value) / 2e-6, atol=1e-8)
    one = np.eye(7)[0]
    assert np.isnan(ad.jacfwd(lambda s: plan(costs, 1.0 + s * one).value)(0.0)).any()
    assert np.isnan(ad.jacrev(lambda s: plan(costs, s).value)(1.0)).all()  # prices are not unique
    assert np.isnan(ad.jacfwd(lambda c: plan(c).multipliers.equality)(costs)).any()


def test_vertices_of_a_box_with_a_sum():
    """x ≤ 1 follows from x ≥ 0 and Σ x = 1, where one number is all."""
    solve = lambda q: optimize.qp(0.1 * np.eye(3), q, A=np.ones((1, 3)), b=np.ones(1), lower=0.0, upper=1.0).value
    q = np.array([-5.0, -1.0, -1.0])
    with pytest.warns(DerivativeWarning, match="follow from others"):
        np.testing.assert_allclose(ad.jacrev(solve)(q), 0.0, atol=1e-12)
