"""Terms of a sum that are zero but for few elements: scatter(c, i), also behind views and masks.

`find_parts` looks through what stands between the sum and the scatter, and `add_parts` writes the same as an addition
to what is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from adjoint.base.records import record
from adjoint.ops.arrays.index import Gather, Key, ScatterSum, arity
from adjoint.ops.arrays.rearrange import Reshape, Transpose, inverse_permutation
from adjoint.ops.arrays.scatter_add import ScatterAdd, View, view_of
from adjoint.ops.elementwise.arithmetic import negative
from adjoint.ops.elementwise.pointwise import LinearUfunc
from adjoint.ops.elementwise.select import Select
from adjoint.program.layout import compact
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.costs import elements

Once = Callable[[Atom], Equation | None]  # the equation that makes an atom which nothing else reads
IsZero = Callable[[Atom], bool]


@record(frozen=False)
class Parts:
    """A scatter, and how its array is seen in the term of the sum."""

    scatter: Equation
    sources: list[Equation]  # all equations that it replaces
    views: list[View] = field(default_factory=list[View])  # of the sum, one after the other: where the scatter goes
    rows: list[Atom] = field(default_factory=list[Atom])  # indices in front of its own
    masks: list[Atom] = field(default_factory=list[Atom])
    negated: bool = False

    @property
    def plain(self) -> bool:
        return not self.views and not self.rows


def find_parts(eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    """The scatter behind an equation; None if all elements of its result are computed."""
    rule = BEHIND.get(eq.op)
    return None if rule is None else rule(eq.op, eq, once, is_zero)


# (primitive, equation, …) → the scatter that its result is
BEHIND: RuleTable[Callable[[Any, Equation, Once, IsZero], Parts | None]] = RuleTable("scatters behind views")


def _below(eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    made = once(eq.inputs[0])
    found = None if made is None else find_parts(made, once, is_zero)
    if found is not None:
        found.sources.append(eq)
    return found


@BEHIND.rule(ScatterSum)
def scattered(op: ScatterSum, eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    """c at i, where c may be an array of zeros with few elements again: x[a:b][i], x[i][j]."""
    below = _below(eq, once, is_zero) if len(op.keys) == 1 else None
    (kind, items) = op.keys[0]
    if below is not None and kind == "slice":
        below.views.insert(0, ("slice", items))
        return below
    if below is not None and below.plain and not below.masks and not any(a.type.shape for a in eq.inputs[1:]):
        keys: Sequence[Key] = below.scatter.op.keys  # type: ignore[attr-defined]
        if len(keys) == 1 and keys[0][0] == "gather":
            below.rows = list(eq.inputs[1:])
            return below
    added = sum(elements(a.type) for a in eq.inputs[: len(op.keys)])
    is_sparse = any(key[0] == "gather" for key in op.keys) or 2 * added <= elements(eq.outputs[0].type)
    return Parts(eq, [eq]) if is_sparse else None


@BEHIND.rule(Transpose)
def transposed(op: Transpose, eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    below = _below(eq, once, is_zero)
    if below is not None:
        below.views.insert(0, ("transpose", tuple(inverse_permutation(op.axes))))
    return below


@BEHIND.rule(Reshape)
def reshaped(op: Reshape, eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    below = _below(eq, once, is_zero)
    if below is not None:
        below.views.insert(0, ("reshape", tuple(eq.inputs[0].type.shape)))
    return below


@BEHIND.rule(LinearUfunc)
def negated(op: LinearUfunc, eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    below = _below(eq, once, is_zero) if op is negative else None
    if below is not None:
        below.negated = not below.negated
    return below


@BEHIND.rule(Select)
def masked(op: Select, eq: Equation, once: Once, is_zero: IsZero) -> Parts | None:
    """where(m, t, 0)."""
    _, other, mask = eq.inputs
    below = _below(eq, once, is_zero) if is_zero(other) and keeps_shape(eq) else None
    if below is None or not below.plain:
        return None
    if not all(can_mask(mask.type, key, eq.outputs[0].type) for key in below.scatter.op.keys):  # type: ignore[attr-defined]
        return None
    below.masks.append(mask)
    return below


def keeps_shape(eq: Equation) -> bool:
    """Whether a result has the type of the first argument."""
    x, z = eq.inputs[0].type, eq.outputs[0].type
    return x.shape == z.shape and x.dtype == z.dtype


def is_seen(parts: Parts, kind: ArrayType) -> bool:
    """Whether the views of an array of this type are views indeed: no element has to move."""
    if not all(isinstance(n, int) for n in kind.shape):
        return not parts.views
    strides: Any = compact(kind)
    for view in parts.views:
        op: Any = view_of(view)
        result = op.result_type(kind)
        strides = op.layout([kind], [strides], result)
        if strides is None:
            return False
        kind = result
    return True


def add_parts(parts: Parts, base: Var, out: Var) -> list[Equation]:
    """out = base with the parts added."""
    scatter, new = parts.scatter, list[Equation]()
    op: Any = scatter.op
    values, indices = scatter.inputs[: len(op.keys)], list(scatter.inputs[len(op.keys) :])
    for number, (key, value) in enumerate(zip(op.keys, values, strict=True)):
        own = [indices.pop(0) for _ in range(arity(key))]
        if parts.negated:
            value = write(new, scatter, negative, value)
        for mask in parts.masks:
            there = mask_part(new, scatter, mask, key, own, scatter.outputs[0].type)
            value = write(new, scatter, Select(), value, Literal(value.type.dtype.type(0)), there)
        index = ("gather", len(parts.rows) + len(own)) if parts.rows else key
        target = out if number == len(op.keys) - 1 else Var(out.type)
        inputs = (base, value, *parts.rows, *own)
        step = ScatterAdd(tuple(parts.views), index)
        new.append(dataclasses.replace(scatter, op=step, inputs=inputs, outputs=(target,)))
        base = target
    return new


def write(new: list[Equation], like: Equation, op: Op, *inputs: Atom) -> Var:
    """One more equation; the variable that it binds."""
    out = Var(op.result_type(*[a.type for a in inputs]))
    new.append(dataclasses.replace(like, op=op, inputs=inputs, outputs=(out,)))
    return out


def _masked_axes(mask: ArrayType, ndim: int) -> list[int]:
    """The axes of an array along which a mask differs."""
    return [axis + ndim - mask.ndim for axis, n in enumerate(mask.shape) if n != 1]


def can_mask(mask: ArrayType, key: Key, kind: ArrayType) -> bool:
    """Whether a mask of an array is the same for all that one index names."""
    axes = _masked_axes(mask, kind.ndim)
    return not axes or (key[0] == "gather" and axes[-1] < key[1])


def mask_part(
    new: list[Equation], like: Equation, mask: Atom, key: Key, indices: Sequence[Atom], kind: ArrayType
) -> Atom:
    """The mask at the elements that a key names."""
    axes = _masked_axes(mask.type, kind.ndim)
    sizes = tuple(kind.shape[a] for a in axes)
    if mask.type.shape != sizes:
        mask = write(new, like, Reshape(sizes), mask)
    if not axes:
        return mask
    there = write(new, like, Gather(len(axes)), mask, *[indices[a] for a in axes])
    behind = kind.ndim - key[1]
    return write(new, like, Reshape((*there.type.shape, *(1,) * behind)), there) if behind else there
