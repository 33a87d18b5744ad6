"""Sums to which few elements are added: only these are touched, in the loops and branches that find them.

The cotangent of an array x that a loop reads as x[i] is a sum over iterations, x̄ ← x̄ + scatter(c, i). As it stands
every iteration makes an array of zeros and adds all of it. A term t of a sum z = b + t that is

| t | z is |
|---|---|
| scatter(c, i), also transposed, reshaped, masked or inside a larger array | b with c added at i: `ScatterAdd` |
| a loop's carry s ← s + tₖ that starts with zero | the loop's carry that starts with b |
| a branch that gives such a t, or zero | the branch that gets b and gives b + t, or b |
| several results of one branch, small ones too | one result: as a rule all but one are zero on each side |

and so at every depth: each nested loop adds to the one array. What is assigned under a mask, where(m, set(z, v, i), z),
is an assignment of where(m, v, z[i]). Machine code does all of this in place (see `adjoint.compile.loops`), if nothing
reads the array as it was after it was written to: equations are put in such an order. The order of additions changes,
hence the last digits.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.ops.arrays.index import ScatterSet, reader
from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.pointwise import LinearUfunc
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.costs import elements
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.loops.late_writes import SMALLEST, depends, order_writes, sort_equations
from adjoint.simplify.loops.parts import Renaming, inside_first, open_loop, resolve, substitute
from adjoint.simplify.loops.scattered_parts import (
    add_parts,
    can_mask,
    find_parts,
    is_seen,
    keeps_shape,
    mask_part,
    write,
)

MOST_ROUNDS = 8

Put = Callable[[Var, Var], list[Equation]]  # (what is there, the sum) → the equations that add a term


@record(frozen=False)
class _Term:
    """A term of a sum that is added to what is there."""

    put: Put
    sources: list[Equation]  # the equations that are written anew
    has_others: bool = False  # results beside it, which others read


class _Reads:
    """Who makes the variables of a program, and how often they are read."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers = {v: eq for eq in program.equations for v in eq.outputs}
        self.count: dict[Atom, int] = {}
        for a in (*[a for eq in program.equations for a in eq.inputs], *program.outputs):
            self.count[a] = self.count.get(a, 0) + 1

    def once(self, atom: Atom) -> Equation | None:
        """The equation that makes a variable which is read once."""
        return self.makers.get(atom) if isinstance(atom, Var) and self.count[atom] == 1 else None

    def is_zero(self, atom: Atom) -> bool:
        """Whether an atom is known to be zero."""
        if isinstance(atom, Var):
            made = self.makers.get(atom)
            if made is not None:
                return isinstance(made.op, Broadcast) and self.is_zero(made.inputs[0])
            value = self.program.constants.get(atom)
            return value is not None and not np.any(value)
        return not np.any(atom.value)

    def adds_to(self, atom: Atom, start: Var) -> bool:
        """Whether an atom is `start` with terms added, and nothing reads what stands between."""
        if atom is start:
            return self.count[start] == 1
        made = self.once(atom)
        bases = BASES.get(made.op) if made is not None else None
        return made is not None and bases is not None and any(self.adds_to(b, start) for b in bases(made, atom))


# (equation, result) → the operands of which the result is one with terms added
BASES: RuleTable[Callable[[Equation, Any], list[Atom]]] = RuleTable("what terms are added to")
BASES.update({ScatterAdd: lambda eq, out: [eq.inputs[0]]})


@BASES.rule(LinearUfunc)
def summands(eq: Equation, out: Var) -> list[Atom]:
    return [a for a in eq.inputs if _is_alike(a.type, out.type)] if eq.op is add else []


@BASES.rule(Scan, While)
def start_of_sum(eq: Equation, out: Var) -> list[Atom]:
    """What a carry starts with that a loop adds to and reads for nothing else."""
    loop = open_loop(eq)
    carry = next((c for c in loop.carries if c.result is out), None) if loop is not None else None
    if loop is None or carry is None:
        return []
    test = loop.test
    if test is not None and (test.output is carry.tested or any(carry.tested in e.inputs for e in test.equations)):
        return []
    return [carry.start] if _Reads(loop.body()).adds_to(carry.next, carry.inside) else []


