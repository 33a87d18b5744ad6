"""Slices that move from iteration to iteration: x[t], x[2*t : 2*t + 2], x[:, n - 1 - t], x[t, j].

Along each axis of an array a key has a position: the number of an integer, the start of a slice. `MovingSlices` holds
the positions of all iterations. One axis that moves by equal steps makes one strided slice of the reads of all
iterations, and of their writes; anything else is a gather, with index arrays that are known now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.ops.arrays.index import Gather, Key, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import Value, type_of

ALL = (None, None, None)

# (primitive, equation) → (its keys, the shape of the array that they index)
INDEXED: RuleTable[Callable[[Any, Equation], tuple[tuple[Key, ...], tuple[Any, ...]]]] = RuleTable("keys that move")


@INDEXED.rule(Slice, ScatterSet)
def index_first(op: Slice | ScatterSet, eq: Equation) -> tuple[tuple[Key, ...], tuple[Any, ...]]:
    return (op.key(),), eq.inputs[0].type.shape


@INDEXED.rule(ScatterSum)
def index_parts(op: ScatterSum, eq: Equation) -> tuple[tuple[Key, ...], tuple[Any, ...]]:
    return op.keys, op.shape


@record(frozen=False)
class Draft:
    """Equations being written, for one line of the user program."""

    like: Equation
    equations: list[Equation] = field(default_factory=list[Equation])
    constants: dict[Var, Value] = field(default_factory=dict[Var, Value])

    def write(self, op: Op, *inputs: Atom) -> Var:
        """The result of one more equation."""
        v = Var(op.result_type(*[a.type for a in inputs]))
        self.append(op, inputs, (v,))
        return v

    def append(
        self, op: Op, inputs: tuple[Atom, ...], outputs: tuple[Var, ...], *, like: Equation | None = None
    ) -> None:
        """One more equation."""
        eq = like or self.like
        self.equations.append(Equation(op, inputs, outputs, eq.location, eq.scope, eq.quiet, eq.pulled))

    def constant(self, value: Value) -> Var:
        """A constant of the program."""
        v = Var(type_of(value))
        self.constants[v] = value
        return v

    def reshape(self, x: Atom, shape: Sequence[int]) -> Atom:
        """x in another shape."""
        return x if x.type.shape == tuple(shape) else self.write(Reshape(tuple(shape)), x)

    def move_axis(self, x: Atom, source: int, target: int) -> Atom:
        """x with one axis at another position."""
        axes = [a for a in range(x.type.ndim) if a != source]
        axes.insert(target, source)
        return x if source == target else self.write(Transpose(tuple(axes)), x)

    def take_rows(self, x: Atom, start: int, step: int, length: int) -> Atom:
        """x[start], x[start + step], …"""
        if (start, step, length) == (0, 1, x.type.shape[0]):
            return x
        return self.write(Slice((strided_slice(start, step, length),)), x)


def strided_slice(start: int, step: int, length: int) -> tuple[int, int | None, int]:
    """The slice start, start + step, … of a length."""
    stop = start + step * length
    return (start, stop if stop >= 0 else None, step)


@record(frozen=False)
class MovingSlices:
    """Keys of one form in arrays of one shape, iteration by iteration."""

    shape: tuple[int, ...]  # of the array
    spans: tuple[tuple[int, int] | None, ...]  # for each axis: (step, length) of a slice, None for an integer
    positions: np.ndarray[Any, np.dtype[np.int64]]  # (iterations, axes)
    outer: tuple[int, ...]  # the shape of what is read in one iteration

    @staticmethod
    def of(keys: Sequence[Key], shape: tuple[Any, ...]) -> MovingSlices | None:
        """The slices of some keys; None when they have not one form, or sizes are not known yet."""
        if not all(isinstance(n, int) for n in shape) or any(key[0] != "slice" for key in keys):
            return None
        rows: list[list[int]] = []
        spans: tuple[Any, ...] = ()
        for key in keys:
            items = [item for item in _explicit(key, len(shape)) if item is not None]
            row: list[int] = []
            span: list[Any] = []
            for item, n in zip(items, shape, strict=True):
                if isinstance(item, tuple):
                    start, stop, step = slice(*item).indices(n)
                    row.append(start)
                    span.append((step, len(range(start, stop, step))))
                else:
                    row.append(item + n if item < 0 else item)
                    span.append(None)
            if rows and tuple(span) != spans:
                return None
            rows.append(row)
            spans = tuple(span)
        positions = np.array(rows, np.int64).reshape(len(rows), len(shape))
        return MovingSlices(shape, spans, positions, _outer_shape(_explicit(keys[0], len(shape)), spans))

    def part(self, iterations: slice | Sequence[int]) -> MovingSlices:
        """Some of the iterations."""
        return MovingSlices(self.shape, self.spans, self.positions[iterations], self.outer)

    @property
    def iterations(self) -> int:
        return len(self.positions)

    @property
    def moving(self) -> list[int]:
        """The axes along which the position is not the same in all iterations."""
        return [a for a in range(len(self.shape)) if np.any(self.positions[:, a] != self.positions[0, a])]

    @property
    def front(self) -> list[int]:
        """The axes up to the last one of which not all is taken: those that need index arrays."""
        taken = [s == (1, n) for s, n in zip(self.spans, self.shape, strict=True)]
        return list(range(max([a + 1 for a, whole in enumerate(taken) if not whole], default=0)))

    @property
    def distinct(self) -> bool:
        """Whether no element is named in two iterations (some that are so may count as not)."""
        points = self.positions[:, [s is None for s in self.spans]]
        return self.iterations == 1 or len(np.unique(points, axis=0)) == self.iterations or self.even() is not None

    def even(self) -> tuple[int, int] | None:
        """(axis, step) where one axis alone moves, by equal steps: integers, or slices side by side."""
        axes = self.moving
        if len(axes) != 1:
            return None
        column = self.positions[:, axes[0]]
        step = int(column[1] - column[0])
        span = self.spans[axes[0]]
        if step == 0 or np.any(np.diff(column) != step):
            return None
        return None if span is not None and abs(step) != abs(span[0] * span[1]) else (axes[0], step)

    # ---- all iterations at once

    def read(self, draft: Draft, x: Atom) -> Atom:
        """What all iterations read of x, stacked."""
        even = self.even()
        if even is None:
            indices = [draft.constant(array) for array in self.indices(self.moving)]
            return self._gather(draft, x, indices, (self.iterations,))
        axis, step = even
        items = self._bulk(axis, step)
        x = draft.write(Slice(items), x) if items else x
        position = sum(s is not None for s in self.spans[:axis])
        span = self.spans[axis]
        if span is not None:
            shape = x.type.shape
            x = draft.reshape(x, (*shape[:position], self.iterations, span[1], *shape[position + 1 :]))
        x = draft.move_axis(x, position, 0)
        if span is not None and step * span[0] < 0:
            x = draft.take_rows(x, self.iterations - 1, -1, self.iterations)
        return draft.reshape(x, (self.iterations, *self.outer))

    def _bulk(self, axis: int, step: int) -> tuple[Any, ...]:
        """The items of all iterations together."""
        items: list[Any] = []
        for a, (span, position) in enumerate(zip(self.spans, self.positions[0].tolist(), strict=True)):
            if a == axis and span is None:
                items.append(strided_slice(position, step, self.iterations))
            elif a == axis and span is not None:
                first = position if step * span[0] > 0 else int(self.positions[-1, a])
                items.append(strided_slice(first, span[0], self.iterations * span[1]))
            else:
                items.append(position if span is None else strided_slice(position, *span))
        while items and items[-1] == (0, self.shape[len(items) - 1], 1):
            items.pop()
        return tuple(items)

    def write(self, draft: Draft, values: Atom) -> tuple[Key, Atom, list[Atom]]:
        """A key for the writes of all iterations, the stacked values as it takes them, and index arrays.

        The positions must be distinct.
        """
        t = self.iterations
        values = self.align(draft, values, (t,))
        even = self.even()
        if even is None:
            axes = self.front
            return ("gather", len(axes)), values, [draft.constant(array) for array in self.indices(axes)]
        axis, step = even
        position = sum(s is not None for s in self.spans[:axis])
        span = self.spans[axis]
        if span is not None:
            if step * span[0] < 0:
                values = draft.take_rows(values, t - 1, -1, t)
            shape = values.type.shape
            if shape[1 + position] != span[1]:
                values = draft.write(Broadcast((*shape[: 1 + position], span[1], *shape[2 + position :])), values)
        values = draft.move_axis(values, 0, position)
        if span is not None:
            shape = values.type.shape
            values = draft.reshape(values, (*shape[:position], t * span[1], *shape[position + 2 :]))
        return ("slice", self._bulk(axis, step)), values, []

    def align(self, draft: Draft, values: Atom, lead: tuple[int, ...]) -> Atom:
        """Values that broadcast to what the key names, with one axis for each of its slices, behind the iterations."""
        n = len(lead)
        shape = values.type.shape[n:]
        shape = (1,) * (len(self.outer) - len(shape)) + shape[max(len(shape) - len(self.outer), 0) :]
        outer = tuple(s[1] for s in self.spans if s is not None)
        values = draft.reshape(values, (*lead, *shape))
        if len(outer) == len(self.outer):
            return values
        if shape != self.outer:  # the key has new axes of size one
            values = draft.write(Broadcast((*lead, *self.outer)), values)
        return draft.reshape(values, (*lead, *outer))

    def indices(self, axes: Sequence[int]) -> list[Value]:
        """For each of some axes the positions of its elements, (iterations, …): arrays that broadcast together."""
        spans = [self.spans[a] for a in axes]
        inner = sum(s is not None for s in spans)
        arrays: list[Value] = []
        position = 0
        for a, span in zip(axes, spans, strict=True):
            column = self.positions[:, a].reshape((-1,) + (1,) * inner)
            if span is not None:
                step, length = span
                shape = [1] * (inner + 1)
                shape[1 + position] = length
                column = column + (step * np.arange(length)).reshape(shape)
                position += 1
            arrays.append(column)
        return arrays

    # ---- one iteration

    def read_one(self, draft: Draft, x: Atom, indices: Sequence[Atom]) -> Atom:
        """What one iteration reads of x, with its own index arrays along the moving axes."""
        return self._gather(draft, x, indices, ())

    def align_one(self, draft: Draft, value: Atom) -> Atom:
        """The value that one iteration writes, as a key with index arrays along all axes takes it."""
        return self.align(draft, value, ())

    def _gather(self, draft: Draft, x: Atom, indices: Sequence[Atom], lead: tuple[int, ...]) -> Atom:
        moving = self.moving
        fixed: list[Any] = []
        for a, (span, position) in enumerate(zip(self.spans, self.positions[0].tolist(), strict=True)):
            fixed.append(ALL if a in moving else position if span is None else strided_slice(position, *span))
        axes = [a for a in range(len(self.shape)) if a in moving or self.spans[a] is not None]  # left by `fixed`
        if any(item not in (ALL, (0, n, 1)) for item, n in zip(fixed, self.shape, strict=True)):
            x = draft.write(Slice(tuple(fixed)), x)
        rest = [i for i in range(len(axes)) if axes[i] not in moving]
        x = _transpose(draft, x, [axes.index(a) for a in moving] + rest)
        x = draft.write(Gather(len(moving)), x, *indices)
        kept_axes = [a for a in moving if self.spans[a] is not None] + [
            axes[i] for i in rest
        ]  # axes of it, after the iterations
        x = _transpose(draft, x, [*range(len(lead)), *[len(lead) + kept_axes.index(a) for a in sorted(kept_axes)]])
        return draft.reshape(x, (*lead, *self.outer))


def _transpose(draft: Draft, x: Atom, axes: Sequence[int]) -> Atom:
    return x if list(axes) == list(range(len(axes))) else draft.write(Transpose(tuple(axes)), x)


def _explicit(key: Key, ndim: int) -> list[Any]:
    """The items of a key, for every axis."""
    items = list(key[1])
    missing = ndim - sum(item is not None and item is not ... for item in items)
    at = items.index(...) if ... in items else len(items)
    return items[:at] + [ALL] * missing + items[at + 1 :]


def _outer_shape(items: Sequence[Any], spans: Sequence[tuple[int, int] | None]) -> tuple[int, ...]:
    """The shape of x[items]."""
    kept = iter([s[1] for s in spans if s is not None])
    return tuple([1 if item is None else next(kept) for item in items if item is None or isinstance(item, tuple)])
