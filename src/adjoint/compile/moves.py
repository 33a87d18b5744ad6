"""Elements moved about in memory: filling, copying, converting."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.compile import vectors
from adjoint.compile.elements import convert
from adjoint.compile.ir import Function, Value
from adjoint.compile.views import strides_of


@record(frozen=False)
class Operand:
    """Elements in memory, as an operation reads them."""

    pointer: Value
    strides: tuple[Any, ...]
    type: Any

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype


class Moves(ABC):
    """What an emitter does with memory alone."""

    f: Function

    @abstractmethod
    def number(self, n: Any) -> Value:
        """A size as a value of the function."""

    def fill(self, pointer: Value, kind: Any, value: Any) -> None:
        """Put the same number everywhere."""
        f, size = self.f, math.prod(kind.shape)
        if not size:
            return
        if value == 0 and size > 1:
            f.call(
                "llvm.memset.p0.i64", "void", pointer, f.constant("i8", 0), self.number(size * kind.dtype.itemsize),
                f.constant("i1", 0), declared=True,
            )  # fmt: skip
            return
        number = vectors.number(f, kind.dtype, value, 1)
        if size == 1:
            vectors.store(f, kind.dtype, number, pointer, f.index(0), 1, 1)
            return
        with f.loop(f.index(0), self.number(size)) as i:
            vectors.store(f, kind.dtype, number, pointer, i, 1, 1)

    def convert(self, value: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
        """An element in another dtype."""
        return value if source == target else convert(self.f, value, source, target)

    def copy_strided(self, target: Value, source: Operand) -> None:
        """Copy elements at any strides into contiguous memory."""
        f = self.f
        if all(
            s == t or n == 1 for s, t, n in zip(source.strides, strides_of(source.shape), source.shape, strict=True)
        ):
            self.copy(target, source.pointer, source.type)
            return
        own = strides_of(source.shape)

        def walk(axis: int, here: Value, there: Value) -> None:
            if axis == len(own):
                vectors.store(
                    f, source.dtype, vectors.load(f, source.dtype, source.pointer, here, 1, 1), target, there, 1, 1
                )
                return
            with f.loop(f.index(0), self.number(source.shape[axis])) as i:
                walk(
                    axis + 1,
                    f.add(here, f.mul(i, self.number(source.strides[axis]))),
                    f.add(there, f.mul(i, self.number(own[axis]))),
                )

        walk(0, f.index(0), f.index(0))

    def copy(self, target: Value, source: Value, kind: Any, *, whole: bool = False) -> None:
        """Copy contiguous elements; few of them one by one, or as one vector (`whole`), so that they stay in registers.

        They do when all that reads and writes them does it in the same way.
        """
        f, size = self.f, math.prod(kind.shape)
        if type(size) is int and size <= 8:
            width = size if whole and size else 1
            for k in range(0, size, width):
                part = vectors.load(f, kind.dtype, source, f.index(k), 1, width)
                vectors.store(f, kind.dtype, part, target, f.index(k), 1, width)
            return
        f.call(
            "llvm.memcpy.p0.p0.i64", "void", target, source, self.number(size * kind.dtype.itemsize),
            f.constant("i1", 0), declared=True,
        )  # fmt: skip
