"""Reading and writing parts of arrays.

Any NumPy index becomes slices, then a gather along the first axes (see `adjoint.numpy.indexing`).

Keys are static and hashable: `("slice", items)` with items int | None | (start, stop, step), or `("gather", n)` for n
index arrays that stand for the first n axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from adjoint.ops.calculus import Flat, Linear, arithmetic_flops, fit
from adjoint.program.layout import Strides, compact, keep_order, probe_strides, slice_strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of

Key: TypeAlias = tuple[Any, ...]
_STEPS: Any = tuple  # (start, stop, step) of a key; as Any, so that a test against it leaves the item Any


def subscript(key: Key, indices: Sequence[Value]) -> tuple[Any, ...]:
    """The NumPy index of a key."""
    if key[0] == "gather":
        return tuple(indices)
    items: tuple[Any, ...] = key[1]
    if len(items) == 1:
        item = items[0]
        return (slice(*item),) if type(item) is _STEPS else items
    return tuple([slice(*item) if type(item) is _STEPS else item for item in items])


def arity(key: Key) -> int:
    """How many index arrays a key takes."""
    return key[1] if key[0] == "gather" else 0


def reader(key: Key) -> Slice | Gather:
    """The primitive that reads what a key names."""
    return Gather(key[1]) if key[0] == "gather" else Slice(key[1])


def stacked(key: Key, indices: Sequence[Value], mapped: Sequence[bool], size: int) -> tuple[Key, list[Value]]:
    """The key for arrays with a stack in front: everything for slices, the batch element's own number for gathers."""
    if key[0] == "slice":
        return ("slice", ((None, None, None), *key[1])), []
    inner = max(np.ndim(i) - m for i, m in zip(indices, mapped, strict=True)) if indices else 0
    elements = np.reshape(np.arange(size), (size,) + (1,) * inner)
    fitted = [
        np.reshape(i, (np.shape(i)[0] if m else 1,) + (1,) * (inner - np.ndim(i) + m) + np.shape(i)[m:])
        for i, m in zip(indices, mapped, strict=True)
    ]
    return ("gather", key[1] + 1), [elements, *fitted]


@primitive
class Slice(Linear):
    """x[items] for integers, slices and new axes."""

    is_view = True
    is_selection = True
    size_fields = ("items",)

    items: tuple[Any, ...]
    sparse = True

    def key(self) -> Key:
        return ("slice", self.items)

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0]) if type(xs[0]) in (int, float, complex) else xs[0]  # a number of Python's
        return x[subscript(self.key(), ())]

    def result_type(self, *types: ArrayType) -> Any:
        probe = np.broadcast_to(np.empty((), types[0].dtype), types[0].shape)
        return ArrayType(np.shape(probe[subscript(self.key(), ())]), types[0].dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ScatterSum(xs[0].shape, xs[0].dtype, (self.key(),))(ct),)

    def pull_into(self, buffer: Value, ct: Value, xs: Sequence[Any]) -> None:
        """buffer[items] += ct: no index occurs twice in slices."""
        buffer[subscript(self.key(), ())] += ct

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Slice(((None, None, None), *self.items))(xs[0])

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return slice_strides(types[0], strides[0], self.items)


@primitive
class Gather(Linear):
    """x[i₁, …, iₙ, ...]: elements of the first n axes, named by index arrays that broadcast together."""

    is_movement = True
    is_selection = True
    has_indices = True

    count: int
    sparse = True

    @property
    def parameters(self) -> int:
        return self.count

    def key(self) -> Key:
        return ("gather", self.count)

    def evaluate(self, *xs: Value) -> Value:
        return xs[0][tuple(xs[1:])]

    def result_type(self, *types: ArrayType) -> Any:
        x, *indices = types
        return ArrayType(np.broadcast_shapes(*[i.shape for i in indices]) + tuple(x.shape[self.count :]), x.dtype)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        if not any(t.shape for t in types[1:]):  # numbers: a view
            return strides[0][self.count :]
        return probe_strides(self.evaluate, types, strides, result)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ScatterSum(xs[0].shape, xs[0].dtype, (self.key(),))(ct, *xs[1:]),)

    def pull_into(self, buffer: Value, ct: Value, xs: Sequence[Any]) -> None:
        """buffer[i₁ … iₙ] += ct, also where an index occurs twice."""
        add_at(buffer, xs[1:], ct)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        if mapped[0]:
            key, indices = stacked(self.key(), xs[1:], mapped[1:], size)
            return reader(key)(xs[0], *indices)
        inner = max(np.ndim(i) - m for i, m in zip(xs[1:], mapped[1:], strict=True))
        fitted = [
            np.reshape(i, (size,) + (1,) * (inner + 1 - np.ndim(i)) + i.shape[1:]) if m else i
            for i, m in zip(xs[1:], mapped[1:], strict=True)
        ]
        return self(xs[0], *fitted)


def add_at(buffer: Value, indices: Sequence[Value], ct: Value) -> None:
    """buffer[indices] += ct with repetition; one index array into few rows goes through a faster sum."""
    if all(np.size(i) == 1 for i in indices):
        buffer[tuple(indices)] += ct
    elif len(indices) == 1 and buffer.ndim == 1 and np.ndim(ct) == 1 and buffer.dtype == np.float64:
        positions = np.where(indices[0] < 0, indices[0] + buffer.shape[0], indices[0])  # pyright: ignore[reportUnknownVariableType]
        buffer += np.bincount(positions, weights=ct, minlength=buffer.shape[0])  # pyright: ignore[reportUnknownArgumentType]
    else:
        np.add.at(buffer, tuple(indices), ct)


