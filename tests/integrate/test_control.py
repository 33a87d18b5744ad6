"""Step control on the 30 problems of DETEST: errors follow tolerances, gradients solve the variational equation."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjoint as ad
from adjoint.integrate import choose, methods, solve
from tests.integrate.detest import END, PROBLEMS

SAMPLE = [("A3", "dopri5"), ("B1", "tsit5"), ("D1", "verner8"), ("F1", "dopri5")]
EXPLICIT = ["bosh3", "dopri5", "tsit5", "dop853", "verner6", "verner7", "verner8", "verner9"]
# the two states of reversible Heun drift apart over long spans; Taylor's errors on F2 are 10⁻¹² at any tolerance
OTHERS = [m for m in methods() if choose(m).adaptive and m not in EXPLICIT and getattr(choose(m), "order", 9) > 1]
TIMES = np.arange(1.0, END + 1)
# What f does not allow: (most tolerances, least slope). F4 has a peak that Verner's eighth order misjudges by 510; f of
# F5 has no second derivative at any whole time, where high orders are lost: slopes are 0.37 to 0.72.
ROUGH = {"F4": (1000, 0.8), "F5": (100, 0.3)}


@cache
def _exact(name):
    """y at all whole times and ∂y/∂y₀ there, by SciPy between the stops."""
    problem = PROBLEMS[name]
    n = len(problem.start)
    jacobian = ad.jit(ad.jacfwd(problem.f, argnums=1))
    whole, ends = np.concatenate([problem.start, np.eye(n).ravel()]), []
    for begin, end in zip(TIMES - 1.0, TIMES, strict=True):

        def f(t, z, begin=begin, end=end):
            t = np.clip(t, begin + 1e-13, end - 1e-13) if len(problem.stops) else t
            y = z[:n]
            return np.concatenate([np.asarray(problem.f(t, y)), (jacobian(t, y) @ z[n:].reshape(n, n)).ravel()])

        whole = solve_ivp(f, (begin, end), whole, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
        ends.append(whole)
    return np.array(ends)[:, :n], np.array(ends)[:, n:].reshape(-1, n, n)


def _errors(name, method, tolerances):
    """The largest errors at whole times, against 1 + |y|, and whether stability, not accuracy, chose the steps."""
    problem, (exact, _) = PROBLEMS[name], _exact(name)
    errors, stable = [], []
    for tol in tolerances:
        path = solve(problem.f, (0.0, END), problem.start, save=TIMES, stops=problem.stops, method=method, rtol=tol,
                     atol=tol, max_steps=10_000_000).raise_if_failed()  # fmt: skip
        errors.append(np.max(np.abs(path.values - exact) / (1.0 + np.abs(exact))))
        stable.append(path.stiff_steps < 0.2 * path.steps)
    return np.array(errors), np.array(stable)


def _check(name, method, slopes):
    """Within 100 tolerances times what perturbations of the start grow by, and in proportion to them.

    At 10⁻³ and 10⁻⁴, where a step may jump over a peak of f, it may be 300. Below ten tolerances errors may fall faster
    (where stability chose the first steps) or more slowly (where a high order does better than is asked).
    """
    order = choose(method).order
    tolerances = 10.0 ** -np.arange(3.0, 13.0 if order >= 5 else 9.0 if order >= 3 else 7.0)
    growth = max(1.0, np.max(np.abs(_exact(name)[1]).sum(axis=2)))
    errors, stable = _errors(name, method, tolerances)
    most, least = ROUGH.get(name, (100, slopes[0]))
    assert np.all(errors < np.maximum(np.where(tolerances > 3e-5, 300, 100), most) * growth * tolerances)
    seen = np.logical_and(stable, np.logical_and(errors > 1e-12 * growth, errors < 0.1))
    if np.sum(seen) >= 4:
        slope = np.polyfit(np.log(tolerances[seen]), np.log(errors[seen]), 1)[0]
        low, high = (least, slopes[1]) if np.any(errors > 10 * tolerances) else (min(least, 0.4), 2.2)
        assert low < slope < high


@pytest.mark.parametrize("name, method", SAMPLE)
def test_errors_follow_tolerances(name, method):
    _check(name, method, (0.8, 1.4))


@pytest.mark.sweep
@pytest.mark.parametrize("method", EXPLICIT)
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_explicit_method_on_every_problem(name, method):
    _check(name, method, (0.8, 1.4))


@pytest.mark.sweep
@pytest.mark.parametrize("name, method", [
    (name, method) for name in ("A3", "B1", "D1", "E2", "F2") for method in OTHERS
    if method != "reversible-heun" and (name, method) != ("F2", "taylor")
])  # fmt: skip
def test_every_other_method_on_a_problem_of_each_class(name, method):
    _check(name, method, (0.7, 1.5))


def _check_gradients(name, method):
    """∂(Σ w y(20)) / ∂y₀ = Φ(20)ᵀ w."""
    problem, growth = PROBLEMS[name], np.max(np.abs(_exact(name)[1]))
    weights = np.cos(np.arange(len(problem.start)))
    end = lambda y0: (
        weights @ solve(problem.f, (0.0, END), y0, stops=problem.stops, method=method, rtol=1e-11, atol=1e-12).last
    )
    expected = _exact(name)[1][-1].T @ weights
    np.testing.assert_allclose(ad.grad(end)(problem.start), expected, rtol=1e-7, atol=1e-8 * growth)


def test_gradients_in_the_start():
    _check_gradients("B1", "tsit5")


@pytest.mark.sweep
@pytest.mark.parametrize("method", ["dop853", "rodas5p"])
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_gradients_in_the_start_of_every_problem(name, method):
    _check_gradients(name, method)
