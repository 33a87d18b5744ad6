"""Convolution of two vectors, or of stacks of them along the last axis, in memory for the vectors alone.

    full    zₖ = Σⱼ aₖ₋ⱼ vⱼ             k = 0 … n + m - 2     (a has n elements, v has m)
    valid   zₖ = Σⱼ aₖ₊ₘ₋₁₋ⱼ vⱼ         k = 0 … n - m         (n ≥ m)

The adjoint of the one is the other, with a vector turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.calculus import Multilinear, arithmetic_flops, fit
from adjoint.ops.elementwise.pointwise import conjugated
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def _turned(x: Value) -> Value:
    """The vector backwards, conjugate."""
    return conjugated(x[..., ::-1])


PIECE = 8192  # longer scalar products are shared among threads, which costs more than it gives


def _convolved(a: Any, v: Any, valid: bool) -> Any:
    """Of two vectors, by pieces of the shorter one."""
    if len(v) > len(a):
        a, v = v, a
    n, m = len(a), len(v)
    if m <= PIECE:
        return np.convolve(a, v, "valid" if valid else "full")
    z = np.zeros(n - m + 1 if valid else n + m - 1, np.result_type(a, v))
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        if valid:
            z += np.convolve(a[m - stop : n - start], v[start:stop], "valid")
        else:
            z[start : n + stop - 1] += np.convolve(a, v[start:stop])
    return z


@primitive
class VectorConvolution(Multilinear):
    """Convolution along the last axis; other axes broadcast."""

    contracts = True
    valid: bool

    def evaluate(self, *xs: Value) -> Value:
        a, v = xs
        if a.ndim == v.ndim == 1:
            return _convolved(a, v, self.valid)
        shape = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
        rows, kernels = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (a, v))
        z = np.empty((*shape, self._length(a, v)), np.result_type(a, v))
        for index in np.ndindex(*shape):
            z[index] = _convolved(rows[index], kernels[index], self.valid)
        return z

    def _length(self, a: Any, v: Any) -> int:
        n, m = a.shape[-1], v.shape[-1]
        return n - m + 1 if self.valid else n + m - 1

    def result_type(self, *types: ArrayType) -> Any:
        a, v = types
        if self.valid and a.shape[-1] < v.shape[-1]:
            raise ShapeError(f"convolve: the kernel {v} is longer than {a}.")
        shape = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
        return ArrayType((*shape, self._length(a, v)), result_dtype(a, v))

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        if not self.valid:
            return fit(VectorConvolution(True)(ct, _turned(xs[1 - i])), xs[i])
        if i == 0:
            return fit(VectorConvolution(False)(ct, _turned(xs[1])), xs[0])
        return fit(VectorConvolution(True)(_turned(xs[0]), ct), xs[1])

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        ndim = max(np.ndim(x) - m for x, m in zip(xs, mapped, strict=True))
        stacked = [
            np.reshape(x, (size,) + (1,) * (ndim + 1 - np.ndim(x)) + x.shape[1:]) if m else x
            for x, m in zip(xs, mapped, strict=True)
        ]
        return self(*stacked)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * np.size(xs[0]) * np.shape(xs[1])[-1])
