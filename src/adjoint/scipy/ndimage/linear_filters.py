"""Filters that are linear in the image: correlations, Gaussian and uniform ones, derivatives.

zᵢ = Σₖ wₖ x[i + k - ⌊n/2⌋ - origin],    for n weights along each axis
"""

# ruff: noqa: A002

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.signal.convolution import Convolution
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.ndimage.arguments import array, axes_of, each, finished, for_traced, image, spread
from adjoint.scipy.ndimage.extension import extended


def _correlated(x: Value, w: Value, modes: Sequence[str], cval: Any, origins: Sequence[int]) -> Value:
    """The correlation with weights that have as many axes as the image."""
    wide = x
    for axis, (size, mode, origin) in enumerate(zip(w.shape, modes, origins, strict=True)):
        if not -(size // 2) <= origin <= (size - 1) // 2:
            raise ValueError(
                "Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin[k] <= (weights.shape[k]-1) // 2"
            )
        if size > 1:
            wide = extended(wide, axis, size // 2 + origin, size - 1 - size // 2 - origin, mode, cval)
    ones = (1,) * x.ndim
    op = Convolution(ones, ones, ones, (0,) * x.ndim, x.shape)
    return bind(op, np.reshape(wide, (1, 1, 1, *wide.shape)), np.reshape(w, (1, 1, 1, *w.shape)))[0, 0, 0]


def _turned(w: Value, origins: Sequence[int]) -> tuple[Value, list[int]]:
    """Weights and origins of a convolution, as those of a correlation."""
    return np.flip(w), [-o - (0 if size % 2 else 1) for o, size in zip(origins, w.shape, strict=True)]


def _weights(w: Any) -> Value:
    w = array(w)
    return w.astype(np.complex128 if w.dtype.kind == "c" else np.float64)


def _along(x: Value, w: Value, axis: int, mode: str, cval: Any, origin: int) -> Value:
    """The correlation along one axis; the others are stacked."""
    axis = axes_of(axis, x.ndim)[0]
    rows = np.moveaxis(x, axis, -1)
    size = w.shape[0]
    if not -(size // 2) <= origin <= (size - 1) // 2:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    wide = extended(rows, rows.ndim - 1, size // 2 + origin, size - 1 - size // 2 - origin, mode, cval)
    op = Convolution((1,), (1,), (1,), (0,), (rows.shape[-1],))
    stack = math.prod(rows.shape[:-1])
    z = bind(op, np.reshape(wide, (stack, 1, 1, wide.shape[-1])), np.reshape(w, (1, 1, 1, size)))
    return np.moveaxis(np.reshape(z, rows.shape), -1, axis)


@for_traced
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Value:
    """The correlation with a vector of weights along an axis."""
    w = _weights(weights)
    if w.ndim != 1 or w.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    return finished(
        "correlate1d", _along(image("correlate1d", input), np.conjugate(w), axis, mode, cval, origin), input, output
    )


@for_traced
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Value:
    """The convolution with a vector of weights along an axis."""
    w, origins = _turned(_weights(weights), [origin])
    return finished("convolve1d", _along(image("convolve1d", input), w, axis, mode, cval, origins[0]), input, output)


def _in_all_axes(
    call: str, input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Value:
    x, w = image(call, input), _weights(weights)
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported")
    chosen = axes_of(axes, x.ndim)
    if w.ndim != len(chosen):
        raise RuntimeError(f"weights.ndim ({w.ndim}) must match len(axes) ({len(chosen)})")
    origins = each(origin, w.ndim)
    if call == "convolve":
        w, origins = _turned(w, origins)
    else:
        w = np.conjugate(w)
    w = np.reshape(w, spread(list(w.shape), tuple(sorted(chosen)), x.ndim, 1))  # the order of axes is that of origins
    z = _correlated(x, w, [mode] * x.ndim, cval, spread(origins, chosen, x.ndim, 0))
    return finished(call, z, input, output)


@for_traced
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The correlation with weights over all axes, or over some."""
    return _in_all_axes("correlate", input, weights, output, mode, cval, origin, axes)


@for_traced
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The convolution with weights over all axes, or over some."""
    return _in_all_axes("convolve", input, weights, output, mode, cval, origin, axes)


def gaussian_kernel(sigma: Any, order: int, radius: int) -> Value:
    """The weights of a derivative of a Gaussian: e^(-k²/2σ²) times a polynomial, for k from -radius to radius."""
    if order < 0:
        raise ValueError("order must be non-negative")
    k = np.arange(-radius, radius + 1)
    variance = sigma * sigma
    bell = np.exp(-0.5 / variance * k**2)
    bell = bell / np.sum(bell)
    factors: list[Any] = [1.0]  # of the powers of k; d/dk (q e) = (q' - q k/σ²) e
    for _ in range(order):
        derived = [factors[i] * i for i in range(1, len(factors))] + [0.0, 0.0]
        factors = [derived[i] + (-factors[i - 1] / variance if i else 0.0) for i in range(len(factors) + 1)]
    return bell * sum(factor * k**i for i, factor in enumerate(factors))


def _gaussian(x: Value, sigma: Any, axis: int, order: int, mode: str, cval: Any, truncate: float, radius: Any) -> Value:
    if radius is None:
        radius = int(truncate * sigma + 0.5)  # an integer: compiled code is right for one number of weights
    if not isinstance(radius, int | np.integer) or radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return _along(x, np.flip(gaussian_kernel(sigma, order, int(radius))), axis, mode, cval, 0)


@for_traced
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Value:
    """The correlation with a Gaussian of standard deviation σ, or with a derivative of it; differentiable in σ."""
    x = image("gaussian_filter1d", input)
    sigma = sigma if hasattr(sigma, "dtype") else float(sigma)
    return finished("gaussian_filter1d", _gaussian(x, sigma, axis, order, mode, cval, truncate, radius), input, output)


@for_traced
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Value:
    """The same along all axes, or along some."""
    x = image("gaussian_filter", input)
    chosen = axes_of(axes, x.ndim)
    count = len(chosen)
    settings = zip(chosen, each(sigma, count), each(order, count), each(mode, count), each(radius, count), strict=True)
    for axis, s, o, m, r in settings:
        if _is_positive(s):
            x = _gaussian(x, s, axis, o, m, cval, truncate, r)
    return finished("gaussian_filter", x, input, output)


def _is_positive(sigma: Any) -> bool:
    return bool(sigma > 1e-15)


@for_traced
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Value:
    """The mean of `size` neighbors along an axis."""
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    z = _along(image("uniform_filter1d", input), np.full(size, 1 / size), axis, mode, cval, origin)
    return finished("uniform_filter1d", z, input, output)


@for_traced
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Value:
    """The mean of a box of neighbors."""
    x = image("uniform_filter", input)
    chosen = axes_of(axes, x.ndim)
    count = len(chosen)
    for axis, n, o, m in zip(chosen, each(size, count), each(origin, count), each(mode, count), strict=True):
        if n > 1:
            x = uniform_filter1d(x, int(n), axis, None, m, cval, o)
    return finished("uniform_filter", x, input, output)


def _gradient(call: str, smooth: list[int], input: Any, axis: int, output: Any, mode: Any, cval: Any) -> Value:
    """Differences along one axis, smoothed along the others."""
    x = image(call, input)
    axis, modes = axes_of(axis, x.ndim)[0], each(mode, x.ndim)
    z = _along(x, _weights([-1, 0, 1]), axis, modes[axis], cval, 0)
    for other in range(x.ndim):
        if other != axis:
            z = _along(z, _weights(smooth), other, modes[other], cval, 0)
    return finished(call, z, input, output)


@for_traced
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Value:
    """Differences along an axis, summed over three neighbors along the others."""
    return _gradient("prewitt", [1, 1, 1], input, axis, output, mode, cval)


@for_traced
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Value:
    """Differences along an axis, smoothed with weights 1, 2, 1 along the others."""
    return _gradient("sobel", [1, 2, 1], input, axis, output, mode, cval)


def _by_axis(
    call: str,
    input: Any,
    derivative: Callable[..., Value],
    combine: Callable[[Value], Value],
    mode: Any,
    cval: Any,
    axes: Any,
    *args: Any,
    **kwargs: Any,
) -> Value:
    """The sum over the axes of what `combine` makes of the derivative along each."""
    x = image(call, input)
    chosen = axes_of(axes, x.ndim)
    if not chosen:
        return x
    modes = each(mode, len(chosen))
    terms = [
        combine(derivative(x, axis, None, m, cval, *args, **kwargs)) for axis, m in zip(chosen, modes, strict=True)
    ]
    return sum(terms[1:], terms[0])


@for_traced
def generic_laplace(
    input: Any,
    derivative2: Callable[..., Value],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Value:
    """The sum of second derivatives along the axes, by a function of the user."""
    z = _by_axis(
        "generic_laplace", input, derivative2, lambda d: d, mode, cval, axes, *extra_arguments, **extra_keywords or {}
    )
    return finished("generic_laplace", z, input, output)


@for_traced
def generic_gradient_magnitude(
    input: Any,
    derivative: Callable[..., Value],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Value:
    """The root of the sum of squares of derivatives along the axes, by a function of the user."""
    call = "generic_gradient_magnitude"
    z = _by_axis(call, input, derivative, lambda d: d * d, mode, cval, axes, *extra_arguments, **extra_keywords or {})
    return finished(call, np.sqrt(z), input, output)


@for_traced
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Value:
    """The sum of second differences along the axes."""
    second = lambda x, axis, output, mode, cval: _along(x, _weights([1, -2, 1]), axis, mode, cval, 0)
    return finished("laplace", _by_axis("laplace", input, second, lambda d: d, mode, cval, axes), input, output)


def _gaussian_derivative(order: int, sigmas: list[Any], ndim: int, **options: Any) -> Callable[..., Value]:
    def derivative(x: Value, axis: int, output: Any, mode: Any, cval: Any) -> Value:
        orders = [order if i == axis else 0 for i in range(ndim)]
        return gaussian_filter(x, sigmas, orders, None, mode, cval, **options)

    return derivative


@for_traced
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Value:
    """The sum of second derivatives of the image under a Gaussian filter."""
    x = image("gaussian_laplace", input)
    chosen = axes_of(axes, x.ndim)
    sigmas = spread(each(sigma, len(chosen)), chosen, x.ndim, 0.0)
    derivative = _gaussian_derivative(2, sigmas, x.ndim, **kwargs)
    z = _by_axis("gaussian_laplace", x, derivative, lambda d: d, mode, cval, chosen)
    return finished("gaussian_laplace", z, input, output)


@for_traced
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Value:
    """The size of the gradient of the image under a Gaussian filter."""
    x = image("gaussian_gradient_magnitude", input)
    derivative = _gaussian_derivative(1, each(sigma, x.ndim), x.ndim, **kwargs)
    z = _by_axis("gaussian_gradient_magnitude", x, derivative, lambda d: d * d, mode, cval, axes)
    return finished("gaussian_gradient_magnitude", np.sqrt(z), input, output)
