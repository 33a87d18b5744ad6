"""Functions of complex numbers agree with NumPy: infinities, NaN and zeros exactly, numbers within a few units."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import WIDTHS, Kernels, check_complex, native, special_values

FUNCTIONS = ("exp", "exp2", "log", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")


def plane(dtype: str) -> np.ndarray:
    """Special values, numbers of many sizes, and numbers near the unit circle."""
    rng = np.random.default_rng(2)
    many = (rng.normal(size=200) + 1j * rng.normal(size=200)) * 10.0 ** rng.integers(-3, 3, 200)
    circle = np.exp(1j * rng.uniform(-4, 4, 100)) * (1 + 1e-8 * rng.normal(size=100))
    far = np.array([800 + 1j, -800 + 2j, 710 + 1.5707j, 3 + 800j, 100 - 25j, 1e-300 + 1e-310j, 1e300 - 1e308j])
    with np.errstate(all="ignore"):
        return np.concatenate([special_values(dtype), many, circle, far]).astype(dtype)


def test_functions() -> None:
    kernels = Kernels()
    for name in FUNCTIONS:
        for dtype in "FD":
            assert native(BY_NAME[name], plane(dtype))
            kernels.add(BY_NAME[name], plane(dtype))
    check_complex(kernels, ulps=8.0)


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_functions_that_vanish_at_zero(name: str) -> None:
    """Near 0 the answer is as exact as the argument."""
    rng = np.random.default_rng(3)
    z = (rng.normal(size=40) + 1j * rng.normal(size=40)) * 10.0 ** rng.integers(-12, 1, 40)
    kernels = Kernels()
    kernels.add(BY_NAME[name], z)
    wanted = np.array([complex(getattr(mpmath, name)(mpmath.mpc(x))) for x in z])
    ((_, results),) = kernels.results()
    assert len(results) == len(WIDTHS)
    for actual in results:
        assert np.all(np.abs(actual - wanted) <= 8 * np.finfo(float).eps * np.abs(wanted))


def test_powers() -> None:
    rng = np.random.default_rng(4)
    z, w = (rng.normal(size=200) + 1j * rng.normal(size=200) for _ in range(2))
    zero = np.zeros(4, complex)
    kernels = Kernels()
    power = BY_NAME["power"]
    for dtype in "FD":
        kernels.add(power, z.astype(dtype), w.astype(dtype))
        kernels.add(power, zero.astype(dtype), np.array([0, 1, 2 + 1j, -1]).astype(dtype))
        for n in (0, 1, 2, 3, 7, -1, -2, 0.5, 1.5 - 1j, np.float32(2)):
            kernels.add(power, z.astype(dtype), n)
            kernels.add(power, zero.astype(dtype), n)
    kernels.add(BY_NAME["float_power"], z, w)
    check_complex(kernels, ulps=40.0)
