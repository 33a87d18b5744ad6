"""Bessel functions of complex argument in their order, against mpmath in every quadrant and for every method."""

import mpmath
import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.complex_orders import modified
from adjoint.ops.special.parameters import ParameterDerivative
from adjoint.testing import mp_difference, richardson

EXACT = {
    "jv": mpmath.besselj,
    "yv": mpmath.bessely,
    "iv": mpmath.besseli,
    "kv": mpmath.besselk,
    "hankel1": mpmath.hankel1,
    "hankel2": mpmath.hankel2,
}
# small and large orders; near the axes, in all quadrants; near turning points z = ±iν of I and K, z = ±ν of J and Y
POINTS = [
    (0.0, 0.01 + 0.02j), (0.5, 3.0 - 2.0j), (2.0, 9.0j), (3.5, 12.0 + 1e-3j), (10.0, -4.0 + 2.0j), (10.0, 9.9 + 0.2j),
    (7.0, -0.1 - 7.1j), (25.0, 5.0 + 20.0j), (25.0, 60.0 - 30.0j), (-1.3, 6.0 + 4.0j), (-4.0, -5.0 - 3.0j),
    (1.0, 40.0 + 0j),
]  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_against_mpmath(name):
    orders, arguments = (np.array(column) for column in zip(*POINTS, strict=True))
    got = ParameterDerivative(name, (1, 0))(orders, arguments)
    for v, z, value in zip(orders, arguments, got, strict=True):
        want = complex(mp_difference(lambda s, z=z: EXACT[name](s, z), v, digits=25))
        size = max(abs(want), abs(complex(EXACT[name](v, z))))  # K is even in v: its slope at 0 is 0
        assert abs(value - want) < 3e-12 * size, (v, z, value, want)


def test_order_zero_of_a_large_function():
    """∂I/∂ν at ν = 0 is -K, which is smaller than I by many magnitudes."""
    z = np.array([40.0 + 3.0j, 70.0 - 20.0j, 5.0 + 0.0j])
    np.testing.assert_allclose(ParameterDerivative("iv", (1, 0))(0.0, z), -special.kv(0.0, z), rtol=1e-12)


def test_the_function_itself_and_the_second_derivative():
    v, z = np.array([0.5, 10.0, 3.0]), np.array([3.0 - 2.0j, 9.9j, -12.0 + 1.0j])
    with np.errstate(all="ignore"):
        first, second = modified(2, v, z)
    np.testing.assert_allclose(first[0], special.iv(v, z), rtol=1e-12)
    np.testing.assert_allclose(second[0], special.kv(v, z), rtol=1e-12)
    for i in range(3):
        want = complex(mp_difference(lambda s, i=i: mpmath.besselk(s, z[i]), v[i], derivative=2, digits=25))
        np.testing.assert_allclose(second[2][i], want, rtol=1e-11)


@pytest.mark.parametrize("name", ["jv", "kv", "hankel2"])
def test_order_and_argument_together(name):
    f, z = getattr(special, name), np.complex128(2.0 + 1.5j)
    slope = lambda w: ad.jvp(lambda v: f(v, w), (1.3,), (1.0,))[1]
    mixed = ad.jvp(slope, (z,), (np.complex128(1.0),))[1]
    np.testing.assert_allclose(mixed, richardson(lambda t: slope(z + t), 0.0, 1.0).value, rtol=1e-9)
    real = lambda v: np.real(f(v, z))
    np.testing.assert_allclose(ad.grad(real)(1.3), np.real(slope(z)), rtol=1e-14)


@pytest.mark.parametrize("name", ["jve", "ive", "kve", "hankel1e"])
def test_scaled_functions(name):
    f, z = getattr(special, name), np.array([3.0 + 2.0j, 0.5 - 4.0j])
    got = ad.jvp(lambda v: f(v, z), (1.3,), (1.0,))[1]
    np.testing.assert_allclose(got, richardson(lambda v: f(v, z), 1.3, 1.0).value, rtol=1e-9)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "hankel1", "hankel2"])
def test_left_of_zero_the_branch_is_that_of_the_values(name):
    f = getattr(special, name)
    z = np.array([-2.5 + 0.0j, -7.0 + 0.0j])
    got = ad.jvp(lambda v: f(v, z), (1.3,), (1.0,))[1]
    np.testing.assert_allclose(got, richardson(lambda v: f(v, z), 1.3, 1.0).value, rtol=1e-9)
