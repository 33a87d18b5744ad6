"""Functions of real numbers under NumPy's names: dtypes and special values; `vector_math` answers for accuracy."""

from __future__ import annotations

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.support.element_kernels import Kernels, check, expected, grid, native, same, special_values

UNARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt"),
)
BINARY = ("arctan2", "hypot", "power", "float_power")


def test_every_dtype() -> None:
    kernels = Kernels()
    for name in (*UNARY, *BINARY):
        op = BY_NAME[name]
        for dtype in "?befd" if op.arity == 1 else "efd":
            args = grid(*[special_values(dtype)] * op.arity)
            assert native(op, *args), (name, dtype)
            kernels.add(op, *args)
    check(kernels, ulps=5.0)


def test_logarithms_of_sums() -> None:
    """Near its zeros the result is exact to the last digits of the arguments, and no more."""
    kernels = Kernels()
    for name in ("logaddexp", "logaddexp2"):
        for dtype in "efd":
            kernels.add(BY_NAME[name], *grid(*[special_values(dtype)] * 2))
    for case, results in kernels.results():
        wanted = expected(case)
        with np.errstate(all="ignore"):
            size = 1 + sum(np.abs(a.astype(float)) for a in case.args)
            for actual in results:
                near = np.abs(actual.astype(float) - wanted) <= 2 * np.finfo(wanted.dtype).eps * size
                assert np.all(same(actual, wanted) | near), case.label
