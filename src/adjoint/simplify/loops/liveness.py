"""Liveness: what nobody reads of loops and branches, stacks, carries, constants, arrays, results, operands.

A program is read backwards. A part of a loop stays when something that is read needs it, through any number of
iterations and at any depth: a carry that only its own next value needs goes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from adjoint.ops.control.base import rearranged
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.subprograms import map_programs
from adjoint.simplify.loops.parts import LOOPS, Loop, acts, inner_programs

SETTLED = "_without_dead_parts"  # on an equation all of whose results are read: there is nothing to do


def prune_dead_parts(program: Program) -> Program:
    """The program without equations, and parts of loops and branches, that nobody reads."""
    live = {a for a in program.outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    changed = False
    for eq in reversed(program.equations):
        if not acts(eq.op) and not any(v in live for v in eq.outputs):
            changed = True
            continue
        pruned = _prune(eq, live) if inner_programs(eq.op) else eq
        changed |= pruned is not eq
        live.update(a for a in pruned.inputs if isinstance(a, Var))
        kept.append(pruned)
    values = {v: value for v, value in program.constants.items() if v in live}
    if not changed and len(values) == len(program.constants):
        return program
    return Program(program.inputs, tuple(reversed(kept)), program.outputs, values)


def _prune(eq: Equation, live: set[Var]) -> Equation:
    """An equation with programs inside, without what its live results do not need."""
    if SETTLED in eq.__dict__ and live.issuperset(eq.outputs):
        return eq
    pruned = PRUNED[eq.op](eq.op, eq, live)
    pruned.__dict__[SETTLED] = True
    return pruned


# (primitive, equation, live variables) → the equation without what its live results do not need
PRUNED: RuleTable[Callable[[Any, Equation, set[Var]], Equation]] = RuleTable("dead parts")
# (primitive, equation, live variables) → the inputs that its live results and its effects need
INPUTS: RuleTable[Callable[[Any, Equation, set[Var]], list[Atom]]] = RuleTable("live inputs")


@PRUNED.rule(Op)
def prune_programs(op: Op, eq: Equation, live: set[Var]) -> Equation:
    pruned = map_programs(op, prune_dead_parts)
    return eq if pruned is op else dataclasses.replace(eq, op=pruned)


@PRUNED.rule(Scan, While)
def prune_loop(op: Op, eq: Equation, live: set[Var]) -> Equation:
    loop = LOOPS[op](op, eq)
    while True:  # a loop inside that was pruned may read less than it was said to need
        _prune_loop(loop, live)
        body = loop.body()
        pruned = prune_dead_parts(body)
        if pruned is body:
            return loop.close()
        loop.equations, loop.values, loop.changed = list(pruned.equations), pruned.constants, True


@PRUNED.rule(Cond)
def prune_branches(op: Cond, eq: Equation, live: set[Var]) -> Equation:
    results = [j for j, v in enumerate(eq.outputs) if v in live]
    if len(results) == len(eq.outputs):
        branches = [prune_dead_parts(p) for p in op.branches]
    else:
        branches = [prune_dead_parts(rearranged(p, range(len(p.inputs)), results)) for p in op.branches]
    read = [{a for e in p.equations for a in e.inputs} | set(p.outputs) for p in branches]
    operands = [
        i for i in range(len(eq.inputs) - 1) if any(p.inputs[i] in r for p, r in zip(branches, read, strict=True))
    ]
    if len(operands) == len(eq.inputs) - 1 and all(a is b for a, b in zip(branches, op.branches, strict=True)):
        return eq
    return dataclasses.replace(
        eq,
        op=Cond(tuple(rearranged(p, operands, range(len(results))) for p in branches)),
        inputs=(eq.inputs[0], *[eq.inputs[1 + i] for i in operands]),
        outputs=tuple(eq.outputs[j] for j in results),
    )


def _prune_loop(loop: Loop, live: set[Var]) -> None:
    """Keep what the live results, the effects and the condition of a loop need."""
    tested = _tested(loop)
    seen, kept = _needed_inside(loop, live, tested)
    before = (len(loop.ys), len(loop.carries), len(loop.constants), len(loop.scanned), len(loop.equations))
    loop.ys = [(a, v) for a, v in loop.ys if v in live]
    loop.carries = [c for c in loop.carries if c.inside in seen or c.result in live or c.tested in tested]
    loop.constants = [(v, a) for v, a in loop.constants if v in seen]
    scanned = [(v, a) for v, a in loop.scanned if v in seen]
    loop.scanned = scanned or loop.scanned[:1] if loop.needs_rows else scanned
    loop.equations = [eq for position, eq in enumerate(loop.equations) if position in kept]
    loop.values = {v: value for v, value in loop.values.items() if v in seen}
    after = (len(loop.ys), len(loop.carries), len(loop.constants), len(loop.scanned), len(loop.equations))
    loop.changed |= before != after
    test = loop.test
    if test is not None:
        whole = Program((), tuple(test.equations), (test.output,), test.values)
        condition = prune_dead_parts(whole)
        constants = [(v, a) for v, a in test.constants if v in tested]
        loop.changed |= len(constants) != len(test.constants) or condition is not whole
        test.constants, test.equations, test.values = constants, list(condition.equations), condition.constants


def _tested(loop: Loop) -> set[Var]:
    """What the condition of a while loop reads."""
    test = loop.test
    return _needed(test.equations, [test.output], {})[0] if test is not None else set()


def _needed_inside(loop: Loop, live: set[Var], tested: set[Var]) -> tuple[set[Var], set[int]]:
    """The variables and equations of the body that are needed, a fixed point over the iterations."""
    roots = [a for a, v in loop.ys if v in live]
    roots += [c.next for c in loop.carries if c.result in live or c.tested in tested]
    return _needed(loop.equations, roots, {c.inside: c.next for c in loop.carries})


def _needed(
    equations: Sequence[Equation], roots: Iterable[Atom], follow: Mapping[Var, Atom]
) -> tuple[set[Var], set[int]]:
    """(variables, positions of equations) that the roots and the effects need; whoever needs v needs follow[v]."""
    makers = {v: position for position, eq in enumerate(equations) for v in eq.outputs}
    kept = {position for position, eq in enumerate(equations) if acts(eq.op)}
    deep = {position for position in kept if inner_programs(equations[position].op)}
    waiting = [*roots, *[a for position in kept - deep for a in equations[position].inputs]]
    seen: set[Var] = set()
    while waiting or deep:
        if not waiting:  # equations with programs inside come last: more of their results may be needed by now
            position = deep.pop()
            deep_eq = equations[position]
            waiting += INPUTS[deep_eq.op](deep_eq.op, deep_eq, seen)
            continue
        atom = waiting.pop()
        if not isinstance(atom, Var) or atom in seen:
            continue
        seen.add(atom)
        if atom in follow:
            waiting.append(follow[atom])
        position = makers.get(atom)
        if position is None:
            continue
        if inner_programs(equations[position].op):
            deep.add(position)
        elif position not in kept:
            waiting += equations[position].inputs
        kept.add(position)
    return seen, kept


@INPUTS.rule(Op)
def all_inputs(op: Op, eq: Equation, live: set[Var]) -> list[Atom]:
    return list(eq.inputs)


@INPUTS.rule(Scan, While)
def loop_inputs(op: Op, eq: Equation, live: set[Var]) -> list[Atom]:
    loop = LOOPS[op](op, eq)
    tested = _tested(loop)
    seen, _ = _needed_inside(loop, live, tested)
    scanned = [a for v, a in loop.scanned if v in seen]
    inputs = [a for v, a in loop.constants if v in seen]
    inputs += [c.start for c in loop.carries if c.inside in seen or c.result in live or c.tested in tested]
    inputs += [a for v, a in loop.test.constants if v in tested] if loop.test is not None else []
    return inputs + (scanned or [a for _, a in loop.scanned[:1]] if loop.needs_rows else scanned)


@INPUTS.rule(Cond)
def branch_inputs(op: Cond, eq: Equation, live: set[Var]) -> list[Atom]:
    inputs: list[Atom] = [eq.inputs[0]]
    for p in op.branches:
        seen, _ = _needed(p.equations, [a for a, v in zip(p.outputs, eq.outputs, strict=True) if v in live], {})
        inputs += [a for v, a in zip(p.inputs, eq.inputs[1:], strict=True) if v in seen]
    return inputs
