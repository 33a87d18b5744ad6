"""Sums and extrema: over axes of size one, of spread values, of values with a number or a sign in front."""

from __future__ import annotations

import dataclasses
from typing import Any

from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose
from adjoint.ops.arrays.reduce import Extremum, FlatReduction, Product, Sum
from adjoint.ops.elementwise.arithmetic import multiply, negative
from adjoint.program.program import Atom, Literal
from adjoint.program.types import ArrayType
from adjoint.simplify.rules.algebra import is_moderate
from adjoint.simplify.rules.rule import ANY, Rule, rule, with_number
from adjoint.simplify.rules.shapes import reshape, same_but_ones


def _over_one(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    if x.type.dtype != kind.dtype or any(x.type.shape[a] != 1 for a in op.axes):
        return None
    return reshape(r, x, kind.shape)


over_one = [Rule("a reduction over axes of size one", cls, (ANY,), _over_one) for cls in (Sum, Product, Extremum)]


@rule("any and all over axes of size one", FlatReduction, ANY)
def truth_of_one(r: Any, op: FlatReduction, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _over_one(r, op, inputs, kind) if op.kind in ("any", "all") else None


@rule("Σ of equal elements is their number times one of them", Sum, Broadcast, note="rounded once, not n times")
def sum_of_broadcast(r: Any, op: Sum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    if inputs[0].type.dtype != kind.dtype or kind.dtype.char == "e":
        return None
    x, rest, count = _unspread(r, op, inputs[0])
    if count == 0 or not isinstance(count, int):
        return r.literal(kind.dtype.type(0)) if count == 0 else None
    small = r.apply(Sum(rest), (x,)) if rest else x
    return small if count == 1 else r.apply(multiply, (small, r.literal(kind.dtype.type(count))))


@rule("an extremum of equal elements is one of them", Extremum, Broadcast)
def extremum_of_broadcast(r: Any, op: Extremum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, rest, _ = _unspread(r, op, inputs[0])
    return r.apply(Extremum(op.kind, rest), (x,)) if rest else x


def _unspread(r: Any, op: Any, spread: Atom) -> tuple[Atom, tuple[int, ...], Any]:
    """What was spread, without the axes along which it was and which are reduced; the others that are; how often."""
    (x,) = r.defined[spread].inputs
    wide = spread.type.shape
    lead = len(wide) - x.type.ndim
    shape: list[Any] = []
    rest: list[int] = []
    count: Any = 1
    for axis, n in enumerate(wide):
        own = x.type.shape[axis - lead] if axis >= lead else 1
        if axis not in op.axes:
            shape.append(own)
        elif own == n:
            rest.append(len(shape))
            shape.append(own)
        else:
            count *= n
    # axes in front that are neither reduced nor there are left to broadcasting
    while shape and len(shape) > x.type.ndim and shape[0] == 1 and 0 not in rest:
        shape.pop(0)
        rest = [a - 1 for a in rest]
    return (x if isinstance(x, Literal) and not shape else reshape(r, x, tuple(shape))), tuple(rest), count


@rule("Σ -x = -Σ x", Sum, negative)
def sum_of_negative(r: Any, op: Sum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = r.defined[inputs[0]].inputs
    return r.apply(negative, (r.apply(op, (x,), kind),), kind) if x.type.dtype == kind.dtype else None


@rule("Σ c x = c Σ x for a number c", Sum, with_number(multiply), note="not near overflow and underflow")
def sum_of_multiple(r: Any, op: Sum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, c = r.defined[inputs[0]].inputs
    if x.type.dtype != kind.dtype or kind.dtype.kind not in "fiu":
        return None
    factor = kind.dtype.type(c.value)
    if not r.once(inputs[0]) or not is_moderate(factor) or 0 in inputs[0].type.shape:
        return None
    return r.apply(multiply, (r.apply(op, (x,), kind), r.literal(factor)), kind)


@rule("Σ Σ x over some axes, then over others", Sum, Sum)
def sum_of_sum(r: Any, op: Sum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    eq = r.defined[inputs[0]]
    (x,) = eq.inputs
    if not r.once(inputs[0]) or x.type.dtype != kind.dtype:
        return None
    left = [a for a in range(x.type.ndim) if a not in eq.op.axes]
    return r.apply(Sum(tuple(sorted((*eq.op.axes, *[left[a] for a in op.axes])))), (x,), kind)


@rule("the sum of all elements does not depend on their order", Sum, [Reshape, Transpose])
def sum_in_any_order(r: Any, op: Sum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    if len(op.axes) != inputs[0].type.ndim:
        return None
    (x,) = r.defined[inputs[0]].inputs
    return r.apply(Sum(tuple(range(x.type.ndim))), (x,), kind)


def _before_reshape(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = r.defined[inputs[0]].inputs
    old_axes = same_but_ones(x.type.shape, inputs[0].type.shape)
    if old_axes is None:
        return None
    axes = tuple([old_axes[a] for a in op.axes if old_axes[a] >= 0])
    if not axes and x.type.dtype != kind.dtype:
        return None
    return reshape(r, r.apply(dataclasses.replace(op, axes=axes), (x,)) if axes else x, kind.shape)


before_reshape = [
    Rule("a reduction before axes of size one come or go", cls, (Reshape,), _before_reshape) for cls in (Sum, Extremum)
]


RULES: list[Rule] = [
    *over_one,
    *before_reshape,
    truth_of_one,
    sum_of_broadcast,
    extremum_of_broadcast,
    sum_of_negative,
    sum_of_multiple,
    sum_of_sum,
    sum_in_any_order,
]
