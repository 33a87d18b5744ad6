"""Real arithmetic agrees with NumPy in every bit, for every dtype."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, grid, native, special_values

DTYPES = "?bBlLefd"
NAMES = (
    *(
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "positive",
        "conjugate",
        "absolute",
    ),
    *(
        "fabs",
        "square",
        "reciprocal",
        "sign",
        "degrees",
        "radians",
        "rad2deg",
        "deg2rad",
    ),
    *("sqrt",),
)


def test_every_operation_on_every_dtype() -> None:
    kernels = Kernels()
    for name in NAMES:
        op = BY_NAME[name]
        for dtype in DTYPES:
            args = grid(*[special_values(dtype)] * op.arity)
            try:
                op.function(*[a[:0] for a in args])
            except TypeError:  # NumPy has no loop: subtract of bools
                continue
            assert native(op, *args), (name, dtype)
            kernels.add(op, *args)
    assert len(kernels.cases) > 100
    check(kernels)


def test_other_sizes_of_integers() -> None:
    kernels = Kernels()
    for name in ("add", "multiply", "negative", "absolute", "reciprocal"):
        op = BY_NAME[name]
        for dtype in "hHiI":
            kernels.add(op, *grid(*[special_values(dtype)] * op.arity))
    check(kernels)


def test_mixed_dtypes_are_promoted() -> None:
    kernels = Kernels()
    for pair in ("bB", "iL", "lL", "fd", "ed", "if", "?d", "hf", "Le", "?b", "be"):
        for name in ("add", "multiply", "divide"):
            kernels.add(BY_NAME[name], *grid(special_values(pair[0]), special_values(pair[1])))
    check(kernels)


def test_numbers_of_the_program_are_weak() -> None:
    kernels = Kernels()
    for dtype in "bLefd":
        x = special_values(dtype)
        for number in (3, 0.1, np.float32(0.1), np.int8(-3), True):
            kernels.add(BY_NAME["multiply"], x, number)
            kernels.add(BY_NAME["subtract"], number, x)
    check(kernels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_not_contracted(dtype: type) -> None:
    """A product is rounded before it is added: squares and sums of ours have the rounding of NumPy's."""
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=64).astype(dtype) for _ in range(2))
    kernels = Kernels()
    for name in ("add", "subtract", "multiply", "divide", "square", "reciprocal", "sqrt"):
        op = BY_NAME[name]
        kernels.add(op, *[x, y][: op.arity])
    check(kernels)
