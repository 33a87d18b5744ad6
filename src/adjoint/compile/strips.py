"""Nests over the same first axis, some rows at a time: what one writes and the next reads stays in the cache.

A long pointwise program is several nests, since one has only so many results. Gone through one after the other, each
would write whole arrays and the next one read them. Where no row of a result needs another row of one before it, all
nests do some rows, a *strip*, before the next ones; a result that is read inside the strip alone has memory for a strip
and no more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.compile.graph import Node
from adjoint.compile.ir import Value
from adjoint.compile.nest import Nest
from adjoint.compile.nest_regions import ROWS, elements_of, nanoseconds_of
from adjoint.compile.plan import Fused, Plan, Single
from adjoint.compile.regions import cut_items, may_cut, pays, region
from adjoint.compile.symbolic_sizes import is_found_later
from adjoint.compile.views import strides_of
from adjoint.program.program import Var

if TYPE_CHECKING:
    from adjoint.compile.emit import Emitter

CACHE = 2**17  # bytes of a strip: what stays close to the processor
FAR = 2**20  # bytes: less than this stays in some cache anyway
MOST = 16 * ROWS  # rows of a strip


class Group(NamedTuple):
    """Steps that go strip by strip."""

    steps: list[Fused]
    inside: dict[Var, int]  # results that nothing else reads → the last step that does
    bytes: int  # of a row of these, at the same time

    @property
    def rows(self) -> int:
        """Of a strip: whole vectors."""
        return max(ROWS, min(MOST, CACHE // self.bytes // ROWS * ROWS))


def find_groups(plan: Plan, last: dict[Var, int], taken: Collection[Var], *, apart: bool) -> dict[int, Group]:
    """The groups of a plan by their first step.

    `last`: the last step that reads a variable; `taken`: what has memory already. Unless inputs and outputs stand
    `apart`, an output may be written over an input: then no step of a group reads other rows of an input.
    """
    groups: dict[int, Group] = {}
    first, steps, written = 0, list[Fused](), dict[Var, int]()

    def close() -> None:
        group = _group(steps, written, {v: at - first for v, at in last.items() if v in written}, taken)
        if group is not None:
            groups[first] = group

    for position, step in enumerate(plan.steps):
        if steps and not (
            _fits(steps[0], step) and _is_by_rows(step, written) and (apart or _may_write_over([*steps, step], taken))
        ):
            close()
            steps, written = [], {}
        if not steps and not _fits(step, step):
            continue
        if not steps:
            first = position
        assert isinstance(step, Fused)
        written.update((root.var, len(steps)) for root in step.roots)
        steps.append(step)
    close()
    return groups


def _may_write_over(steps: Sequence[Fused | Single], taken: Collection[Var]) -> bool:
    """Whether steps write no memory that was there before, or read what may stand there row by row alone."""
    results = [var for step in steps for var in step.outputs if var in taken]
    if not results:
        return True
    least = min(map(_size, results))
    given = dict.fromkeys([var for var in taken if _size(var) >= least], 0)
    return all(_is_by_rows(step, given) for step in steps)


def _size(var: Var) -> int:
    """Bytes."""
    return int(math.prod(var.type.shape)) * var.type.dtype.itemsize


def _group(steps: list[Fused], written: dict[Var, int], last: dict[Var, int], taken: Collection[Var]) -> Group | None:
    """Steps that may go strip by strip as a group; None where that gains nothing."""
    if len(steps) < 2:
        return None
    stored = {root.var for step in steps for root in step.roots if root.kind == "store"}
    inside = {v: last[v] for v, at in written.items() if v in stored and v not in taken and at < last[v] < len(steps)}
    if not bool(steps[0].domain[0] * sum(map(_row_bytes, inside)) > FAR):
        return None
    most = max(sum(_row_bytes(v) for v in inside if written[v] <= at <= inside[v]) for at in range(len(steps)))
    return Group(steps, inside, most)


def _fits(one: Fused | Single, other: Fused | Single) -> bool:
    """Whether two nests go through the same rows, all of them alike, and no row of a result is made of several."""
    if isinstance(one, Single) or isinstance(other, Single) or not one.domain or not other.domain:
        return False
    n, others = other.domain[0], other.domain[1:]
    if is_found_later(n) or any(type(m) is not int or m == 0 for m in others):
        return False
    if one.domain[0] != n or not bool(n > 2 * ROWS) or other.graph is None:
        return False
    if any(axis == 0 for axis, _ in other.graph.edges):
        return False
    return all(root.shape[0] == n and 0 not in root.axes for root in other.roots)


def _is_by_rows(step: Fused | Single, written: dict[Var, int]) -> bool:
    """Whether row i of the results needs no other row than the i-th of what the group wrote before."""
    assert isinstance(step, Fused)
    assert step.graph is not None
    return all(node.var not in written or _reads_own_row(node, step.graph.box) for node in step.graph.nodes)


def _reads_own_row(node: Node, box: Any) -> bool:
    if node.kind != "load":
        return node.kind != "gather"
    if not node.var.type.shape:
        return False
    row = strides_of(node.var.type.shape)[0]
    terms = dict(node.position.terms)
    if terms.pop(0, 0) != row or node.var.type.shape[0] != box[0][1]:
        return False
    ends = [node.position.offset, *[c * (box[axis][1] - 1) for axis, c in terms.items()]]
    return sum(min(end, 0) for end in ends) >= 0 and sum(max(end, 0) for end in ends) < row


def _row_bytes(var: Var) -> int:
    return math.prod(var.type.shape[1:]) * var.type.dtype.itemsize


def emit_group(emitter: Emitter, group: Group) -> None:
    """Write the nests of a group: as a region, if it is worth it."""
    f = emitter.f
    for var in group.inside:
        emitter.pointers[var] = Value("null", "ptr")  # until a strip has memory for it
    stages = [emitter.nests(step) for step in group.steps]
    items, every = group.steps[0].domain[0], [nest for nests in stages for nest in nests]

    def write(first: Value, last: Value) -> None:
        with f.loop(first, last, f.index(group.rows)) as start:
            stop = f.intrinsic("smin", f.add(start, f.index(group.rows)), last)
            buffers: dict[Var, Value] = {}
            for at, nests in enumerate(stages):
                for root in group.steps[at].roots:
                    if root.var in group.inside:
                        buffers[root.var] = _allocate(emitter, root.var, group.rows, start)
                for nest in nests:
                    _emit_rows(emitter, nest, int(items), start, stop)
                for var in [v for v in buffers if group.inside[v] == at]:
                    emitter.free(buffers.pop(var))

    nanoseconds, elements = sum(map(nanoseconds_of, every)), int(sum(map(elements_of, every)))
    if may_cut(emitter) and pays(2, nanoseconds, elements if type(items) is int else items):
        title = f"{len(stages)} nests of {int(items)} rows"
        with region(emitter, items, cut_items(emitter, items, nanoseconds, group.rows), title) as one:
            write(one.first, one.last)
    else:
        write(f.index(0), emitter.number(items))
    for var in group.inside:
        del emitter.pointers[var]


def _allocate(emitter: Emitter, var: Var, rows: int, start: Value) -> Value:
    """Memory for the rows of a strip. The variable begins where its first row would stand, were all of it there."""
    f, row = emitter.f, _row_bytes(var)
    buffer = emitter.allocate(rows * row)
    emitter.pointers[var] = f.element(buffer, f.mul(start, f.index(-row)), "i8")
    return buffer


def _emit_rows(emitter: Emitter, nest: Nest, items: int, start: Value, stop: Value) -> None:
    """Some rows of a nest, whose first axis may have been joined with those that follow."""
    f = emitter.f
    each = f.index(int(nest.graph.box[0][1]) // items)
    nest.spans[0] = (f.mul(start, each), f.mul(stop, each))
    for out in nest.outputs:
        out.base = emitter.pointer(out.root.var)
    nest.emit()
