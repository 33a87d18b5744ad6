"""log Σ exp(x) as a primitive: stable for any x, and its slope, the softmax, also where x is infinite."""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential
from adjoint.ops.named import adjoint_product, product
from adjoint.ops.select import StopGradient
from adjoint.program.op import primitive
from adjoint.program.trace import bind
from adjoint.program.types import ArrayType, Value


def largest(x: Value, axes: tuple[int, ...]) -> Value:
    """The largest real part along the axes, which are kept; a constant for derivatives."""
    return np.max(np.real(bind(StopGradient(), x)), axis=axes, keepdims=True)


def shares(x: Value, axes: tuple[int, ...]) -> Value:
    """exp(x) / Σ exp(x). Where all of x is -inf: zeros; where some are +inf: equal shares for those."""
    if 0 in x.shape:
        return x
    top = largest(x, axes)
    endless = np.isinf(top)
    e = np.exp(np.where(endless, 0.0, x) - np.where(endless, 0.0, top))
    finite = e / np.sum(e, axis=axes, keepdims=True)
    hit = np.where(np.equal(np.real(bind(StopGradient(), x)), np.where(top > 0, top, np.nan)), 1.0, 0.0)
    count = np.sum(hit, axis=axes, keepdims=True)
    return np.where(endless, (hit / np.where(np.equal(count, 0), 1.0, count)).astype(finite.dtype), finite)


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
        return None if dx is None else np.sum(product(dx, shares(x, self.axes)), axis=self.axes)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (x,) = xs
        kept = tuple(1 if i in self.axes else n for i, n in enumerate(x.shape))
        return [adjoint_product(np.reshape(ct, kept), shares(x, self.axes))]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True], False

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return LogSumExp(tuple(a + 1 for a in self.axes))(xs[0])
