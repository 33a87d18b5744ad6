"""Searching: places and counts, so without derivative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops import kinks
from adjoint.ops.calculus import Flat, arithmetic_flops
from adjoint.ops.kinks import NonSmooth
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class SearchSorted(Flat):
    """How many elements of the sorted vector a are smaller than each element of v (side left), or not larger
    (right).
    """

    never_raises = True

    side: str

    def evaluate(self, *xs: Value) -> Value:
        return np.searchsorted(xs[0], xs[1], side=self.side)  # type: ignore[call-overload]

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[1].shape, np.dtype(np.intp))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        a, v = xs
        if not mapped[0]:
            return self(a, v)
        inner = np.ndim(v) - mapped[1]
        v = v if mapped[1] else np.broadcast_to(v, (size, *np.shape(v)))
        a = np.reshape(a, (size,) + (1,) * inner + (a.shape[1],))
        below = np.less if self.side == "left" else np.less_equal
        return np.sum(below(a, np.expand_dims(v, -1)), axis=-1)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(xs[1]) * math.ceil(math.log2(np.size(xs[0]) + 1)))

    @property
    def kinks(self) -> NonSmooth | None:
        return kinks.BINS


@primitive
class Nonzero(Flat):
    """The places of the elements that are not zero, one vector for each axis, when it is known that there are `count`.

    A guard before it says so.
    """

    is_movement = True

    several = True
    count: int

    def evaluate(self, *xs: Value) -> Value:
        return np.nonzero(xs[0])

    def result_type(self, *types: ArrayType) -> Any:
        return (ArrayType((self.count,), np.dtype(np.intp)),) * types[0].ndim

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        # all batch elements have as many, and their indices follow one another
        return tuple(np.reshape(column, (size, self.count)) for column in Nonzero(size * self.count)(xs[0])[1:])


@primitive
class ArgPartition(Flat):
    """An order of the elements along an axis in which those at the places `kth` stand where sorting would put them."""

    kth: tuple[int, ...]
    axis: int

    def evaluate(self, *xs: Value) -> Value:
        return np.argpartition(xs[0], self.kth, axis=self.axis)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, np.dtype(np.intp))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return ArgPartition(self.kth, self.axis + 1)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * np.size(xs[0]))


@primitive
class Count(Flat):
    """z = start, start + 1, …: so many integers. Never written out as a constant, so that it is one for any length."""

    never_raises = True

    size_fields = ("length",)

    length: Any

    def evaluate(self, *xs: Value) -> Value:
        return np.arange(int(self.length)) + np.int64(xs[0])

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType((self.length,), np.dtype(np.int64))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return np.reshape(xs[0], (size, 1)) + self(np.int64(0))
