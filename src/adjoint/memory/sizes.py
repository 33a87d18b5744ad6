"""How many bytes values take: the elements of arrays, and Python's objects around them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from adjoint.program.types import ArrayType
from adjoint.transform.entries import HEAD
from adjoint.transform.tape import TapeTracer

# What a call of value_and_grad takes by itself: its arguments taken apart, the trace, NumPy's error state. Measured.
CALL = 9000
INTEGER = 28  # a Python int
ARRAY = sys.getsizeof(np.empty(())) - np.dtype(np.float64).itemsize
AXIS = sys.getsizeof(np.empty((1,))) - sys.getsizeof(np.empty(()))
NUMBER = sys.getsizeof(np.float64(0)) - np.dtype(np.float64).itemsize
TUPLE, ITEM = sys.getsizeof(()), sys.getsizeof((0,)) - sys.getsizeof(())
TRACER = TapeTracer.__basicsize__ + 16  # what the collector needs stands in front
OPERATION = 120  # one that is made for a call, with its parameters; measured
# A program that is written for one call, by itself (the states of random generators, above all) and for each of its
# equations; measured.
WRITING, EQUATION = 60_000, 1500


def address(array: np.ndarray[Any, Any]) -> int:
    """Where the elements stand: what has the same is counted once."""
    return array.__array_interface__["data"][0]


def array_object(kind: ArrayType) -> int:
    """An array, or a NumPy number, beside its elements."""
    return ARRAY + AXIS * len(kind.shape) if kind.shape else NUMBER


def tracer_object(tracer: Any) -> int:
    """A value on a tape, with the shape that it compares."""
    extent = tracer._extent
    return TRACER + (TUPLE + ITEM * len(extent) if extent else 0)


def entry_object(entry: Any, known: set[int]) -> int:
    """An entry of a record, with its position, and the tuples and the operation that belong to it.

    `known` are the operations of other entries.
    """
    size = sys.getsizeof(entry) + ITEM + INTEGER
    op, indices, _, xs = entry[:4]
    if isinstance(op, HEAD):
        return size
    size += sum(sys.getsizeof(part) for part in (indices, xs) if isinstance(part, tuple))
    if id(op) not in known:
        known.add(id(op))
        size += OPERATION
    return size
