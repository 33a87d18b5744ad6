"""Power spectra and spectrograms: the signal in pieces, each without its trend, times a window, transformed.

Differentiable in the signals, and in the window when it is given as an array.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.signal

from adjoint.ops.signal.resampling import WeightedTaps
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, constant, extended, floating, for_traced, spread_along, vector
from adjoint.scipy.signal.smoothing import detrend as without_trend


def _window(call: str, window: Any, nperseg: int | None, n: int) -> tuple[Value, int]:
    """The window and the length of a piece."""
    if isinstance(window, str | tuple):
        nperseg = 256 if nperseg is None else int(nperseg)
        if nperseg < 1:
            raise ValueError(f"{call}: nperseg must be a positive integer, got {nperseg}.")
        if nperseg > n:
            warnings.warn(
                f"nperseg = {nperseg} is greater than the length of the signal, {n}; using nperseg = {n}", stacklevel=4
            )
            nperseg = n
        return scipy.signal.get_window(window, nperseg), nperseg
    win = vector(call, "window", window)
    if nperseg is not None and nperseg != win.shape[0]:
        raise ValueError(f"{call}: nperseg={nperseg} is different from the length of the window, {win.shape[0]}.")
    return win, win.shape[0]


def _pieces(x: Value, size: int, step: int) -> Value:
    """[…, piece, position in it] of the last axis."""
    n = x.shape[-1]
    count = max(0, (n - size) // step + 1)
    if step == size:
        return np.reshape(x[..., : count * size], (*x.shape[:-1], count, size))
    index = np.reshape(np.arange(count)[:, None] * step + np.arange(size), (-1, 1))
    z = bind(WeightedTaps(x.ndim - 1, n), x, index, np.ones(index.shape))
    return np.reshape(z, (*x.shape[:-1], count, size))


def _put_together(pieces: Value, step: int) -> Value:
    """The sum of overlapping pieces […, piece, position in it]: the transpose of `_pieces`."""
    count, size = pieces.shape[-2:]
    index = np.reshape(np.arange(count)[:, None] * step + np.arange(size), (-1, 1))
    flat = np.reshape(pieces, (*pieces.shape[:-2], count * size))
    op = WeightedTaps(flat.ndim - 1, (count - 1) * step + size, transposed=True)
    return bind(op, flat, index, np.ones(index.shape))


def _spectra(x: Value, win: Value, step: int, nfft: int, detrend: Any, one_sided: bool) -> Value:
    """[…, piece, frequency]."""
    pieces = _pieces(x, win.shape[0], step)
    if callable(detrend):
        pieces = detrend(pieces)
    elif detrend:
        pieces = without_trend(pieces, type=detrend)
    pieces = pieces * win
    return np.fft.rfft(pieces, nfft) if one_sided else np.fft.fft(pieces, nfft)


def _layout(call: str, nperseg: int, noverlap: int | None, nfft: int | None, default: int) -> tuple[int, int]:
    """The step from piece to piece, and the length of the transform."""
    nfft = nperseg if nfft is None else int(nfft)
    noverlap = default if noverlap is None else int(noverlap)
    if nfft < nperseg:
        raise ValueError(f"{call}: nfft={nfft} must be greater than or equal to nperseg={nperseg}.")
    if noverlap >= nperseg:
        raise ValueError(f"{call}: noverlap={noverlap} must be less than nperseg={nperseg}.")
    return nperseg - noverlap, nfft


def _scale(call: str, scaling: str, win: Value, fs: float) -> Value:
    if scaling == "density":
        return 1.0 / (fs * np.sum(win * win))
    if scaling == "spectrum":
        return 1.0 / np.sum(win) ** 2
    raise ValueError(f"{call}: scaling must be 'density' or 'spectrum', got {scaling!r}.")


def _doubled(z: Value, nfft: int) -> Value:
    """One side of a spectrum stands for both: all terms but the first (and for even lengths the last) count twice."""
    w = np.full(nfft // 2 + 1, 2.0, z.real.dtype if z.dtype.kind == "c" else z.dtype)
    w[0] = 1
    if nfft % 2 == 0:
        w[-1] = 1
    return z * w


def _frequencies(nfft: int, fs: float, one_sided: bool) -> Any:
    return (np.fft.rfftfreq if one_sided else np.fft.fftfreq)(nfft, 1 / fs)


def _lengthened(x: Value, n: int) -> Value:
    return x if x.shape[-1] == n else np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


@for_traced
def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Value]:
    """Frequencies and the cross power spectrum of x and y: the mean of conj(X) Y over all pieces."""
    constant("csd", fs=fs)
    if average not in ("mean", "median"):
        raise ValueError(f"csd: average must be 'median' or 'mean', got {average!r}.")
    same = y is x
    x = np.moveaxis(floating(x), axis, -1)
    y = x if same else np.moveaxis(floating(y), axis, -1)
    n = max(x.shape[-1], y.shape[-1])
    win, size = _window("csd", window, nperseg, n)
    step, nfft = _layout("csd", size, noverlap, nfft, size // 2)
    one_sided = return_onesided and x.dtype.kind != "c" and y.dtype.kind != "c"
    spectra = _spectra(_lengthened(x, n), win, step, nfft, detrend, one_sided)
    others = spectra if same else _spectra(_lengthened(y, n), win, step, nfft, detrend, one_sided)
    power = np.real(np.conjugate(spectra) * spectra) if same else np.conjugate(spectra) * others
    power = power * _scale("csd", scaling, win, fs)
    power = _doubled(power, nfft) if one_sided else power
    count = power.shape[-2]
    if average == "median" and count > 1:
        even = 2.0 * np.arange(1, (count - 1) // 2 + 1)
        middle = lambda p: np.median(p, axis=-2) / (1 + np.sum(1 / (even + 1) - 1 / even))
        power = middle(power) if same else middle(np.real(power)) + 1j * middle(np.imag(power))
    else:
        power = np.mean(power, axis=-2)
    kind = np.result_type(x.dtype, y.dtype, np.complex64)
    power = power.astype(np.finfo(kind).dtype if same else kind)
    return _frequencies(nfft, fs, one_sided), np.moveaxis(power, -1, axis)


@for_traced
def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Value]:
    """Frequencies and the power spectrum of x, the mean over all pieces."""
    return csd(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@for_traced
def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> tuple[Any, Value]:
    """Frequencies and the power spectrum of x in one piece."""
    x = floating(x)
    n = x.shape[axis]
    if nfft is not None and nfft < n:
        x = np.moveaxis(np.moveaxis(x, axis, -1)[..., :nfft], -1, axis)
        n, nfft = nfft, None
    window = "boxcar" if window is None else window
    size = n if isinstance(window, str | tuple) else None
    return welch(x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis)


@for_traced
def coherence(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> tuple[Any, Value]:
    """Frequencies and |Pxy|² / (Pxx Pyy)."""
    options: Any = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft}
    options |= {"detrend": detrend, "axis": axis}
    x, y = array(x), array(y)
    frequencies, pxx = welch(x, **options)
    pyy, pxy = welch(y, **options)[1], csd(x, y, **options)[1]
    return frequencies, (np.real(pxy) ** 2 + np.imag(pxy) ** 2) / pxx / pyy


def _short_time(
    call: str,
    x: Any,
    fs: float,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    boundary: str | None,
    padded: bool,
    power: bool,
    eighth: bool,
) -> tuple[Any, Any, Value]:
    constant(call, fs=fs)
    if boundary not in ("even", "odd", "constant", "zeros", None):
        raise ValueError(f"{call}: unknown boundary option {boundary!r}.")
    x = floating(x)
    kind = np.result_type(x.dtype, np.complex64)
    x = np.moveaxis(x, axis, -1)
    win, size = _window(call, window, nperseg, x.shape[-1])
    step, nfft = _layout(call, size, noverlap, nfft, size // 8 if eighth else size // 2)
    x = extended(x, size // 2, boundary, x.ndim - 1)
    if padded:
        x = _lengthened(x, x.shape[-1] + (-(x.shape[-1] - size) % step) % size)
    one_sided = return_onesided and x.dtype.kind != "c"
    if return_onesided and not one_sided:
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=4)
    z = _spectra(x, win, step, nfft, detrend, one_sided)
    scale = _scale(call, scaling, win, fs)
    if power:
        z = np.real(np.conjugate(z) * z) * scale
        z = _doubled(z, nfft) if one_sided else z
        z = z.astype(np.finfo(kind).dtype)
    else:
        z = (z * np.sqrt(scale)).astype(kind)
    time = np.arange(size / 2, x.shape[-1] - size / 2 + 1, step) / float(fs)
    time = time if boundary is None else time - (size / 2) / fs
    # frequencies go where the signal was, and time behind all others
    return _frequencies(nfft, fs, one_sided), time, np.moveaxis(z, -1, axis - 1 if axis < 0 else axis)


@for_traced
def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple[Any, Any, Value]:
    """Frequencies, times, and the power (or complex amplitude, its size, its angle) of each piece."""
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise ValueError(f"spectrogram: unknown value for mode {mode!r}.")
    options = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, None, False)
    frequencies, time, z = _short_time("spectrogram", x, *options, mode == "psd", True)
    if mode == "magnitude":
        z = np.abs(z)
    elif mode in ("angle", "phase"):
        z = np.angle(z)
        z = np.unwrap(z, axis=axis - 1 if axis < 0 else axis) if mode == "phase" else z
    return frequencies, time, z


@for_traced
def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[Any, Any, Value]:
    """Frequencies, times, and the spectrum of each piece."""
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"stft: scaling must be 'spectrum' or 'psd', got {scaling!r}.")
    scaling = "density" if scaling == "psd" else scaling
    options = (window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, boundary, padded)
    return _short_time("stft", x, fs, *options, False, False)


@for_traced
def istft(
    Zxx: Any,  # noqa: N803
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple[Any, Value]:
    """Times and the signal whose pieces have these spectra: overlapping pieces are added, each times the window."""
    constant("istft", fs=fs)
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"istft: scaling must be 'spectrum' or 'psd', got {scaling!r}.")
    z = floating(Zxx)
    if z.ndim < 2 or freq_axis % z.ndim == time_axis % z.ndim:
        raise ValueError("istft: at least two axes, and differing time and frequency axes, are needed.")
    bins = z.shape[freq_axis]
    default = 2 * (bins - 1) if input_onesided else bins
    size = default if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = size if input_onesided and size == default + 1 else default
    step, nfft = _layout("istft", size, noverlap, nfft, size // 2)
    time_axis, freq_axis = time_axis % z.ndim, freq_axis % z.ndim
    z = np.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    pieces = (np.fft.irfft(z, nfft) if input_onesided else np.fft.ifft(z, nfft))[..., :size]
    win = _window("istft", window, size, max(size, 1))[0].astype(pieces.real.dtype)
    scale = np.sum(win) if scaling == "spectrum" else np.sqrt(fs * np.sum(win * win))
    x = _put_together(pieces * (win * scale), step)
    norm = _put_together(np.broadcast_to(win * win, pieces.shape[-2:]), step)
    if boundary:
        x, norm = x[..., size // 2 : x.shape[-1] - size // 2], norm[size // 2 : norm.shape[0] - size // 2]
    small = np.less_equal(norm, 1e-10)
    if np.any(small):
        warnings.warn("NOLA condition failed, STFT may not be invertible.", stacklevel=3)
    x = x / np.where(small, 1.0, norm)
    if x.ndim > 1:
        x = np.moveaxis(x, -1, time_axis - 1 if freq_axis < time_axis else time_axis)
    return np.arange(x.shape[0]) / float(fs), x


@for_traced
def lombscargle(
    x: Any,
    y: Any,
    freqs: Any,
    *,
    normalize: Any = False,
    weights: Any = None,
    floating_mean: bool = False,
) -> Value:
    """The power of sines and cosines fitted to samples y at uneven times x."""
    x, y, freqs = vector("lombscargle", "x", x), vector("lombscargle", "y", y), vector("lombscargle", "freqs", freqs)
    weights = np.ones(y.shape) if weights is None else vector("lombscargle", "weights", weights)
    if not x.shape == y.shape == weights.shape:
        raise ValueError("lombscargle: x, y and weights must be vectors of one length.")
    kind = {False: "power", True: "normalize"}.get(normalize, normalize)
    if kind not in ("power", "normalize", "amplitude"):
        raise ValueError("lombscargle: normalize must be False (or 'power'), True (or 'normalize'), or 'amplitude'.")
    w = weights / np.sum(weights)
    angle = freqs * spread_along(x, 0, 2)
    mean = lambda values: np.matmul(w, values)
    centered = lambda p, q: mean(p * q) - (mean(p) * mean(q) if floating_mean else 0.0)
    c, s = np.cos(angle), np.sin(angle)
    both = mean(c) ** 2 - mean(s) ** 2 if floating_mean else 0.0
    cc = mean(c * c)
    tau = 0.5 * np.arctan2(2.0 * centered(c, s), 2.0 * cc - 1.0 - both)
    c, s = np.cos(angle - tau), np.sin(angle - tau)
    column = spread_along(y, 0, 2)
    yc, ys, cc = centered(column, c), centered(column, s), mean(c * c)
    ss = 1.0 - cc
    if floating_mean:
        cc, ss = cc - mean(c) ** 2, ss - mean(s) ** 2
    least = np.finfo(y.dtype).epsneg
    a, b = yc / np.maximum(cc, least), ys / np.maximum(ss, least)
    if kind == "amplitude":
        return (a + 1j * b) * np.exp(1j * tau)
    power = 2.0 * (a * yc + b * ys)
    return power * (x.shape[0] / 4.0) if kind == "power" else power * (0.5 / centered(y, y))
