"""Loops of no iterations, and of one: their body stands in the program itself."""

from __future__ import annotations

from typing import Any

from adjoint.ops.control.scan import Scan
from adjoint.program.program import Atom, Equation
from adjoint.program.types import is_whole
from adjoint.simplify.rules.indexing import slice_items
from adjoint.simplify.rules.rule import Rule, rule
from adjoint.simplify.rules.shapes import reshape


@rule("a loop of no iterations gives its carry back; one of one iteration is its body", Scan)
def short_scan(r: Any, op: Scan, inputs: tuple[Atom, ...], eq: Equation) -> tuple[Atom, ...] | None:
    first = op.constants + op.carries
    length = op.length if op.length is not None else inputs[first].type.shape[0]
    carries = inputs[op.constants : first]
    if length == 0:
        return (*carries, *[r.literal(v.type.dtype.type(0)) for v in eq.outputs[op.carries :]])
    rows_known = all(map(is_whole, (*op.body.input_types, *op.body.output_types)))  # others are no arrays when compiled
    if length != 1 or not rows_known:
        return None
    rows = [slice_items(r, a, (0,)) for a in inputs[first:]]
    outputs = r.inline(op.body, (*inputs[:first], *rows))
    if outputs is None:
        return None
    types = op.body.output_types[op.carries :]
    ys = [reshape(r, y, (1, *t.shape)) for y, t in zip(outputs[op.carries :], types, strict=True)]
    return (*outputs[: op.carries], *ys)


RULES: list[Rule] = [short_scan]
