"""How strides, paddings and dilations are written: one number for all axes or one for each, names for paddings."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

Pairs = list[tuple[int, int]]


def as_values(x: Any) -> Value:
    """A traced value as it is, anything else as an array."""
    return x if isinstance(x, Tracer) else np.asarray(x)


def per_axis(call: str, name: str, value: Any, n: int, least: int = 1) -> tuple[int, ...]:
    """One integer for each of n axes."""
    try:
        several: Any = value if isinstance(value, list | tuple) or np.ndim(value) else [value] * n
        numbers = [operator.index(v) for v in several]
    except TypeError:
        raise TypeError(f"{call}: {name} must be an integer or one for each axis, got {value!r}.") from None
    if len(numbers) != n:
        raise ShapeError(f"{call}: {name}={value!r} names {len(numbers)} axes, but there are {n} axes of space.")
    if any(v < least for v in numbers):
        raise ValueError(f"{call}: {name} must be at least {least}, got {value!r}.")
    return tuple(numbers)


def paddings(
    call: str, padding: Any, space: Sequence[int], span: Sequence[int], stride: Sequence[int], names: str
) -> Pairs:
    """How many zeros stand before and after x on each axis.

    `span` is how many elements a window reaches over: dilation·(size - 1) + 1. "same" gives ⌈length / stride⌉
    positions, with the odd zero behind.
    """
    n = len(space)
    if isinstance(padding, str):
        if padding not in names.split():
            raise ValueError(
                f"{call}: padding must be {', '.join(repr(v) for v in names.split())}, an integer, one for each "
                f"axis, or a pair for each axis; got {padding!r}."
            )
        if padding == "valid":
            return [(0, 0)] * n
        if padding == "full":
            return [(s - 1, s - 1) for s in span]
        need = [max(0, (-(-m // b) - 1) * b + s - m) for m, s, b in zip(space, span, stride)]
        return [(t // 2, t - t // 2) for t in need]
    if isinstance(padding, list | tuple | np.ndarray) and np.ndim(padding) == 2:
        if np.shape(padding) != (n, 2):
            raise ShapeError(f"{call}: padding={padding!r}: {n} pairs (before, after) are needed.")
        return [(operator.index(low), operator.index(high)) for low, high in padding]
    return [(v, v) for v in per_axis(call, "padding", padding, n, least=-(1 << 62))]


def count_positions(call: str, length: int, span: int, stride: int) -> int:
    """How many windows lie in a padded axis."""
    if length < 0:
        raise ShapeError(f"{call}: the padding takes away more than the axis has.")
    return max(0, (length - span) // stride + 1)
