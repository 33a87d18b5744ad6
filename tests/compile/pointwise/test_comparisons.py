"""Comparisons, extrema, logic and tests agree with NumPy; integers are compared by value."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, grid, native, special_values

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
DTYPES = "?bBlLefdFD"


def test_comparisons() -> None:
    kernels = Kernels()
    for name in COMPARISONS:
        for dtype in DTYPES:
            kernels.add(BY_NAME[name], *grid(*[special_values(dtype)] * 2))
        for pair in ("lL", "Ll", "bL", "Bb", "if", "Ld", "eD", "?b"):
            kernels.add(BY_NAME[name], *grid(special_values(pair[0]), special_values(pair[1])))
    check(kernels)


def test_numbers_that_do_not_fit() -> None:
    """A Python integer beyond the dtype is still compared by value."""
    kernels = Kernels()
    for name in COMPARISONS:
        for dtype, number in (("b", 300), ("B", -1), ("L", -1), ("l", 2**63), ("L", 2**70), ("B", 7)):
            kernels.add(BY_NAME[name], special_values(dtype), number)
            kernels.add(BY_NAME[name], number, special_values(dtype))
    check(kernels)


def test_python_integers_that_are_computed() -> None:
    """Where a Python integer is a variable, it is compared by value too."""
    kernels = Kernels()
    for name in COMPARISONS:
        for dtype in "bBlLd?":
            kernels.add(BY_NAME[name], *grid(special_values("l"), special_values(dtype)), weak=(0,))
            kernels.add(BY_NAME[name], *grid(special_values(dtype), special_values("l")), weak=(1,))
    check(kernels)


def test_extrema_and_logic() -> None:
    kernels = Kernels()
    for name in ("maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor"):
        for dtype in DTYPES:
            args = grid(*[special_values(dtype)] * 2)
            assert native(BY_NAME[name], *args), (name, dtype)
            kernels.add(BY_NAME[name], *args)
    check(kernels)


def test_tests_of_elements() -> None:
    kernels = Kernels()
    for name in ("logical_not", "isnan", "isinf", "isfinite"):
        for dtype in DTYPES:
            kernels.add(BY_NAME[name], special_values(dtype))
    for dtype in "befd":
        kernels.add(BY_NAME["signbit"], special_values(dtype))
    kernels.add(BY_NAME["signbit"], np.array([np.nan, -np.nan]))
    check(kernels)
