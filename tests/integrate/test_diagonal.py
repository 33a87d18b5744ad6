"""Diagonally implicit methods: stiff end values, orders, and derivatives of stages by their equations."""

from fractions import Fraction

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from tests.integrate.rooted_trees import defects, defects_of_pairs
from tests.integrate.stiff_problems import PROBLEMS, relative_error, rober

ADAPTIVE = ["kvaerno3", "kvaerno4", "kvaerno5", "kencarp3", "kencarp4", "kencarp5"]


def test_published_end_values():
    assert relative_error("HIRES", "kencarp5", 1e-6) < 30


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in PROBLEMS if PROBLEMS[name].mass is None])
@pytest.mark.parametrize("method", ADAPTIVE)
def test_all_published_end_values(name, method):
    for tol in (1e-4, 1e-7, 1e-10):
        assert relative_error(name, method, tol, max_steps=1_000_000) < 30


@pytest.mark.parametrize("method", ADAPTIVE)
def test_order_conditions(method):
    chosen = integrate.choose(method)
    other = [x - y for x, y in zip(chosen.b, chosen.error, strict=True)]
    tables = [(chosen.A, chosen.b, chosen.order), (chosen.A, other, chosen.order - 1)]
    tables += [(chosen.explicit, chosen.b, chosen.order)] if chosen.explicit else []
    bound = 1e-11 if method == "kencarp5" else 1e-12  # as far as it is published
    fractions = lambda A: [[Fraction(x) for x in row] for row in A]
    for A, b, order in tables:
        sums = [sum(row) for row in A]
        np.testing.assert_allclose(sums, [chosen.c[i] if A[i] else 0.0 for i in range(len(A))], rtol=0, atol=bound)
        found = defects(fractions(A), [Fraction(x) for x in b], order)
        assert max(found.values()) < bound
    if chosen.explicit:
        both = [fractions(chosen.A), fractions(chosen.explicit)]
        for b, order in ((chosen.b, chosen.order), (other, chosen.order - 1)):
            assert max(defects_of_pairs(both, [Fraction(x) for x in b], order).values()) < bound


@pytest.mark.parametrize("method", ["implicit-euler", "trapezoid", "kencarp4"])
def test_order(method):
    chosen = integrate.choose(method, error=None)
    f = lambda t, y: 2.0 * np.cos(2.0 * t) * y
    errors = [
        abs(integrate.solve(f, (0.0, 2.0), 1.0, method=chosen, first_step=h).last - np.exp(np.sin(4.0)))
        for h in (0.05, 0.025)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - integrate.order(method)) < 0.4


@pytest.mark.row("12.6.1-c")
def test_slopes_of_the_global_error():
    f = lambda t, s: -s + np.sin(t)
    exact = 1.5 * np.exp(-2.0) + 0.5 * (np.sin(2.0) - np.cos(2.0))
    for method, rate in (
        ("euler", 1.006),
        ("implicit-euler", 0.993),
        ("heun", 1.986),
        ("rk4", 3.9),
        ("leapfrog-async", 1.992),
    ):
        chosen = integrate.choose(method)
        chosen = chosen if not chosen.adaptive else integrate.choose(method, error=None)
        errors = [
            abs(integrate.solve(f, (0.0, 2.0), 1.0, method=chosen, first_step=2.0 / n).last - exact) for n in (50, 100)
        ]
        assert abs(np.log2(errors[0] / errors[1]) - rate) < 0.2


@pytest.mark.parametrize("method", ["trapezoid", pytest.param("kvaerno5", marks=pytest.mark.sweep)])
def test_derivatives(method):
    chosen = integrate.choose(method, error=None)
    end = lambda k: (
        integrate.solve(
            lambda t, y, k: -k * y**3 + np.sin(t), (0.0, 1.0), 0.8, args=(k,), method=chosen, first_step=0.1
        ).last
    )
    step = 1e-4
    assert abs(ad.grad(end)(2.0) - (end(2.0 + step) - end(2.0 - step)) / (2 * step)) < 1e-8
    second = (end(2.0 + 10 * step) - 2 * end(2.0) + end(2.0 - 10 * step)) / (10 * step) ** 2
    assert abs(ad.grad(ad.grad(end))(2.0) - second) < 1e-5


def test_gradients_in_rate_constants():
    rates = np.array([0.04, 3e7, 1e4])
    end = lambda k, m, tol: integrate.solve(
        rober, (0.0, 1e3), np.array([1.0, 0.0, 0.0]), args=(k,), method=m, rtol=tol, atol=1e-3 * tol
    ).last[0]
    expected = ad.grad(lambda k: end(k, "rodas5p", 1e-10))(rates)
    np.testing.assert_allclose(ad.grad(lambda k: end(k, "kvaerno5", 1e-8))(rates), expected, rtol=1e-5)


@pytest.mark.row("12.6.1-e")
def test_stability_functions():
    limit = lambda method: next(
        x for x in np.arange(0.5, 6.0, 1e-4) if abs(integrate.stability_function(method)(-x)) > 1 + 1e-9
    )
    for method, expected in (("euler", 2.0), ("heun", 2.0), ("rk4", 2.7853)):
        assert abs(limit(method) - expected) < 2e-4
    for method in ("implicit-euler", "trapezoid"):
        assert np.all(np.abs(integrate.stability_function(method)(-np.logspace(-3, 8, 50))) <= 1)
    z = np.array([0.1 + 0.2j, -0.3])
    np.testing.assert_allclose(integrate.stability_function("implicit-euler")(z), 1 / (1 - z), rtol=1e-12)
    assert [integrate.order(m) for m in ("euler", "rk4", "dop853", "trapezoid")] == [1, 4, 8, 2]


@pytest.mark.row("12.6.1-d")
def test_a_residual_network_is_eulers_method():
    weights = np.random.default_rng(0).normal(size=(3, 3))
    x = np.array([0.3, -0.7, 1.1])
    for _ in range(8):
        x = x + 0.125 * np.tanh(weights @ x)
    f = lambda t, y: np.tanh(weights @ y)
    path = integrate.solve(f, (0.0, 1.0), np.array([0.3, -0.7, 1.1]), method="euler", first_step=0.125)
    np.testing.assert_allclose(path.last, x, rtol=1e-15)
    assert path.steps == 8


@pytest.mark.parametrize(
    "method", ["kvaerno5", *[pytest.param(m, marks=pytest.mark.sweep) for m in ("kencarp4", "kencarp5")]]
)
def test_dense_output_of_order_four(method):
    fixed, f = integrate.choose(method, error=None), lambda t, y: np.cos(t) * y
    times, errors = np.arange(1, 20) * 0.0937 + 0.01, []
    for h in (0.2, 0.1, 0.05):
        found = integrate.solve(f, (0.0, 2.0), 1.0, method=fixed, first_step=h, save=times).values
        errors.append(np.max(np.abs(found - np.exp(np.sin(times)))))
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 3.7)
    # what lies between steps has the derivative of the steps
    value = lambda k: integrate.solve(
        lambda t, y: -k * y, (0.0, 1.0), 1.0, method=method, rtol=1e-8, save=[0.437]
    ).values[0]
    assert abs(ad.grad(value)(1.3) + 0.437 * np.exp(-0.437 * 1.3)) < 1e-6
