"""`least_squares` and `curve_fit`: NIST's certified fits, derivatives of fits, bad input."""

import json

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from tests.support.source_files import TESTS
from tests.support.sweeps import sampled

SETS = json.loads((TESTS / "data" / "nist_strd.json").read_text(encoding="utf-8"))["sets"]
exp, pi = np.exp, np.pi
MODELS = {
    "Bennett5": lambda x, b: b[0] * (b[1] + x) ** (-1 / b[2]),
    "BoxBOD": lambda x, b: b[0] * (1 - exp(-b[1] * x)),
    "Chwirut": lambda x, b: exp(-b[0] * x) / (b[1] + b[2] * x),
    "DanWood": lambda x, b: b[0] * x ** b[1],
    "ENSO": lambda x, b: (
        b[0] + b[1] * np.cos(2 * pi * x / 12) + b[2] * np.sin(2 * pi * x / 12) + b[4] * np.cos(2 * pi * x / b[3])
        + b[5] * np.sin(2 * pi * x / b[3]) + b[7] * np.cos(2 * pi * x / b[6]) + b[8] * np.sin(2 * pi * x / b[6])
    ),
    "Eckerle4": lambda x, b: (b[0] / b[1]) * exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "Gauss": lambda x, b: (
        b[0] * exp(-b[1] * x) + b[2] * exp(-((x - b[3]) ** 2) / b[4] ** 2) + b[5] * exp(-((x - b[6]) ** 2) / b[7] ** 2)
    ),
    "Hahn1": lambda x, b: (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3),
    "Thurber": lambda x, b: (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3),
    "Kirby2": lambda x, b: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2),
    "Lanczos": lambda x, b: b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x),
    "MGH09": lambda x, b: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "MGH10": lambda x, b: b[0] * exp(b[1] / (x + b[2])),
    "MGH17": lambda x, b: b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4]),
    "Misra1a": lambda x, b: b[0] * (1 - exp(-b[1] * x)),
    "Misra1b": lambda x, b: b[0] * (1 - (1 + b[1] * x / 2) ** -2),
    "Misra1c": lambda x, b: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5),
    "Misra1d": lambda x, b: b[0] * b[1] * x / (1 + b[1] * x),
    "Nelson": lambda x, b: b[0] - b[1] * x[:, 0] * exp(-b[2] * x[:, 1]),
    "Rat42": lambda x, b: b[0] / (1 + exp(b[1] - b[2] * x)),
    "Rat43": lambda x, b: b[0] / ((1 + exp(b[1] - b[2] * x)) ** (1 / b[3])),
    "Roszman1": lambda x, b: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / pi,
}  # fmt: skip


@pytest.mark.row("17.2.1c")
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", sampled(sorted(SETS, key=lambda name: len(SETS[name]["data"])), 7))
def test_nists_certified_fits(name, start):
    case = SETS[name]
    model = MODELS.get(name) or MODELS[name.rstrip("123")]
    data = np.array(case["data"])
    y, x = (np.log(data[:, 0]), data[:, 1:]) if name == "Nelson" else (data[:, 0], data[:, 1])
    fit = optimize.curve_fit(model, x, y, np.array(case["starts"][start]))
    np.testing.assert_allclose(fit.value, case["certified"], rtol=1e-6)
    # of Lanczos1 the residuals are 1e-13: rounding of the data
    np.testing.assert_allclose(fit.standard_errors, case["errors"], rtol=1e-3 if name == "Lanczos1" else 1e-4)
    np.testing.assert_allclose(2 * fit.fun, case["rss"], rtol=2e-3 if name == "Lanczos1" else 1e-6)


t = np.linspace(0, 4, 25)
rng = np.random.default_rng(5)
y = 2.5 * exp(-1.3 * t) + 0.5 + 0.02 * rng.normal(size=25)
decay = lambda t, p: p["a"] * exp(-p["k"] * t) + p["c"]
guess = {"a": 1.0, "k": 1.0, "c": 0.0}


