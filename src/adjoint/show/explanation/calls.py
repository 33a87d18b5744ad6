"""Which user functions are running, and a record that notes it for every equation.

Python does not say when a loop begins its next iteration. For a loop around another one, with no operation between
them, the names that it alone binds tell: when one of them stands for something else, it went round.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

from adjoint.base.source import Location, is_library, user_frame
from adjoint.program.op import Op
from adjoint.program.record import Record
from adjoint.program.types import Value
from adjoint.show.explanation.python_loops import loops_around

__all__ = ["Calls", "CallsRecord", "Frame", "Stack"]

Stack = tuple[Location, ...]  # places in user functions that were running, outermost first


@dataclass(frozen=True, eq=False)
class Frame:
    """One call of a user function: two calls of the same function are two frames."""

    name: str
    caller: Location | None  # where it was called
    words: frozenset[str] = frozenset()  # the strings in its code: those of its scopes are among them
    rounds: tuple[int, ...] = ()  # of the caller, as those of Calls


class Calls(NamedTuple):
    """Which calls of user functions were running, outermost first, and what the innermost asked for.

    One call of a NumPy function may become several equations: they have the same number `request`. `rounds` counts for
    each loop around the innermost one how often it was seen to go round.
    """

    frames: tuple[Frame, ...]
    request: int
    location: Location | None = None
    rounds: tuple[int, ...] = ()

    @property
    def stack(self) -> Stack:
        """Where each of the calls was, outermost first."""
        locations = (*(frame.caller for frame in self.frames[1:]), self.location)
        return tuple(location for location in locations if location is not None)


class _Rounds:
    """How often the loops of one running function went round, as far as the names that they bind tell."""

    def __init__(self) -> None:
        self._seen: dict[str, Any] = {}
        self._counts: dict[Any, int] = {}

    def counted(self, frame: FrameType, location: Location) -> tuple[int, ...]:
        outer, names = loops_around(location)[:-1], frame.f_locals
        for loop in outer:
            for name in loop.names:
                now = names.get(name)
                if self._seen.get(name) is not now:
                    self._seen[name] = now
                    self._counts[loop] = self._counts.get(loop, 0) + 1
        return tuple(self._counts.get(loop, 0) for loop in outer)


class _CallStack:
    """The user's functions that are running, from the one that is looked at inwards."""

    def __init__(self) -> None:
        self.outside = user_frame(1)  # the frame that asked for it
        self._asked: FrameType | None = None  # the library's outermost frame above the user's
        self._requests = 0
        self._frames: dict[FrameType, tuple[Frame, ...]] = {}  # frames are held, so that their identity stays theirs
        self._rounds: dict[FrameType, _Rounds] = {}

    def __call__(self) -> Calls:
        frame: FrameType | None = sys._getframe(1)
        asked: FrameType | None = None
        while frame is not None and is_library(frame.f_code.co_filename):
            asked, frame = frame, frame.f_back
        if asked is not self._asked:
            self._asked = asked
            self._requests += 1
        innermost = None if frame is self.outside else frame
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
            name = one.f_code.co_qualname.rpartition("<locals>.")[2]
            words = frozenset(c for c in one.f_code.co_consts if isinstance(c, str))
            caller, rounds = self._locate(self._caller(one))
            known = self._frames[one] = (*known, Frame(name, caller, words, rounds))
        return Calls(known, self._requests, *self._locate(innermost))

    def _locate(self, frame: FrameType | None) -> tuple[Location | None, tuple[int, ...]]:
        """Where a running function is, and how often its loops went round."""
        if frame is None:
            return None, ()
        location = Location(frame.f_code, frame.f_lasti)
        if len(loops_around(location)) < 2:
            return location, ()
        return location, self._rounds.setdefault(frame, _Rounds()).counted(frame, location)

    def _caller(self, frame: FrameType) -> FrameType | None:
        """The user's function that a frame was called from."""
        back = frame.f_back
        while back is not None and back is not self.outside and is_library(back.f_code.co_filename):
            back = back.f_back
        return None if back is self.outside else back


class CallsRecord(Record):
    """A record that also notes which calls of user functions an operation stands in."""

    def __init__(self, purpose: str) -> None:
        super().__init__(concrete=True, purpose=purpose, runs_again=False)
        self.calls: list[Calls] = []
        self.running = _CallStack()

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        before = len(self.equations)
        z = super().apply(op, args)
        if (new := len(self.equations) - before) > 0:
            self.note(new)
        return z

    def note(self, new: int) -> None:
        """The last `new` equations came just now."""
        self.calls += [self.running()] * new
