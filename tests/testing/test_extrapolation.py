"""Extrapolated differences: nearly all digits, and an error that is to be believed."""

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from adjoint.testing.differences import finite_difference
from adjoint.testing.extrapolation import richardson

KINDS = ["central", "forward", "backward"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("derivative", [1, 2, 3])
def test_extrapolation_is_near_rounding_and_knows_its_error(kind, derivative):
    x = np.array([0.3, 1.0, 2.5])
    value, error = richardson(special.gamma, x, np.ones(3), kind=kind, derivative=derivative, levels=10)
    psi = [special.polygamma(n, x) for n in range(3)]
    ratios = [psi[0], psi[0] ** 2 + psi[1], psi[0] ** 3 + 3 * psi[0] * psi[1] + psi[2]]
    exact = special.gamma(x) * ratios[derivative - 1]
    assert np.all(np.abs(value - exact) <= 10 * error)
    assert np.all(error <= np.abs(exact) * 10.0 ** (-11 + 2 * derivative))


def test_extrapolation_beats_the_plain_difference_by_far():
    plain = finite_difference(np.exp, 1.0, 1.0)
    value, error = richardson(np.exp, 1.0, 1.0)
    assert abs(value - np.e) < 0.1 * abs(plain - np.e)
    assert error < 1e-11


def test_extrapolation_passes_over_steps_outside_the_domain():
    value, error = richardson(np.log, 0.01, 1.0, levels=10)
    assert_allclose(value, 100.0, rtol=1e-6)
    assert error < 1e-3


def test_steps_beyond_a_pole_are_not_believed():
    """1/x at 3e-4: the first steps are far beyond the pole, where the differences look like 1/δ²."""
    value, error = richardson(lambda x: 1 / x, 3e-4, 1.0, ratio=4.0, levels=10)
    assert_allclose(value, -1 / 9e-8, rtol=1e-6)
    assert error < 1e-4 / 9e-8


def test_a_derivative_of_zero_is_found_beside_the_noise():
    value, error = richardson(np.cos, 0.0, 1.0)
    assert abs(value) < 1e-14
    assert error < 1e-12


def test_extrapolation_over_trees_treats_each_element_alone():
    point = {"a": np.array([0.02, 3.0]), "b": 1.5}
    result = richardson(lambda t: (np.log(t["a"]), t["b"] ** 2), point, {"a": np.ones(2), "b": 1.0}, levels=10)
    assert_allclose(result.value[0], [50.0, 1 / 3.0], rtol=1e-7)
    assert_allclose(result.value[1], 3.0, rtol=1e-9)
    assert result.error[0].shape == (2,)


def test_a_kink_shows_as_a_large_error():
    """|x| at 0.01: steps of 0.1, 0.05, 0.025 all cross the kink, and the differences 0.1, 0.2, 0.4 settle nowhere."""
    value, error = richardson(np.abs, 0.01, 1.0, levels=3)
    assert abs(value - 1.0) > 0.1
    assert error > 0.1


def test_factorials_as_high_derivatives_of_a_geometric_series():
    for k in range(1, 6):
        found = richardson(lambda t: 1 / (1 - t), 0.0, 1.0, derivative=k, points=(k + 1) // 2 + 1, levels=7)
        assert_allclose(found.value, factorial(k), rtol=1e-4)


@pytest.mark.parametrize("options, message", [({"levels": 1}, "levels=1"), ({"ratio": 1.0}, "ratio=1.0")])
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        richardson(np.sin, 1.0, 1.0, **options)
