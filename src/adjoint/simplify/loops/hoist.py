"""Hoisting (loop-invariant code motion): equations that read nothing but constants of a loop run once, before it.

They stay inside where that would cost more than it saves: reading a constant through a view (a transpose, a broadcast)
is free, and a large array that is one cheap operation away from small ones is quicker computed than read. Effects stay;
and what may raise an error stays too, unless the loop is sure to run an iteration.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import Value
from adjoint.simplify.costs import cost, elements
from adjoint.simplify.loops.parts import Loop, acts, open_loop

SETTLED = "_without_invariants"  # on an equation: there is nothing to do, as long as it is this equation
SMALL = 64  # elements: a value of that size may always move out
CHEAP = 1.0  # cost of an element that is not worth being read from memory
# what cannot fail once its types are right


def hoist_invariants(program: Program) -> Program:
    """The program with the invariants of its loops before them."""
    equations: list[Equation] = []
    constants = dict(program.constants)
    changed = False
    for eq in program.equations:
        loop = open_loop(eq) if SETTLED not in eq.__dict__ else None
        if loop is not None and loop.length != 0:
            sure = loop.length is not None
            hoisted, loop.equations = _move_out(loop.equations, loop.constants, loop.values, sure, constants)
            _forget(loop)
            if loop.test is not None:
                test = loop.test
                more, test.equations = _move_out(test.equations, test.constants, test.values, True, constants)
                hoisted += more
            if hoisted:
                changed = loop.changed = True
                equations += hoisted
                eq = loop.close()
            eq.__dict__[SETTLED] = True
        equations.append(eq)
    return Program(program.inputs, tuple(equations), program.outputs, constants) if changed else program


def _move_out(
    equations: Iterable[Equation],
    pairs: list[tuple[Var, Atom]],
    values: dict[Var, Value],
    sure: bool,
    constants: dict[Var, Value],
) -> tuple[list[Equation], list[Equation]]:
    """(equations for before the loop, equations that stay); `pairs` and `constants` learn what they need."""
    equations = list(equations)
    known = {v for v, _ in pairs} | set(values)
    chosen = _choose(equations, known, sure)
    if not chosen:
        return [], equations
    outer: dict[Var, Atom] = dict(pairs)
    moved: list[Equation] = []
    kept: list[Equation] = []
    bound: list[Var] = []
    for eq in equations:
        if eq not in chosen:
            kept.append(eq)
            continue
        for a in eq.inputs:
            if isinstance(a, Var) and a not in outer:
                outer[a] = constant = Var(a.type)
                constants[constant] = values[a]
        outputs = tuple(Var(v.type) for v in eq.outputs)
        inputs = tuple([a if isinstance(a, Literal) else outer[a] for a in eq.inputs])
        moved.append(dataclasses.replace(eq, inputs=inputs, outputs=outputs))
        outer.update(zip(eq.outputs, outputs, strict=True))
        bound += eq.outputs
    pairs += [(v, outer[v]) for v in bound]
    return moved, kept


def _choose(equations: list[Equation], known: set[Var], sure: bool) -> set[Equation]:
    """The invariant equations that are worth moving, and those that they read."""
    invariant: list[Equation] = []
    makers: dict[Var, Equation] = {}
    for eq in equations:
        if all(a in known for a in eq.inputs if isinstance(a, Var)) and _may_move(eq, sure):
            invariant.append(eq)
            known.update(eq.outputs)
            makers.update(dict.fromkeys(eq.outputs, eq))
    chosen: set[Equation] = set()
    for eq in reversed(invariant):
        if eq in chosen or _is_worth_it(eq):
            chosen.add(eq)
            chosen.update(makers[a] for a in eq.inputs if isinstance(a, Var) and a in makers)
    return chosen


def _may_move(eq: Equation, sure: bool) -> bool:
    if acts(eq.op) or not eq.outputs:
        return False
    return sure or not eq.op.may_raise(*[a.type for a in eq.inputs])


def _is_worth_it(eq: Equation) -> bool:
    size = sum(elements(v.type) for v in eq.outputs)
    if eq.op.is_view:
        return size <= SMALL and any(elements(a.type) > size for a in eq.inputs)
    if size <= SMALL:
        return True
    read = sum(elements(a.type) for a in eq.inputs)
    price = cost(eq)
    return size <= read or not math.isfinite(price) or price > CHEAP * size


def _forget(loop: Loop) -> None:
    """Drop constants that only equations that have moved out read."""
    read = {a for eq in loop.equations for a in eq.inputs} | {c.next for c in loop.carries} | {a for a, _ in loop.ys}
    loop.constants[:] = [(v, a) for v, a in loop.constants if v in read]
    loop.values = {v: value for v, value in loop.values.items() if v in read}
