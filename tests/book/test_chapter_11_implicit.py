"""Chapter 11, implicit functions and their derivatives: circles, quintics, ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize

import adjoint as ad
from adjoint import implicit

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
Y = np.array([1.0, 0.0, 2.0])
LAM = 0.5


def ridge(w, lam):
    return 0.5 * np.sum((X @ w - Y) ** 2) + 0.5 * lam * np.sum(w**2)


def closed(lam):
    return np.linalg.solve(X.T @ X + lam * np.eye(2), X.T @ Y)


def by_scipy(lam):
    gradient = ad.grad(ridge)
    return minimize(ridge, np.zeros(2), args=(lam,), jac=gradient, method="BFGS", options={"gtol": 1e-12}).x


SOLVERS = {"closed form": closed, "scipy": by_scipy, "newton": None}


def ridge_solution(name, **options):
    solver = SOLVERS[name]
    return implicit.argmin(ridge, solver, **({"x0": np.zeros(2)} if solver is None else {}), **options)


@pytest.mark.row("11.1.1-a", "11.3.2-a", "11.3.2-b")
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy: the precision asked for cannot be reached
def test_the_derivative_does_not_depend_on_who_found_the_minimum(name):
    w = ridge_solution(name)
    expected = (closed(LAM + 1e-5) - closed(LAM - 1e-5)) / 2e-5
    assert_allclose(ad.jacobian(w)(LAM), expected, rtol=1e-7, atol=1e-9)
    assert_allclose(ad.jacobian(w)(LAM), [0.0536992074, -0.0451176115], atol=2e-9)


@pytest.mark.row("11.1.2-a")
def test_a_root_over_trees():
    def F(w, lam):
        return {"a": w["a"] ** 5 + w["a"] ** 3 + w["a"] - lam["p"], "b": (w["b"][0] - w["a"] * lam["q"],)}

    w = implicit.root(F, x0={"a": 0.5, "b": (0.0,)})
    found = w({"p": 3.0, "q": 2.0})
    assert_allclose([found["a"], found["b"][0]], [1.0, 2.0], rtol=1e-12)
    slopes = ad.grad(lambda lam: w(lam)["b"][0])({"p": 3.0, "q": 2.0})
    assert_allclose([slopes["p"], slopes["q"]], [2 / 9, 1.0], rtol=1e-12)


@pytest.mark.row("11.1.3-a")
def test_bilevel_objectives_and_their_best_penalty():
    w = ridge_solution("closed form")
    h = lambda lam: 0.5 * np.sum((w(lam) - np.array([0.2, 0.1])) ** 2)
    assert_allclose([h(LAM), ad.grad(h)(LAM)], [0.0110690382, -0.0104027514], atol=6e-11)
    best = brentq(ad.grad(h), 1.0, 50.0, xtol=1e-12)
    assert_allclose([best, h(best)], [9.3860847, 0.0052287019], rtol=1e-7)
    # the explicit part of the gradient counts as well: g(w, λ) = ½ ‖w - c‖² + λ²
    both = lambda lam: h(lam) + lam**2
    assert_allclose(ad.grad(both)(LAM), -0.0104027514 + 2 * LAM, atol=6e-11)


@pytest.mark.row("11.1.3-b")
def test_sensitivity_as_a_linear_map():
    S = implicit.sensitivity(ridge_solution("closed form"))(LAM)
    assert isinstance(S, ad.linear.LinearMap)
    assert_allclose(S @ 1.0, [0.0536992074, -0.0451176115], atol=6e-11)
    assert_allclose(S.adjoint @ np.array([1.0, -2.0]), 0.0536992074 + 2 * 0.0451176115, atol=2e-10)


@pytest.mark.row("11.1.3-c")
def test_warm_starts_and_what_a_loose_solve_costs():
    steps = []

    def descent(w0, lam):
        w, count = w0, 0
        while np.linalg.norm(ad.grad(ridge)(w, lam)) > 1e-12 and count < 100_000:
            w, count = w - 0.02 * ad.grad(ridge)(w, lam), count + 1
        steps.append(count)
        return w

    w = implicit.argmin(ridge, descent, x0=np.zeros(2))
    first = w(LAM)
    w.starting_at(first)(LAM + 1e-6)
    assert steps[1] < steps[0] / 2
    loose = implicit.argmin(ridge, lambda lam: closed(lam) * 1.01)
    with pytest.warns(implicit.DerivativeWarning, match="x is no solution"):
        rough = ad.jacobian(loose)(LAM)
    exact = ad.jacobian(ridge_solution("closed form"))(LAM)
    error = np.linalg.norm(rough - exact) / np.linalg.norm(exact)
    assert 1e-3 < error < 0.1
    report = implicit.report(loose)(LAM)
    assert error / 10 < report.predicted_error < 10 * error
    assert not report.is_solution
    assert "tighter" in report.advice


@pytest.mark.row("11.3.1-a", "11.3.1-b")
def test_both_halves_of_the_circle():
    circle = lambda x, y: x**2 + y**2 - 1
    right = implicit.root(circle, lambda y: brentq(circle, 0.0, 2.0, args=(y,), xtol=1e-15))
    left = implicit.root(circle, lambda y: brentq(circle, -2.0, 0.0, args=(y,), xtol=1e-15))
    assert_allclose([right(0.6), ad.grad(right)(0.6), ad.grad(left)(0.6)], [0.8, -0.75, 0.75], rtol=1e-13)
    started = implicit.root(circle, x0=-0.5)
    assert_allclose([started(0.6), ad.grad(started)(0.6)], [-0.8, 0.75], rtol=1e-13)


quintic = lambda w, lam: w**5 + w**3 + w - lam


def bisection(lam):
    low, high = 0.0, 2.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if quintic(middle, lam) < 0 else (low, middle)
    return (low + high) / 2


def newton(lam):
    w = 1.5
    for _ in range(50):
        w = w - quintic(w, lam) / ad.grad(quintic)(w, lam)
    return w


@pytest.mark.row("11.3.1-c", "11.3.3-f")
@pytest.mark.parametrize("solver", [bisection, newton, None])
def test_three_derivatives_of_the_quintic(solver):
    w = implicit.root(quintic, solver, x0=1.0) if solver is None else implicit.root(quintic, solver)
    expected = [1.0, 1 / 9, -26 / 729, 478 / 19683]
    found = [w(3.0), *[ad.derivative(w, k)(3.0) for k in (1, 2, 3)]]
    assert_allclose(found, expected, rtol=1e-12)
    nested = [ad.grad(w)(3.0), ad.grad(ad.grad(w))(3.0), ad.grad(ad.grad(ad.grad(w)))(3.0)]
    assert_allclose(nested, expected[1:], rtol=1e-11)
    assert_allclose(ad.jacfwd(ad.jacrev(w))(3.0), expected[2], rtol=1e-12)


@pytest.mark.row("11.3.1-d")
def test_an_equation_whose_derivative_vanishes_is_named():
    w = implicit.root(lambda w, lam: (w - lam) ** 2, lambda lam: lam)
    with pytest.warns(implicit.DerivativeWarning, match="singular at the solution: nothing determines x"):
        assert np.isnan(ad.grad(w)(2.0))
    with pytest.warns(implicit.DerivativeWarning, match="singular"):
        assert np.isnan(ad.jit(ad.grad(w))(2.0))
    with pytest.raises(ad.SolveError, match="least squares"):
        ad.grad(implicit.root(lambda w, lam: (w - lam) ** 2, lambda lam: lam, check="raise"))(2.0)
    calm = implicit.root(lambda w, lam: (w - lam) ** 2, lambda lam: lam, linear="least squares", check="ignore")
    assert ad.grad(calm)(2.0) == 0.0


@pytest.mark.row("11.3.3-a")
def test_pushes_and_pulls_are_adjoint():
    w = ridge_solution("closed form")
    pushed = ad.jvp(w, (LAM,), (0.7,))[1]
    (pulled,) = ad.vjp(w, LAM)[1](np.array([1.0, -2.0]))
    assert_allclose([np.dot([1.0, -2.0], pushed), pulled * 0.7], [0.1007541013] * 2, atol=6e-11)


@pytest.mark.row("11.3.3-b")
def test_a_gradient_in_65_penalties_takes_one_solve():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(150, 65)), rng.normal(size=150)
    solves = []

    def conjugate_gradients(H, b):
        solves.append(b)
        return ad.linear.cg(H, b, tol=1e-13)

    f = lambda w, lam: 0.5 * np.mean((A @ w - y) ** 2) + 0.5 * np.sum(np.exp(lam) * w**2)
    exact = lambda lam: np.linalg.solve(A.T @ A / 150 + np.diag(np.exp(lam)), A.T @ y / 150)
    w = implicit.argmin(f, exact, linear=conjugate_gradients)
    target = rng.normal(size=65)
    gradient = ad.grad(lambda lam: np.sum((w(lam) - target) ** 2))(np.zeros(65))
    assert len(solves) == 1
    d, h = rng.normal(size=65), 1e-5
    objective = lambda lam: np.sum((exact(lam) - target) ** 2)
    assert_allclose(gradient @ d, (objective(h * d) - objective(-h * d)) / (2 * h), rtol=1e-8)


@pytest.mark.row("11.3.3-c")
@pytest.mark.parametrize("method", ["cg", "minres", "gmres", "bicgstab", "direct"])
def test_solvers_by_declared_structure_with_the_sign_of_a_minimum(method):
    expected = [0.0536992074, -0.0451176115]
    w = ridge_solution("closed form", linear=method, facts=("positive definite",))
    assert_allclose(ad.jacobian(w)(LAM), expected, atol=6e-11)
    # ∇(-f) has a negative definite derivative: conjugate gradients run on its negative
    F = lambda w, lam: ad.grad(lambda w: -ridge(w, lam))(w)
    linear = lambda A, b: ad.linear.solve(A, b, "negative definite", method=method)
    v = implicit.root(F, closed, linear=linear if method != "direct" else "direct")
    assert_allclose(ad.jacobian(v)(LAM), expected, atol=6e-11)


@pytest.mark.row("11.3.3-c")
def test_facts_choose_the_method_for_many_unknowns():
    n = 500
    A = np.eye(n) * 3 + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    f = lambda w, lam: 0.5 * w @ (A @ w) - lam * np.sum(w) + 0.0 * lam
    solver = lambda lam: np.linalg.solve(A, lam * np.ones(n))
    expected = np.sum(np.linalg.solve(A, np.ones(n)))
    for facts in (("positive definite",), ("symmetric",), ()):
        w = implicit.argmin(f, solver, facts=facts)
        assert_allclose(ad.grad(lambda lam, w=w: np.sum(w(lam)))(1.3), expected, rtol=1e-9)


@pytest.mark.row("11.3.3-d")
def test_the_neumann_series_converges_at_the_contraction_rate():
    T = lambda x, a: 0.4 * np.sin(x) + 0.3 * a
    exact = ad.grad(implicit.fixed_point(T, x0=0.0))(1.0)
    errors = [
        abs(ad.grad(implicit.fixed_point(T, x0=0.0, differentiate=implicit.Neumann(k)))(1.0) - exact) for k in range(6)
    ]
    x = implicit.fixed_point(T, x0=0.0)(1.0)
    assert_allclose(np.divide(errors[1:], errors[:-1]), 0.4 * np.cos(x), rtol=1e-9)
    one = implicit.fixed_point(T, x0=0.0, differentiate=implicit.OneStep())
    assert_allclose(ad.grad(one)(1.0), 0.3, rtol=1e-14)
    step = 0.01  # of gradient descent: the series of the Hessian
    w = ridge_solution("closed form", differentiate=implicit.Neumann(4000, step))
    assert_allclose(ad.jacobian(w)(LAM), [0.0536992074, -0.0451176115], atol=1e-9)


@pytest.mark.row("11.3.3-d")
def test_preconditioners_and_starts_are_the_users():
    seen = []

    def linear(H, b):
        M = ad.linear.jacobi(H)
        solution = ad.linear.cg(H, b, x0=np.full(2, 0.05), preconditioner=M, tol=1e-13)
        seen.append(int(solution.iterations))
        return solution

    w = ridge_solution("closed form", linear=linear)
    assert_allclose(ad.jacfwd(w)(LAM), [0.0536992074, -0.0451176115], atol=6e-11)
    assert len(seen) == 1


@pytest.mark.row("11.3.3-e")
def test_unrolled_steps_beside_the_implicit_derivative_at_the_same_iterate():
    step = 1.0 / np.linalg.eigvalsh(X.T @ X + LAM * np.eye(2))[-1]
    T = lambda w, lam: w - step * ad.grad(ridge)(w, lam)
    exact = ad.jacobian(ridge_solution("closed form"))(LAM)
    found = {}
    for k in (100, 1000):
        unrolled = implicit.fixed_point(T, x0=np.zeros(2), differentiate=implicit.Unrolled(k))
        iterate = ad.fori_loop(0, k, lambda _, w: T(w, LAM), np.zeros(2))
        at_iterate = implicit.fixed_point(T, lambda lam, w=iterate: w, check="ignore")
        found[k] = [np.linalg.norm(ad.jacfwd(x)(LAM) - exact) for x in (unrolled, at_iterate)]
    assert_allclose(found[100], [0.0558, 0.0302], atol=5e-5)
    assert_allclose(found[1000], [1.468e-4, 1.553e-5], rtol=4e-4)
    kept = implicit.fixed_point(T, x0=np.zeros(2), differentiate=implicit.Unrolled(100, checkpoint=8))
    unrolled = implicit.fixed_point(T, x0=np.zeros(2), differentiate=implicit.Unrolled(100))
    assert_allclose(ad.jacrev(kept)(LAM), ad.jacfwd(unrolled)(LAM), rtol=1e-12)
    long = ad.jit(ad.jacfwd(implicit.fixed_point(T, x0=np.zeros(2), differentiate=implicit.Unrolled(10_000))))
    assert_allclose(long(LAM), exact, atol=1e-14)
