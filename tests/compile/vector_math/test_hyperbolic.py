"""sinh, cosh, tanh, their inverses and logit: accuracy, ends of the ranges, symmetry."""

import numpy as np
import pytest
from scipy import special

from tests.compile.vector_math.reference import (
    DTYPES,
    around,
    assert_same,
    assert_within,
    both_signs,
    compiled,
    every_size,
    special_values,
)

OVERFLOW = {"float64": 710.4758600739439, "float32": 89.41599}
ODD = ("sinh", "tanh", "arcsinh", "arctanh")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, bound", [("sinh", 1.9), ("cosh", 1.5), ("tanh", 2.0)])
def test_accuracy(name: str, bound: float, dtype: str) -> None:
    rng = np.random.default_rng(1)
    edge = OVERFLOW[dtype]
    points = [
        rng.uniform(-3, 3, 400),
        rng.uniform(-edge, edge, 150),
        both_signs(every_size(dtype, 150, high=6)),
        around((np.arange(-9, 9) + 0.5) * np.log(2) / 2, dtype, 1),  # n changes
        around([edge, -edge, 0.3, 0.4], dtype),
    ]
    assert_within(bound, name, dtype, np.concatenate(points))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"])
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    x = special_values(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    decided = ~np.isfinite(expected) | np.isin(expected, [0, 1, -1])  # others stand in the test of accuracy
    assert_same(compiled(name, dtype)(x[decided]), expected[decided])


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverses(dtype: str) -> None:
    rng = np.random.default_rng(2)
    every = every_size(dtype, 300)
    assert_within(1.6, "arcsinh", dtype, np.concatenate([every, rng.uniform(-3, 3, 400), around(2.0**28, dtype)]))
    close = 1 + every_size(dtype, 100, -np.finfo(dtype).nmant, 1)
    assert_within(1.6, "arccosh", dtype, np.concatenate([every[every >= 1], rng.uniform(1, 3, 400), close]))
    near_one = 1 - every_size(dtype, 100, -np.finfo(dtype).nmant - 1, -1)
    inside = np.concatenate([every[every < 1], rng.uniform(-1, 1, 400), near_one[near_one < 1]])
    assert_within(1.9, "arctanh", dtype, inside)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ODD)
def test_odd(name: str, dtype: str) -> None:
    x = every_size(dtype, 500)
    if name == "arctanh":
        x = x[x < 1]
    f = compiled(name, dtype)
    assert_same(f(-x), -f(x))
    small = every_size(dtype, 50, high=int(np.finfo(dtype).minexp))
    assert_same(f(small), small)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logit(dtype: str) -> None:
    rng = np.random.default_rng(3)
    tiny = every_size(dtype, 200, high=-1)
    near_one = 1 - every_size(dtype, 100, -np.finfo(dtype).nmant, -1)
    points = np.concatenate([rng.uniform(0, 1, 300), tiny, near_one, around(0.5, dtype), rng.uniform(0.45, 0.55, 100)])
    assert_within(1.5, "logit", dtype, points)
    x = special_values(dtype)
    expected = special.logit(x)
    decided = ~np.isfinite(expected) | (expected == 0)
    assert_same(compiled("logit", dtype)(x[decided]), expected[decided])
