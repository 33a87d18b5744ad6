"""A function compiled and compared with NumPy, for tests of one part of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile.kernel import Kernel, compile_program
from adjoint.program.program import interpret
from tests.simplify.programs import program_of


def agrees(function: Callable[..., Any], *args: Any, rounding: float = 1e-12) -> Kernel:
    """The kernel of a function, once its results are those of NumPy: shapes, dtypes and numbers."""
    program, flat = program_of(function, *args)
    kernel = compile_program(program)
    for actual, expected in zip(kernel.run(flat), interpret(program, flat), strict=True):
        actual, expected = np.asarray(actual), np.asarray(expected)
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        if expected.dtype.kind in "fc":
            scale = 1 + np.max(np.abs(expected), initial=0, where=np.isfinite(expected))
            np.testing.assert_allclose(actual, expected, rtol=rounding, atol=rounding * scale)
        else:
            np.testing.assert_array_equal(actual, expected)
    return kernel
