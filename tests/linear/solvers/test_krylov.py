"""Conjugate gradients and minimal residuals at bad conditions: what they reach, and what they say."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import adjoint as ad
from adjoint import linear

rng = np.random.default_rng(0)


def conditioned(n: int, condition: float, signs: bool = False) -> Any:
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.geomspace(1 / condition, 1.0, n) * (np.where(np.arange(n) % 2, 1.0, -1.0) if signs else 1.0)
    a = (q * values) @ q.T
    return (a + a.T) / 2


def relative_residual(a: Any, x: Any, b: Any) -> float:
    return float(np.linalg.norm(b - a @ x) / np.linalg.norm(b))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n, condition, tol", [(100, 1e6, 1e-6), (100, 1e6, 1e-9), (50, 1e8, 1e-6), (60, 1e3, 1e-12)])
def test_minres_arrives_with_the_true_residual(n: int, condition: float, tol: float, compiled: bool) -> None:
    a, b = conditioned(n, condition), rng.normal(size=n)
    solve = lambda a, b: linear.minres(a, b, tol=tol, max_iterations=40 * n)
    found = (ad.jit(solve) if compiled else solve)(a, b)
    assert found.status == "converged"
    assert relative_residual(a, found.value, b) <= 1.001 * tol
    assert float(found.residual) == pytest.approx(np.linalg.norm(b - a @ found.value), rel=0.1)
    other, _ = scipy.sparse.linalg.minres(a, b, rtol=tol, maxiter=40 * n)
    assert relative_residual(a, found.value, b) < relative_residual(a, other, b)


def test_minres_of_both_signs() -> None:
    a, b = conditioned(40, 1e2, signs=True), rng.normal(size=40)
    found = linear.minres(a, b, tol=1e-11, max_iterations=2000)
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, np.linalg.solve(a, b), rtol=1e-7)


@pytest.mark.parametrize("method", [linear.cg, linear.minres])
def test_what_rounding_does_not_allow_is_not_called_converged(method: Any) -> None:
    a, b = conditioned(100, 1e6), rng.normal(size=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = method(a, b, tol=1e-15, max_iterations=6000)
    assert found.status in ("stagnated", "max iterations")
    assert relative_residual(a, found.value, b) < 1e-9  # eps times the condition is 2e-10


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", [linear.cg, linear.minres])
def test_operators_that_are_not_symmetric(method: Any, compiled: bool) -> None:
    a = np.diag(np.linspace(1.0, 2.0, 100))
    a[0, 1] = 0.3  # the smallest thing that makes minres fail
    b = np.random.default_rng(1).normal(size=100)
    solve = lambda a, b: method(a, b, tol=1e-10)
    found = (ad.jit(solve) if compiled else solve)(a, b)
    if found.status == "converged":  # then it has solved the equation all the same
        assert relative_residual(a, found.value, b) < 1e-9
    else:
        assert "not symmetric" in found.advice
    worse = (ad.jit(solve) if compiled else solve)(a + np.triu(np.full((100, 100), 0.5)), b)
    assert worse.status != "converged"
    assert "not symmetric" in worse.advice
    with pytest.raises(Exception, match="not symmetric"):
        worse.raise_if_failed()


def test_gradients_where_it_begins_anew() -> None:
    a, b, w = conditioned(30, 1e5), rng.normal(size=30), rng.normal(size=30)
    loss = lambda a, b: w @ linear.minres(a, b, tol=1e-10, max_iterations=3000).value
    by_b = ad.grad(loss, 1)(a, b)
    exact = np.linalg.solve(a, w)
    np.testing.assert_allclose(by_b, exact, rtol=1e-5, atol=1e-5 * np.max(np.abs(exact)))
