"""A program walked along for what its values depend on: each primitive by its rule, unknown ones as if all were mixed.

For each variable there is a `Fact`: its shape, its value where that is known, and what it depends on. Constants of the
program are known, and so is all that is computed from them alone (index arrays, masks); for the pattern at one point
every value is.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.program.expansion import expansion
from adjoint.program.op import Op
from adjoint.program.program import Program, Var, last_uses
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.sparse.relations import Dependence, union


class Fact(NamedTuple):
    """What is known of a value."""

    type: ArrayType
    value: Value  # None when it is not known
    reach: Dependence | None  # None when its derivative is zero

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None when a size is known only at run time."""
        if self.value is not None:
            return np.shape(self.value)
        return self.type.shape if all(isinstance(n, int) for n in self.type.shape) else None

    @property
    def size(self) -> int | None:
        shape = self.shape
        return None if shape is None else int(np.prod(shape, dtype=np.int64))


class Walk(NamedTuple):
    """How a program is walked along."""

    inputs: int  # how many numbers there are to depend on
    local: bool = False  # for the values given, not for all


# What a rule answers: the dependences of the results. It is asked only when some argument depends on something.
Rule = Callable[[Walk, Any, Sequence[Fact], Sequence[Fact]], Sequence["Dependence | None"]]
RULES: RuleTable[Rule] = RuleTable("sparsity")


class Unanswered(Exception):
    """A rule cannot say more than that all may depend on all."""


def constant(value: Value) -> Fact:
    """A value that depends on nothing."""
    return Fact(type_of(value), value, None)


def walk_program(walk: Walk, program: Program, arguments: Sequence[Fact]) -> list[Fact]:
    """What the outputs of a program depend on."""
    env: dict[Var, Fact] = dict(zip(program.inputs, arguments, strict=True))
    env.update({v: constant(value) for v, value in program.constants.items()})
    last = last_uses(program)
    with np.errstate(all="ignore"):
        for position, eq in enumerate(program.equations):
            facts = [env[a] if isinstance(a, Var) else constant(a.value) for a in eq.inputs]
            env.update(zip(eq.outputs, propagate(walk, eq.op, facts, [v.type for v in eq.outputs]), strict=True))
            for v in last.get(position, ()):
                del env[v]
    return [env[a] if isinstance(a, Var) else constant(a.value) for a in program.outputs]


def propagate(walk: Walk, op: Op, facts: Sequence[Fact], types: Sequence[ArrayType]) -> list[Fact]:
    """The facts of what a primitive returns."""
    if not types:
        return []
    if op in CONTROL:
        return CONTROL[op](walk, op, facts, types)
    rule = RULES.get(op)
    if rule is None and (expanded := expansion(op, [f.type for f in facts])) is not None:
        return walk_program(walk, expanded, facts)
    values = evaluated(op, [f.value for f in facts], len(types))
    outputs = [Fact(t, v, None) for t, v in zip(types, values, strict=True)]
    moving = [f.reach is not None for f in facts]
    if op.flat or not any(moving) or not any(t.differentiable for t in types):
        return outputs
    reaches: Sequence[Dependence | None]
    try:
        if rule is None or any(f.shape is None for f in (*facts, *outputs)):
            raise Unanswered
        reaches = rule(walk, op, facts, outputs)
    except Unanswered:
        reaches = mixed(facts, outputs)
    return [f._replace(reach=r if f.type.differentiable else None) for f, r in zip(outputs, reaches, strict=True)]


# Primitives with programs inside say facts, not dependences alone: values go through them too.
CONTROL: RuleTable[Callable[[Walk, Any, Sequence[Fact], Sequence[ArrayType]], list[Fact]]] = RuleTable("sparsity")


def evaluated(op: Op, values: Sequence[Value], count: int) -> Sequence[Value]:
    """The values of the results, if those of all arguments are known (not None)."""
    if op.effect or any(v is None for v in values):
        return [None] * count
    z = op.evaluate(*values)
    return z if op.several else [z]


def mixed(facts: Sequence[Fact], results: Sequence[Fact]) -> list[Dependence | None]:
    """Every element of the results on every element of the arguments."""
    every = union([None if f.reach is None else f.reach.together() for f in facts], None)
    return [every for _ in results]
