"""Residuals of loops: what a second loop computes again instead of reading what a first one stored.

The way back through a loop F is a loop B over the same turns that reads residuals, stacked by F. A residual may be
stored (one write and one read for each element and turn) or computed again in B from what B can have: constants of F,
the arrays that F walks along, stacks that are made anyway, and other residuals. With sᵥ the cost of storing v and rₑ
that of computing equation e, the cheapest choice minimises

    Σ sᵥ over stored v + Σ rₑ over computed e,   where a computed e needs all its arguments, stored or computed,

a closed set of smallest weight (see `min_cut`): "v is at hand" costs sᵥ, "v = e(…) is computed" costs rₑ - sᵥ and needs
v and the arguments of e at hand. What is computed again is computed by the same operations: the results are the same.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType
from adjoint.simplify.costs import TURNS_UNKNOWN, cost, elements, size_in_bytes
from adjoint.simplify.loop_parts import Loop, Renaming, acts, opened
from adjoint.simplify.min_cut import cheapest_closed_set

# (bytes of all stacks of a loop, cost of storing and reading eight of them): in caches the processor hides most of it;
# beyond them every page is new memory as well
STORES = ((1 << 20, 2.1), (1 << 25, 2.4), (math.inf, 6.0))
WEIGHED = "_weighed_against"  # on an equation: the loops whose residuals it reads as well as they can be chosen
LOAD = 1.0
PREFERRED = 0.99  # of two choices that cost the same, the one that stores the carry
OUTPUT = -1  # in place of the position of an equation: the outputs of the program


def with_recomputed_residuals(program: Program) -> Program:
    """The program with the residuals between its loops chosen anew."""
    return _Pairs(program).run() if sum(hasattr(eq.op, "carries") for eq in program.equations) > 1 else program


class _Pairs:
    """The loops of one program, and which of them read the stacks of which."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.loops = {position: loop for position, eq in enumerate(program.equations) if (loop := opened(eq))}
        self.readers: dict[Var, set[int]] = {}
        for position, eq in enumerate(program.equations):
            for a in eq.inputs:
                if isinstance(a, Var):
                    self.readers.setdefault(a, set()).add(position)
        for a in program.outputs:
            if isinstance(a, Var):
                self.readers.setdefault(a, set()).add(OUTPUT)

    def run(self) -> Program:
        for first, forward in self.loops.items():
            seconds = {p for _, v in forward.ys for p in self.readers.get(v, ())}
            for second in sorted(seconds):
                if second in self.loops and self.loops[second].test is None:
                    self._choose(forward, self.loops[second], first, second)
        if not any(loop.changed for loop in self.loops.values()):
            return self.program
        p = self.program
        equations = [self.loops[i].closed() if i in self.loops else eq for i, eq in enumerate(p.equations)]
        return Program(p.inputs, tuple(equations), p.outputs, p.constants)

    def _choose(self, forward: Loop, backward: Loop, first: int, second: int) -> None:
        """Store and compute again what is cheapest for one pair of loops."""
        weighed = backward.equation.__dict__.setdefault(WEIGHED, set())
        if forward.equation in weighed and not (forward.changed or backward.changed):
            return
        weighed.add(forward.equation)
        stacks = {v: atom for atom, v in forward.ys}
        others = {a for _, a in backward.constants} | {c.start for c in backward.carries}
        given = {
            v
            for _, v in backward.walked
            if isinstance(v, Var) and v in stacks and self.readers[v] == {second} and v not in others
        }
        wanted = [stacks[v] for _, v in backward.walked if isinstance(v, Var) and v in given]
        residuals = list(dict.fromkeys(a for a in wanted if isinstance(a, Var)))
        if not residuals:
            return
        choice = _Choice(forward, backward, given, residuals)
        if choice.computed:
            _Rewriter(forward, backward, choice, given).run()
            for loop, position in ((forward, first), (backward, second)):
                for a in loop.closed().inputs:
                    if isinstance(a, Var):
                        self.readers.setdefault(a, set()).add(position)


