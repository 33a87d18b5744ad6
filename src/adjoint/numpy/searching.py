"""Where elements are: nonzero, searchsorted, partitions, bins, positions in flat arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, is_traced, normal_axes, normal_axis, refuse_keywords
from adjoint.numpy.indexing import positions_of, take
from adjoint.numpy.inplace import laid_out
from adjoint.numpy.joining import static
from adjoint.numpy.selected import is_open, refuse
from adjoint.numpy.shaping import convert
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.search import ArgPartition, SearchSorted
from adjoint.program.trace import bind
from adjoint.program.types import Value

FEW = 64  # so many elements are sorted as quickly as parted


@implements(np.nonzero)
def nonzero(a: Value) -> Any:
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return positions_of(a if a.dtype.kind == "b" else np.not_equal(a, 0), "np.nonzero")


@implements(np.flatnonzero)
def flatnonzero(a: Value) -> Any:
    return nonzero(np.ravel(a))[0]


@implements(np.argwhere)
def argwhere(a: Value) -> Any:
    mask = np.not_equal(a, 0)
    return np.stack(positions_of(mask, "np.argwhere"), axis=-1) if a.ndim else np.argwhere(bool(mask))


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Value:
    a, v = as_array(a), as_array(v)
    if a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    return bind(SearchSorted(side), a if sorter is None else take(a, sorter), v)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Value:
    if as_array(x).dtype.kind == "c":
        raise TypeError("np.digitize: x may not be complex")
    bins = as_array(bins)
    if is_traced(bins):
        ends = bins[0] <= bins[-1] if bins.shape[0] > 1 else True
        rising = bool(ends)
    else:
        rising = bool(np.all(np.diff(bins) >= 0))
        if not rising and not np.all(np.diff(bins) <= 0):
            raise ValueError("bins must be monotonically increasing or decreasing")
    if rising:
        return searchsorted(bins, x, "left" if right else "right")
    return bins.shape[0] - searchsorted(np.flip(bins), x, "right" if right else "left")


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Value:
    refuse_keywords("np.partition", {"order": order}, order=None)
    a, axis = _along(a, axis)
    return laid_out(np.take_along_axis(a, _parted(a, kth, axis), axis), a)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Value:
    refuse_keywords("np.argpartition", {"order": order}, order=None)
    a, axis = _along(a, axis)
    return _parted(a, kth, axis)


def _along(a: Any, axis: Any) -> tuple[Value, int]:
    a = as_array(a)
    return (np.ravel(a), 0) if axis is None else (a, normal_axis(axis, a.ndim))


def _parted(a: Value, kth: Any, axis: int) -> Value:
    """The order of a partition. Few elements are sorted, which is one at every position."""
    n = a.shape[axis]
    positions = np.ravel(static("np.partition", "kth", kth))
    if positions.dtype.kind not in "iu":
        raise TypeError(f"np.partition: partition index must be integer, not {positions.dtype}")
    for k in positions if n else ():
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")
    if n <= FEW:
        return np.argsort(a, axis=axis)
    return bind(ArgPartition(tuple(sorted({int(k) % n for k in positions})), axis), a)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Value:
    """Sort by the last key first: stable sorts from the first key to the last."""
    parts = [as_array(k) for k in keys]
    if any(part.shape != parts[0].shape for part in parts):
        raise ValueError("all keys need to be the same shape")
    axis = normal_axis(axis, parts[0].ndim)
    order = np.argsort(parts[0], axis=axis, kind="stable")
    for key in parts[1:]:
        again = np.argsort(np.take_along_axis(key, order, axis), axis=axis, kind="stable")
        order = np.take_along_axis(order, again, axis)
    return order


@implements(np.sort_complex)
def sort_complex(a: Any) -> Value:
    z = np.sort(as_array(a), axis=-1)
    return convert(z, np.complex64 if z.dtype.char in "bhBHF" else np.complex128)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Value:
    """Σ of the weights of each index. Python knows the length: from `minlength`, or by asking for the largest one."""
    positions, n = as_array(x), operator.index(minlength)
    if positions.ndim != 1 or positions.dtype.kind not in "biu":
        raise TypeError(
            f"np.bincount: the indices are {positions.ndim}-dimensional {positions.dtype}, not a vector of integers"
        )
    if positions.shape[0] and not bool(np.all(np.logical_and(np.greater_equal(positions, 0), np.less(positions, n)))):
        if bool(np.less(np.min(positions), 0)):
            raise ValueError("'list' argument must have no negative elements")
        n = max(n, operator.index(np.max(positions)) + 1)
    if weights is None or not positions.shape[0]:
        counted = np.ones(positions.shape[0], np.intp)
    elif as_array(weights).dtype.kind == "c":
        raise TypeError("np.bincount: the weights must be real; sum both parts of complex ones")
    else:
        counted = convert(as_array(weights), np.float64)
    if counted.shape != positions.shape:
        raise ValueError("The weights and list don't have the same length.")
    return ScatterSum((n,), counted.dtype, (("gather", 1),))(counted, positions)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The index in each axis, from that in the flat array."""
    sizes = _sizes(shape)
    rest, parts = _as_indices(indices, "np.unravel_index"), []
    for n in sizes if order == "F" else reversed(sizes):
        parts.append(rest % n)
        rest = rest // n
    return tuple(parts if order == "F" else reversed(parts))


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Value:
    """The index in the flat array, from that in each axis. Traced indices must lie inside, or `mode` says what else."""
    sizes = _sizes(dims)
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    parts = [_as_indices(i, "np.ravel_multi_index") for i in multi_index]
    if len(parts) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    flat: Value = 0
    steps = list(zip(parts, sizes, modes, strict=True))
    for i, n, how in reversed(steps) if order == "F" else steps:
        if how == "raise" and not is_traced(i) and np.any((i < 0) | (i >= n)):
            raise ValueError("invalid entry in coordinates array")
        flat = flat * n + (np.clip(i, 0, n - 1) if how == "clip" else i % n if how == "wrap" else i)
    return flat


