"""Loops that are traced once: the types of what they carry are found by tracing the body until they do not change.

What is carried: the numbers in the variables that the body writes, in the cells that it writes, and the arrays of outer
transformations that it writes to. Truth values and what is no number are taken to stay as they are, until the body says
otherwise. Python numbers stay weak: `h` in `x * h` gives way to the dtype of x in every iteration.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.base.errors import AdjointError, DtypeError, LeakError, TraceError
from adjoint.base.loading import deferred
from adjoint.conversion.carrying import Again, Carried, carried_cell
from adjoint.conversion.growing import Growing, forget_growing
from adjoint.conversion.iterables import Items, TracedRange
from adjoint.conversion.joining import NoBlock
from adjoint.conversion.lifting import refuse_or_lift
from adjoint.conversion.log import Cell
from adjoint.conversion.questions import as_truth
from adjoint.conversion.regions import Region, Traced, keep_write, trace_region
from adjoint.conversion.remarks import first_sentence
from adjoint.conversion.sharing import Origins, declare, handed_over, is_array, is_written_under_two_names
from adjoint.conversion.stacking import Stacked, forget_stacked
from adjoint.conversion.values import UNDEFINED, Maybe
from adjoint.conversion.writing import TWO_NAMES, Before, are_written, keep_arrays
from adjoint.numpy.inplace import roots, settle
from adjoint.ops.elementwise.weak_types import strengthened
from adjoint.program.program import Program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of

if TYPE_CHECKING:
    from adjoint.ops.control.scan import Scan
    from adjoint.ops.control.while_loop import While
else:  # most loops of Python's stay as they are
    Scan = deferred("adjoint.ops.control.scan", "Scan")
    While = deferred("adjoint.ops.control.while_loop", "While")

Block = Callable[..., tuple[Any, ...]]
MOST_ATTEMPTS = 12


class Rolled:
    """The state of a loop that is traced once.

    `grows`: lists may grow in it, by a known number of items. `sure`: at least one iteration runs.
    """

    def __init__(self, state: tuple[Any, ...], names: Sequence[str], *, sure: bool, grows: bool = False) -> None:
        self.grows, self.sure = grows, sure
        self.variables = [Carried(name, value) for name, value in zip(names, state, strict=True)]
        self.cells: dict[Any, tuple[Cell, Carried]] = {}
        self.arrays: dict[int, tuple[Tracer, Carried]] = {}
        self.befores: list[Before] = []
        self.origins: list[Origins] = []

    @property
    def carried(self) -> list[Carried]:
        """All that is carried, in order."""
        cells, arrays = ([c for _, c in kept.values()] for kept in (self.cells, self.arrays))
        return [*self.variables, *cells, *arrays, *self.befores]

    def types(self) -> list[ArrayType]:
        """The types of the carry."""
        return [t for one in self.carried for t in one.types()]

    def enter(self, region: Region, inputs: Sequence[Value]) -> tuple[Any, ...]:
        """The variables in an iteration; cells and arrays hold what they do then."""
        rest = iter(inputs)
        values = tuple(one.inside(rest) for one in self.variables)
        for cell, one in self.cells.values():
            keep_write(cell, one.inside(rest))
        for array, one in self.arrays.values():
            region.shade(array, one.inside(rest))
        for one in self.befores:
            one.inside(rest)
        return values

    def leave(self, traced: Traced) -> list[Value]:
        """The carry at the end of an iteration."""
        again = False
        out: list[Value] = []
        for key, (cell, old, _) in traced.cells.items():
            if key not in self.cells:
                self.cells[key], again = (cell, carried_cell(cell, old)), True
        for key, (array, _) in traced.arrays.items():
            if key not in self.arrays:
                self.arrays[key], again = (array, Carried("an array", array)), True
        if again:
            raise Again
        self._refuse_second_names()
        again = self.grows and self._begin_growing(traced)
        if again or self._begin_stacking(traced):
            raise Again
        self._find_remade(traced)
        pairs = [*zip(self.variables, traced.values, strict=True)]
        pairs += [(one, traced.cells[key][2]) for key, (_, one) in self.cells.items()]
        pairs += [(one, traced.arrays[key][1]) for key, (_, one) in self.arrays.items()]
        pairs += [(one, one.last()) for one in self.befores]
        for one, value in pairs:
            try:
                out += one.lasts(_as_sure(one, value))
            except Again:
                again = True
        named = [*self.variables, *[one for _, one in self.cells.values()]]
        slots = [s for one in named for s in one.slots if s.kind is not None]
        if again or keep_arrays(slots, traced.region, self.befores):
            raise Again
        if is_written_under_two_names(slots, [array for array, _ in self.arrays.values()], traced):
            raise NoBlock("an array has two names after an iteration, and is written to in the next one")
        growing = [one for _, one in self.cells.values() if isinstance(one, Growing)]
        appended = [number for one in growing for number in one.numbers]
        if are_written(appended, slots, [array for array, _ in self.arrays.values()], traced.region):
            raise NoBlock("a list grows by an array that is written to")
        rows = [row for one in growing for row in one.rows(self.carried)]
        self._note_origins()
        return [*out, *rows]

    def _refuse_second_names(self) -> None:
        """A variable that is one of the arrays written to sees what is written until it is assigned: not a carry."""
        written = {id(root) for array, _ in self.arrays.values() for root in roots(array)}
        firsts = [s.first for one in self.variables for s in one.slots if s.kind is not None and is_array(s.first)]
        if any(id(root) in written for first in firsts for root in roots(first)):
            raise NoBlock(TWO_NAMES)

    def _find_remade(self, traced: Traced) -> None:
        """The lists and dicts that the last iteration has made, and that have one name behind the loop."""
        held = [id(value) for value in traced.values]
        is_alone = self.sure and not any(isinstance(one, Growing) for _, one in self.cells.values())
        for one, value in zip(self.variables, traced.values, strict=True):
            is_new = type(value) in (list, dict) and traced.region.has_made(value)
            one.is_remade = is_alone and is_new and held.count(id(value)) == 1

    def _begin_growing(self, traced: Traced) -> bool:
        """Whether a list is found to grow: what is appended becomes a row of the loop's outputs."""
        found = False
        for key, (cell, one) in self.cells.items():
            if not isinstance(one, Growing) and (grown := Growing.of(cell, one, *traced.cells[key][1:])) is not None:
                self.cells[key], found = (cell, grown), True
        return found

    def _begin_stacking(self, traced: Traced) -> bool:
        """Whether a list of many numbers is written to: it is an array from now on."""
        found = False
        for key, (cell, one) in self.cells.items():
            if (stacked := Stacked.of(cell, one, *traced.cells[key][1:])) is not None:
                self.cells[key], found = (cell, stacked), True
        return found

    def take_rows(self, stacks: Sequence[Value], results: Sequence[Value]) -> None:
        """What was appended in all iterations."""
        rest = iter(stacks)
        slots = [s for one in self.carried for s in one.slots if s.kind is not None]
        lasts = dict(zip(map(id, slots), results, strict=True))
        for _, one in self.cells.values():
            if isinstance(one, Growing):
                one.take(rest, lasts)

    def _note_origins(self) -> None:
        """Which results may be one array: what an iteration leaves may be what another variable was before."""
        named = [*self.variables, *[c for _, c in self.cells.values()]]  # the arrays behind keep their names
        slots = [s for one in named for s in one.slots if s.kind is not None]
        self.origins = [Origins.of(slot, slots) for slot in slots]
        for _ in slots:
            for one in self.origins:
                for before in [self.origins[i] for i in one.before]:
                    one.keys |= {(key, True) for key, _ in before.keys}  # made in an iteration before
                    one.outer += [a for a in before.outer if not any(a is b for b in one.outer)]
        for slot in slots:
            slot.left = None

    def may_stay(self) -> None:
        """No iteration may run: then all variables are the very arrays that they were."""
        named = [*self.variables, *[c for _, c in self.cells.values()]]
        slots = [s for one in named for s in one.slots if s.kind is not None]
        for slot, one in zip(slots, self.origins, strict=True):
            if is_array(slot.first):
                one.outer += roots(slot.first)
                one.keys |= {(id(a), True) for a in one.outer}

    def finish(self, results: Sequence[Value], block_code: CodeType) -> tuple[Any, ...]:
        """What the variables are behind the loop; cells and arrays are written."""
        rest = iter(results)
        values = tuple(one.outside(rest) for one in self.variables)
        cells = [(cell, one.outside(rest)) for cell, one in self.cells.values()]
        arrays = [(array, one.outside(rest)) for array, one in self.arrays.values()]
        arrays += [(one.slot.first, one.outside(rest)[0]) for one in self.befores]
        for cell, value in cells:
            keep_write(cell, value)
        for array, value in arrays:
            if not isinstance(array, Tracer):
                refuse_or_lift(array, "An iteration")
            settle(array, value)
        declare([(r, one.keys, one.outer) for r, one in zip(results, self.origins, strict=False)], block_code, "a loop")
        return values


