"""Arrays in a few words: shape, range, and a line of bars."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.show.notation import number

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
        finite = array[np.isfinite(array)]
    bad = array.size - finite.size
    told = f" {bad} not finite" if bad else ""
    if finite.size == 0:
        return f"[{shape}]{told}"
    low, high = np.min(finite), np.max(finite)
    span = number(low, 3) if low == high else f"{number(low, 3)} … {number(high, 3)}"
    return f"[{shape}] {span}{told} {sparkline(array, width)}".rstrip()


def sparkline(value: Any, width: int = 12) -> str:
    """The elements in order, averaged to at most `width` bars between least and greatest; × where none is finite."""
    flat = np.ravel(np.asarray(value)).astype(float)
    if flat.size < 2:
        return ""
    edges = np.linspace(0, flat.size, min(width, flat.size) + 1).astype(int)
    with np.errstate(all="ignore"):
        means = np.array([_mean(flat[a:b]) for a, b in itertools.pairwise(edges)])
    finite = means[np.isfinite(means)]
    if finite.size == 0:
        return "×" * means.size
    low, span = finite.min(), finite.max() - finite.min()
    level = lambda m: BARS[0] if span == 0 else BARS[min(int((m - low) / span * len(BARS)), len(BARS) - 1)]
    return "".join(level(m) if np.isfinite(m) else "×" for m in means)


def _mean(part: Any) -> float:
    finite = part[np.isfinite(part)]
    return float(finite.mean()) if finite.size else np.nan
