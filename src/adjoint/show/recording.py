"""A function run once on its arguments, written down with the calls of the user's functions around every operation."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.base.source import Location, describe, here, is_library
from adjoint.ops.guards import content
from adjoint.program.freezing import without_draws
from adjoint.program.op import Op
from adjoint.program.program import Program
from adjoint.program.record import Record
from adjoint.program.trace import primal, running
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import plain_value, run
from adjoint.transform.drivers import checked_leaf
from adjoint.transform.states import Held

__all__ = ["Calls", "Frame", "Recorded", "recorded"]


@dataclass(frozen=True, eq=False)
class Frame:
    """One call of a user's function: two calls of the same function are two frames."""

    name: str
    caller: Location | None  # where it was called
    words: frozenset[str] = frozenset()  # the texts in its code: those of its scopes are among them


class Calls(NamedTuple):
    """Which calls of the user's functions were running, outermost first; and a number for what the innermost asked.

    One call of a NumPy function may become several equations: they have the same number.
    """

    frames: tuple[Frame, ...]
    request: int


@dataclass(frozen=True)
class Recorded:
    """The program, its arguments, and for each equation the calls that were running."""

    name: str
    program: Program
    values: tuple[Value, ...]
    names: tuple[str, ...]  # of the inputs, as the user calls them
    calls: tuple[Calls, ...]
    outputs: Any  # structure of the results
    asked: tuple[str, ...] = ()  # where Python asked for values on its way
    guards: tuple[tuple[Any, str, Any], ...] = ()  # what it asked: (variable of the program, question, answer)
    leaves: tuple[int, ...] = ()  # which leaves of the arguments the values are


class CallsRecord(Record):
    """A record that also notes which calls of the user's functions an operation stands in."""

    def __init__(self) -> None:
        super().__init__(concrete=True, purpose="an explained function", runs_again=False)
        self.calls: list[Calls] = []
        self.outside: FrameType | None = None  # the frame that asked for the explanation
        self._asked: FrameType | None = None  # the library's outermost frame above the user's
        self._requests = 0
        self._frames: dict[FrameType, tuple[Frame, ...]] = {}  # frames are held, so that their identity stays theirs

    def common(self, x: Any) -> Value:
        """The elements of a mask, on which a shape depends."""
        self.ask(x, "content", content)
        return x._value

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        z = super().apply(op, args)
        calls = self._running(sys._getframe(0))
        self.calls.extend([calls] * (len(self.equations) - len(self.calls)))
        return z

    def _running(self, frame: FrameType | None) -> Calls:
        asked: FrameType | None = None
        while frame is not None and is_library(frame.f_code.co_filename):
            asked, frame = frame, frame.f_back
        if asked is not self._asked:
            self._asked = asked
            self._requests += 1
        inner: list[FrameType] = []
        known: tuple[Frame, ...] = ()
        while frame is not None and frame is not self.outside:
            if frame in self._frames:
                known = self._frames[frame]
                break
            if not is_library(frame.f_code.co_filename):
                inner.append(frame)
            frame = frame.f_back
        for one in reversed(inner):
            words = frozenset(c for c in one.f_code.co_consts if isinstance(c, str))
            known = self._frames[one] = (*known, Frame(_function_name(one), _caller(one, self.outside), words))
        return Calls(known, self._requests)


def _function_name(frame: FrameType) -> str:
    return frame.f_code.co_qualname.rpartition("<locals>.")[2]


def _caller(frame: FrameType, outside: FrameType | None) -> Location | None:
    """Where in the user's code a frame was called from."""
    back = frame.f_back
    while back is not None and back is not outside and is_library(back.f_code.co_filename):
        back = back.f_back
    return None if back is None or back is outside else Location(back.f_code, back.f_lasti)


def recorded(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Recorded:
    """Run `function` on its arguments, and write down what it does for them.

    Whole numbers of Python's are variables too; where a function does not take them so (it may ask for the type `int`),
    they are left as they are.
    """
    if any(type(leaf) is int for leaf in tree.leaves((args, kwargs))):
        with contextlib.suppress(TypeError, ValueError):  # if they come again, they are the function's
            return _recorded(function, args, kwargs, is_number_or_array)
        return _recorded(function, args, kwargs, lambda leaf: type(leaf) is not int and is_number_or_array(leaf))
    return _recorded(function, args, kwargs, is_number_or_array)


def _recorded(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], varies: Callable[[Any], bool]
) -> Recorded:
    name = _title(function)
    leaves, structure = tree.flatten((args, kwargs))
    paths = structure.paths()
    moving = [i for i, leaf in enumerate(leaves) if varies(leaf)]
    given = [plain_value(leaves[i], f"explain: argument {paths[i]}") for i in moving]
    values = [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else primal(v) for v in given]
    held = Held("explain", (args, kwargs), structure)
    record = CallsRecord()
    record.outside = _asking()
    with without_draws(function, "an explained function"), running(record):
        record.started = here()
        inputs = [record.input(type_of(v), v) for v in values]

        def call() -> Any:
            full = list(leaves)
            for i, x in zip(moving, inputs, strict=True):
                full[i] = x.snapshot()  # an argument may be assigned to inside
            positional, named = tree.unflatten(structure, full)
            held.copies((positional, named))
            return function(*positional, **named)

        out, outputs = tree.flatten(run(record, call))
        program, _ = record.program(inputs, [checked_leaf(leaf) for leaf in out])
    names = _names(function, args, kwargs)
    return Recorded(
        name, program, tuple(values), tuple(names[i] for i in moving), tuple(record.calls), outputs,
        tuple(describe(g.location) for g in record.guards),
        tuple((g.atom, g.question, g.answer) for g in record.guards), tuple(moving),
    )  # fmt: skip


def _title(function: Callable[..., Any]) -> str:
    """What a function is called: f, or grad(f) for one that was made from f."""
    inner: Any = getattr(function, "function", None)
    made_by: Any = getattr(getattr(function, "_run", None), "__name__", "")
    if callable(inner) and made_by:
        return f"{made_by.strip('_')}({_title(inner)})"
    return getattr(function, "__name__", type(function).__name__)


def _asking() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_number_or_array(leaf: Any) -> bool:
    """Whether a leaf of the arguments is data, not an option."""
    return not isinstance(leaf, bool | str | bytes) and (
        isinstance(leaf, int | float | complex) or hasattr(leaf, "dtype") or hasattr(leaf, "__array__")
    )


def _names(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """A name for each leaf of (args, kwargs): `x`, `weights[0]`, `model.bias`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    starred = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    names: list[str] = []
    for i, a in enumerate(args):
        name = positional[i].name if i < len(positional) else f"{starred}[{i - len(positional)}]"
        names += tree.flatten(a)[1].paths(name)
    order = tree.flatten(kwargs)[1].paths()
    return names + [path.removeprefix("['").replace("']", "", 1) for path in order]
