"""Solvers whose functions close over traced values, in every mode; SciPy's methods in compiled programs."""

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint import implicit, optimize

A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
B = np.array([1.0, 2.0, 3.0])


def ridge(lam):
    """The minimizer for a penalty that the function closes over."""
    return optimize.minimize(lambda w: np.sum((A @ w - B) ** 2) + np.exp(lam) * np.sum(w**2), np.zeros(2)).value


def reference(order):
    """Derivatives of the first weight, by solving again in 40 digits."""
    with mpmath.workdps(40):
        M, v = mpmath.matrix(A.tolist()), mpmath.matrix(B.tolist())
        weight = lambda lam: mpmath.lu_solve(M.T * M + mpmath.exp(lam) * mpmath.eye(2), M.T * v)[0]
        return float(mpmath.diff(weight, mpmath.mpf("0.3"), order))


SECOND = {
    "forward over forward": lambda f: ad.jacfwd(ad.jacfwd(f)),
    "forward over reverse": lambda f: ad.jacfwd(ad.jacrev(f)),
    "reverse over forward": lambda f: ad.jacrev(ad.jacfwd(f)),
    "reverse over reverse": lambda f: ad.jacrev(ad.jacrev(f)),
    "hessian": ad.hessian,
    "compiled": lambda f: ad.jit(ad.hessian(f)),
}


@pytest.mark.parametrize("mode", SECOND)
def test_second_derivatives_by_what_the_function_closes_over(mode):
    np.testing.assert_allclose(SECOND[mode](lambda lam: ridge(lam)[0])(0.3), reference(2), rtol=1e-7)


def test_the_solver_runs_with_plain_numbers_although_its_function_closes_over_traced_ones():
    seen = []

    def f(lam):
        return optimize.minimize(
            lambda w: np.sum((A @ w - B) ** 2) + np.exp(lam) * np.sum(w**2), np.zeros(2), callback=seen.append
        ).value[0]

    np.testing.assert_allclose(ad.grad(f)(0.3), reference(1), rtol=1e-8)
    assert seen
    assert all(type(it.x) is np.ndarray for it in seen)


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: optimize.root(lambda x: x**3 - a, 1.5).value,
        lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0.0, 3.0)).value,
        lambda a: optimize.root_scalar(lambda x: x**3 - a, x0=1.5).value,
        lambda a: optimize.fixed_point(lambda x: 0.5 * (x + a / x**2) + 0 * x, 1.1).value,
        lambda a: optimize.least_squares(lambda x: x**3 - a, 1.5).value,
        lambda a: optimize.minimize_scalar(lambda x: 0.25 * x**4 - a * x, bounds=(0.0, 4.0)).value,
        lambda a: implicit.root(lambda x: x**3 - a, x0=1.5)(),
    ],
)
def test_second_derivatives_of_a_cube_root(solve):
    np.testing.assert_allclose(ad.hessian(solve)(1.3), -2 / 9 * 1.3 ** (-5 / 3), rtol=1e-7)


@pytest.mark.parametrize("method", ["nelder-mead", "slsqp", "trust-constr", "tnc"])
def test_methods_of_scipy_run_inside_compiled_programs(method):
    def solve(a):
        f = lambda x: np.sum((A @ x - a * B) ** 2) + 0.1 * np.sum(x**4)  # arrays of the module, a closed over
        return optimize.minimize(f, np.zeros(2), method=method, tol=1e-10).value

    exact = optimize.minimize(lambda x: np.sum((A @ x - B) ** 2) + 0.1 * np.sum(x**4), np.zeros(2), tol=1e-12).value
    np.testing.assert_allclose(ad.jit(solve)(1.0), exact, atol=1e-6)
    h = 1e-3
    change = lambda a: (
        optimize.minimize(lambda x: np.sum((A @ x - a * B) ** 2) + 0.1 * np.sum(x**4), np.zeros(2), tol=1e-12).value
    )
    np.testing.assert_allclose(ad.jit(ad.jacobian(solve))(1.0), (change(1 + h) - change(1 - h)) / (2 * h), atol=1e-5)


def test_least_squares_of_scipy_inside_compiled_programs():
    solve = lambda a: optimize.least_squares(lambda x: A @ x - a * B, np.zeros(2), method="trf").value
    exact = np.linalg.lstsq(A, B, rcond=None)[0]
    np.testing.assert_allclose(ad.jit(solve)(2.0), 2 * exact, atol=1e-9)
    np.testing.assert_allclose(ad.jit(ad.jacobian(solve))(2.0), exact, atol=1e-9)


def test_a_minimization_inside_of_another_one_is_taken_by_newtons_method():
    outer = lambda lam: np.sum((A[:2] @ ridge(lam) - B[:2] - 0.3) ** 2) + 0.001 * lam**2
    found = optimize.minimize(outer, 0.0, method="newton")
    assert found.converged
    around = [outer(found.value + h) for h in (-0.01, 0.01)]
    assert min(around) > found.fun


def test_bounds_that_are_traced_have_derivatives():
    low = lambda b: (
        optimize.minimize(lambda x: np.sum((x - np.array([-1.0, 0.5])) ** 2), np.ones(2), bounds=(b, None)).value
    )
    for solve in (ad.jacobian(low), ad.jit(ad.jacobian(low))):
        np.testing.assert_allclose(solve(0.0), [1.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(solve(0.7), [1.0, 1.0], atol=1e-12)
