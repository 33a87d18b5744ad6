"""`bilevel` and `saddle` against closed forms and quadratic programs."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.implicit.diagnosis import DerivativeWarning
from adjoint.optimize import sets

A = np.array([2.0, -1.0, 0.5])
C = np.array([1.0, -0.2, 0.4])


def shrunk(c, start=0.0, **options):
    """w = a / (1 + e^λ), so that e^λ = ⟨a, a⟩ / ⟨a, c⟩ - 1."""
    inner = lambda w, lam, c: 0.5 * np.sum((w - A) ** 2) + 0.5 * np.exp(lam) * np.sum(w**2)
    outer = lambda w, lam, c: 0.5 * np.sum((w - c) ** 2)
    return optimize.bilevel(outer, inner, np.zeros(3), start, c, **options)


def exact(c):
    return np.log(A @ A / (A @ c) - 1)


def test_bilevel_against_the_closed_form():
    found = shrunk(C)
    w, lam = found.value
    assert found.converged
    np.testing.assert_allclose(lam, exact(C), atol=1e-7)
    np.testing.assert_allclose(w, A * (A @ C) / (A @ A), atol=1e-7)
    step = 1e-6
    expected = [(exact(C + step * e) - exact(C - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ad.grad(lambda c: shrunk(c).value[1])(C), expected, atol=1e-6)


def test_bilevel_compiles_and_batches():
    batch = np.stack([C, 1.1 * C])
    found = ad.jit(ad.vmap(lambda c: shrunk(c)))(batch)
    np.testing.assert_allclose(found.value[1], [exact(c) for c in batch], atol=1e-7)
    assert found.converged.all()


def test_bilevel_with_bounds_and_with_a_set():
    low = shrunk(C, 1.0, outer_options={"bounds": (0.9, None)})  # the best one lies below
    assert exact(C) < 0.9
    np.testing.assert_allclose(low.value[1], 0.9)
    target = np.array([0.5, 0.3, 0.2])
    found = optimize.bilevel(
        lambda p, t: np.sum((p - target) ** 2), lambda p, t: np.sum((p - t) ** 2), np.ones(3) / 3,
        np.array([0.3, 0.3, 0.3]), inner_options={"subject_to": sets.simplex()},
    )  # fmt: skip
    np.testing.assert_allclose(found.value[0], target, atol=1e-6)
    assert found.converged


def test_saddle_of_a_quadratic_game():
    f = lambda x, y, a: x * x + a * x * y - y * y + 2 * y
    best = lambda a: -2 * a / (4 + a * a)
    for a in (0.5, 3.0):
        found = optimize.saddle(f, 1.0, 0.0, a)
        np.testing.assert_allclose(found.value, (best(a), a * best(a) / 2 + 1), atol=1e-7)
        expected = (best(a + 1e-6) - best(a - 1e-6)) / 2e-6
        np.testing.assert_allclose(ad.grad(lambda a: optimize.saddle(f, 1.0, 0.0, a).value[0])(a), expected, atol=1e-7)


def test_saddle_on_a_simplex_against_its_dual_program():
    M = np.array([[1.0, -0.5, 0.3], [0.2, 0.8, -1.0]])
    f = lambda x, y: 0.5 * x @ x + x @ M @ y - 0.5 * y @ y
    found = optimize.saddle(f, np.zeros(2), np.ones(3) / 3, inner_options={"subject_to": sets.simplex()})
    y = optimize.qp(M.T @ M + np.eye(3), np.zeros(3), A=np.ones((1, 3)), b=np.ones(1), lower=0.0).value
    assert found.converged
    np.testing.assert_allclose(found.value[1], y, atol=1e-6)
    np.testing.assert_allclose(found.value[0], -M @ y, atol=1e-6)


def test_an_inner_problem_without_an_end_is_told():
    with pytest.warns(DerivativeWarning, match="x is no solution"):
        found = optimize.saddle(lambda x, y: x * x + y * y, 1.0, 0.5)
    assert not found.converged
    assert "inner problem" in found.advice
    with pytest.raises(ValueError, match="positive"):
        shrunk(C, tol=-1.0)
