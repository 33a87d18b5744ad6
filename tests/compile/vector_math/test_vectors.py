"""The tools that the functions are written with, against NumPy and exact fractions."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from adjoint.compile.vector_math.arrays import ArrayFunction
from adjoint.compile.vector_math.vectors import (
    Lanes,
    at_least,
    at_most,
    copy_sign,
    polynomial,
    rarely,
    steady_polynomial,
    through_double,
    two_sum,
    where,
)
from tests.compile.vector_math.reference import assert_same

RNG = np.random.default_rng(1)


def run(write: Callable[..., Lanes], *args: np.ndarray, width: int = 4) -> np.ndarray:
    """What the instructions give, over arrays."""
    dtype = str(args[0].dtype)
    compiled = ArrayFunction(lambda f, *xs: write(*(Lanes(f, x) for x in xs)).value, len(args), dtype, width)
    return compiled(*args)


def test_bounds_keep_nan() -> None:
    x = np.array([-3.0, 0.5, 7.0, np.nan, -np.inf, np.inf])
    assert_same(run(lambda x: at_least(at_most(x, 1.0), -1.0), x), np.clip(x, -1, 1))


def test_two_sum_loses_nothing() -> None:
    a, b = RNG.normal(size=(2, 100)) * 10.0 ** RNG.integers(-12, 12, (2, 100))
    total, lost = run(lambda a, b: two_sum(a, b)[0], a, b), run(lambda a, b: two_sum(a, b)[1], a, b)
    np.testing.assert_array_equal(total, a + b)
    for row in zip(a, b, total, lost):
        p, q, s, e = map(Fraction, row)
        assert p + q == s + e


@pytest.mark.parametrize("count", range(1, 25))
def test_polynomials_of_every_length(count: int) -> None:
    c = RNG.normal(size=count).tolist()
    x = RNG.uniform(-1, 1, 20)
    exact = [float(sum(Fraction(c[i]) * Fraction(v) ** i for i in range(count))) for v in x]
    np.testing.assert_allclose(run(lambda x: polynomial(x, c), x), exact, rtol=0, atol=1e-14)
    if count > 3:
        np.testing.assert_allclose(run(lambda x: steady_polynomial(x, c, 3), x), exact, rtol=0, atol=1e-14)


@pytest.mark.parametrize("width", [1, 4])
def test_rare_lanes(width: int) -> None:
    x = np.array([1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -9.0])
    got = run(lambda x: rarely(x < 0.0, x + 1.0, lambda: x * 10.0), x, width=width)
    assert_same(got, np.where(x < 0, x * 10, x + 1))


def test_signs_and_choices() -> None:
    x = np.array([0.0, -0.0, 1.5, -2.5])
    assert_same(run(lambda x: copy_sign(x.of(3.0), x), x), np.copysign(3.0, x))
    assert_same(run(lambda x: where(x < 0.0, 1.0, x), x), np.where(x < 0, 1.0, x))


def test_floats_through_doubles() -> None:
    x = RNG.uniform(0, 1, 50).astype(np.float32)
    got = run(through_double(lambda x: x * x * x - 1.0), x)
    wide = x.astype(float)
    assert_same(got, (wide * wide * wide - 1.0).astype(np.float32))
