"""Frequency responses of filters: polynomials, products of roots and sections at points of a circle or an axis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, constant, for_traced, is_traced, refuse, vector
from adjoint.scipy.signal.convolution import convolve


def _angles(call: str, points: Any, whole: bool, fs: Any, nyquist: bool = False) -> Value:
    """The frequencies in radians per sample; a traced vector of them is kept."""
    constant(call, fs=fs)
    points = 512 if points is None else points
    if not is_traced(points) and np.ndim(points) == 0 and not isinstance(points, float | complex):
        n = operator.index(points)
        return np.linspace(0, 2 * np.pi if whole else np.pi, n, endpoint=nyquist and not whole)
    w = array(points)
    return (np.reshape(w, (1,)) if w.ndim == 0 else w) * (2 * np.pi / fs)


def _polynomial(c: Value, z: Value) -> Value:
    """Σ c[k] zᵏ: c[k] may itself be an array."""
    total = c[c.shape[0] - 1] + 0.0 * z
    for k in range(c.shape[0] - 2, -1, -1):
        total = total * z + c[k]
    return total


@for_traced
def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,  # noqa: N803
    whole: bool = False,
    plot: Any = None,
    fs: float = 2 * np.pi,
    include_nyquist: bool = False,
) -> tuple[Value, Value]:
    """Frequencies, and the response Σ b[k] z⁻ᵏ / Σ a[k] z⁻ᵏ on the unit circle."""
    b, a = (array(v) for v in (b, a))
    b, a = (np.reshape(v, (1,)) if v.ndim == 0 else v for v in (b, a))
    w = _angles("freqz", worN, whole, fs, include_nyquist)
    z = np.exp(-1j * w)
    h = _polynomial(b, z) / _polynomial(a, z)
    w = w * (fs / (2 * np.pi))
    if plot is not None:
        refuse("freqz", "plot=… would be given traced values", "Plot the result")
    return w, h


@for_traced
def freqz_zpk(
    z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi
) -> tuple[Value, Value]:  # noqa: N803
    """Frequencies, and the response k Π (e^{iω} - z) / Π (e^{iω} - p)."""
    w = _angles("freqz_zpk", worN, whole, fs)
    at = np.exp(1j * w)
    h = array(k) * _from_roots(array(z), at) / _from_roots(array(p), at)
    return w * (fs / (2 * np.pi)), h


def _from_roots(roots: Value, at: Value) -> Value:
    roots = np.reshape(roots, (1,)) if roots.ndim == 0 else roots
    product = np.ones(1)
    for j in range(roots.shape[0]):
        product = product * (at - roots[j])
    return product


@for_traced
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> tuple[Value, Value]:  # noqa: N803
    """Frequencies, and the product of the responses of second-order sections."""
    sos = array(sos)
    if sos.ndim != 2 or sos.shape[1] != 6 or sos.shape[0] == 0:
        raise ShapeError(f"freqz_sos: sos array must be of shape (n_sections, 6), got {sos.shape}.")
    w: Any = None
    h: Any = 1.0
    for j in range(sos.shape[0]):
        w, row = freqz(sos[j, :3], sos[j, 3:], worN=worN, whole=whole, fs=fs)
        h = h * row
    return w, h


@for_traced
def sosfreqz(*args: Any, **kwargs: Any) -> tuple[Value, Value]:
    """The older name of `freqz_sos`."""
    return freqz_sos(*args, **kwargs)


@for_traced
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> tuple[Value, Value]:  # noqa: N803
    """The response of an analog filter at given angular frequencies; coefficients begin with the highest power."""
    if worN is None or (not is_traced(worN) and np.ndim(worN) == 0 and not isinstance(worN, float)):
        refuse(
            "freqs",
            "frequencies found from poles and zeros have no rule",
            "Give them: worN=scipy.signal.findfreqs(b, a, n)",
        )
    if plot is not None:
        refuse("freqs", "plot=… would be given traced values", "Plot the result")
    w = array(worN)
    w = np.reshape(w, (1,)) if w.ndim == 0 else w
    b, a = vector("freqs", "b", b), vector("freqs", "a", a)
    return w, _polynomial(np.flip(b), 1j * w) / _polynomial(np.flip(a), 1j * w)


@for_traced
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> tuple[Value, Value]:  # noqa: N803
    """The response of an analog filter with these zeros, poles and gain at given angular frequencies."""
    if worN is None or (not is_traced(worN) and np.ndim(worN) == 0 and not isinstance(worN, float)):
        refuse("freqs_zpk", "frequencies found from poles and zeros have no rule", "Give them: worN=…")
    w = array(worN)
    w = np.reshape(w, (1,)) if w.ndim == 0 else w
    return w, array(k) * _from_roots(array(z), 1j * w) / _from_roots(array(p), 1j * w)


@for_traced
def group_delay(system: Any, w: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> tuple[Value, Value]:
    """Frequencies, and the delay of a filter (b, a) in samples: -dφ/dω."""
    b, a = (vector("group_delay", "system", v) for v in system)
    angles = _angles("group_delay", w, whole, fs)
    c = convolve(b, np.conjugate(np.flip(a)))
    z = np.exp(-1j * angles)
    delay = np.real(_polynomial(c * np.arange(c.shape[0]), z) / _polynomial(c, z)) - a.shape[0] + 1
    return angles * (fs / (2 * np.pi)), delay


def _convolved(parts: list[Value]) -> Value:
    total = parts[0]
    for part in parts[1:]:
        total = convolve(total, part)
    return total


@for_traced
def sos2tf(sos: Any) -> tuple[Value, Value]:
    """The two polynomials of a row of second-order sections."""
    sos = array(sos)
    rows = range(sos.shape[0])
    return _convolved([sos[k, :3] for k in rows]), _convolved([sos[k, 3:] for k in rows])
