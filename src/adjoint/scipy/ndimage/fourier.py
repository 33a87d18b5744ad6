"""Filters of a Fourier transform: products with the transforms of Gaussians, boxes, ellipsoids and shifts."""

# ruff: noqa: A002

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage

from adjoint.program.types import Value
from adjoint.scipy.ndimage.arguments import array, each, finished, for_traced
from adjoint.scipy.passing import is_traced, settled


def _filtered(name: str, input: Any, parameter: Any, n: int, axis: int, output: Any) -> Value:
    """The product with what SciPy makes of ones."""
    x = array(input)
    settings = [float(settled(f"scipy.ndimage.{name}", "parameters", p)) for p in each(parameter, x.ndim)]
    ones = np.ones(x.shape, np.complex128 if name == "fourier_shift" else np.float64)
    z = x * getattr(scipy.ndimage, name)(ones, settings, n, axis)
    return finished(name, z, z if output is None else x, output)


def _frequencies(shape: tuple[int, ...], n: int, axis: int) -> list[Any]:
    """Cycles per point along each axis, to broadcast; along `axis` of a real transform of n points."""
    found = []
    for i, size in enumerate(shape):
        real = n >= 0 and i == axis % len(shape)
        values = np.arange(size) / n if real else np.fft.fftfreq(size)
        found.append(np.reshape(values, tuple(-1 if j == i else 1 for j in range(len(shape)))))
    return found


@for_traced
def fourier_gaussian(input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None) -> Value:
    """The product with the transform of a Gaussian; differentiable in σ."""
    if not is_traced(sigma):
        return _filtered("fourier_gaussian", input, sigma, n, axis, output)
    x = array(input)
    exponent: Any = 0.0
    for s, frequency in zip(each(sigma, x.ndim), _frequencies(x.shape, n, axis), strict=True):
        exponent = exponent - 2 * (np.pi * frequency * s) ** 2
    return finished("fourier_gaussian", x * np.exp(exponent), x, output)


@for_traced
def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Value:
    """The product with the transform of a shift; differentiable in the shift."""
    if not is_traced(shift):
        return _filtered("fourier_shift", input, shift, n, axis, output)
    x = array(input)
    phase: Any = 0.0
    for by, frequency in zip(each(shift, x.ndim), _frequencies(x.shape, n, axis), strict=True):
        phase = phase - 2 * np.pi * frequency * by
    z = x * (np.cos(phase) + 1j * np.sin(phase))
    return finished("fourier_shift", z, z, output)


@for_traced
def fourier_uniform(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Value:
    """The product with the transform of a box."""
    return _filtered("fourier_uniform", input, size, n, axis, output)


@for_traced
def fourier_ellipsoid(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Value:
    """The product with the transform of an ellipsoid."""
    return _filtered("fourier_ellipsoid", input, size, n, axis, output)
