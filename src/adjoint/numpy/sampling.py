"""Functions known by samples: differences, gradients, integrals, interpolation, convolution."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, normal_axis, refuse_truth
from adjoint.numpy.indexing import getitem
from adjoint.numpy.inplace import laid_out
from adjoint.numpy.shaping import convert
from adjoint.ops.signal.vector_convolution import VectorConvolution
from adjoint.program.trace import bind
from adjoint.program.types import Value

SMALL = 1 << 14  # a convolution with a matrix of at most so many elements is a product with it


def _part(x: Value, axis: int, start: Any, stop: Any) -> Value:
    return x[(slice(None),) * axis + (slice(start, stop),)]


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Value:
    a = as_array(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    axis = normal_axis(axis, a.ndim)
    parts = [a]
    for extra, position in ((prepend, 0), (append, 2)):
        if extra is not NO_VALUE:
            extra = as_array(extra)
            edge = np.broadcast_to(extra, (*a.shape[:axis], 1, *a.shape[axis + 1 :])) if extra.ndim == 0 else extra
            parts.insert(min(position, len(parts)), edge)
    a = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    for _ in range(n):
        later, earlier = _part(a, axis, 1, None), _part(a, axis, None, -1)
        a = np.not_equal(later, earlier) if a.dtype.kind == "b" else later - earlier
    return a


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Value:
    flat = np.ravel(as_array(ary))
    middle = flat[1:] - flat[:-1]
    for name, part in (("to_begin", to_begin), ("to_end", to_end)):
        if part is not None and not np.can_cast(as_array(part).dtype, middle.dtype, "same_kind"):
            raise TypeError(f"np.ediff1d: dtype of `{name}` must be compatible with {middle.dtype}, that of `ary`")
    parts = [
        p if p is middle else convert(np.ravel(as_array(p)), middle.dtype)
        for p in (to_begin, middle, to_end)
        if p is not None
    ]
    return np.concatenate(parts) if len(parts) > 1 else middle


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = as_array(f)
    refuse_truth(f, "np.gradient")
    f = convert(f, np.float64) if f.dtype.kind in "iu" else f
    axes = (
        tuple(range(f.ndim))
        if axis is None
        else tuple(normal_axis(i, f.ndim) for i in (axis if isinstance(axis, tuple) else (axis,)))
    )
    if len(varargs) == 0:
        spacings: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        spacings = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        spacings = list(varargs)
    else:
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    real = np.finfo(f.dtype).dtype  # in which Python's numbers are taken
    steps = [np.asarray(h, real) if type(h) in (int, float) else as_array(h) for h in spacings]
    derivatives = tuple(laid_out(_difference(f, i, h, edge_order), f) for i, h in zip(axes, steps, strict=True))
    return derivatives[0] if len(derivatives) == 1 else derivatives


def _difference(f: Value, axis: int, h: Value, edge_order: int) -> Value:
    """Second order inside, `edge_order` at the ends: f′(x) from f(x - a), f(x), f(x + b) with steps a and b."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )
    f = np.moveaxis(f, axis, 0)
    if h.ndim == 0:
        steps = np.broadcast_to(h, (n - 1,))
    elif h.shape == (n,):
        steps = diff(h)
    else:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = np.reshape(steps, (n - 1,) + (1,) * (f.ndim - 1))
    a, b = steps[:-1], steps[1:]
    inside = -b / (a * (a + b)) * f[:-2] + (b - a) / (a * b) * f[1:-1] + a / (b * (a + b)) * f[2:]
    if edge_order == 1:
        first, last = (f[1:2] - f[0:1]) / steps[:1], (f[-1:] - f[-2:-1]) / steps[-1:]
    else:
        a, b = steps[0:1], steps[1:2]
        first = -(2 * a + b) / (a * (a + b)) * f[0:1] + (a + b) / (a * b) * f[1:2] - a / (b * (a + b)) * f[2:3]
        a, b = steps[-2:-1], steps[-1:]
        last = b / (a * (a + b)) * f[-3:-2] - (b + a) / (a * b) * f[-2:-1] + (2 * b + a) / (b * (a + b)) * f[-1:]
    z = np.concatenate([first, inside, last])
    z = convert(z, f.dtype) if z.dtype.kind == f.dtype.kind else z  # not of the coordinates
    return np.moveaxis(z, 0, axis)


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    y = as_array(y)
    axis = normal_axis(axis, y.ndim)
    if x is None:
        steps: Value = dx
    else:
        x = as_array(x)
        steps = (
            np.reshape(diff(x), (1,) * axis + (-1,) + (1,) * (y.ndim - axis - 1)) if x.ndim == 1 else diff(x, axis=axis)
        )
    return np.sum(steps * (_part(y, axis, 1, None) + _part(y, axis, None, -1)) / 2.0, axis=axis)


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Value:
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if x.dtype.kind == "c" or xp.dtype.kind == "c":
        raise TypeError("np.interp: x and xp must be real; fp may be complex")
    x, xp = convert(x, np.float64), convert(xp, np.float64)
    fp = convert(fp, np.complex128 if fp.dtype.kind == "c" else np.float64)
    if xp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length, or have more than one axis")
    if xp.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        left = right = None
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = getitem(xp, order), getitem(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    left, right = fp[0] if left is None else left, fp[-1] if right is None else right
    if n == 1:
        inside = np.broadcast_to(fp[0], x.shape)
    else:
        i = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 2)
        start, stop, low, high = getitem(xp, i), getitem(xp, i + 1), getitem(fp, i), getitem(fp, i + 1)
        width = stop - start
        empty = np.equal(width, 0)
        # of equal points the last one counts; only at the last of all there is no interval behind it
        at_end = np.where(np.isnan(x), x, 1.0)
        inside = low + np.where(empty, at_end, (x - start) / np.where(empty, 1.0, width)) * (high - low)
    return np.where(np.less(x, xp[0]), left, np.where(np.greater(x, xp[-1]), right, inside))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Value:
    a, v = as_array(a), as_array(v)
    a, v = (np.reshape(p, (1,)) if p.ndim == 0 else p for p in (a, v))
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("np.convolve: both arguments must have one axis")
    if 0 in (a.shape[0], v.shape[0]):
        raise ValueError("a cannot be empty" if a.shape[0] == 0 else "v cannot be empty")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    if mode == "valid" and (n + m) * m > SMALL:
        return bind(VectorConvolution(True), a, v)
    full = _small(a, v) if (n + m) * m <= SMALL else bind(VectorConvolution(False), a, v)
    if mode == "full":
        return full
    if mode == "same":
        return full[(m - 1) // 2 : (m - 1) // 2 + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


def _small(a: Value, v: Value) -> Value:
    """As a product with the matrix whose row k holds what meets the kernel at position k."""
    n, m = a.shape[0], v.shape[0]
    wide = np.pad(a, m - 1) if m > 1 else a
    return np.matmul(wide[np.arange(n + m - 1)[:, None] + np.arange(m)], np.flip(v))


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Value:
    a, v = as_array(a), as_array(v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("np.correlate: both arguments must have one axis")
    kernel = np.conjugate(np.flip(v))
    if mode == "valid":
        return convolve(a, kernel, mode)
    z = convolve(a, kernel, "full")
    n, m = max(a.shape[0], v.shape[0]), min(a.shape[0], v.shape[0])
    if mode == "full":
        return z
    if mode == "same":
        start = m // 2 if v.shape[0] > a.shape[0] else (m - 1) // 2
        return z[start : start + n]
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Value:
    p = as_array(p)
    axis = normal_axis(axis, p.ndim)
    jump = diff(p, axis=axis)
    half = period / 2
    discont = half if discont is None else discont
    wrapped = (jump + half) % period - half
    wrapped = np.where(np.logical_and(np.equal(wrapped, -half), np.greater(jump, 0)), half, wrapped)
    correction = np.where(np.less(np.abs(jump), discont), 0.0, wrapped - jump)
    return np.concatenate(
        [_part(p, axis, None, 1), _part(p, axis, 1, None) + np.cumsum(correction, axis=axis)], axis=axis
    )


@implements(getattr(np, "cumulative_sum", None))  # from NumPy 2.1 on
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Value:
    return _cumulative(np.cumsum, 0, x, axis, dtype, out, include_initial)


@implements(getattr(np, "cumulative_prod", None))
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Value:
    return _cumulative(np.cumprod, 1, x, axis, dtype, out, include_initial)


def _cumulative(of: Any, first: int, x: Any, axis: int | None, dtype: Any, out: Any, include_initial: bool) -> Value:
    x = np.atleast_1d(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if not include_initial:
        return of(x, axis=axis, dtype=dtype, out=out)
    axis = normal_axis(operator.index(axis), x.ndim)
    z = of(x, axis=axis, dtype=dtype)
    edge = np.full((*z.shape[:axis], 1, *z.shape[axis + 1 :]), first, z.dtype)
    return np.concatenate([edge, z], axis=axis, out=out)
