"""Dependences through loops, branches and calls: the relation of one iteration, and how iterations add up.

One iteration of a loop relates its outputs to its inputs by boolean matrices L, the same in all of them. With C the
dependence of the carry, K of the constants and Xₜ of the scanned arrays,

    Cₜ₊₁ = L_cc Cₜ ∪ L_ck K ∪ L_cx Xₜ        Yₜ = L_yc Cₜ ∪ L_yk K ∪ L_yx Xₜ

All Cₜ follow by doubling, in log T products: C ← C ∪ (shift by p ⊗ L_ccᵖ) C for p = 1, 2, 4, … Where values matter (an
index that counts iterations, the pattern at one point) and the loop is short, it is unrolled instead.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.base.errors import AdjointError
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.custom import Attach
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from adjoint.sparse.relations import MOST, Dependence, concatenate, empty, identity, stacked, union, work
from adjoint.sparse.walking import CONTROL, RULES, Fact, Unanswered, Walk, mixed, walk_program

BUDGET = 6000  # so many primitives are looked at when a loop is unrolled


@CONTROL.rule(Call, Checkpoint)
def _whole(walk: Walk, op: Any, facts: Sequence[Fact], types: Sequence[ArrayType]) -> list[Fact]:
    """A program called as one primitive."""
    return walk_program(walk, op.program, facts)


@CONTROL.rule(Cond)
def _cond(walk: Walk, op: Cond, facts: Sequence[Fact], types: Sequence[ArrayType]) -> list[Fact]:
    """The branch that is taken if that is known, else all of them."""
    index, *operands = facts
    if index.value is not None:
        return walk_program(walk, op.branches[min(max(int(index.value), 0), len(op.branches) - 1)], operands)
    rows = [walk_program(walk, branch, operands) for branch in op.branches]
    return [
        Fact(t, None, union([f.reach for f in column], column[0].size))
        for t, column in zip(types, zip(*rows, strict=True), strict=True)
    ]


def _looks_at_values(program: Program) -> bool:
    """Whether known values would make the dependences fewer."""
    for eq in program.equations:
        if eq.op.parameters or type(eq.op) is Cond:  # indices, masks, branches
            return True
        if any(_looks_at_values(sub) for sub in eq.op.programs().values()):
            return True
    return False


def _is_unrolled(walk: Walk, facts: Sequence[Fact], program: Program, iterations: int) -> bool:
    """Whether to walk a loop iteration by iteration."""
    return iterations * len(program.equations) <= BUDGET and (walk.local or _looks_at_values(program))


class IterationRelation:
    """The relation of one iteration: matrices from the inputs of a program to its outputs."""

    def __init__(self, program: Program, facts: Sequence[Fact]) -> None:
        sizes = [f.size or 0 if f.type.differentiable else 0 for f in facts]
        if any(f.size is None for f in facts) or any(Fact(t, None, None).size is None for t in program.output_types):
            raise Unanswered
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        total = int(ends[-1])
        every = identity(total)
        own = [
            Fact(f.type, f.value, Dependence.of(every[a:b]) if b > a and f.reach is not None else None)
            for f, a, b in zip(facts, ends, ends[1:], strict=False)
        ]
        self.ends = ends
        self.matrices = [
            empty(f.size or 0, total) if f.reach is None else f.reach.matrix(f.size or 0)
            for f in walk_program(Walk(total), program, own)
        ]

    def block(self, outputs: slice, inputs: tuple[int, int]) -> Any:
        """The relation of some outputs to a range of inputs."""
        matrix = stacked([empty(0, int(self.ends[-1])), *self.matrices[outputs]]).tocsc()
        return matrix[:, self.ends[inputs[0]] : self.ends[inputs[1]]].tocsr()


@CONTROL.rule(Scan)
def _scan(walk: Walk, op: Scan, facts: Sequence[Fact], types: Sequence[ArrayType]) -> list[Fact]:
    a, b = op.constants, op.constants + op.carries
    length = op.length if op.length is not None else (facts[b].shape or (None,))[0]
    if length is None or any(f.shape is None for f in facts):
        return _all_mixed(facts, types)
    if length and _is_unrolled(walk, facts, op.body, length):
        return _unroll_scan(walk, op, facts, types, length)
    values = _evaluate(op, facts, len(types))
    if not any(f.reach is not None for f in facts) or length == 0:
        kept = [f.reach for f in facts[a:b]] if length == 0 else [None] * op.carries
        return [Fact(t, v, r) for t, v, r in zip(types, values, [*kept, *[None] * (len(types) - op.carries)],
                                                 strict=True)]  # fmt: skip
    try:
        reaches = _scan_by_doubling(walk, op, facts, types, length)
    except Unanswered:
        return _all_mixed(facts, types)
    return [Fact(t, v, r if t.differentiable else None) for t, v, r in zip(types, values, reaches, strict=True)]


def _evaluate(op: Any, facts: Sequence[Fact], count: int) -> Sequence[Any]:
    if any(f.value is None for f in facts):
        return [None] * count
    return op.evaluate(*[f.value for f in facts])


def _all_mixed(facts: Sequence[Fact], types: Sequence[ArrayType]) -> list[Fact]:
    results = [Fact(t, None, None) for t in types]
    return [
        f._replace(reach=r if f.type.differentiable else None)
        for f, r in zip(results, mixed(facts, results), strict=True)
    ]


def _one(fact: Fact, t: int) -> Fact:
    """Element t along the first axis."""
    shape: Any = fact.shape
    width = int(np.prod(shape[1:], dtype=np.int64))
    reach = None if fact.reach is None else fact.reach.taken(np.arange(t * width, (t + 1) * width))
    kind = ArrayType(tuple(shape[1:]), fact.type.dtype)
    return Fact(kind, None if fact.value is None else fact.value[t], reach)


def _pile_up(rows: Sequence[Fact], kind: ArrayType, inputs: int) -> Fact:
    """Values of all iterations, one upon the other."""
    value = None
    if rows and all(f.value is not None for f in rows):
        value = np.stack([f.value for f in rows])
    if all(f.reach is None for f in rows):
        return Fact(kind, value, None)
    if any(f.size is None for f in rows):
        return Fact(kind, value, union([None if f.reach is None else f.reach.together() for f in rows], None))
    reach = concatenate([f.reach for f in rows], [f.size or 0 for f in rows], inputs)
    return Fact(kind, value, reach)


def _unroll_scan(walk: Walk, op: Scan, facts: Sequence[Fact], types: Sequence[ArrayType], length: int) -> list[Fact]:
    a, b = op.constants, op.constants + op.carries
    carry = list(facts[a:b])
    rows: list[list[Fact]] = []
    for t in range(length - 1, -1, -1) if op.reverse else range(length):
        out = walk_program(walk, op.body, [*facts[:a], *carry, *[_one(f, t) for f in facts[b:]]])
        carry = out[: op.carries]
        rows.append(out[op.carries :])
    rows = rows[::-1] if op.reverse else rows
    ys = [_pile_up(list(column), t, walk.inputs) for column, t in zip(zip(*rows, strict=True), types[b - a :],
                                                                    strict=True)]  # fmt: skip
    return [*[Fact(t, f.value, f.reach) for t, f in zip(types, carry, strict=False)], *ys]


def _dependence(facts: Sequence[Fact], inputs: int) -> Any:
    """Of several values one after the other; of those that have derivatives."""
    moving = [f for f in facts if f.type.differentiable]
    if not moving:
        return empty(0, inputs)
    full = concatenate([f.reach for f in moving], [f.size or 0 for f in moving], inputs)
    if full.entries > MOST:
        raise Unanswered
    return full.matrix(full.rows)


def _body_facts(facts: Sequence[Fact], program: Program, a: int, b: int) -> list[Fact]:
    """The inputs of one iteration, any iteration: constants as they are, carries and elements of any value."""
    inner: list[Fact] = []
    probe = Dependence.of(empty(1, 1), uniform=True)  # says only that there may be a dependence
    for i, (f, t) in enumerate(zip(facts, program.input_types, strict=True)):
        inner.append(Fact(t, f.value if i < a else None, f.reach if i < a else probe if t.differentiable else None))
    return inner


def _scan_by_doubling(
    walk: Walk, op: Scan, facts: Sequence[Fact], types: Sequence[ArrayType], length: int
) -> list[Dependence | None]:
    from scipy.sparse import kron

    a, b, n = op.constants, op.constants + op.carries, len(facts)
    relation = IterationRelation(op.body, _body_facts(facts, op.body, a, b))
    c, y = slice(0, op.carries), slice(op.carries, len(types))
    constants = _dependence(facts[:a], walk.inputs)
    start = _dependence(facts[a:b], walk.inputs)
    xs = [f for f in facts[b:] if f.type.differentiable]
    widths = [(f.size or 0) // length for f in xs]
    every = _dependence(xs, walk.inputs)
    order = _in_iteration_order(widths, length, op.reverse)
    scanned = every[order] if len(order) else every
    keep = _carried_rows(op)
    l_cc, l_ck, l_cx = (relation.block(c, span)[keep] for span in ((a, b), (0, a), (b, n)))
    width = l_cc.shape[0]
    if (length + 1) * max(1, width) > MOST:
        raise Unanswered
    eye = identity(length)
    fixed = l_ck @ constants
    drive = kron(eye, l_cx, format="csr").astype(bool) @ scanned + kron(
        np.ones((length, 1), bool), fixed, format="csr"
    ).astype(bool)
    state = stacked([start, drive])
    power, p = l_cc, 1
    while p <= length and power.nnz:
        shift = _shift(length + 1, p)
        more = kron(shift, power, format="csr").astype(bool)
        if work(more, state) > MOST:
            raise Unanswered
        state = state + more @ state
        power, p = power @ power, 2 * p
    last, before = state[length * width :], state[: length * width]
    carries = _cut(last, facts[a:b])
    if y.start == y.stop:
        return carries
    l_yc, l_yk, l_yx = (relation.block(y, span) for span in ((a, b), (0, a), (b, n)))
    rows = (
        kron(eye, l_yc, format="csr").astype(bool) @ before
        + kron(eye, l_yx, format="csr").astype(bool) @ scanned
        + kron(np.ones((length, 1), bool), l_yk @ constants, format="csr").astype(bool)
    )
    sizes = [m.shape[0] for m in relation.matrices[y]]
    back = np.argsort(_in_iteration_order(sizes, length, op.reverse), kind="stable")
    laid = rows[back]
    ends = np.concatenate([[0], np.cumsum(sizes)]) * length
    return [*carries, *[Dependence.of(laid[i:j]) for i, j in pairwise(ends)]]


def _carried_rows(op: Scan) -> Any:
    """Of the rows of all carries those of carries that have derivatives."""
    active = [np.full(t.size, t.differentiable) for t in op.body.output_types[: op.carries]]
    return np.flatnonzero(np.concatenate(active)) if active else np.zeros(0, int)


def _in_iteration_order(widths: Sequence[int], length: int, reverse: bool) -> Any:
    """Rows of arrays that stand one after the other, in the order in which the iterations read them."""
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(int) * length
    iterations = range(length - 1, -1, -1) if reverse else range(length)
    base = np.concatenate([np.arange(w) for w in widths]) if widths else np.zeros(0, int)
    first = np.repeat(starts[:-1], widths)
    step = np.repeat(np.asarray(widths, int), widths)
    return (first + base + np.asarray(iterations, int)[:, None] * step).ravel().astype(int)


def _shift(n: int, p: int) -> Any:
    from scipy.sparse import eye_array

    return eye_array(n, n, k=-p, dtype=bool, format="csr")


def _cut(matrix: Any, facts: Sequence[Fact]) -> list[Dependence | None]:
    """The rows of each value that has derivatives."""
    rows: list[Dependence | None] = []
    start = 0
    for f in facts:
        if f.type.differentiable:
            rows.append(Dependence.of(matrix[start : start + (f.size or 0)]))
            start += f.size or 0
        else:
            rows.append(None)
    return rows


@CONTROL.rule(While)
def _while(walk: Walk, op: While, facts: Sequence[Fact], types: Sequence[ArrayType]) -> list[Fact]:
    """However many iterations: the least C with C ⊇ C₀ ∪ L_cc C ∪ L_ck K."""
    first, second = op.condition_constants, op.condition_constants + op.body_constants
    test, constants, carry = facts[:first], facts[first:second], facts[second:]
    if all(f.value is not None for f in facts):
        unrolled = _unroll_while(walk, op, test, constants, list(carry), types)
        if unrolled is not None:
            return unrolled
    if any(f.shape is None for f in facts):
        return _all_mixed(facts[op.condition_constants :], types)
    try:
        a, n = op.body_constants, op.body_constants + op.carries
        inner = [*constants, *carry]
        relation = IterationRelation(op.body, _body_facts(inner, op.body, a, n))
        fixed = _dependence(constants, walk.inputs)
        state = _dependence(carry, walk.inputs)
        shaped = Scan(op.body, a, op.carries, None)
        keep = _carried_rows(shaped)
        c = slice(0, op.carries)
        l_cc, l_ck = (relation.block(c, span)[keep] for span in ((a, n), (0, a)))
        state = state + l_ck @ fixed
        step = l_cc + identity(l_cc.shape[0])
        while True:
            if work(step, state) > MOST:
                raise Unanswered
            grown = step @ state
            if grown.nnz == state.nnz:
                break
            state, step = grown, step @ step
    except Unanswered:
        return _all_mixed(facts[op.condition_constants :], types)
    ends = _cut(state, carry)
    every = _all_mixed(facts[op.condition_constants :], types)
    return [Fact(t, None, r) for t, r in zip(types, ends, strict=False)] + every[op.carries :]


def _unroll_while(
    walk: Walk, op: While, test: Sequence[Fact], constants: Sequence[Fact], carry: list[Fact],
    types: Sequence[ArrayType],
) -> list[Fact] | None:  # fmt: skip
    """None when it takes too many iterations."""
    rows: list[list[Fact]] = []
    for _ in range(max(1, BUDGET // max(1, len(op.body.equations)))):
        going = walk_program(walk, op.condition, [*test, *carry])[0].value
        if going is None:
            return None
        if not bool(going):
            ys = [_pile_up([r[j] for r in rows], t, walk.inputs) for j, t in enumerate(types[op.carries :])]
            if not rows:
                ys = [Fact(t, np.zeros((0, *[n if isinstance(n, int) else 0 for n in t.shape[1:]]), t.dtype), None)
                      for t in types[op.carries :]]  # fmt: skip
            return [*carry, *ys]
        out = walk_program(walk, op.body, [*constants, *carry])
        carry = out[: op.carries]
        rows.append(out[op.carries :])
    return None


@RULES.rule(Attach)
def attached(walk: Walk, op: Attach, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Dependence | None]:
    """A user rule: what it does with tangents is a program of its own."""
    values, inputs = facts[: op.count], facts[op.count :]
    moving = [f for f in inputs if f.reach is not None]
    if not moving:
        return [f.reach for f in values]

    def push_tangents(*flat: Any) -> list[Any]:
        tangents = iter(flat[len(inputs) :])
        dxs = [None if f.reach is None else next(tangents) for f in inputs]
        dzs = op.rule.push(flat[: len(inputs)], dxs)
        return [np.zeros(f.shape or (), f.type.dtype) if d is None else d for f, d in zip(values, dzs, strict=True)]

    try:
        kinds = [*[ArrayType(f.shape or (), f.type.dtype) for f in (*inputs, *moving)]]
        program, captured = record_program(push_tangents, kinds)
    except AdjointError:
        raise Unanswered from None
    inner = [
        *[Fact(f.type, f.value, None) for f in inputs],
        *[Fact(f.type, None, f.reach) for f in moving],
        *[Fact(x.type, None, None) for x in captured],
    ]
    pushed = walk_program(walk, program, inner)
    return [union([f.reach, r.reach], f.size) for f, r in zip(values, pushed, strict=True)]
