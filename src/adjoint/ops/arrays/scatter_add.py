"""Adding to parts of an array: what a loop that reads x[i] does with the cotangent of x.

The sum x̄ + scatter(part) costs a pass over all of x̄; here the part alone is added, and machine code does it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from adjoint.ops.arrays.index import Key, Slice, add_at, arity, reader, stacked, subscript
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.calculus import Linear, arithmetic_flops, fit
from adjoint.program.layout import Strides, compact
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value

View: TypeAlias = tuple[str, tuple[Any, ...]]  # ("slice", items), ("reshape", shape) or ("transpose", axes)


def view_of(view: View) -> Slice | Reshape | Transpose:
    """The primitive that takes a view."""
    kind, parameter = view
    return Slice(parameter) if kind == "slice" else Reshape(parameter) if kind == "reshape" else Transpose(parameter)


@primitive
class ScatterAdd(Linear):
    """x with a part added to v[key], where v is a view of x: a view of a view …, each without moving an element.

    The arguments are x, the part, then the index arrays of the key.
    """

    size_fields = ("views", "index")
    has_indices = True

    views: tuple[View, ...]
    index: Key

    @property
    def parameters(self) -> int:
        return arity(self.index)

    @property
    def title(self) -> str:
        return "scatter_add"

    def evaluate(self, *xs: Value) -> Value:
        x, part, *indices = xs
        out = np.array(x, order="C")
        target = np.reshape(np.arange(out.size), out.shape)  # where the elements of the view stand
        for view in self.views:
            target = view_of(view).evaluate(target)
        flat = np.ravel(out)
        add_at(flat, (target[subscript(self.index, indices)],), part)
        return np.reshape(flat, out.shape)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, types[0].dtype)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return compact(result)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        seen = ct
        for view in self.views:
            seen = view_of(view)(seen)
        return ct, fit(reader(self.index)(seen, *xs[2:]), xs[1])

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        x, part = (
            a if m else np.broadcast_to(a, (size, *np.shape(a))) for a, m in zip(xs[:2], mapped[:2], strict=True)
        )
        views = tuple((kind, _behind(kind, parameter, size)) for kind, parameter in self.views)
        key, indices = stacked(self.index, xs[2:], mapped[2:], size)
        return ScatterAdd(views, key)(x, part, *indices)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(xs[1]))


def _behind(kind: str, parameter: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """The parameter of a view of arrays with a stack in front."""
    if kind == "slice":
        return ((None, None, None), *parameter)
    return (size, *parameter) if kind == "reshape" else (0, *[axis + 1 for axis in parameter])
