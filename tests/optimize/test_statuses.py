"""Every status is provoked, and says what to do."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.statuses import ADVICE, CONVERGED, STATUSES

kink = lambda x: np.abs(x[0]) + np.abs(x[1] - 0.3) * 3.0


def wrong(x):
    return np.sum(x**2)


CASES = {
    "converged": lambda **o: optimize.minimize(lambda x: (x - 1) ** 2, 0.0, **o),
    "max iterations": lambda **o: optimize.minimize(lambda x: np.cosh(x), 3.0, max_iterations=2, **o),
    "max evaluations": lambda **o: optimize.minimize(lambda x: np.cosh(x), 3.0, max_evaluations=3, **o),
    "line search failed": lambda **o: optimize.minimize(wrong, np.ones(2), grad=lambda x: -2 * x, **o),
    "not finite": lambda **o: optimize.minimize(lambda x: np.log(x), -1.0, **o),
    "unbounded": lambda **o: optimize.minimize(lambda x: -x, 0.0, **o),
    "no further progress": lambda **o: optimize.minimize(
        lambda x: 1e12 + (x - 1) ** 2 + 1e-3 * np.sin(1e3 * x), 0.3, tol=1e-300, **o
    ),
    "stopped": lambda **o: optimize.minimize(lambda x: np.cosh(x), 3.0, stop=lambda now: now.iteration >= 1, **o),
}


@pytest.mark.parametrize("status", CASES)
def test_the_status_is_reached_and_advises(status):
    found = CASES[status]()
    assert found.status == status
    assert bool(found.converged) == (status == "converged")
    assert bool(found.advice) == (status != "converged")
    assert status in repr(found)
    assert status in found._repr_html_()
    if status != "converged":
        with pytest.raises(ad.SolveError, match=status):
            found.raise_if_failed()


def test_every_code_has_words_and_advice():
    assert len(STATUSES) == len(ADVICE) + 1
    assert CONVERGED not in ADVICE


def test_compiled_programs_carry_the_check():
    run = ad.jit(lambda x: optimize.minimize(lambda x: np.cosh(x), x, max_iterations=2).raise_if_failed().value)
    with pytest.raises(ad.CheckError, match="no solution was found"):
        run(3.0)


def test_nan_is_never_called_converged_and_the_start_is_returned():
    found = optimize.minimize(lambda x: np.sum(x) * np.nan, np.ones(2))
    assert found.status == "not finite"
    assert int(found.iterations) == 0
    np.testing.assert_array_equal(found.value, np.ones(2))


def test_trial_points_that_are_not_finite_or_raise_shorten_the_step():
    f = lambda x: 10 * x - np.log(x)  # NaN left of zero
    assert abs(optimize.minimize(f, 0.5).value - 0.1) < 1e-7

    def guarded(x):
        if float(ad.stop_gradient(x)) <= 0:
            raise ArithmeticError("outside")
        return 10 * x - np.log(x)

    with pytest.raises(ArithmeticError):
        optimize.minimize(guarded, 0.5)
    assert abs(optimize.minimize(guarded, 0.5, reject=ArithmeticError).value - 0.1) < 1e-7


def test_a_wrong_gradient_is_named_with_its_leaf():
    def gradient(p):
        return {"a": 2 * p["a"], "b": -2 * p["b"]}

    found = optimize.minimize(lambda p: p["a"] ** 2 + p["b"] ** 2, {"a": 0.1, "b": 1.0}, grad=gradient)
    assert found.status == "line search failed"
    assert "x['b']" in found.advice
    assert "grad=" in found.advice


def test_the_largest_gradient_is_named_by_path():
    f = lambda p: np.cosh(p["small"]) + np.sum(np.cosh(10 * p["layers"][1]["bias"]))
    found = optimize.minimize(f, {"small": 1.0, "layers": [0.0, {"bias": np.ones(2)}]}, max_iterations=1, frozen=())
    assert "layers" in found.advice
    assert "bias" in found.advice


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: optimize.minimize(lambda x: np.sum(x**2), np.array([1, 2])), ad.DtypeError, "x0.astype"),
        (lambda: optimize.minimize(lambda x: np.sum(x**2), np.zeros(0)), ad.TreeError, "no numbers"),
        (lambda: optimize.minimize(lambda x: x**2, np.ones(2)), ad.ShapeError, "np.sum"),
        (lambda: optimize.minimize(lambda x: x * 1j, 1.0), ad.DtypeError, "complex"),
        (lambda: optimize.minimize(lambda x: (x**2, 1.0), 1.0), ad.TreeError, "has_aux=True"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, has_aux=True), ad.TreeError, "pair"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, method="bfsg"), ValueError, "Did you mean bfgs"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, bounds=(2.0, 1.0)), ValueError, "lower one"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, bounds=(2.0, 3.0)), ValueError, "outside its bounds"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, bounds=(0.0, 3.0), method="bfgs"), ValueError, "no bounds"),
        (lambda: optimize.minimize(lambda p: p["a"] ** 2, {"a": 1.0}, bounds={"b": (0, 1)}), ad.TreeError, "'b'"),
        (lambda: optimize.minimize(lambda p: p["a"] ** 2, {"a": 1.0}, frozen="c"), ad.TreeError, "'c'"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, max_iterations=-1), ValueError, "negative"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, tol=-1.0), ValueError, "tol"),
        (lambda: optimize.minimize(lambda x: x**2, 1.0, scale=0.0), ValueError, "scale"),
        (lambda: optimize.minimize(3.0, 1.0), TypeError, "function"),
        (
            lambda: optimize.minimize(lambda x: x**2, 1.0, grad=lambda x: 2 * x, method="trust-exact"),
            ad.RuleError,
            "hessian",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_kink_is_told_from_a_wrong_gradient():
    """A gradient that is one of the slopes beside a kink is not wrong."""
    found = optimize.minimize(lambda x: np.sum(np.abs(x - 0.3)), np.ones(2), method="newton-cg")
    assert found.status == "line search failed"
    assert "kink: along x[0] it has the one-sided derivatives -1 and 1" in found.advice
    wrong = optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2), grad=lambda x: 2.0 - 2.0 * x)
    assert "does not fit the values: at x[0] it is 2, differences of the function give -2" in wrong.advice
