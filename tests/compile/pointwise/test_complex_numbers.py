"""Complex arithmetic agrees with NumPy, rounding of products excepted, which NumPy may contract."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, check_complex, grid, native, special_values


def random_numbers(dtype: str, n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(5)
    z = (rng.normal(size=n) + 1j * rng.normal(size=n)) * 10.0 ** rng.integers(-5, 5, n)
    return z.astype(dtype)


def test_arithmetic_in_every_bit() -> None:
    kernels = Kernels()
    for name in ("add", "subtract", "divide", "negative", "positive", "conjugate", "reciprocal"):
        op = BY_NAME[name]
        for dtype in "FD":
            z = special_values(dtype)
            assert native(op, *[z] * op.arity)
            kernels.add(op, *grid(*[z] * op.arity))
            kernels.add(op, *[random_numbers(dtype), random_numbers(dtype)[::-1]][: op.arity])
    check(kernels)


def test_products_and_sizes() -> None:
    kernels = Kernels()
    for name in ("multiply", "square", "absolute", "sign"):
        op = BY_NAME[name]
        for dtype in "FD":
            z = special_values(dtype)
            kernels.add(op, *grid(*[z] * op.arity))
            kernels.add(op, *[random_numbers(dtype), random_numbers(dtype)[::-1]][: op.arity])
    check_complex(kernels, ulps=3.0)


def test_mixed_with_real_numbers() -> None:
    kernels = Kernels()
    z, x = grid(special_values("D"), special_values("f"))
    for name in ("add", "subtract", "divide"):
        kernels.add(BY_NAME[name], z, x)
        kernels.add(BY_NAME[name], x, z)
        kernels.add(BY_NAME[name], special_values("F"), 2.5)
        kernels.add(BY_NAME[name], special_values("F"), 1j)
    check(kernels)


def test_sizes_do_not_overflow() -> None:
    kernels = Kernels()
    parts = [1e-320, 1e-200, 1e200, 1.2e308]
    x, y = grid(parts, parts)
    kernels.add(BY_NAME["absolute"], x + 1j * y)
    kernels.add(BY_NAME["divide"], *grid(x + 1j * y, x + 1j * y))
    check_complex(kernels, ulps=3.0)
