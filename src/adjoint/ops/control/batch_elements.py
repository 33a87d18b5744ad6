"""Whether the elements of a batch go through a loop or a branch together, in blocks, or each by itself.

NumPy is quick where all elements go together: a loop runs until the last one has finished, the others keep their
values, and both sides of a branch are computed. Machine code loses nothing by taking a few after the other: then a loop
stops as soon as these few have finished. So a function that is traced to be compiled has loops over blocks of elements,
as many as a few vectors hold, and one that is read by NumPy has not.

How often a loop goes round then differs from block to block. Which sizes differ so is noted while a function is traced,
by the batch (a number that all traces of one `vmap` have) and how many elements a block has: a loop that reads such
rows takes the same blocks.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import Gather
from adjoint.ops.calculus import Flat, Linear, Multilinear
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import Equation, Literal, Program, Var
from adjoint.program.subprograms import all_equations
from adjoint.program.types import ArrayType, Size, Value

Notes = dict[tuple[Size, int], int]  # (size, batch) → elements of a block
_notes: ContextVar[Notes | None] = ContextVar("adjoint_blocks_of_elements", default=None)
ELEMENTS = 64  # numbers of the largest carry in one block
WIDEST, NARROWEST = 8, 4  # elements of a block: a vector, which stays in a register
NEAR, SLIMMEST, FEWEST = 1024, 32, 8  # numbers that a block of a counted loop carries; its elements; blocks
MANY = 100_000  # numbers that all iterations of a counted loop compute: fewer are not worth blocks
LONG = 16  # numbers: an array of so many fills vectors by itself
DEAR = 512.0  # operations on such arrays
LENGTHY = 200.0  # additions that one element takes


@contextmanager
def loops_over_elements() -> Generator[None]:
    """What is recorded here becomes machine code: elements of a batch may go one after the other."""
    if _notes.get() is not None:
        yield
        return
    token = _notes.set({})
    try:
        yield
    finally:
        _notes.reset(token)


def has_loops_over_elements() -> bool:
    """Whether elements of a batch may go one after the other."""
    return _notes.get() is not None


def note_blocks(types: Sequence[ArrayType], batch: int, width: int) -> None:
    """Sizes of these types differ between blocks of so many elements of a batch."""
    notes = _notes.get()
    if notes is not None:
        notes.update(((n, batch), width) for kind in types for n in kind.shape if isinstance(n, Size))


def inherit_notes(before: Sequence[ArrayType], after: Sequence[ArrayType]) -> None:
    """A program was read again, and found other sizes in the place of those that it had."""
    notes = _notes.get()
    if not notes:
        return
    for old, new in zip(before, after, strict=True):
        pairs = [[n for n in kind.shape if isinstance(n, Size)] for kind in (old, new)]
        for n, m in zip(*pairs, strict=False):
            notes.update({(m, batch): width for (size, batch), width in notes.items() if size == n and m != n})


def noted_blocks(types: Sequence[ArrayType], batch: int) -> int | None:
    """How many elements a block has in which such sizes are the same; None if they are in the whole batch."""
    notes = _notes.get() or {}
    widths = [notes[n, batch] for kind in types for n in kind.shape if (n, batch) in notes]
    return min(widths, default=None)


def is_dear(program: Program) -> bool:
    """Whether a side of a branch costs more than what is lost when elements of a batch take it one after the other.

    What is small is computed for many elements at once, on both sides. A loop with a condition may not even end for
    elements that do not take this side.
    """
    return _work(program) > DEAR


def _work(program: Program) -> float:
    """Operations on arrays that fill vectors by themselves."""
    total = 0.0
    for eq in program.equations:
        op: Any = eq.op
        if op.is_loop and op.has_condition:
            return math.inf
        largest = max([_elements(a.type) for a in (*eq.inputs, *eq.outputs)], default=0)
        if op.programs():
            times = op.length if op.is_loop and op.length is not None else 1
            total += times * max(_work(p) for p in op.programs().values())
        elif largest >= LONG and not (op.is_view or op.is_movement):
            total += largest if op.is_elementwise else largest**1.5
    return total


def is_long(program: Program) -> bool:
    """Whether a side of a branch costs more than to look whether any element of a block takes it."""
    return _price(program) > LENGTHY


def _price(program: Program) -> float:
    """What a program costs, in additions of numbers."""
    total = 0.0
    for eq in program.equations:
        op: Any = eq.op
        if op.is_loop and op.has_condition:
            return math.inf
        if op.programs():
            times = op.length if op.is_loop and isinstance(op.length, int) else 1
            total += times * max(map(_price, op.programs().values()))
        elif not (op.is_view or op.is_movement):
            largest = max([_elements(a.type) for a in (*eq.inputs, *eq.outputs)], default=0)
            total += largest * op.work.price if op.is_elementwise else largest**1.5
    return total


def _elements(kind: ArrayType) -> int:
    return math.prod(n for n in kind.shape if isinstance(n, int))


def _may_raise(program: Program) -> list[Equation]:
    """What may raise for numbers that it was not meant for. Effects know which elements they are for."""
    return [
        eq
        for eq in all_equations(program)
        if not (eq.op.programs() or eq.op.effect) and eq.op.may_raise(*[a.type for a in eq.inputs])
    ]


def is_fragile(program: Program) -> bool:
    """Whether a program may raise for numbers that it was not meant for: those of elements that do not run it."""
    return bool(_may_raise(program))


def spreads_nan(program: Program) -> bool:
    """Whether a zero cotangent may become NaN where a value is, as in products of matrices: those element by element
    are masked, and linear maps, products with constants among them, keep zeros.
    """
    for eq in program.equations:
        inner = eq.op.programs()
        if any(map(spreads_nan, inner.values())):
            return True
        if inner or eq.op.effect or eq.op.is_elementwise or isinstance(eq.op, Linear | Flat):
            continue
        varying = sum(isinstance(a, Var) and a not in program.constants for a in eq.inputs)
        if varying > 1 or not isinstance(eq.op, Multilinear):
            return True
    return False


def needs_indices(program: Program) -> bool:
    """Whether it may raise for indices alone, which are zero where it does not matter: arrays that have elements."""
    found = _may_raise(program)
    return bool(found) and all(eq.op.has_indices and 0 not in eq.inputs[0].type.shape for eq in found)


def guard_indices(program: Program) -> Program:
    """The program with one more input, a truth value: its indices, at any depth, are zero where it is false."""
    guard = Var(ArrayType((), np.dtype(bool)))
    equations: list[Equation] = []
    for eq in program.equations:
        op: Any = eq.op
        if op.has_indices:
            first = len(eq.inputs) - op.parameters
            inputs = list(eq.inputs)
            for i, index in enumerate(inputs[first:], first):
                if isinstance(index, Var):
                    inputs[i] = chosen = Var(index.type)
                    zero = Literal(index.type.dtype.type(0))
                    equations.append(Equation(Select(), (index, zero, guard), (chosen,), quiet=True))
            eq = dataclasses.replace(eq, inputs=tuple(inputs))
        elif any(map(needs_indices, op.programs().values())):
            op, position = op.guarded(guard_indices)
            at = len(eq.inputs) if position is None else position
            eq = dataclasses.replace(eq, op=op, inputs=(*eq.inputs[:at], guard, *eq.inputs[at:]))
        equations.append(eq)
    return Program((*program.inputs, guard), tuple(equations), program.outputs, program.constants)


def stand_in(runs: Value, values: Sequence[Value], mapped: Sequence[bool]) -> list[Value]:
    """The arguments of a program for a batch, those of an element that runs it in the place of all that do not."""
    one = np.argmax(runs)
    return [
        np.where(np.reshape(runs, runs.shape + (1,) * (np.ndim(x) - 1)), x, Gather(1)(x, one)) if m else x
        for x, m in zip(values, mapped, strict=True)
    ]


def block_width(body: Program, carries: Sequence[ArrayType], size: int) -> int:
    """How many elements of a batch best go through a loop together: a divisor of their number.

    With loops inside each goes by itself, unless these are tried once as a rule: how often others go round differs.
    """
    if any(eq.op.is_loop and not getattr(eq.op, "once", False) for eq in all_equations(body)):
        return 1
    largest = max(map(_elements, carries), default=1)
    limit = min(ELEMENTS // max(largest, 1), WIDEST)
    if size <= limit:
        return max(size, 1)
    return next((n for n in range(limit, NARROWEST - 1, -1) if size % n == 0), 1)


def wide_block(body: Program, size: int, length: int) -> int | None:
    """How many elements of a large batch best go through a counted loop together; None: all of them.

    So many that what they carry stays close to the processor, and that there are blocks for several threads.
    """
    if any(eq.op.effect or eq.op.opaque for eq in all_equations(body)):
        return None  # what it does is done for all elements together
    largest = max(map(_elements, (*body.input_types, *body.output_types)), default=1)
    if size * length * largest < MANY:
        return None
    widths = range(min(NEAR // max(largest, 1), size // FEWEST), SLIMMEST - 1, -1)
    return next((n for n in widths if n % WIDEST == 0 and size % n == 0), None)
