"""Reading elements at computed positions: from what they are computed of, and by one index instead of two."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import Gather, Slice
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.ops.elementwise.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Var
from adjoint.program.types import ArrayType
from adjoint.simplify.rules.indexing import slice_items
from adjoint.simplify.rules.rule import Rule, rule
from adjoint.simplify.rules.static_index import normal

MOVES = (Slice, Reshape, Transpose)


@rule("a gather at known positions in equal steps is a slice", Gather)
def gather_in_steps(r: Any, op: Gather, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, *indices = inputs
    if isinstance(x, Literal) or any(isinstance(i, Var) and i not in r.constants for i in indices):
        return None
    items: list[Any] = []
    for axis, index in enumerate(indices):
        value: Any = index.value if isinstance(index, Literal) else r.constants[index]
        item = _in_steps(value, x.type.shape[axis])
        if item is None:
            return None
        items.append(item)
    if len(items) > 1 and not all(isinstance(item, int) for item in items):
        return None
    normal_items = normal(tuple(items), x.type.shape)
    return None if normal_items is None else slice_items(r, x, normal_items)


def _in_steps(value: Any, n: Any) -> Any:
    """The item of a static index for positions that are known: a number, or equal steps; None for others."""
    if not isinstance(n, int) or np.ndim(value) > 1 or np.size(value) > 4096:
        return None
    positions = [int(i) + n if i < 0 else int(i) for i in np.atleast_1d(value).tolist()]
    if not positions or not all(0 <= i < n for i in positions):
        return None
    if np.ndim(value) == 0:
        return positions[0]
    step = positions[1] - positions[0] if len(positions) > 1 else 1
    if step == 0 or any(b - a != step for a, b in itertools.pairwise(positions)):
        return None
    stop = positions[-1] + (1 if step > 0 else -1)
    return (positions[0], stop if stop >= 0 else None, step)


@rule("few elements of what is computed element by element are computed from these elements", Gather)
def gather_of_pointwise(r: Any, op: Gather, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, *indices = inputs
    views: list[Op] = []
    while (eq := r.defined.get(x) if isinstance(x, Var) and r.once(x) else None) is not None and isinstance(
        eq.op, MOVES
    ):
        views.insert(0, eq.op)
        x = eq.inputs[0]
    if eq is None or not isinstance(eq.op, Pointwise | Select) or eq.op.effect or len(eq.outputs) != 1:
        return None
    if any(a.type.shape not in ((), x.type.shape) for a in eq.inputs) or not _is_few(kind, x.type):
        return None
    read = [_gather(r, op, a, views, indices) if a.type.shape else a for a in eq.inputs]
    return r.apply(eq.op, tuple(read), kind)


def _gather(r: Any, op: Gather, x: Atom, views: Sequence[Op], indices: Sequence[Atom]) -> Atom:
    for view in views:
        x = r.apply(view, (x,), view.result_type(x.type))
    inputs = (x, *indices)
    return r.apply(op, inputs, op.result_type(*[a.type for a in inputs]))


def _made_for(r: Any, x: Atom) -> Equation | None:
    """The equation that makes what nothing else reads."""
    return r.defined.get(x) if isinstance(x, Var) and r.once(x) else None


def _is_few(part: ArrayType, whole: ArrayType) -> bool:
    sizes = (*part.shape, *whole.shape)
    return all(isinstance(n, int) for n in sizes) and 4 * math.prod(part.shape) <= math.prod(whole.shape)


@rule("x[i][j] = x[i, j] for a number i", Gather)
def gather_of_gather(r: Any, op: Gather, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, *indices = inputs
    eq = r.defined_by(x, Gather)
    if eq is None or any(i.type.shape for i in eq.inputs[1:]) or not indices or isinstance(eq.inputs[0], Literal):
        return None
    return r.apply(Gather(eq.op.count + op.count), (*eq.inputs, *indices), kind)


RULES: list[Rule] = [
    gather_in_steps,
    gather_of_gather,
    gather_of_pointwise,
]
