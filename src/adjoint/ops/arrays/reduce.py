"""Reductions over axes: sums, products, extrema.

Axes are non-negative and sorted; the front keeps or drops the reduced ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops import kinks
from adjoint.ops.calculus import Differential, Flat, Linear, arithmetic_flops
from adjoint.ops.kinks import NonSmooth
from adjoint.program.layout import Strides, probe_strides
from adjoint.program.op import Op, primitive
from adjoint.program.trace import live_trace
from adjoint.program.types import ArrayType, Value

Axes = tuple[int, ...]


class Reduction(Op):
    """How a reduction treats axes."""

    axes: Axes

    def _reduced(self, x: ArrayType) -> tuple[Any, ...]:
        return tuple(n for a, n in enumerate(x.shape) if a not in self.axes)

    def _dtype(self, x: ArrayType) -> np.dtype[Any]:
        return x.dtype

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(self._reduced(types[0]), self._dtype(types[0]))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return probe_strides(partial(np.add.reduce, axis=self.axes), types, strides, result)

    def moved(self) -> Axes:
        """The axes when a stack stands in front."""
        return tuple(a + 1 for a in self.axes)

    def may_raise(self, *types: ArrayType) -> bool:
        return any(n == 0 for n in types[0].shape)


def expand(z: Value, axes: Axes) -> Value:
    """Put axes of size one back where a reduction dropped them."""
    if not axes:
        return z
    sizes = iter(z.shape)
    return z.reshape(tuple([1 if a in axes else next(sizes) for a in range(len(z.shape) + len(axes))]))


# As Any: a test against it leaves the value Any, where the classes would make it an array of unknown elements.
_CONCRETE: Any = (np.ndarray, np.generic)


def spread_over(z: Value, shape: tuple[Any, ...]) -> Value:
    """z repeated along its axes of size one: a view, or for few elements an array of its own, which is made faster."""
    if isinstance(z, _CONCRETE) and math.prod(shape) <= 4096:
        out = np.empty(shape, z.dtype)
        out[...] = z
        return out
    if isinstance(z, _CONCRETE):
        trace = live_trace()
        while trace is not None and not trace.records:
            trace = trace.outer
        z = z if trace is None else trace.constant(z)  # a program repeats a number when it runs, and holds no array
    return np.broadcast_to(z, shape)


@primitive
class Sum(Reduction, Linear):
    """z = Σ x over the axes."""

    axes: Axes

    def evaluate(self, *xs: Value) -> Value:
        return np.add.reduce(xs[0], axis=self.axes)

    def _dtype(self, x: ArrayType) -> np.dtype[Any]:
        return np.add.reduce(np.zeros(1, x.dtype)).dtype

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (spread_over(expand(ct, self.axes), xs[0].shape),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Sum(self.moved())(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, max(np.size(xs[0]) - np.size(zs[0]), 0))


@primitive
class Product(Reduction, Differential):
    """z = Π x over the axes; ż = Σ ẋⱼ Πᵢ≠ⱼ xᵢ, exact also where elements are zero."""

    axes: Axes

    @property
    def title(self) -> str:
        return "prod"

    def evaluate(self, *xs: Value) -> Value:
        return np.multiply.reduce(xs[0], axis=self.axes)

    def _dtype(self, x: ArrayType) -> np.dtype[Any]:
        return np.multiply.reduce(np.ones(1, x.dtype)).dtype

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return None if dxs[0] is None else np.sum(self.others(xs[0]) * dxs[0], axis=self.axes)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (expand(ct, self.axes) * np.conjugate(self.others(xs[0])),)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), False

    def others(self, x: Value) -> Value:
        """For each element the product of all others: what stands before it times what stands after it."""
        rest = [a for a in range(x.ndim) if a not in self.axes]
        lead = tuple(x.shape[a] for a in rest)
        n = math.prod(x.shape[a] for a in self.axes)
        flat = np.reshape(np.transpose(x, (*rest, *self.axes)), (*lead, n))
        one = np.ones((*lead, min(1, n)), x.dtype)
        before = np.cumprod(np.concatenate([one, flat[..., :-1]], axis=-1), axis=-1)
        after = np.flip(np.cumprod(np.concatenate([one, np.flip(flat, axis=-1)[..., :-1]], axis=-1), axis=-1), axis=-1)
        product = np.reshape(before * after, (*lead, *[x.shape[a] for a in self.axes]))
        order = (*rest, *self.axes)
        return np.transpose(product, tuple(order.index(a) for a in range(x.ndim)))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Product(self.moved())(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, max(np.size(xs[0]) - np.size(zs[0]), 0))


@primitive
class Extremum(Reduction, Differential):
    """z = max x (or min x) over the axes.

    Ties share the derivative equally: ż = Σ w ẋ with w = [x = z] / (number of ties).
    """

    kind: str  # "max" or "min"
    axes: Axes

    @property
    def title(self) -> str:
        return self.kind

    def evaluate(self, *xs: Value) -> Value:
        return (np.maximum if self.kind == "max" else np.minimum).reduce(xs[0], axis=self.axes)

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        if any(x.shape[a] == 0 for a in self.axes):
            raise ShapeError(
                f"{self.kind}: {x} has no elements along axes {self.axes}; give initial=… or reduce another axis."
            )
        return ArrayType(self._reduced(x), x.dtype)

    def weights(self, x: Value, z: Value) -> Value:
        """The share of each element in the extremum."""
        ties = np.equal(x, expand(z, self.axes)).astype(x.dtype)
        return ties / expand(np.sum(ties, axis=self.axes), self.axes)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return None if dxs[0] is None else np.sum(self.weights(xs[0], z) * dxs[0], axis=self.axes)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (expand(ct, self.axes) * self.weights(xs[0], z),)

    masks = True

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), True

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Extremum(self.kind, self.moved())(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, max(np.size(xs[0]) - np.size(zs[0]), 0))

    @property
    def kinks(self) -> NonSmooth | None:
        return kinks.EXTREMUM


@primitive
class FlatReduction(Reduction, Flat):
    """any, all, argmax, argmin, count_nonzero: no derivative."""

    kind: str
    axes: Axes

    @property
    def title(self) -> str:
        return self.kind

    def evaluate(self, *xs: Value) -> Value:
        axis = self.axes[0] if self.kind in ("argmax", "argmin") else self.axes
        return getattr(np, self.kind)(xs[0], axis=axis)

    def _dtype(self, x: ArrayType) -> np.dtype[Any]:
        return np.dtype(bool if self.kind in ("any", "all") else np.intp)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return FlatReduction(self.kind, self.moved())(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, max(np.size(xs[0]) - np.size(zs[0]), 0))

    @property
    def kinks(self) -> NonSmooth | None:
        return kinks.EXTREMAL_INDEX if self.kind in ("argmax", "argmin") else None


@primitive
class ArgSort(Flat):
    """The order of the elements along an axis; stable, so that ties keep theirs."""

    never_raises = True

    axis: int

    def evaluate(self, *xs: Value) -> Value:
        return np.argsort(xs[0], axis=self.axis, kind="stable")

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, np.dtype(np.intp))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return ArgSort(self.axis + 1)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(xs[0]) * math.ceil(math.log2(max(np.shape(xs[0])[self.axis], 1))))

    @property
    def kinks(self) -> NonSmooth | None:
        return kinks.ORDER

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        """Half of a row is merged at a time."""
        return types[0].shape[self.axis] * np.dtype(np.intp).itemsize // 2 if types[0].shape else 0
