"""The Euclidean length, with derivative zero at the origin."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# (NumPy types results by their arguments, which may be anything here.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops import kinks
from adjoint.ops.arrays.reduce import Axes, Reduction, expand
from adjoint.ops.calculus import Implicit, arithmetic_flops
from adjoint.ops.kinks import NonSmooth
from adjoint.ops.linalg.matrices import is_plain
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, real_dtype


@primitive
class Length(Reduction, Implicit):
    """z = √Σ|x|² over the axes; ż = Σ Re(x̅ ẋ) / z, and 0 where z = 0."""

    axes: Axes

    @property
    def title(self) -> str:
        return "norm"

    def evaluate(self, *xs: Value) -> Value:
        x = xs[0] if xs[0].dtype.kind in "fc" else xs[0].astype(np.float64)
        if len(self.axes) == x.ndim:  # one dot product instead of an array of squares
            flat = np.ravel(x)
            return np.sqrt(np.vdot(flat, flat).real)
        if x.dtype.kind == "c":
            return np.sqrt(np.add.reduce(x.real * x.real + x.imag * x.imag, axis=self.axes))
        return np.sqrt(np.add.reduce(x * x, axis=self.axes))

    def _dtype(self, x: ArrayType) -> np.dtype[Any]:
        return real_dtype(x.dtype) if x.dtype.kind in "fc" else np.dtype(np.float64)

    def inverse(self, z: Value) -> Value:
        """1 / z, and 0 where z = 0."""
        if is_plain(z):
            return np.divide(1, z, out=np.zeros_like(z), where=np.not_equal(z, 0))
        zero = np.equal(z, 0)
        return np.where(zero, z.dtype.type(0), 1 / np.where(zero, z.dtype.type(1), z))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        x, dx = xs[0], dxs[0]
        product = np.real(np.conjugate(x) * dx) if x.dtype.kind == "c" else x * dx
        return np.sum(product, axis=self.axes) * self.inverse(z)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (xs[0] * expand(ct * self.inverse(z), self.axes),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Length(self.moved())(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * np.size(xs[0]))

    @property
    def kinks(self) -> NonSmooth | None:
        return kinks.LENGTH
