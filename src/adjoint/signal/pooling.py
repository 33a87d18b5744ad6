"""Pooling: the largest element, the mean, or the p-norm of each window; windows of given size, or a given number.

Windows lie over `axes`, by default the last ones, as many as `size` has entries. Elements of a window that lie in the
padding do not count for an extremum, and are zeros for a mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.signal.windows import WindowArgExtremum, WindowExtremum, WindowSum
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values, count_positions, paddings, per_axis

Ints = tuple[int, ...]


def _at_the_end(call: str, x: Value, n: int, axes: Any) -> tuple[Value, Callable[[Value], Value]]:
    """x with the axes of space last, and how to put them back."""
    if x.ndim < n:
        raise ShapeError(f"{call}: windows of {n} axes in an array of shape {x.shape}.")
    if axes is None:
        return x, lambda z: z
    chosen = tuple(np.lib.array_utils.normalize_axis_tuple(axes, x.ndim))
    if len(chosen) != n:
        raise ShapeError(f"{call}: axes={axes!r} names {len(chosen)} axes, the windows have {n}.")
    last = tuple(range(-n, 0))
    return np.moveaxis(x, chosen, last), lambda z: np.moveaxis(z, last, chosen)


def _counted(size: Any) -> int:
    return len(size) if isinstance(size, list | tuple | np.ndarray) else 1


def _geometry(
    call: str, x: Value, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Ints, Ints, Ints, Ints, Ints, list[tuple[int, int]]]:
    """size, stride, dilation, start, number of windows on each of the last axes; and the padding."""
    n = _counted(size)
    size, dilation = per_axis(call, "size", size, n), per_axis(call, "dilation", dilation, n)
    stride = size if stride is None else per_axis(call, "stride", stride, n)
    space, span = x.shape[x.ndim - n :], [d * (k - 1) + 1 for d, k in zip(dilation, size)]
    pads = paddings(call, padding, space, span, stride, "valid same")
    lengths = []
    for m, (low, high), s, b in zip(space, pads, span, stride):
        count = count_positions(call, m + low + high, s, b)
        if ceil_mode and m + low + high >= s:  # a last window may hang over, if it does not begin in the padding
            count += (m + low + high - s) % b != 0 and count * b < m + low
        lengths.append(count)
    return size, stride, dilation, tuple(-low for low, _ in pads), tuple(lengths), pads


def max_pool(
    x: Any,
    size: Any,
    *,
    stride: Any = None,
    padding: Any = "valid",
    dilation: Any = 1,
    ceil_mode: bool = False,
    axes: Any = None,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; equal ones share the derivative, as in np.max. `stride` is `size` by default.

    `padding`: "valid", "same", an integer, one for each axis or a pair for each axis. `ceil_mode`: a last window
    that hangs over the end counts too. `return_indices`: also where the (first) largest element stands, counted
    through the axes of space, for `max_unpool`.

    ```python
    ad.signal.max_pool(np.array([1.0, 3.0, 2.0, 5.0]), 2)  # → [3.0, 5.0]
    ad.grad(lambda x: np.sum(ad.signal.max_pool(x, 2)))(np.array([1.0, 3.0, 2.0, 5.0]))  # → [0.0, 1.0, 0.0, 1.0]
    ```
    """
    return _extremum("max_pool", "max", as_values(x), size, stride, padding, dilation, ceil_mode, axes, return_indices)


def min_pool(
    x: Any,
    size: Any,
    *,
    stride: Any = None,
    padding: Any = "valid",
    dilation: Any = 1,
    ceil_mode: bool = False,
    axes: Any = None,
    return_indices: bool = False,
) -> Any:
    """The smallest element of each window; see `max_pool`.

    ```python
    ad.signal.min_pool(np.array([1.0, 3.0, 2.0, 5.0]), 2)  # → [1.0, 2.0]
    ```
    """
    return _extremum("min_pool", "min", as_values(x), size, stride, padding, dilation, ceil_mode, axes, return_indices)


