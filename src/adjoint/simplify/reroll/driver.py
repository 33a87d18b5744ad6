"""Loops of Python, which a trace writes out turn by turn, written as loops again.

    for t in range(1000):
        h = np.tanh(W @ h + A[t])

is recorded as 3000 equations. This pass finds what repeats (`repeats`), understands what each turn reads (`turns`), and
writes it as one `Scan` (`loop_writing`); what gathers the results of all turns reads a stack instead (`collecting`).
The same primitives act on the same numbers in the same order, so nothing changes in any bit. The way back of a loop is
a loop that walks the stacks of the first one from their end; loops inside loops are found from the inside out.
"""

from __future__ import annotations

from typing import Any

from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.types import ArrayType, Value
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.loops.store_forwarding import forward_rows
from adjoint.simplify.reroll.candidates import rolls_of
from adjoint.simplify.reroll.gather import GATHERED
from adjoint.simplify.reroll.moving_slices import Draft
from adjoint.simplify.reroll.peeling import completed
from adjoint.simplify.reroll.repetitions import Numbered, numbered
from adjoint.simplify.reroll.sources import Roll, Rolls, Same
from adjoint.simplify.reroll.stacked_literals import stack_dtype
from adjoint.simplify.reroll.write import Loop

FEWEST = 8  # turns: fewer stay written out
LEAST = 32  # equations
DEEPEST = 8  # loops inside loops


def reroll(program: Program, fewest: int = FEWEST, least: int = LEAST) -> Program:
    """The program with its repetitions of at least `fewest` turns and `least` equations as loops."""
    if len(program.equations) >= least:
        program = forward_rows(program)
    for _ in range(DEEPEST):
        if len(program.equations) < least:
            return program
        numbers = numbered(program)
        rolls = rolls_of(numbers, fewest, least)
        if not list(rolls):
            return program
        longer = completed(numbers, rolls)
        if longer is not None:
            more = numbered(longer, numbers)
            again = rolls_of(more, fewest, least)
            if _left(more, again) < _left(numbers, rolls):
                numbers, rolls = more, again
        rewriting = _Rewriting(numbers, rolls, fewest)
        new = rewriting.program()
        new = drop_dead_code(new)
        if not rewriting.changed or len(new.equations) >= len(program.equations):
            return program
        program = new
    return program


def _left(numbers: Numbered, rolls: Rolls) -> int:
    """How many equations are in no roll."""
    return len(numbers.program.equations) - sum(roll.run.period * roll.run.turns for roll in rolls)


class _Rewriting:
    """The program written anew, from its end to its beginning."""

    def __init__(self, numbers: Numbered, rolls: Rolls, fewest: int) -> None:
        self.numbers, self.rolls, self.fewest = numbers, rolls, fewest
        self._loops = {roll: Loop(self, roll) for roll in rolls}
        self._lift_literals()
        self._aliases: dict[Var, Atom] = {}
        self._constants: dict[Var, Value] = dict(numbers.program.constants)
        self._chunks: list[list[Equation]] = []  # the last first
        self.changed = False

    def _lift_literals(self) -> None:
        """Where many loops differ in numbers alone, these are operands: so the loops are equal, and may be one."""
        alike: dict[Any, list[Loop]] = {}
        for roll, loop in self._loops.items():
            start, period, turns = roll.run
            tokens = self.numbers.tokens[start : start + period]
            alike.setdefault((tokens.tobytes(), turns, roll.reverse), []).append(loop)
        for loops in (group for group in alike.values() if len(group) >= self.fewest):
            rows = [[s for row in loop.roll.sources for s in row] for loop in loops]
            places = [(q, i) for q, row in enumerate(loops[0].roll.sources) for i in range(len(row))]
            for (q, i), column in zip(places, zip(*rows, strict=True), strict=True):
                if len(set(column)) > 1 and all(isinstance(s, Same) and s.number < 0 for s in column):
                    found = [s.number for s in column if isinstance(s, Same)]
                    dtype = stack_dtype(self.numbers, loops[0].equations[q], i, found)
                    for loop in loops:
                        loop.lifted[q, i] = dtype

    def holding(self, number: int) -> Roll | None:
        """The roll that makes a number."""
        return self.rolls.holding(number)

    def kind(self, number: int) -> ArrayType:
        """The type of a number."""
        return self.numbers.atom(number).type

    def loop(self, roll: Roll) -> Loop:
        """The loop that a roll becomes."""
        return self._loops[roll]

    def atom(self, number: int) -> Atom:
        """The variable or literal of a number; a result of a loop is asked for."""
        roll = self.rolls.holding(number) if number >= 0 else None
        return self.numbers.atom(number) if roll is None else self._loops[roll].single(*roll.at(number))

    def program(self) -> Program:
        """The program with its loops."""
        old = self.numbers.program
        outputs = [self.atom(self.numbers.number[a]) if isinstance(a, Var) else a for a in old.outputs]
        position = len(old.equations)
        for roll in reversed(list(self.rolls)):
            begin, period, turns = roll.run
            self._plain(begin + period * turns, position)
            loop = self._loops[roll]
            self._chunks.append(loop.write())
            self.changed |= not loop.left_alone
            self._aliases.update(loop.aliases)
            for draft in (loop.before, loop.after):
                self._constants.update(draft.constants)
            position = begin
        self._plain(0, position)
        equations = [self._renamed(eq) for chunk in reversed(self._chunks) for eq in chunk]
        return Program(old.inputs, tuple(equations), tuple(map(self._resolved, outputs)), self._constants)

    def _plain(self, start: int, stop: int) -> None:
        """Equations outside of loops."""
        numbers = self.numbers
        for position in range(stop - 1, start - 1, -1):
            eq = numbers.program.equations[position]
            reads = numbers.reads[numbers.first_read[position] : numbers.first_read[position + 1]].tolist()
            gather = GATHERED.get(eq.op) if len(reads) >= self.fewest else None
            if gather is not None:
                draft = Draft(eq)
                z = gather(eq.op, self, eq, reads, draft, self.fewest)
                if z is not None:
                    self._aliases[eq.outputs[0]] = z
                    self._constants.update(draft.constants)
                    self._chunks.append(draft.equations)
                    continue
            inputs = tuple([self.atom(n) for n in reads])
            if any(a is not b for a, b in zip(inputs, eq.inputs, strict=True)):
                eq = Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
            self._chunks.append([eq])

    def _resolved(self, atom: Atom) -> Atom:
        while isinstance(atom, Var) and atom in self._aliases:
            atom = self._aliases[atom]
        return atom

    def _renamed(self, eq: Equation) -> Equation:
        if not any(a in self._aliases for a in eq.inputs if isinstance(a, Var)):
            return eq
        inputs = tuple(map(self._resolved, eq.inputs))
        return Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
