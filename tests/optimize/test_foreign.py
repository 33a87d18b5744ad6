"""SciPy's methods behind `minimize`: limits that they keep, and options that they cannot serve."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

START = np.full(4, -1.0)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["nelder-mead", "powell", "tnc", "cobyla", "cobyqa", "slsqp"])
def test_evaluations_have_a_limit_and_the_best_point_is_returned(method):
    calls = []

    def f(x):
        calls.append(float(rosenbrock(x)))
        return rosenbrock(x)

    found = optimize.minimize(f, START, method=method, grad=ad.grad(rosenbrock), max_evaluations=12)
    assert found.status == "max evaluations"
    assert found.evaluations["value"] == 12
    assert found.fun == min(calls) == rosenbrock(found.value)


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_least_squares_have_a_limit_too(method):
    residual = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    found = optimize.least_squares(residual, np.array([-1.2, 1.0]), method=method, max_evaluations=5)
    assert found.status == "max evaluations"
    assert found.evaluations["residual"] == 5


@pytest.mark.parametrize("option", [{"callback": print}, {"stop": bool}, {"history": True}, {"progress": True}])
def test_what_would_do_nothing_is_refused(option):
    with pytest.raises(ValueError, match=f"slsqp is a method of SciPy's, where {next(iter(option))}= does nothing"):
        optimize.minimize(rosenbrock, START, method="slsqp", **option)
    with pytest.raises(ValueError, match=f"trf is a method of SciPy's, where {next(iter(option))}= does nothing"):
        optimize.least_squares(lambda x: x, START, method="trf", **option)


@pytest.mark.parametrize("method", ["nelder-mead", "slsqp", "trust-krylov"])
def test_single_precision_stays_single(method):
    start = np.full(2, 0.3, np.float32)
    found = optimize.minimize(lambda x: np.sum((x - 1) ** 2 + (x - 1) ** 4), start, method=method)
    assert found.converged
    assert found.value.dtype == np.float32
    np.testing.assert_allclose(found.value, 1.0, atol=1e-3)


def interrupted(f, after):
    """f, until the keyboard ends it."""
    calls = []

    def g(*args):
        calls.append(args)
        if len(calls) > after:
            raise KeyboardInterrupt
        return f(*args)

    return g


STEEP = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
SEARCHES = {
    "nelder-mead": lambda f: optimize.minimize(lambda x: np.sum(f(x) ** 2), START[:2], method="nelder-mead"),
    "slsqp": lambda f: optimize.minimize(lambda x: np.sum(f(x) ** 2), START[:2], method="slsqp"),
    "trf": lambda f: optimize.least_squares(f, START[:2], method="trf"),
    "lm": lambda f: optimize.least_squares(f, START[:2]),
    "root": lambda f: optimize.root(f, START[:2], method="lm"),
}


@pytest.mark.parametrize("method", SEARCHES)
def test_the_keyboard_leaves_the_best_point_whoever_searches(method):
    with pytest.raises(KeyboardInterrupt) as caught:
        SEARCHES[method](interrupted(STEEP, 8))
    found = caught.value.optimum
    assert found.status == "interrupted"
    r = STEEP(found.value)
    value = {"root": np.max(np.abs(r)), "lm": 0.5 * r @ r, "trf": 0.5 * r @ r}.get(method, r @ r)
    assert found.fun == pytest.approx(value)
    assert r @ r < STEEP(START[:2]) @ STEEP(START[:2])
