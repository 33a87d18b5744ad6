"""Least squares under SciPy's names, against normal equations and fits of data that are moved a little."""

import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from adjoint.scipy import optimize

T = np.linspace(0.0, 3.0, 12)
Y = 2.0 * np.exp(-0.7 * T) + 0.05 * np.sin(9.0 * T)
curve = lambda t, a, k: a * np.exp(-k * t)
partials = lambda t, a, k: np.stack([np.exp(-k * t), -a * t * np.exp(-k * t)], axis=1)
gap = lambda p, y: curve(T, p[0], p[1]) - y
SHARP = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
# ρ' of the losses, by which residuals are weighed at the solution
SLOPES = {
    "linear": lambda z: np.ones_like(z),
    "soft_l1": lambda z: (1.0 + z) ** -0.5,
    "cauchy": lambda z: 1.0 / (1.0 + z),
    "arctan": lambda z: 1.0 / (1.0 + z * z),
}


def fitted(y, sigma=1.0, loss="linear", scale=1.0):
    """The fit as a root of its normal equations, to the last digits."""

    def normal(p):
        r = gap(p, y) / sigma
        return (partials(T, *p).T / sigma) @ (SLOPES[loss]((r / scale) ** 2) * r)

    return scipy.optimize.root(normal, [2.0, 0.7], tol=1e-15).x


def covariance(y):
    p = fitted(y)
    J = partials(T, *p)
    return np.linalg.inv(J.T @ J) * np.sum(gap(p, y) ** 2) / 10


def moved(function, y, h=1e-3):
    """Differences of fits of moved data, extrapolated once."""
    central = lambda h: np.array([(function(y + h * e) - function(y - h * e)) / (2 * h) for e in np.eye(len(y))]).T
    return (4 * central(h / 2) - central(h)) / 3


def test_parameters_and_their_errors():
    ours = lambda y, part: optimize.curve_fit(curve, T, y, [2.0, 0.7], **SHARP)[part]
    np.testing.assert_allclose(ad.jacobian(lambda y: ours(y, 0))(Y), moved(fitted, Y), atol=1e-7)
    error = ad.grad(lambda y: np.sqrt(ours(y, 1)[0, 0]))(Y)
    np.testing.assert_allclose(error, moved(lambda y: np.sqrt(covariance(y)[0, 0]), Y), atol=1e-7)
    np.testing.assert_allclose(ad.jit(lambda y: ours(y, 0))(Y), fitted(Y), rtol=1e-7)


def test_weights():
    sigma = 0.1 + 0.05 * T
    want = moved(lambda s: fitted(Y, s), sigma)
    found = ad.jacobian(lambda s: optimize.curve_fit(curve, T, Y, sigma=s, **SHARP)[0])(sigma)
    np.testing.assert_allclose(found, want, atol=2e-6)
    full = ad.jacobian(lambda s: optimize.curve_fit(curve, T, Y, sigma=np.diag(s**2), **SHARP)[0])(sigma)
    np.testing.assert_allclose(full, want, atol=2e-6)


@pytest.mark.parametrize("loss", SLOPES)
def test_losses(loss):
    ours = lambda y: optimize.least_squares(gap, [1.0, 1.0], args=(y,), loss=loss, f_scale=0.2, **SHARP).x
    np.testing.assert_allclose(ad.jacobian(ours)(Y), moved(lambda y: fitted(y, 1.0, loss, 0.2), Y), atol=1e-6)


def test_cost_and_residuals():
    fit = lambda y: optimize.least_squares(gap, [1.0, 1.0], args=(y,), **SHARP)
    p = fit(Y).x
    np.testing.assert_allclose(ad.grad(lambda y: fit(y).cost)(Y), -gap(p, Y), atol=1e-9)  # the envelope theorem
    np.testing.assert_allclose(ad.grad(lambda y: 0.5 * np.sum(fit(y).fun ** 2))(Y), -gap(p, Y), atol=1e-9)
    x, cov, *_ = scipy.optimize.leastsq(gap, [1.0, 1.0], (Y,), full_output=True)
    assert x == pytest.approx(p, rel=1e-6)
    found = ad.jit(lambda y: optimize.leastsq(gap, [1.0, 1.0], (y,), full_output=True)[1])(Y)
    np.testing.assert_allclose(found, cov, rtol=1e-4)


