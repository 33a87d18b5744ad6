"""Chapter 17: preconditioned steps, Newton's method, its rate and invariance, Gauss-Newton."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import optimize
from tests.optimize.functions import STANDARD


@pytest.mark.row("17.0", "17.1.1")
def test_newton_on_a_quadratic_and_on_an_exponential():
    A, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    found = optimize.minimize(lambda w: 0.5 * w @ A @ w - b @ w, np.array([5.0, 5.0]), method="newton")
    assert found.iterations == 1
    assert_allclose(found.value, np.linalg.solve(A, b), rtol=1e-12)
    seen = []
    f = lambda w: np.exp(w) - w
    optimize.minimize(f, 1.0, method="newton", tol=1e-13, callback=lambda now: seen.append(float(now.x)))
    assert_allclose(seen[:4], [0.36787944, 0.06008007, 0.00176920, 1.5641e-6], rtol=1e-4)
    assert_allclose(seen[3] / seen[2] ** 2, 0.5, rtol=1e-2)


@pytest.mark.row("17.1.4")
def test_digits_double_in_many_digits():
    """The steps of the method here are those of mpmath with 200 digits, which go on where doubles end."""
    seen = []
    optimize.minimize(
        lambda w: np.exp(w) - w, 0.5, method="newton", tol=1e-15, callback=lambda n: seen.append(float(n.x))
    )
    with mpmath.workdps(200):
        w, errors = mpmath.mpf("0.5"), []
        for _ in range(8):
            w = w - (mpmath.e**w - 1) / mpmath.e**w
            errors.append(w)
        assert_allclose(seen[:3], [float(e) for e in errors[:3]], rtol=1e-9)
        digits = [-mpmath.log10(abs(e)) for e in errors]
        assert all(1.9 < float(b / a) < 2.5 for a, b in pairwise(digits[2:]))
        assert digits[-1] > 60


@pytest.mark.row("17.1.6")
def test_newton_does_not_see_a_change_of_coordinates():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(2, 2)) + 2 * np.eye(2)
    f = STANDARD["beale"][0]
    x0 = np.array([2.5, 0.4])
    plain, mapped = [], []
    options = {"method": "newton", "max_iterations": 6, "tol": 0.0}
    optimize.minimize(f, x0, callback=lambda now: plain.append(now.x), **options)
    optimize.minimize(
        lambda v: f(M @ v), np.linalg.solve(M, x0), callback=lambda now: mapped.append(M @ now.x), **options
    )
    assert_allclose(plain, mapped, atol=1e-9)
    descent = optimize.minimize(lambda v: f(M @ v), np.linalg.solve(M, x0), method=optimize.GradientDescent(1e-3),
                                max_iterations=1)  # fmt: skip
    other = optimize.minimize(f, x0, method=optimize.GradientDescent(1e-3), max_iterations=1)
    assert np.max(np.abs(M @ descent.value - other.value)) > 1e-3


@pytest.mark.row("17.1.6", "17.5")
def test_a_diagonal_preconditioner_solves_a_diagonal_problem_in_one_step():
    a, b = 3.0, 200.0
    f = lambda w: 0.5 * a * w[0] ** 2 + 0.5 * b * w[1] ** 2
    diagonal = np.diag(ad.hessian(f)(np.ones(2)))
    helped = optimize.LBFGS(preconditioner=lambda v: v / diagonal, search=optimize.Armijo())
    scaled = optimize.minimize(f, np.ones(2), scale=1 / np.sqrt(diagonal), method=optimize.GradientDescent(1.0))
    assert scaled.iterations == 1
    assert_allclose(scaled.value, 0.0, atol=1e-12)
    assert optimize.minimize(f, 0.1 * np.ones(2), method=helped).iterations <= 2


@pytest.mark.row("17.1.3")
def test_inexact_directions_give_the_iterates_of_exact_ones():
    f, x0, _ = STANDARD["beale"]
    exact = optimize.minimize(f, x0, method="trust-exact").value
    by_products = optimize.minimize(f, x0, method="newton-cg").value
    assert_allclose(by_products, exact, atol=1e-7)


@pytest.mark.row("17.2.1b", "17.2.3")
def test_gauss_newton_directions_always_fall():
    residual = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0], np.sin(x[0] * x[1])])
    rng = np.random.default_rng(1)
    for x in rng.normal(size=(20, 2)):
        J, r = ad.jacobian(residual)(x), residual(x)
        for damping in (1e-6, 1.0):
            p = -np.linalg.solve(J.T @ J + damping * np.eye(2), J.T @ r)
            assert optimize.is_descent_direction(p, J.T @ r)


@pytest.mark.row("17.6")
def test_costs_can_be_compared():
    """Per method: calls of oracles, linear equations, memory; counted against the functions themselves."""
    n, calls = 12, []
    valley = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def spied(x):
        calls.append(1)
        return valley(x)

    found = optimize.compare(spied, np.full(n, 0.5), methods=["cg", "lbfgs", "bfgs", "newton-cg", "newton"])
    costs = {trial.method: trial for trial in found.trials}
    assert {trial.status for trial in found.trials} == {"converged"}
    assert set(costs["newton"].evaluations) == {"value", "gradient", "hessian", "solve"}
    assert set(costs["newton-cg"].evaluations) == {"value", "gradient", "hvp", "solve"}
    assert costs["newton"].evaluations["gradient"] < costs["bfgs"].evaluations["gradient"]
    assert costs["newton"].evaluations["solve"] == costs["newton"].evaluations["hessian"]
    assert costs["newton-cg"].evaluations["solve"] == costs["newton-cg"].iterations
    calls.clear()
    (alone,) = optimize.compare(spied, np.full(n, 0.5), methods=["bfgs"]).trials
    assert len(calls) - 1 <= alone.evaluations["value"] == alone.evaluations["gradient"] <= len(calls)
    words = 8 * n
    assert costs["cg"].memory < 5 * words < costs["bfgs"].memory
    assert costs["bfgs"].memory == pytest.approx(n * words, rel=0.2)
    assert costs["lbfgs"].memory == pytest.approx(20 * words, rel=0.2)
    assert costs["newton-cg"].memory < 3 * words
    head, _, *rows = found.table().splitlines()
    assert "solve" in head
    assert len(rows) == 5
    assert "newton-cg" in repr(found)
    assert "<td>newton</td>" in found._repr_html_()
