"""Complex steps: exact to rounding for analytic functions, a clear error for the rest."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from adjoint.base.errors import UnsupportedError
from adjoint.testing.complex_step import complex_step, complex_step_gradient
from adjoint.testing.counting import count_calls
from adjoint.testing.differences import finite_difference

ANALYTIC = {
    "sin": (np.sin, 0.7, math.cos(0.7)),
    "log": (np.log, 0.7, 1 / 0.7),
    "sqrt": (np.sqrt, 0.7, 0.5 / math.sqrt(0.7)),
    "power": (lambda x: x**3.5, 0.7, 3.5 * 0.7**2.5),
    "expm1": (np.expm1, 1e-3, math.exp(1e-3)),
    "arctan": (np.arctan, 0.7, 1 / 1.49),
    "tanh": (np.tanh, 0.7, 1 - math.tanh(0.7) ** 2),
    "gamma": (special.gamma, 2.5, special.gamma(2.5) * special.digamma(2.5)),
    "abs": (np.abs, -0.7, -1.0),
    "fabs": (lambda x: np.fabs(x) * x, -0.7, 1.4),
    "python abs": (abs, -0.7, -1.0),
    "sign": (lambda x: np.sign(x) * x**2, -0.7, 1.4),
    "maximum": (lambda x: np.maximum(x, 0.0), 0.7, 1.0),
    "minimum": (lambda x: np.minimum(x, 0.0), 0.7, 0.0),
    "where": (lambda x: np.where(x > 0, x**2, -x), 0.7, 1.4),
    "if": (lambda x: x**2 if x > 0 else -x, 0.7, 1.4),
    "clip": (lambda x: np.clip(x, 0.0, 1.0) ** 2, 0.7, 1.4),
}


@pytest.mark.parametrize("name", ANALYTIC)
def test_functions_of_one_number_to_rounding(name):
    f, x, exact = ANALYTIC[name]
    assert_allclose(complex_step(f, x, 1.0), exact, rtol=2e-15)
    assert_allclose(complex_step(f, np.array([x]), np.array([2.0])), [2 * exact], rtol=2e-15)


def test_linear_algebra_and_reductions_over_trees():
    rng = np.random.default_rng(0)
    tree = {"a": rng.normal(size=(3, 3)) + 3 * np.eye(3), "b": rng.normal(size=3), "s": 1.5}
    direction = {"a": rng.normal(size=(3, 3)), "b": rng.normal(size=3), "s": -0.5}

    def f(t):
        solution = np.linalg.solve(t["a"], t["b"])
        return {"x": solution * t["s"], "det": np.linalg.det(t["a"]), "top": np.max(t["b"]), "sum": t["b"].sum()}

    found, reference = complex_step(f, tree, direction), finite_difference(f, tree, direction, accuracy=8)
    for name, value in reference.items():
        assert_allclose(found[name], value, rtol=1e-9)


def test_gradient_and_its_cost():
    x = np.linspace(0.1, 1.0, 10).reshape(2, 5)
    f = count_calls(lambda w: np.sum(np.log(w) * w))
    assert_allclose(complex_step_gradient(f, x), np.log(x) + 1, rtol=1e-15)
    assert f.calls == 10


def test_gradient_over_trees_leaves_integers_alone():
    point = {"w": np.array([1.0, 2.0]), "n": 3, "single": np.float32(2.0)}
    gradient = complex_step_gradient(lambda t: np.sum(t["w"] ** t["n"]) * t["single"], point)
    assert_allclose(gradient["w"], [6.0, 24.0])
    assert gradient["n"] == 0
    assert gradient["single"].dtype == np.float32
    assert_allclose(gradient["single"], 9.0)


def test_elements_taken_out_stay_watched():
    assert_allclose(complex_step(lambda x: abs(x[0]) * sum(v * v for v in x), np.array([-1.0, 2.0]), np.ones(2)), -3.0)


def test_writing_into_a_copy():
    def f(x):
        y = x.copy()
        y[0] = x[1] ** 2
        y += x
        return y

    assert_allclose(complex_step(f, np.array([1.0, 3.0]), np.array([1.0, 0.5])), [3.0 + 1.0, 1.0])


def test_constant_outputs_have_slope_zero():
    found = complex_step(lambda x: (x * 2, 5.0, np.arange(3)), 1.0, 1.0)
    assert found[0] == 2.0
    assert found[1] == 0.0
    assert_array_equal(found[2], [0.0, 0.0, 0.0])


NOT_ANALYTIC = {
    "conj": np.conj,
    "method conj": lambda x: x.conj(),
    "real": np.real,
    "attribute real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "angle": np.angle,
    "norm": np.linalg.norm,
    "vdot": lambda x: np.vdot(x, x),
    "variance": np.var,
    "standard deviation": lambda x: x.std(),
    "eigh": lambda x: np.linalg.eigh(np.outer(x, x))[0],
    "float": lambda x: float(x[0]),
    "item": lambda x: x[0].item(),
    "math": lambda x: math.sin(x[0]),
    "floor": np.floor,
    "arctan2": lambda x: np.arctan2(x, 1.0),
    "expit": special.expit,
    "into a real array": lambda x: np.copyto(np.zeros(2), x),
    "astype": lambda x: x.astype(float),
    "dropped": lambda x: np.array([complex(v) for v in np.asarray(x).view(np.ndarray)]).real,
}


@pytest.mark.parametrize("name", NOT_ANALYTIC)
def test_what_is_not_analytic_is_refused(name):
    with pytest.raises(UnsupportedError, match="use finite_difference"):
        complex_step(NOT_ANALYTIC[name], np.array([0.5, 1.5]), np.ones(2))


def test_writing_into_a_real_array_is_refused():
    def f(x):
        y = np.zeros(2)
        y[0] = x[1]
        return y

    with pytest.raises(UnsupportedError, match="use finite_difference"):
        complex_step(f, np.array([0.5, 1.5]), np.ones(2))


def test_complex_inputs_are_refused():
    with pytest.raises(TypeError, match="x holds complex numbers"):
        complex_step(np.exp, 1j, 1.0)


def test_other_errors_of_the_function_pass_through():
    with pytest.raises(ZeroDivisionError):
        complex_step(lambda x: x / 0 if isinstance(x, str) else 1 // 0, 1.0, 1.0)
