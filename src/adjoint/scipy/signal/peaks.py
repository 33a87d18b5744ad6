"""Peaks: where they are is constant; heights, prominences and widths are differentiable."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from adjoint.base.errors import ControlFlowError
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, constant, for_traced


def _known(call: str, x: Value) -> Any:
    """The numbers themselves: how many peaks there are depends on them."""
    value = primal(x)
    if isinstance(value, Tracer):
        raise ControlFlowError(
            f"{call}: how many peaks there are depends on values that are not known while a program is recorded or "
            "batch elements run together. Call it outside of ad.jit and ad.vmap, and hand in the places of the peaks."
        )
    return np.asarray(value)


def _find(call: str, function: str, data: Any, *args: Any, **options: Any) -> Any:
    return getattr(scipy.signal, function)(_known(call, array(data)), *args, **options)


@for_traced
def argrelextrema(data: Any, comparator: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """Places where an element compares with all of its neighbors."""
    return _find("argrelextrema", "argrelextrema", data, comparator, axis, order, mode)


@for_traced
def argrelmax(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """Places that are larger than their neighbors."""
    return _find("argrelmax", "argrelmax", data, axis, order, mode)


@for_traced
def argrelmin(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """Places that are smaller than their neighbors."""
    return _find("argrelmin", "argrelmin", data, axis, order, mode)


@for_traced
def peak_prominences(x: Any, peaks: Any, wlen: int | None = None) -> tuple[Value, Any, Any]:
    """How far each peak rises above the higher one of its bases, and where these are."""
    x = array(x)
    peaks = np.asarray(peaks)
    _, left, right = scipy.signal.peak_prominences(_known("peak_prominences", x), peaks, wlen)
    return np.take(x, peaks) - np.maximum(np.take(x, left), np.take(x, right)), left, right


@for_traced
def peak_widths(
    x: Any, peaks: Any, rel_height: Any = 0.5, prominence_data: Any = None, wlen: int | None = None
) -> tuple[Value, Value, Value, Value]:
    """The width of each peak at a part of its prominence, the height there, and where it begins and ends."""
    x, peaks = array(x), np.asarray(peaks)
    constant("peak_widths", rel_height=rel_height)
    known = _known("peak_widths", x)
    prominence, left, right = peak_prominences(x, peaks, wlen) if prominence_data is None else prominence_data
    plain = (np.asarray(primal(array(prominence))), np.asarray(left), np.asarray(right))
    _, _, begin, end = scipy.signal.peak_widths(known, peaks, rel_height, plain, wlen)
    height = np.take(x, peaks) - prominence * rel_height
    below, above = np.floor(begin).astype(int), np.ceil(end).astype(int)
    first = below + _part(x, height, below, below + 1, begin > below)
    last = above - _part(x, height, above, above - 1, end < above)
    return last - first, height, first, last


def _part(x: Value, height: Value, low: Any, high: Any, crossed: Any) -> Value:
    """How much of the way from sample `low` to sample `high` lies below the height; 0 where it is not crossed."""
    high = np.clip(high, 0, x.shape[0] - 1)
    rise = np.where(crossed, np.take(x, high) - np.take(x, low), 1.0)
    return np.where(crossed, (height - np.take(x, low)) / rise, 0.0)


@for_traced
def find_peaks(
    x: Any,
    height: Any = None,
    threshold: Any = None,
    distance: Any = None,
    prominence: Any = None,
    width: Any = None,
    wlen: int | None = None,
    rel_height: float = 0.5,
    plateau_size: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Places of peaks, and their properties; those that are made of x are differentiable."""
    x = array(x)
    limits = (height, threshold, distance, prominence, width)
    height, threshold, distance, prominence, width = (_plain_limits(v) for v in limits)
    peaks, properties = scipy.signal.find_peaks(
        _known("find_peaks", x), height, threshold, distance, prominence, width, wlen, rel_height, plateau_size
    )
    if "peak_heights" in properties:
        properties["peak_heights"] = np.take(x, peaks)
    if "left_thresholds" in properties:
        properties["left_thresholds"] = np.take(x, peaks) - np.take(x, peaks - 1)
        properties["right_thresholds"] = np.take(x, peaks) - np.take(x, peaks + 1)
    if "prominences" in properties:
        properties["prominences"], left, right = peak_prominences(x, peaks, wlen)
        if "widths" in properties:
            data = (properties["prominences"], left, right)
            names = ("widths", "width_heights", "left_ips", "right_ips")
            properties |= dict(zip(names, peak_widths(x, peaks, rel_height, data, wlen), strict=True))
    return peaks, properties


def _plain_limits(limit: Any) -> Any:
    """Limits decide which peaks there are, and have no derivative."""
    if isinstance(limit, tuple | list):
        return tuple(_plain_limits(v) for v in limit)
    known = _known("find_peaks", limit) if isinstance(limit, Tracer) else limit
    return known.item() if isinstance(known, np.ndarray) and known.ndim == 0 else known
