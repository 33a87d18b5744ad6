"""Recursive filters, once and both ways, with initial states; derivatives in coefficients, signal and states.

    Σ a[k] y[t-k] = Σ b[k] x[t-k] + a[0] zi[t]

is a convolution with b, and then the inverse of one with a (`adjoint.ops.signal.recursive_filter`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.signal.recursive_filter import AllPole
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.signal.along import (
    array,
    cut,
    extended,
    filtered,
    floating,
    for_traced,
    refuse,
    spread_along,
    vector,
)
from adjoint.scipy.signal.convolution import convolve


def _recursive(a: Value, v: Value, axis: int) -> Value:
    """y with Σ a[k] y[t-k] = v[t] along an axis."""
    moved = np.moveaxis(v, axis, -1)
    y = bind(AllPole(), np.reshape(a, (1, a.shape[0])), np.reshape(moved, (int(np.prod(moved.shape[:-1])), 1, -1)))
    return np.moveaxis(np.reshape(y, moved.shape), -1, axis)


def _filled(x: Value, axis: int, length: int) -> Value:
    """x with zeros behind it along an axis."""
    widths = [(0, length - x.shape[axis] if j == axis % x.ndim else 0) for j in range(x.ndim)]
    return np.pad(x, widths)


@for_traced
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """y = b / a applied to x along an axis; with initial states `zi` also the final states."""
    b, a, x = vector("lfilter", "b", b), vector("lfilter", "a", a), floating(x)
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    n, order = x.shape[axis], max(a.shape[0], b.shape[0]) - 1
    if zi is None:
        return _recursive(a, filtered(x, b, axis, n), axis)
    zi = floating(zi)
    wanted = (*x.shape[:axis], order, *x.shape[axis + 1 :])
    try:
        zi = np.broadcast_to(zi, wanted)
    except ValueError:
        raise ShapeError(f"lfilter: unexpected shape for zi: expected {wanted}, found {zi.shape}.") from None
    v = filtered(x, b, axis, n + order) + a[0] * _filled(zi, axis, n + order)
    y = _recursive(a, cut(v, axis, 0, n), axis)
    zf = (cut(v, axis, n, None) - cut(filtered(y, a, axis, n + order), axis, n, None)) / a[0]
    return y, zf


@for_traced
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Value:
    """The states of a filter after the given last outputs y and inputs x, the latest first."""
    b, a, y = vector("lfiltic", "b", b), vector("lfiltic", "a", a), floating(y)
    past_y, past_x, order = a.shape[0] - 1, b.shape[0] - 1, max(a.shape[0], b.shape[0]) - 1
    x = np.zeros(past_x) if x is None else floating(x)
    y, x = (_filled(v, 0, n) if v.shape[0] < n else v for v, n in ((y, past_y), (x, past_x)))
    zi = []
    for m in range(order):
        term = np.sum(b[m + 1 :] * x[: max(0, past_x - m)]) - np.sum(a[m + 1 :] * y[: max(0, past_y - m)])
        zi.append(term / a[0])
    return np.stack(zi) if zi else np.zeros(0)


@for_traced
def lfilter_zi(b: Any, a: Any) -> Value:
    """The states in which a filter stands when its input has always been 1."""
    b, a = vector("lfilter_zi", "b", b), vector("lfilter_zi", "a", a)
    n = max(a.shape[0], b.shape[0])
    b, a = _filled(b / a[0], 0, n), _filled(a / a[0], 0, n)
    drive = b[1:] - a[1:] * b[0]
    first = np.sum(drive) / np.sum(a)
    return np.cumsum(a)[:-1] * first - (np.cumsum(drive) - drive)


@for_traced
def deconvolve(signal: Any, divisor: Any) -> tuple[Value, Value]:
    """Quotient and remainder: signal = convolve(divisor, quotient) + remainder."""
    num, den = vector("deconvolve", "signal", signal), vector("deconvolve", "divisor", divisor)
    n = num.shape[0] - den.shape[0] + 1
    if n < 1:
        return np.zeros(0), num
    quotient = _recursive(den, num[:n], 0)
    return quotient, num - convolve(den, quotient)


def _sections(call: str, sos: Any) -> Value:
    sos = floating(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ShapeError(f"{call}: sos array must be of shape (n_sections, 6), got {sos.shape}.")
    return sos


@for_traced
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Second-order sections b₀ b₁ b₂ 1 a₁ a₂, one after another."""
    sos, x = _sections("sosfilt", sos), floating(x)
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    if zi is None:
        for k in range(sos.shape[0]):
            x = _recursive(sos[k, 3:], filtered(x, sos[k, :3], axis, x.shape[axis]), axis)
        return x
    zi = floating(zi)
    wanted = (sos.shape[0], *x.shape[:axis], 2, *x.shape[axis + 1 :])
    if zi.shape != wanted:
        raise ShapeError(f"sosfilt: invalid zi shape: expected {wanted}, found {zi.shape}.")
    states = []
    for k in range(sos.shape[0]):
        x, last = lfilter(sos[k, :3], sos[k, 3:], x, axis, zi[k])
        states.append(last)
    return x, np.stack(states)


@for_traced
def sosfilt_zi(sos: Any) -> Value:
    """The states of the sections when the input has always been 1."""
    sos = _sections("sosfilt_zi", sos)
    scale, states = 1.0, []
    for k in range(sos.shape[0]):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * np.sum(b) / np.sum(a)
    return np.stack(states)


def _prolonged(call: str, padtype: str | None, padlen: int | None, x: Value, axis: int, taps: int) -> tuple[int, Value]:
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(f"{call}: padtype must be 'even', 'odd', 'constant', or None; got {padtype!r}.")
    edge = 0 if padtype is None else taps * 3 if padlen is None else padlen
    if x.shape[axis] <= edge:
        raise ValueError(f"{call}: the length of the input vector x must be greater than padlen, which is {edge}.")
    return edge, extended(x, edge, padtype, axis)


@for_traced
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Value:
    """A filter forwards and then backwards, so that nothing is delayed."""
    if method != "pad":
        refuse("filtfilt", f"method={method!r} has no rule for traced values", "Use method='pad'")
    b, a, x = vector("filtfilt", "b", b), vector("filtfilt", "a", a), floating(x)
    edge, y = _prolonged("filtfilt", padtype, padlen, x, axis, max(a.shape[0], b.shape[0]))
    zi = spread_along(lfilter_zi(b, a), axis, x.ndim)
    for _ in range(2):
        y, _zf = lfilter(b, a, y, axis, zi * cut(y, axis, 0, 1))
        y = np.flip(y, axis)
    return cut(y, axis, edge, -edge) if edge > 0 else y


@for_traced
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> Value:
    """Second-order sections forwards and then backwards."""
    sos, x = _sections("sosfiltfilt", sos), floating(x)
    taps = 2 * sos.shape[0] + 1
    if padtype is not None and padlen is None:
        taps -= int(np.minimum(np.sum(np.equal(sos[:, 2], 0)), np.sum(np.equal(sos[:, 5], 0))))
    edge, y = _prolonged("sosfiltfilt", padtype, padlen, x, axis, taps)
    zi = np.stack([spread_along(state, axis, x.ndim) for state in array(sosfilt_zi(sos))])
    for _ in range(2):
        y, _zf = sosfilt(sos, y, axis, zi * cut(y, axis, 0, 1))
        y = np.flip(y, axis)
    return cut(y, axis, edge, -edge) if edge > 0 else y