def _as_sure(one: Carried, value: Any) -> Any:
    """A variable that may not be assigned before the loop, as the body leaves it: assigned."""
    if one.skeleton.kind != "maybe" or isinstance(value, Maybe) or value is UNDEFINED:
        return value
    return Maybe(True, value)


def _settled(trace: Callable[[], Any]) -> Any:
    """Trace until the types do not change."""
    for _ in range(MOST_ATTEMPTS):
        try:
            return trace()
        except Again:
            continue
        except LeakError:
            raise
        except (TraceError, DtypeError, IndexError) as problem:  # its items may be plain where it is unrolled
            raise NoBlock(first_sentence(problem)) from problem
    raise NoBlock("the types of its variables do not settle")


def _traced_body(
    rolled: Rolled, kinds: list[ArrayType], run: Callable[..., tuple[Any, ...]]
) -> tuple[Program, list[Any]]:
    """The program of a body: the carry, then the rows of an iteration; and the outer values that it reads."""

    def enter(region: Region, inputs: list[Any]) -> tuple[Any, ...]:
        count = len(inputs) - len(kinds)
        rows = inputs[count:]
        state = [*rolled.enter(region, inputs[:count])]
        inputs.clear()
        try:
            return run(rows, state)
        except (AdjointError, NoBlock, Again, RecursionError):
            raise
        except Exception as problem:
            raise NoBlock(f"the body raises {type(problem).__name__} ({first_sentence(problem)})") from problem

    def finish(traced: Traced) -> tuple[Program, list[Any]]:
        program, captured = traced.program(rolled.leave(traced))
        return strengthened(program), captured

    try:
        return trace_region("the body of a loop", [*rolled.types(), *kinds], enter, finish)
    finally:
        forget_growing([cell.held for cell, _ in rolled.cells.values()])
        forget_stacked(rolled.carried)