def test_linear_problems():
    M, b = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]), np.array([1.0, -2.0, 3.0])
    column = M[:, 1]  # the first unknown is held at zero
    np.testing.assert_allclose(
        ad.jacobian(lambda b: optimize.nnls(M, b)[0])(b), [np.zeros(3), column / (column @ column)]
    )
    free = ad.jacobian(lambda b: optimize.lsq_linear(M, b).x)(b)
    np.testing.assert_allclose(free, np.linalg.pinv(M), rtol=1e-10)
    held = lambda top: optimize.lsq_linear(M, b, (-9.0, np.stack([9.0, top])), "bvls").x
    np.testing.assert_allclose(ad.jacobian(held)(0.2), [-(M[:, 0] @ column) / (M[:, 0] @ M[:, 0]), 1.0], rtol=1e-10)
    batch = ad.vmap(lambda b: optimize.nnls(M, b)[0])(np.stack([b, np.ones(3)]))
    np.testing.assert_allclose(batch, [scipy.optimize.nnls(M, v)[0] for v in (b, np.ones(3))])


def test_curve_fit_with_a_loss():
    """Its options go on to least_squares: the conditions are those of the loss, and so is the covariance."""
    spoiled = Y + 0.5 * (np.arange(12) == 4)
    robust = {"method": "trf", "loss": "cauchy", "f_scale": 0.1, **SHARP}
    fit = lambda y: optimize.curve_fit(curve, T, y, [2.0, 0.7], **robust)
    step = 1e-6 * np.cos(np.arange(12.0))
    by_solving = (fitted(spoiled + step, 1.0, "cauchy", 0.1) - fitted(spoiled - step, 1.0, "cauchy", 0.1)) / 2
    np.testing.assert_allclose(ad.jvp(lambda y: fit(y)[0], (spoiled,), (step,))[1], by_solving, rtol=1e-5)
    theirs = scipy.optimize.curve_fit(curve, T, spoiled, [2.0, 0.7], **robust)[1]
    np.testing.assert_allclose(ad.vmap(lambda y: fit(y)[1])(spoiled[None])[0], theirs, rtol=1e-5)
    by_scale = lambda c: optimize.curve_fit(curve, T, spoiled, [2.0, 0.7], **{**robust, "f_scale": c})[0]
    by_solving = (fitted(spoiled, 1.0, "cauchy", 0.1001) - fitted(spoiled, 1.0, "cauchy", 0.0999)) / 2e-4
    np.testing.assert_allclose(ad.jacobian(by_scale)(0.1), by_solving, rtol=1e-4)


def test_the_jacobian_of_a_loss_is_rescaled_as_by_scipy():
    spoiled = Y + 0.5 * (np.arange(12) == 4)
    solve = lambda library, y: library.least_squares(gap, [2.0, 0.7], args=(y,), loss="soft_l1", f_scale=0.1, **SHARP)
    theirs = solve(scipy.optimize, spoiled)
    parts = lambda y: (solve(optimize, y).jac, solve(optimize, y).grad)
    for ours, known in zip(ad.vmap(parts)(spoiled[None]), (theirs.jac, theirs.grad), strict=True):
        np.testing.assert_allclose(ours[0], known, rtol=1e-5, atol=1e-7)


def test_one_sigma_for_all():
    free = lambda s: optimize.curve_fit(curve, T, Y, sigma=s, absolute_sigma=True)[1][1, 1]
    np.testing.assert_allclose(ad.value_and_grad(free)(0.2), (4.0 * free(0.1), 40.0 * free(0.1)), rtol=1e-4)
