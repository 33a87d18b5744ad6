"""What users ask of L-BFGS-B: bounds in every form, searches, counts, types, warm starts, derivatives."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from tests.support.sweeps import sampled

SEARCHES = [optimize.Armijo(), optimize.StrongWolfe(), optimize.HagerZhang()]


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("given", ["traced", "grad=", "compiled"])
@pytest.mark.parametrize("x0, lower, upper", [
    ((0.7, 1.1), (-1.5, -1.0), (3.0, 2.5)),
    ((2.5, 0.2), (1.25, -1.0), (4.0, 0.75)),
    ((1.5, 0.4), (0.0, -2.0), (2.0, 0.5)),
])  # fmt: skip
def test_scipys_minimizer_however_the_function_is_given(x0, lower, upper, given):
    bounds, start = (np.array(lower), np.array(upper)), np.array(x0)
    options = {"grad": ad.grad(valley)} if given == "grad=" else {}
    f = ad.jit(valley) if given == "compiled" else valley
    found = optimize.minimize(f, start, method="lbfgsb", bounds=bounds, tol=1e-9, **options)
    reference = theirs.minimize(valley, start, jac=ad.grad(valley), method="L-BFGS-B", bounds=list(zip(*bounds)),
                                options={"ftol": 1e-15, "gtol": 1e-10})  # fmt: skip
    assert found.converged
    np.testing.assert_allclose(found.value, reference.x, atol=1e-6)


@pytest.mark.parametrize(
    "search, differentiate", sampled([(s, d) for s in SEARCHES for d in ("equation", "unrolled")], every=3)
)
def test_trees_with_bounds_by_leaf_and_every_search(search, differentiate):
    f = lambda p, a: 100.0 * (p["b"] - p["a"] ** 2) ** 2 + (a - p["a"]) ** 2
    bounds = ({"a": -1.0, "b": -0.5}, {"a": 2.0, "b": 3.0})
    how = "equation" if differentiate == "equation" else ad.implicit.Unrolled(60)
    solve = lambda a: optimize.minimize(f, {"a": 0.0, "b": 0.0}, a, method=optimize.LBFGSB(search=search),
                                        bounds=bounds, differentiate=how, max_iterations=500)  # fmt: skip
    found = solve(1.0)
    assert found.fun < 1e-10
    np.testing.assert_allclose(ad.grad(lambda a: solve(a).value["b"])(1.0), 2.0, rtol=1e-3)


@pytest.mark.parametrize("lower, upper", [((0.5, -4.0, 0.0), (3.0, 0.0, 2.0)), ((0.0, 0.0, 0.0), (2.5, 2.0, 0.25))])
def test_a_bowl_takes_two_iterations_and_never_leaves_its_bounds(lower, upper):
    center, seen = np.array([1.5, -3.0, 0.75]), []
    bounds = (np.array(lower), np.array(upper))
    found = optimize.minimize(lambda x: np.sum((x - center) ** 2), np.clip(np.zeros(3), *bounds), method="lbfgsb",
                              bounds=bounds, callback=lambda it: seen.append(it.x))  # fmt: skip
    np.testing.assert_array_equal(found.value, np.clip(center, *bounds))
    assert found.iterations <= 2
    assert seen
    assert all(np.all(x >= bounds[0]) and np.all(x <= bounds[1]) for x in seen)


@pytest.mark.parametrize("search, classes", sampled([(s, c) for s in SEARCHES for c in (2, 3)], every=3))
def test_logistic_regression_with_and_without_bounds_that_bind(search, classes):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 5)), rng.integers(0, classes, 12)

    def loss(p, X, y):
        z = X @ p[0] + p[1]
        return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(12), y]) + 1e-2 * np.sum(p[0] ** 2)

    start = (np.zeros((5, classes)), np.zeros(classes))
    wide = optimize.minimize(loss, start, X, y, method=optimize.LBFGSB(search=search), bounds=(-1e2, 1e2), tol=1e-7)
    free = optimize.minimize(loss, start, X, y, method="bfgs", tol=1e-9)
    np.testing.assert_allclose(wide.fun, free.fun, rtol=1e-9)
    tight = optimize.minimize(loss, start, X, y, method=optimize.LBFGSB(search=search), bounds=(-0.5, 0.5), tol=1e-7)
    flat, back = ad.tree.ravel(start)
    f = lambda v: loss(back(v), X, y)
    reference = theirs.minimize(f, flat, jac=ad.grad(f), method="L-BFGS-B", bounds=[(-0.5, 0.5)] * flat.size,
                                options={"ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    assert wide.converged
    assert tight.converged
    assert np.any(tight.active[0] != 0)
    np.testing.assert_allclose(tight.fun, reference.fun, rtol=1e-9)


def test_curvature_that_was_learned_is_kept_by_a_warm_start():
    start, bounds = np.zeros(6), (-2.0, 2.0)
    first = optimize.minimize(valley, start, method="lbfgsb", bounds=bounds, max_iterations=12)
    assert first.status == "max iterations"
    again = optimize.minimize(valley, first.value, method="lbfgsb", bounds=bounds, warm=first.state)
    anew = optimize.minimize(valley, first.value, method="lbfgsb", bounds=bounds)
    assert again.converged
    assert again.iterations < anew.iterations


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("of_value", [np.float32, np.float64])
def test_types_are_those_of_the_unknowns(of_value, compiled):
    f = lambda x: np.asarray(np.cos(np.sum(np.exp(-x)) ** 2), of_value)
    solve = lambda x: optimize.minimize(f, x, method="lbfgsb", bounds=(-5.0, 5.0))
    found = (ad.jit(solve) if compiled else solve)(np.ones((3, 2), np.float32))
    assert found.value.dtype == found.grad.dtype == np.float32
    assert found.iterations.dtype == np.int64
    assert abs(found.fun + 1.0) < 1e-5


def test_calls_are_counted_one_by_one():
    calls = []

    def f(x):
        calls.append(0)
        return valley(x)

    found = optimize.minimize(f, np.zeros(2), method="lbfgsb", bounds=(-2.0, 2.0), grad=ad.grad(valley),
                              max_iterations=10)  # fmt: skip
    assert len(calls) == found.evaluations["value"] >= found.iterations + 1


def test_gradients_where_bounds_and_parameters_come_by_name():
    def pipeline(x, start, bounds, data):
        surprise = lambda p, data, x: 0.5 * (p - data * x) ** 2 + 0.5 * np.log(2 * np.pi)
        return optimize.minimize(surprise, start, data, x, bounds=bounds, tol=1e-9).value

    run = lambda x: pipeline(x, start=0.0, bounds=(0.0, 10.0), data=2.5)
    assert ad.grad(run)(0.5) == pytest.approx(2.5, rel=1e-12)
    assert ad.grad(run)(-0.5) == 0.0  # at its bound


@pytest.mark.parametrize("compiled", [False, True])
def test_a_linear_function_ends_in_a_corner(compiled):
    solve = lambda x: optimize.minimize(lambda x: -x[0], x, method="lbfgsb", bounds=(-1.0, 1.0), max_iterations=3)
    found = (ad.jit(solve) if compiled else solve)(np.array([-0.5, 0.25]))
    np.testing.assert_array_equal(found.value, [1.0, 0.25])
    assert found.status == "converged"
