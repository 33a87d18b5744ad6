"""Numbers that count as Python's."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.weak import Weaken
from adjoint.program.types import ArrayType, type_of


@pytest.mark.parametrize("value", [np.float64(2.5), np.int64(3), np.complex128(1j), np.array(2.0)])
def test_value_and_type(value: np.generic) -> None:
    z = Weaken().evaluate(value)
    assert type(z) in (float, int, complex)
    assert z == value
    assert Weaken().result_type(type_of(value)) == type_of(z)


def test_a_stack_stays_an_array() -> None:
    x = np.arange(3.0)
    assert Weaken().evaluate(x) is x
    assert Weaken().result_type(type_of(x)) == ArrayType((3,), x.dtype)
    np.testing.assert_array_equal(ad.vmap(lambda x: Weaken()(x) * 2)(x), x * 2)


def test_derivatives_are_those_of_the_identity() -> None:
    f = ad.jit(lambda x, y: (x * 2.0) * 3.0 * y)  # the product with 2 is a Python number, and so is that with 3
    assert ad.jvp(lambda y: f(0.5, y), (2.0,), (1.0,)) == (6.0, 3.0)
    g = ad.jit(ad.grad(lambda x: (x * 2) * x))
    assert g(3.0) == 12.0
    value, (first, second) = ad.jit(lambda x: ad.jet(lambda t: (t * 2) * t, (x,), ([1.0, 0.0],)))(3.0)
    assert (value, first, second) == (18.0, 12.0, 4.0)
