"""Arrays in a few words: shape, range, and a line of bars."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.show.explanation.notation import number

__all__ = ["sparkline", "summary"]

BARS = "▁▂▃▄▅▆▇█"


def summary(value: Value, digits: int = 7, width: int = 12) -> str:
    """A number as it is, a short vector element by element, anything longer as shape, range and sparkline."""
    if value is None:
        return ""
    array = np.asarray(value)
    if array.ndim == 0:
        return number(array[()], digits)
    shape = "×".join(map(str, array.shape))
    if array.size == 0:
        return f"[{shape}] empty"
    if array.ndim == 1 and array.size <= 3:
        return f"[{', '.join(number(x, min(digits, 5)) for x in array)}]"
    if array.dtype.kind == "b":
        return f"[{shape}] {int(array.sum())} True"
    if array.dtype.kind == "c":
        return f"[{shape}] |·| {number(np.min(np.abs(array)), 3)} … {number(np.max(np.abs(array)), 3)}"
    with np.errstate(all="ignore"):
        low, high = np.min(array), np.max(array)
        remark = ""
        if not (np.isfinite(low) and np.isfinite(high)):
            finite = array[np.isfinite(array)]
            remark = f" {array.size - finite.size} not finite"
            if finite.size == 0:
                return f"[{shape}]{remark}"
            low, high = np.min(finite), np.max(finite)
    span = _round(low) if low == high else f"{_round(low)} … {_round(high)}"
    return f"[{shape}] {span}{remark} {sparkline(array, width)}".rstrip()


def _round(value: Any) -> str:
    """Three digits; 1296 rather than 1.3e3."""
    return number(np.rint(value), 6) if 1e3 <= abs(value) < 1e6 else number(value, 3)


def sparkline(value: Any, width: int = 12) -> str:
    """The elements in order, averaged to at most `width` bars between least and greatest; × where none is finite."""
    flat = np.ravel(np.asarray(value))
    if flat.size < 2:
        return ""
    edges = np.linspace(0, flat.size, min(width, flat.size) + 1).astype(int)
    with np.errstate(all="ignore"):
        means = np.add.reduceat(flat, edges[:-1], dtype=float) / np.diff(edges)
        if not np.all(np.isfinite(means)):
            means = np.array([_mean(flat[a:b].astype(float)) for a, b in itertools.pairwise(edges)])
    finite = means[np.isfinite(means)]
    if finite.size == 0:
        return "×" * means.size
    low, span = finite.min(), finite.max() - finite.min()
    level = lambda m: BARS[0] if span == 0 else BARS[min(int((m - low) / span * len(BARS)), len(BARS) - 1)]
    return "".join(level(m) if np.isfinite(m) else "×" for m in means)


def _mean(part: Any) -> float:
    finite = part[np.isfinite(part)]
    return float(finite.mean()) if finite.size else np.nan
