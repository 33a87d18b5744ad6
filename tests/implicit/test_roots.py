"""Roots and fixed points against mpmath and closed forms; what they are given, and what they refuse."""

import subprocess
import sys

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq, fsolve

import adjoint as ad
from adjoint import implicit

quintic = lambda w, lam: w**5 + w**3 + w - lam


def by_differences(solve, a, order):
    """Derivatives of a function of mpmath's numbers, by its own differences with fifty digits."""
    with mpmath.workdps(50):
        return [float(d) for d in mpmath.taylor(solve, a, order)]


def quintic_root(lam):
    return mpmath.findroot(lambda w: w**5 + w**3 + w - lam, 1)


@pytest.mark.parametrize("lam", [0.3, 3.0])
def test_derivatives_of_a_scalar_root_to_order_four(lam):
    w = implicit.root(quintic, lambda lam: brentq(quintic, -1.0, 2.0, args=(lam,), xtol=1e-15))
    expected = by_differences(quintic_root, lam, 4)
    factorials = [1.0, 1.0, 2.0, 6.0, 24.0]
    for order in range(1, 5):
        np.testing.assert_allclose(ad.derivative(w, order)(lam), factorials[order] * expected[order], rtol=1e-9)
    np.testing.assert_allclose(ad.grad(ad.grad(w))(lam), 2 * expected[2], rtol=1e-9)


def test_newton_stands_in_where_no_solver_is_given():
    w = implicit.root(quintic, x0=1.0)
    for transformed in (w, ad.jit(w)):
        np.testing.assert_allclose(transformed(3.0), 1.0, rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(w)(np.array([3.0, 42.0])), [1.0, 2.0], rtol=1e-13)


def test_what_the_equation_closes_over_is_theta_too():
    def solution(a, b):
        return implicit.root(lambda x, b: x**3 + a * x - b, x0=1.0)(b)

    with mpmath.workdps(40):
        root = lambda a, b: mpmath.findroot(lambda x: x**3 + a * x - b, 1)
        da, db = mpmath.diff(root, (0.7, 2.0), (1, 0)), mpmath.diff(root, (0.7, 2.0), (0, 1))
        mixed = mpmath.diff(root, (0.7, 2.0), (1, 1))
    np.testing.assert_allclose(ad.grad(solution, argnums=(0, 1))(0.7, 2.0), [float(da), float(db)], rtol=1e-10)
    np.testing.assert_allclose(ad.grad(ad.grad(solution), argnums=1)(0.7, 2.0), float(mixed), rtol=1e-9)
    np.testing.assert_allclose(ad.jit(ad.grad(solution))(0.7, 2.0), float(da), rtol=1e-10)
    np.testing.assert_allclose(ad.vmap(ad.grad(solution))(np.array([0.7, 0.7]), np.array([2.0, 2.0])), float(da))


def test_trees_of_unknowns_and_of_parameters():
    def F(x, theta, *, scale):
        return {"u": x["u"] ** 3 + x["v"][0] * np.ones(2) - theta["p"], "v": [scale * x["v"][0] + np.sum(x["u"])]}

    x = implicit.root(F, x0={"u": np.ones(2), "v": [0.5]})
    theta = {"p": np.array([2.0, 3.0]), "n": 4, "name": "unused"}
    total = lambda p, scale: (
        np.sum(x({**theta, "p": p}, scale=scale)["u"]) + 2 * x({**theta, "p": p}, scale=scale)["v"][0]
    )

    def again(p, scale):
        free = lambda z: [*(np.array(z[:2]) ** 3 + z[2] - p), scale * z[2] + z[0] + z[1]]
        z = fsolve(free, [1.0, 1.0, 0.5], xtol=1e-15)
        return z[0] + z[1] + 2 * z[2]

    step = 1e-5
    slopes = ad.grad(total, argnums=(0, 1))(theta["p"], 5.0)
    for i, e in enumerate(np.eye(2)):
        expected = (again(theta["p"] + step * e, 5.0) - again(theta["p"] - step * e, 5.0)) / (2 * step)
        np.testing.assert_allclose(slopes[0][i], expected, rtol=1e-7)
    expected = (again(theta["p"], 5.0 + step) - again(theta["p"], 5.0 - step)) / (2 * step)
    np.testing.assert_allclose(slopes[1], expected, rtol=1e-7)


def test_complex_unknowns_with_and_without_conjugates():
    square = implicit.root(lambda z, a: z * z - a, lambda a: np.sqrt(a))
    tangent = ad.jvp(square, (1.0 + 2.0j,), (0.3 - 0.1j,))[1]
    np.testing.assert_allclose(tangent, (0.3 - 0.1j) / (2 * np.sqrt(1.0 + 2.0j)), rtol=1e-12)
    # z + conj(z)²/4 = a is no holomorphic equation: its derivative is linear over the real numbers alone
    mixed = implicit.root(lambda z, a: z + np.conj(z) ** 2 / 4 - a, x0=0.5 + 0.1j)
    a, step = 0.6 + 0.2j, 1e-6
    size = lambda a: np.abs(mixed(a)) ** 2
    slope = ad.grad(size)(a)
    along = lambda d: (size(a + step * d) - size(a - step * d)) / (2 * step)
    np.testing.assert_allclose(slope, along(1.0) + 1j * along(1.0j), rtol=1e-7)
    np.testing.assert_allclose(
        ad.jvp(mixed, (a,), (1.0j,))[1], (mixed(a + step * 1j) - mixed(a - step * 1j)) / (2 * step), rtol=1e-7
    )


