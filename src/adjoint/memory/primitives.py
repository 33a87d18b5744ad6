"""What primitives take while they run, beside their arguments and results: copies, buffers, tables."""

# pyright: basic

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.memory.sizes import ITEM, size_of
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.rearrange import Concatenate
from adjoint.ops.arrays.reduce import ArgSort
from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.signal.convolution import Convolution
from adjoint.ops.signal.convolution_algorithms import NEAR, ROOM, fourier_pays
from adjoint.ops.signal.cosine_transforms import TrigonometricTransform
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.ops.signal.resampling import WeightedTaps
from adjoint.ops.signal.windows import WindowShare
from adjoint.program.types import ArrayType

Types = Sequence[ArrayType]
NODES = 430  # numbers for each element that kernels of derivatives in parameters work on; measured


def _bytes(count: int, kind: ArrayType) -> int:
    return count * kind.dtype.itemsize


def _fourier(op: Any, types: Types, kinds: Types) -> int:
    """Rows are copied, one at a time, beside a table of as many roots; of several axes, one after the other."""
    lines = [2 * _bytes(_line(types[0].shape[axis]), kinds[0]) for axis in op.axes]
    return max(lines, default=0) + (size_of(kinds[0]) if len(op.axes) > 1 else 0)


def _cosines(op: Any, types: Types, kinds: Types) -> int:
    return 2 * _bytes(_line(types[0].shape[op.axis]), kinds[0])


def _half(op: Any, types: Types, kinds: Types) -> int:
    real, axis = (types[0] if types[0].dtype.kind != "c" else kinds[0]), op.axis
    return 2 * _line(real.shape[axis]) * (kinds[0] if kinds[0].dtype.kind == "c" else types[0]).dtype.itemsize // 2


def _line(n: Any) -> int:
    """The length of a row in a transform; a large prime factor makes it one of at least twice the length."""
    rest, factor = n, 2
    while factor * factor <= rest and factor < 200:
        rest, factor = (rest // factor, factor) if rest % factor == 0 else (rest, factor + 1)
    return n if rest < 200 or n < 50 else 5 * n


def _scatter(op: Any, types: Types, kinds: Types) -> int:
    """Into one axis of float64 by weights: of each index where it is from zero on, and what they sum up to."""
    if len(op.shape) != 1 or op.dtype != np.float64:
        return 0
    return max([size_of(t) + size_of(kinds[0]) for t in types[len(op.keys) :] if t.shape != (1,)], default=0)


def _sorting(op: Any, types: Types, kinds: Types) -> int:
    """Half of a row is merged at a time."""
    return types[0].shape[op.axis] * np.dtype(np.intp).itemsize // 2 if types[0].shape else 0


def _derivative(op: Any, types: Types, kinds: Types) -> int:
    """All arguments as they are broadcast, and what a kernel does to some elements at a time."""
    count = size_of(kinds[0]) // kinds[0].dtype.itemsize
    wide = 16 if any(t.dtype.kind == "c" for t in types) else 8
    at_once = sys.modules[type(op).__module__].AT_ONCE
    return wide * ((len(types) + 1) * count + NODES * min(count, at_once))


def _convolution(op: Any, types: Types, kinds: Types) -> int:
    """The ways of `adjoint.ops.signal.convolution_algorithms`, in the order in which it chooses."""
    x, w = (ArrayType(t.shape, kinds[0].dtype) for t in types)
    (count, groups, channels), space = x.shape[:3], x.shape[3:]
    out, size, lengths = w.shape[1], w.shape[3:], op.lengths
    spread, stride = [[abs(n) for n in numbers] for numbers in (op.spread, op.stride)]
    spread = [1 if n == 1 else a for a, n in zip(spread, space, strict=True)]
    stride = [1 if n == 1 else b for b, n in zip(stride, lengths, strict=True)]
    taps, places = math.prod(size), math.prod(lengths)
    each = kinds[0].dtype.itemsize
    if not taps * places * count * math.prod(space):
        return 0

    def some(total: int, one: int, room: int = ROOM) -> int:
        """How many of `total` are taken at once, if each needs `one` element of the room."""
        return max(1, min(total, room // max(one, 1)))

    few = 2 * out < channels and 1 < taps <= places
    if all(n == 1 for n in stride) and (any(n > 1 for n in spread) or few):
        one = groups * out * taps * math.prod(space)
        return each * (one * some(count, one) + size_of(w) // each)
    reach = [s * (p - 1) + abs(t) * (k - 1) + 1 for s, p, t, k in zip(stride, lengths, op.dilation, size, strict=True)]
    points = math.prod(reach)
    framed = 0 if tuple(reach) == tuple(space) else each * groups * channels * points
    if fourier_pays(x, w, reach, lengths):
        part = some(count, groups * (out + channels) * points, 8 * ROOM)
        spectra = part * groups * (channels + 2 * out) + groups * channels * out
        return spectra * points * each + framed * count
    if out == channels == 1:
        long_rows = len(size) == 1 and min(taps, places) > 8 and count * groups <= 64
        term = places if long_rows else min(NEAR, count * groups * places)
        return framed * count + each * term
    if taps > places:
        one = groups * places * taps * count
        step = some(channels, one)
        lines = some(count, groups * places * taps * step)
        block = lines * groups * places * (taps * step + out)
        return size_of(kinds[0]) + each * block + framed * lines // channels * step + each * groups * out * taps * step
    one = groups * channels * taps * places
    part = some(count, one)
    block = min(one * part, max(ROOM, one // lengths[0])) if one > ROOM else one * part
    return each * block + framed * part + (each * ROOM // (channels * taps) * out if one > ROOM else 0)


SPACES: dict[type, Callable[[Any, Types, Types], float]] = {
    MaskedProduct: lambda op, types, kinds: size_of(ArrayType(kinds[0].shape, np.dtype(bool))),
    ScatterSum: _scatter,
    Convolution: _convolution,
    Fourier: _fourier,
    TrigonometricTransform: _cosines,
    HalfSpectrum: _half,
    FromHalfSpectrum: _half,
    LogSumExp: lambda op, types, kinds: 2.13 * size_of(types[0]),
    Concatenate: lambda op, types, kinds: 3 * ITEM * len(types),
    WeightedTaps: lambda op, types, kinds: size_of(types[0]),
    WindowShare: lambda op, types, kinds: 3.4 * size_of(types[2]),
    ArgSort: _sorting,
}
# those of modules that import SciPy, by name
SPECIAL: dict[str, Callable[[Any, Types, Types], float]] = {
    "Polygamma": lambda op, types, kinds: size_of(kinds[0]),
    "ParameterDerivative": _derivative,
}


def primitive_workspace(op: Any, types: Types, kinds: Types) -> int | None:
    """Bytes beside arguments and results; None where it is not known here."""
    found = SPACES.get(type(op)) or SPECIAL.get(type(op).__name__)
    return None if found is None else int(found(op, types, kinds))
