"""Discrete cosine and sine transforms without scale, of the types I to IV, along an axis.

    DCT-I    z_k = x₀ + (-1)ᵏ x_{n-1} + 2 Σ x_j cos(πjk/(n-1))     DST-I    z_k = 2 Σ x_j sin(π(j+1)(k+1)/(n+1))
    DCT-II   z_k = 2 Σ x_j cos(πk(2j+1)/2n)                        DST-II   z_k = 2 Σ x_j sin(π(k+1)(2j+1)/2n)
    DCT-III  z_k = x₀ + 2 Σ x_j cos(πj(2k+1)/2n)                   DST-III  z_k = (-1)ᵏ x_{n-1} + 2 Σ x_j sin(π(j+1)(2k+1)/2n)
    DCT-IV   z_k = 2 Σ x_j cos(π(2j+1)(2k+1)/4n)                   DST-IV   z_k = 2 Σ x_j sin(π(2j+1)(2k+1)/4n)

The matrices of type IV and DST-I are symmetric. In the others one or two terms are not doubled: with D = diag(½, 1 … 1)
(sines: 1 … 1, ½) III = IIᵀ D, and with E = diag(1, 2 … 2, 1) DCT-I = K E, where K is symmetric.
"""  # noqa: E501

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Linear
from adjoint.ops.signal.fourier import along, transform_length
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, real_dtype


@primitive
class TrigonometricTransform(Linear):
    """The transform of `kind` "dct" or "dst" and of a type from 1 to 4, along an axis."""

    kind: str
    type: int
    axis: int

    @property
    def title(self) -> str:
        return self.kind

    @staticmethod
    def _dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
        return dtype if dtype.kind in "fc" and dtype != np.float16 else np.dtype(np.float64)

    def evaluate(self, *xs: Value) -> Value:
        import scipy.fft as library

        x = np.asarray(xs[0])
        return getattr(library, self.kind)(x.astype(self._dtype(x.dtype), copy=False), self.type, axis=self.axis)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, self._dtype(types[0].dtype))

    def _weights(self, z: Value, ends: Sequence[int], value: float) -> Value:
        w = np.ones(z.shape[self.axis], real_dtype(z.dtype))
        w[list(ends)] = value
        return along(w, self.axis, len(z.shape))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        other = TrigonometricTransform(self.kind, {2: 3, 3: 2}.get(self.type, self.type), self.axis)
        end = 0 if self.kind == "dct" else -1
        if self.type == 1 and self.kind == "dct":
            w = self._weights(ct, (0, -1), 0.5)
            return (other(ct / w) * w,)
        if self.type == 2:
            return (other(ct * self._weights(ct, (end,), 2.0)),)
        if self.type == 3:
            return (other(ct) * self._weights(ct, (end,), 0.5),)
        return (other(ct),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return TrigonometricTransform(self.kind, self.type, self.axis + 1)(xs[0])

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return 2 * transform_length(types[0].shape[self.axis]) * results[0].dtype.itemsize