def test_single_precision_stays_single():
    x = implicit.root(lambda x, a: x**3 - a, lambda a: np.cbrt(a))
    a = np.array([1.0, 8.0], np.float32)
    value, slope = x(a), ad.grad(lambda a: np.sum(x(a)))(a)
    assert value.dtype == slope.dtype == np.float32
    np.testing.assert_allclose(slope, [1 / 3, 1 / 12], rtol=1e-6)


def test_auxiliary_results_have_no_derivative():
    def solver(a):
        x, found = brentq(lambda x: x**3 - a, 0.0, 5.0, full_output=True, xtol=1e-14)
        return x, {"iterations": found.iterations, "note": 0.5}

    x = implicit.root(lambda x, a: x**3 - a, solver, has_aux=True)
    value, aux = x(8.0)
    assert aux["iterations"] > 3
    slope, same = ad.grad(lambda a: x(a), has_aux=True)(8.0)
    np.testing.assert_allclose([value, slope], [2.0, 1 / 12], rtol=1e-12)
    assert same["iterations"] == aux["iterations"]
    assert ad.grad(lambda a: x(a)[1]["note"] * a)(8.0) == 0.5


def test_branches_of_python_are_followed_at_the_solution():
    def F(x, a):
        return x**3 - a if x > 0 else x - a

    x = implicit.root(F, lambda a: float(np.cbrt(a)) if a > 0 else a)
    np.testing.assert_allclose([ad.grad(x)(8.0), ad.grad(x)(-3.0)], [1 / 12, 1.0], rtol=1e-12)


def test_fixed_points_by_any_solver():
    T = lambda x, a: np.cos(a * x)
    by_mpmath = by_differences(lambda a: mpmath.findroot(lambda x: mpmath.cos(a * x) - x, 0.7), 1.0, 2)
    bracketed = lambda a: brentq(lambda x: np.cos(a * x) - x, 0.0, 1.0, xtol=1e-15)
    for x in (implicit.fixed_point(T, x0=0.5), implicit.fixed_point(T, bracketed)):
        np.testing.assert_allclose([x(1.0), ad.grad(x)(1.0)], by_mpmath[:2], rtol=1e-10)
        np.testing.assert_allclose(ad.jacfwd(ad.jacrev(x))(1.0), 2 * by_mpmath[2], rtol=1e-9)


def test_many_unknowns_are_solved_without_a_matrix():
    n = 20_000
    rng = np.random.default_rng(0)
    a = rng.uniform(1.0, 2.0, n)

    def F(x, a):
        return a * x + 0.1 * np.tanh(np.roll(x, 1)) + 0.1 * np.roll(x, -1) - 1.0

    def solver(a):
        x = 1 / a
        for _ in range(100):
            x = (1.0 - 0.1 * np.tanh(np.roll(x, 1)) - 0.1 * np.roll(x, -1)) / a
        return x

    x = implicit.root(F, solver)
    slope, step, d = ad.grad(lambda a: np.sum(x(a) ** 2))(a), 1e-6, rng.normal(size=n)
    expected = (np.sum(solver(a + step * d) ** 2) - np.sum(solver(a - step * d) ** 2)) / (2 * step)
    np.testing.assert_allclose(slope @ d, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: implicit.root(quintic), "give a solver"),
        (lambda: implicit.root(quintic, 3.0), "solver is a float"),
        (lambda: implicit.root(quintic, x0=np.array([1, 2])), "x.astype"),
        (lambda: implicit.root(quintic, x0={}), "x0 has no numbers"),
        (lambda: implicit.root(quintic, x0=1.0, check="maybe"), "check='maybe'"),
        (lambda: implicit.root(quintic, x0=1.0, linear="magic"), "is no method"),
        (lambda: implicit.root(quintic, x0=1.0, facts=("funny",)), "funny"),
        (lambda: implicit.root(quintic, x0=1.0, differentiate="sometimes"), "'equation'"),
        (lambda: implicit.root(lambda x, a: np.stack([x, x]) - a, lambda a: 1.0), "least_squares"),
        (lambda: implicit.root(lambda x, a: x[0] - a, lambda a: np.ones(2)), "2"),
        (lambda: implicit.root(quintic, lambda x0, a: (x0, 3), x0=1.0), "x0 is"),
        (lambda: implicit.root(quintic, lambda a: 1.0, has_aux=True), "pair"),
        (lambda: implicit.root(lambda x, a: x > a, lambda a: 1.0), "floating-point"),
        (lambda: implicit.root(lambda x, a: {"u": x["u"] - a}, lambda a: {"v": a}), "'v'.* KeyError: 'u'"),
        (lambda: implicit.root(lambda x, a: x.u - a, lambda a: a), "solver returned .*no attribute 'u'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_remedy(call, words):
    with pytest.raises(Exception, match=words):
        ad.grad(call())(3.0)


def test_random_generators_are_refused():
    rng = ad.random.default_rng(0)
    x = implicit.root(lambda x, a: x - a * rng.normal(), lambda a: a)
    with pytest.raises(ad.TraceError, match="random"):
        ad.grad(x)(1.0)
    with pytest.raises(ad.RuleError, match="random generator"):
        implicit.root(lambda x, a, rng: x - a, lambda a, rng: a)(1.0, rng)


def test_a_plain_solver_that_reads_a_traced_value_of_its_surroundings():
    def outer(a):
        return implicit.root(lambda x: x**3 - a, lambda: brentq(lambda x: x**3 - a, 0.0, 5.0))()

    # the name of SciPy is served where the code is read, so that the solver takes the value too
    np.testing.assert_allclose(
        [ad.grad(outer)(8.0), ad.grad(ad.grad(outer))(8.0)], [1 / 12, -2 / 9 * 8.0 ** (-5 / 3)], rtol=1e-9
    )


def test_nothing_of_it_is_loaded_before_it_is_used():
    code = "import sys, adjoint; print([name for name in sys.modules if name.startswith('adjoint.implicit')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
