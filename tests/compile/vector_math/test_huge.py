"""sin, cos, tan of huge numbers, which have no digits to lose."""

import mpmath
import numpy as np
import pytest

from adjoint.compile.vector_math.huge import LEADING, two_over_pi_words
from adjoint.compile.vector_math.trigonometric import LIMIT
from tests.compile.vector_math.reference import DTYPES, around, assert_same, assert_within, compiled, every_size, mp

FLOATS = {"float64": "double", "float32": "float"}
# The double closest to a multiple of π/2, relative to its size (Muller, Elementary Functions, table 11.1).
CLOSEST = 6381956970095103.0 * 2.0**797


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_accuracy(name: str, dtype: str) -> None:
    limit = LIMIT[FLOATS[dtype]]
    points = [every_size(dtype, 150, int(np.log2(limit))), around(limit, dtype), around(2.0**60, dtype)]
    points.append(around(CLOSEST, dtype, 1) if dtype == "float64" else around(2.0**120, dtype))
    points.append(-np.array([np.finfo(dtype).max], dtype))
    digits, mp.dps = mp.dps, 360  # of 2^1024 all must be known
    try:
        assert_within(1.6, name, dtype, np.concatenate(points))
    finally:
        mp.dps = digits


def test_digits_of_two_over_pi() -> None:
    context = mpmath.MPContext()
    context.prec = 1600
    words = two_over_pi_words()
    value = sum(word << (64 * (len(words) - 1 - k)) for k, word in enumerate(words))
    assert value == int(context.ldexp(2 / context.pi, 64 * len(words) - LEADING))


@pytest.mark.parametrize("width", [1, 4, 8])
@pytest.mark.parametrize("dtype", DTYPES)
def test_neighbors_keep_their_value(dtype: str, width: int) -> None:
    """One huge lane changes nothing in the others."""
    x = np.linspace(-9, 9, 64).astype(dtype)
    mixed = x.copy()
    mixed[::5] = 1e30
    sin = compiled("sin", dtype, width)
    expected = sin(x)
    expected[::5] = compiled("sin", dtype, 1)(np.array([1e30]))
    assert_same(sin(mixed), expected)
