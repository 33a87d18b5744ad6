"""Reshape, transpose, broadcast, convert: chains of them become one, and those that do nothing go.

An operation element by element broadcasts its operands itself, so a broadcast before it is left out; where all operands
were spread alike, the operation is done before the spreading, on fewer elements.
"""

from __future__ import annotations

from typing import Any

from adjoint.ops.contract import MatMul
from adjoint.ops.pointwise import Pointwise
from adjoint.ops.rearrange import Broadcast, Convert, Pad, Real, Reshape, Transpose
from adjoint.ops.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Atom, Literal
from adjoint.program.types import ArrayType
from adjoint.simplify.rules import ANY, Rule, rule

Shape = tuple[Any, ...]


def reshaped(r: Any, x: Atom, shape: Shape) -> Atom:
    """x in another shape."""
    return x if x.type.shape == shape else r.apply(Reshape(shape), (x,), ArrayType(shape, x.type.dtype))


@rule("reshape to the shape it has; reshape twice; reshape of a spread number", Reshape, ANY)
def one_reshape(r: Any, op: Reshape, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    if x.type.shape == kind.shape:
        return x
    if isinstance(x, Literal):
        return r.spread(x, kind.shape)
    eq = r.defined.get(x)
    if eq is None:
        return None
    if eq.op.__class__ is Reshape:
        return reshaped(r, eq.inputs[0], kind.shape)
    if eq.op.__class__ is Broadcast and isinstance(eq.inputs[0], Literal):
        return r.spread(eq.inputs[0], kind.shape)
    return None


@rule("transpose by the identity, twice, of a spread number, or of axes of size one only", Transpose, ANY)
def one_transpose(r: Any, op: Transpose, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    axes, shape = op.axes, x.type.shape
    long = [a for a in axes if shape[a] != 1]
    if long == sorted(long):
        return reshaped(r, x, kind.shape)
    eq = r.defined.get(x)
    if eq is None:
        return None
    if eq.op.__class__ is Transpose:
        return r.apply(Transpose(tuple([eq.op.axes[a] for a in axes])), eq.inputs, kind)
    if eq.op.__class__ is Broadcast and isinstance(eq.inputs[0], Literal):
        return r.spread(eq.inputs[0], kind.shape)
    return None


@rule("(A B)ᵀ = Bᵀ Aᵀ, where A or B is a transpose itself", Transpose, MatMul)
def transposed_product(r: Any, op: Transpose, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    factors = r.defined[x].inputs
    if op.axes != (1, 0) or not r.once(x) or any(a.type.ndim != 2 for a in factors):
        return None
    if not any(r.made_by(a, Transpose) for a in factors):
        return None
    a, b = (r.apply(Transpose((1, 0)), (f,)) for f in factors)
    return r.apply(MatMul(), (b, a), kind)


@rule("broadcast to the shape it has; broadcast twice", Broadcast, ANY)
def one_broadcast(r: Any, op: Broadcast, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    if x.type.shape == kind.shape:
        return x if not x.type.weak else None
    inner = loosened(r, x)
    return None if inner is x else r.apply(op, (inner,), kind)


def loosened(r: Any, x: Atom) -> Atom:
    """The value that x is a spread form of: without broadcasts, and without axes of size one put in front."""
    while True:
        eq = r.defined.get(x) if not isinstance(x, Literal) else None
        if eq is None:
            return x
        if eq.op.__class__ is Broadcast or (eq.op.__class__ is Reshape and _only_leads(eq.inputs[0], x)):
            x = eq.inputs[0]
        else:
            return x


def _only_leads(before: Atom, after: Atom) -> bool:
    """Whether a reshape did nothing but put axes of size one in front."""
    short, long = before.type.shape, after.type.shape
    extra = len(long) - len(short)
    return extra >= 0 and long[extra:] == short and all(n == 1 for n in long[:extra])


def _bare(r: Any, op: Op, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    """The operation on operands without their broadcasts, spread afterwards if it has to be."""
    bare = tuple([loosened(r, x) for x in inputs])
    if all(a is b for a, b in zip(bare, inputs, strict=True)):
        return None
    made = op.result_type(*[a.type for a in bare])
    if made.shape != kind.shape and made.size == kind.size:  # nothing is gained but an axis of size one moved
        return None
    return r.apply(op, bare, made)


bare_one = Rule("f(broadcast x) = broadcast f(x)", Pointwise, (Broadcast,), _bare)
bare_first = Rule("f(broadcast x, y): f broadcasts itself", (Pointwise), ((Broadcast, Reshape), ANY), _bare)
bare_second = Rule("f(x, broadcast y): f broadcasts itself", Pointwise, (ANY, (Broadcast, Reshape)), _bare)
bare_choices = [
    Rule("select broadcasts its operands itself", Select, tuple(tags), _bare)
    for tags in (((Broadcast, Reshape), ANY, ANY), (ANY, (Broadcast, Reshape), ANY), (ANY, ANY, (Broadcast, Reshape)))
]


@rule("convert to the dtype it has", Convert, ANY)
def one_convert(r: Any, op: Convert, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    if x.type.dtype == kind.dtype:
        return x
    eq = r.defined.get(x) if not isinstance(x, Literal) else None
    if eq is None:
        return None
    if eq.op.__class__ is Broadcast:  # fewer elements
        return r.spread(r.apply(op, eq.inputs), kind.shape)
    if eq.op.__class__ is Convert and eq.inputs[0].type.dtype == kind.dtype and _widens(kind.dtype, x.type.dtype):
        return eq.inputs[0]
    return None


def _widens(narrow: Any, wide: Any) -> bool:
    """Whether every number of one dtype is one of the other."""
    return (narrow.kind == wide.kind or narrow.kind == "b" or (narrow.kind, wide.kind) == ("f", "c")) and (
        narrow.itemsize <= wide.itemsize
    )


@rule("the real part of a real number", Real, ANY)
def real_of_real(r: Any, op: Real, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return inputs[0] if inputs[0].type.dtype == kind.dtype else None


@rule("the real part of a real number that was put among the complex", Real, Convert)
def real_of_complex(r: Any, op: Real, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    inner = r.defined[inputs[0]].inputs[0]
    return inner if inner.type.dtype == kind.dtype else None


@rule("pad by nothing", Pad, ANY)
def pad_nothing(r: Any, op: Pad, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return inputs[0] if inputs[0].type.shape == kind.shape else None


RULES: list[Rule] = [
    one_reshape,
    one_transpose,
    transposed_product,
    one_broadcast,
    bare_one,
    bare_first,
    bare_second,
    *bare_choices,
    one_convert,
    real_of_real,
    real_of_complex,
    pad_nothing,
]
