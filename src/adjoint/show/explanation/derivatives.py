"""The derivatives of an explanation, variable by variable: tangents in the forward pass, adjoints in the backward pass.

    v̇_k = Σ_i ∂v_k/∂v_i v̇_i                  in the order of the computation
    v̄_i = Σ_k ∂v_k/∂v_i v̄_k                  against it, over all operations k that read v_i

The rules are the primitives' own, the ones that `grad` and `jvp` use. Second order is the derivative of the second line
along the direction of the first.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import jvp, vjp
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.ops.calculus import fit
from adjoint.program.types import Value, is_differentiable, type_of
from adjoint.show.explanation.model import Event, ExplanationModel, Variable

__all__ = ["backward", "forward", "second"]


def is_number(leaf: Any) -> bool:
    """Whether a leaf is a number or an array of numbers."""
    return np.asarray(leaf).dtype.kind in "biufc"


def seeds_of(model: ExplanationModel, seed: Any) -> list[Value]:
    """The adjoint of each result: 1 for a scalar function, else what the caller gave."""
    values = [v.value for v in model.outputs]
    smooth = [is_differentiable(v) for v in values]
    if not any(smooth):
        kinds = ", ".join(str(type_of(v)) for v in values) or "nothing"
        raise DtypeError(
            f"explain: {model.name} returns {kinds}, which has no derivative. Return a real or complex number."
        )
    if seed is None:
        if len(values) != 1 or np.size(values[0]) != 1:
            shapes = ", ".join(str(type_of(v)) for v in values)
            raise ShapeError(
                f"explain: reverse mode starts from one number, but {model.name} returns {shapes}. Give the adjoint of "
                'the results, explain(f, seed=...), return a sum, or use mode="forward".'
            )
        return [np.ones_like(values[0])]
    leaves, structure = tree.flatten(seed)
    tree.check_same_structure("explain: seed", model.structure, structure, "the results", "the seed")
    for leaf, value in zip(leaves, values, strict=True):
        if not is_number(leaf):
            raise DtypeError(f"explain: the seed holds {leaf!r}, which is no number. Give one adjoint for each result.")
        if np.shape(leaf) != np.shape(value):
            raise ShapeError(
                f"explain: the seed has shape {np.shape(leaf)} for a result of shape {np.shape(value)}. "
                "Give one adjoint for each element of the results."
            )
    return [np.asarray(s, type_of(v).dtype)[()] for s, v in zip(leaves, values, strict=True)]


def backward(model: ExplanationModel, seed: Any = None) -> None:
    """Fill in every adjoint, and what each operation adds to those of its operands."""
    seeds = model.seeds = seeds_of(model, seed)
    values = [v.value for v in model.variables]
    adjoints, contributions = _pulled(model, values, seeds)
    for variable, ct in zip(model.variables, adjoints, strict=True):
        variable.adjoint = None if ct is None else ct
        if variable.is_active and variable.adjoint is None:
            variable.adjoint = np.zeros(variable.shape, variable.dtype)[()]
    for event, parts in zip(model.events, contributions, strict=True):
        event.contributions = parts


def _pulled(
    model: ExplanationModel, values: Sequence[Value], seeds: Sequence[Value]
) -> tuple[list[Value], list[list[Value]]]:
    """Adjoints of all variables, given values of all of them (which may be traced); and the terms of each event."""
    cts: list[Any] = [None] * len(values)
    terms: list[list[Value]] = [[None] * len(e.operands) for e in model.events]
    for out, seed in zip(model.outputs, seeds, strict=True):
        if isinstance(out, Variable) and out.is_active:
            cts[out.number] = seed if cts[out.number] is None else cts[out.number] + seed
    masked = False
    with np.errstate(all="ignore"):
        for event in reversed(model.events):
            ct = [cts[v.number] for v in event.outputs]
            if all(c is None for c in ct) or not any(event.moving):
                continue
            for i, part in enumerate(pulled(event, _read(event, values), ct, values, masked)):
                operand = event.operands[i]
                if part is None or not isinstance(operand, Variable) or not operand.is_active:
                    continue
                terms[event.number][i] = part
                old = cts[operand.number]
                cts[operand.number] = part if old is None else old + part
            masked = masked or event.op.masks or event.op.sparse
    return cts, terms


def _read(event: Event, values: Sequence[Value]) -> list[Value]:
    return [values[a.number] if isinstance(a, Variable) else a.value for a in event.operands]


def pulled(
    event: Event, xs: Sequence[Value], cts: Sequence[Value], values: Sequence[Value], masked: bool = False
) -> list[Value]:
    """The adjoints that one operation gives to its operands."""
    op: Any = event.op
    wanted = event.moving
    if op.saves or op.closes:
        return _by_vjp(op, xs, cts, wanted, event)
    z = tuple(values[v.number] for v in event.outputs) if op.several else values[event.outputs[0].number]
    ct = list(cts) if op.several else cts[0]
    if op.pointwise:
        parts = op.pull(ct, xs, z, wanted, masked)
    else:
        parts = op.pull(ct, xs, z, wanted)
    kinds = [type_of(a.value) for a in event.operands]
    return [
        None if p is None or not w else fit(_array(p), kind) for p, w, kind in zip(parts, wanted, kinds, strict=False)
    ]


def _array(value: Value) -> Value:
    return value if hasattr(value, "dtype") else np.asarray(value)


def _by_vjp(op: Any, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool], event: Event) -> list[Value]:
    """Of an operation that keeps a record of its own (a loop, a user rule)."""
    active = [i for i, w in enumerate(wanted) if w]

    def only(*moving: Value) -> Any:
        full = list(xs)
        for i, x in zip(active, moving, strict=True):
            full[i] = x
        z = op(*full)
        zs = z if op.several else (z,)
        return tuple(part for part, ct in zip(zs, cts, strict=True) if ct is not None)

    _, back = vjp(only, *[xs[i] for i in active])
    pulled = back(tuple(ct for ct in cts if ct is not None))
    out: list[Value] = [None] * len(xs)
    for i, part in zip(active, pulled, strict=True):
        out[i] = part
    return out


def forward(model: ExplanationModel, direction: Any = None) -> None:
    """Fill in every tangent along a direction (one array for each input that is differentiated)."""
    tangents = directions_of(model, direction)
    ds = _pushed(model, [v.value for v in model.variables], tangents)
    for variable, d in zip(model.variables, ds, strict=True):
        if variable.is_active:
            variable.tangent = np.zeros(variable.shape, variable.dtype)[()] if d is None else d


def directions_of(model: ExplanationModel, direction: Any, *, noted: bool = True) -> list[Value]:
    """The tangent of each input: by default 1 for the first number (ones for a first array), 0 for the rest.

    The explanation's notes tell which, when it had to be chosen.
    """
    moving = [v for v in model.inputs if v.is_active]
    if not moving:
        raise DtypeError(
            f"explain: {model.name} got no real or complex argument, so there is nothing to differentiate. Pass floats."
        )
    if direction is None:
        tangents = [np.zeros(v.shape, v.dtype)[()] for v in moving]
        tangents[0] = np.ones(moving[0].shape, moving[0].dtype)[()]
        if noted and (len(moving) > 1 or moving[0].shape):
            what = "all ones in " if moving[0].shape else "1 in "
            rest = ", 0 in the others" if len(moving) > 1 else ""
            model.notes.append(f"the direction of the tangents is {what}{moving[0].label or moving[0].name}{rest}")
    else:
        tangents = [np.asarray(leaf) for leaf in tree.leaves(direction)]
        if wrong := [leaf for leaf in tree.leaves(direction) if not is_number(leaf)]:
            raise DtypeError(f"explain: the direction holds {wrong[0]!r}, which is no number. Give tangents.")
        if [t.shape for t in tangents] != [v.shape for v in moving]:
            wanted, got = ([str(np.shape(t)) for t in ts] for ts in ([v.value for v in moving], tangents))
            raise ShapeError(
                f"explain: the direction has shapes {', '.join(got)}, but the arguments that are differentiated have "
                f"{', '.join(wanted)}. Give one array for each of them."
            )
        tangents = [np.asarray(t, v.dtype)[()] for t, v in zip(tangents, moving, strict=True)]
    remaining = iter(tangents)
    return [next(remaining) if v.is_active else None for v in model.inputs]


def _pushed(model: ExplanationModel, values: Sequence[Value], tangents: Sequence[Value]) -> list[Value]:
    ds: list[Any] = [None] * len(values)
    for v, d in zip(model.inputs, tangents, strict=True):
        ds[v.number] = d
    with np.errstate(all="ignore"):
        for event in model.events:
            dxs = [ds[a.number] if isinstance(a, Variable) else None for a in event.operands]
            if event.op.flat or all(d is None for d in dxs):
                continue
            for v, d in zip(event.outputs, pushed(event, _read(event, values), dxs, values), strict=True):
                if v.is_active:
                    ds[v.number] = d
    return ds


def pushed(event: Event, xs: Sequence[Value], dxs: Sequence[Value], values: Sequence[Value]) -> Sequence[Value]:
    """The tangents of the results of one operation."""
    op: Any = event.op
    if not (op.saves or op.closes):
        z = tuple(values[v.number] for v in event.outputs) if op.several else values[event.outputs[0].number]
        d = op.push(xs, z, dxs)
        return list(d) if op.several else [d]
    active = [i for i, d in enumerate(dxs) if d is not None]

    def only(*moving: Value) -> Any:
        full = list(xs)
        for i, x in zip(active, moving, strict=True):
            full[i] = x
        return op(*full)

    _, out = jvp(only, tuple(_array(xs[i]) for i in active), tuple(_array(dxs[i]) for i in active))
    return list(out) if op.several else [out]


def second(model: ExplanationModel, seed: Any = None, direction: Any = None) -> None:
    """Adjoints, tangents, and the derivative of every adjoint along the direction: forward over reverse."""
    backward(model, seed)
    forward(model, direction)
    seeds = seeds_of(model, seed)
    moving = [v for v in model.variables if v.is_active]

    def adjoints(*values: Value) -> tuple[Value, ...]:
        full: list[Any] = [v.value for v in model.variables]
        for v, x in zip(moving, values, strict=True):
            full[v.number] = x
        cts, _ = _pulled(model, full, seeds)
        return tuple(np.zeros(v.shape, v.dtype) if cts[v.number] is None else cts[v.number] for v in moving)

    primals = tuple(_array(v.value) for v in moving)
    tangents = tuple(_array(v.tangent) for v in moving)
    _, derivatives = jvp(adjoints, primals, tangents)
    for v, d in zip(moving, derivatives, strict=True):
        v.adjoint_tangent = d