def _as_indices(indices: Any, title: str) -> Value:
    indices = as_array(indices)
    if indices.dtype.kind not in "biu":
        raise TypeError(f"{title}: only int indices permitted, not {indices.dtype}; convert them with .astype(int)")
    return indices


def _sizes(shape: Any) -> list[int]:
    return [operator.index(shape)] if np.ndim(shape) == 0 else [operator.index(n) for n in shape]


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Value:
    """Eight truth values in a byte."""
    a = as_array(a)
    if a.dtype.kind not in "biu":
        raise TypeError(f"np.packbits: expected an array of integers or truth values, not of {a.dtype}; pass x != 0")
    a, axis = _along(np.not_equal(a, 0), axis)
    bits = np.moveaxis(a, axis, -1)
    bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % 8)])
    bits = np.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8)).astype(np.uint8)
    packed: Any = np.sum(bits * _weights(bitorder), axis=-1, dtype=np.uint8)
    return np.moveaxis(packed, -1, axis)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Value:
    """The eight truth values of each byte."""
    a, axis = _along(a, axis)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    bytes_ = np.moveaxis(a, axis, -1)
    bits = np.not_equal(np.bitwise_and(np.expand_dims(bytes_, -1), _weights(bitorder)), 0).astype(np.uint8)
    bits = np.reshape(bits, (*bytes_.shape[:-1], bytes_.shape[-1] * 8))
    if count is not None:
        missing = operator.index(count) - bits.shape[-1]
        bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)]) if missing > 0 else bits[..., :count]
    return np.moveaxis(bits, -1, axis)


def _weights(bitorder: str) -> Value:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    weights = 2 ** np.arange(8)
    return (weights[::-1] if bitorder == "big" else weights).astype(np.uint8)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Value:
    """Without the zeros at both ends of each axis: how many there are, Python must know."""
    ends = trim.lower()
    if ends not in ("f", "b", "fb", "bf"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    filt = as_array(filt)
    axes = normal_axes(axis, filt.ndim)
    kept = np.not_equal(filt, 0)
    index = [slice(None)] * filt.ndim
    for i in axes:
        mask = np.any(kept, axis=tuple(k for k in range(filt.ndim) if k != i))
        if is_open(mask):
            refuse("np.trim_zeros", mask)
        found = positions_of(mask, "np.trim_zeros")[0]
        if len(found) == 0:
            index[i] = slice(0, 0)
            continue
        start = operator.index(found[0]) if "f" in ends else 0
        stop = operator.index(found[-1]) + 1 if "b" in ends else filt.shape[i]
        index[i] = slice(start, stop)
    return filt[tuple(index)]