def test_scipys_parameters_and_covariance():
    fit = optimize.curve_fit(decay, t, y, guess)
    order = sorted(fit.value)
    flat = lambda t, *p: decay(t, dict(zip(order, p, strict=True)))
    known, covariance = theirs.curve_fit(flat, t, y, [guess[n] for n in order], xtol=1e-14, ftol=1e-14)
    np.testing.assert_allclose(ad.tree.leaves(fit.value), known, rtol=1e-6)
    np.testing.assert_allclose(fit.covariance(), covariance, rtol=1e-5)
    np.testing.assert_allclose(ad.tree.leaves(fit.standard_errors), np.sqrt(np.diag(covariance)), rtol=1e-5)


def test_sigma_weighs_and_absolute_sigma_is_believed():
    sigma = np.linspace(0.01, 0.1, 25)
    for absolute in (False, True):
        fit = optimize.curve_fit(decay, t, y, guess, sigma=sigma, absolute_sigma=absolute)
        order = sorted(fit.value)
        flat = lambda t, *p, o=order: decay(t, dict(zip(o, p, strict=True)))
        known, covariance = theirs.curve_fit(flat, t, y, [guess[n] for n in order], sigma=sigma,
                                             absolute_sigma=absolute, xtol=1e-14, ftol=1e-14)  # fmt: skip
        np.testing.assert_allclose(ad.tree.leaves(fit.value), known, rtol=1e-6)
        np.testing.assert_allclose(fit.covariance(), covariance, rtol=1e-5)


def test_the_influence_of_data_is_the_derivative_of_the_fit_in_them():
    fit = optimize.curve_fit(decay, t, y, guess)
    influence = fit.influence()
    h = 1e-5
    for i in (0, 3, 20):
        moved = [optimize.curve_fit(decay, t, y + s * h * np.eye(25)[i], guess).value for s in (1, -1)]
        for name in guess:
            np.testing.assert_allclose(influence[name][i], (moved[0][name] - moved[1][name]) / (2 * h), rtol=1e-4)
    by_pull = ad.grad(lambda y: optimize.curve_fit(decay, t, y, guess).value["k"])(y)
    np.testing.assert_allclose(influence["k"], by_pull, rtol=1e-6)
    weighted = optimize.curve_fit(decay, t, y, guess, sigma=np.linspace(1.0, 2.0, 25))
    by_pull = ad.grad(lambda y: optimize.curve_fit(decay, t, y, guess, sigma=np.linspace(1.0, 2.0, 25)).value["k"])(y)
    np.testing.assert_allclose(weighted.influence()["k"], by_pull, rtol=1e-6)


def test_propagated_errors_are_those_of_many_repeated_experiments():
    fit = optimize.curve_fit(decay, t, y, guess)
    half = fit.propagate(lambda p: np.log(2) / p["k"])
    truth = {"a": 2.5, "k": 1.3, "c": 0.5}
    clean, noise = decay(t, truth), np.random.default_rng(6).normal(size=(400, 25)) * 0.02
    again = ad.jit(ad.vmap(lambda y: optimize.curve_fit(decay, t, y, truth).value["k"]))(clean + noise)
    np.testing.assert_allclose(half.value, np.log(2) / fit.value["k"])
    np.testing.assert_allclose(half.error, np.std(np.log(2) / again), rtol=0.25)


def test_parameters_that_the_data_do_not_determine_are_named():
    fit = optimize.curve_fit(lambda t, p: (p["a"] + p["b"]) * t, t, y, {"a": 1.0, "b": 1.0, "c": 2.0})
    with pytest.raises(ad.SolveError, match=r"x\['c'\]"):
        fit.covariance()
    fit = optimize.curve_fit(lambda t, p: (p["a"] + p["b"]) * t + p["c"], t, y, {"a": 1.0, "b": 1.0, "c": 2.0})
    with pytest.raises(ad.SolveError, match=r"x\['a'\] and x\['b'\] separately") as caught:
        _ = fit.standard_errors
    assert "x['c']" not in str(caught.value)
    with pytest.raises(ad.SolveError, match="2 residuals for 2 unknowns"):
        optimize.least_squares(lambda x: x - np.ones(2), np.zeros(2)).covariance()


