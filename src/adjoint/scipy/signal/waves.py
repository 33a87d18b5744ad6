"""Wave forms: differentiable in time and in their parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, for_traced, vector


@for_traced
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: str = "linear",
    phi: Any = 0,
    vertex_zero: bool = True,
    *,
    complex: bool = False,  # noqa: A002
) -> Value:
    """A cosine whose frequency goes from f0 at time 0 to f1 at time t1."""
    phase = 2 * np.pi * _turns(array(t), f0, t1, f1, method, vertex_zero) + np.deg2rad(array(phi))
    return np.exp(1j * phase) if complex else np.cos(phase)


def _turns(t: Value, f0: Any, t1: Any, f1: Any, method: str, vertex_zero: bool) -> Value:
    """The integral of the frequency over time."""
    if method in ("linear", "lin", "li"):
        return f0 * t + 0.5 * (f1 - f0) / t1 * t * t
    if method in ("quadratic", "quad", "q"):
        rate = (f1 - f0) / t1**2
        return f0 * t + rate * t**3 / 3 if vertex_zero else f1 * t + rate * ((t1 - t) ** 3 - t1**3) / 3
    if method in ("logarithmic", "log", "lo"):
        if f0 * f1 <= 0.0:
            raise ValueError("chirp: for a logarithmic chirp, f0 and f1 must be nonzero and have the same sign.")
        if f0 == f1:
            return f0 * t
        rate = np.log(array(f1) / f0)
        return t1 * f0 / rate * np.expm1(rate * t / t1)
    if method in ("hyperbolic", "hyp"):
        if f0 == 0 or f1 == 0:
            raise ValueError("chirp: for a hyperbolic chirp, f0 and f1 must be nonzero.")
        if f0 == f1:
            return f0 * t
        singular = -f1 * t1 / (f0 - f1)
        return -singular * f0 * np.log(np.abs(1 - t / singular))
    raise ValueError(f"chirp: method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', got {method!r}.")


@for_traced
def gausspulse(
    t: Any,
    fc: Any = 1000,
    bw: Any = 0.5,
    bwr: float = -6,
    tpr: float = -60,
    retquad: bool = False,
    retenv: bool = False,
) -> Any:
    """A cosine of frequency fc under a Gaussian of relative bandwidth bw."""
    if fc < 0 or bw <= 0 or bwr >= 0:
        raise ValueError("gausspulse: fc must be >= 0, bw > 0, and bwr < 0.")
    a = -((np.pi * fc * bw) ** 2) / (4.0 * math.log(10.0 ** (bwr / 20.0)))
    if isinstance(t, str):
        if t != "cutoff" or tpr >= 0:
            raise ValueError("gausspulse: if t is a text, it must be 'cutoff', and tpr must be < 0.")
        return np.sqrt(-math.log(10.0 ** (tpr / 20.0)) / a)
    t = array(t)
    envelope = np.exp(-a * t * t)
    wave = envelope * np.cos(2 * np.pi * fc * t)
    quadrature = (envelope * np.sin(2 * np.pi * fc * t),) if retquad else ()
    return (wave, *quadrature, *((envelope,) if retenv else ())) if retquad or retenv else wave


@for_traced
def sawtooth(t: Any, width: Any = 1) -> Value:
    """From -1 up to 1 over a part `width` of the period 2π, and down again."""
    t, width = np.broadcast_arrays(array(t), array(width))
    wrong = (width > 1) | (width < 0)
    phase = np.mod(t, 2 * np.pi)
    rises = phase < width * 2 * np.pi
    up = phase / (np.pi * np.where(rises, width, 1.0)) - 1
    down = (np.pi * (width + 1) - phase) / (np.pi * (1 - np.where(rises, 0.0, width)))
    return np.where(wrong, np.nan, np.where(rises, up, down))


@for_traced
def sweep_poly(t: Any, poly: Any, phi: Any = 0) -> Value:
    """A cosine whose frequency is a polynomial in time, the highest power first."""
    t, c = array(t), vector("sweep_poly", "poly", getattr(poly, "coeffs", poly))
    n = c.shape[0]
    turns = 0.0 * t
    for k in range(n):
        turns = (turns + c[k] / (n - k)) * t
    return np.cos(2 * np.pi * turns + np.deg2rad(array(phi)))
