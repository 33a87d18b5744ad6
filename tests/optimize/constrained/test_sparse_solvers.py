"""Many unknowns under constraints: Uno and trust-constr with sparse derivatives, beside our own methods."""

import importlib.util

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.constrained import solving, sparse_solvers

METHODS = [optimize.Uno(), optimize.Uno("filtersqp"), "trust-constr"]


def hs71(radius, method):
    """Problem 71 of Hock and Schittkowski, with a right side that moves."""
    rules = [
        optimize.inequality(lambda x, radius: 25.0 - np.prod(x)),
        optimize.equality(lambda x, radius: np.sum(x**2) - radius),
    ]
    f = lambda x, radius: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    start = np.array([1.0, 5.0, 5.0, 1.0])
    return optimize.minimize(f, start, radius, subject_to=rules, bounds=(1.0, 5.0), method=method)


def chain(t, n, method="auto"):
    """A chain of n unknowns, each of which is in three constraints."""
    f = lambda x, t: np.sum((x[1:] - x[:-1]) ** 2) + 0.1 * np.sum(np.cos(t * x))
    rule = optimize.inequality(lambda x, t: t * x[1:-1] ** 2 * x[2:] + np.sin(x[:-2]) - 0.5)
    return optimize.minimize(f, np.full(n, 0.5), t, subject_to=rule, bounds=(-10.0, 10.0), method=method)


def answer(radius, method=METHODS[0]):
    found = hs71(radius, method)
    prices = found.multipliers
    return np.concatenate([found.value, prices.equality, prices.inequality, prices.lower, found.fun[None]])


@pytest.mark.parametrize("method", METHODS)
def test_prices_and_derivatives_are_those_of_sequential_quadratic_programming(method):
    found, other = hs71(40.0, method), hs71(40.0, "sqp")
    assert (found.status, bool(found.feasible)) == ("converged", True)
    np.testing.assert_allclose(found.fun, 17.0140172891563, rtol=1e-12)  # of the book of Hock and Schittkowski
    np.testing.assert_allclose(found.multipliers.lower, other.multipliers.lower, atol=1e-7)
    derivative = lambda method: ad.jacobian(lambda radius: answer(radius, method))(40.0)
    np.testing.assert_allclose(derivative(method), derivative("sqp"), atol=1e-7)


