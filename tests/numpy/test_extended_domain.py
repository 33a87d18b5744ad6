"""np.emath: the dtype depends on the values, the derivative is that of the complex function."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import CHECKS, Case, array, check_compiled, complex_array, every_check, signed

S, INSIDE, OUTSIDE = signed(3, 4), array(4, high=0.9), np.array([-2.0, -1.5, 0.3, -0.4, 1.7])
NAMES = ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh")
CASES = [
    *[Case(f"{name} outside", getattr(np.emath, name), (OUTSIDE if "arc" in name else S,)) for name in NAMES],
    *[Case(f"{name} inside", getattr(np.emath, name), (INSIDE,)) for name in NAMES],
    Case("sqrt complex", np.emath.sqrt, (complex_array(3),)),
    Case("logn", np.emath.logn, (2.3, S)),
    Case("power", np.emath.power, (S, 1.3)),
    Case("whole powers", lambda x: np.emath.power(x, -2), (INSIDE,)),
]


@every_check(CASES, CHECKS[1:])
def test_extended_domain(case, check) -> None:
    check(case)


@pytest.mark.parametrize("name", ["sqrt outside", "sqrt inside", "log2 outside", "power"])
def test_compiled(name) -> None:
    check_compiled(next(case for case in CASES if case.name == name))


def test_unknown_values_are_complex() -> None:
    """In the body of a loop the dtype cannot depend on the values."""
    f = lambda xs: ad.scan(lambda c, x: (c + np.real(np.emath.sqrt(x)), np.imag(np.emath.sqrt(x))), 0.0, xs)
    total, parts = f(np.array([4.0, -9.0]))
    assert total == 2.0
    np.testing.assert_array_equal(parts, [0.0, 3.0])
