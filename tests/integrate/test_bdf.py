"""Backward differentiation: end values, order, what is kept from step to step, and exact derivatives."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjoint as ad
from adjoint import integrate
from tests.integrate.stiff_problems import POLLUTION, PROBLEMS, pollu, relative_error, rober

RATES = np.array([0.04, 3e7, 1e4])


def end(k, tol=1e-9):
    return integrate.solve(
        rober, (0.0, 1e3), np.array([1.0, 0.0, 0.0]), args=(k,), method="bdf", rtol=tol, atol=1e-3 * tol
    ).last[0]


def test_published_end_values():
    for tol in (1e-4, 1e-7):
        assert relative_error("CHEMAKZO", "bdf", tol) < 30


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_published_end_values(name):
    for tol in (1e-4, 1e-7, 1e-10):
        assert relative_error(name, "bdf", tol) < 30


def test_gradients():
    gradient = ad.grad(end)(RATES)
    expected = ad.grad(
        lambda k: integrate.solve(
            rober, (0.0, 1e3), np.array([1.0, 0.0, 0.0]), args=(k,), method="rodas5p", rtol=1e-10, atol=1e-13
        ).last[0]
    )(RATES)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7)


@pytest.mark.sweep
def test_second_derivatives():
    gradient = ad.grad(end)(RATES)
    v = RATES * np.array([1.0, 0.5, -1.0])
    assert abs(ad.jvp(end, (RATES,), (v,))[1] - gradient @ v) < 1e-12
    pushed = ad.jvp(ad.grad(end), (RATES,), (v,))[1]
    step = 1e-3
    differences = (ad.grad(end)(RATES + step * v) - ad.grad(end)(RATES - step * v)) / (2 * step)
    np.testing.assert_allclose(pushed, differences, rtol=1e-4)


@pytest.mark.sweep
def test_all_rate_constants_of_pollu_against_sensitivities():
    problem = PROBLEMS["POLLU"]
    y0, n = np.array(problem.start, float), 20
    f = lambda y, k: pollu(0.0, y, k)
    J, K = ad.jit(ad.jacfwd(f)), ad.jit(ad.jacfwd(f, 1))

    def whole(t, z):
        y, S = z[:n], z[n:].reshape(n, 25)
        return np.concatenate([f(y, POLLUTION), (J(y, POLLUTION) @ S + K(y, POLLUTION)).ravel()])

    start = np.concatenate([y0, np.zeros(n * 25)])
    expected = solve_ivp(whole, (0.0, 10.0), start, method="Radau", rtol=1e-7, atol=1e-12).y[n:, -1].reshape(n, 25)[0]
    for method in ("bdf", "radau", "kencarp5", "rodas5p", "auto"):
        value = lambda k, m: integrate.solve(pollu, (0.0, 10.0), y0, args=(k,), method=m, rtol=1e-8, atol=1e-12).last[0]
        found = ad.grad(value)(POLLUTION, method)
        np.testing.assert_allclose(found * POLLUTION, expected * POLLUTION, rtol=1e-4, atol=1e-8)


def test_the_order_grows_and_factors_are_kept():
    f = lambda t, y: -50.0 * (y - np.cos(t))
    paths = [integrate.solve(f, (0.0, 10.0), 0.0, method="bdf", rtol=tol, atol=tol) for tol in (1e-4, 1e-8)]
    exact = (2500 * np.cos(10.0) + 50 * np.sin(10.0)) / 2501
    errors = [abs(path.last - exact) for path in paths]
    steps = [int(path.steps) for path in paths]
    assert np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0]) > 4
    assert paths[1].jacobians < paths[1].factorizations < 0.5 * steps[1]
    low = integrate.solve(f, (0.0, 10.0), 0.0, method=integrate.BDF(highest=2), rtol=1e-8, atol=1e-8)
    assert low.steps > 5 * steps[1]


def test_dense_output_and_single_precision():
    f = lambda t, y: -y * y
    times = np.linspace(0.1, 4.9, 31)
    path = integrate.solve(f, (0.0, 5.0), 1.0, method="bdf", rtol=1e-9, atol=1e-9, save=times)
    np.testing.assert_allclose(path.values, 1 / (1 + times), atol=2e-7)
    single = integrate.solve(f, (0.0, 5.0), np.float32(1.0), method="bdf", rtol=1e-4, atol=1e-4)
    assert single.last.dtype == np.float32
    assert abs(single.last - 1 / 6) < 1e-4


def test_ends_of_the_span_are_differentiable():
    last = lambda t0, t1: integrate.solve(lambda t, y: -y * t, (t0, t1), 1.0, method="bdf", rtol=1e-10, atol=1e-10).last
    value = last(0.5, 2.0)
    np.testing.assert_allclose(ad.grad(last, (0, 1))(0.5, 2.0), (0.5 * value, -2.0 * value), rtol=1e-5)


def test_batch_elements_step_as_they_would_alone():
    run = lambda k: (lambda path: (path.last, path.steps))(
        integrate.solve(lambda t, y, k: -k * (y - np.cos(t)), (0.0, 3.0), 0.0, args=(k,), method="bdf")
    )
    ks = np.array([1.0, 1e3, 1e5])
    values, steps = ad.vmap(run)(ks)
    for k, value, count in zip(ks, values, steps, strict=True):
        alone, number = run(k)
        assert alone == value
        assert number == count


def test_a_fast_start_beside_an_algebraic_equation():
    """y = (1 - exp(-10⁴ s)) / 2 from 0, so fast that a predictor without y′ would need steps below rounding in t."""
    f = lambda t, y: np.stack([5e3 - 1e4 * y[0], y[1] - y[0]])
    times = np.array([400.0001, 400.0003])
    path = integrate.solve(
        f, (400.0, 401.0), np.zeros(2), mass=np.diag([1.0, 0.0]), method="bdf", save=times, rtol=1e-6, atol=1e-10
    )
    assert path.status == "finished"
    exact = (1 - np.exp(-1e4 * (times - 400.0))) / 2
    np.testing.assert_allclose(path.values, np.stack([exact, exact], axis=1), rtol=1e-5)