def test_parameters_at_a_bound_have_no_error():
    fit = optimize.curve_fit(decay, t, y, {"a": 1.0, "k": 1.0, "c": 0.2}, bounds={"c": (None, 0.3)})
    assert fit.value["c"] == 0.3
    assert fit.standard_errors["c"] == 0.0
    fixed = optimize.curve_fit(lambda t, p: decay(t, {**p, "c": 0.3}), t, y, {"a": 1.0, "k": 1.0})
    np.testing.assert_allclose(fit.standard_errors["k"], fixed.standard_errors["k"], rtol=1e-5)


@pytest.mark.row("17.2.1b", "A4.1.g")
def test_a_linear_problem_is_solved_in_one_step():
    A, b = rng.normal(size=(20, 4)), rng.normal(size=20)
    found = optimize.least_squares(lambda x: A @ x - b, np.zeros(4), method="gauss-newton")
    assert found.iterations == 1
    np.testing.assert_allclose(found.value, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-10)


@pytest.mark.row("17.2.3")
def test_gauss_newton_searches_where_whole_steps_diverge():
    f = lambda x: np.stack([np.arctan(x[0]), 0.1 * (x[0] - x[1])])
    found = optimize.least_squares(f, np.array([3.0, 0.0]), method="gauss-newton")
    np.testing.assert_allclose(found.value, 0.0, atol=1e-7)
    damped = optimize.least_squares(f, np.array([3.0, 0.0]), method=optimize.GaussNewton(damping=0.1))
    np.testing.assert_allclose(damped.value, 0.0, atol=1e-5)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: optimize.least_squares(lambda x: x, np.ones(2), loss="hubr"), ValueError, "huber"),
        (lambda: optimize.least_squares(lambda x: x, np.ones(2), method="ml"), ValueError, "They are|Did you mean"),
        (lambda: optimize.least_squares(lambda x: x > 0, np.ones(2)), ad.DtypeError, "residuals"),
        (lambda: optimize.least_squares(lambda x: x[:0], np.ones(2)), ad.ShapeError, "no residuals"),
        (lambda: optimize.least_squares(lambda x: x, np.ones(2), scale="x"), ValueError, "jacobian"),
        (lambda: optimize.least_squares(lambda x: x, np.ones(2), method=optimize.BFGS()), TypeError, "Jacobians"),
        (lambda: optimize.curve_fit(lambda t, p: p, t, y, np.ones(3)), ad.ShapeError, "shape"),
        (lambda: optimize.curve_fit(decay, t, y, guess, sigma=0.0), ValueError, "positive"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_model_with_its_parameters_side_by_side_is_told_how_it_is_called() -> None:
    t = np.linspace(0.0, 1.0, 8)
    model = lambda t, a, b: a * np.exp(-b * t)
    with pytest.raises(TypeError, match=r"called as model\(x, p\), with all parameters in p; it is model\(t, a, b\)"):
        optimize.curve_fit(model, t, model(t, 2.0, 1.0), np.array([1.0, 0.5]))
    fit = optimize.curve_fit(lambda x, p: model(x, *p), t, model(t, 2.0, 1.0), np.array([1.0, 0.5]))
    np.testing.assert_allclose(fit.value, [2.0, 1.0], rtol=1e-6)


@pytest.mark.parametrize("data", [1.0, 1.3])
def test_a_perfect_fit_has_converged_though_parameters_are_not_determined(data):
    """Residuals as small as the rounding of x, along a line of parameters."""
    t = np.linspace(0.0, 1.0, 9)
    search = lambda p0: optimize.least_squares(lambda p: (p[0] + p[1]) * t - data * t, p0)
    found = search(np.array([1.0, 0.7]))
    assert found.status == "converged"
    assert found.value.sum() == pytest.approx(data, rel=1e-14)
    assert ad.jit(search)(np.array([1.0, 0.7])).status == "converged"
