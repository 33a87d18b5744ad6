"""If, the ternary, and, or, not, chained comparisons and assert of converted code.

With a plain truth value they are Python's own. With one that is not known both sides are traced as regions, and what
they leave in variables, cells and arrays is chosen by `Cond`. A side that raises becomes a check.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.base.errors import AdjointError, ControlFlowError
from adjoint.base.loading import deferred
from adjoint.conversion.catching import is_trying
from adjoint.conversion.joining import NoBlock, fit, join_types, strong, weak_type_of, weaken
from adjoint.conversion.log import Container
from adjoint.conversion.outgrowing import bound_of, is_int, set_bound
from adjoint.conversion.questions import as_truth, becomes_branch
from adjoint.conversion.regions import Region, Traced, keep_write, trace_region
from adjoint.conversion.remarks import first_sentence, remark
from adjoint.conversion.sharing import answer, declare, is_array, stays_python
from adjoint.conversion.values import (
    NOT_DEFINED,
    NUMBERS,
    UNDEFINED,
    Skeleton,
    put_together,
    same,
    take_apart,
    take_content,
)
from adjoint.numpy.inplace import roots, settle
from adjoint.ops.effects import Raise, has_effects
from adjoint.ops.elementwise.weak_types import strengthened
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of

if TYPE_CHECKING:
    from adjoint.ops.control.cond import Cond
else:  # most branches of Python's stay as they are
    Cond = deferred("adjoint.ops.control.cond", "Cond")

MOST_SELECTED = 12  # operations that are done on both sides of a choice between truth values
Block = Callable[..., tuple[Any, ...]]
Apart = tuple[Skeleton, list[Value]]


def choose_block(
    predicate: Any,
    then: Block,
    other: Block,
    state: tuple[Any, ...],
    names: Sequence[str],
    block_code: CodeType | None = None,
) -> Any:
    """if predicate: then(*state) else: other(*state); both return what the variables of these names are afterwards.

    `block_code` is code of the user's by which the branch is known: that of `then`, if it is not given.
    """
    block_code = block_code or then.__code__  # type: ignore[attr-defined]
    if stays_python(block_code) or not becomes_branch(predicate):
        return (then if answer(predicate, block_code) else other)(*state)
    try:
        with entering(block_code):
            return Branch(as_truth(predicate), then, other, state, names).result(block_code)
    except (NoBlock, ControlFlowError) as reason:
        remark(f"an if is a guard: {first_sentence(reason)}")
    return (then if predicate else other)(*state)


_entered: ContextVar[tuple[CodeType, ...]] = ContextVar("adjoint_entered_branches", default=())
_recursive: set[CodeType] = set()  # branches in which the function that they stand in is called again


@contextmanager
def entering(code: CodeType) -> Generator[None]:
    """A branch that is traced on both sides; one that stands in itself would be traced without end."""
    entered = _entered.get()
    if code in entered:
        _recursive.add(code)
    if code in _recursive:
        raise NoBlock("a function calls itself on one side of it")
    token = _entered.set((*entered, code))
    try:
        yield
    finally:
        _entered.reset(token)


class Side:
    """One side of a branch, traced: its results, and its program, which waits for the types to agree."""

    def __init__(self, block: Block, state: tuple[Any, ...], purpose: str) -> None:
        self.raises = False
        trace_region(purpose, [], lambda region, _: self._run(block, state), self._keep)

    def _run(self, block: Block, state: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return block(*state)
        except (AdjointError, NoBlock, RecursionError):
            raise
        except Exception as problem:  # of the user's: it belongs to this side
            if is_trying():
                raise NoBlock(f"a side raises {type(problem).__name__}, inside of try") from problem
            self.raises = True
            Raise.now(problem)
            return ()

    def _keep(self, traced: Traced) -> None:
        """Note the results; the record closes with every number that a variable holds among its outputs."""
        self.region, self.values = traced.region, list(traced.values)
        self.cells = {} if self.raises else traced.cells
        self.arrays = {} if self.raises else dict(traced.arrays)
        outputs: list[Value] = []
        for value in self.values:
            take_apart(value, outputs)
        for cell, _, after in self.cells.values():
            (_apart_content if _has_content(cell) else _apart)(after, outputs)
        outputs += [value for _, value in self.arrays.values()]
        self.outputs = [v for v in outputs if isinstance(v, Tracer)]
        self.types = {id(v): weak_type_of(v) for v in self.outputs}
        self.acts = any(eq.op.effect or has_inner_effects(eq.op) for eq in traced.region.equations)
        program, self.captured = traced.program(self.outputs)
        self.program = strengthened(program)


def has_inner_effects(op: Any) -> bool:
    """Whether a loop or branch inside prints, calls or raises."""
    return any(has_effects(program) for program in op.programs().values())


class Branch:
    """Both sides of a branch, joined."""

    def __init__(self, truth: Value, then: Block, other: Block, state: tuple[Any, ...], names: Sequence[str]) -> None:
        self.truth, self.names = truth, names
        self.sides = [Side(then, state, "a branch"), Side(other, state, "a branch")]
        self.blocks, self.state = (then, other), state
        self.columns: list[tuple[Any, Any]] = []  # numbers of both sides that Cond chooses between
        self.kinds: list[Any] = []

    def result(self, block_code: CodeType) -> tuple[Any, ...]:
        """What the variables are afterwards."""
        first, second = self.sides
        if first.raises and second.raises:
            raise NoBlock("both sides raise")
        pairs = [self._pair(number) for number in range(len(self.names))]
        makers = [self._join(a, b, name) for (a, b), name in zip(pairs, self.names, strict=True)]
        cells = {key: self._join_cell(key) for key in {**first.cells, **second.cells}}
        named = len(self.columns)  # the arrays behind keep their names
        arrays = {key: self._join_array(key) for key in {**first.arrays, **second.arrays}}
        chosen = self._choose()
        results = [(r, *self._origins(column)) for r, column in zip(chosen, self.columns[:named], strict=False)]
        declare(results, block_code, "an if")
        values = tuple(make(chosen) for make in makers)
        for cell, make in cells.values():
            keep_write(cell, make(chosen))
        for array, make in arrays.values():
            settle(array, make(chosen))
        return values

    def _origins(self, column: tuple[Value, Value]) -> tuple[set[Hashable], list[Value]]:
        """What a number that is chosen may be: arrays made on a side, by identity, and outer ones."""
        pairs = [(side.region, v) for side, v in zip(self.sides, column, strict=True) if is_array(v)]
        found = [(region, root) for region, v in pairs for root in roots(v)]
        outer = [root for region, root in found if not isinstance(root, Tracer) or root._trace is not region]
        return {id(root) for _, root in found}, outer

    def _pair(self, number: int) -> tuple[Apart, Apart]:
        """What both sides leave in a variable; a side that raises leaves what the other one does."""
        first, second = self.sides
        if first.raises or second.raises:
            value = _apart((second if first.raises else first).values[number])
            return value, value
        return _apart(first.values[number]), _apart(second.values[number])

    def _join_cell(self, key: Any) -> Any:
        first, second = self.sides
        cell, old, _ = first.cells.get(key) or second.cells.get(key)  # type: ignore[misc]
        after = [side.cells[key][2] if key in side.cells else old for side in self.sides]
        after = self._unless_raised(after)
        apart = _apart_content if _has_content(cell) else _apart
        return cell, self._join(apart(after[0]), apart(after[1]), cell.title)

    def _join_array(self, key: int) -> Any:
        first, second = self.sides
        array = (first.arrays.get(key) or second.arrays.get(key))[0]  # type: ignore[index]
        after = [side.arrays[key][1] if key in side.arrays else array for side in self.sides]
        after = self._unless_raised(after)
        return array, self._join(_apart(after[0]), _apart(after[1]), "an array")

    def _unless_raised(self, after: list[Any]) -> list[Any]:
        first, second = self.sides
        return [after[1]] * 2 if first.raises else [after[0]] * 2 if second.raises else after

    def _join(self, a: Apart, b: Apart, name: str) -> Any:
        """How a variable is put together behind the branch, from what Cond has chosen."""
        (left, xs), (right, ys) = a, b
        if left.kind == "undefined" and right.kind == "undefined":
            return lambda chosen: UNDEFINED
        if not left.agrees(right):
            return self._join_unsure(a, b, name)
        return self._numbers(self._joined(left, right, name), xs, ys, name)

    def _joined(self, left: Skeleton, right: Skeleton, name: str) -> Skeleton:
        """The skeleton behind the branch: an object stays itself, or each side has made its own."""
        if left.kind == "object":
            if left.owner is right.owner:
                return Skeleton("kept", left.owner, left.parts)
            made = [side.region.has_made(one.owner) for side, one in zip(self.sides, (left, right), strict=True)]
            if not all(made):
                raise NoBlock(f"{name} is another object on each side")
        parts = tuple(self._joined(x, y, name) for x, y in zip(left.parts, right.parts, strict=True))
        return Skeleton(left.kind, left.what, parts)

    def _join_unsure(self, a: Apart, b: Apart, name: str) -> Any:
        """A variable that is assigned on one side alone, or perhaps."""
        a, b = (_as_maybe(x, y) for x, y in ((a, b), (b, a)))
        if not a[0].agrees(b[0]):
            raise NoBlock(f"{name} is something else on each side")
        return self._numbers(a[0], a[1], b[1], name)

    def _numbers(self, skeleton: Skeleton, xs: list[Value], ys: list[Value], name: str) -> Any:
        parts = [self._number(x, y, name) for x, y in zip(xs, ys, strict=True)]
        return lambda chosen: put_together(skeleton, iter([part(chosen) for part in parts]))

    def _number(self, x: Value, y: Value, name: str) -> Callable[[list[Value]], Value]:
        raises = any(side.raises for side in self.sides)
        if (x is y and not (raises and self._is_inner(x))) or (type(x) in NUMBERS and same(x, y)):
            return lambda chosen: x
        if raises:
            zero = _zero(x)
            x, y = (zero, x) if self.sides[0].raises else (x, zero)
        known = next((i for i, (v, w) in enumerate(self.columns) if v is x and w is y and is_array(x)), None)
        if known is not None:  # another name of it, on both sides
            return lambda chosen: chosen[known]
        kind = join_types(self._type(x, 0), self._type(y, 1), name)
        number = len(self.columns)
        self.columns.append((x, y))
        self.kinds.append(kind)
        if not is_int(kind):
            return lambda chosen: weaken(chosen[number], kind)
        bound = max(bound_of(x), bound_of(y))
        return lambda chosen: set_bound(weaken(chosen[number], kind), bound)

    def _is_inner(self, value: Value) -> bool:
        return any(value is w for side in self.sides for w in side.outputs if isinstance(w._trace, Region))

    def _type(self, value: Value, side: int) -> Any:
        known = self.sides[side].types.get(id(value))
        return known if known is not None else weak_type_of(value) if isinstance(value, Tracer) else type_of(value)

    def _choose(self) -> list[Value]:
        """The numbers that differ, chosen by one Cond; its branches also have the effects."""
        if not self.columns and not any(side.acts for side in self.sides):
            return []
        captured = [c for side in self.sides for c in side.captured]
        inner = [
            {id(w) for w in side.outputs} for side in self.sides
        ]  # what one side gives, the other may find outside
        outer = [
            v for column in self.columns for v, own in zip(column, inner, strict=True)
            if isinstance(v, Tracer) and id(v) not in own
        ]  # fmt: skip
        operands = [*captured, *outer]
        programs: list[Program] = []
        begin = 0
        for number, side in enumerate(self.sides):
            programs.append(self._program(number, side, operands, begin, len(captured), outer))
            begin += len(side.captured)
        if self._is_cheap(programs):
            sides = [program(*operands) for program in programs]
            return [np.where(self.truth, a, b) for a, b in zip(*sides, strict=True)]
        index = np.where(self.truth, 0, 1)
        return list(Cond(tuple(programs))(index, *operands))

    def _is_cheap(self, programs: list[Program]) -> bool:
        """Whether both sides may run: a few operations on elements, and results without derivatives."""
        equations = [eq for program in programs for eq in program.equations]
        flat = all(kind.dtype.kind in "biu" for kind in self.kinds)
        return flat and len(equations) <= MOST_SELECTED and all(eq.op.is_elementwise for eq in equations)

    def _program(
        self, number: int, side: Side, operands: list[Tracer], begin: int, captured: int, outer: list[Tracer]
    ) -> Program:
        """One side with the operands of both, giving the columns in their joined types."""
        positions = {id(v): i for i, v in enumerate(side.outputs)}
        others = {id(v): captured + i for i, v in enumerate(outer)}
        own = range(begin, begin + len(side.captured))

        def run(*flat: Value) -> list[Value]:
            outputs = side.program(*[flat[i] for i in own])
            results: list[Value] = []
            for column, kind in zip(self.columns, self.kinds, strict=True):
                value = column[number]
                if id(value) in positions:
                    value = outputs[positions[id(value)]]
                elif id(value) in others:
                    value = flat[others[id(value)]]
                results.append(fit(value, kind))
            return results

        types = [strong(type_of(v)) for v in operands]
        return record_program(run, types)[0]


def _apart(value: Any, numbers: list[Value] | None = None) -> Apart:
    numbers = [] if numbers is None else numbers
    return take_apart(value, numbers), numbers


def _apart_content(value: Any, numbers: list[Value] | None = None) -> Apart:
    numbers = [] if numbers is None else numbers
    return take_content(value, numbers), numbers


def _has_content(cell: Any) -> bool:
    return isinstance(cell, Container) and type(cell.held) in (list, dict, deque)


def _as_maybe(mine: Apart, others: Apart) -> Apart:
    """A variable with the flag that says whether it is assigned; zeros of the other side's types where it is not."""
    skeleton, numbers = mine
    other, values = others
    if skeleton.kind == "maybe":
        return mine
    if skeleton.kind == "undefined":
        if other.kind == "maybe":
            return other, [False, *[type_of(v).zeros() for v in values[1:]]]
        zeros = [_zero(v) for v in values]
        return Skeleton("maybe", None, (Skeleton("number"), other)), [False, *zeros]
    return Skeleton("maybe", None, (Skeleton("number"), skeleton)), [True, *numbers]


def _zero(value: Value) -> Value:
    kind = weak_type_of(value)
    return {"i": 0, "f": 0.0, "c": 0j}[kind.dtype.kind] if kind.weak else strong(kind).zeros()


__all__ = ["NOT_DEFINED", "choose_block"]
