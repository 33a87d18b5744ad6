"""Store-to-load forwarding: a row that was written and is read again is the value that was written.

Loops fill arrays and read what they filled, y[t] = a * y[t-1] + x[t]. Recorded, each write makes a new array, and each
read takes a row of the newest one. Here the read becomes the value that was written, or the row of the array before all
writes; arrays that nobody reads any more are dead code. One step costs the same however many writes came before.

On the backward pass the cotangent ȳ goes through such a chain too: rows are set to zero, and parts are added to rows,
ȳ + scatter(part), which adds zero to all other rows: that is done to the row that is read, as x + 0.0 is x only for
x ≠ -0.0.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import field
from typing import Any

from adjoint.base.records import record
from adjoint.ops.arrays.index import ScatterSet, ScatterSum, Slice
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.pointwise import LinearUfunc
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll.moving_slices import Draft

MOST_EVENTS = 8  # writes and additions to one row that are looked at for one read

Row = tuple[int, ...]


@record(frozen=False)
class _Chain:
    """An array and what was written to its rows, version by version."""

    base: Var
    depth: int  # how many integers name a row
    version: int = 0
    # (version, whether it was added, value)
    events: dict[Row, list[tuple[int, bool, Atom | None]]] = field(default_factory=dict[Any, Any])
    added: list[int] = field(default_factory=list[int])  # versions that added zero to every other row

    @property
    def row_type(self) -> ArrayType:
        kind = self.base.type
        return ArrayType(kind.shape[self.depth :], kind.dtype)


def forward_rows(program: Program) -> Program:
    """The program with rows read from where they were written; the very same one when there is nothing to do."""
    if not any(eq.op.overwrites for eq in program.equations):
        return program
    return _Forwarding(program).program()


class _Forwarding:
    def __init__(self, program: Program) -> None:
        self.old = program
        self.chains: dict[Var, tuple[_Chain, int]] = {}  # the chain and version of an array
        self.instead: dict[Var, Atom] = {}
        self.sums: dict[Var, tuple[ScatterSum, tuple[Atom, ...]]] = {}  # scatter(parts), and the parts
        self.written: list[Equation] = []  # for the last read

    def program(self) -> Program:
        """The program written anew."""
        equations: list[Equation] = []
        instead = self.instead
        for eq in self.old.equations:
            for a in eq.inputs:
                if a.__class__ is Var and a in instead:
                    inputs = tuple([instead.get(a, a) if isinstance(a, Var) else a for a in eq.inputs])
                    eq = Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
                    break
            forward = FORWARDED.get(eq.op)
            z = forward(self, eq, eq.op) if forward is not None else None
            if z is not None:
                equations += self.written
                instead[eq.outputs[0]] = z
                continue
            equations.append(eq)
        if not self.instead:
            return self.old
        outputs = tuple([self.instead.get(a, a) if isinstance(a, Var) else a for a in self.old.outputs])
        return drop_dead_code(Program(self.old.inputs, tuple(equations), outputs, self.old.constants))

    def _advance(self, x: Var, z: Var, depth: int) -> _Chain:
        """The chain of z, which follows x: the one of x if x is its newest array."""
        chain, version = self.chains.get(x, (None, 0))
        if chain is None or chain.depth != depth or chain.version != version:
            chain = _Chain(x, depth)
        chain.version += 1
        self.chains[z] = (chain, chain.version)
        return chain

    def write(self, eq: Equation, op: ScatterSet) -> None:
        """x[row] = v."""
        x, v = eq.inputs[:2]
        row = _row(op.index, x.type)
        if row is not None and isinstance(x, Var):
            chain = self._advance(x, eq.outputs[0], len(row))
            chain.events.setdefault(row, []).append((chain.version, False, _fit(v, chain.row_type)))

    def scatter(self, eq: Equation, op: ScatterSum) -> None:
        """scatter(parts), which may be added to an array."""
        self.sums[eq.outputs[0]] = op, eq.inputs

    def add(self, eq: Equation, op: Op) -> None:
        """x + scatter(parts): parts added to rows of x."""
        if op is not add or not self.sums:
            return
        for x, other in (eq.inputs, eq.inputs[::-1]):
            scattered = self.sums.get(other) if isinstance(other, Var) else None
            if scattered is None or not isinstance(x, Var) or x not in self.chains or x.type != eq.outputs[0].type:
                continue
            scatter, parts = scattered
            rows = [_row(key, x.type) for key in scatter.keys]
            depth = self.chains[x][0].depth
            if scatter.shape != x.type.shape or len(parts) != len(rows):
                continue
            if any(row is None or len(row) != depth for row in rows) or len(set(rows)) < len(rows):
                continue
            chain = self._advance(x, eq.outputs[0], depth)
            chain.added.append(chain.version)
            for row, part in zip(rows, parts, strict=True):
                assert row is not None
                chain.events.setdefault(row, []).append((chain.version, True, _fit(part, chain.row_type)))
            return

    def read(self, eq: Equation, op: Slice) -> Atom | None:
        """What a slice reads, as the writes before it say."""
        (x,) = eq.inputs
        chain, version = self.chains.get(x, (None, 0)) if isinstance(x, Var) else (None, 0)
        if chain is None:
            return None
        draft = Draft(eq)
        self.written = draft.equations
        row = _row(("slice", op.items[: chain.depth]), x.type)
        if row is None or len(row) != chain.depth:
            return None
        events = chain.events.get(row, [])
        longer = len(events) > MOST_EVENTS
        events = [e for e in events[-MOST_EVENTS:] if e[0] <= version]
        if longer and all(added for _, added, _ in events):
            return None
        first = max([i for i, (_, added, _) in enumerate(events) if not added], default=-1)
        since = events[first][0] if first >= 0 else 0
        z: Atom | None = events[first][2] if first >= 0 else draft.write(Slice(row), chain.base)
        after = events[first + 1 :]
        if z is None or any(v is None for _, _, v in after):
            return None
        zero = Literal(z.type.dtype.type(0))
        until = after[0][0] if after else version + 1
        if _any_between(chain.added, since, until):
            z = draft.write(add, z, zero)
        for _, _, v in after:
            assert v is not None
            z = draft.write(add, z, draft.write(add, v, zero))
        rest = op.items[chain.depth :]
        if not rest:
            return z
        return None if isinstance(z, Literal) else draft.write(Slice(rest), z)


# (forwarding, equation, primitive) → what the equation reads, written otherwise, or None
FORWARDED: RuleTable[Callable[[_Forwarding, Equation, Any], Atom | None]] = RuleTable("store-to-load forwarding")
FORWARDED.update(
    {
        Slice: _Forwarding.read,
        ScatterSet: _Forwarding.write,
        ScatterSum: _Forwarding.scatter,
        LinearUfunc: _Forwarding.add,
    }
)


def _any_between(versions: list[int], since: int, until: int) -> bool:
    """Whether one of some rising versions lies between two."""
    return bisect_left(versions, until) > bisect_right(versions, since)


def _row(key: Any, kind: ArrayType) -> Row | None:
    """The row that a key names, by integers alone."""
    if key[0] != "slice" or not key[1] or not all(type(item) is int for item in key[1]):
        return None
    if len(key[1]) > kind.ndim or not all(isinstance(n, int) for n in kind.shape):
        return None
    return tuple([item + n if item < 0 else item for item, n in zip(key[1], kind.shape, strict=False)])


def _fit(v: Atom, kind: ArrayType) -> Atom | None:
    """A value as the row holds it; None where it is broadcast or converted."""
    if isinstance(v, Literal) and not kind.shape:
        return Literal(kind.dtype.type(v.value))
    return v if v.type == kind else None
