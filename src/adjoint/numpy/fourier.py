"""numpy.fft: lengths, axes and scales in NumPy's ways, around three linear primitives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, into, normal_axis
from adjoint.ops.arrays.rearrange import Pad
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.program.trace import bind
from adjoint.program.types import Value

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _floating(a: Any, *, complex_: bool) -> Value:
    a = as_array(a)
    if a.dtype.kind not in "fc" or a.dtype == np.float16:
        a = a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    return a.astype(np.result_type(a.dtype, np.complex64)) if complex_ and a.dtype.kind != "c" else a


def _resized(a: Value, n: int, axis: int) -> Value:
    """Cut, or filled with zeros, to length n along an axis."""
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    old = a.shape[axis]
    if n < old:
        return a[(slice(None),) * axis + (slice(0, n),)]
    return a if n == old else bind(Pad(tuple((0, n - old if i == axis else 0) for i in range(a.ndim))), a)


def _scale(norm: str | None, n: int, *, forward: bool) -> float:
    if norm not in _OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if (norm == "forward") == forward else 1.0


def _scaled(z: Value, scale: float) -> Value:
    return z if scale == 1.0 else z * scale


def _full(a: Any, lengths: Sequence[int] | None, axes: Sequence[int], norm: str | None, *, forward: bool) -> Value:
    """The complex transform along some axes."""
    a = _floating(a, complex_=True)
    axes = [normal_axis(axis, a.ndim) for axis in axes]
    if len(set(axes)) != len(axes):  # an axis that is named twice is transformed twice
        for k in reversed(range(len(axes))):
            a = _full(a, None if lengths is None else lengths[k : k + 1], axes[k : k + 1], norm, forward=forward)
        return a
    for axis, n in zip(axes, [a.shape[axis] for axis in axes] if lengths is None else lengths, strict=True):
        a = _resized(a, n, axis)
    z = bind(Fourier(tuple(sorted(axes)), -1 if forward else 1), a)
    return _scaled(z, _scale(norm, math.prod(a.shape[axis] for axis in axes), forward=forward))


def _half(a: Any, n: int | None, axis: int, norm: str | None) -> Value:
    """Half the spectrum of a real array."""
    a = _floating(a, complex_=False)
    if a.dtype.kind == "c":
        raise TypeError("rfft takes real arrays; for a complex one use np.fft.fft.")
    axis = normal_axis(axis, a.ndim)
    a = _resized(a, a.shape[axis] if n is None else n, axis)
    return _scaled(bind(HalfSpectrum(axis), a), _scale(norm, a.shape[axis], forward=True))


def _from_half(a: Any, n: int | None, axis: int, norm: str | None) -> Value:
    """The real array with half the spectrum a."""
    a = _floating(a, complex_=True)
    axis = normal_axis(axis, a.ndim)
    length: int = 2 * (a.shape[axis] - 1) if n is None else n
    if length < 1:
        raise ValueError(f"Invalid number of FFT data points ({length}) specified.")
    a = _resized(a, length // 2 + 1, axis)
    return _scaled(bind(FromHalfSpectrum(axis, length), a), _scale(norm, length, forward=False))


def _as_narrow(z: Value, a: Any) -> Value:
    """Along one axis, half a spectrum of half precision gives an array of half precision in NumPy."""
    return z.astype(np.float16) if as_array(a).dtype == np.float16 else z


def _lengths(a: Any, s: Any, axes: Any) -> tuple[list[int] | None, list[int]]:
    """The lengths and axes of a transform along several axes."""
    ndim, shape = np.ndim(a), np.shape(a)
    if axes is None:
        axes = range(ndim) if s is None else range(-len(s), 0)
    axes = [normal_axis(axis, ndim) for axis in axes]
    if s is None:
        return None, axes
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [shape[axis] if n in (-1, None) else int(n) for n, axis in zip(s, axes, strict=True)], axes


@implements(np.fft.fft)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Value:
    return into(out, _full(a, None if n is None else [n], [axis], norm, forward=True), "np.fft.fft(out=…)")


@implements(np.fft.ifft)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Value:
    return into(out, _full(a, None if n is None else [n], [axis], norm, forward=False), "np.fft.ifft(out=…)")


@implements(np.fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Value:
    return into(out, _half(a, n, axis, norm), "np.fft.rfft(out=…)")


@implements(np.fft.irfft)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Value:
    return into(out, _as_narrow(_from_half(a, n, axis, norm), a), "np.fft.irfft(out=…)")


@implements(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Value:
    z = _from_half(np.conjugate(as_array(a)), n, axis, _OPPOSITE.get(norm, norm))
    return into(out, _as_narrow(z, a), "np.fft.hfft(out=…)")


@implements(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Value:
    return into(out, np.conjugate(_half(a, n, axis, _OPPOSITE.get(norm, norm))), "np.fft.ihfft(out=…)")


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Value:
    a = as_array(a)
    return into(out, _full(a, *_lengths(a, s, axes), norm, forward=True), "np.fft.fftn(out=…)")


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Value:
    a = as_array(a)
    return into(out, _full(a, *_lengths(a, s, axes), norm, forward=False), "np.fft.ifftn(out=…)")


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Value:
    a = as_array(a)
    lengths, axes = _lengths(a, s, axes)
    z = _half(a, None if lengths is None else lengths[-1], axes[-1], norm)
    if len(axes) > 1:
        z = _full(z, None if lengths is None else lengths[:-1], axes[:-1], norm, forward=True)
    return into(out, z, "np.fft.rfftn(out=…)")


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Value:
    a = as_array(a)
    last = None if s is None or s[-1] == -1 else s[-1]  # by default twice the half, less one
    lengths, axes = _lengths(a, s, axes)
    if len(axes) > 1:
        a = _full(a, None if lengths is None else lengths[:-1], axes[:-1], norm, forward=False)
    return into(out, _from_half(a, last, axes[-1], norm), "np.fft.irfftn(out=…)")


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Value:
    return fftn(a, s, axes, norm, out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Value:
    return ifftn(a, s, axes, norm, out)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Value:
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Value:
    return irfftn(a, s, axes, norm, out)


def _shifted(x: Any, axes: Any, *, back: bool) -> Value:
    x = as_array(x)
    chosen = range(x.ndim) if axes is None else [axes] if isinstance(axes, int | np.integer) else axes
    positions = tuple(normal_axis(axis, x.ndim) for axis in chosen)
    return np.roll(x, tuple(-(x.shape[a] // 2) if back else x.shape[a] // 2 for a in positions), axis=positions)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Value:
    return _shifted(x, axes, back=False)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Value:
    return _shifted(x, axes, back=True)
