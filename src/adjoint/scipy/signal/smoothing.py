"""Trends taken away, noise smoothed out: polynomials fitted to windows, medians of windows, local means."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.signal

from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, constant, cut, filtered, floating, for_traced, refuse
from adjoint.scipy.signal.convolution import correlate


@for_traced
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Value:  # noqa: A002
    """data without its mean, or without the straight line that fits best, between break points."""
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("detrend: trend type must be 'linear' or 'constant'.")
    x = floating(data)
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    constant("detrend", bp=bp)
    n = x.shape[axis]
    ends = np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]])).astype(int)
    if np.any(ends > n):
        raise ValueError("detrend: breakpoints must be less than length of data along given axis.")
    kind = np.result_type(x.dtype.char.lower())
    rest = np.zeros((n, n), kind)  # what remains of each sample when the line is gone
    for first, last in itertools.pairwise(ends):
        m = last - first
        q, _ = np.linalg.qr(np.stack([np.arange(1, m + 1) / m, np.ones(m)], axis=1))
        rest[first:last, first:last] = np.eye(m) - q @ q.T
    return np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), rest), -1, axis)


_BORDERS = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


@for_traced
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Value:
    """The value (or a derivative) in the middle of a polynomial fitted to each window."""
    if mode not in (*_BORDERS, "interp"):
        raise ValueError("savgol_filter: mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    constant("savgol_filter", delta=delta, cval=cval)
    x = floating(x)
    n, half = x.shape[axis], window_length // 2
    h = scipy.signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta).astype(x.dtype)
    after = window_length - 1 - half
    if mode != "interp":
        widths = [(after, half) if j == axis % x.ndim else (0, 0) for j in range(x.ndim)]
        options = {"constant_values": cval} if mode == "constant" else {}
        wide = np.pad(x, widths, mode=_BORDERS[mode], **options)  # type: ignore[call-overload]
        return filtered(wide, h, axis, n, start=window_length - 1)
    if window_length > n:
        raise ValueError("savgol_filter: if mode is 'interp', window_length must not exceed the size of x.")
    inner = filtered(x, h, axis, n, start=half)
    at = np.arange(window_length)
    # the polynomial of the first (last) window, read at its first (last) positions: a matrix
    basis = np.polynomial.polynomial.polyvander(at, polyorder)
    fit = np.linalg.pinv(basis)
    read = np.stack(
        [
            np.polynomial.polynomial.polyval(at, np.polynomial.polynomial.polyder(c, deriv))
            for c in np.eye(polyorder + 1)
        ]
        if deriv <= polyorder
        else [np.zeros(window_length)] * (polyorder + 1),
        axis=1,
    )
    edges = (read @ fit / delta**deriv).astype(x.dtype)
    by = lambda part, rows: np.moveaxis(np.matmul(np.moveaxis(part, axis, -1), rows.T), -1, axis)
    first = by(cut(x, axis, 0, window_length), edges[:half])
    last = by(cut(x, axis, n - window_length, None), edges[window_length - half :])
    return np.concatenate([first, cut(inner, axis, half, n - half), last], axis=axis)


def _neighbors(x: Value, size: tuple[int, ...]) -> Value:
    """For each element, all that lie in a box around it, as a last axis; zeros beyond the ends."""
    wide = np.pad(x, [(k // 2, k // 2) for k in size])
    windows = np.lib.stride_tricks.sliding_window_view(wide, size)
    return np.reshape(windows, (*x.shape, int(np.prod(size))))


def _odd(call: str, size: Any, ndim: int) -> tuple[int, ...]:
    sizes = np.broadcast_to(3 if size is None else np.asarray(size), (ndim,))
    if np.any(sizes % 2 != 1):
        raise ValueError(f"{call}: each element of kernel_size should be odd.")
    return tuple(int(k) for k in sizes)


@for_traced
def medfilt(volume: Any, kernel_size: Any = None) -> Value:
    """The median of a box around each element, with zeros beyond the ends."""
    x = floating(volume)
    return np.median(_neighbors(x, _odd("medfilt", kernel_size, x.ndim)), axis=-1)


@for_traced
def medfilt2d(input: Any, kernel_size: Any = 3) -> Value:  # noqa: A002
    """The median of a rectangle around each element, with zeros beyond the ends."""
    x = floating(input)
    if x.ndim != 2:
        raise ValueError(f"medfilt2d: a matrix is needed, got shape {x.shape}.")
    return np.median(_neighbors(x, _odd("medfilt2d", kernel_size, 2)), axis=-1)


@for_traced
def order_filter(a: Any, domain: Any, rank: int) -> Value:
    """The element of the given rank among those that `domain` (an array of zeros and ones) selects around each one."""
    x = floating(a)
    constant("order_filter", domain=domain)
    chosen = np.asarray(domain)
    size = _odd("order_filter", chosen.shape, x.ndim)
    return np.sort(_neighbors(x, size)[..., np.flatnonzero(chosen)], axis=-1)[..., rank]


@for_traced
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Value:
    """Each element drawn to the mean of its box, the more, the less the box varies."""
    x = floating(im)
    if x.dtype.kind == "c":
        refuse("wiener", "complex numbers have no rule", "Filter the real and the imaginary part")
    size = tuple(int(k) for k in np.broadcast_to(3 if mysize is None else np.asarray(mysize), (x.ndim,)))
    count, ones = int(np.prod(size)), np.ones(size, x.dtype)
    mean = correlate(x, ones, "same") / count
    variance = correlate(x**2, ones, "same") / count - mean**2
    noise = np.mean(np.ravel(variance)) if noise is None else array(noise)
    quiet = variance < noise
    safe = np.where(quiet, 1.0, variance)
    return np.where(quiet, mean, (x - mean) * (1 - noise / safe) + mean)
