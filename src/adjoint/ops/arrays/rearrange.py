"""Reshape, transpose, broadcast, join, pad, convert: linear maps that move elements about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.calculus import Linear, fit
from adjoint.program.layout import (
    Strides,
    broadcast_strides,
    compact,
    keep_order,
    probe_strides,
    reshape_strides,
)
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Size, Value, is_whole, real_dtype, result_dtype


@primitive
class Reshape(Linear):
    """The same elements in C order, in another shape."""

    is_view = True
    is_selection = True
    size_fields = ("shape",)

    shape: tuple[Any, ...]

    def evaluate(self, *xs: Value) -> Value:
        unknown = [axis for axis, n in enumerate(self.shape) if isinstance(n, Size)]
        if not unknown:
            return np.reshape(xs[0], self.shape)
        behind = len(self.shape) - unknown[0]  # what is not known stays as it is, and so does what follows
        return np.reshape(xs[0], (*self.shape[: unknown[0]], *np.shape(xs[0])[-behind:]))

    def with_sizes(self, types: Sequence[ArrayType], shapes: Sequence[tuple[Any, ...]]) -> Reshape:
        sizes = iter([n for n, declared in zip(shapes[0], types[0].shape, strict=True) if isinstance(declared, Size)])
        return Reshape(tuple(next(sizes) if isinstance(n, Size) else n for n in self.shape))

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        sizes = [[n for n in shape if isinstance(n, Size)] for shape in (x.shape, self.shape)]
        known = [math.prod(n for n in shape if not isinstance(n, Size)) for shape in (x.shape, self.shape)]
        if known[0] != known[1] or len(sizes[0]) != len(sizes[1]):
            raise ShapeError(f"reshape: {x} has {_elements(x)} elements, which do not fill shape {self.shape}.")
        own = iter(sizes[0])  # a program that is read again finds other sizes in the same order
        return ArrayType(tuple(next(own) if isinstance(n, Size) else n for n in self.shape), x.dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (_in_shape(ct, xs[0].shape),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return _in_shape(xs[0], (size, *self.shape))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return reshape_strides(types[0], strides[0], self.shape) or compact(result)


def _in_shape(x: Value, shape: tuple[Any, ...]) -> Value:
    return Reshape(shape)(x) if any(isinstance(n, Size) for n in shape) else np.reshape(x, shape)


def _elements(x: ArrayType) -> str:
    return str(x.size) if is_whole(x) else "other"


@primitive
class Transpose(Linear):
    """Axis i of the result is axis axes[i] of x."""

    is_view = True
    is_selection = True

    axes: tuple[int, ...]

    def evaluate(self, *xs: Value) -> Value:
        return np.transpose(xs[0], self.axes)

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        return ArrayType(tuple(x.shape[a] for a in self.axes), x.dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (np.transpose(ct, inverse_permutation(self.axes)),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return np.transpose(xs[0], (0, *[a + 1 for a in self.axes]))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return tuple(strides[0][axis] for axis in self.axes)


def inverse_permutation(axes: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes another."""
    inverse = [0] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return tuple(inverse)


