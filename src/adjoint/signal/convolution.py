"""Convolution of arrays with channels, or of bare arrays, in any number of dimensions; and its transpose.

z[n, o, p] = Σ x[n, c, i] kernel[o, c, k]   over c and  input_dilation·i = stride·p + dilation·k - padding
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.signal.convolution import Convolution
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values, count_positions, paddings, per_axis


def _channels_first(call: str, x: Value, kernel: Value, channels: str | None) -> tuple[Value, Value, tuple[int, ...]]:
    """x as [n, c, …] and the kernel as [o, c, …]; and the axes of x before the channels."""
    if channels not in ("first", "last", None):
        raise ValueError(f"{call}: channels must be 'first', 'last' or None, got {channels!r}.")
    n = kernel.ndim - (0 if channels is None else 2)
    if n < 1 or x.ndim < n + (channels is not None):
        raise ShapeError(
            f"{call}: x of shape {x.shape} and a kernel of shape {kernel.shape} do not fit together for "
            f"channels={channels!r}. Channels first: x[…, c, *space], kernel[o, c, *size]; last: x[…, *space, c], "
            "kernel[*size, c, o]; None: x[…, *space], kernel[*size]."
        )
    if channels is None:
        lead, x, kernel = x.shape[: x.ndim - n], np.expand_dims(x, -1 - n), np.reshape(kernel, (1, 1, *kernel.shape))
    elif channels == "last":
        lead, x = x.shape[: x.ndim - n - 1], np.moveaxis(x, -1, -1 - n)
        kernel = np.transpose(kernel, (n + 1, n, *range(n)))
    else:
        lead = x.shape[: x.ndim - n - 1]
    return np.reshape(x, (int(np.prod(lead)), *x.shape[len(lead) :])), kernel, lead


def _restored(z: Value, lead: tuple[int, ...], channels: str | None) -> Value:
    """[n, o, …] as x came."""
    if channels is None:
        return np.reshape(z, (*lead, *z.shape[2:]))
    z = np.reshape(z, (*lead, *z.shape[1:]))
    return np.moveaxis(z, len(lead), -1) if channels == "last" else z


def conv(
    x: Any,
    kernel: Any,
    *,
    stride: Any = 1,
    padding: Any = "valid",
    dilation: Any = 1,
    input_dilation: Any = 1,
    groups: int = 1,
    channels: str | None = "first",
    flip: bool = False,
) -> Value:
    """Slide a kernel over an array: at each position, the sum of products of the kernel and what lies under it.

    `channels="first"`: x[…, c, *space] and kernel[o, c / groups, *size] give z[…, o, *positions]; "last": x[…, *space,
    c] and kernel[*size, c / groups, o]; None: x[…, *space] and kernel[*size]. Axes of x in front are many x's.

    `padding`: zeros around x: "valid" (none), "same" (⌈length / stride⌉ positions), "full" (every overlap), a whole
    number, one for each axis, or a pair (before, after) for each axis; negative ones cut. `dilation` spaces the
    elements of the kernel, `input_dilation` those of x. With `groups`, channels are divided, and each group has kernels
    of its own. The kernel is not turned round, unless `flip` (then this is convolution in the sense of mathematics).

    ```python
    ad.signal.conv(np.arange(5.0), np.array([1.0, 0.0, -1.0]), channels=None)  # → [-2.0, -2.0, -2.0]
    ```
    """
    x, kernel = as_values(x), as_values(kernel)
    x, kernel, lead = _channels_first("conv", x, kernel, channels)
    n = kernel.ndim - 2
    stride, dilation = per_axis("conv", "stride", stride, n), per_axis("conv", "dilation", dilation, n)
    spread = per_axis("conv", "input_dilation", input_dilation, n)
    out, depth = kernel.shape[:2]
    if groups < 1 or out % groups or depth * groups != x.shape[1]:
        raise ShapeError(
            f"conv: x has {x.shape[1]} channels; a kernel for {depth} channels with groups={groups} needs "
            f"{depth * groups}, and {out} kernels must divide into the groups."
        )
    size = kernel.shape[2:]
    space = [s * (m - 1) + 1 if m else 0 for s, m in zip(spread, x.shape[2:])]
    span = [d * (k - 1) + 1 for d, k in zip(dilation, size)]
    pads = paddings("conv", padding, space, span, stride, "valid same full")
    lengths = tuple(count_positions("conv", m + sum(p), s, b) for m, p, s, b in zip(space, pads, span, stride))
    start = [-low for low, _ in pads]
    if flip:
        start = [e + s - 1 for e, s in zip(start, span)]
        dilation = tuple(-d for d in dilation)
    op = Convolution(stride, dilation, spread, tuple(start), lengths)
    z = bind(
        op,
        np.reshape(x, (x.shape[0], groups, depth, *x.shape[2:])),
        np.reshape(kernel, (groups, out // groups, depth, *size)),
    )
    return _restored(np.reshape(z, (x.shape[0], out, *lengths)), lead, channels)


def conv_transpose(
    x: Any,
    kernel: Any,
    *,
    stride: Any = 1,
    padding: Any = "valid",
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: str | None = "first",
) -> Value:
    """The transpose of `conv` in x, with the same kernel, stride, padding and dilation: z ↦ x̄.

    The kernel is that of the convolution which is transposed: kernel[c, o / groups, *size] for x[…, c, *space] (with
    channels last kernel[*size, o / groups, c]). The result has stride·(length - 1) + dilation·(size - 1) + 1 positions,
    less the padding, and `output_padding` more at the end; with padding="same" it has stride·length.

    ```python
    result = ad.signal.conv_transpose(np.array([1.0, 2.0]), np.array([1.0, 1.0]), stride=2, channels=None)
    result  # → [1.0, 1.0, 2.0, 2.0]
    ```
    """
    x, kernel = as_values(x), as_values(kernel)
    x, kernel, lead = _channels_first("conv_transpose", x, kernel, channels)
    n = kernel.ndim - 2
    stride = per_axis("conv_transpose", "stride", stride, n)
    dilation = per_axis("conv_transpose", "dilation", dilation, n)
    extra = per_axis("conv_transpose", "output_padding", output_padding, n, least=0)
    depth, out = kernel.shape[:2]
    if groups < 1 or depth != x.shape[1] or depth % groups:
        raise ShapeError(
            f"conv_transpose: x has {x.shape[1]} channels; a kernel with {depth} of them is given, and groups={groups} "
            "must divide this number. The kernel is that of the convolution which is transposed."
        )
    size, space = kernel.shape[2:], x.shape[2:]
    span = [d * (k - 1) + 1 for d, k in zip(dilation, size)]
    whole = [b * m for b, m in zip(stride, space)]
    pads = paddings("conv_transpose", padding, whole, span, stride, "valid same")
    if padding == "same":
        lengths = tuple(w + t for w, t in zip(whole, extra))
    else:
        lengths = tuple(
            b * (m - 1) + s - sum(p) + t if m else 0 for b, m, s, p, t in zip(stride, space, span, pads, extra)
        )
    if any(m < 0 for m in lengths):
        raise ShapeError(f"conv_transpose: padding={padding!r} takes away more than there is: {lengths}.")
    op = Convolution((1,) * n, tuple(-d for d in dilation), stride, tuple(low for low, _ in pads), lengths)
    z = bind(
        op,
        np.reshape(x, (x.shape[0], groups, depth // groups, *space)),
        np.swapaxes(np.reshape(kernel, (groups, depth // groups, out, *size)), 1, 2),
    )
    return _restored(np.reshape(z, (x.shape[0], groups * out, *lengths)), lead, channels)


def depthwise_conv(x: Any, kernel: Any, *, channels: str = "first", **options: Any) -> Value:
    """`conv` of each channel by itself: kernel[m·c, *size] (channels last: kernel[*size, m·c]) gives m results for
    each of the c channels; options are those of `conv`.

    ```python
    ad.signal.depthwise_conv(np.ones((2, 3)), np.array([[1.0, 1.0], [2.0, 2.0]]))  # → [[2.0, 2.0], [4.0, 4.0]]
    ```
    """
    x, kernel = as_values(x), as_values(kernel)
    n = kernel.ndim - 1
    if channels not in ("first", "last") or x.ndim < n + 1:
        raise ShapeError(
            f"depthwise_conv: x of shape {x.shape} and a kernel of shape {kernel.shape} do not fit together for "
            f"channels={channels!r}. First: x[…, c, *space], kernel[m·c, *size]; last: x[…, *space, c], "
            "kernel[*size, m·c]."
        )
    groups = x.shape[-1] if channels == "last" else x.shape[-1 - n]
    kernel = np.expand_dims(kernel, -2 if channels == "last" else 1)
    return conv(x, kernel, groups=groups, channels=channels, **options)
