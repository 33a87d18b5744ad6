"""Whole parts, quotients and remainders of floats agree with NumPy in every bit."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, grid, special_values


def test_whole_parts() -> None:
    kernels = Kernels()
    for name in ("floor", "ceil", "trunc", "rint"):
        for dtype in "efd":
            halves = (np.arange(-20, 20) / 2).astype(dtype)
            kernels.add(BY_NAME[name], np.concatenate([special_values(dtype), halves]))
        kernels.add(BY_NAME[name], special_values("?"))
        kernels.add(BY_NAME[name], special_values("l"))
    for dtype in "FD":
        kernels.add(BY_NAME["rint"], special_values(dtype))
    check(kernels)


def test_quotients_and_remainders() -> None:
    rng = np.random.default_rng(0)
    kernels = Kernels()
    for name in ("floor_divide", "remainder", "fmod"):
        op = BY_NAME[name]
        for dtype in "efd":
            kernels.add(op, *grid(*[special_values(dtype)] * 2))
            sizes = 10.0 ** rng.integers(-4, 5, 200)
            x, y = ((rng.normal(size=200) * s).astype(dtype) for s in (sizes, sizes[::-1]))
            kernels.add(op, x, y)
            kernels.add(op, x, 2.0)
    check(kernels)


def test_exact_multiples() -> None:
    kernels = Kernels()
    whole = np.arange(-30.0, 31.0)
    for step in (0.1, 0.3, 1.0, 3.0, 7.0):
        for name in ("floor_divide", "remainder", "fmod"):
            kernels.add(BY_NAME[name], whole * step, step)
    check(kernels)


def test_remainders_are_exact() -> None:
    """Quotients of every size, near whole numbers, and tiny divisors; the library gives the exact remainder."""
    rng = np.random.default_rng(3)
    kernels = Kernels()
    for dtype in "fd":
        y = (rng.lognormal(size=4000, sigma=4) * rng.choice([-1, 1], 4000)).astype(dtype)
        whole = np.floor(2.0 ** rng.uniform(0, 60, 4000)).astype(dtype)
        x = np.nextafter(whole * y, (rng.choice([-np.inf, np.inf, 0], 4000)).astype(dtype))
        kernels.add(BY_NAME["fmod"], x, y)
        kernels.add(BY_NAME["remainder"], rng.normal(size=4000).astype(dtype), y * np.finfo(dtype).smallest_subnormal)
    check(kernels)