def _captured_first(program: Program, own: int) -> Program:
    return Program(
        (*program.inputs[own:], *program.inputs[:own]), program.equations, program.outputs, program.constants
    )


def roll_while(
    test: Callable[..., Any],
    body: Block,
    state: tuple[Any, ...],
    names: Sequence[str],
    *,
    sure: bool,
    block_code: CodeType,
) -> tuple[Any, ...]:
    """A `While`; `sure` when at least one iteration runs."""
    rolled = Rolled(state, names, sure=sure)

    def trace() -> Any:
        made = _traced_body(rolled, [], lambda _, state: handed_over(body, state))
        return made, _traced_test(rolled, test)

    (step, captured), (condition, read) = _settled(trace)
    firsts = [v for one in rolled.carried for v in one.firsts()]
    own = len(firsts)
    loop = While(_captured_first(condition, own), _captured_first(step, own), len(read), len(captured))
    return _finished(rolled, loop(*read, *captured, *firsts), block_code, sure=sure)


def _finished(rolled: Rolled, results: Sequence[Value], block_code: CodeType, *, sure: bool) -> tuple[Any, ...]:
    """The variables; where an iteration surely runs, what every iteration assigns is assigned."""
    if not sure:
        rolled.may_stay()
    values = zip(rolled.variables, rolled.finish(results, block_code), strict=True)
    return tuple(v.value if sure and isinstance(v, Maybe) and one.is_set else v for one, v in values)


