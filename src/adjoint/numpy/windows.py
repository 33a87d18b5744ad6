"""Sliding windows, read from the array at overlapping positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, normal_axis
from adjoint.numpy.inplace import viewed
from adjoint.program.layout import Strides
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Value:
    """All windows of a shape, as new last axes."""
    x = as_array(x)
    sizes = [int(window_shape)] if np.ndim(window_shape) == 0 else [int(n) for n in window_shape]
    if axis is None:
        if len(sizes) != x.ndim:
            raise ValueError(
                f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(sizes)} sizes "
                f"and `x.ndim` is {x.ndim}."
            )
        axes = list(range(x.ndim))
    else:
        axes = [normal_axis(a, x.ndim) for a in ([axis] if np.ndim(axis) == 0 else axis)]
    if len(axes) != len(sizes):
        raise ValueError(f"Must provide matching length window_shape and axis; got {len(sizes)} and {len(axes)}.")
    if any(n < 0 for n in sizes):
        raise ValueError("`window_shape` cannot contain negative values")
    left = list(x.shape)
    for a, n in zip(axes, sizes, strict=True):
        if left[a] < n:
            raise ValueError("window shape cannot be larger than input array shape")
        left[a] -= n - 1

    def read(base: Value) -> Value:
        for a, n in zip(axes, sizes, strict=True):
            positions = np.arange(base.shape[a] - n + 1)[:, None] + np.arange(n)
            base = np.moveaxis(np.take(base, positions, axis=a), a + 1, -1)
        return base

    def along(kind: ArrayType, strides: Strides) -> Strides:
        return (*strides, *[strides[a] for a in axes])

    if not isinstance(x, Tracer):
        return np.lib.stride_tricks.sliding_window_view(x, sizes, tuple(axes), writeable=writeable)
    return viewed(read(x), x, read, None, layout=along, reason="a sliding window view, whose windows overlap")
