"""Unchanged code that calls scipy.optimize in its middle, and the door to the solvers."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.optimize as so

import adjoint as ad
import adjoint.scipy.optimize
from adjoint.base.config import config
from adjoint.scipy import optimize


def implied(a):
    b = np.exp(a) * 0.5
    x = so.brentq(lambda x: x**3 - b, 0.0, 2.0)
    if x > 1:
        return np.sin(x) * a
    return np.cos(x) * b


def slope(a):
    """With x = b^(1/3) and b' = b, in closed form."""
    b = np.exp(a) * 0.5
    x, dx = b ** (1 / 3), b ** (1 / 3) / 3
    return np.cos(x) * dx * a + np.sin(x) if x > 1 else -np.sin(x) * dx * b + np.cos(x) * b


@pytest.mark.parametrize("a", [0.0, 1.0])
def test_a_root_in_the_middle(a):
    for derivative in (ad.grad(implied), ad.jit(ad.grad(implied)), lambda a: ad.jvp(implied, (a,), (1.0,))[1]):
        assert derivative(a) == pytest.approx(slope(a), rel=1e-9)
    assert ad.jit(implied)(a) == pytest.approx(implied(a), rel=1e-12)


KEPLER = lambda x, a: x - 0.5 * np.cos(x) - a
UNCHANGED = {
    "fsolve": lambda a: so.fsolve(KEPLER, [0.9], (a,), xtol=1e-12)[0],
    "fsolve, what it closes over": lambda a: so.fsolve(lambda x: KEPLER(x, a), 0.9, xtol=1e-12)[0],
    "root": lambda a: so.root(lambda x: KEPLER(x, a), [0.9], tol=1e-12).x[0],
    "root, lm": lambda a: so.root(lambda x: KEPLER(x, a), [0.9], method="lm", tol=1e-12).x[0],
    "leastsq": lambda a: so.leastsq(lambda x: KEPLER(x, a), [0.9], xtol=1e-12)[0][0],
    "newton_krylov": lambda a: so.newton_krylov(lambda x: KEPLER(x, a), np.array([0.9]), f_tol=1e-12)[0],
    "broyden1": lambda a: so.broyden1(lambda x: KEPLER(x, a), np.array([0.9]), f_tol=1e-12)[0],
    "differential_evolution": lambda a: so.differential_evolution(
        lambda x: KEPLER(x[0], a) ** 2, [(0.0, 3.0)], seed=0, tol=1e-14, atol=1e-14
    ).x[0],
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_solvers_that_put_errors_of_their_own_in_the_place_of_refusals(name, capfd):
    """C code and maps of functions raise what is no refusal, and functions made by exec look like the user's."""
    x = so.brentq(KEPLER, 0.0, 3.0, args=(1.0,), xtol=1e-14)
    assert ad.grad(UNCHANGED[name])(1.0) == pytest.approx(1 / (1 + 0.5 * np.sin(x)), rel=1e-6)
    assert capfd.readouterr().err == ""


def test_in_batches():
    points = np.array([0.0, 1.0])
    want = [slope(0.0), slope(1.0)]
    np.testing.assert_allclose(ad.vmap(ad.grad(implied))(points), want, rtol=1e-9)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(implied)))(points), want, rtol=1e-9)


def test_searches_whose_comparisons_have_no_derivative():
    golden = lambda a: so.golden(lambda x: np.cosh(x - a) + 0.3 * x * x)
    assert ad.grad(golden)(1.3) == pytest.approx(0.650249107, rel=1e-7)
    secant = lambda a: so.root_scalar(lambda x: x**3 - a, x0=0.5, x1=1.0, method="secant").root
    assert ad.grad(secant)(1.0) == pytest.approx(1 / 3)
    newton = lambda a: so.newton(lambda x: x**3 - a, 1.0, fprime=lambda x: 3 * x * x)
    assert ad.grad(newton)(1.0) == pytest.approx(1 / 3)


def test_a_solver_inside_a_solver():
    """min over x of (x - y)² + x², where y³ = a x + 1: both by SciPy, in code that knows nothing of derivatives."""

    def total(a):
        inner = lambda x: so.brentq(lambda y: y**3 - a * x - 1.0, 0.0, 4.0, xtol=1e-14)
        return so.fminbound(lambda x: (x - inner(x)) ** 2 + x**2, 0.0, 2.0, xtol=1e-10)

    h = 1e-2
    assert ad.grad(total)(0.8) == pytest.approx((total(0.8 + h) - total(0.8 - h)) / (2 * h), rel=1e-4)


def test_classes_with_state():
    class Market:
        def __init__(self):
            self.asked = 0

        def clear(self, demand):
            self.asked += 1
            return so.fsolve(lambda p: p**2 + p - demand, 1.0)[0]

    market = Market()
    assert ad.grad(market.clear)(6.0) == pytest.approx(1 / 5)


def test_the_refusal_names_the_remedy():
    with config.override(convert=False), pytest.raises(TypeError, match=r"Use adjoint\.scipy\.optimize\.brentq"):
        ad.grad(lambda a: so.brentq(lambda x: x**3 - a, 0.0, 3.0))(1.0)


def test_the_door():
    assert adjoint.scipy.optimize.brentq is optimize.brentq
    assert optimize.NonlinearConstraint is so.NonlinearConstraint
    assert isinstance(optimize.Bounds(0.0, 1.0), so.Bounds)
    assert {"brentq", "line_search", "OptimizeResult"} <= set(dir(optimize))
    with pytest.raises(AttributeError, match="neither has"):
        optimize.no_such_solver
    code = "import adjoint, sys; from adjoint import scipy; print('scipy.optimize' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]


BOWL = lambda x: (x[0] - 1.0) ** 2 + 0.5 * (x[1] - x[0]) ** 2
LIMITS = {
    # x₁ ≤ a / 2: x₀ = (2 + x₁) / 3
    "Bounds": (lambda a: so.minimize(BOWL, [0.0, 0.0], bounds=so.Bounds([-1, -1], [2.0, a / 2])).x, [1 / 6, 1 / 2]),
    # x₀ + x₁ = a: 3 x₀ = 2 + x₁ + λ/… , by elimination x₀ = (1 + a) / 3
    "LinearConstraint": (
        lambda a: so.minimize(BOWL, [0.0, 0.0], constraints=so.LinearConstraint([[1.0, 1.0]], a, a), tol=1e-12).x,
        [1 / 3, 2 / 3],
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_in_scipys_classes(name):
    """Lists with traced numbers in them; equal limits are one equation, of which no part is weakly active."""
    solve, expected = LIMITS[name]
    for derivative in (ad.jacobian(solve), ad.jit(ad.jacobian(solve)), ad.jacfwd(solve)):
        np.testing.assert_allclose(derivative(1.1), expected, rtol=1e-6)


def test_a_traced_matrix_of_constraints():
    """x₀ and x₁ with a x₀ + x₁ = 1, by elimination."""
    solve = lambda a: so.minimize(BOWL, [0.0, 0.0], constraints=so.LinearConstraint([[a, 1.0]], 1.0, 1.0), tol=1e-12).x[
        0
    ]
    closed = lambda a: (2 + (1 + a)) / (2 + (1 + a) ** 2)
    assert ad.grad(solve)(1.1) == pytest.approx(ad.grad(closed)(1.1), rel=1e-5)