def _extremum(
    call: str,
    kind: str,
    x: Value,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    axes: Any,
    return_indices: bool,
) -> Any:
    x, back = _at_the_end(call, x, _counted(size), axes)
    size, stride, dilation, start, lengths, pads = _geometry(call, x, size, stride, padding, dilation, ceil_mode)
    if x.dtype.kind == "c":
        raise TypeError(f"{call}: complex numbers have no order; pool np.abs(x) or the parts.")
    for m, k, b, d, e, count in zip(x.shape[x.ndim - len(size) :], size, stride, dilation, start, lengths):
        seen = b * np.arange(count)[:, None] + d * np.arange(k) + e
        if not np.all(np.any((seen >= 0) & (seen < m), axis=1)):
            raise ShapeError(
                f"{call}: with size={size}, stride={stride}, dilation={dilation} and padding={pads} a window of "
                f"x{list(x.shape)} lies in the padding altogether; it has no {kind}imum. Take less padding."
            )
    fields = (kind, size, stride, dilation, start, lengths)
    z = back(bind(WindowExtremum(*fields), x))
    return (z, back(bind(WindowArgExtremum(*fields), x))) if return_indices else z


def _window_sum(
    call: str, x: Value, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Value, WindowSum, list[tuple[int, int]]]:
    n = _counted(size)
    *fields, pads = _geometry(call, x, size, stride, padding, dilation, ceil_mode)
    op = WindowSum(*fields, space=tuple(x.shape[x.ndim - n :]))  # pyright: ignore[reportArgumentType]
    return bind(op, x if x.dtype.kind in "fc" else x.astype(np.float64)), op, pads


def avg_pool(
    x: Any,
    size: Any,
    *,
    stride: Any = None,
    padding: Any = "valid",
    dilation: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: float | None = None,
    axes: Any = None,
) -> Value:
    """The mean of each window. Zeros of the padding are counted unless count_include_pad=False; elements that hang
    over beyond the padding (ceil_mode) never are. `divisor` replaces the count. The rest is as in `max_pool`.

    ```python
    ad.signal.avg_pool(np.array([1.0, 3.0, 2.0, 5.0]), 2)  # → [2.0, 3.5]
    ```
    """
    x, back = _at_the_end("avg_pool", as_values(x), _counted(size), axes)
    total, op, pads = _window_sum("avg_pool", x, size, stride, padding, dilation, ceil_mode)
    if divisor is not None:
        return back(total / divisor)
    counts = []
    for j, (m, (low, high)) in enumerate(zip(op.space, pads)):
        first, last = (-low, m + high) if count_include_pad else (0, m)
        seen = op.stride[j] * np.arange(op.lengths[j])[:, None] + op.dilation[j] * np.arange(op.size[j]) + op.start[j]
        counts.append(np.sum((seen >= first) & (seen < last), axis=1))
    return back(_divided(total, counts))


def _divided(total: Value, counts: Sequence[Any]) -> Value:
    """Divided by the product of counts along each of the last axes; one number where they are all the same."""
    if all(c.size and np.all(c == c[0]) for c in counts):
        return total * (1.0 / math.prod(int(c[0]) for c in counts))
    product = np.ones((), total.dtype)
    for c in counts:
        product = product[..., None] * np.maximum(c, 1).astype(total.dtype)
    return total / product


def lp_pool(
    x: Any,
    size: Any,
    p: float = 2.0,
    *,
    stride: Any = None,
    padding: Any = "valid",
    dilation: Any = 1,
    ceil_mode: bool = False,
    axes: Any = None,
) -> Value:
    """The p-norm of each window, (Σ |x|ᵖ)^(1/p); of a window of zeros the derivative is zero. p = np.inf: the largest
    absolute value. The rest is as in `max_pool`.

    ```python
    ad.signal.lp_pool(np.array([3.0, 4.0, 0.0, 5.0]), 2)  # → [5.0, 5.0]
    ```
    """
    x, back = _at_the_end("lp_pool", as_values(x), _counted(size), axes)
    if not p > 0:
        raise ValueError(f"lp_pool: p must be positive, got {p}.")
    options = (size, stride, padding, dilation, ceil_mode)
    if np.isinf(p):
        return back(_extremum("lp_pool", "max", np.abs(x), *options, None, False))
    powers = np.abs(x) ** p if p != 2 or x.dtype.kind == "c" else x * x
    total, _, _ = _window_sum("lp_pool", powers, *options)
    zero = np.equal(total, 0)
    return back(np.where(zero, 0.0, np.where(zero, 1.0, total) ** (1.0 / p)).astype(total.dtype))


def global_max_pool(x: Any, axes: Any, *, keepdims: bool = False) -> Value:
    """The largest element over all of `axes`.

    ```python
    ad.signal.global_max_pool(np.arange(6.0).reshape(2, 3), -1)  # → [2.0, 5.0]
    ```
    """
    return np.max(as_values(x), axis=_several(axes), keepdims=keepdims)


