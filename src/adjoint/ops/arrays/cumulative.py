"""Running sums, products and extrema along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from adjoint.ops.calculus import Differential, Flat, Linear, arithmetic_flops, fit, total
from adjoint.ops.elementwise.pointwise import conjugated
from adjoint.program.layout import Strides, elementwise_strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def reversed_along(x: Value, axis: int) -> Value:
    """x backwards along an axis."""
    return x[(slice(None),) * axis + (slice(None, None, -1),)]


def shifted(x: Value, axis: int, first: Value, *, backwards: bool = False) -> Value:
    """x moved one place along an axis; `first` (0 or 1) stands where nothing came before."""
    before = (slice(None),) * axis
    edge = np.full((*x.shape[:axis], min(1, x.shape[axis]), *x.shape[axis + 1 :]), first, x.dtype)
    if backwards:
        return np.concatenate([x[(*before, slice(1, None))], edge], axis=axis)
    return np.concatenate([edge, x[(*before, slice(None, -1))]], axis=axis)


@primitive
class CumSum(Linear):
    """zₖ = Σ xⱼ over j ≤ k, or over j ≥ k when reverse; each is the other's transpose."""

    never_raises = True

    axis: int
    reverse: bool = False

    def evaluate(self, *xs: Value) -> Value:
        (x,) = xs
        return (
            reversed_along(np.cumsum(reversed_along(x, self.axis), self.axis), self.axis)
            if self.reverse
            else np.cumsum(x, self.axis)
        )

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, np.cumsum(np.zeros(1, types[0].dtype)).dtype)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None if self.reverse else elementwise_strides(types, strides, result)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (CumSum(self.axis, not self.reverse)(ct),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return CumSum(self.axis + 1, self.reverse)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(xs[0]))


@primitive
class CumProd(Differential):
    """zₖ = zₖ₋₁ xₖ, so żₖ = xₖ żₖ₋₁ + zₖ₋₁ ẋₖ: a linear recurrence, exact also where elements are zero."""

    never_raises = True

    axis: int
    reverse: ClassVar[bool] = False

    def evaluate(self, *xs: Value) -> Value:
        return np.cumprod(xs[0], self.axis)  # pyright: ignore[reportUnknownVariableType]

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, np.cumprod(np.ones(1, types[0].dtype)).dtype)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return elementwise_strides(types, strides, result)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return None if dxs[0] is None else LinearRecurrence(self.axis)(xs[0], shifted(z, self.axis, 1) * dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        after = LinearRecurrence(self.axis, reverse=True)(shifted(conjugated(xs[0]), self.axis, 0, backwards=True), ct)
        return (after * conjugated(shifted(z, self.axis, 1)),)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), True

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return CumProd(self.axis + 1)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(xs[0]))


@primitive
class LinearRecurrence(Differential):
    """hₖ = aₖ hₖ₋₁ + bₖ along an axis, from h₋₁ = 0; or from the other end when reverse.

    Closed under differentiation.
    """

    never_raises = True

    axis: int
    reverse: bool = False

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    @property
    def title(self) -> str:
        return "linear_recurrence"

    def evaluate(self, *xs: Value) -> Value:
        a, b = (np.moveaxis(x, self.axis, 0) for x in np.broadcast_arrays(*xs))
        h = np.empty(b.shape, np.result_type(a, b))
        last = np.zeros(b.shape[1:], h.dtype)
        for k in reversed(range(len(b))) if self.reverse else range(len(b)):
            last = h[k] = a[k] * last + b[k]
        return np.moveaxis(h, 0, self.axis)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(np.broadcast_shapes(*[t.shape for t in types]), result_dtype(*types))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        da, db = dxs
        previous = shifted(z, self.axis, 0, backwards=self.reverse)
        drive = total(None if da is None else da * previous, db)
        return None if drive is None else self(xs[0], drive)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        follows = shifted(conjugated(xs[0]), self.axis, 0, backwards=not self.reverse)
        adjoint = LinearRecurrence(self.axis, not self.reverse)(follows, ct)
        previous = shifted(z, self.axis, 0, backwards=self.reverse)
        return (fit(adjoint * conjugated(previous), xs[0]) if wanted[0] else None), fit(adjoint, xs[1]) if wanted[
            1
        ] else None

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), True

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        full = [x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)]
        return LinearRecurrence(self.axis + 1, self.reverse)(*full)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * np.size(zs[0]))


@primitive
class ArgCumExtremum(Flat):
    """For each place along an axis, the index of the first largest (or smallest) element so far, or first NaN."""

    kind: str
    axis: int

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    def evaluate(self, *xs: Value) -> Value:
        x = np.moveaxis(xs[0], self.axis, -1)
        best: Any = (np.maximum if self.kind == "max" else np.minimum).accumulate(x, axis=-1)
        before, after = best[..., :-1], best[..., 1:]
        better = (before != after) & (before == before)  # the first NaN is the best of all
        new = np.concatenate([np.ones((*x.shape[:-1], min(1, x.shape[-1])), bool), better], axis=-1)
        indices = np.where(new, np.arange(x.shape[-1]), 0)  # pyright: ignore[reportUnknownArgumentType]
        return np.moveaxis(np.maximum.accumulate(indices, axis=-1), -1, self.axis)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, np.dtype(np.intp))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return ArgCumExtremum(self.kind, self.axis + 1)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(xs[0]))