@primitive
class Broadcast(Linear):
    """x repeated along new axes and axes of size one."""

    is_view = True
    is_selection = True
    size_fields = ("shape",)

    shape: tuple[Any, ...]

    def evaluate(self, *xs: Value) -> Value:
        return np.broadcast_to(xs[0], self.shape)

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        tail = self.shape[len(self.shape) - x.ndim :]
        if x.ndim > len(self.shape) or any(n not in (1, m) for n, m in zip(x.shape, tail, strict=True)):
            raise ShapeError(f"broadcast_to: {x} does not broadcast to shape {self.shape}.")
        return ArrayType(self.shape, x.dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (fit(ct, xs[0]),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        x = xs[0]
        x = np.reshape(x, (size,) + (1,) * (len(self.shape) + 1 - x.ndim) + x.shape[1:])
        return np.broadcast_to(x, (size, *self.shape))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return broadcast_strides(types[0], strides[0], self.shape)


@primitive
class Concatenate(Linear):
    """The arguments one after another along an axis."""

    is_movement = True
    is_selection = True

    axis: int

    def evaluate(self, *xs: Value) -> Value:
        return np.concatenate(xs, axis=self.axis)

    def result_type(self, *types: ArrayType) -> Any:
        first = types[0]
        for t in types[1:]:
            if t.ndim != first.ndim or any(t.shape[a] != first.shape[a] for a in range(first.ndim) if a != self.axis):
                raise ShapeError(f"concatenate: {first} and {t} differ in an axis other than axis {self.axis}. "
                                 "Reshape one of them, or join along another axis.")  # fmt: skip
        shape = list(first.shape)
        shape[self.axis] = sum(t.shape[self.axis] for t in types)
        return ArrayType(tuple(shape), result_dtype(*types))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        parts: list[Value] = []
        start, before = 0, (slice(None),) * self.axis
        for x in xs:
            stop = start + x.shape[self.axis]
            parts.append(fit(ct[(*before, slice(start, stop))], x))
            start = stop
        return parts

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        full = [x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)]
        return np.concatenate(full, axis=self.axis + 1)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return probe_strides(lambda *xs: np.concatenate(xs, axis=self.axis), types, strides, result)

    def may_raise(self, *types: ArrayType) -> bool:
        return False

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return 24 * len(types)  # a list of them, and two of what is known of each


@primitive
class Pad(Linear):
    """x with zeros before and after it along each axis."""

    is_movement = True
    is_selection = True
    size_fields = ("widths",)

    widths: tuple[tuple[int, int], ...]

    def evaluate(self, *xs: Value) -> Value:
        return np.pad(xs[0], self.widths) if self.widths else xs[0]  # NumPy's pad does not take a 0-d array

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        return ArrayType(tuple(a + n + b for n, (a, b) in zip(x.shape, self.widths, strict=True)), x.dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ct[tuple(slice(a, a + n) for n, (a, _) in zip(xs[0].shape, self.widths, strict=True))],)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return Pad(((0, 0), *self.widths))(xs[0])

    def may_raise(self, *types: ArrayType) -> bool:
        return False


@primitive
class Convert(Linear):
    """x in another dtype; to an integer dtype it truncates and has no derivative."""

    is_movement = True
    is_selection = True

    dtype: np.dtype[Any]

    def evaluate(self, *xs: Value) -> Value:
        x = xs[0]
        if np.iscomplexobj(x) and self.dtype.kind != "c":
            x = np.real(x)
        return np.asarray(x).astype(self.dtype)[()] if np.ndim(x) == 0 else x.astype(self.dtype)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, self.dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (fit(ct, xs[0]),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return keep_order(types[0], strides[0], result)

    def may_raise(self, *types: ArrayType) -> bool:
        return False


@primitive
class Real(Linear):
    """The real part; its adjoint puts a real cotangent into the complex plane."""

    is_view = True

    def evaluate(self, *xs: Value) -> Value:
        return np.real(xs[0]).copy("K") if np.ndim(xs[0]) else np.real(xs[0])

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, real_dtype(types[0].dtype))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ct.astype(xs[0].dtype),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return keep_order(types[0], strides[0], result)


@primitive
class Imag(Linear):
    """The imaginary part: Im z = Re(-i z), so its adjoint multiplies by i."""

    is_view = True

    def evaluate(self, *xs: Value) -> Value:
        return np.imag(xs[0]).copy("K") if np.ndim(xs[0]) else np.imag(xs[0])

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, real_dtype(types[0].dtype))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ct.astype(xs[0].dtype) * 1j,) if xs[0].dtype.kind == "c" else (ct * 0.0,)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return keep_order(types[0], strides[0], result)


@primitive
class Complex(Linear):
    """re + i im, without a product: infinite parts stay as they are."""

    never_raises = True

    is_movement = True

    def evaluate(self, *xs: Value) -> Value:
        re, im = xs
        z = np.empty(np.shape(re), np.result_type(re, im, np.complex64))
        z.real, z.imag = re, im
        return z[()]

    def result_type(self, *types: ArrayType) -> Any:
        re, im = types
        if re.shape != im.shape:
            raise ShapeError(f"complex: the real part is {re}, the imaginary part {im}; both have one shape.")
        return ArrayType(re.shape, np.result_type(re.dtype, im.dtype, np.complex64))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return fit(np.real(ct), xs[0]), fit(np.imag(ct), xs[1])

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*[x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)])

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return compact(result)
