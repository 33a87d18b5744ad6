"""Parts of an output that are computed where they belong: a join of arrays need not copy those that stand alone.

A step that joins arrays into an output of the program is cut into boxes, one for each part. Where such a box only
copies a result that nothing else reads any more, the result gets the memory of its part, and nothing is left to copy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.compile.boxes import cut_graph
from adjoint.compile.graph import Box, Graph
from adjoint.compile.overwriting import lend_memory
from adjoint.compile.plan import Fused, draw_graph
from adjoint.compile.results import Root
from adjoint.compile.views import identity, linear, strides_of
from adjoint.program.program import Var

if TYPE_CHECKING:
    from adjoint.compile.emit import Emitter

LEAST = 2**10  # bytes: less is copied


class Part(NamedTuple):
    """A result, and where it stands in the output, in elements."""

    var: Var
    offset: int


def locate_parts(emitter: Emitter) -> dict[Var, set[Box]]:
    """Give results the memory of the parts of outputs that they become: the boxes of each output that are done then.

    Of the whole program alone: the outputs of a body may stand over its inputs, which are read until the end.
    """
    placed: dict[Var, set[Box]] = {}
    if not emitter.outermost:
        return placed
    plan = emitter.plan
    for step in plan.steps:
        if isinstance(step, Fused) and len(step.roots) == 1 and step.roots[0].var in emitter.pointers:
            (root,) = step.roots
            for box, part in _copies(emitter, step, root):
                address = emitter.offset(emitter.pointers[root.var], part.var.type.dtype, part.offset)
                emitter.pointers[part.var] = address
                emitter.lent.add(part.var)
                lend_memory(emitter, part.var)
                placed.setdefault(root.var, set()).add(box)
    return placed


def _copies(emitter: Emitter, step: Fused, root: Root) -> list[tuple[Box, Part]]:
    """The boxes of a step that copy a result which may be placed, each result once."""
    graph, plan = step.graph, emitter.plan
    whole = all(type(n) is int and n > 0 for n in root.shape)
    if graph is None or root.kind != "store" or not graph.edges or not whole:
        return []
    found: dict[Var, tuple[Box, Part]] = {}
    at = plan.step_of[root.var]
    for drawing in cut_graph(graph, step.roots, lambda box: draw_graph(plan.source(), step, box)):
        part = _copied(drawing, root)
        if part is None or part.var in found or part.var in emitter.pointers or part.var in plan.arguments:
            continue
        if emitter.last.get(part.var) == at and plan.step_of.get(part.var, at) < at:
            found[part.var] = (drawing.box, part)
    return list(found.values())


def _copied(graph: Graph, root: Root) -> Part | None:
    """The result that a box copies as a whole into neighboring elements; None where it does something else."""
    node = graph.node(root.value, identity(len(root.shape)))
    if node.kind != "load" or node.mask or node.type.dtype != root.var.type.dtype or len(graph.nodes) != 1:
        return None
    position = linear(identity(len(root.shape)), strides_of(root.shape))
    steps: dict[int, Any] = dict(node.position.terms)
    walked = {axis for axis, (low, high) in enumerate(graph.box) if high - low > 1}
    if any(steps.get(axis) != c for axis, c in position.terms if axis in walked) or not all(
        type(c) is int and c > 0 for c in steps.values()
    ):
        return None
    start = lambda index: index.offset + sum(c * graph.box[axis][0] for axis, c in index.terms)
    size = math.prod(high - low for low, high in graph.box)
    last = sum(c * (graph.box[axis][1] - graph.box[axis][0] - 1) for axis, c in steps.items())
    kind = node.var.type
    if start(node.position) != 0 or size != math.prod(kind.shape) or last != size - 1:
        return None
    return Part(node.var, start(position)) if size * kind.dtype.itemsize >= LEAST else None
