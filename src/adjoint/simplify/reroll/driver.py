"""Rerolling: Python loops, which a trace unrolls iteration by iteration, written as loops again.

    for t in range(1000):
        h = np.tanh(W @ h + A[t])

is recorded as 3000 equations. This pass finds what repeats (`repetitions`), analyzes what each iteration reads
(`sources`), and writes it as one `Scan` (`write`); what gathers the results of all iterations reads a stack instead
(`gather`). The same primitives act on the same numbers in the same order, so nothing changes in any bit. The backward
pass of a loop is a loop that scans the stacks of the first one from their end; loops inside loops are found from the
inside out.
"""

from __future__ import annotations

from typing import Any

from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.types import ArrayType, Value
from adjoint.simplify.costs import is_as_long
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.loops.store_forwarding import forward_rows
from adjoint.simplify.reroll.candidates import find_candidates
from adjoint.simplify.reroll.gather import GATHERED
from adjoint.simplify.reroll.moving_slices import Draft
from adjoint.simplify.reroll.peeling import complete_iterations
from adjoint.simplify.reroll.repetitions import Numbered, number_program
from adjoint.simplify.reroll.sources import Invariant, LoopCandidate, LoopCandidates
from adjoint.simplify.reroll.stacked_literals import stack_dtype
from adjoint.simplify.reroll.write import Loop

FEWEST = 8  # iterations: fewer stay written out
LEAST = 32  # equations, or what is as long as these
DEEPEST = 8  # loops inside loops


def reroll(program: Program, fewest: int = FEWEST, least: int = LEAST) -> Program:
    """The program with its repetitions of at least `fewest` iterations, as long as `least` equations, as loops."""
    if is_as_long(program, least):
        program = forward_rows(program)
    for _ in range(DEEPEST):
        if not is_as_long(program, least):
            return program
        numbers = number_program(program)
        candidates = find_candidates(numbers, fewest, least)
        if not list(candidates):
            return program
        longer = complete_iterations(numbers, candidates)
        if longer is not None:
            more = number_program(longer, numbers)
            again = find_candidates(more, fewest, least)
            if _left(more, again) < _left(numbers, candidates):
                numbers, candidates = more, again
        rewriting = _Rewriting(numbers, candidates, fewest)
        new = rewriting.program()
        new = drop_dead_code(new)
        if not rewriting.changed or len(new.equations) >= len(program.equations):
            return program
        program = new
    return program


def _left(numbers: Numbered, candidates: LoopCandidates) -> int:
    """How many equations are in no candidate."""
    return len(numbers.program.equations) - sum(
        candidate.repetition.period * candidate.repetition.iterations for candidate in candidates
    )


class _Rewriting:
    """The program written anew, from its end to its beginning."""

    def __init__(self, numbers: Numbered, candidates: LoopCandidates, fewest: int) -> None:
        self.numbers, self.candidates, self.fewest = numbers, candidates, fewest
        self._loops = {candidate: Loop(self, candidate) for candidate in candidates}
        self._lift_literals()
        self._aliases: dict[Var, Atom] = {}
        self._constants: dict[Var, Value] = dict(numbers.program.constants)
        self._chunks: list[list[Equation]] = []  # the last first
        self.changed = False

    def _lift_literals(self) -> None:
        """Where many loops differ in numbers alone, these are operands: so the loops are equal, and may be one."""
        is_alike: dict[Any, list[Loop]] = {}
        for candidate, loop in self._loops.items():
            start, period, iterations = candidate.repetition
            tokens = self.numbers.tokens[start : start + period]
            is_alike.setdefault((tokens.tobytes(), iterations, candidate.reverse), []).append(loop)
        for loops in (group for group in is_alike.values() if len(group) >= self.fewest):
            rows = [[s for row in loop.candidate.sources for s in row] for loop in loops]
            positions = [(q, i) for q, row in enumerate(loops[0].candidate.sources) for i in range(len(row))]
            for (q, i), column in zip(positions, zip(*rows, strict=True), strict=True):
                if len(set(column)) > 1 and all(isinstance(s, Invariant) and s.number < 0 for s in column):
                    literals = [s.number for s in column if isinstance(s, Invariant)]
                    dtype = stack_dtype(self.numbers, loops[0].equations[q], i, literals)
                    for loop in loops:
                        loop.lifted[q, i] = dtype

    def candidate_of(self, number: int) -> LoopCandidate | None:
        """The candidate that makes a number."""
        return self.candidates.candidate_of(number)

    def kind(self, number: int) -> ArrayType:
        """The type of a number."""
        return self.numbers.atom(number).type

    def loop(self, candidate: LoopCandidate) -> Loop:
        """The loop that a candidate becomes."""
        return self._loops[candidate]

    def atom(self, number: int) -> Atom:
        """The variable or literal of a number; a result of a loop is asked for."""
        candidate = self.candidates.candidate_of(number) if number >= 0 else None
        return self.numbers.atom(number) if candidate is None else self._loops[candidate].single(*candidate.at(number))

    def program(self) -> Program:
        """The program with its loops."""
        old = self.numbers.program
        outputs = [self.atom(self.numbers.number[a]) if isinstance(a, Var) else a for a in old.outputs]
        position = len(old.equations)
        for candidate in reversed(list(self.candidates)):
            begin, period, iterations = candidate.repetition
            self._plain(begin + period * iterations, position)
            loop = self._loops[candidate]
            self._chunks.append(loop.write())
            self.changed |= not loop.is_kept
            self._aliases.update(loop.aliases)
            for draft in (loop.before, loop.after):
                self._constants.update(draft.constants)
            position = begin
        self._plain(0, position)
        equations = [self._rename(eq) for chunk in reversed(self._chunks) for eq in chunk]
        return Program(old.inputs, tuple(equations), tuple(map(self._resolve, outputs)), self._constants)

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

    def _resolve(self, atom: Atom) -> Atom:
        while isinstance(atom, Var) and atom in self._aliases:
            atom = self._aliases[atom]
        return atom

    def _rename(self, eq: Equation) -> Equation:
        if not any(a in self._aliases for a in eq.inputs if isinstance(a, Var)):
            return eq
        inputs = tuple(map(self._resolve, eq.inputs))
        return Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
