"""The report: predicted errors beside true ones, conditions, advice; the sensitivity as a map."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import implicit

RNG = np.random.default_rng(0)
M = RNG.normal(size=(4, 4)) + 3 * np.eye(4)


def solver(a):
    x = np.zeros(4)
    for _ in range(60):
        x = x - np.linalg.solve(M + np.diag(3 * x**2), M @ x + x**3 - a)
    return x


F = lambda x, a: M @ x + x**3 - a


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6, 1e-9])
def test_the_predicted_error_is_close_to_the_true_one(tolerance):
    a = np.array([1.0, -2.0, 0.5, 3.0])
    noise = tolerance * RNG.normal(size=4)
    loose = implicit.root(F, lambda a: solver(a) + noise, check="ignore")
    exact = ad.jacobian(implicit.root(F, solver))(a)
    true = np.linalg.norm(ad.jacobian(loose)(a) - exact) / np.linalg.norm(exact)
    found = implicit.report(loose)(a)
    assert true / 10 < found.predicted_error < 10 * true
    assert found.is_solution == (tolerance < 1e-8)


@pytest.mark.parametrize("power", [2, 6, 10])
def test_the_condition_counts(power):
    """A nearly singular equation: the error of x is multiplied."""
    eps = 10.0**-power
    f = lambda x, a: np.stack([x[0] + x[1] - a, x[0] + (1 + eps) * x[1] + eps * x[1] ** 2 - a])
    loose = implicit.root(f, lambda a: np.array([a, 0.0]) + 1e-13, check="ignore")
    found = implicit.report(loose)(1.0)
    assert 0.1 < found.condition * eps < 10
    assert found.predicted_error >= 2e-16 * found.condition


def test_what_nothing_determines_is_named_by_path():
    def stationary(p, a):
        return {"w": p["w"] - a, "b": 0.0 * p["b"] + np.sum(p["w"]) - 2 * a}

    x = implicit.root(stationary, lambda a: {"w": np.full(2, a), "b": 1.0})
    found = implicit.report(x)(1.0)
    assert found.is_singular
    assert found.undetermined == "x['b']"
    assert "Nothing determines x['b']" in found.advice
    with pytest.warns(implicit.DerivativeWarning, match=r"nothing determines x\['b'\]"):
        ad.grad(lambda a: np.sum(x(a)["w"]))(1.0)
    calm = implicit.root(stationary, lambda a: {"w": np.full(2, a), "b": 1.0}, linear="least squares", check="ignore")
    assert_allclose(ad.grad(lambda a: np.sum(calm(a)["w"]))(1.0), 2.0, rtol=1e-12)


def test_text_page_and_pickle():
    found = implicit.report(implicit.root(F, solver))(np.ones(4))
    assert found.advice == ""
    assert "condition of ∂ₓF" in str(found)
    assert "<table>" in found._repr_html_()
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_active_sets_with_margins_stand_in_the_report():
    rules = implicit.Constraints(bounds=(0.0, None))
    x = implicit.argmin(lambda x, a: np.sum((x - a) ** 2), lambda a: np.maximum(a, 0.0), subject_to=rules)
    text = str(implicit.report(x)(np.array([1.0, -1.0, 0.0])))
    for words in ("['lower'][0]", "inactive", "active (slack 0", "weak (slack 0, pressure 0)", "forward mode"):
        assert words in text
    outside = implicit.argmin(lambda x, a: np.sum((x - a) ** 2), lambda a: a, subject_to=rules)
    assert "violated" in implicit.report(outside)(np.array([1.0, -1.0])).advice


def test_many_unknowns_are_reported_without_a_matrix():
    n = 2000
    x = implicit.root(lambda x, a: 2 * x + 0.1 * np.roll(x, 1) - a, lambda a: np.full(n, 1.0) * a / 2.1)
    found = implicit.report(x)(1.0)
    assert np.isnan(found.condition)
    assert found.solves[0][1] == "gmres"
    assert found.solves[0][2] > 0
    assert found.predicted_error < 1e-9


def test_an_optimal_value_has_the_report_of_its_optimizer():
    h = implicit.value(lambda x, a: (x - a) ** 2, lambda a: a)
    assert implicit.report(h)(1.0).is_solution
    with pytest.raises(TypeError, match="root, fixed_point"):
        implicit.report(np.sin)


def test_sensitivity_of_several_arguments_with_one_factorization():
    calls = []

    def linear(A, b):
        calls.append(b)
        return ad.linear.solve(ad.linear.matrix(A.to_dense()), b)

    x = implicit.root(lambda x, a, b: M @ x + b * x**3 - a, lambda a, b: solver(a), linear=linear, check="ignore")
    a = np.array([1.0, -2.0, 0.5, 3.0])
    S = implicit.sensitivity(x)(a, 1.0)
    pushed = S @ (np.ones(4), 0.0)
    u = np.arange(1.0, 5.0)
    pulled, _ = S.adjoint @ u
    assert_allclose(pushed @ u, np.ones(4) @ pulled, rtol=1e-12)
    step = 1e-6
    assert_allclose(pushed, (solver(a + step) - solver(a - step)) / (2 * step), rtol=1e-8)
    assert len(calls) == 2


def coarse(A, b):
    """A solve that ends early."""
    return ad.linear.solve(A, b, "positive definite", method="cg", tol=1e-2)


ROUGH = {
    "coarse": {"linear": coarse, "facts": ("positive definite",)},
    "one step": {"differentiate": implicit.OneStep()},
    "series": {"differentiate": implicit.Neumann(4, 0.2)},
}


@pytest.mark.parametrize("name", ROUGH)
def test_the_predicted_error_is_that_of_the_solve_that_derivatives_use(name):
    sizes = np.linspace(1.0, 4.0, 30)
    F = lambda x, a: sizes * x + 0.1 * x**3 - np.append(x[1:], 0.0) / 2 - np.append(0.0, x[:-1]) / 2 - a
    exact = implicit.root(F, x0=np.zeros(30))
    rough = implicit.root(F, x0=np.zeros(30), **ROUGH[name])
    found, expected = ad.jacobian(rough)(1.0), ad.jacobian(exact)(1.0)
    true = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert true > 1e-4
    report = implicit.report(rough)(1.0)
    assert 0.1 < report.predicted_error / true < 10
    assert {"coarse": "cg, "}.get(name, "series, ") in str(report)
    assert "few digits" in report.advice
