"""Linear or not, differentiable or not."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adjoint.base.errors import NotLinear
from adjoint.testing.differences import finite_difference
from adjoint.testing.linearity import NotDifferentiable, check_frechet, check_linear

LINEAR = {
    "matrix": (lambda x: np.arange(6.0).reshape(2, 3) @ x, np.ones(3)),
    "tree": (lambda t: {"sum": t["a"].sum() + t["b"], "turned": t["a"].T}, {"a": np.ones((2, 3)), "b": 1.0}),
    "fourier": (np.fft.fft, np.ones(8)),
    "zero": (lambda x: 0.0 * x, np.ones(2)),
    "conjugate, over the real numbers": (np.conj, np.ones(2, complex)),
    "single": (np.cumsum, np.ones(5, np.float32)),
}
NOT_LINEAR = {
    "offset": (lambda x: 2 * x + 1e-6, np.ones(3)),
    "square": (lambda x: x**2, 1.0),
    "product": (lambda t: t[0] * t[1], (1.0, 2.0)),
    "absolute": (np.abs, np.ones(3)),
    "one element": (lambda x: np.where(np.arange(50) == 17, x**2, x), np.ones(50)),
}


@pytest.mark.row("B2.2.c")
@pytest.mark.parametrize("name", LINEAR)
def test_linear_maps_pass(name):
    check_linear(*LINEAR[name])


@pytest.mark.row("B2.2.c")
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_other_maps_do_not(name):
    with pytest.raises(NotLinear, match="is not linear"):
        check_linear(*NOT_LINEAR[name])


def test_the_error_names_the_element():
    with pytest.raises(NotLinear, match=r"output\['w'\]\[17\]"):
        check_linear(lambda x: {"w": NOT_LINEAR["one element"][0](x)}, np.ones(50))


def only_gateaux(x):
    square = x[0] ** 2 + x[1] ** 2
    return x[0] ** 3 / square if square else 0.0


@pytest.mark.row("B2.2.d")
def test_smooth_functions_are_differentiable_and_the_residual_falls_linearly():
    ratios = check_frechet(lambda x: np.array([np.exp(x[0] * x[1]), x[0] ** 3]), np.array([0.3, 1.2]))
    assert len(ratios) == 4
    for larger, smaller in pairwise(ratios):
        assert_allclose(larger / smaller, 10.0, rtol=0.2)


def test_trees_and_complex_numbers():
    check_frechet(lambda t: np.sin(t["z"]) * t["s"], {"z": np.array([1 + 1j, 0.5]), "s": 2.0})
    check_frechet(np.conj, np.array([1 + 1j, 0.5]))


@pytest.mark.row("B2.2.e")
def test_derivatives_along_lines_that_are_not_linear_are_reported():
    """The slopes of x₁³/(x₁² + x₂²) at 0 along e₁, e₂ and their sum are 1, 0 and 1/2."""
    for direction, slope in [((1.0, 0.0), 1.0), ((0.0, 1.0), 0.0), ((1.0, 1.0), 0.5)]:
        assert_allclose(finite_difference(only_gateaux, np.zeros(2), np.array(direction)), slope, atol=1e-15)
    with pytest.raises(NotLinear, match=r"∂f\(x\)\[v\] is not linear.*Gateaux"):
        check_frechet(only_gateaux, np.zeros(2))
    check_frechet(only_gateaux, np.array([0.5, 0.3]))


@pytest.mark.parametrize("f", [np.abs, lambda x: np.maximum(x, 0.0), lambda x: np.sqrt(np.abs(x))])
def test_kinks_are_not_differentiable(f):
    with pytest.raises((NotDifferentiable, NotLinear)):
        check_frechet(f, 0.0)


def test_a_derivative_that_falls_slowly_still_counts():
    check_frechet(lambda x: np.abs(x) ** 1.5, 0.0)


def test_a_wrong_derivative_is_found():
    x = np.array([0.4, 0.9])
    check_frechet(np.sin, x, derivative=lambda v: np.cos(x) * v)
    with pytest.raises(NotDifferentiable, match="derivative that was given is wrong"):
        check_frechet(np.sin, x, derivative=lambda v: np.cos(x) * v * 1.01)
