"""Levenberg and Marquardt's method: steps against their definition, hard problems, what cheaper versions miss."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.least_squares.marquardt import damp_step, factorize

rosenbrock = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


@pytest.mark.parametrize("radius", [0.01, 0.3, 100.0])
@pytest.mark.parametrize("shape", [(7, 3), (3, 5)])
def test_the_step_solves_the_damped_normal_equations_at_the_radius(radius, shape):
    rng = np.random.default_rng(0)
    J, r, D = rng.normal(size=shape), rng.normal(size=shape[0]), np.array([1.0, 10.0, 0.1, 2.0, 1.0])[: shape[1]]
    q, lam = damp_step(factorize(J, D, r, np.ones(shape[1], bool)), np.float64(radius))
    p = q / D
    np.testing.assert_allclose((J.T @ J + lam * np.diag(D**2)) @ p, -J.T @ r, atol=1e-9)
    assert lam >= 0
    if lam > 0:
        np.testing.assert_allclose(np.linalg.norm(q), radius, rtol=1e-6)
    else:
        assert np.linalg.norm(q) <= radius


def test_half_of_the_digits_are_not_lost():
    """A Vandermonde matrix of condition 1e9: its normal equations have condition 1e18."""
    t = np.linspace(0, 1, 30)
    A = np.vander(t, 13)
    exact = np.ones(13)
    found = optimize.least_squares(lambda x: A @ x - A @ exact, np.zeros(13))
    normal = np.linalg.solve(A.T @ A, A.T @ (A @ exact))
    assert np.linalg.cond(A) > 1e8
    assert np.max(np.abs(found.value - exact)) < 1e-5 < np.max(np.abs(normal - exact))


def test_the_rounding_of_the_cost_does_not_end_the_search():
    """Residuals that are small differences of large numbers: their cost is less exact than its own rounding."""
    t = np.linspace(0, 1, 12)
    data = 2 * np.exp(-t) + 0.05 * np.cos(20 * t) + 1e-5 * np.vstack([np.eye(12), -np.eye(12)])
    residual = lambda p, y: p[0] * np.exp(p[1] * t) - y
    found = ad.jit(ad.vmap(lambda y: optimize.least_squares(residual, np.array([1.0, 0.0]), y, tol=1e-13)))(data)
    assert set(found.status) == {"converged"}
    for p, y in zip(found.value, data, strict=True):
        r = residual(p, y)
        J = np.stack([np.exp(p[1] * t), p[0] * t * np.exp(p[1] * t)], axis=1)
        cosines = np.abs(J.T @ r) / np.linalg.norm(J, axis=0) / np.linalg.norm(r)
        assert np.max(cosines) < 1e-12


def test_units_of_the_unknowns_do_not_matter():
    t = np.linspace(0, 3, 40)
    y = 2 * np.exp(-1.5 * t) + 0.01 * np.sin(20 * t)
    counts = []
    for unit in (1.0, 1e-8, 1e8):
        found = optimize.least_squares(lambda x, u=unit: x[0] / u * np.exp(-x[1] * t) - y, np.array([unit, 1.0]))
        np.testing.assert_allclose(found.value[0] / unit, 2.0, rtol=1e-2)
        counts.append(int(found.iterations))
    assert max(counts) - min(counts) <= 1


def test_a_step_that_is_only_damped_fails_where_the_gain_ratio_does_not():
    """Steps with fixed damping jump to and fro, farther each time; those that the ratio refuses are not taken."""
    f = lambda x: np.stack([np.arctan(x[0]), x[1]])
    x = np.array([3.0, 1.0])
    for _ in range(4):
        J = ad.jacobian(f)(x)
        x = x - np.linalg.solve(J.T @ J + 1e-6 * np.eye(2), J.T @ f(x))
    assert np.abs(x[0]) > 10
    found = optimize.least_squares(f, np.array([3.0, 1.0]))
    np.testing.assert_allclose(found.value, 0.0, atol=1e-8)


def test_geodesic_acceleration_follows_a_curved_valley():
    data = np.linspace(1, 5, 20)
    f = lambda x: x[0] * (x[1] + data) ** (-1 / x[2]) - (-30 * (4 + data) ** -1.25)
    start = np.array([-10.0, 2.0, 0.5])
    plain = optimize.least_squares(f, start)
    bent = optimize.least_squares(f, start, method=optimize.LevenbergMarquardt(geodesic=True))
    for found in (plain, bent):
        np.testing.assert_allclose(found.value, [-30.0, 4.0, 0.8], rtol=1e-5)
    assert bent.iterations < plain.iterations


@pytest.mark.parametrize("loss", ["linear", "huber", "soft_l1", "cauchy", "arctan"])
def test_robust_losses_have_scipys_minima(loss):
    rng = np.random.default_rng(1)
    t = np.linspace(0, 3, 40)
    y = 2 * np.exp(-1.5 * t) + 0.02 * rng.normal(size=40)
    y[::9] += 1.0
    f = lambda x: x[0] * np.exp(-x[1] * t) - y
    found = optimize.least_squares(f, np.ones(2), loss=loss, loss_scale=0.1)
    known = theirs.least_squares(
        f, np.ones(2), ad.jacobian(f), loss=loss, f_scale=0.1, xtol=1e-14, ftol=1e-14, gtol=1e-12
    )
    np.testing.assert_allclose(found.value, known.x, rtol=1e-5)
    np.testing.assert_allclose(found.fun, known.cost, rtol=1e-9)
    if loss != "linear":
        assert np.abs(found.value[1] - 1.5) < 0.15


def test_a_loss_of_ones_own():
    f = lambda x: np.stack([x - 1, x - 2, x - 30])
    found = optimize.least_squares(f, 0.0, loss=lambda z: 2 * (np.sqrt(1 + z) - 1))
    np.testing.assert_allclose(found.value, optimize.least_squares(f, 0.0, loss="soft_l1").value, rtol=1e-9)


@pytest.mark.parametrize("bounds", [(-1.5, 0.5), (1.2, None), (None, -1.0), (-1.0, 1.0)])
def test_bounds_against_scipy(bounds):
    lower, upper = (-np.inf if bounds[0] is None else bounds[0]), (np.inf if bounds[1] is None else bounds[1])
    start = np.clip(np.array([-1.2, 1.0]), lower, upper)
    inner = np.clip(start, lower + 1e-3, upper - 1e-3)
    found = optimize.least_squares(rosenbrock, start, bounds=bounds)
    known = theirs.least_squares(rosenbrock, inner, ad.jacobian(rosenbrock), bounds=(lower, upper), xtol=1e-14,
                                 ftol=1e-14, gtol=1e-12)  # fmt: skip
    assert found.fun <= known.cost * (1 + 1e-6) + 1e-12
    assert np.all((found.value >= lower) & (found.value <= upper))
    assert found.status == "converged"
    for method in ("trf", "dogbox"):
        by_theirs = optimize.least_squares(rosenbrock, inner, bounds=bounds, method=method)
        np.testing.assert_allclose(by_theirs.fun, known.cost, atol=1e-5)


def test_a_vanishing_column_is_not_called_converged():
    """The first step goes so far that the exponential is gone, and its derivative with it."""
    t, y = np.array([1.0, 2.0, 3.0, 5.0, 7.0, 10.0]), np.array([109.0, 149.0, 149.0, 191.0, 213.0, 224.0])
    f = lambda b: b[0] * (1 - np.exp(-b[1] * t)) - y
    found = optimize.least_squares(f, np.ones(2), method=optimize.LevenbergMarquardt(factor=100.0))
    assert found.status == "no further progress"


def test_compiled_and_batched():
    t = np.linspace(0, 3, 20)
    data = lambda k: 2 * np.exp(-k * t) + 0.05 * np.sin(7 * t)
    fit = lambda k: optimize.least_squares(lambda x: x[0] * np.exp(-x[1] * t) - data(k), np.ones(2))
    ks = np.array([0.5, 1.7, 2.5])
    alone = [fit(k) for k in ks]
    together = ad.jit(ad.vmap(fit))(ks)
    np.testing.assert_allclose(together.value, [a.value for a in alone], rtol=1e-8)
    np.testing.assert_array_equal(together.iterations, [int(a.iterations) for a in alone])
    assert list(together.status) == ["converged"] * 3
    slope = ad.vmap(ad.grad(lambda k: fit(k).value[1]))(ks)
    h = 1e-3
    expected = [(fit(k + h).value[1] - fit(k - h).value[1]) / (2 * h) for k in ks]
    np.testing.assert_allclose(slope, expected, rtol=1e-4)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e8])
def test_dependent_columns_of_any_size_without_scaling(size):
    """JᵀJ of rank one, whose smallest eigenvalue is rounding, of either sign."""
    A = size * np.outer(np.arange(1.0, 41.0), np.arange(1.0, 8.0))
    b = np.ones(40)
    found = optimize.least_squares(lambda x: A @ x - b, np.zeros(7), scale=1.0)
    expected = 0.5 * np.sum((A @ np.linalg.lstsq(A, b)[0] - b) ** 2)
    np.testing.assert_allclose(found.fun, expected, rtol=1e-9)
