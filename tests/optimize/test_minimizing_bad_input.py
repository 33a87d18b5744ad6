"""What users get wrong: each error names the operation, what it got and the remedy."""

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint import implicit, optimize

GENERATOR = np.random.default_rng(0)


class Parameters(NamedTuple):
    a: Any
    k: Any
    kappa: Any


def squares(x):
    return np.sum((x - 9.0) ** 2)


def away(p):
    return (p.a - 3.0) ** 2 + (p.k - 3.0) ** 2 + (p.kappa - 3.0) ** 2


@pytest.mark.parametrize(
    "bounds, expected",
    [
        (([0.0, 1.0], [2.0, 3.0]), [2.0, 3.0]),  # lower and upper, as SciPy's least_squares has them
        ([(0.0, 1.0), (0.0, 2.0)], [1.0, 2.0]),  # pairs, as SciPy's minimize has them
        (((0, 1), (0, 2)), [1.0, 2.0]),
        (((0, 0), (5, 6)), [5.0, 6.0]),
        (((0, None), (0, 2)), [9.0, 2.0]),
        ((np.zeros(2), np.array([1.0, 4.0])), [1.0, 4.0]),
    ],
)
def test_bounds_of_two_unknowns_in_the_forms_of_scipy(bounds, expected):
    found = optimize.minimize(squares, np.array([0.5, 1.0]), bounds=bounds)
    np.testing.assert_allclose(found.value, expected, atol=1e-7)


def test_bounds_that_can_be_read_in_two_ways_are_refused():
    with pytest.raises(ValueError, match=r"minimize: bounds are .* two pairs, \[0, 2\] and \[1, 3\].*list of pairs"):
        optimize.minimize(squares, np.ones(2), bounds=((0, 2), (1, 3)))


def test_bounds_by_key_of_named_tuples_and_nested_trees():
    start = Parameters(0.0, 0.0, 0.0)
    found = optimize.minimize(away, start, bounds={"k": (None, 1.0)})
    np.testing.assert_allclose(found.value, [3.0, 1.0, 3.0], atol=1e-6)  # kappa begins like k, and is free
    found = optimize.minimize(lambda p: away(p["u.v"]), {"u.v": start}, bounds={"u.v": {"kappa": (None, 2.0)}})
    np.testing.assert_allclose(found.value["u.v"], [3.0, 3.0, 2.0], atol=1e-6)
    with pytest.raises(ad.TreeError, match=r"the key 'z' in u, and x has none of that name. It has: .*kappa"):
        optimize.minimize(lambda p: away(p["u"]), {"u": start}, bounds={"u": {"z": (None, 1.0)}})
    with pytest.raises(ValueError, match=r"the bounds of x\.k are \(2.0, 1.0\)"):
        optimize.minimize(away, start, bounds={"k": (2.0, 1.0)})
    with pytest.raises(ad.DtypeError, match=r"x0\.k is int64\[1\]"):
        optimize.minimize(away, Parameters(0.0, np.array([1]), 0.0))


@pytest.mark.parametrize(
    "solve",
    [
        lambda f: optimize.minimize(lambda x: np.sum(f(x) ** 2), np.zeros(2)),
        lambda f: optimize.least_squares(f, np.zeros(2)),
        lambda f: optimize.root(f, np.zeros(2)),
        lambda f: optimize.fixed_point(f, np.zeros(2)),
        lambda f: optimize.root_scalar(f, x0=np.zeros(2)),
    ],
    ids=["minimize", "least_squares", "root", "fixed_point", "root_scalar"],
)
def test_functions_that_draw_random_numbers_are_refused(solve):
    for draw in (GENERATOR.normal, np.random.rand):
        with pytest.raises(ad.TraceError, match=r"drew from NumPy's .*Draw the numbers beforehand"):
            solve(lambda x, draw=draw: 0.5 * x - 1.0 + draw())
    own = lambda x: 0.5 * x - np.random.default_rng(3).normal()  # the same number in each call
    assert np.all(np.isfinite(solve(own).value))


def test_draws_of_another_thread_are_not_those_of_the_function():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            np.random.rand(10)

    other = threading.Thread(target=draw)
    other.start()
    try:
        for _ in range(5):
            assert optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2)).converged
    finally:
        stop.set()
        other.join()


@pytest.mark.parametrize(
    "keyword, words",
    [
        ({"jac": True}, "Here it is grad=."),
        ({"args": (1.0,)}, "one after another"),
        ({"constraints": ()}, "Here it is subject_to=."),
        ({"maxiter": 3}, "Here it is max_iterations=."),
        ({"options": {}}, "Options are arguments of their own"),
        ({"max_iteration": 3}, "Did you mean max_iterations?"),
        ({"method": optimize.LBFGS}, "write LBFGS()"),
    ],
)
def test_names_of_other_libraries_are_translated(keyword, words):
    with pytest.raises(TypeError) as caught:
        optimize.minimize(squares, np.zeros(2), **keyword)
    assert words in str(caught.value)


@pytest.mark.parametrize("solve", [
    lambda **o: optimize.minimize(squares, np.zeros(2), **o),
    lambda **o: optimize.least_squares(lambda x: x - 1.0, np.zeros(2), **o),
    lambda **o: optimize.root(lambda x: x - 1.0, np.zeros(2), **o),
    lambda **o: optimize.fixed_point(lambda x: 0.5 * x, np.zeros(2), **o),
    lambda **o: optimize.root_scalar(lambda x: x - 1.0, x0=0.0, **o),
    lambda **o: optimize.minimize_scalar(lambda x: x * x, x0=1.0, **o),
])  # fmt: skip
def test_tolerances_and_counts_are_numbers(solve):
    for bad in ("1e-8", np.ones(2), object()):
        with pytest.raises(TypeError, match=r"tol is .*one number"):
            solve(tol=bad)
    with pytest.raises(ValueError, match="tol is -1"):
        solve(tol=-1.0)
    with pytest.raises(TypeError, match=r"max_iterations is 2\.5; it is an integer"):
        solve(max_iterations=2.5)
    with pytest.raises(ValueError, match="max_iterations is -1; it cannot be negative"):
        solve(max_iterations=-1)


def test_what_the_function_returns():
    with pytest.raises(ad.DtypeError, match="minimize: the function returned a truth value"):
        optimize.minimize(lambda x: np.all(x > 0), np.zeros(2))
    with pytest.raises(ad.TreeError, match=r"fixed_point: x.*T\(x\) are trees of one structure"):
        optimize.fixed_point(lambda x: x["u"], {"u": 1.0})
    with pytest.raises(ad.TreeError, match=r"fixed_point: x.*where the other has a dict"):
        optimize.fixed_point(lambda x: {"u": x}, 1.0)
    solve = implicit.fixed_point(lambda x, a: 0.5 * x["u"] + a, lambda a: {"u": 2 * a})
    with pytest.raises(ad.TreeError, match=r"fixed_point: x.*T\(x\) are trees of one structure"):
        ad.grad(lambda a: solve(a)["u"])(1.0)


def test_missing_data_are_named():
    t, y = np.arange(4.0), np.array([0.0, 1.0, np.nan, np.nan])
    with pytest.raises(ValueError, match=r"curve_fit: y\[2\] is NaN, one of 2.*np.isfinite"):
        optimize.curve_fit(lambda t, p: p * t, t, y, 1.0)


def test_a_callback_ends_a_search_as_in_scipy():
    def stop_at_once(now):
        raise StopIteration

    found = optimize.minimize(lambda x: np.sum(x**4), np.ones(2), callback=stop_at_once)
    assert found.status == "stopped"
    assert found.iterations == 1
