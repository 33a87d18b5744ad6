"""Inverse functions of complex numbers agree with NumPy: infinities, NaN and branch cuts exactly, numbers closely."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check_complex, native, special_values

FUNCTIONS = ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")


def plane(dtype: str) -> np.ndarray:
    """Special values, both sides of the branch cuts, numbers near the branch points, and numbers of many sizes."""
    rng = np.random.default_rng(2)
    many = (rng.normal(size=200) + 1j * rng.normal(size=200)) * 10.0 ** rng.integers(-6, 20, 200)
    cuts = np.array([complex(x, y) for x in (-3.0, -1.0, -0.5, 0.5, 1.0, 3.0) for y in (0.0, -0.0)])
    near = np.array([1, -1, 1j, -1j])[:, None] + 1e-5 * (rng.normal(size=(4, 20)) + 1j * rng.normal(size=(4, 20)))
    far = np.array([1e300 + 1e300j, -1e30 + 1j, 1.0 + 1e30j, 1e30 + np.nan * 1j, complex(np.nan, 1e30)])
    with np.errstate(all="ignore"):
        return np.concatenate([special_values(dtype), cuts, 1j * cuts, near.ravel(), many, far]).astype(dtype)


def test_functions() -> None:
    kernels = Kernels()
    for name in FUNCTIONS:
        for dtype in "FD":
            assert native(BY_NAME[name], plane(dtype))
            kernels.add(BY_NAME[name], plane(dtype))
    check_complex(kernels, ulps=8.0)
