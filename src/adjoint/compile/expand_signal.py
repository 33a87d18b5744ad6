"""Cosine and sine transforms by Fourier's, resampling by gathers and scatters; letters as in `ops.signal`."""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile.expand import RULES, Rule, constant_of_nothing
from adjoint.ops.arrays.index import Gather, ScatterSum
from adjoint.ops.arrays.rearrange import Complex, Convert
from adjoint.ops.signal.cosine_transforms import TrigonometricTransform
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.ops.signal.resampling import WeightedTaps
from adjoint.program.program import Equation


@RULES.rule(TrigonometricTransform)
def _transform_rule(eq: Equation) -> Rule | None:
    if 0 in eq.inputs[0].type.shape:
        return constant_of_nothing
    op: Any = eq.op
    n = eq.inputs[0].type.shape[op.axis]
    return None if op.type == 1 and op.kind == "dct" and n < 2 else _trigonometric  # SciPy raises


def _trigonometric(op: TrigonometricTransform, x: Any) -> Any:
    dtype = x.dtype if x.dtype.kind in "fc" and x.dtype != np.float16 else np.dtype(np.float64)
    x = np.moveaxis(x if x.dtype == dtype else Convert(dtype)(x), op.axis, -1)
    transform = COSINES if op.kind == "dct" else SINES
    if dtype.kind == "c":
        z = Complex()(*[transform[op.type](part) for part in (np.real(x), np.imag(x))])
    else:
        z = transform[op.type](x)
    return np.moveaxis(z, -1, op.axis)


def _unit_roots(x: Any, numbers: Any) -> Any:
    """exp(-iπ t) for a constant vector t, in the precision of x."""
    return np.exp(-1j * math.pi * numbers).astype(np.result_type(x.dtype, np.complex64))


def _cosines_1(x: Any) -> Any:
    """The spectrum of x₀ … x_{n-1} … x₁."""
    mirrored = np.concatenate([x, x[..., -2:0:-1]], axis=-1)
    return np.real(HalfSpectrum(x.ndim - 1)(mirrored))


def _cosines_2(x: Any) -> Any:
    """Re e^(-iπk/2n) Y_k, with Y the spectrum of x and x backwards."""
    n = x.shape[-1]
    y = HalfSpectrum(x.ndim - 1)(np.concatenate([x, x[..., ::-1]], axis=-1))[..., :n]
    return np.real(y * _unit_roots(x, np.arange(n) / (2 * n)))


def _cosines_3(x: Any) -> Any:
    """Re Σ w_j x_j e^(iπj/2n) e^(2πijk/2n), w = 1, 2, 2 …: half a spectrum, turned back."""
    n = x.shape[-1]
    y = x * np.conj(_unit_roots(x, np.arange(n) / (2 * n)))
    y = np.concatenate([y, np.zeros((*x.shape[:-1], 1), y.dtype)], axis=-1)
    return FromHalfSpectrum(x.ndim - 1, 2 * n)(y)[..., :n]


def _cosines_4(x: Any) -> Any:
    """2 Re e^(-iπ(2k+1)/4n) Σ (x_j e^(-iπj/2n)) e^(-2πijk/2n)."""
    n = x.shape[-1]
    y = x * _unit_roots(x, np.arange(n) / (2 * n))
    y = Fourier((x.ndim - 1,), -1)(np.concatenate([y, np.zeros(x.shape, y.dtype)], axis=-1))[..., :n]
    return 2 * np.real(y * _unit_roots(x, (2 * np.arange(n) + 1) / (4 * n)))


def _signs(x: Any) -> Any:
    return (1 - 2 * (np.arange(x.shape[-1]) % 2)).astype(x.dtype)


def _sines_1(x: Any) -> Any:
    """Minus the imaginary part of the spectrum of 0, x, 0, -x backwards."""
    zero, n = np.zeros((*x.shape[:-1], 1), x.dtype), x.shape[-1]
    odd = np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)
    return -np.imag(HalfSpectrum(x.ndim - 1)(odd))[..., 1 : n + 1]


COSINES: dict[int, Callable[[Any], Any]] = {1: _cosines_1, 2: _cosines_2, 3: _cosines_3, 4: _cosines_4}
SINES: dict[int, Callable[[Any], Any]] = {
    1: _sines_1,
    2: lambda x: _cosines_2(x * _signs(x))[..., ::-1],
    3: lambda x: _cosines_3(x[..., ::-1]) * _signs(x),
    4: lambda x: _cosines_4(x[..., ::-1]) * _signs(x),
}


@RULES.rule(WeightedTaps)
def _taps_rule(eq: Equation) -> Rule | None:
    return _weighted_taps if 0 not in eq.inputs[0].type.shape and 0 not in eq.inputs[1].type.shape else None


def _weighted_taps(op: WeightedTaps, x: Any, index: Any, weight: Any) -> Any:
    """Gathers along the axis, times their weights; the transpose scatters."""
    dtype = x.dtype if x.dtype.kind in "fc" and x.dtype != np.float16 else np.dtype(np.float64)
    x = np.moveaxis(x if x.dtype == dtype else Convert(dtype)(x), op.axis, 0)
    weight = weight if weight.dtype == dtype else Convert(dtype)(weight)
    weight = np.reshape(weight, (*weight.shape, *[1] * (x.ndim - 1)))
    if not op.transposed:
        return np.moveaxis(np.sum(Gather(1)(x, index) * weight, axis=1), 0, op.axis)
    parts = np.expand_dims(x, 1) * weight
    z = ScatterSum((op.n, *x.shape[1:]), dtype, (("gather", 1),))(parts, index)
    return np.moveaxis(z, 0, op.axis)
