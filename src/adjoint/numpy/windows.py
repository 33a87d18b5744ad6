"""Sliding windows, read from the array at overlapping places."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, normal_axis
from adjoint.numpy.inplace import read_only
from adjoint.program.types import Value


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
    for a, n in zip(axes, sizes, strict=True):
        count = x.shape[a] - n + 1
        if count < 1:
            raise ValueError("window shape cannot be larger than input array shape")
        x = np.moveaxis(np.take(x, np.arange(count)[:, None] + np.arange(n), axis=a), a + 1, -1)
    return read_only(x, "a sliding window view")
