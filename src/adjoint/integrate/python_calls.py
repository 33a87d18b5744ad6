"""Right sides that cannot be traced, nor converted for want of their source: compiled steps call them in Python.

Derivatives, to any order, are those of the function on the tape, in Python as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import jvp, vjp
from adjoint.base.errors import ShapeError, TraceError
from adjoint.integrate.system import Arguments, Layout
from adjoint.ops.custom import Attach, OpaqueCall
from adjoint.program.record import Record
from adjoint.program.trace import TRACED, live_trace
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.custom import BatchedRule

__all__ = ["call_in_python"]


def call_in_python(title: str, f: Callable[..., Any], layout: Layout, args: Arguments) -> Callable[..., Any] | None:
    """f(t, y, *args) as a function that can be traced; None while a program is recorded, which would not be native."""
    trace = live_trace()
    while trace is not None:
        if isinstance(trace, Record):
            return None
        trace = trace.outer
    flat = _Right(title, f, layout, args)

    def called(t: Value, y: Any, *given: Any) -> Any:
        numbers = [v for v in tree.leaves(given) if hasattr(v, "dtype")]
        found = _call(flat, tuple(layout.types), [t, *tree.leaves(y), *numbers])
        return tree.unflatten(layout.structure, found)

    return called


@final
class _Right:
    """f on leaves; equal where f, the structure of y and static arguments are."""

    def __init__(self, title: str, f: Callable[..., Any], layout: Layout, args: Arguments) -> None:
        self.title, self.f, self.layout, self.args = title, f, layout, args
        self._key = (f, layout, tree.structure(args.whole(list(range(len(args.values))))))

    def __call__(self, t: Value, *leaves: Value) -> list[Value]:
        types = self.layout.types
        n = len(types)
        y = tree.unflatten(self.layout.structure, leaves[:n])
        out, structure = tree.flatten(self.f(t, y, *self.args.whole(leaves[n:])))
        if structure != self.layout.structure:
            raise ShapeError(f"{self.title}: f returned {structure}; y is {self.layout.structure}.")
        for value, kind in zip(out, types, strict=True):
            if np.shape(value) != kind.shape:
                raise ShapeError(f"{self.title}: f returned an array of shape {np.shape(value)}; y0 has {kind.shape}.")
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Right) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self.f)


@dataclass(frozen=True)
class _Plain:
    """A function of leaves on plain arrays."""

    function: Any
    types: tuple[ArrayType, ...]

    def __call__(self, *xs: Value) -> list[Value]:
        out = self.function(*xs)
        if any(isinstance(v, TRACED) for v in out):
            raise TraceError(
                "integrate.solve: f has no source, so that it is called in Python, and it closes over what is "
                "differentiated or mapped. Hand that in as args=(…,)."
            )
        return [np.asarray(v, t.dtype)[()] for v, t in zip(out, self.types, strict=True)]


@dataclass(frozen=True)
class _Tangent:
    """The tangent of a function for tangents of the leaves `moving`."""

    function: Any
    moving: tuple[int, ...]

    def __call__(self, *flat: Value) -> list[Value]:
        count = len(flat) - len(self.moving)
        part = _Part(self.function, flat[:count], self.moving)
        return list(jvp(part, tuple(flat[i] for i in self.moving), tuple(flat[count:]))[1])


@dataclass(frozen=True)
class _Cotangent:
    """The cotangents of the leaves `moving` of a function."""

    function: Any
    moving: tuple[int, ...]
    count: int

    def __call__(self, *flat: Value) -> list[Value]:
        part = _Part(self.function, flat[: self.count], self.moving)
        return list(vjp(part, *[flat[i] for i in self.moving])[1](list(flat[self.count :])))


class _Part:
    """A function of some of its leaves."""

    def __init__(self, function: Any, leaves: Sequence[Value], moving: Sequence[int]) -> None:
        self.function, self.leaves, self.moving = function, leaves, moving

    def __call__(self, *part: Value) -> list[Value]:
        leaves = list(self.leaves)
        for i, v in zip(self.moving, part, strict=True):
            leaves[i] = v
        return list(self.function(*leaves))


def _call(function: Any, types: tuple[ArrayType, ...], xs: Sequence[Value]) -> list[Value]:
    found = OpaqueCall(_Plain(function, types), types=types)(*xs)
    return list(Attach(_Rule(function, types), len(types))(*found, *xs))


@dataclass(frozen=True)
class _Rule:
    """The derivative of a function that Python calls: a function that Python calls."""

    function: Any
    types: tuple[ArrayType, ...]
    title = "a function called in Python"

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        moving = tuple(i for i, dx in enumerate(dxs) if dx is not None)
        return _call(_Tangent(self.function, moving), self.types, [*xs, *[dxs[i] for i in moving]])

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        kinds = [type_of(x) for x in xs]
        moving = tuple(i for i, w in enumerate(wanted) if w and kinds[i].dtype.kind in "fc")
        types = tuple(ArrayType(kinds[i].shape, kinds[i].dtype) for i in moving)
        found = iter(_call(_Cotangent(self.function, moving, len(xs)), types, [*xs, *cts]))
        return [
            next(found) if i in moving else np.zeros(kind.shape, kind.dtype) if w else None
            for i, (kind, w) in enumerate(zip(kinds, wanted, strict=True))
        ]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)
