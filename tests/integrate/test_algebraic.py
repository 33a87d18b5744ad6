"""Algebraic equations: a start that fulfills them, its derivatives, and indices."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate

M = np.diag([1.0, 0.0])


def circle(t, y, r):
    return np.stack([-y[0] * y[1], y[0] ** 2 + y[1] ** 2 - r**2])


def end(y0, r, **how):
    return integrate.solve(circle, (0.0, 1.0), y0, args=(r,), mass=M, method="rodas5p", rtol=1e-9, atol=1e-9, **how)


def test_start_is_checked_and_fixed():
    wrong = np.array([0.6, 0.5])
    assert end(wrong, 1.0).status == "inconsistent start"
    assert "fix algebraic" in end(wrong, 1.0).advice
    fixed = end(wrong, 1.0, start="fix algebraic")
    assert fixed.status == "finished"
    np.testing.assert_allclose(fixed.last, end(np.array([0.6, 0.8]), 1.0).last, rtol=1e-8)


def test_the_fixed_start_is_differentiable():
    value = lambda x, r: end(np.stack([x, 0.5 + 0 * x]), r, start="fix algebraic").last[0]
    found = ad.grad(value, (0, 1))(0.6, 1.0)
    step = 1e-5
    expected = [(value(0.6 + a, 1.0 + b) - value(0.6 - a, 1.0 - b)) / (2 * step) for a, b in ((step, 0.0), (0.0, step))]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["rodas5p", "radau", "bdf"])
def test_higher_index_is_named(method):
    pendulum = lambda t, y: np.stack([y[1], -y[2] * y[0], y[0] - np.sin(t)])  # the force y₂ is in no constraint
    path = integrate.solve(pendulum, (0.0, 1.0), np.array([0.0, 1.0, 0.0]), mass=np.diag([1.0, 1, 0]), method=method)
    assert path.status == "not index 1"
    assert "differentiate constraints" in path.advice


def test_a_general_singular_mass():
    # 2x2 of rank one that is not diagonal: y₀′ + y₁′ = -y₀, y₀ = y₁
    mass = np.array([[1.0, 1.0], [1.0, 1.0]])
    f = lambda t, y: np.stack([-y[0] + (y[0] - y[1]), -y[0] - (y[0] - y[1])])
    path = integrate.solve(f, (0.0, 1.0), np.array([1.3, 0.7]), mass=mass, method="radau", start="fix algebraic",
                           rtol=1e-9, atol=1e-9)  # fmt: skip
    assert path.status == "finished"
    np.testing.assert_allclose(path.last, np.exp(-0.5) * np.ones(2), rtol=1e-6)


def test_words():
    with pytest.raises(ValueError, match="'fix algebraic'"):
        end(np.ones(2), 1.0, start="guess")
