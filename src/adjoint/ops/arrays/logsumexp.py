"""log Σ exp(x) as a primitive: stable for any x, and its derivative, the softmax, also where x is infinite."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential, arithmetic_flops
from adjoint.ops.elementwise.nary_ufuncs import adjoint_product, product
from adjoint.ops.elementwise.select import StopGradient
from adjoint.program.op import primitive
from adjoint.program.trace import bind
from adjoint.program.types import ArrayType, Value


def largest(x: Value, axes: tuple[int, ...]) -> Value:
    """The largest real part along the axes, which are kept; a constant for derivatives."""
    return np.max(np.real(bind(StopGradient(), x)), axis=axes, keepdims=True)


def shifted(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, Value]:
    """m, where x = m, and e = exp(x - m). Where m is infinite, e is 1 at +inf and 0 elsewhere.

    In programs a value and its derivative share these.
    """
    top = largest(x, axes)
    endless = np.isinf(top)
    at_top = np.equal(np.real(bind(StopGradient(), x)), top)
    e = np.exp(np.where(endless, 0.0, x) - np.where(endless, 0.0, top))
    return top, at_top, np.where(endless, np.where(top > 0, at_top, False).astype(e.dtype), e)


def shares(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """(e, 1 / Σ e), whose product is exp(x) / Σ exp(x). Where all of x is -inf, that is zero; +inf share alike."""
    e = shifted(x, axes)[2]
    total = np.sum(e, axis=axes, keepdims=True)
    return e, 1.0 / np.where(np.equal(total, 0), 1.0, total).astype(e.dtype)


def written_out(x: Value, axes: tuple[int, ...]) -> Value:
    """`LogSumExp` of real numbers by simpler operations, for programs that will not be differentiated any more."""
    top, at_top, e = shifted(x, axes)
    zero = x.dtype.type(0)
    rest = np.sum(np.where(at_top, zero, e), axis=axes, keepdims=True)
    n = np.sum(np.where(at_top, e, zero), axis=axes, keepdims=True)
    z = np.where(np.isinf(top), top, np.log1p(rest / n) + np.log(n) + top)
    return np.reshape(z, tuple(size for i, size in enumerate(x.shape) if i not in axes))


@primitive
class LogSumExp(Differential):
    """z = log Σ exp(x) over some axes, as m + log n + log(1 + Σ' exp(x - m)/n).

    m is the maximum, n how often it occurs, Σ' the sum of the rest.
    """

    axes: tuple[int, ...]

    def evaluate(self, *xs: Value) -> Value:
        x: Value = np.asarray(xs[0])
        x = x if x.dtype.kind in "fc" else x.astype(np.float64)
        if x.size == 0:
            return np.sum(x, axis=self.axes) - np.inf
        with np.errstate(all="ignore"):
            m: Value = np.max(x.real, axis=self.axes, keepdims=True)
            m = np.where(np.isfinite(m), m, 0.0).astype(m.dtype)
            at_top = x.real == m
            rest: Value = np.sum(np.where(at_top, 0.0, np.exp(x - m)), axis=self.axes, keepdims=True)
            n: Value = np.sum(np.exp(np.where(at_top, x - m, -np.inf)), axis=self.axes, keepdims=True, dtype=x.dtype)
            z: Value = np.where(np.equal(n, 0), np.log(rest), np.log1p(rest / n) + np.log(n)) + m
        return np.squeeze(z, axis=self.axes).astype(x.dtype)[()]

    def result_type(self, *types: ArrayType) -> Any:
        dtype = types[0].dtype if types[0].differentiable else np.dtype(np.float64)
        return ArrayType(tuple(n for i, n in enumerate(types[0].shape) if i not in self.axes), dtype)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (x,), (dx,) = xs, dxs
        if dx is None or 0 in x.shape:
            return None
        e, scale = shares(x, self.axes)
        moved = np.sum(product(dx, e), axis=self.axes)
        return moved * np.reshape(scale, moved.shape)  # z is not kept

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (x,) = xs
        if 0 in x.shape:
            return [None]
        e, scale = shares(x, self.axes)
        return [adjoint_product(adjoint_product(np.reshape(ct, scale.shape), scale), e)]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True], False

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return LogSumExp(tuple(a + 1 for a in self.axes))(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 3 * np.size(xs[0]))[0], np.size(xs[0])

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return 2.13 * types[0].nbytes  # measured