@primitive
class ScatterSum(Linear):
    """Zeros of a type, with each part added where its key says.

    The arguments are the parts, then all index arrays.
    """

    size_fields = ("shape", "keys")
    has_indices = True

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    keys: tuple[Key, ...]

    @property
    def parameters(self) -> int:
        return sum(map(arity, self.keys))

    def split_indices(self, indices: Sequence[Value]) -> list[tuple[Key, Sequence[Value]]]:
        """Of each key the indices that belong to it."""
        pairs: list[tuple[Key, Sequence[Value]]] = []
        start = 0
        for key in self.keys:
            pairs.append((key, indices[start : start + arity(key)]))
            start += arity(key)
        return pairs

    def evaluate(self, *xs: Value) -> Value:
        n = len(self.keys)
        out = np.zeros(self.shape, self.dtype)
        for part, (key, indices) in zip(xs[:n], self.split_indices(xs[n:]), strict=True):
            if key[0] == "slice":
                out[subscript(key, ())] += part
            else:
                add_at(out, indices, part)
        return out[()]

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(self.shape, self.dtype)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return compact(result)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        n = len(self.keys)
        return [
            fit(reader(key)(ct, *indices), part)
            for part, (key, indices) in zip(xs[:n], self.split_indices(xs[n:]), strict=True)
        ]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        n = len(self.keys)
        parts = [x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs[:n], mapped[:n], strict=True)]
        flags = self.split_indices(mapped[n:])
        moved = [
            stacked(key, indices, flag, size)
            for (key, indices), (_, flag) in zip(self.split_indices(xs[n:]), flags, strict=True)
        ]
        out = ScatterSum((size, *self.shape), self.dtype, tuple(key for key, _ in moved))
        return out(*parts, *[i for _, indices in moved for i in indices])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        # one addition for each number that meets another one: those that come first are written
        added = sum(np.size(x) for x, _ in zip(xs, self.keys, strict=False))
        return arithmetic_flops(self, xs, max(added - np.size(zs[0]), 0) if len(self.keys) > 1 else 0)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        """Into one axis of float64 by weights: of each index where it is from zero on, and what they sum up to."""
        if len(self.shape) != 1 or self.dtype != np.float64:
            return 0
        return max((t.nbytes + results[0].nbytes for t in types[len(self.keys) :] if t.shape != (1,)), default=0)


@primitive
class ScatterSet(Linear):
    """x with x[key] = v: linear in x and v together.

    Where an index occurs twice, the last v stays, and only it has a derivative.
    """

    is_movement = True
    is_selection = True
    has_indices = True
    size_fields = ("index",)

    index: Key
    masks = True
    overwrites = True

    def subscript(self, indices: Sequence[Value]) -> tuple[Any, ...]:
        """The NumPy index of what is written."""
        return subscript(self.index, indices)

    @property
    def parameters(self) -> int:
        return arity(self.index)

    def key(self) -> Key:
        return self.index

    def evaluate(self, *xs: Value) -> Value:
        out = np.array(xs[0])
        out[subscript(self.index, xs[2:])] = xs[1]
        return out

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, types[0].dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        x, v, *indices = xs
        rest = self(ct, np.zeros(v.shape, ct.dtype), *indices)
        return rest, fit(self.read(ct, x, indices), v)

    def read(self, ct: Value, x: Any, indices: Sequence[Value]) -> Value:
        """The cotangent of what was written: zero for values that a later one with the same index replaced."""
        part = reader(self.index)(ct, *indices)
        if self.index[0] == "slice" or all(np.size(i) <= 1 for i in indices):
            return part
        last = LastWrite(tuple(x.shape[: len(indices)]))(*indices)
        lasts = np.reshape(last, last.shape + (1,) * (part.ndim - last.ndim))
        return np.where(lasts, part, part.dtype.type(0))  # pyright: ignore[reportUnknownVariableType]

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return keep_order(types[0], strides[0], result)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        x, v = (a if m else np.broadcast_to(a, (size, *np.shape(a))) for a, m in zip(xs[:2], mapped[:2], strict=True))
        key, indices = stacked(self.index, xs[2:], mapped[2:], size)
        return ScatterSet(key)(x, v, *indices)


@primitive
class LastWrite(Flat):
    """Which elements of an index are the last to name their element, in an array of this shape."""

    is_movement = True

    shape: tuple[Any, ...]

    @property
    def title(self) -> str:
        return "last_write"

    def evaluate(self, *xs: Value) -> Value:
        index = np.broadcast_arrays(*xs)
        order = np.reshape(np.arange(index[0].size), index[0].shape)
        owner = np.zeros(self.shape, int)
        owner[tuple(index)] = order
        return owner[tuple(index)] == order

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(np.broadcast_shapes(*[t.shape for t in types]), np.dtype(bool))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        _, indices = stacked(("gather", len(xs)), xs, mapped, size)
        return LastWrite((size, *self.shape))(*indices)


def slice_type(x: Value, items: tuple[Any, ...]) -> ArrayType:
    """The type of x[items]."""
    return Slice(items).result_type(type_of(x))
