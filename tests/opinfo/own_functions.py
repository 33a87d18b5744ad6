"""Convolution, pooling and resampling of `adjoint.signal` under the names and arguments that the samples give them.

The samples come with these functions in plain NumPy; `used()` puts the library's own in their places.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from adjoint import signal
from tests.opinfo.samples import module

BY_ITS_NAME = ("conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_pool", "resize", "im2col", "max_unpool")
BY_ITS_NAME += ("grid_sample",)


def _channelled(z, b, n):
    return z if b is None else z + np.reshape(b, (-1,) + (1,) * n)


def _same(w, stride, dilation):
    """Padding that the samples call "same": the smaller half in front."""
    n = w.ndim - 2
    spaced = dilation if isinstance(dilation, tuple | list) else (dilation,) * n
    totals = [spaced[i % len(spaced)] * (w.shape[2 + i] - 1) for i in range(n)]
    return [(t // 2, t - t // 2) for t in totals]


def _each(value, n):
    """One value for each axis, as they are written in the samples: a number, or a list of one or of all."""
    value = tuple(value) if isinstance(value, tuple | list) else (value,)
    return value * n if len(value) == 1 else value


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    n = w.ndim - 2
    padding = _same(w, stride, dilation) if padding == "same" else padding
    padding = padding if padding == "valid" or isinstance(padding, list) else _each(padding, n)
    z = signal.conv(x, w, stride=_each(stride, n), padding=padding, dilation=_each(dilation, n), groups=groups)
    return _channelled(z, b, n)


def conv_transpose(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    n = w.ndim - 2
    z = signal.conv_transpose(
        x,
        w,
        stride=_each(stride, n),
        padding=_each(padding, n),
        output_padding=_each(output_padding, n),
        dilation=_each(dilation, n),
        groups=groups,
    )
    return _channelled(z, b, n)


def _stride(stride, n):
    return None if stride in (None, (), []) else _each(stride, n)


def max_pool(x, size, n, stride=None, padding=0, dilation=1, ceil_mode=False):
    return signal.max_pool(
        x,
        _each(size, n),
        stride=_stride(stride, n),
        padding=_each(padding, n),
        dilation=_each(dilation, n),
        ceil_mode=ceil_mode,
    )


def avg_pool(x, size, n, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return signal.avg_pool(
        x,
        _each(size, n),
        stride=_stride(stride, n),
        padding=_each(padding, n),
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor=divisor_override,
    )


def adaptive_pool(x, out, n, kind):
    return (signal.adaptive_avg_pool if kind == "mean" else signal.adaptive_max_pool)(x, _each(out, n))


def resize(x, out, mode, align_corners=False, scales=None):
    return signal.resize(x, tuple(out), mode, align_corners=align_corners, scale=scales)


def im2col(x, size, dilation=1, padding=0, stride=1):
    """Windows as columns: a convolution with a kernel for each place in the window."""
    size, channels = _each(size, 2), x.shape[-3]
    count = size[0] * size[1]
    kernel = np.tile(np.eye(count).reshape(count, 1, *size), (channels, 1, 1, 1))
    z = signal.conv(
        x,
        kernel,
        stride=_each(stride, 2),
        padding=_each(padding, 2),
        dilation=_each(dilation, 2),
        groups=channels,
    )
    return np.reshape(z, (*z.shape[:-2], -1))


def max_unpool(x, index, out, n):
    return signal.max_unpool(x, index, tuple(out))


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    method = {"bilinear": "linear", "nearest": "nearest"}[mode]
    return signal.grid_sample(x, grid, method, padding=padding_mode, align_corners=align_corners)


@contextmanager
def used() -> Iterator[None]:
    """While inside, the samples' operators call these functions."""
    theirs = module("xp_nn")
    before = {name: getattr(theirs, name) for name in BY_ITS_NAME}
    try:
        for name in BY_ITS_NAME:
            setattr(theirs, name, globals()[name])
        yield
    finally:
        for name, function in before.items():
            setattr(theirs, name, function)
