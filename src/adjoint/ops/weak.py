"""`Weaken`: a number that counts as one of Python's, which gives way in promotion (NEP 50).

Arithmetic of Python's numbers gives Python's numbers: with `rate` a float, `(rate / 2) * x` has the dtype of x. NumPy's
ufuncs, by which such arithmetic is recorded, give NumPy's scalars, so the record takes them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops import arithmetic  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills BY_NAME)
from adjoint.ops.calculus import Linear
from adjoint.ops.pointwise import BY_NAME
from adjoint.program.op import primitive
from adjoint.program.record import WEAKENED
from adjoint.program.types import ArrayType, Value


@primitive
class Weaken(Linear):
    """x as a Python number; a stack of them stays an array."""

    def evaluate(self, *xs: Value) -> Value:
        return np.asarray(xs[0]).item() if np.ndim(xs[0]) == 0 else xs[0]

    def result_type(self, *types: ArrayType) -> Any:
        (kind,) = types
        return ArrayType((), kind.dtype, weak=True) if not kind.shape else kind

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ct,)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return dxs[0]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return xs[0]


ARITHMETIC = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "square"),
    *("negative", "positive", "absolute"),
)
WEAKENED.update({BY_NAME[name]: Weaken() for name in ARITHMETIC})