def global_avg_pool(x: Any, axes: Any, *, keepdims: bool = False) -> Value:
    """The mean over all of `axes`.

    ```python
    ad.signal.global_avg_pool(np.arange(6.0).reshape(2, 3), -1)  # → [1.0, 4.0]
    ```
    """
    return np.mean(as_values(x), axis=_several(axes), keepdims=keepdims)


def _several(axes: Any) -> Any:
    return tuple(axes) if isinstance(axes, list | tuple | range) else axes


def _cells(call: str, x: Value, out: Any) -> list[tuple[Any, Any]]:
    """For each of the last axes, where each of the nearly equal parts begins and ends (they may overlap)."""
    n = _counted(out)
    space = x.shape[x.ndim - n :]
    wanted = [out] * n if not isinstance(out, list | tuple | np.ndarray) else list(out)
    counts = per_axis(call, "out", [m if v is None else v for v, m in zip(wanted, space)], n)
    p = [np.arange(c) for c in counts]
    return [(q * m // c, -(-(q + 1) * m // c)) for q, m, c in zip(p, space, counts)]


def adaptive_avg_pool(x: Any, out: Any, *, axes: Any = None) -> Value:
    """The mean over out[j] nearly equal parts of each axis (None: the axis as it is): part q of c covers the elements
    from ⌊q·length / c⌋ to ⌈(q + 1)·length / c⌉.

    ```python
    ad.signal.adaptive_avg_pool(np.arange(6.0), 2)  # → [1.0, 4.0]
    ```
    """
    x, back = _at_the_end("adaptive_avg_pool", as_values(x), _counted(out), axes)
    cells = _cells("adaptive_avg_pool", x, out)
    for j, (first, last) in enumerate(cells):
        axis = x.ndim - len(cells) + j
        i = np.arange(x.shape[axis])
        inside = (i >= first[:, None]) & (i < last[:, None])
        weights = (inside / (last - first)[:, None]).astype(x.dtype if x.dtype.kind in "fc" else np.float64)
        x = np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), weights.T), -1, axis)
    return back(x)


def adaptive_max_pool(x: Any, out: Any, *, axes: Any = None) -> Value:
    """The largest element of out[j] nearly equal parts of each axis; see `adaptive_avg_pool` and `max_pool`.

    ```python
    ad.signal.adaptive_max_pool(np.arange(6.0), 2)  # → [2.0, 5.0]
    ```
    """
    x, back = _at_the_end("adaptive_max_pool", as_values(x), _counted(out), axes)
    cells = _cells("adaptive_max_pool", x, out)
    n = len(cells)
    lead = x.ndim - n
    outside = np.zeros((1,) * (2 * n), bool)
    for j, (first, last) in enumerate(cells):
        width = int(np.max(last - first, initial=1))
        i = first[:, None] + np.arange(width)
        x = np.take(x, np.minimum(i, x.shape[lead + 2 * j] - 1), axis=lead + 2 * j)  # […, part, element of it, …]
        hangs = i >= last[:, None]
        outside = outside | np.reshape(hangs, (1,) * (2 * j) + hangs.shape + (1,) * (2 * (n - 1 - j)))
    if np.any(outside):
        x = np.where(outside, np.array(-np.inf, x.dtype), x)
    return back(np.max(x, axis=tuple(lead + 2 * j + 1 for j in range(n))))


def max_unpool(x: Any, indices: Any, out: Any, *, axes: Any = None) -> Value:
    """Zeros of shape `out` over the axes of space, with each element of x added at its index: the transpose of reading
    the elements that `max_pool(…, return_indices=True)` names.

    ```python
    values, indices = ad.signal.max_pool(np.array([1.0, 3.0, 2.0, 5.0]), 2, return_indices=True)
    ad.signal.max_unpool(values, indices, 4)  # → [0.0, 3.0, 0.0, 5.0]
    ```
    """
    shape = tuple(int(v) for v in out) if isinstance(out, list | tuple) else (int(out),)
    n = len(shape)
    x, back = _at_the_end("max_unpool", as_values(x), n, axes)
    indices, _ = _at_the_end("max_unpool", as_values(indices), n, axes)
    if indices.shape != x.shape:
        raise ShapeError(f"max_unpool: x has shape {x.shape}, but the indices have {indices.shape}.")
    lead = x.shape[: x.ndim - n]
    rows = int(np.prod(lead))
    total = int(np.prod(shape))
    flat = np.reshape(x, (rows, -1))
    op = ScatterSum((rows, total), flat.dtype, (("gather", 2),))
    z = bind(op, flat, np.arange(rows)[:, None], np.reshape(indices, (rows, -1)))
    return back(np.reshape(z, (*lead, *shape)))
