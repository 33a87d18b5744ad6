"""Arrays as one vector of real numbers, and back: the form in which linear equations of any unknowns are solved.

Complex numbers count twice, (Re, Im): an equation may hold x and conj(x), whose derivative is linear over the reals
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

__all__ = ["dtype_of", "is_equal", "named_element", "path_in_x", "real_size", "to_arrays", "to_vector"]


def real_size(types: Sequence[ArrayType]) -> int:
    """How many real numbers arrays of these types hold."""
    return sum(t.size * (2 if t.dtype.kind == "c" else 1) for t in types)


def dtype_of(types: Sequence[ArrayType]) -> np.dtype[Any]:
    """The real type that holds all of them."""
    return np.finfo(np.result_type(np.float32, *[t.dtype for t in types])).dtype if types else np.dtype(float)


def to_vector(values: Sequence[Value], types: Sequence[ArrayType]) -> Value:
    """All elements one after another; of a complex array its real parts, then its imaginary parts."""
    pieces: list[Value] = []
    for value, t in zip(values, types, strict=True):
        flat = np.reshape(value, (-1,))
        pieces += [np.real(flat), np.imag(flat)] if t.dtype.kind == "c" else [flat]
    if not pieces:
        return np.zeros(0)
    dtype = dtype_of(types)
    pieces = [p if p.dtype == dtype else p.astype(dtype) for p in pieces]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def to_arrays(vector: Value, types: Sequence[ArrayType]) -> list[Value]:
    """The inverse of `to_vector`."""
    found: list[Value] = []
    at = 0
    for t in types:
        n = t.size
        piece = vector[at : at + n]
        at += n
        if t.dtype.kind == "c":
            piece, at = piece + 1j * vector[at : at + n], at + n
        piece = np.reshape(piece, t.shape)
        found.append(piece if piece.dtype == t.dtype else piece.astype(t.dtype))
    return found


def named_element(number: int, types: Sequence[ArrayType], paths: Sequence[str]) -> str:
    """Where an element of the vector stands in the tree: "x['b']", "x.w[2]"."""
    for t, path in zip(types, paths, strict=True):
        width = t.size * (2 if t.dtype.kind == "c" else 1)
        if number < width:
            at = number % t.size
            where = "" if t.shape == () else str(list(map(int, np.unravel_index(at, t.shape))))
            return f"{path_in_x(path)}{where}"
        number -= width
    return "x"


def path_in_x(path: str) -> str:
    """The path of a leaf as it is written: "x['b']", "x[0]", "x.w"."""
    return f"x{path}" if not path or path[0] in "[." else f"x.{path}"


def is_equal(values: Sequence[Value], others: Sequence[Value]) -> bool:
    """Whether two lists hold the same plain arrays."""
    return len(values) == len(others) and all(
        not isinstance(b, Tracer) and np.shape(a) == np.shape(b) and np.array_equal(a, b)
        for a, b in zip(values, others, strict=True)
    )
