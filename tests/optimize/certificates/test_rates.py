"""Rates of sequences that are known, and of methods; promises that are kept and promises that are broken."""

import matplotlib as mpl
import numpy as np
import pytest

from adjoint import optimize
from adjoint.optimize import certificates

bowl = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2


@pytest.mark.row("15.5a")
def test_rates_of_known_sequences():
    t = np.arange(1.0, 400.0)
    for alpha in (0.5, 1.0, 2.0):
        found = certificates.rate(3.0 * t**-alpha, best=0.0)
        assert found.kind == "sublinear"
        assert found.number == pytest.approx(alpha)
        T = found.iterations_for(1e-6)
        assert 3.0 * T**-alpha == pytest.approx(1e-6, rel=0.02)
    found = certificates.rate(5.0 * 0.9**t, best=0.0)
    assert (found.kind, found.number) == ("linear", pytest.approx(0.9))
    assert found.iterations_for(1e-30) == pytest.approx(np.log(5e30) / np.log(1 / 0.9), abs=2)
    quadratic = certificates.rate([0.5 ** (2**k) for k in range(7)], best=0.0)
    assert quadratic.kind == "superlinear"
    assert quadratic.number == pytest.approx(2.0)
    for never in (1.5 ** t[:20], np.ones(20)):
        assert certificates.rate(never, best=0.0).iterations_for(1e-3) == np.inf
    with pytest.raises(ValueError, match="from four on"):
        certificates.rate([1.0, 0.0], best=0.0)


@pytest.mark.row("15.5a", "15.5b")
def test_rates_of_methods():
    run = lambda f, x, method, **options: optimize.minimize(f, x, method=method, history=True, **options).history
    strong = run(bowl, np.ones(2), optimize.GradientDescent(step_size=1.0), max_iterations=100)
    found = certificates.rate(strong, best=0.0)
    assert found.kind == "linear"
    assert found.number == pytest.approx(0.81, abs=0.01)
    flat = run(lambda x: np.sum(x**4), np.ones(2), optimize.GradientDescent(step_size=0.05), max_iterations=2000)
    assert certificates.rate(flat, best=0.0).kind == "sublinear"
    newton = run(lambda x: np.exp(x) - x, 1.0, "newton", tol=1e-14)
    assert certificates.rate(newton, best=1.0).kind == "superlinear"


@pytest.mark.row("16.1.2a", "16.1.2b", "16.1.2c", "16.1.2d")
def test_promises_of_gradient_descent():
    rng = np.random.default_rng(0)
    for _ in range(3):
        M = rng.normal(size=(6, 6))
        A = M @ M.T + 0.1 * np.eye(6)
        w = np.linalg.eigvalsh(A)
        f = lambda x, A=A: 0.5 * x @ (A @ x)
        x0, gamma = rng.normal(size=6), 1.0 / w[-1]
        found = optimize.minimize(
            f, x0, method=optimize.GradientDescent(step_size=gamma), history=True, max_iterations=150
        )
        kept = certificates.check_bounds(found, gamma, 0.0, distance=np.linalg.norm(x0), mu=w[0])
        assert kept.held
        # with a curvature that is not there the promise is broken, and it is said where
        broken = certificates.check_bounds(found, gamma, 0.0, mu=8 * w[0])
        assert broken.broken["strongly convex"] is not None
    long = optimize.minimize(
        bowl, np.ones(2), method=optimize.GradientDescent(step_size=1.99), history=True, max_iterations=50
    )
    assert certificates.check_bounds(long, 1.99, 0.0).broken["descent"] == 1
    with pytest.raises(ValueError, match="history=True"):
        certificates.check_bounds(optimize.minimize(bowl, np.ones(2)), 1.0, 0.0)


@pytest.mark.row("16.1.2e")
def test_gradient_domination_without_convexity():
    f = lambda w: w**2 + 3 * np.sin(w) ** 2
    assert not certificates.check_convex(f, 0.0, radius=4.0)
    gamma = 0.1  # 1/8 would be Newton's step at the minimum
    method = optimize.GradientDescent(step_size=gamma)
    found = optimize.minimize(f, 3.0, method=method, history=True, max_iterations=300)
    grid = np.linspace(-3.0, 3.0, 6001)
    grid = grid[np.abs(grid) > 1e-3]
    c = np.min((2 * grid + 3 * np.sin(2 * grid)) ** 2 / f(grid))
    assert c > 0
    kept = certificates.check_bounds(found, gamma, 0.0, dominated=0.99 * c)
    assert kept.held
    assert certificates.rate(found.history, best=0.0).kind == "linear"
    assert certificates.check_bounds(found, gamma, 0.0, dominated=20 * c).broken["domination itself"] is not None


def test_bounds_are_drawn():
    mpl.use("Agg")
    found = optimize.minimize(bowl, np.ones(2), method=optimize.GradientDescent(step_size=1.0), history=True)
    axes = certificates.check_bounds(found, 1.0, 0.0, distance=2**0.5, mu=0.1).plot()
    assert len(axes.lines) == 3


def test_rates_where_the_best_value_is_not_known():
    """Against the last value 1/t looks linear: what is still to come is told by the steps."""
    t = np.arange(1.0, 60.0)
    squared = 1 + np.exp(-(2.0 ** t[:6]))
    for values, kind, number in ((2 + 1 / t, "sublinear", 1.0), (t**-0.5, "sublinear", 0.5),
                                 (3 + 0.9**t, "linear", 0.9), (squared, "superlinear", 2.0)):  # fmt: skip
        found = certificates.rate(values)
        assert found.kind == kind
        np.testing.assert_allclose(found.number, number, rtol=0.1)
    np.testing.assert_allclose(
        certificates.rate(3 + 0.97**t).iterations_for(1e-6), np.log(1e-6) / np.log(0.97), rtol=0.01
    )
