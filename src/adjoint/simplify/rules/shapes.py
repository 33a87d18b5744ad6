"""Reshape, transpose, broadcast, convert: chains of them become one, and those that do nothing go.

An operation element by element broadcasts its operands itself, so a broadcast before it is left out; where all operands
were spread alike, the operation is done before the spreading, on fewer elements.
"""

from __future__ import annotations

from typing import Any

from adjoint.ops.arrays.contract import MatMul
from adjoint.ops.arrays.rearrange import Broadcast, Convert, Pad, Real, Reshape, Transpose
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.ops.elementwise.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Atom, Literal
from adjoint.program.types import ArrayType, is_whole
from adjoint.simplify.rules.rule import ANY, Rule, rule

Shape = tuple[Any, ...]


def reshape(r: Any, x: Atom, shape: Shape) -> Atom:
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
        return reshape(r, eq.inputs[0], kind.shape)
    if eq.op.__class__ is Broadcast and isinstance(eq.inputs[0], Literal):
        return r.spread(eq.inputs[0], kind.shape)
    return None


@rule("transpose by the identity, twice, of a spread number, or of axes of size one only", Transpose, ANY)
def one_transpose(r: Any, op: Transpose, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    axes, shape = op.axes, x.type.shape
    long = [a for a in axes if shape[a] != 1]
    if axes == tuple(range(len(axes))):
        return x
    if long == sorted(long) and is_whole(kind):  # a size that is found later cannot be asked for
        return reshape(r, x, kind.shape)
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
    swap = _swap(kind.ndim)
    if kind.ndim < 2 or op.axes != swap or not r.once(x) or any(a.type.ndim != kind.ndim for a in factors):
        return None
    if not any(eq.op.axes == swap for a in factors if (eq := r.defined_by(a, Transpose)) is not None):
        return None
    a, b = (r.apply(Transpose(swap), (f,)) for f in factors)
    return r.apply(MatMul(), (b, a), kind)


def _swap(ndim: int) -> tuple[int, ...]:
    """The permutation that transposes every matrix of a stack."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


@rule("broadcast to the shape it has; broadcast twice", Broadcast, ANY)
def one_broadcast(r: Any, op: Broadcast, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    if x.type.shape == kind.shape:
        return x if not x.type.weak else None
    inner = loosen(r, x)
    return None if inner is x else r.apply(op, (inner,), kind)


def unspread(r: Any, x: Atom) -> Atom:
    """The value that x is a broadcast of."""
    eq = r.defined_by(x, Broadcast)
    return x if eq is None else eq.inputs[0]


def loosen(r: Any, x: Atom) -> Atom:
    """The value that x is a spread form of: without broadcasts, and without axes of size one put in front."""
    while True:
        eq = r.defined.get(x) if not isinstance(x, Literal) else None
        if eq is None:
            return x
        if eq.op.__class__ is Broadcast or (eq.op.__class__ is Reshape and _only_leads(eq.inputs[0], x)):
            x = eq.inputs[0]
        else:
            return x


def same_but_ones(before: Shape, after: Shape) -> list[int] | None:
    """For each long axis after a reshape the axis before it, where only axes of size one came or went; else None."""
    old = [a for a, n in enumerate(before) if n != 1]
    new = [a for a, n in enumerate(after) if n != 1]
    if [before[a] for a in old] != [after[a] for a in new]:
        return None
    old_of = dict(zip(new, old, strict=True))
    return [old_of.get(a, -1) for a in range(len(after))]


def _only_leads(before: Atom, after: Atom) -> bool:
    """Whether a reshape did nothing but put axes of size one in front."""
    short, long = before.type.shape, after.type.shape
    extra = len(long) - len(short)
    return extra >= 0 and long[extra:] == short and all(n == 1 for n in long[:extra])


def _bare(r: Any, op: Op, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    """The operation on operands without their broadcasts, spread afterwards if it has to be."""
    for strip in (loosen, unspread):
        bare = tuple([strip(r, x) for x in inputs])
        if all(a is b for a, b in zip(bare, inputs, strict=True)):
            return None
        result = op.result_type(*[a.type for a in bare])
        # to leave out an axis of size one, and have it put back, is no gain by itself
        if result.shape == kind.shape or any(a.type.size != x.type.size for a, x in zip(bare, inputs, strict=True)):
            return r.apply(op, bare, result)
    return None


def _sink(r: Any, op: Op, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    """The operation before the reshape, where all operands are numbers or were reshaped alike."""
    before: Shape | None = None
    operands: list[Atom] = []
    for x in inputs:
        if x.type.shape != ():
            eq = r.defined_by(x, Reshape)
            if eq is None or x.type.shape != kind.shape:
                return None
            x = eq.inputs[0]
            if before is not None and x.type.shape != before:
                return None
            before = x.type.shape
        operands.append(x)
    if before is None:
        return None
    return reshape(r, r.apply(op, tuple(operands), ArrayType(before, kind.dtype)), kind.shape)


sunk = [
    Rule("f(reshape x) = reshape f(x)", cls, tags, _sink)
    for cls, tags in (
        (Pointwise, (Reshape,)),
        (Pointwise, (Reshape, ANY)),
        (Pointwise, (ANY, Reshape)),
        (Select, (Reshape, ANY, ANY)),
        (Select, (ANY, Reshape, ANY)),
        (Select, (ANY, ANY, Reshape)),
        (Convert, (Reshape,)),
    )
]

bare_one = Rule("f(broadcast x) = broadcast f(x)", Pointwise, (Broadcast,), _bare)
bare_first = Rule("f(broadcast x, y): f broadcasts itself", Pointwise, ([Broadcast, Reshape], ANY), _bare)
bare_second = Rule("f(x, broadcast y): f broadcasts itself", Pointwise, (ANY, [Broadcast, Reshape]), _bare)
bare_choices = [
    Rule("select broadcasts its operands itself", Select, tuple(tags), _bare)
    for tags in (([Broadcast, Reshape], ANY, ANY), (ANY, [Broadcast, Reshape], ANY), (ANY, ANY, [Broadcast, Reshape]))
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
    *sunk,
    bare_one,
    bare_first,
    bare_second,
    *bare_choices,
    one_convert,
    real_of_real,
    real_of_complex,
    pad_nothing,
]
