"""What users ask of Levenberg and Marquardt's method: hard fits in both precisions, with and without a matrix."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from tests.support.sweeps import sampled

METHODS = {
    "dense": "lm",
    "geodesic": optimize.LevenbergMarquardt(geodesic=True),
    "sparse": "sparse",
    "products": "lsmr",
}


def valley(x):
    return np.sqrt(2.0) * np.stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def meyer(c, t, y):
    return 1e-3 * y - c[0] * np.exp(10.0 * c[1] / (t + c[2]) - 13.0)


def two_decays(c, t, y):
    return y - c[0] * np.exp(-c[2] * t) - c[1] * np.exp(-c[3] * t)


# a thermistor's resistances (Meyer, 1970), scaled as Madsen and Nielsen do
RESISTANCE = np.array([34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307,
                       2872], float)  # fmt: skip
TEMPERATURE = np.linspace(0.5, 1.25, 16)
TIME = np.linspace(0.02, 0.9, 45)
DECAY = -two_decays(np.array([4.0, -4.0, 4.0, 5.0]), TIME, 0.0) + 0.01 * np.cos(37.0 * TIME)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_valley_in_both_precisions(dtype, compiled):
    solve = lambda x: optimize.least_squares(valley, x)
    found = (ad.jit(solve) if compiled else solve)(np.array([-1.2, 1.0], dtype))
    assert found.value.dtype == dtype
    assert found.converged
    assert found.iterations <= 25
    np.testing.assert_allclose(found.value, 1.0, rtol=1e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", METHODS)
def test_the_valley_with_and_without_a_matrix(name):
    found = optimize.least_squares(valley, np.array([-1.2, 1.0]), method=METHODS[name])
    assert found.converged
    np.testing.assert_allclose(found.value, 1.0, rtol=1e-8)


@pytest.mark.parametrize("name, dtype", sampled([(n, t) for n in METHODS for t in (np.float32, np.float64)], every=3))
def test_meyers_problem(name, dtype):
    start = np.array([8.85, 4.0, 2.5], dtype)
    found = optimize.least_squares(meyer, start, TEMPERATURE.astype(dtype), RESISTANCE.astype(dtype),
                                   method=METHODS[name])  # fmt: skip
    reference = theirs.least_squares(meyer, start, method="lm", args=(TEMPERATURE, RESISTANCE), xtol=1e-15, ftol=1e-15,
                                     gtol=1e-15, jac=ad.jacfwd(meyer))  # fmt: skip
    np.testing.assert_allclose(reference.x, [2.4817783, 6.1813464, 3.4522364], rtol=1e-5)
    np.testing.assert_allclose(found.value, reference.x, rtol=1e-6 if dtype == np.float64 else 2e-2)


@pytest.mark.parametrize("name", METHODS)
def test_two_decays_that_nearly_cancel(name):
    start = np.array([1.0, -1.0, 1.0, 2.0])
    found = optimize.least_squares(two_decays, start, TIME, DECAY, method=METHODS[name])
    reference = theirs.least_squares(two_decays, start, method="trf", args=(TIME, DECAY), xtol=1e-15, ftol=1e-15,
                                     gtol=1e-15, jac=ad.jacfwd(two_decays), x_scale="jac", max_nfev=2000)  # fmt: skip
    np.testing.assert_allclose(found.fun, reference.cost, rtol=1e-9)
    np.testing.assert_allclose(found.value, reference.x, rtol=1e-4)


@pytest.mark.parametrize("differentiate", ["equation", ad.implicit.Unrolled(80)], ids=["equation", "unrolled"])
def test_the_jacobian_of_a_fit_in_where_it_was_measured(differentiate):
    substance = np.array([0.04, 0.2, 0.4, 0.6, 1.3, 2.5, 3.7])
    rate = np.array([0.05, 0.13, 0.1, 0.21, 0.27, 0.27, 0.33])
    residual = lambda c, s: rate - c[0] * s / (c[1] + s)
    solve = lambda s: optimize.least_squares(residual, np.array([0.1, 0.1]), s, tol=1e-12,
                                             differentiate=differentiate).value  # fmt: skip
    slope = ad.grad(lambda c, s: 0.5 * np.sum(residual(c, s) ** 2))
    anew = lambda s: theirs.root(slope, solve(substance), args=(s,), tol=1e-15).x
    h = 1e-5
    columns = [(anew(substance + h * e) - anew(substance - h * e)) / (2 * h) for e in np.eye(7)]
    np.testing.assert_allclose(ad.jacrev(solve)(substance), np.stack(columns, axis=1), atol=1e-6)


@pytest.mark.parametrize("has_aux", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_kinked_residuals_and_what_comes_beside_them(has_aux, compiled):
    data = np.linspace(0.0, 5.0, 10)
    residual = lambda x, y: (np.abs(x - y), {"square": x**2}) if has_aux else np.abs(x - y)
    solve = lambda y: optimize.least_squares(residual, np.zeros(10), y, has_aux=has_aux)
    found = (ad.jit(solve) if compiled else solve)(data)
    np.testing.assert_allclose(found.value, data, atol=1e-9)
    assert (found.aux is None) is not has_aux
    if has_aux:
        np.testing.assert_allclose(found.aux["square"], data**2, atol=1e-8)
        beside = lambda y: optimize.least_squares(lambda x, y: (x - y, x**2), np.zeros(3), y, has_aux=True).aux
        np.testing.assert_allclose(ad.jacobian(beside)(data[1:4]), np.diag(2 * data[1:4]), atol=1e-8)


def test_a_single_residual_of_several_unknowns():
    found = optimize.least_squares(lambda x: x @ x, np.ones(2))
    np.testing.assert_allclose(found.value, 0.0, atol=1e-3)
    assert found.fun < 1e-10
