"""Select by a condition: linear in the two branches, and nothing leaks out of the branch not taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Flat, Linear, fit
from adjoint.ops.elementwise.pointwise import aligned, broadcast_shapes
from adjoint.program.layout import Strides, elementwise_strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


@primitive
class Select(Linear):
    """z = x where the condition c holds, else y.

    The pull is again a select: the cotangent of the branch not taken is a true zero.
    """

    never_raises = True

    is_movement = True
    is_selection = True

    masks = True

    @property
    def parameters(self) -> int:
        return 1

    def evaluate(self, *xs: Value) -> Value:
        x, y, c = xs
        return np.where(c, x, y)[()]  # pyright: ignore[reportUnknownVariableType]

    def result_type(self, *types: ArrayType) -> Any:
        x, y, _ = types
        return ArrayType(broadcast_shapes("where", types), result_dtype(x, y))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        x, y, c = xs
        zero = ct.dtype.type(0)
        return (
            fit(np.where(c, ct, zero), x) if hasattr(x, "shape") else None,
            fit(np.where(c, zero, ct), y) if hasattr(y, "shape") else None,
        )

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return elementwise_strides(types, strides, result)


@primitive
class StopGradient(Flat):
    """The identity, with derivative zero by decree."""

    is_view = True
    is_marker = True

    @property
    def title(self) -> str:
        return "stop_gradient"

    def evaluate(self, *xs: Value) -> Value:
        return xs[0]

    def result_type(self, *types: ArrayType) -> Any:
        return types[0]

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return strides[0]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])
