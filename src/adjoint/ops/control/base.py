"""What primitives with programs inside have in common.

A control primitive states how a transformation is mapped over its programs. The transformations of programs come with
the trace that asks (`trace.programs`), so nothing here knows how they work.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.program.layout import Strides, compact
from adjoint.program.op import Op
from adjoint.program.program import Program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, is_whole, type_of

Flags = tuple[bool, ...]
Derive = Callable[[Flags, Flags], tuple[Program, Flags]]  # (active inputs, forced outputs) → (program, active outputs)
Guard = Callable[[Program], Program]
Run = Callable[[Program, Sequence[Value]], list[Value]]


class Control(Op):
    """A primitive with programs inside.

    It answers the traces themselves (`save`, `jvp`, `vmap`, `jet`) instead of element rules.
    """

    several = True
    is_control = True
    unrolls = True
    saves = True

    @abstractmethod
    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]: ...

    def without_checkpoints(self) -> Control:
        """The same, where reverse mode keeps all that it will read."""
        changed: Any = self  # only loops have plans
        return dataclasses.replace(changed, checkpoint=None) if getattr(self, "checkpoint", None) is not None else self

    @abstractmethod
    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]: ...

    @abstractmethod
    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]: ...

    @abstractmethod
    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]: ...

    @abstractmethod
    def programs(self) -> dict[str, Program]: ...

    @abstractmethod
    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]: ...

    @abstractmethod
    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        """The same with one more argument, which says whether effects inside happen; and its place (None: last)."""

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        raise TypeError(f"{self.title} answers vmap itself")

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        raise TypeError(f"{self.title} answers jet itself")

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        raise TypeError(f"{self.title} answers reverse mode itself")

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return compact(result)

    def __str__(self) -> str:
        return self.title


def rearranged(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """The same program with inputs and outputs in another order."""
    return Program(
        tuple(program.inputs[i] for i in inputs),
        program.equations,
        tuple(program.outputs[i] for i in outputs),
        program.constants,
    )


def zeros(kind: ArrayType | Value) -> Value:
    """A zero like a type or a value."""
    if isinstance(kind, ArrayType) or is_whole(type_of(kind)):
        kind = kind if isinstance(kind, ArrayType) else type_of(kind)
        return np.zeros(kind.shape, kind.dtype)
    odd: Value = np.not_equal(kind, kind)  # a product with the numbers themselves is NaN where they are not finite
    return np.multiply(odd, np.zeros((), kind.dtype))


def stacked(rows: Sequence[Value], kind: ArrayType) -> Value:
    """Values of the same type, one upon the other.

    Where their sizes are known only now (iterations of a loop inside), shorter ones end in zeros.
    """
    shapes = [np.shape(r) for r in rows]
    if any(isinstance(r, Tracer) for r in rows):
        longest = np.max(np.array(shapes, int).reshape(len(rows), -1), axis=0, initial=0)
        return np.stack([r if s == tuple(longest) else _padded(r, longest) for r, s in zip(rows, shapes, strict=True)])
    if all(isinstance(n, int) for n in kind.shape) or all(s == shapes[0] for s in shapes):
        return (
            np.stack(rows) if rows else np.zeros((0, *[n if isinstance(n, int) else 0 for n in kind.shape]), kind.dtype)
        )
    out = np.zeros((len(rows), *np.max(shapes, axis=0)), kind.dtype)
    for target, row, shape in zip(out, rows, shapes, strict=True):
        target[tuple(map(slice, shape))] = row
    return out


def _padded(row: Value, shape: Sequence[int]) -> Value:
    return np.pad(row, [(0, int(n) - m) for n, m in zip(shape, np.shape(row), strict=True)])


def active_series(series: Sequence[list[Value]]) -> Flags:
    """Which inputs move: have a coefficient beyond the constant one."""
    return tuple(any(c is not None for c in s[1:]) and type_of(s[0]).differentiable for s in series)


def flat_series(series: Sequence[list[Value]], active: Flags) -> list[Value]:
    """Constant terms, then the higher coefficients of the active inputs."""
    flat = [s[0] for s in series]
    for s, a in zip(series, active, strict=True):
        if a:
            flat += [zeros(s[0]) if c is None else c for c in s[1:]]
    return flat


def grouped_series(flat: Sequence[Value], flags: Flags, order: int) -> list[list[Value]]:
    """The inverse of `flat_series` for outputs."""
    n = len(flags)
    higher = iter(flat[n:])
    return [
        [z, *([next(higher) for _ in range(order)] if f else [None] * order)]
        for z, f in zip(flat[:n], flags, strict=True)
    ]
