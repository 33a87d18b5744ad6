"""Rematerialization in loops: what a second loop computes again instead of reading what a first one stored.

The backward pass through a loop F is a loop B over the same iterations, or all but a few of them, that reads residuals,
stacked by F. Which of them are stored and which are computed again in B is weighed in `residual_choice`; here it is
written into the two loops. What B computes again already is weighed with them (see `find_shared_work`). What is
computed again is computed by the same operations: the results are the same.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from adjoint.ops.arrays.index import Slice
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType
from adjoint.simplify.loops.parts import Loop, Renaming, open_loop
from adjoint.simplify.loops.residual_choice import Choice
from adjoint.simplify.loops.shared_work import find_shared_work, is_among, reads_of
from adjoint.simplify.loops.stack_readers import RowRead, ScanRead, StackReaders

# what is best for a pair may undo what was best for another one, which shares a loop with it, and so on without end
MOST_CHANGES = 4
WEIGHED = "_weighed_against"  # on an equation: the loops whose residuals it reads as well as they can be chosen

_Names: TypeAlias = tuple[tuple[Var, ...], tuple[Var, ...], int]  # a result of each loop, which stays, and an offset


def choose_residuals(program: Program) -> Program:
    """The program with the residuals between its loops chosen anew."""
    if sum(eq.op.is_loop for eq in program.equations) < 2:
        return program
    changes: Counter[_Names] = Counter()
    while True:  # a pair at a time: one that has changed may leave less to the next
        changed = _first_change(program, changes)
        if changed is None:
            return program
        program = changed


def _first_change(program: Program, changes: Counter[_Names]) -> Program | None:
    """The program with another choice for one pair of loops; None if all are as cheap as they can be."""
    readers: StackReaders | None = None
    for first, eq in enumerate(program.equations):
        forward = open_loop(eq)
        if forward is None or not forward.ys:
            continue
        readers = readers or StackReaders(program)
        pairs: dict[tuple[int, int], dict[Var, list[RowRead]]] = {}
        for _, stack in forward.ys:
            stack_reads = readers.of(stack) or []
            scans = {(w.loop, w.offset) for w in stack_reads if isinstance(w, ScanRead)}
            if len(scans) == 1:
                pairs.setdefault(scans.pop(), {})[stack] = [r for r in stack_reads if isinstance(r, RowRead)]
        for (second, offset), stacks in pairs.items():
            weighed = program.equations[second].__dict__.setdefault(WEIGHED, set())
            forward, backward = open_loop(eq), open_loop(program.equations[second])
            names = (eq.outputs[:1], program.equations[second].outputs[:1], offset)
            if forward is None or backward is None or (eq, offset) in weighed or changes[names] == MOST_CHANGES:
                continue
            weighed.add((eq, offset))
            changed = _Pair(program, readers, forward, backward, offset, stacks).improve(first, second)
            if changed is not None:
                changes[names] += 1
                return changed
    return None


class _Pair:
    """Two loops, the second of which reads stacks of the first, `offset` rows on."""

    def __init__(
        self,
        program: Program,
        readers: StackReaders,
        forward: Loop,
        backward: Loop,
        offset: int,
        residual_stacks: dict[Var, list[RowRead]],
    ) -> None:
        self.program, self.readers, self.offset, self.residual_stacks = program, readers, offset, residual_stacks
        self.forward, self.backward = forward, backward
        self.atom_of = {v: a for a, v in forward.ys}
        # Of two stacks of one variable the one that stays: a residual's may be dropped because there is the other.
        stacks = sorted(forward.ys, key=lambda pair: pair[1] not in residual_stacks)
        self.stack_of = {a: v for a, v in stacks if isinstance(a, Var)}
        self.constants, self.arrays = dict(forward.constants), dict(forward.scanned)
        self._iterations = forward.ys[0][1].type.shape[:1]
        self.shares = False  # whether the second loop computes what the first one has
        self.inside: Renaming = {}  # variables of the first loop, as the second one calls them
        self.values = dict(program.constants)
        self.before: dict[int, list[Equation]] = {}  # new equations, by the position before which they stand
        self.at_hand = {
            whole: array for _, array in backward.scanned for whole, at in [readers.source(array)] if at == offset
        }

    def improve(self, first: int, second: int) -> Program | None:
        """The program with the cheapest choice; None if it is that already."""
        before = {a for a in map(self.atom_of.__getitem__, self.residual_stacks) if isinstance(a, Var)}
        unread = self._store_common_work(second)
        residuals = [
            a for a in map(self.atom_of.__getitem__, self.residual_stacks) if isinstance(a, Var) and a not in unread
        ]
        if not residuals:
            return None
        choice = Choice(self.forward, self.residual_stacks, residuals, self.at_hand)
        if set(choice.stored) == before if self.shares else not choice.computed:
            return None
        dropped = self._write(choice, second)
        removed: set[int] = set()
        for stack in dropped:
            for row in self.residual_stacks[stack]:
                self._write_row(choice, stack, row)
                removed.add(row.position)
            stack_reads = self.readers.of(stack) or []
            removed |= {w.through for w in stack_reads if isinstance(w, ScanRead) and w.through is not None}
        equations: list[Equation] = []
        loops = {first: self.forward.close(), second: self.backward.close()}
        loops[second].__dict__[WEIGHED] = {(loops[first], self.offset)}
        for position, eq in enumerate(self.program.equations):
            equations += self.before.get(position, ())
            if position not in removed:
                equations.append(loops.get(position, eq))
        return Program(self.program.inputs, tuple(equations), self.program.outputs, self.values)

    def _store_common_work(self, second: int) -> set[Var]:
        """Let the second loop read what it computes and the first one has; the residuals that it then needs no more."""
        forward, backward = self.forward, self.backward
        inside = {array: v for v, array in forward.scanned} | {v: a for a, v in forward.ys if isinstance(a, Var)}
        whole_of = {array: whole for whole, array in self.at_hand.items()}
        rows = {v: inside[whole_of[a]] for v, a in backward.scanned if whole_of.get(a) in inside}
        twice = find_shared_work(forward, backward, rows)
        backward.equations = [eq for eq in backward.equations if not is_among(eq, twice)]
        read = reads_of(backward)
        renaming: Renaming = {}
        for v, w in twice.items():
            if v in read:
                if w not in self.stack_of:
                    self.stack_of[w] = stack = Var(ArrayType((*self._iterations, *w.type.shape), w.type.dtype))
                    self.atom_of[stack] = w
                    self.residual_stacks[stack] = []
                    forward.ys.append((w, stack))
                renaming[v] = _pair_up(backward.scanned, self._rows(self.stack_of[w], second), w.type)
        self.shares = bool(renaming)
        backward.substitute(renaming)
        read = reads_of(backward)  # rows that nobody read may be what is read now
        scans = {whole_of.get(a): v for v, a in backward.scanned}
        return {
            a for stack, others in self.residual_stacks.items() for a in [self.atom_of[stack]]
            if isinstance(a, Var) and not others and stack in scans and scans[stack] not in read
        }  # fmt: skip

    def _write(self, choice: Choice, second: int) -> list[Var]:
        """Write the choice into the two loops; the stacks that are not made any more."""
        forward, backward = self.forward, self.backward
        for v in choice.stored:
            if v not in self.stack_of:
                self.stack_of[v] = Var(ArrayType((*self._iterations, *v.type.shape), v.type.dtype))
                forward.ys.append((v, self.stack_of[v]))
        before = list(backward.scanned)

        def read(v: Var) -> Atom:
            if v not in self.inside:
                if v in self.constants:
                    self.inside[v] = _pair_up(backward.constants, self.constants[v], v.type)
                elif v in forward.values:
                    self.inside[v] = constant = Var(v.type)
                    backward.values[constant] = forward.values[v]
                else:
                    self.inside[v] = _pair_up(backward.scanned, self._rows(self._array(v), second), v.type)
            return self.inside[v]

        prologue = [_again(eq, read, self.inside) for eq in choice.computed]
        kept = set(choice.stored)
        dropped = [v for v in self.residual_stacks if isinstance(self.atom_of[v], Var) and self.atom_of[v] not in kept]
        gone = {self.at_hand[v]: v for v in dropped}
        renaming: Renaming = {}
        needed = reads_of(backward)
        for v, array in before:
            if array in gone and v in needed:
                atom = self.atom_of[gone[array]]
                renaming[v] = read(atom) if isinstance(atom, Var) else atom
        scanned = [(v, a) for v, a in backward.scanned if a not in gone]
        if backward.needs_rows and not scanned:  # it counts its iterations by the rows of one of them
            last = dropped.pop()
            scanned = [(v, a) for v, a in backward.scanned if a is self.at_hand[last]]
        backward.scanned = scanned
        backward.substitute(renaming)
        backward.equations[:0] = prologue
        forward.ys = [(a, v) for a, v in forward.ys if v not in dropped]
        forward.changed = backward.changed = True
        return dropped

    def _array(self, v: Var) -> Atom:
        """The rows of a variable of the first loop, outside: those that it reads itself, or a stack of its own."""
        return self.arrays[v] if v in self.arrays else self.stack_of[v]

    def _rows(self, array: Atom, second: int) -> Atom:
        """The rows of an array that the second loop scans."""
        if array not in self.at_hand:
            length = self.backward.length
            if self.forward.length == length:
                self.at_hand[array] = array
            else:
                op = Slice(((self.offset, self.offset + (length or 0), 1),))
                self.at_hand[array] = self._new(op, array, second)
        return self.at_hand[array]

    def _new(self, op: Slice, atom: Atom, position: int) -> Var:
        out = Var(op.result_type(atom.type))
        at = self.program.equations[position]
        self.before.setdefault(position, []).append(Equation(op, (atom,), (out,), at.location, at.scope, at.quiet))
        return out

    def _write_row(self, choice: Choice, stack: Var, row: RowRead) -> None:
        """One row of a stack that is not made any more, computed where it is read."""
        atom = self.atom_of[stack]
        result = self.program.equations[row.position].outputs[0]
        here = self.before.setdefault(row.position, [])
        known: Renaming = {}

        def read(v: Var) -> Atom:
            if v not in known:
                if v in self.constants:
                    known[v] = self.constants[v]
                elif v in self.forward.values:
                    known[v] = constant = Var(v.type)
                    self.values[constant] = self.forward.values[v]
                else:
                    known[v] = self._new(Slice((row.index,)), self._array(v), row.position)
            return known[v]

        needed: set[Atom] = {atom}
        chain: list[Equation] = []
        for eq in reversed(choice.computed):
            if needed.intersection(eq.outputs):
                needed.update(eq.inputs)
                chain.append(eq)
        if not chain and isinstance(atom, Var):
            here.append(dataclasses.replace(self.program.equations[row.position], inputs=(self._array(atom),)))
        for eq in reversed(chain):
            again = _again(eq, read, known)
            outputs = tuple(result if v is atom else w for v, w in zip(eq.outputs, again.outputs, strict=True))
            here.append(dataclasses.replace(again, outputs=outputs))


def _again(eq: Equation, read: Callable[[Var], Atom], names: Renaming) -> Equation:
    """An equation of the first loop, somewhere else; it has warned of what it warns of."""
    inputs = tuple([a if isinstance(a, Literal) else read(a) for a in eq.inputs])
    outputs = tuple(Var(v.type) for v in eq.outputs)
    names.update(zip(eq.outputs, outputs, strict=True))
    return dataclasses.replace(eq, inputs=inputs, outputs=outputs, quiet=True)


def _pair_up(pairs: list[tuple[Var, Atom]], outer: Atom, kind: ArrayType) -> Var:
    """What a value outside is called inside; it is given to the loop if it was not."""
    for v, atom in pairs:
        if atom is outer:
            return v
    v = Var(ArrayType(kind.shape, kind.dtype, kind.weak))
    pairs.append((v, outer))
    return v
