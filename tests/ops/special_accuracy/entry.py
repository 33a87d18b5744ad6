"""What is said of the accuracy of a derivative, and how it is measured.

An entry names a function of scipy.special, one of its arguments, how the derivative in it is computed, a region, and
the accuracy that holds there; `exact` is the same function in mpmath's numbers. The files beside this one list entries
in `ENTRIES`; `tools/special_accuracy.py` measures all their points, the test suite some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

import adjoint as ad
from adjoint.scipy import special
from adjoint.testing import mp_difference


class Entry(NamedTuple):
    """The derivative of `function` in `argument`, at `points` (one number for each argument, in SciPy's order)."""

    function: str
    argument: str
    method: str  # closed form, series, quadrature of …
    region: str  # where the points lie
    stated: float  # the greatest relative error that we answer for
    exact: Callable[..., Any]  # (*point) -> mpmath number: the function, or its derivative when `direct`
    points: Sequence[tuple[Any, ...]]
    position: int  # of the argument
    result: int | None = None  # which result of a function with several
    direct: bool = False
    order: int = 1
    scale: float | Callable[..., Any] = 0.0  # errors are relative to max(|exact|, scale or scale(*point)): derivatives
    # pass through zero, and where large terms cancel, no more can be had
    digits: int = 22


def ours(entry: Entry, point: Sequence[Any]) -> Any:
    """The derivative as this library has it."""
    f = getattr(special, entry.function)

    def along(x: Any) -> Any:
        z = f(*point[: entry.position], x, *point[entry.position + 1 :])
        return z if entry.result is None else z[entry.result]

    derivative = along
    for _ in range(entry.order):
        derivative = lambda x, g=derivative: ad.jvp(g, (x,), (np.ones_like(x),))[1]
    return derivative(np.asarray(point[entry.position])[()])


def exactly(entry: Entry, point: Sequence[Any]) -> Any:
    """The derivative to many digits."""
    if entry.direct:
        with mpmath.workdps(entry.digits + 10):
            return entry.exact(*[mpmath.mpmathify(p) for p in point])
    fixed = [mpmath.mpmathify(p) for p in point]
    along = lambda x: entry.exact(*fixed[: entry.position], x, *fixed[entry.position + 1 :])
    return mp_difference(along, point[entry.position], derivative=entry.order, digits=entry.digits)


def key(entry: Entry, point: Sequence[Any]) -> str:
    """What a stored value is found by."""
    part = "" if entry.result is None else f"[{entry.result}]"
    return f"{entry.function}{part} d{entry.order} {entry.argument} {tuple(point)!r}"


def error(entry: Entry, point: Sequence[Any], want: Any = None) -> float:
    """The relative error at a point; infinite for NaN. `want`: the exact derivative, where it is known."""
    with np.errstate(all="ignore"):
        got = ours(entry, point)
    want = exactly(entry, point) if want is None else want
    scale = entry.scale(*[mpmath.mpmathify(p) for p in point]) if callable(entry.scale) else entry.scale
    size = max(abs(want), mpmath.mpf(scale), mpmath.mpf("1e-300"))
    found = float(abs(mpmath.mpmathify(got.item()) - want) / size)
    return np.inf if np.isnan(found) else found