class _Choice:
    """The cheapest way to have the residuals at hand: what is stored, and which equations are computed again."""

    def __init__(self, forward: Loop, backward: Loop, given: set[Var], residuals: list[Var]) -> None:
        self.forward = forward
        self.makers = {v: eq for eq in forward.equations for v in eq.outputs}
        read = {a for _, a in backward.walked}
        self.free: dict[Var, float] = dict.fromkeys([*forward.values, *[v for v, _ in forward.constants]], 0.0)
        for v, array in forward.walked:
            self.free[v] = 0.0 if array in read else LOAD * elements(v.type)
        for atom, stack in forward.ys:
            if isinstance(atom, Var) and stack not in given:
                self.free[atom] = 0.0 if stack in read else LOAD * elements(atom.type)
        self.carried = {c.inside for c in forward.carries}
        turns = forward.length if forward.length is not None else TURNS_UNKNOWN
        total = turns * sum(size_in_bytes(atom.type) for atom, _ in forward.ys)
        self.store = next(price for limit, price in STORES if total <= limit)
        self.stored, self.computed = self._solve(residuals)

    def _at_hand(self, v: Var) -> float:
        """The cost of having v in the second loop without computing it."""
        found = self.free.get(v)
        if found is None:
            found = self.store * size_in_bytes(v.type) / 8
            found *= PREFERRED if v in self.carried else 1.0
        return found

    def _solve(self, residuals: list[Var]) -> tuple[list[Var], list[Equation]]:
        weights: list[float] = []
        needs: list[list[int]] = []
        item: dict[Var | Equation, int] = {}

        def add(thing: Var | Equation, weight: float) -> int:
            item[thing] = len(weights)
            weights.append(weight)
            needs.append([])
            return item[thing]

        waiting = list(residuals)
        required = [add(v, self._at_hand(v)) for v in waiting]
        gains: list[tuple[Var, int]] = []  # outputs of equations with several, and that they are computed
        while waiting:
            v = waiting.pop()
            eq = self.makers.get(v)
            if eq is None or acts(eq.op):
                continue
            again = cost(eq)
            if again >= sum(self._at_hand(w) for w in eq.outputs):
                continue
            if eq not in item:
                number = add(eq, again)
                for a in eq.inputs:
                    if isinstance(a, Var):
                        if a not in item:
                            add(a, self._at_hand(a))
                            waiting.append(a)
                        needs[number].append(item[a])
            if len(eq.outputs) == 1:
                weights[item[eq]] -= weights[item[v]]
                needs[item[eq]].append(item[v])
            else:
                gains.append((v, len(weights)))
                weights.append(-weights[item[v]])
                needs.append([item[v], item[eq]])
        chosen = cheapest_closed_set(weights, needs, required)
        made = {v for v, number in gains if number in chosen}
        single = [eq for eq in item if isinstance(eq, Equation) and len(eq.outputs) == 1]
        made |= {eq.outputs[0] for eq in single if item[eq] in chosen}
        at_hand = [v for v in item if isinstance(v, Var) and item[v] in chosen]
        stored = [v for v in at_hand if v not in made and v not in self.free]
        computed = {self.makers[v] for v in made}
        return stored, [eq for eq in self.forward.equations if eq in computed]


class _Rewriter:
    """Writes a choice into the two loops."""

    def __init__(self, forward: Loop, backward: Loop, choice: _Choice, given: set[Var]) -> None:
        self.forward, self.backward, self.choice, self.given = forward, backward, choice, given
        self.stack_of = {atom: v for atom, v in forward.ys if isinstance(atom, Var)}
        self.inside: Renaming = {}  # variables of the first loop, as the second one calls them

    def run(self) -> None:
        forward, backward, choice = self.forward, self.backward, self.choice
        rows = forward.ys[0][1].type.shape[:1]
        for v in choice.stored:
            if v not in self.stack_of:
                self.stack_of[v] = Var(ArrayType((*rows, *v.type.shape), v.type.dtype))
                forward.ys.append((v, self.stack_of[v]))
        constants, arrays = dict(forward.constants), dict(forward.walked)
        before = list(backward.walked)

        def read(v: Var) -> Atom:
            if v not in self.inside:
                if v in constants:
                    self.inside[v] = _paired(backward.constants, constants[v], v.type)
                elif v in forward.values:
                    self.inside[v] = constant = Var(v.type)
                    backward.values[constant] = forward.values[v]
                else:
                    array = self.stack_of.get(v, arrays.get(v))
                    assert array is not None, "a choice names what is at hand"
                    self.inside[v] = _paired(backward.walked, array, v.type)
            return self.inside[v]

        prologue = [self._again(eq, read) for eq in choice.computed]
        renaming: Renaming = {}
        dropped: set[Atom] = set()
        inner_of = {v: atom for atom, v in forward.ys}
        kept = set(choice.stored)
        for v, array in before:
            if isinstance(array, Var) and array in self.given and inner_of[array] not in kept:
                atom = inner_of[array]
                renaming[v] = read(atom) if isinstance(atom, Var) else atom
                dropped.add(array)
        walked = [(v, a) for v, a in backward.walked if a not in dropped]
        if backward.needs_rows and not walked:
            walked = [(Var(v.type), a) for v, a in backward.walked[:1]]
            dropped -= {a for _, a in walked}
        backward.walked = walked
        backward.substitute(renaming)
        backward.equations[:0] = prologue
        forward.ys = [(a, v) for a, v in forward.ys if v not in dropped]
        forward.changed = backward.changed = True

    def _again(self, eq: Equation, read: Callable[[Var], Atom]) -> Equation:
        """An equation of the first loop, in the second one; it has warned of what it warns of."""
        inputs = tuple([a if isinstance(a, Literal) else read(a) for a in eq.inputs])
        outputs = tuple(Var(v.type) for v in eq.outputs)
        self.inside.update(zip(eq.outputs, outputs, strict=True))
        return dataclasses.replace(eq, inputs=inputs, outputs=outputs, quiet=True)


def _paired(pairs: list[tuple[Var, Atom]], outer: Atom, kind: ArrayType) -> Var:
    """What a value outside is called inside; it is given to the loop if it was not."""
    for v, atom in pairs:
        if atom is outer:
            return v
    v = Var(ArrayType(kind.shape, kind.dtype, kind.weak))
    pairs.append((v, outer))
    return v