def _traced_test(rolled: Rolled, test: Callable[..., Any]) -> tuple[Program, list[Any]]:
    def enter(region: Region, inputs: list[Any]) -> tuple[Any, ...]:
        return (test(*rolled.enter(region, inputs)),)

    def finish(traced: Traced) -> tuple[Program, list[Any]]:
        changed = [c.title for key, (c, _, after) in traced.cells.items() if key not in rolled.cells]
        if changed:
            raise NoBlock(f"its test writes to {changed[0]}")
        (going,) = traced.values
        if not isinstance(going, Tracer) and going:
            raise NoBlock("its test does not ask for anything that the loop is known to change")
        truth = as_truth(going) if isinstance(going, Tracer) else np.bool_(bool(going))
        program, captured = traced.program([truth])
        return strengthened(program), captured

    try:
        return trace_region("the test of a loop", rolled.types(), enter, finish)
    finally:
        forget_stacked(rolled.carried)


def roll_counted(
    items: Items | TracedRange,
    begin: int,
    body: Block,
    state: tuple[Any, ...],
    names: Sequence[str],
    stops: Sequence[int],
) -> tuple[Any, ...]:
    """A `Scan` along the items; a `While` where a flag may end it, or the number of items is not known."""
    if isinstance(items, TracedRange):
        return _roll_range(items, body, state, names, stops)
    rolled = Rolled(state, names, grows=True, sure=items.length > begin)
    arrays = items.arrays(begin)
    kinds = [ArrayType(np.shape(a)[1:], type_of(a).dtype) for a in arrays]
    program, captured = _settled(
        lambda: _traced_body(rolled, kinds, lambda rows, state: handed_over(body, state, items.item(iter(rows))))
    )
    is_growing = any(isinstance(one, Growing) for _, one in rolled.cells.values())
    if any(_varies(rolled.variables[i]) for i in stops):
        if is_growing:
            raise NoBlock("a list grows in it, and it may end early")
        return _roll_breaking(items, arrays, body, state, names, stops)
    firsts = [v for one in rolled.carried for v in one.firsts()]
    own = len(firsts) + len(arrays)
    length = (items.length or 0) - begin
    scan = Scan(_captured_first(program, own), len(captured), len(firsts), length)
    results = scan(*captured, *firsts, *arrays)
    if is_growing:
        rolled.take_rows(results[len(firsts) :], results[: len(firsts)])
    return _finished(rolled, results[: len(firsts)], body.__code__, sure=length > 0)  # type: ignore[attr-defined]


def _varies(one: Carried) -> bool:
    return any(slot.kind is not None for slot in one.slots)


def _roll_breaking(
    items: Items, arrays: list[Value], body: Block, state: tuple[Any, ...], names: Sequence[str], stops: Sequence[int]
) -> tuple[Any, ...]:
    """The items by number, until a flag is set."""
    length, block_code = np.shape(arrays[0])[0], body.__code__  # type: ignore[attr-defined]
    held = [a if isinstance(a, Tracer) else np.asarray(a) for a in arrays]

    def step(number: Any, *given: Any) -> tuple[Any, ...]:
        rows, state = [_row(a, number) for a in held], [*given]
        del given
        return (number + 1, *handed_over(body, state, items.item(iter(rows))))

    def test(number: Any, *state: Any) -> Any:
        going = np.less(number, length)
        for i in stops:
            flag = state[i]
            going = np.logical_and(going, np.logical_not(as_truth(flag) if isinstance(flag, Tracer) else bool(flag)))
        return going

    return roll_while(test, step, (np.int64(0), *state), ("a counter", *names), sure=length > 0, block_code=block_code)[
        1:
    ]


def _row(array: Value, number: Any) -> Value:
    return np.take(array, number, axis=0) if isinstance(array, Tracer) else number._trace.constant(array)[number]


def _roll_range(
    items: TracedRange, body: Block, state: tuple[Any, ...], names: Sequence[str], stops: Sequence[int]
) -> tuple[Any, ...]:
    step, block_code = items.step, body.__code__  # type: ignore[attr-defined]
    if isinstance(step, Tracer):
        raise NoBlock("the step of a range is traced")

    def one(number: Any, *given: Any) -> tuple[Any, ...]:
        state = [*given]
        del given
        return (number + step, *handed_over(body, state, number))

    def test(number: Any, *state: Any) -> Any:
        going = np.less(number, items.stop) if step > 0 else np.greater(number, items.stop)
        for i in stops:
            flag = state[i]
            going = np.logical_and(going, np.logical_not(as_truth(flag) if isinstance(flag, Tracer) else bool(flag)))
        return going

    return roll_while(test, one, (items.start, *state), ("a counter", *names), sure=False, block_code=block_code)[1:]