@BASES.rule(Cond)
def operands_added_to(eq: Equation, out: Var) -> list[Atom]:
    op: Any = eq.op
    k = eq.outputs.index(out)
    reads = [_Reads(p) for p in op.branches]
    return [
        a
        for j, a in enumerate(eq.inputs[1:])
        if _is_alike(a.type, out.type) and all(r.adds_to(r.program.outputs[k], r.program.inputs[j]) for r in reads)
    ]


@inside_first
def add_in_place(program: Program) -> Program:
    """The program with few elements added and assigned where they belong; the very same one if there are none."""
    for _ in range(MOST_ROUNDS):  # a branch may have results in several sums
        before, program = program, _Sums(program).run()
        if program is before:
            break
    equations = order_writes(program)
    return program if equations is None else _with_equations(program, equations)


def _with_equations(program: Program, equations: list[Equation]) -> Program:
    return Program(program.inputs, tuple(equations), program.outputs, program.constants)


class _Sums(_Reads):
    """The sums of a program."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.position = {id(eq): k for k, eq in enumerate(program.equations)}
        self.replaced: dict[int, list[Equation]] = {}  # by the equation that stood there
        self.renaming: Renaming = {}
        self.begins_with: dict[int, list[Atom]] = {}  # what these need beside what they read before

    def run(self) -> Program:
        p = self.program
        sums = [eq for eq in p.equations if eq.op is add]
        inner = {a for eq in sums for a in eq.inputs if self._partial(a, eq.outputs[0].type)}
        for eq in p.equations:
            is_large = len(eq.outputs) == 1 and elements(eq.outputs[0].type) >= SMALLEST
            if eq.op is add and eq.outputs[0] not in inner:
                self._rewrite_sum(eq) if is_large else self._merge_results(eq)
            elif is_large and isinstance(eq.op, Select):
                self._rewrite_mask(eq)
        if not self.replaced:
            return p
        equations = [new for eq in p.equations for new in self.replaced.get(id(eq), [eq])]
        outputs = tuple([resolve(a, self.renaming) for a in p.outputs])
        equations = sort_equations(substitute(equations, self.renaming))
        return Program(p.inputs, tuple(equations), outputs, p.constants)

    def once(self, atom: Atom) -> Equation | None:
        eq = super().once(atom)
        return None if eq is None or id(eq) in self.replaced else eq

    def _partial(self, atom: Atom, kind: ArrayType) -> Equation | None:
        """The equation of a term that is a sum of the same kind."""
        made = self.once(atom)
        return made if made is not None and made.op is add and _is_alike(atom.type, kind) else None

    def _terms(self, eq: Equation, sums: list[Equation]) -> list[Atom]:
        sums.append(eq)
        found: list[Atom] = []
        for a in eq.inputs:
            made = self._partial(a, eq.outputs[0].type)
            found += [a] if made is None else self._terms(made, sums)
        return found

    def _rewrite_sum(self, root: Equation) -> None:
        kind = root.outputs[0].type
        sums: list[Equation] = []
        atoms = self._terms(root, sums)
        if not all(isinstance(a, Var) and _is_alike(a.type, kind) for a in atoms):
            return
        found = self._find_terms(atoms)
        dense = [a for a in atoms if not any(a in results for results in found)]
        if found and not dense:
            dense = list(next(iter(found)))
            del found[tuple(dense)]
        terms: list[_Term] = []
        for results, term in sorted(found.items(), key=lambda item: self.position[id(item[1].sources[-1])]):
            if term.has_others and any(self._follows(b, term.sources[0]) for b in dense):
                dense += results  # what it would begin with needs another result of its own
            else:
                terms.append(term)
        if not terms:
            return
        for term in terms:
            self.begins_with.setdefault(id(term.sources[0]), []).extend(dense)
        for eq in (*sums, *[eq for term in terms for eq in term.sources]):
            self.replaced[id(eq)] = []
        new = self.replaced[id(root)] = list[Equation]()
        base: Any = dense[0]
        for a in dense[1:]:
            base = write(new, root, add, base, a)
        last = len(terms) - 1
        for number, term in enumerate(terms):
            out = root.outputs[0] if number == last else Var(kind)
            new += term.put(base, out)
            base = out

    def _follows(self, atom: Atom, eq: Equation) -> bool:
        """Whether an atom depends on an equation."""
        first = self.position[id(eq)]
        waiting, seen = [atom], set[Atom]()
        while waiting:
            a = waiting.pop()
            made = self.makers.get(a) if isinstance(a, Var) else None
            if made is eq:
                return True
            if made is not None and a not in seen and (self.begins_with or self.position[id(made)] > first):
                seen.add(a)
                waiting += [*made.inputs, *self.begins_with.get(id(made), ())]
        return False

    def _find_terms(self, atoms: list[Atom]) -> dict[tuple[Atom, ...], _Term]:
        """How terms are added to what is there, those that one loop or branch gives at once; not the computed ones."""
        found: dict[tuple[Atom, ...], _Term] = {}
        several: dict[int, tuple[Equation, list[Any]]] = {}
        for atom in atoms:
            eq = self.once(atom)
            if eq is None:
                continue
            if SEVERAL.get(eq.op) is not None:
                several.setdefault(id(eq), (eq, []))[1].append(atom)
                continue
            parts = find_parts(eq, self.once, self.is_zero)
            if parts is not None and is_seen(parts, atom.type):
                found[atom,] = _Term(functools.partial(add_parts, parts), parts.sources)
        for eq, results in several.values():
            added = SEVERAL[eq.op](self, eq, results)
            if added is not None:
                put, chosen = added
                found[tuple(chosen)] = _Term(put, [eq], has_others=True)
        return found

    def _merge_results(self, root: Equation) -> None:
        """Several results of one branch in a small sum: one result, of which little is left on each side."""
        sums: list[Equation] = []
        atoms = self._terms(root, sums)
        several: dict[int, list[Any]] = {}
        for atom in atoms:
            eq = self.once(atom)
            if eq is not None and isinstance(eq.op, Cond) and _is_alike(atom.type, root.outputs[0].type):
                several.setdefault(id(eq), []).append(atom)
        merged = {self.makers[results[0]]: results for results in several.values() if len(results) > 1}
        if not merged:
            return
        for eq in sums:
            self.replaced[id(eq)] = []
        for eq, results in merged.items():
            op: Any = eq.op
            numbers = [eq.outputs.index(v) for v in results]
            total = Var(root.outputs[0].type)
            programs = tuple([_sum_results(p, numbers, eq) for p in op.branches])
            outputs = (*[v for v in eq.outputs if v not in results], total)
            self.replaced[id(eq)] = [dataclasses.replace(eq, op=Cond(programs), outputs=outputs)]
            atoms = [total, *[a for a in atoms if a not in results]]
        new = self.replaced[id(root)] = list[Equation]()
        while len(atoms) > 1:
            atoms = [write(new, root, add, atoms[0], atoms[1]), *atoms[2:]]
        if new:
            new[-1] = dataclasses.replace(new[-1], outputs=root.outputs)
        else:
            self.renaming[root.outputs[0]] = atoms[0]

    def add_to_carry(self, eq: Equation, results: list[Var]) -> tuple[Put, list[Var]] | None:
        """The carries of a loop that are sums: one that starts with what is there."""
        loop = open_loop(eq)
        assert loop is not None
        carries: list[Any] = []
        for c in [c for c in loop.carries if c.result in results and BASES[eq.op](eq, c.result)]:
            if not any(depends(before.next, c.inside, loop.equations) for before in carries):
                carries.append(c)  # else it is made together with those before it, which are to be its base
        if not carries:
            return None

        def put(base: Var, out: Var) -> list[Equation]:
            first, before, start = carries[0], list[Equation](), base
            for c in carries:
                start = start if self.is_zero(c.start) else write(before, eq, add, start, c.start)
            for c in carries[1:]:  # what it adds is added to the first
                loop.carries.remove(c)
                loop.substitute({c.inside: first.next})  # type: ignore[dict-item]
                first.next = c.next
            loop.equations = sort_equations(loop.equations)
            first.start, first.result, loop.changed = start, out, True
            return [*before, loop.close()]

        return put, [c.result for c in carries]

    def add_in_branches(self, eq: Equation, results: list[Var]) -> tuple[Put, list[Var]] | None:
        """The results of a branch, if some program adds few elements, or none: it gets what they are added to."""
        op: Any = eq.op
        numbers = [eq.outputs.index(v) for v in results]
        programs = tuple([_added_to_base(p, numbers, eq) for p in op.branches])
        if not any(p.outputs[-1] is p.inputs[-1] or _adds_few(p) for p in programs):
            return None

        def put(base: Var, out: Var) -> list[Equation]:
            outputs = (*[v for v in eq.outputs if v not in results], out)
            return [dataclasses.replace(eq, op=Cond(programs), inputs=(*eq.inputs, base), outputs=outputs)]

        return put, results

    def _rewrite_mask(self, eq: Equation) -> None:
        """where(m, set(z, v, i), z) = set(z, where(m, v, z[i]), i)."""
        x, z, mask = eq.inputs
        made = self.once(x)
        op: Any = made.op if made is not None else None
        if made is None or not isinstance(op, ScatterSet) or made.inputs[0] is not z or not isinstance(z, Var):
            return
        kind = eq.outputs[0].type
        if not keeps_shape(eq) or not _is_alike(z.type, kind) or not can_mask(mask.type, op.index, kind):
            return
        indices = made.inputs[2:]
        new: list[Equation] = []
        there = mask_part(new, eq, mask, op.index, indices, kind)
        old = write(new, eq, reader(op.index), z, *indices)
        value = write(new, eq, Select(), made.inputs[1], old, there)
        new.append(dataclasses.replace(made, inputs=(z, value, *indices), outputs=eq.outputs))
        self.replaced[id(made)], self.replaced[id(eq)] = [], new


def _is_alike(a: ArrayType, b: ArrayType) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype


def _added_to_base(program: Program, numbers: list[int], like: Equation) -> Program:
    """A branch with one more input b, and b + t₁ + t₂ … as its last result instead of these results."""
    reads = _Reads(program)
    kind = like.outputs[numbers[0]].type
    total = base = Var(ArrayType(kind.shape, kind.dtype))
    equations = list(program.equations)
    for k in numbers:
        if not reads.is_zero(program.outputs[k]):
            total = write(equations, like, add, total, program.outputs[k])
    outputs = (*[a for k, a in enumerate(program.outputs) if k not in numbers], total)
    new = Program((*program.inputs, base), tuple(equations), outputs, program.constants)
    return drop_dead_code(_Sums(new).run())


def _sum_results(program: Program, numbers: list[int], like: Equation) -> Program:
    """A branch with the sum of some results as its last one, instead of them."""
    reads = _Reads(program)
    equations = list(program.equations)
    terms = [program.outputs[k] for k in numbers if not reads.is_zero(program.outputs[k])]
    total: Atom = terms[0] if terms else program.outputs[numbers[0]]
    for term in terms[1:]:
        total = write(equations, like, add, total, term)
    outputs = (*[a for k, a in enumerate(program.outputs) if k not in numbers], total)
    return drop_dead_code(_Sums(Program(program.inputs, tuple(equations), outputs, program.constants)).run())


def _adds_few(program: Program) -> bool:
    """Whether the last result of a branch is made by adding few elements."""
    return any(program.outputs[-1] in eq.outputs and eq.op is not add for eq in program.equations)


# (sums, equation, results that are terms of a sum) → how some of them are added to what is there, and which
SEVERAL: RuleTable[Callable[[_Sums, Equation, list[Var]], tuple[Put, list[Var]] | None]] = RuleTable("terms of a sum")
SEVERAL.update(dict.fromkeys((Scan, While), _Sums.add_to_carry))
SEVERAL.update({Cond: _Sums.add_in_branches})
