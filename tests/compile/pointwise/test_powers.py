"""Powers with exponents that are known agree with `np.power`: whole ones are products, halves roots, others both."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, special_values


def test_known_exponents() -> None:
    kernels = Kernels()
    rng = np.random.default_rng(0)
    for dtype in "fd":
        x = np.concatenate(
            [special_values(dtype), (rng.normal(size=100) * 10.0 ** rng.integers(-9, 9, 100)).astype(dtype)]
        )
        for n in (0, 1, 2, 3, 4, 5, 6, -1, -2, -3, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2.0, np.float32(3)):
            kernels.add(BY_NAME["power"], x, n)
    check(kernels, ulps=4.0)


def test_squares_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    kernels = Kernels()
    for dtype in "efd":
        kernels.add(BY_NAME["power"], rng.normal(size=100).astype(dtype), 2)
    kernels.add(BY_NAME["float_power"], rng.normal(size=100), 2)
    check(kernels)


def test_any_exponent() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([special_values("d"), rng.lognormal(size=100)])
    kernels = Kernels()
    for n in (3.5, -0.25, 7, 20, 1e3, np.inf, np.nan):
        kernels.add(BY_NAME["power"], x, n)
    kernels.add(BY_NAME["power"], 2.5, x)
    check(kernels, ulps=4.0)
