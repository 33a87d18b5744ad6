"""Radau IIA of order 5: end values, order conditions, order, algebraic equations, derivatives."""

from fractions import Fraction

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from tests.integrate.rooted_trees import defects
from tests.integrate.stiff_problems import PROBLEMS, relative_error, rober


def test_published_end_values():
    for tol in (1e-4, 1e-7, 1e-10):
        assert relative_error("ROBER", "radau", tol) < 30
    assert relative_error("CHEMAKZO", "radau", 1e-7) < 30


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_published_end_values(name):
    for tol in (1e-4, 1e-7, 1e-10):
        assert relative_error(name, "radau", tol) < 30


def test_order_conditions():
    chosen = integrate.choose("radau")
    A, b = [[Fraction(x) for x in row] for row in chosen.A], [Fraction(x) for x in chosen.b]
    assert max(defects(A, b, 5).values()) < 1e-14
    np.testing.assert_allclose(np.sum(chosen.A, axis=1), chosen.c, rtol=0, atol=1e-14)
    R = integrate.stability_function("radau")
    assert abs(R(-1e8)) < 1e-7
    z = 0.3
    assert abs(R(z) - (1 + 2 * z / 5 + z**2 / 20) / (1 - 3 * z / 5 + 3 * z**2 / 20 - z**3 / 60)) < 1e-14


def test_derivatives():
    rates = np.array([0.04, 3e7, 1e4])
    end = lambda k, method: integrate.solve(
        rober, (0.0, 1e3), np.array([1.0, 0.0, 0.0]), args=(k,), method=method, rtol=1e-9, atol=1e-12
    ).last[0]
    gradient = ad.grad(end)(rates, "radau")
    np.testing.assert_allclose(gradient, ad.grad(end)(rates, "rodas5p"), rtol=1e-6)
    v = rates * np.array([1.0, 0.5, -1.0])
    assert abs(ad.jvp(lambda k: end(k, "radau"), (rates,), (v,))[1] - gradient @ v) < 1e-12
