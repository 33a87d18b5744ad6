"""While and for of converted code.

While everything is plain they are Python's own. Where a program is written, a loop whose test is traced is a `While`; a
`for` of more than a few iterations that computes with traced values is a `Scan`, or a `While` where it may break. The
body is traced once. A loop whose variables change their shapes or structure stays unrolled, and the report says why.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from adjoint.conversion.advancing import is_alone
from adjoint.conversion.branches import choose_block
from adjoint.conversion.growing import NeedsItems
from adjoint.conversion.iterables import Items, Lazy, TracedRange, items_of
from adjoint.conversion.joining import NoBlock
from adjoint.conversion.lifting import StartOver
from adjoint.conversion.log import Log, logging
from adjoint.conversion.questions import becomes_loop, in_program, is_undecided, without_guards
from adjoint.conversion.regions import Region
from adjoint.conversion.remarks import remark
from adjoint.conversion.rolling import roll_counted, roll_while
from adjoint.conversion.sharing import answer, stays_python
from adjoint.conversion.truths import all_of, negate
from adjoint.ops.control.guards import Expect
from adjoint.program.freezing import Generators
from adjoint.program.journal import Journal, WrittenArrays, journal, note_array, noting_arrays
from adjoint.program.program import Program
from adjoint.program.record import Record
from adjoint.program.subprograms import all_equations
from adjoint.program.trace import Tracer, checkpoints, live_trace
from adjoint.transform.batch_branches import TooManyPaths

Block = Callable[..., tuple[Any, ...]]
MOST_GUARDED = 100  # iterations of a loop that is specialized on their number
SHORT = 8  # iterations that are written out unless they branch
MOST_UNROLLED = 160  # equations of all iterations up to which they are written out: simplification sees them all
_TWO_NAMES = "an array has two names behind it, and is written to"
_ADVANCES = "what was made outside moves on in it (an iterator, a generator, a file, Python's random numbers)"
_unrolled: dict[CodeType, str] = {}  # bodies that could not be kept, and why


def run_while(
    test: Callable[..., Any], body: Block, state: tuple[Any, ...], names: Sequence[str], stops: Sequence[int]
) -> tuple[Any, ...]:
    """while test(*state): state = body(*state); it also ends when one of the flags at `stops` is set."""

    def goes_on(*state: Any) -> Any:
        flags = [state[i] for i in stops]
        with without_guards():
            return all_of(*[lambda flag=flag: negate(flag) for flag in flags], lambda: test(*state))

    generators, going, written, count = Generators(body), goes_on(*state), 0, 0
    while not becomes_loop(going):
        if not going:
            return state
        if not in_program():
            state = body(*state)
            going = goes_on(*state)
            continue
        before, mark = state, Mark(generators)
        state = mark.run(body, state)
        following = mark.run(goes_on, state)
        written, count = written + mark.size, count + 1
        is_long = count > 2 and bool(mark.branches or written > MOST_UNROLLED)
        if (becomes_loop(following) or (is_long and following)) and mark.may_be_rolled(body):
            mark.undo()  # the loop is kept from this iteration on
            state = before
            break
        mark.keep()
        going = following
    try:
        if stays_python(body.__code__):  # type: ignore[attr-defined]
            raise NoBlock(_TWO_NAMES)
        return roll_while(goes_on, body, state, names, sure=not isinstance(going, Tracer), block_code=body.__code__)  # type: ignore[attr-defined]
    except NoBlock as reason:
        remark(f"a while is unrolled: {reason}")
        _unrolled.setdefault(body.__code__, str(reason))  # type: ignore[attr-defined]
    guards = 0
    while answer(going, body.__code__) if isinstance(going, Tracer) else going:  # type: ignore[attr-defined]
        guards += isinstance(going, Tracer)
        if guards > MOST_GUARDED:
            raise TooManyPaths(
                f"a while that cannot be part of the program ({_unrolled[body.__code__]}) runs more than "  # type: ignore[attr-defined]
                f"{MOST_GUARDED} iterations, each with a guard"
            )
        state = body(*state)
        going = goes_on(*state)
    return state


def is_kept(body: Block) -> bool:
    """Whether nothing is known that keeps a body from being traced once."""
    if stays_python(body.__code__):  # type: ignore[attr-defined]
        _unrolled.setdefault(body.__code__, _TWO_NAMES)  # type: ignore[attr-defined]
    return body.__code__ not in _unrolled  # type: ignore[attr-defined]


def count_equations(program: Program) -> int:
    """The equations of a program, and of those inside it."""
    return sum(1 for _ in all_equations(program))


class Mark:
    """Where a record stands before an iteration that may have to be undone."""

    def __init__(self, generators: Generators) -> None:
        trace = live_trace()
        assert trace is not None
        self.arrays = WrittenArrays(trace.level)
        self.take_back = checkpoints(trace)
        while trace is not None and not isinstance(trace, Record):
            trace = trace.outer
        assert trace is not None
        self.record = trace
        self.equations, self.log = len(trace.equations), Log(is_region=False)
        self.shadows = dict(trace.shadows) if isinstance(trace, Region) else None
        self.generators, self.draws = generators, Journal()
        generators.note()

    def run(self, body: Callable[..., Any], state: tuple[Any, ...]) -> Any:
        """One iteration, or the test behind it, noted."""
        with logging(self.log), noting_arrays(self.arrays), journal(self.draws):
            return body(*state)

    @property
    def size(self) -> int:
        """How many equations the iteration has written, those inside of loops and branches too."""
        return sum(
            1 + sum(count_equations(p) for p in eq.op.programs().values())
            for eq in self.record.equations[self.equations :]
        )

    @property
    def branches(self) -> bool:
        """Whether the iteration has written branches, loops, or guards: each other one would write its own."""
        added = self.record.equations[self.equations :]
        return any(eq.op.programs() or isinstance(eq.op, Expect) for eq in added)

    @property
    def traced(self) -> bool:
        """Whether the iteration has computed with traced values."""
        return len(self.record.equations) > self.equations

    def may_be_rolled(self, body: Block) -> bool:
        """Whether the iteration has computed with traced values, and it can be undone so that the loop is kept."""
        if self.log.has_moved:
            _unrolled.setdefault(body.__code__, _ADVANCES)  # type: ignore[attr-defined]
        return self.traced and is_kept(body)

    def undo(self) -> None:
        """As if it had not been."""
        self.log.restore()
        self.generators.restore()
        self.draws.restore(given_up=True)
        for array, held in self.arrays.take():
            array._adopt(held)
        if isinstance(self.record, Region) and self.shadows is not None:
            self.record.shadows = self.shadows
        self.record.truncate(self.equations)
        for take_back in self.take_back:
            take_back()

    def keep(self) -> None:
        """What was written is noted further out."""
        self.log.pass_on()
        for array, held in self.arrays.take():
            note_array(array, held)


def run_for(
    iterable: Any, body: Block, state: tuple[Any, ...], names: Sequence[str], stops: Sequence[int]
) -> tuple[Any, ...]:
    """for item in iterable: state = body(item, *state); it also ends when one of the flags at `stops` is set."""
    items = items_of(iterable) if in_program() else None
    if type(iterable) is Lazy and items is not None and not is_alone(sys.getrefcount(iterable), iterable):
        if stops:
            items = None  # how far it has come is seen later
        else:
            iterable.end()
    if items is None or not is_kept(body):
        if items is not None:
            remark(f"a for is unrolled: {_unrolled[body.__code__]}")  # type: ignore[attr-defined]
        sized = items is not None or hasattr(iterable, "__len__")
        return _unroll(iterable if items is None else items.plain(), body, state, names, stops, sized=sized)
    return _run_items(items, body, state, names, stops)


def _run_items(
    items: Items | TracedRange, body: Block, state: tuple[Any, ...], names: Sequence[str], stops: Sequence[int]
) -> tuple[Any, ...]:
    """Plain iterations as long as nothing traced is touched; then the rest at once."""
    begin = 0
    if items.length is not None:
        limit, generators = items.length, Generators(body)
        while begin < limit:
            if (stopped := _stopped(state, stops)) is not False:
                if isinstance(stopped, Tracer):
                    if limit - begin <= SHORT:
                        return _unroll(items.plain(begin), body, state, names, stops)
                    break
                return state
            before, mark = state, Mark(generators)
            item = items.at(begin)
            has_names = False
            try:
                state = mark.run(lambda *s: body(item, *s), state)  # noqa: B023 (it runs at once)
            except StartOver as again:  # the names of arrays before the loop are alive here, and no part of the body
                if again.key[0] != "block" or limit - begin <= SHORT:
                    raise
                has_names = True
            is_long = has_names or (limit - begin) * mark.size > MOST_UNROLLED
            is_long = is_long and (limit - begin > SHORT or (limit - begin > 2 and mark.branches))
            if is_long and mark.may_be_rolled(body):
                mark.undo()
                state = before
                break
            mark.keep()
            begin += 1
        else:
            return state
    try:
        while True:
            try:
                return roll_counted(items, begin, body, state, names, stops)
            except NeedsItems:
                if items.length is None or items.length - begin <= SHORT or _stopped(state, stops) is not False:
                    raise
            state = body(items.at(begin), *state)
            begin += 1
    except NoBlock as reason:
        remark(f"a for is unrolled: {reason}")
        _unrolled.setdefault(body.__code__, str(reason))  # type: ignore[attr-defined]
    # behind the handler: its traceback holds views that were made in the body
    return _unroll(items.plain(begin), body, state, names, stops)


def _stopped(state: tuple[Any, ...], stops: Sequence[int]) -> Any:
    """Whether a flag is set; one that is not known stays traced."""
    for i in stops:
        if isinstance(state[i], Tracer) and is_undecided(state[i]):
            return state[i]
        if state[i]:
            return True
    return False


def _unroll(
    iterable: Any,
    body: Block,
    state: tuple[Any, ...],
    names: Sequence[str],
    stops: Sequence[int],
    *,
    sized: bool = True,
) -> tuple[Any, ...]:
    """Iteration by iteration; behind a flag that is not known, each one is a branch.

    What may go on without end (a generator, not `sized`) is asked whether it ends.
    """
    nothing, items = object(), iter(iterable)
    while True:
        stopped = _stopped(state, stops)  # before the next item is taken
        if isinstance(stopped, Tracer) and not sized:
            stopped = bool(stopped)
        item = nothing if stopped is True else next(items, nothing)
        if item is nothing:
            return state
        if isinstance(stopped, Tracer):
            state = _masked(item, body, state, names, stops)
        else:
            state = body(item, *state)


def _masked(item: Any, body: Block, state: tuple[Any, ...], names: Sequence[str], stops: Sequence[int]) -> Any:
    going = all_of(*[lambda i=i: negate(state[i]) for i in stops])
    return choose_block(going, lambda *s: body(item, *s), lambda *s: s, state, names, body.__code__)  # type: ignore[attr-defined]
