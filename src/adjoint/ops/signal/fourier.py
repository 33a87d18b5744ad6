"""Fourier transforms without scale: complex to complex, real to half a spectrum, half a spectrum to real.

    Z_k = Σ_j x_j exp(∓2πi jk/n)

The matrix is symmetric, so its adjoint is the transform of the other sign. A real signal of length n has the spectrum
Z_{n-k} = conj Z_k: half of it is kept, m = n//2 + 1 terms, each of which stands for w = 2 terms, the first (and for
even n the last) for one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Linear
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, real_dtype


def along(values: Value, axis: int, ndim: int) -> Value:
    """A vector as an array that varies along one axis."""
    return np.reshape(values, tuple(-1 if i == axis else 1 for i in range(ndim)))


def weights(n: int, axis: int, x: Any) -> Value:
    """How many terms of the whole spectrum each term of the half stands for."""
    m = n // 2 + 1
    w = np.full(m, 2.0, real_dtype(x.dtype))
    w[0] = 1.0
    if n % 2 == 0:
        w[-1] = 1.0
    return along(w, axis, len(x.shape))


def spectral_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype in which NumPy transforms."""
    return np.result_type(dtype if dtype.kind in "fc" else np.float64, np.complex64)


def _resized(shape: Sequence[Any], axis: int, n: int) -> tuple[Any, ...]:
    return (*shape[:axis], n, *shape[axis + 1 :])


def transform_length(n: int) -> int:
    """How many numbers a transform of n works on: a large prime factor makes them at least twice as many."""
    rest, factor = n, 2
    while factor * factor <= rest and factor < 200:
        rest, factor = (rest // factor, factor) if rest % factor == 0 else (rest, factor + 1)
    return n if rest < 200 or n < 50 else 5 * n


@primitive
class Fourier(Linear):
    """The transform of a complex array along some axes; `sign` is that of the exponent."""

    never_raises = True

    axes: tuple[int, ...]
    sign: int

    def evaluate(self, *xs: Value) -> Value:
        transform, norm = (np.fft.fftn, "backward") if self.sign < 0 else (np.fft.ifftn, "forward")
        return transform(xs[0], axes=self.axes, norm=norm) if self.axes else xs[0]

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, spectral_dtype(types[0].dtype))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (Fourier(self.axes, -self.sign)(ct),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Fourier(tuple(a + 1 for a in self.axes), self.sign)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        lengths = [np.shape(zs[0])[a] for a in self.axes]
        return round(5 * np.size(zs[0]) * math.log2(max(math.prod(lengths), 1))), 0

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        """Rows are copied, one at a time, beside a table of as many roots; of several axes, one after the other."""
        rows = [2 * transform_length(types[0].shape[a]) * results[0].dtype.itemsize for a in self.axes]
        return max(rows, default=0) + (results[0].nbytes if len(self.axes) > 1 else 0)


def real_transform_flops(size: int, n: int) -> float:
    """Of real signals of length n, `size` numbers in all: half of what the transform of complex ones takes."""
    return 2.5 * size * math.log2(max(n, 1))


@primitive
class HalfSpectrum(Linear):
    """Half the spectrum of a real array along an axis, exponent -. Its adjoint is Re Σ_k z̄_k exp(2πi jk/n)."""

    never_raises = True

    axis: int

    def evaluate(self, *xs: Value) -> Value:
        return np.fft.rfft(xs[0], axis=self.axis)

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        return ArrayType(_resized(x.shape, self.axis, x.shape[self.axis] // 2 + 1), spectral_dtype(x.dtype))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        n = xs[0].shape[self.axis]
        return (FromHalfSpectrum(self.axis, n)(ct / weights(n, self.axis, ct)),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return HalfSpectrum(self.axis + 1)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return real_transform_flops(np.size(xs[0]), np.shape(xs[0])[self.axis]), 0

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return transform_length(types[0].shape[self.axis]) * results[0].dtype.itemsize


@primitive
class FromHalfSpectrum(Linear):
    """The real array of length n with half the spectrum x, times n: z_j = Re Σ_k w_k x_k exp(2πi jk/n)."""

    never_raises = True

    axis: int
    n: int

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0])
        return np.fft.irfft(x.astype(spectral_dtype(x.dtype), copy=False), self.n, axis=self.axis, norm="forward")

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        return ArrayType(_resized(x.shape, self.axis, self.n), real_dtype(spectral_dtype(x.dtype)))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (HalfSpectrum(self.axis)(ct) * weights(self.n, self.axis, xs[0]),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return FromHalfSpectrum(self.axis + 1, self.n)(xs[0])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return real_transform_flops(np.size(zs[0]), self.n), 0

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return transform_length(self.n) * types[0].dtype.itemsize
