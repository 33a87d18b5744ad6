"""Convolution: one primitive for all strides, dilations and groups, whose adjoints are the same primitive.

    z[n,g,o,p] = Σ x[n,g,c,i] w[g,o,c,k]   over c and all i, k with  spread·i = stride·p + dilation·k + start

on every axis of space, for p from 0 to length - 1. The relation between i, k and p is symmetric, and so are the other
letters: n stands in x and z, o in w and z, c in x and w, g in all. An adjoint exchanges the roles:

    x̄ = conv(z̄, w̄ᵗ)    stride·p = spread·i - dilation·k - start
    w̄ = conv(xᵗ, z̄ᵗ)   spread·i = dilation·k + stride·p + start

What lies outside of x counts as zero. All three factors may be negative: then one walks
backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.calculus import Multilinear, fit
from adjoint.ops.elementwise.pointwise import conjugated
from adjoint.ops.signal.convolution_algorithms import convolution_workspace, convolved
from adjoint.program.layout import Strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def _moved_behind(x: Value, axis: int) -> Value:
    """x with the stack in front put before another axis, and joined with it."""
    x = np.moveaxis(x, 0, axis)
    return np.reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


def _taken_apart(z: Value, axis: int, size: int) -> Value:
    """The opposite of `_moved_behind`."""
    z = np.reshape(z, (*z.shape[:axis], size, z.shape[axis] // size if size else 0, *z.shape[axis + 1 :]))
    return np.moveaxis(z, axis, 0)


@primitive
class Convolution(Multilinear):
    """z[n,g,o,p] = Σ x[n,g,c,i] w[g,o,c,k] over c and spread·i = stride·p + dilation·k + start."""

    contracts = True
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    spread: tuple[int, ...]
    start: tuple[int, ...]
    lengths: tuple[int, ...]

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    @property
    def title(self) -> str:
        return "conv"

    def evaluate(self, *xs: Value) -> Value:
        x, w = xs
        return convolved(x, w, self.stride, self.dilation, self.spread, self.start, self.lengths)

    def result_type(self, *types: ArrayType) -> Any:
        x, w = types
        n = len(self.stride)
        if x.ndim != n + 3 or w.ndim != n + 3:
            raise ShapeError(f"conv: x[n,g,c,…] and w[g,o,c,…] with {n} axes of space are needed, got {x} and {w}.")
        if x.shape[1] != w.shape[0] or x.shape[2] != w.shape[2]:
            raise ShapeError(f"conv: {x} and {w} differ in groups or in channels.")
        return ArrayType((x.shape[0], x.shape[1], w.shape[1], *self.lengths), result_dtype(x, w))

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        x, w = xs
        negative: Callable[[tuple[int, ...]], tuple[int, ...]] = lambda values: tuple(-v for v in values)
        if i == 0:
            back = Convolution(self.spread, negative(self.dilation), self.stride, negative(self.start), x.shape[3:])
            return fit(back(ct, conjugated(np.swapaxes(w, 1, 2))), x)
        back = Convolution(self.dilation, self.stride, self.spread, self.start, w.shape[3:])
        z = back(conjugated(np.swapaxes(x, 0, 2)), np.moveaxis(ct, 0, 2))  # [c,g,o,k]
        return fit(np.moveaxis(z, 0, 2), w)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        x, w = xs
        if mapped[0] and mapped[1]:
            return _taken_apart(self(_moved_behind(x, 1), _moved_behind(w, 0)), 1, size)
        if mapped[0]:
            return _taken_apart(self(_moved_behind(x, 0), w), 0, size)
        return _taken_apart(self(x, _moved_behind(w, 1)), 2, size)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        x, w = (ArrayType(t.shape, results[0].dtype) for t in types)
        return convolution_workspace(x, w, self.stride, self.dilation, self.spread, self.lengths)
