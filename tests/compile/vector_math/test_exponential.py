"""exp and its relatives: accuracy over the whole range, the ends of the range, symmetry."""

import numpy as np
import pytest

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

BOUNDS = {"exp": 1.1, "expm1": 1.4, "expit": 1.7, "exp2": 1.4, "exp10": 1.1}
UNITS = {"exp2": np.log(2), "exp10": np.log(10)}  # ln of the base, where it is not e
OVERFLOW = {"float64": 709.782712893384, "float32": 88.72283}
UNDERFLOW = {"float64": -745.1332191019411, "float32": -103.97208}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BOUNDS)
def test_accuracy(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    points = [
        rng.uniform(-3, 3, 400),
        rng.uniform(UNDERFLOW[dtype] - 1, OVERFLOW[dtype], 200),
        both_signs(every_size(dtype, 100, high=7)),
        around((np.arange(-20, 20) + 0.5) * np.log(2), dtype, 1),  # n changes
        around([OVERFLOW[dtype], UNDERFLOW[dtype], np.log(np.finfo(dtype).tiny.astype(float))], dtype),
        around([0.3, -0.3, -0.7], dtype),
    ]
    assert_within(BOUNDS[name], name, dtype, np.concatenate(points) / UNITS.get(name, 1.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "expm1", "exp2"])
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    x = special_values(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    got = compiled(name, dtype)(x)
    exact = np.isin(np.abs(x), [0.5, 1, 2])  # ordinary numbers stand in the test of accuracy
    assert_same(got[~exact], expected[~exact])


@pytest.mark.parametrize("dtype", DTYPES)
def test_at_the_ends(dtype: str) -> None:
    x = [np.inf, -np.inf, 0.0, -0.0, np.nan]
    assert_same(compiled("expit", dtype)(x), np.array([1, 0, 0.5, 0.5, np.nan], dtype))
    assert_same(compiled("exp10", dtype)(x), np.array([np.inf, 0, 1, 1, np.nan], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_subnormal_arguments_come_back(dtype: str) -> None:
    x = both_signs(every_size(dtype, 50, high=int(np.finfo(dtype).minexp)))
    assert_same(compiled("expm1", dtype)(x), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_powers_are_exact(dtype: str) -> None:
    info = np.finfo(dtype)
    k = np.arange(int(info.minexp - info.nmant), int(info.maxexp))
    assert_same(compiled("exp2", dtype)(k), np.ldexp(np.ones(k.size, dtype), k))
    tens = np.arange(0, 23 if dtype == "float64" else 11)  # 10^k itself is a float
    assert_same(compiled("exp10", dtype)(tens), (10.0**tens).astype(dtype))
