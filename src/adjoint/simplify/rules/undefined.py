"""Arrays that are never looked at: views of them are such arrays again, and a choice with one takes the other side."""

from __future__ import annotations

from typing import Any

from adjoint.ops.arrays.index import Slice
from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose
from adjoint.ops.checkpointing.unwritten import Undefined
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import Atom, Literal
from adjoint.program.types import ArrayType, is_whole
from adjoint.simplify.rules.rule import ANY, Rule, rule


def _view(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    if not is_whole(kind):
        return None
    beside = r.defined[inputs[0]].inputs
    return r.apply(Undefined(kind.shape, kind.dtype), beside, kind)


VIEWS = [
    Rule("a view of what is never looked at", view, (Undefined,), _view)
    for view in (Broadcast, Reshape, Transpose, Slice)
]


@rule("a choice with what is never looked at: the other", Select, Undefined, ANY, ANY)
def second(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _in_shape(r, inputs[1], kind)


@rule("a choice with what is never looked at: the other", Select, ANY, Undefined, ANY)
def first(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _in_shape(r, inputs[0], kind)


def _in_shape(r: Any, x: Atom, kind: ArrayType) -> Atom | None:
    if x.type.dtype != kind.dtype or x.type.weak or isinstance(x, Literal) or not is_whole(kind):
        return None
    return x if x.type.shape == kind.shape else r.apply(Broadcast(kind.shape), (x,), kind)


RULES: list[Rule] = [*VIEWS, first, second]