def test_derivatives_in_all_modes():
    derivative = ad.jacobian(answer)
    differences = lambda f: (f(40.0 + 1e-4) - f(40.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(derivative(40.0), differences(answer), atol=1e-8)
    np.testing.assert_allclose(ad.jacobian(derivative)(40.0), differences(derivative), atol=1e-7)
    radii = np.array([40.0, 41.0])
    np.testing.assert_allclose(ad.jit(ad.vmap(derivative))(radii), [derivative(40.0), derivative(41.0)], atol=1e-9)


def test_many_unknowns_go_to_uno_and_stay_sparse():
    found = chain(1.0, 400)
    assert (found.status, found.method) == ("converged", "minimize by uno")
    assert found.residual <= 1e-13
    total = lambda t: np.sum(chain(t, 400).value)
    derivative = ad.grad(total)(1.0)
    np.testing.assert_allclose(derivative, (total(1.0 + 1e-5) - total(1.0 - 1e-5)) / 2e-5, rtol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.grad(total))(1.0), derivative, rtol=1e-10)


def test_chain_by_sequential_quadratic_programming():
    np.testing.assert_allclose(chain(1.0, 12, optimize.Uno()).value, chain(1.0, 12, "sqp").value, atol=1e-8)


def test_trees_and_data_that_functions_close_over():
    def best(a):
        f = lambda p: np.sum((p["u"] - a) ** 2) + p["v"] ** 2
        rule = optimize.equality(lambda p: np.sum(p["u"]) + p["v"] - 1.0)
        return optimize.minimize(f, {"u": np.zeros(2), "v": 0.0}, subject_to=rule, method="uno").value

    # the projection of (a, a, 0) onto the plane: moved by (1 - 2 a) / 3
    found, derivative = best(0.8), ad.jacobian(best)(0.8)
    np.testing.assert_allclose([*found["u"], found["v"]], [0.6, 0.6, -0.2], atol=1e-12)
    np.testing.assert_allclose([*derivative["u"], derivative["v"]], [1 / 3, 1 / 3, -2 / 3], atol=1e-12)


@pytest.mark.parametrize("method", METHODS[:2])
def test_statuses(method):
    up, down = optimize.inequality(lambda x: x[0] + 1.0), optimize.inequality(lambda x: 1.0 - x[0])
    empty = optimize.minimize(lambda x: np.sum(x**2), np.zeros(2), subject_to=[up, down], method=method)
    assert (empty.status, bool(empty.feasible)) == ("infeasible", False)
    short = optimize.minimize(
        lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, np.array([-1.2, 1.0]), max_iterations=2,
        subject_to=optimize.inequality(lambda x: np.sum(x**2) - 4.0), method=method,
    )  # fmt: skip
    assert short.status == "max iterations"


def test_bounds_alone():
    f = lambda x: np.sum((x - np.arange(3.0)) ** 2)
    found = optimize.minimize(f, np.ones(3), bounds=(0.5, 1.5), method=optimize.Uno())
    np.testing.assert_allclose(found.value, [0.5, 1.0, 1.5], atol=1e-12)
    np.testing.assert_allclose(found.multipliers.lower, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.multipliers.upper, [0.0, 0.0, 1.0], atol=1e-12)


def test_an_error_of_the_function_arrives():
    def f(x):
        if x[0] < 0.9:
            raise ZeroDivisionError("below")
        return np.sum(x**2)

    rule = optimize.inequality(lambda x: 0.1 - x[0])
    with pytest.raises(ZeroDivisionError, match="below"):
        optimize.minimize(f, np.ones(2), subject_to=rule, method="uno")


def test_branches_of_python():
    """The Hessian of the first point lacks an entry: the answer is right all the same."""
    f = lambda x: np.sum(x**2) + (x[0] * x[1] if x[0] < 0.9 else 0.0)
    rule = optimize.inequality(lambda x: 0.1 - x[0])
    found = optimize.minimize(f, np.ones(2), subject_to=rule, method="uno")
    np.testing.assert_allclose(found.value, [0.1, -0.05], atol=1e-7)


def test_what_is_wrong_is_said(monkeypatch):
    rule = optimize.inequality(lambda x: 0.1 - x[0])
    with pytest.raises(ValueError, match="preset='simplex'"):
        optimize.minimize(lambda x: np.sum(x**2), np.ones(2), subject_to=rule, method=optimize.Uno("simplex"))
    with pytest.raises(ValueError, match="callback=, history= does nothing"):
        optimize.minimize(lambda x: np.sum(x**2), np.ones(2), subject_to=rule, callback=print, history=True)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not sparse_solvers.has_uno()
    with pytest.raises(ModuleNotFoundError, match=r"adjoint\[nlp\]"):
        optimize.minimize(lambda x: np.sum(x**2), np.ones(2), subject_to=rule, method="uno")
    assert solving.choose_name("minimize", "auto", 500) == "augmented lagrangian"


@pytest.mark.parametrize("method", METHODS)
def test_starts_of_programs(method):
    """A start that is traced: in compiled code, in batches, and handed on in a scan."""
    rule = optimize.inequality(lambda x, t: np.sum(x**2) - t)
    f = lambda x, t: -x[0] - 0.5 * t * x[1]
    solve = lambda x0, t: optimize.minimize(f, x0, t, subject_to=rule, method=method).value
    expected = lambda t: np.sqrt(t / (1 + t**2 / 4)) * np.array([1.0, t / 2])  # f falls along (1, t/2)
    starts, times = np.array([[0.3, 0.1], [0.5, 0.5]]), np.array([1.0, 2.0])
    wanted = np.stack([expected(t) for t in times])
    np.testing.assert_allclose(ad.jit(solve)(starts[0], 1.0), wanted[0], rtol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.vmap(solve))(starts, times), wanted, rtol=1e-7)
    handed_on = ad.jit(lambda x, ts: ad.scan(lambda x, t: (solve(x, t),) * 2, x, ts)[1])
    np.testing.assert_allclose(handed_on(starts[0], times), wanted, rtol=1e-7)
    by_both = ad.grad(lambda x0, t: np.sum(solve(x0, t)), (0, 1))(starts[0], 1.0)
    np.testing.assert_allclose(by_both[0], 0.0, atol=1e-12)  # where it starts makes no difference
    step = 1e-5
    np.testing.assert_allclose(by_both[1], np.sum(expected(1.0 + step) - expected(1.0 - step)) / (2 * step), rtol=1e-6)


def test_equations_that_contradict_each_other_are_infeasible():
    """Uno goes on to its last iteration: where the violation has no way down, more of them change nothing."""
    rules = [optimize.equality(lambda x: x[0] - 1.0), optimize.equality(lambda x: x[0] + 1.0)]
    for preset in ("ipopt", "filtersqp"):
        method = optimize.Uno(preset)
        found = optimize.minimize(lambda x: np.sum(x**2), np.zeros(3), subject_to=rules, method=method)
        assert found.status == "infeasible"
