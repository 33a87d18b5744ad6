"""Who reads the stacks of loops: other loops, all rows or a range of them, and equations that read one row.

A loop that was unrolled and rerolled leaves iterations before and behind it, so that the loop of the backward pass
scans s[1:29] of a stack s, and its last row, s[29], is read by itself.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.ops.arrays.index import Slice
from adjoint.ops.control.scan import Scan
from adjoint.program.program import Atom, Program, Var

OUTPUT = -1  # in place of the position of an equation: the outputs of the program


class ScanRead(NamedTuple):
    """A loop that scans rows offset, offset + 1, … of a stack."""

    loop: int  # position of its equation
    offset: int
    through: int | None  # position of the slice, if there is one


class RowRead(NamedTuple):
    """An equation that reads one row."""

    position: int
    index: int


class StackReaders:
    """The readers of every variable of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._positions: dict[Atom, list[int]] = {}
        for position, eq in enumerate(program.equations):
            for a in dict.fromkeys(eq.inputs):
                self._positions.setdefault(a, []).append(position)
        for a in program.outputs:
            self._positions.setdefault(a, []).append(OUTPUT)
        self._sliced = {
            v: (eq.inputs[0], eq.op.items[0])
            for eq in program.equations
            if isinstance(eq.op, Slice) and len(eq.op.items) == 1
            for v in eq.outputs
        }

    def of(self, stack: Var) -> list[ScanRead | RowRead] | None:
        """The readers of a stack; None if there are others than loops that scan it and readers of one row."""
        stack_reads: list[ScanRead | RowRead] = []
        length = stack.type.shape[0]
        for position in self._positions.get(stack, ()):
            eq = self.program.equations[position] if position != OUTPUT else None
            if self._is_scan_of(position, stack):
                stack_reads.append(ScanRead(position, 0, None))
            elif eq is not None and eq.outputs and eq.outputs[0] in self._sliced and isinstance(length, int):
                item, rows = eq.op.items[0], eq.outputs[0]  # type: ignore[attr-defined]
                if isinstance(item, int):
                    stack_reads.append(RowRead(position, item % length))
                    continue
                span = _span(item, length)
                readers = self._positions.get(rows, ())
                if span is None or not readers or not all(self._is_scan_of(p, rows) for p in readers):
                    return None
                stack_reads += [ScanRead(p, span, position) for p in readers]
            else:
                return None
        return stack_reads

    def _is_scan_of(self, position: int, array: Var) -> bool:
        """Whether an equation is a loop that scans an array, and does nothing else with it."""
        if position == OUTPUT:
            return False
        eq = self.program.equations[position]
        if not isinstance(eq.op, Scan):
            return False
        return all(a is not array for a in eq.inputs[: eq.op.constants + eq.op.carries])

    def source(self, array: Atom) -> tuple[Atom, int]:
        """(array, offset) of which a range of rows is meant: itself, or what it is a slice of."""
        if isinstance(array, Var) and array in self._sliced:
            whole, item = self._sliced[array]
            span = _span(item, whole.type.shape[0]) if isinstance(item, tuple) else None
            if span is not None:
                return whole, span
        return array, 0


def _span(item: object, length: object) -> int | None:
    """The first row of a slice that leaves out none behind it."""
    if not isinstance(item, tuple) or not isinstance(length, int):
        return None
    start, _, step = slice(*item).indices(length)
    return start if step == 1 else None
