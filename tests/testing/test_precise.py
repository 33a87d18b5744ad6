"""Differences in many digits against mpmath's own derivatives in closed form."""

import mpmath
import pytest

from adjoint.testing.precise import mp_difference


@pytest.mark.parametrize("kind", ["central", "forward", "backward"])
@pytest.mark.parametrize("derivative", [1, 2, 5])
def test_thirty_digits_of_every_order(kind, derivative):
    found = mp_difference(mpmath.sin, 0.75, derivative=derivative, kind=kind)
    with mpmath.workdps(40):
        exact = mpmath.sin(mpmath.mpf(0.75) + derivative * mpmath.pi / 2)
        assert abs(found - exact) < mpmath.mpf(10) ** -28


def test_as_many_digits_as_wanted():
    with mpmath.workdps(90):
        exact = mpmath.digamma(2.5)
        found = mp_difference(mpmath.loggamma, 2.5, points=3, digits=80)
        assert abs(found - exact) < mpmath.mpf(10) ** -78


def test_along_a_direction_of_several_numbers():
    found = mp_difference(lambda a, b: mpmath.besselj(a, b), 1.25, 2.0, direction=(0, 1))
    with mpmath.workdps(35):
        exact = (mpmath.besselj(0.25, 2) - mpmath.besselj(2.25, 2)) / 2
        assert abs(found - exact) < mpmath.mpf(10) ** -28


def test_the_precision_of_the_caller_is_left_alone():
    before = mpmath.mp.dps
    mp_difference(mpmath.exp, 1.0, digits=50)
    assert mpmath.mp.dps == before


def test_the_direction_must_fit():
    with pytest.raises(ValueError, match="direction for a point of 2"):
        mp_difference(lambda a, b: a, 1.0, 2.0)
    with pytest.raises(ValueError, match="2 numbers and a direction of 1"):
        mp_difference(lambda a, b: a, 1.0, 2.0, direction=(1,))
