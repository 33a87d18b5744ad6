"""`Unwritten`: a buffer for the states of a loop, which takes no memory before a state is written there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Flat
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class Unwritten(Flat):
    """Rows of the type of the operand. What is in them before they are written to is nobody's business."""

    never_raises = True

    count: int

    def evaluate(self, *xs: Value) -> Value:
        return np.zeros((self.count, *np.shape(xs[0])), np.asarray(xs[0]).dtype)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType((self.count, *types[0].shape), types[0].dtype)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return np.swapaxes(Unwritten(self.count)(xs[0]), 0, 1)
