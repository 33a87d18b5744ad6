"""Memory that nobody has written to: a buffer for the states of a loop, and results of a branch that is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Flat
from adjoint.program.layout import is_sized
from adjoint.program.op import primitive
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

LONG = 16  # numbers: fewer are as well zero


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


@primitive
class Undefined(Flat):
    """An array that is never looked at, whatever is in it. The operand may be anything: it is there to be recorded."""

    never_raises = True
    is_movement = True
    size_fields = ("shape",)

    shape: tuple[Any, ...]
    dtype: Any

    def evaluate(self, *xs: Value) -> Value:
        return np.zeros(self.shape, self.dtype)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(self.shape, self.dtype)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Undefined((size, *self.shape), self.dtype)(xs[0])


def undefined(kind: ArrayType, beside: Sequence[Value], otherwise: Callable[[ArrayType], Value]) -> Value:
    """A value that is never looked at, recorded beside others; another one if it is small, or may be an index."""
    traced = next((x for x in beside if isinstance(x, Tracer)), None)
    is_long = is_sized(kind) and kind.size >= LONG
    if traced is None or not is_long or kind.dtype.kind not in "fc":
        return otherwise(kind)
    return Undefined(kind.shape, kind.dtype)(traced)
