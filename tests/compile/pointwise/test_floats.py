"""Neighbors, exponents and steps agree with NumPy in every bit."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.compare import Exponent
from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, grid, special_values


def test_neighbors_and_signs() -> None:
    kernels = Kernels()
    for name in ("copysign", "nextafter", "heaviside", "spacing"):
        op = BY_NAME[name]
        for dtype in "befd":
            kernels.add(op, *grid(*[special_values(dtype)] * op.arity))
    check(kernels)


def test_ldexp_rounds_once() -> None:
    shifts = [0, 1, -1, 5, -5, 100, -100, 1023, 1024, -1022, -1050, -1074, -1075, 2000, -2000, 2098, -2098]
    odd = np.array([1.0, 1.5, 1 + 2.0**-23, 1 + 2.0**-52, 3 + 2.0**-51])
    kernels = Kernels()
    for dtype in "efd":
        x = np.concatenate([special_values(dtype), odd.astype(dtype)])
        kernels.add(BY_NAME["ldexp"], *grid(x, np.array([*shifts, 2**31 - 1, -(2**31)], np.int32)))
        kernels.add(BY_NAME["ldexp"], *grid(x, np.array([*shifts, 2**40, -(2**40)])))
        kernels.add(BY_NAME["ldexp"], *grid(x, np.arange(-160, 160, dtype=np.int16)))
        kernels.add(BY_NAME["ldexp"], x, -3)
    check(kernels)


def test_exponents() -> None:
    kernels = Kernels()
    for dtype in "efd":
        kernels.add(Exponent(), special_values(dtype))
        kernels.add(Exponent(), np.float64(1.7) ** np.arange(-700, 700).astype(dtype))
    check(kernels)
