"""Dependences through what acts element by element, and through what moves elements about.

What only moves elements is asked where they go: it is run on the numbers of the elements, counted from one, and zero
stands for a constant.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import Gather, ScatterSet, ScatterSum, Slice, subscript
from adjoint.ops.arrays.rearrange import (
    Broadcast,
    Complex,
    Concatenate,
    Convert,
    Imag,
    Pad,
    Real,
    Reshape,
    Transpose,
)
from adjoint.ops.arrays.scatter_add import ScatterAdd, view_of
from adjoint.ops.elementwise.arithmetic import sign
from adjoint.ops.elementwise.pointwise import MaskedProduct, Pointwise, ProductUfunc, Ufunc
from adjoint.ops.elementwise.select import Select
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.rule_table import RuleTable
from adjoint.sparse.relations import Dependence, concatenate, from_map, from_pairs, union
from adjoint.sparse.walking import RULES, Fact, Unanswered, Walk

Reach = Dependence | None
# A choice that depends on values which are not known: all that may be chosen.
ANY_CHOICE: RuleTable[Callable[[Any, Sequence[Fact], Fact], Reach]] = RuleTable("sparsity")


def numbered(shape: Sequence[int], start: int = 0) -> Any:
    """The elements of an array of this shape, counted in C order."""
    return np.arange(start, start + int(np.prod(shape, dtype=np.int64))).reshape(shape)


def broadcast(fact: Fact, shape: Sequence[int]) -> Reach:
    """What an argument brings to each element of a result into which it is broadcast."""
    own = fact.shape
    if fact.reach is None or own == tuple(shape) or fact.reach.uniform:
        return fact.reach
    if fact.size == 1:
        return fact.reach.through(from_map(np.zeros(int(np.prod(shape, dtype=np.int64)), int), 1))
    return fact.reach.taken(np.broadcast_to(numbered(own or ()), shape))


def where(reach: Reach, mask: Any, shape: Sequence[int]) -> Reach:
    """Only where the mask holds."""
    if reach is None:
        return None
    mask = np.ravel(np.broadcast_to(mask, shape))
    if mask.all():
        return reach
    return reach.taken(np.where(mask, np.arange(mask.size), -1)) if mask.any() else None


@RULES.rule(Pointwise)
def pointwise(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """zᵢ on xᵢ."""
    (z,) = results
    shape: Any = z.shape
    return [union([broadcast(f, shape) for f in facts], z.size)]


@RULES.rule(ProductUfunc, MaskedProduct)
def product(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """zᵢ on xᵢ where yᵢ is not zero, if that is known."""
    (z,) = results
    shape: Any = z.shape
    parts: list[Reach] = []
    for f, other in zip(facts, reversed(facts), strict=True):
        part = broadcast(f, shape)
        parts.append(part if other.value is None else where(part, np.not_equal(other.value, 0), shape))
    return [union(parts, z.size)]


@RULES.rule(Ufunc)
def ufunc(walk: Walk, op: Ufunc, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """zᵢ on xᵢ; with known values only where the partial is not zero."""
    (z,) = results
    shape: Any = z.shape
    if op is sign and z.type.dtype.kind == "f":
        return [None]
    if z.value is None or type(op).push is not Ufunc.push:  # not Σ partial · tangent
        return list(pointwise(walk, op, facts, results))
    parts: list[Reach] = []
    for i, f in enumerate(facts):
        part, partial = broadcast(f, shape), None
        if part is not None:
            partial = op.factor(i, [g.value for g in facts], z.value)
        parts.append(part if partial is None else where(part, np.not_equal(partial, 0), shape))
    return [union(parts, z.size)]


@RULES.rule(Convert, Real, Imag, Weaken, Complex)
def unchanged(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """Each element on the same one."""
    return [union([f.reach for f in facts], results[0].size)]


@RULES.rule(Reshape)
def reshaped(walk: Walk, op: Reshape, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """Elements are counted in the same order."""
    return [facts[0].reach]


@RULES.rule(Broadcast)
def repeated(walk: Walk, op: Broadcast, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """Elements that stand at several positions."""
    return [broadcast(facts[0], op.shape)]


@RULES.rule(Transpose, Slice, Pad, Concatenate, Gather, ScatterSet, Select)
def moved(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """Elements that go to other positions, unchanged."""
    operands = len(facts) - op.parameters
    if any(f.value is None for f in facts[operands:]):
        return [ANY_CHOICE[op](op, facts, results[0])]
    movers = facts[:operands]
    numbers: list[Any] = []
    start = 1
    for f in movers:
        shape: Any = f.shape
        numbers.append(numbered(shape, start) if f.reach is not None else np.zeros(shape, int))
        start += f.size or 0
    index = np.asarray(op.evaluate(*numbers, *[f.value for f in facts[operands:]])) - 1
    if operands == 1:
        reach: Any = movers[0].reach
        return [reach.taken(index)]
    both = concatenate([f.reach for f in movers], [f.size or 0 for f in movers], walk.inputs)
    return [both.taken(index)]


@ANY_CHOICE.rule(Select)
def _any_branch(op: Select, facts: Sequence[Fact], z: Fact) -> Reach:
    return union([broadcast(f, z.shape or ()) for f in facts[:2]], z.size)


@ANY_CHOICE.rule(Gather)
def _any_element(op: Gather, facts: Sequence[Fact], z: Fact) -> Reach:
    return _along_first(facts[0], op.count, z.shape)


@ANY_CHOICE.rule(ScatterSet)
def _any_position(op: ScatterSet, facts: Sequence[Fact], z: Fact) -> Reach:
    if op.index[0] != "gather":
        raise Unanswered
    return union([facts[0].reach, _into_first(facts[1], len(facts) - 2, z.shape)], z.size)


def _along_first(x: Fact, count: int, shape: Any) -> Reach:
    """Some element along the first `count` axes: z[…, t] on all of x[…, t]."""
    own: Any = x.shape
    tail = own[count:]
    hubs = numbered(tail)
    n = max(1, hubs.size)
    into = from_map(np.broadcast_to(hubs, shape), n)
    out_of = from_pairs(np.broadcast_to(hubs, own), numbered(own), (n, x.size or 0))
    return None if x.reach is None else x.reach.through(into, out_of)


def _into_first(v: Fact, count: int, shape: Any) -> Reach:
    """Put to some position along the first `count` axes: z[…, t] on all of v[…, t]."""
    if v.reach is None:
        return None
    tail = shape[count:]
    own: Any = v.shape
    hubs = numbered(tail)
    n = max(1, hubs.size)
    spread = np.broadcast_shapes(own, (*(1,) * max(0, len(own) - len(tail)), *tail))
    out_of = from_pairs(np.broadcast_to(hubs, spread), np.broadcast_to(numbered(own), spread), (n, v.size or 0))
    return v.reach.through(from_map(np.broadcast_to(hubs, shape), n), out_of)


@RULES.rule(ScatterAdd)
def added(walk: Walk, op: ScatterAdd, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """x[view][key] += part."""
    x, part, *indices = facts
    shape, size = results[0].shape or (), results[0].size or 0
    if part.reach is None:
        return [x.reach]
    rows = numbered(shape)
    for view in map(view_of, op.views):
        rows = view.evaluate(rows)
    if all(i.value is not None for i in indices):
        rows = rows[subscript(op.index, [i.value for i in indices])]
        spread = np.broadcast_shapes(np.shape(rows), part.shape or ())
        pairs = np.broadcast_to(rows, spread), np.broadcast_to(numbered(part.shape or ()), spread)
    else:  # anywhere in what is seen
        pairs = tuple(np.meshgrid(np.ravel(rows), np.arange(part.size or 0), indexing="ij"))
    reach = part.reach.through(from_pairs(pairs[0], pairs[1], (size, part.size or 0)))
    return [union([r for r in (x.reach, reach) if r is not None], size)]


@RULES.rule(ScatterSum)
def scattered(walk: Walk, op: ScatterSum, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """out[key] += part."""
    n, size = len(op.keys), results[0].size or 0
    targets = op.split_indices(facts[n:])  # type: ignore[arg-type]
    parts: list[Reach] = []
    for part, (key, indices) in zip(facts[:n], targets, strict=True):
        if part.reach is None:
            continue
        if any(i.value is None for i in indices):
            parts.append(_into_first(part, key[1], op.shape))
            continue
        rows = numbered(op.shape)[subscript(key, [i.value for i in indices])]
        shape = np.broadcast_shapes(np.shape(rows), part.shape or ())
        pairs = np.broadcast_to(rows, shape), np.broadcast_to(numbered(part.shape or ()), shape)
        if key[0] == "slice" and np.shape(rows) == part.shape:
            back = np.full(size, -1)
            back[np.ravel(rows)] = np.arange(part.size or 0)
            parts.append(part.reach.taken(back))
        else:
            parts.append(part.reach.through(from_pairs(*pairs, (size, part.size or 0))))
    return [union(parts, size)]
