"""Types that several paths share: what a variable is behind a branch, and in every iteration of a loop."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, result_dtype, type_of


class NoBlock(Exception):  # noqa: N818 (a reason, not a failure: the block stays Python's own)
    """An if or a loop cannot be part of the program; the message says which variable stands in the way."""


def weak_type_of(value: Value) -> ArrayType:
    """The type of a value; a traced one that stands for a Python number is weak."""
    if isinstance(value, Tracer):
        return ArrayType(value.shape, value.dtype, weak=value.weak and not value.shape)
    return type_of(value)


def join_types(a: ArrayType, b: ArrayType, name: str) -> ArrayType:
    """The type that holds values of both."""
    if a == b:
        return a
    if a.shape != b.shape:
        raise NoBlock(f"{name} has shape {a.shape} on one path and {b.shape} on another")
    if "b" in (a.dtype.kind, b.dtype.kind) and a.dtype != b.dtype:
        dtype = np.promote_types(a.dtype, b.dtype)
    else:
        dtype = result_dtype(a, b)
    weak = a.weak and b.weak and dtype.kind in "ifc"
    return ArrayType(a.shape, dtype, weak=weak)


def strong(kind: ArrayType) -> ArrayType:
    """The type as an array of its own, which gives way to none."""
    return ArrayType(kind.shape, kind.dtype)


def fit(value: Value, kind: ArrayType) -> Value:
    """A value as one of a type."""
    if not isinstance(value, Tracer):
        return np.asarray(value, kind.dtype)[()]
    return Convert(kind.dtype)(value) if value.dtype != kind.dtype else value


def weaken(value: Value, kind: ArrayType) -> Value:
    """A value as a Python number, where the type is that of one."""
    if not kind.weak:
        return value
    return Weaken()(value) if isinstance(value, Tracer) else np.asarray(value).item()
