"""Large sparse programs: against dense ones of the same numbers, and derivatives against differences."""

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint import optimize
from adjoint.scipy import sparse

UNKNOWNS = 1600


def banded_program():
    rng = np.random.default_rng(0)
    side = np.full(UNKNOWNS - 1, -1.0)
    P = scipy.sparse.diags_array([side, np.full(UNKNOWNS, 2.1), side], offsets=[-1, 0, 1]).tocsr()
    return P, rng.normal(size=UNKNOWNS), scipy.sparse.csr_array(np.ones((1, UNKNOWNS))), np.array([1.0])


def test_conditions_hold_and_derivatives_fit_differences() -> None:
    P, q, A, b = banded_program()
    solve = lambda q, b: optimize.qp(P, q, A=A, b=b, lower=0.0)
    found = solve(q, b)
    assert found.status == "converged"
    prices = found.multipliers
    np.testing.assert_allclose(P @ found.value + q + A.T @ prices.equality - prices.lower, 0.0, atol=1e-8)
    np.testing.assert_allclose(np.minimum(found.value, prices.lower), 0.0, atol=1e-7)
    loss = lambda q, b: np.sum(solve(q, b).value ** 2)
    by_q, by_b = ad.grad(loss, (0, 1))(q, b)
    way = np.random.default_rng(1).normal(size=UNKNOWNS)
    step = 1e-5
    np.testing.assert_allclose(by_q @ way, (loss(q + step * way, b) - loss(q - step * way, b)) / (2 * step), rtol=1e-5)
    np.testing.assert_allclose(by_b, [(loss(q, b + step) - loss(q, b - step)) / (2 * step)], rtol=1e-5)

    def by_entries(data):
        M = sparse.csr_array((data, P.indices, P.indptr), shape=P.shape)
        return np.sum(optimize.qp(M, q, A=A, b=b, lower=0.0).value ** 2)

    gradient = ad.grad(by_entries)(P.data)
    way = np.random.default_rng(2).normal(size=P.data.shape) * (P.data > 0)
    difference = (by_entries(P.data + step * way) - by_entries(P.data - step * way)) / (2 * step)
    np.testing.assert_allclose(gradient @ way, difference, rtol=1e-4)


def test_linear_programs_go_to_highs() -> None:
    _, q, A, b = banded_program()
    c = np.abs(q)
    found = optimize.lp(c, A=A, b=b, lower=0.0)
    assert "highs" in found.method
    assert np.argmax(found.value) == np.argmin(c)
    np.testing.assert_allclose(ad.grad(lambda b: optimize.lp(c, A=A, b=b, lower=0.0).fun)(b), [np.min(c)])
    assert optimize.lp(c, A=A, b=b, upper=-1.0).status == "infeasible"
    endless = optimize.lp(c, A=A, b=b, lower=np.append(-np.inf, np.zeros(UNKNOWNS - 1)))
    assert endless.status == "unbounded"
    np.testing.assert_allclose(c @ endless.certificate.direction, -1.0)


def test_bad_input() -> None:
    P, q, A, b = banded_program()
    with pytest.raises(ValueError, match="not positive semidefinite"):
        optimize.qp(-P, q, lower=0.0)
    with pytest.raises(ValueError, match="without constraints"):
        optimize.qp(P, q)
    with pytest.raises(ad.ShapeError, match=r"A has shape \(1, 3\)"):
        optimize.qp(P, q, A=np.ones((1, 3)), b=b)
    with pytest.raises(ad.ShapeError, match=r"b has shape \(2,\)"):
        optimize.qp(P, q, A=A, b=np.ones(2))
    with pytest.raises(TypeError, match="A and b are given together"):
        optimize.qp(P, q, A=A)


@pytest.mark.parametrize("size", [1e-10, 1e10])
def test_the_units_of_sparse_and_integer_programs_do_not_matter(size):
    """The tolerances of HiGHS are absolute: what is below them was never looked at."""
    n = 40
    rng = np.random.default_rng(0)
    rows = sparse.random_array((20, n), density=0.2, rng=rng, format="csr")
    c, h = -rng.random(n), np.asarray(rows.sum(axis=1)) * 0.4
    solve = lambda c, method: optimize.lp(c, G=rows, h=h, lower=0.0, upper=1.0, method=method)
    for method in ("highs", "clarabel"):
        np.testing.assert_allclose(solve(size * c, method).fun / size, solve(c, method).fun, rtol=1e-9)
    G, limit = rng.random((3, 8)), 0.4 * np.full(3, 4.0)
    whole = lambda c: optimize.milp(c, G=G, h=limit, lower=0.0, upper=1.0)
    np.testing.assert_array_equal(whole(size * c[:8]).value, whole(c[:8]).value)
    np.testing.assert_allclose(whole(size * c[:8]).fun / size, whole(c[:8]).fun)
