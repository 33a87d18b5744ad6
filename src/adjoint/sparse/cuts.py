"""Where a program repeats its inputs, and where it sums its results: J = L K R, and K is sparser than J.

Many programs begin by moving numbers about (a gather of the parameters of each observation, the shifted copies of a
grid, a broadcast) and end by adding them up (the assembly of elements, the gradient of what was gathered). Cut there,

    x → R x, the *heads*;  heads → K, what is computed;  its *tails* → L, sums of them at known positions,

with R and L matrices of zeros and ones. A parameter that is read by thousands of observations is a full column of J,
but each of its copies has one row in K, so that a few products find all of K: in bundle adjustment one for each
residual of a point, whatever the numbers of cameras and points.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.ops.effects import has_effects
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.types import ArrayType
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.sparse.element_rules import numbered
from adjoint.sparse.recording import Recorded, sizes_of
from adjoint.sparse.sums import SUMS, Pairs, moved
from adjoint.sparse.walking import evaluated

MOST = 30_000_000  # numbers in the heads, or in the tails: beyond, the program is taken as it is
Slot = tuple[int, int]  # an argument of an equation, by their numbers; (-1, i) is the i-th tail


class Head(NamedTuple):
    """Elements of the inputs at a new position: a variable, broadcast to a shape."""

    position: Any  # of the variable, see `positions_in`
    type: ArrayType  # with the shape that the equation sees that reads it
    slots: tuple[Slot, ...]  # where it is read


class Cut(NamedTuple):
    """Where a program is cut: the same for all programs of the same equations, whatever the constants in them."""

    skeleton: tuple[Any, ...]
    heads: tuple[Head, ...]
    tails: tuple[Any, ...]  # the positions of the variables that are summed

    def parts(self, recorded: Recorded) -> Parts | None:
        """The three programs; None when this one is another than that which was cut."""
        position = positions_in(recorded)
        return None if skeleton(recorded, position) != self.skeleton else _split(self, recorded.program, position)


class Parts(NamedTuple):
    """A program in three."""

    heads: Program  # inputs → heads
    kernel: Program  # heads, inputs → tails; nothing of it depends on the selected inputs but by the heads
    rest: Program  # tails, inputs → outputs


class Found(NamedTuple):
    """A cut, and what it does to the numbers of one program."""

    cut: Cut
    parts: Parts
    columns: Any  # for each number of the heads which of the inputs it is, -1 for none
    rows: Pairs  # (e, r): number e of the tails, one variable after the other, is added to number r of the outputs


def positions_in(recorded: Recorded) -> dict[Var, Any]:
    """A name for each variable that does not depend on what else is an input, or a constant."""
    program = recorded.program
    position: dict[Var, Any] = {}
    chosen = [v for v, s in zip(program.inputs, recorded.selected, strict=True) if s]
    position.update({v: ("input", k) for k, v in enumerate(chosen)})
    for number, eq in enumerate(program.equations):
        position.update({v: (number, k) for k, v in enumerate(eq.outputs)})
    return position


def skeleton(recorded: Recorded, position: dict[Var, Any]) -> tuple[Any, ...]:
    """The equations without the values of constants."""
    atom: Callable[[Atom], Any] = lambda a: position.get(a) if isinstance(a, Var) else a.key()
    program = recorded.program
    equations = [(eq.op, *[atom(a) for a in eq.inputs], *[v.type for v in eq.outputs]) for eq in program.equations]
    return (*equations, tuple(atom(a) for a in program.outputs))


def find_cut(recorded: Recorded) -> Found | None:
    """Where to cut a program; None where it repeats nothing and sums nothing, or that is not known."""
    program = recorded.program
    if has_effects(program) or not all(is_static(t) and t.dtype.kind == "f" for t in _moving_types(recorded)):
        return None
    walk = _Heads(recorded)
    if not walk.walk():
        return None
    tails = _Tails(recorded, walk)
    rows = tails.walk()
    walk.end(tails.found)
    if rows is None or not walk.heads:
        return None
    position = positions_in(recorded)
    heads = tuple(Head(position[v], t, tuple(slots)) for v, t, slots, _ in walk.heads.values())
    cut = Cut(skeleton(recorded, position), heads, tuple(position[v] for v in tails.found))
    columns = np.concatenate([np.ravel(index) for *_, index in walk.heads.values()])
    here = columns[columns >= 0]
    repeats = here.size and np.bincount(here).max() > 1
    sums = rows[1].size and np.bincount(rows[1]).max() > 1
    return Found(cut, _split(cut, program, position), columns, rows) if repeats or sums else None


def is_static(kind: ArrayType) -> bool:
    """Whether its size is known."""
    return all(isinstance(n, int) for n in kind.shape)


def _moving_types(recorded: Recorded) -> list[ArrayType]:
    chosen = [t for t, s in zip(recorded.program.input_types, recorded.selected, strict=True) if s]
    return [*chosen, *recorded.program.output_types]


class _Heads:
    """The inputs followed as long as they are only moved."""

    def __init__(self, recorded: Recorded) -> None:
        program = self.program = recorded.program
        types = program.input_types
        sizes = [n if s else 0 for n, s in zip(sizes_of(types), recorded.selected, strict=True)]
        starts = np.cumsum([0, *sizes])
        # which input each element is, -1 for a constant; None: it is computed
        self.origin: dict[Var, Any] = {
            v: numbered(v.type.shape, int(starts[i])) for i, v in enumerate(program.inputs) if recorded.selected[i]
        }
        self.known: dict[Var, Any] = dict(program.constants)
        self.heads: dict[Any, tuple[Var, ArrayType, list[Slot], Any]] = {}
        self._held = 0

    def walk(self) -> bool:
        for number, eq in enumerate(self.program.equations):
            if not self._follow(eq):
                return False
            for k, a in enumerate(eq.inputs):
                if isinstance(a, Var) and not self._is_moved(eq) and self.origin.get(a) is not None:
                    self._read(a, (number, k), eq)
        return self._held <= MOST

    def end(self, tails: Iterable[Var]) -> None:
        """Heads that are tails themselves."""
        for k, v in enumerate(tails):
            if self.origin[v] is not None:
                self._read(v, (-1, k), None)

    def value(self, a: Atom) -> Any:
        """Of a variable that depends on no selected input, if it is known."""
        return self.known.get(a) if isinstance(a, Var) else a.value

    def depends(self, a: Atom) -> bool:
        return isinstance(a, Var) and a in self.origin

    def _is_moved(self, eq: Equation) -> bool:
        return any(self.origin.get(v) is not None for v in eq.outputs)

    def _follow(self, eq: Equation) -> bool:
        """What an equation does to the origins; False where a size is not known."""
        if not any(map(self.depends, eq.inputs)):
            values = [self.value(a) for a in eq.inputs]
            self.known.update(zip(eq.outputs, evaluated(eq.op, values, len(eq.outputs)), strict=True))
            return True
        self.origin.update(dict.fromkeys(eq.outputs))
        if not all(is_static(v.type) for v in eq.outputs):
            return False
        operands: list[Any] = [a for a in eq.inputs[: len(eq.inputs) - eq.op.parameters] if self.depends(a)]
        if eq.op.flat or not all(v.type.dtype.kind == "f" for v in eq.outputs):
            return all(v.type.dtype.kind != "c" for v in eq.outputs)
        if all(self.origin[a] is not None for a in operands):
            index = self._index(eq)
            if index is not None:
                self._held += np.size(index)
                self.origin[eq.outputs[0]] = index
        return True

    def _index(self, eq: Equation) -> Any:
        if not eq.op.is_selection or any(self.depends(a) for a in eq.inputs[len(eq.inputs) - eq.op.parameters :]):
            return None
        return moved(
            eq, [self.origin[a] if isinstance(a, Var) and a in self.origin else None for a in eq.inputs], self.value
        )

    def _read(self, a: Var, slot: Slot, eq: Equation | None) -> None:
        """A head is read; by what acts element by element, broadcast to what that returns."""
        index, kind = self.origin[a], a.type
        if eq is not None and eq.op.is_elementwise and eq.outputs[0].type.shape != kind.shape:
            kind = ArrayType(eq.outputs[0].type.shape, kind.dtype)
            index = np.broadcast_to(index, kind.shape)
        if not np.any(index >= 0):
            return
        key = (kind, index.tobytes())
        if key not in self.heads:
            self.heads[key] = (a, kind, [], index)
            self._held += index.size
        self.heads[key][2].append(slot)


class _Tails:
    """The outputs followed back as long as they are sums."""

    def __init__(self, recorded: Recorded, heads: _Heads) -> None:
        self.program, self._heads = recorded.program, heads
        self.found: dict[Var, Pairs] = {}
        self._pairs: dict[Var, list[Pairs]] = {}

    def walk(self) -> Pairs | None:
        start = 0
        for a, size in zip(self.program.outputs, sizes_of(self.program.output_types), strict=True):
            if isinstance(a, Var) and self._heads.depends(a):
                self._enter(a, (np.arange(size), np.arange(start, start + size)))
            start += size
        for eq in reversed(self.program.equations):
            if len(eq.outputs) != 1 or eq.outputs[0] not in self._pairs:
                for v in eq.outputs:
                    self._end(v)
            elif self._heads.origin[eq.outputs[0]] is not None or not self._spread(eq):
                self._end(eq.outputs[0])
        for v in self.program.inputs:
            self._end(v)
        starts = np.cumsum([0, *sizes_of([v.type for v in self.found])])
        elements = [e + s for (e, _), s in zip(self.found.values(), starts, strict=False)]
        rows = [r for _, r in self.found.values()]
        if not rows or sum(r.size for r in rows) > MOST:
            return None
        return np.concatenate(elements), np.concatenate(rows)

    def _enter(self, a: Var, pairs: Pairs) -> None:
        self._pairs.setdefault(a, []).append(pairs)

    def _end(self, v: Var) -> None:
        """What is not a sum is computed by the kernel."""
        if v in self._pairs:
            several = self._pairs.pop(v)
            self.found[v] = tuple(np.concatenate(part) for part in zip(*several, strict=True))  # type: ignore[assignment]

    def _spread(self, eq: Equation) -> bool:
        """Whether the pairs of a sum could be handed on to what is summed."""
        parts = self._sources(eq)
        if parts is None:
            return False
        elements, rows = (np.concatenate(part) for part in zip(*self._pairs.pop(eq.outputs[0]), strict=True))
        order = np.argsort(elements, kind="stable")
        ordered = elements[order]
        for a, part in zip(eq.inputs, parts, strict=True):
            if part is None or not self._heads.depends(a):
                continue
            source, result = part
            first, last = np.searchsorted(ordered, result), np.searchsorted(ordered, result, side="right")
            count = last - first
            if int(count.sum()) > MOST:
                self._enter(eq.outputs[0], (elements, rows))
                return False
            at = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
            self._enter(a, (np.repeat(source, count), rows[order][at]))  # type: ignore[arg-type]
        return True

    def _sources(self, eq: Equation) -> list[Pairs | None] | None:
        if any(a.type.dtype.kind != "f" for a in eq.inputs if self._heads.depends(a)):
            return None
        if (rule := SUMS.get(eq.op)) is not None:
            return rule(eq.op, eq, self._heads.value)
        count = eq.op.parameters
        if not eq.op.is_selection or any(map(self._heads.depends, eq.inputs[len(eq.inputs) - count :])):
            return None
        start, parts, sizes = 0, [], []
        for a in eq.inputs[: len(eq.inputs) - count]:
            sizes.append(start)
            parts.append(numbered(a.type.shape, start))
            start += parts[-1].size
        index = moved(eq, parts, self._heads.value)
        if index is None:
            return None
        index = np.ravel(index)
        found: list[Pairs | None] = []
        for part, first in zip(parts, sizes, strict=True):
            here = np.flatnonzero((index >= first) & (index < first + part.size))
            found.append((index[here] - first, here))
        return [*found, *[None] * count]


def _split(cut: Cut, program: Program, position: dict[Var, Any]) -> Parts:
    variable = {name: v for v, name in position.items()}
    fresh = [Var(head.type) for head in cut.heads]
    spread: list[Equation] = []
    outputs: list[Var] = []
    for head in cut.heads:
        v = variable[head.position]
        if v.type.shape != head.type.shape:
            wide = Var(head.type)
            spread.append(Equation(Broadcast(head.type.shape), (v,), (wide,)))
            v = wide
        outputs.append(v)
    tails = [variable[name] for name in cut.tails]
    at = {slot: v for head, v in zip(cut.heads, fresh, strict=True) for slot in head.slots}
    replaced = [
        eq if not any((n, k) in at for k in range(len(eq.inputs)))
        else Equation(eq.op, tuple(at.get((n, k), a) for k, a in enumerate(eq.inputs)), eq.outputs, eq.location,
                      eq.scope, eq.quiet, eq.pulled)
        for n, eq in enumerate(program.equations)
    ]  # fmt: skip
    ends = tuple(at.get((-1, k), v) for k, v in enumerate(tails))
    inputs = program.inputs
    again = [Var(v.type) for v in tails]
    renamed = dict(zip(tails, again, strict=True))
    behind = [
        Equation(eq.op, tuple(renamed.get(a, a) for a in eq.inputs), eq.outputs, eq.location, eq.scope, eq.quiet)  # type: ignore[arg-type]
        for eq in program.equations
    ]
    last = tuple(renamed.get(a, a) if isinstance(a, Var) else a for a in program.outputs)
    make = lambda i, e, o: drop_dead_code(Program(i, e, o, program.constants))
    return Parts(
        make(inputs, (*program.equations, *spread), tuple(outputs)),
        make((*fresh, *inputs), tuple(replaced), ends),
        make((*again, *inputs), tuple(behind), last),
    )
