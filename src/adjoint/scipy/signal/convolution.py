"""Convolution and correlation of whole arrays, as SciPy names them. The way to compute it is chosen by the sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ops.signal.convolution import Convolution
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, constant, filtered, floating, for_traced, refuse, vector

MODES = ("full", "valid", "same")


def _checked_mode(call: str, mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"{call}: acceptable mode flags are 'valid', 'same', or 'full', got {mode!r}.")


def _in_order(call: str, a: Value, b: Value, mode: str) -> tuple[Value, Value]:
    """For mode "valid" the larger one first."""
    if mode == "valid" and not all(m >= n for m, n in zip(a.shape, b.shape, strict=True)):
        if not all(n >= m for m, n in zip(a.shape, b.shape, strict=True)):
            raise ValueError(
                f"{call}: for 'valid' mode, one must be at least as large as the other in every dimension."
            )
        return b, a
    return a, b


def _extent(n: int, m: int, mode: str) -> tuple[int, int]:
    """First position and length of a convolution of lengths n and m."""
    return {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]


def _convolved(x: Value, w: Value, mode: str) -> Value:
    """x[n, g, …] and w[g, …]: z = Σ x[n, g, i] w[g, k] over i = p - k."""
    extents = [_extent(n, m, mode) for n, m in zip(x.shape[2:], w.shape[1:], strict=True)]
    ones = (1,) * len(extents)
    op = Convolution(ones, tuple(-1 for _ in ones), ones, tuple(p for p, _ in extents), tuple(n for _, n in extents))
    return np.squeeze(bind(op, np.expand_dims(x, 2), np.expand_dims(w, (1, 2))), 2)


@for_traced
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Value:
    """Σ in1[i] in2[p - i] over all axes."""
    in1, in2 = array(in1), array(in2)
    _checked_mode("convolve", mode)
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"convolve: acceptable method flags are 'auto', 'direct', or 'fft', got {method!r}.")
    if in1.ndim == in2.ndim == 0:
        return in1 * in2
    if in1.ndim != in2.ndim:
        raise ValueError("convolve: in1 and in2 should have the same dimensionality")
    in1, in2 = _in_order("convolve", in1, in2, mode)
    return _convolved(np.expand_dims(in1, (0, 1)), np.expand_dims(in2, 0), mode)[0, 0]


@for_traced
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Value:
    """Σ in1[i] conj(in2[i - p]) over all axes: convolution with in2 turned round and conjugated."""
    in2 = array(in2)
    return convolve(in1, np.conjugate(np.flip(in2)) if in2.ndim else np.conjugate(in2), mode, method)


@for_traced
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Value:
    """Convolution along some axes; the others broadcast."""
    in1, in2 = array(in1), array(in2)
    _checked_mode("fftconvolve", mode)
    if in1.ndim == in2.ndim == 0:
        return in1 * in2
    if in1.ndim != in2.ndim:
        raise ValueError("fftconvolve: in1 and in2 should have the same dimensionality")
    n = in1.ndim
    chosen = tuple(range(n)) if axes is None else tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axes, n)))
    last = tuple(range(n - len(chosen), n))
    in1, in2 = np.moveaxis(in1, chosen, last), np.moveaxis(in2, chosen, last)
    lead1, lead2 = in1.shape[: n - len(chosen)], in2.shape[: n - len(chosen)]
    lead = np.broadcast_shapes(lead1, lead2)
    if mode == "valid":
        sizes1, sizes2 = in1.shape[len(lead) :], in2.shape[len(lead) :]
        if not all(a >= b for a, b in zip(sizes1, sizes2, strict=True)):
            in1, in2 = _in_order("fftconvolve", in2, in1, "full")
            lead1, lead2 = lead2, lead1
            if not all(b >= a for a, b in zip(sizes1, sizes2, strict=True)):
                _in_order("fftconvolve", in2, in1, "valid")
    if math.prod(lead2) == 1:
        x = np.reshape(in1, (math.prod(lead1), 1, *in1.shape[len(lead) :]))
        z = _convolved(x, np.reshape(in2, (1, *in2.shape[len(lead) :])), mode)
    else:
        x = np.broadcast_to(in1, (*lead, *in1.shape[len(lead) :]))
        w = np.broadcast_to(in2, (*lead, *in2.shape[len(lead) :]))
        groups = math.prod(lead)
        x, w = np.reshape(x, (1, groups, *x.shape[len(lead) :])), np.reshape(w, (groups, *w.shape[len(lead) :]))
        z = _convolved(x, w, mode)
    z = np.reshape(z, (*lead, *z.shape[2:]))
    if mode != "full":  # SciPy cuts the result to the middle of in1's shape, on axes that broadcast too
        z = z[tuple(slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(lead, lead1, strict=True))]
    return np.moveaxis(z, last, chosen)


@for_traced
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Value:
    """The same as `fftconvolve`."""
    return fftconvolve(in1, in2, mode, axes)


_BORDERS = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric"}
_BORDERS["symmetric"] = "symmetric"


def _plane(call: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Value:
    in1, in2 = array(in1), array(in2)
    _checked_mode(call, mode)
    if in1.ndim != 2 or in2.ndim != 2:
        raise ValueError(f"{call}: inputs must both be 2-D arrays")
    if boundary not in _BORDERS:
        raise ValueError(
            f"{call}: acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm')."
        )
    constant(call, fillvalue=fillvalue)
    in1, in2 = _in_order(call, in1, in2, mode)
    if mode == "valid" or (_BORDERS[boundary] == "constant" and np.all(np.equal(fillvalue, 0))):
        return convolve(in1, in2, mode)
    widths = [(m - 1, m - 1) for m in in2.shape]
    if _BORDERS[boundary] == "constant":
        wide = np.pad(in1, widths, constant_values=fillvalue)
    else:
        wide = np.pad(in1, widths, mode=_BORDERS[boundary])  # type: ignore[call-overload]
    z = convolve(wide, in2, "valid")
    if mode == "full":
        return z
    rows, columns = ((m - 1) // 2 for m in in2.shape)
    return z[rows : rows + in1.shape[0], columns : columns + in1.shape[1]]


@for_traced
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Value:
    """Convolution of two matrices with a border of a value, wrapped round, or mirrored."""
    return _plane("convolve2d", in1, in2, mode, boundary, fillvalue)


@for_traced
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Value:
    """Correlation of two matrices with a border of a value, wrapped round, or mirrored."""
    in1, in2 = array(in1), array(in2)
    swapped = (
        mode == "valid" and in1.ndim == in2.ndim == 2 and any(n > m for m, n in zip(in1.shape, in2.shape, strict=True))
    )
    if swapped:
        return np.flip(_plane("correlate2d", in2, np.conjugate(np.flip(in1)), mode, boundary, fillvalue))
    turned = np.conjugate(np.flip(in2))
    if mode != "same" or in2.ndim != 2:
        return _plane("correlate2d", in1, turned, mode, boundary, fillvalue)
    # turned round, the middle of an even kernel lies one place further
    z = _plane("correlate2d", in1, turned, "full", boundary, fillvalue)
    rows, columns = (m // 2 for m in in2.shape)
    return z[rows : rows + in1.shape[0], columns : columns + in1.shape[1]]


def upsampled_length(taps: int, n: int, up: int, down: int) -> int:
    """How many positions `upfirdn` gives."""
    return ((n - 1) * up + taps - 1) // down + 1


@for_traced
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Any = 0) -> Value:
    """up - 1 zeros between the elements of x, a filter h, and every down-th place of the result."""
    h, x = vector("upfirdn", "h", h), floating(x)
    if up < 1 or down < 1:
        raise ValueError(f"upfirdn: both up and down must be >= 1, got {up} and {down}.")
    constant("upfirdn", cval=cval)
    if mode not in ("constant", None) or np.any(np.not_equal(cval, 0)):
        refuse("upfirdn", f"mode={mode!r}, cval={cval!r} has no rule for traced values", "Extend x with np.pad first")
    return filtered(x, h, axis, upsampled_length(h.shape[0], x.shape[axis], up, down), up=up, down=down)
