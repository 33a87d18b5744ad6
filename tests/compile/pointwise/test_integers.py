"""Integer division, shifts, bits, powers and divisors agree with NumPy, also where machines disagree."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, grid, native, special_values


def test_division_shifts_bits_and_divisors() -> None:
    kernels = Kernels()
    for name in (
        *("floor_divide", "remainder", "fmod", "left_shift", "right_shift", "gcd", "lcm"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "bitwise_count"),
    ):
        op = BY_NAME[name]
        for dtype in "bBilL":
            args = grid(*[special_values(dtype)] * op.arity)
            assert native(op, *args), (name, dtype)
            kernels.add(op, *args)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        kernels.add(BY_NAME[name], *grid(special_values("?"), special_values("?")))
    kernels.add(BY_NAME["invert"], special_values("?"))
    check(kernels)


def test_all_pairs_of_bytes() -> None:
    kernels = Kernels()
    for dtype in "bB":
        info = np.iinfo(dtype)
        every = np.arange(info.min, int(info.max) + 1).astype(dtype)
        for name in ("floor_divide", "remainder", "fmod", "left_shift", "right_shift", "gcd", "lcm"):
            kernels.add(BY_NAME[name], *grid(every, every))
    check(kernels)


def test_powers() -> None:
    power = BY_NAME["power"]
    kernels = Kernels()
    for dtype in "BHL":
        kernels.add(power, *grid(special_values(dtype), np.arange(0, 20).astype(dtype)))
    for dtype in "bilL":
        for n in (0, 1, 2, 3, 5, 13):
            kernels.add(power, special_values(dtype), n)
    check(kernels)


def test_powers_that_numpy_may_refuse_are_not_native() -> None:
    power, x = BY_NAME["power"], np.arange(3)
    assert native(power, x, 2)
    assert not native(power, x, x)
    assert not native(power, x, -1)
    assert not native(power, x.astype(np.int8), 300)
