"""sin, cos, tan of moderate numbers: accuracy, also next to the zeros; symmetry; special values."""

import numpy as np
import pytest

from adjoint.compile.vector_math.trigonometric import LIMIT
from tests.compile.vector_math.reference import DTYPES, around, assert_same, assert_within, compiled, every_size, mp

NAMES = ("sin", "cos", "tan")
FLOATS = {"float64": "double", "float32": "float"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(name: str, dtype: str) -> None:
    rng = np.random.default_rng(4)
    limit = LIMIT[FLOATS[dtype]]
    quarters = [float((2 * k + 1) * mp.pi / 4) for k in range(20)]  # n changes
    points = [
        rng.uniform(-10, 10, 400),
        rng.uniform(-limit, limit, 200),
        every_size(dtype, 150, high=int(np.log2(limit))),
        around(quarters, dtype),
    ]
    assert_within(1.75, name, dtype, np.concatenate(points))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_next_to_multiples_of_a_right_angle(name: str, dtype: str) -> None:
    top = LIMIT[FLOATS[dtype]] / 2
    multiples = np.unique(np.rint(np.geomspace(1, top, 200)))
    assert_within(1.75, name, dtype, around([float(int(k) * mp.pi / 2) for k in multiples], dtype, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetry(dtype: str) -> None:
    x = every_size(dtype, 500)
    for name in NAMES:
        f = compiled(name, dtype)
        assert_same(f(-x), f(x) if name == "cos" else -f(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    nan = np.nan
    for name, expected in (("sin", [0, -0.0, nan, nan, nan]), ("cos", [1, 1, nan, nan, nan])):
        assert_same(compiled(name, dtype)(x), np.array(expected, dtype))
    assert_same(compiled("tan", dtype)(x), np.array([0, -0.0, nan, nan, nan], dtype))
