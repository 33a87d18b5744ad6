"""Analytic signals, other sampling rates, spectra on arcs: linear maps through Fourier transforms and filters."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy.signal as _scipy_signal

from adjoint.program.types import Value
from adjoint.scipy.signal.along import (
    array,
    constant,
    cut,
    filtered,
    floating,
    for_traced,
    refuse,
    spread_along,
    vector,
)
from adjoint.scipy.signal.convolution import upsampled_length
from adjoint.scipy.signal.filtering import filtfilt, lfilter, sosfilt, sosfiltfilt

_design: Any = _scipy_signal  # its functions have several kinds of results


def _real(call: str, x: Any) -> Value:
    x = floating(x)
    if x.dtype.kind == "c":
        raise ValueError(f"{call}: x must be real.")
    return x


def _one_sided(n: int, dtype: Any) -> Any:
    """2 for positive frequencies, 0 for negative ones, 1 for those that are neither."""
    w = np.zeros(n, dtype)
    w[0] = 1
    w[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        w[n // 2] = 1
    return w


@for_traced
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Value:  # noqa: N803
    """The analytic signal: x without its negative frequencies."""
    x = _real("hilbert", x)
    n = x.shape[axis] if N is None else operator.index(N)
    if n <= 0:
        raise ValueError("hilbert: N must be positive.")
    return np.fft.ifft(np.fft.fft(x, n, axis=axis) * spread_along(_one_sided(n, x.dtype), axis, x.ndim), axis=axis)


@for_traced
def hilbert2(x: Any, N: Any = None, axes: tuple[int, int] = (-2, -1)) -> Value:  # noqa: N803
    """The analytic signal of two dimensions: one quadrant of the spectrum."""
    x = _real("hilbert2", x)
    if x.ndim < 2 or len(axes) != 2 or axes[0] % x.ndim == axes[1] % x.ndim:
        raise ValueError("hilbert2: two different axes of an array with two or more are needed.")
    sizes = [x.shape[a] for a in axes] if N is None else [N, N] if isinstance(N, int) else list(N)
    z = np.fft.fft2(x, sizes, axes=axes)
    for axis, n in zip(axes, sizes, strict=True):
        w = np.zeros(n, x.dtype)
        w[: (n + 1) // 2] = 2
        w[0] = 1
        z = z * spread_along(w, axis, x.ndim)
    return np.fft.ifft2(z, axes=axes)


@for_traced
def czt(x: Any, m: int | None = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Value:
    """Σ x[j] z⁻ʲ at the points z = a w⁻ᵏ, k = 0 … m-1."""
    x = floating(x)
    constant("czt", w=w, a=a)
    return _at_points(x, _design.czt_points(x.shape[axis] if m is None else m, w, a), axis)


@for_traced
def zoom_fft(x: Any, fn: Any, m: int | None = None, *, fs: float = 2, endpoint: bool = False, axis: int = -1) -> Value:
    """The spectrum of x at m frequencies in a band."""
    x = floating(x)
    constant("zoom_fft", fn=fn, fs=fs)
    low, high = (0.0, float(fn)) if np.size(fn) == 1 else (float(f) for f in fn)
    frequencies = np.linspace(low, high, x.shape[axis] if m is None else m, endpoint=endpoint)
    return _at_points(x, np.exp(2j * np.pi * frequencies / fs), axis)


def _at_points(x: Value, points: Any, axis: int) -> Value:
    powers = points[None, :] ** -np.arange(x.shape[axis])[:, None]
    powers = powers.astype(np.result_type(x.dtype, np.complex64))
    return np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), powers), -1, axis)


@for_traced
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """x with another number of samples, by its Fourier series."""
    if domain not in ("time", "freq"):
        raise ValueError(f"resample: domain must be 'time' or 'freq', got {domain!r}.")
    constant("resample", window=window)
    x, num = floating(x), operator.index(num)
    real = domain == "time" and x.dtype.kind == "f"
    z = np.moveaxis(x, axis, -1)
    n = z.shape[-1]
    m = min(n, num)
    weights = _spectral_window(window, n)
    if real:
        z = np.fft.rfft(z)
        if weights is not None:
            bins = z.shape[-1]
            weights[1:bins] = (weights[1:bins] + np.flip(weights[-bins + 1 :])) / 2
            z = z * weights[:bins].astype(x.dtype)
        z = z[..., : m // 2 + 1]
        if m % 2 == 0 and num != n:  # the middle term stands for two, or for half of two
            middle = np.ones(m // 2 + 1, x.dtype)
            middle[-1] = 2 if num < n else 0.5
            z = z * middle
        z = np.fft.irfft(z * (num / n), num)
    else:
        z = np.fft.fft(z) if domain == "time" else z.astype(np.result_type(z.dtype, np.complex64))
        if weights is not None:
            z = z * weights
        low, high = z[..., : m // 2 + 1], z[..., n - (m - m // 2 - 1) :]
        if m % 2 == 0 and num < n:
            low = np.concatenate([low[..., :-1], low[..., -1:] + z[..., n - m // 2 : n - m // 2 + 1]], axis=-1)
        elif m % 2 == 0 and n < num:
            half = low[..., -1:] / 2
            low, high = np.concatenate([low[..., :-1], half], axis=-1), np.concatenate([half, high], axis=-1)
        gap = np.zeros((*z.shape[:-1], num - low.shape[-1] - high.shape[-1]), z.dtype)
        z = np.fft.ifft(np.concatenate([low, gap, high], axis=-1) * (num / n))
    z = np.moveaxis(z, -1, axis)
    return z if t is None else (z, t[0] + (t[1] - t[0]) * (n / num) * np.arange(num))


def _spectral_window(window: Any, n: int) -> Any:
    if window is None:
        return None
    if callable(window):
        return np.array(window(np.fft.fftfreq(n)))
    if hasattr(window, "shape"):
        if window.shape != (n,):
            raise ValueError(
                f"resample: the window has shape {window.shape}; it needs one number for each of {n} bins."
            )
        return np.array(window)
    return np.fft.fftshift(_design.get_window(window, n))


_BACKGROUNDS: dict[str, Any] = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}


@for_traced
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str | None = "constant",
    cval: Any = None,
) -> Value:
    """x at up / down times its rate, by a filter between zeros put in and positions left out."""
    x = floating(x)
    up, down = operator.index(up), operator.index(down)
    if up < 1 or down < 1:
        raise ValueError("resample_poly: up and down must be >= 1")
    divisor = math.gcd(up, down)
    up, down = up // divisor, down // divisor
    if up == down == 1:
        return x * 1.0
    if padtype not in (*_BACKGROUNDS, "constant") or cval is not None:
        refuse(
            "resample_poly",
            f"padtype={padtype!r}, cval={cval!r} has no rule for traced values",
            "Use 'constant', 'mean', 'median', 'minimum' or 'maximum', or extend x with np.pad",
        )
    if isinstance(window, str | tuple):
        half = 10 * max(up, down)
        h = _design.firwin(2 * half + 1, 1.0 / max(up, down), window=window)
        h = (h * up).astype(x.dtype)
    else:
        h = vector("resample_poly", "window", window)
        half = (h.shape[0] - 1) // 2
        h = h * up
    background = _BACKGROUNDS[padtype](x, axis=axis, keepdims=True) if padtype in _BACKGROUNDS else None
    n = x.shape[axis]
    x = x if background is None else x - background
    y = filtered(x, h, axis, -(-n * up // down), up=up, down=down, start=half)
    return y if background is None else y + background


@for_traced
def decimate(
    x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> Value:
    """Every q-th sample, after a filter that takes away what would be folded."""
    x, q = floating(x), operator.index(q)
    if ftype == "fir":
        b = _design.firwin((20 * q if n is None else operator.index(n)) + 1, 1.0 / q, window="hamming")
        b = b.astype(x.dtype)
        if zero_phase:
            return resample_poly(x, 1, q, axis=axis, window=b)
        return filtered(x, b, axis, min(-(-x.shape[axis] // q), upsampled_length(len(b), x.shape[axis], 1, q)), down=q)
    if ftype == "iir":
        sos = _design.cheby1(8 if n is None else operator.index(n), 0.05, 0.8 / q, output="sos").astype(x.dtype)
        y = (sosfiltfilt if zero_phase else sosfilt)(sos, x, axis=axis)
    elif hasattr(ftype, "_as_tf") and ftype.dt is not None:
        system = ftype._as_tf()
        b, a = array(system.num), array(system.den)
        if len(np.ravel(ftype._as_zpk().poles)) == 0:
            return decimate_by(x, b / a, q, axis, zero_phase)
        y = (filtfilt if zero_phase else lfilter)(b, a, x, axis=axis)
    else:
        raise ValueError(f"decimate: ftype must be 'iir', 'fir' or a dlti system, got {ftype!r}.")
    return cut(y, axis, None, None, q)


def decimate_by(x: Value, b: Value, q: int, axis: int, zero_phase: bool) -> Value:
    """Every q-th sample after a filter b of finite length."""
    if zero_phase:
        return resample_poly(x, 1, q, axis=axis, window=b)
    return filtered(x, b, axis, -(-x.shape[axis] // q), down=q)
