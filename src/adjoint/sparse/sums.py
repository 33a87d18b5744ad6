"""Equations that move elements, and equations that sum them: which elements of the arguments an element comes from."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import ScatterSum, subscript
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.arrays.scatter_add import ScatterAdd, view_of
from adjoint.ops.checkpointing.policies import Mark
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.program import Atom, Equation, Var
from adjoint.program.rule_table import RuleTable
from adjoint.sparse.element_rules import numbered

Pairs = tuple[Any, Any]  # element e of an argument is part of element z of the result, for each pair (e, z)


def moved(eq: Equation, origins: Sequence[Any], value: Callable[[Atom], Any]) -> Any:
    """Which element each element of the result is, given which elements the arguments are; None where it depends."""
    op = eq.op
    if isinstance(op, Convert | Weaken | Mark):
        return origins[0] if all(a.type.dtype.kind == "f" for a in eq.inputs) else None
    operands = len(eq.inputs) - op.parameters
    fixed = [value(a) for a in eq.inputs[operands:]]
    if any(v is None for v in fixed):
        return None
    numbers = [
        np.zeros(a.type.shape, int) if index is None else index + 1
        for a, index in zip(eq.inputs[:operands], origins, strict=False)
    ]
    return np.asarray(op.evaluate(*numbers, *fixed)) - 1


# Of what sums its arguments: for each the pairs (element, element of the result); None where that is not known.
Spread = Callable[[Any, Equation, Callable[[Atom], Any]], "list[Pairs | None] | None"]
SUMS: RuleTable[Spread] = RuleTable("sums")


@SUMS.rule(Sum)
def _sum(op: Sum, eq: Equation, value: Any) -> list[Pairs | None]:
    shape = eq.inputs[0].type.shape
    kept = [1 if k in op.axes else n for k, n in enumerate(shape)]
    return [(_all(shape), np.ravel(np.broadcast_to(numbered(kept), shape)))]


@SUMS.rule(Ufunc)
def _add(op: Ufunc, eq: Equation, value: Any) -> list[Pairs | None] | None:
    if op is not add:
        return None
    shape = eq.outputs[0].type.shape
    return [
        (np.ravel(np.broadcast_to(numbered(a.type.shape), shape)), _all(shape)) if isinstance(a, Var) else None
        for a in eq.inputs
    ]


@SUMS.rule(ScatterSum)
def _scatter_sum(op: ScatterSum, eq: Equation, value: Any) -> list[Pairs | None] | None:
    n = len(op.keys)
    indices = [value(a) for a in eq.inputs[n:]]
    if any(i is None for i in indices):
        return None
    targets = [numbered(op.shape)[subscript(key, own)] for key, own in op.split_indices(indices)]
    return [*map(_met, targets, eq.inputs[:n]), *[None] * len(indices)]


@SUMS.rule(ScatterAdd)
def _scatter_add(op: ScatterAdd, eq: Equation, value: Any) -> list[Pairs | None] | None:
    x, part, *rest = eq.inputs
    indices = [value(a) for a in rest]
    if any(i is None for i in indices):
        return None
    target: Any = numbered(x.type.shape)
    for view in map(view_of, op.views):
        target = view.evaluate(target)
    every = _all(x.type.shape)
    return [(every, every), _met(target[subscript(op.index, indices)], part), *[None] * len(indices)]


def _all(shape: Sequence[int]) -> Any:
    return np.ravel(numbered(shape))


def _met(target: Any, part: Atom) -> Pairs:
    shape = np.broadcast_shapes(np.shape(target), part.type.shape)
    of_part = np.broadcast_to(numbered(part.type.shape), shape)
    return np.ravel(of_part), np.ravel(np.broadcast_to(target, shape))
