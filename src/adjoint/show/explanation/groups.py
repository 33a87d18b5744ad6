"""Which operations belong together: calls of user functions, named scopes, iterations of Python's own loops.

Python does not say when a loop begins its next iteration. But an operation that stands earlier in the code than the one
before it, in the same call, can only have been reached by going round the innermost loop that holds both, or one
around it of which `Calls.rounds` tells that it went round.
"""

from __future__ import annotations

from typing import Any

from adjoint.base.source import Location
from adjoint.show.explanation.calls import Calls
from adjoint.show.explanation.model import Group
from adjoint.show.explanation.python_loops import Loop, loops_around

__all__ = ["Grouping"]


class _LoopPosition:
    """Where in its loops one call of a function is."""

    def __init__(self) -> None:
        self.open: list[tuple[Loop, int, int]] = []  # loop, how often it was entered, iteration
        self.lasti, self.request, self.rounds = -1, -1, ()
        self.entered = 0

    def move(self, location: Location, request: int, rounds: tuple[int, ...]) -> tuple[tuple[Loop, int, int], ...]:
        """The loops around an operation with the iteration of each, when the one before it is known."""
        around = loops_around(location)
        common = [entry for entry in self.open if entry[0] in around]
        back = location.lasti < self.lasti or (location.lasti == self.lasti and request != self.request)
        # A loop that holds another one with both operations went round: that one was left, and entered again.
        known = zip(rounds, self.rounds, common[:-1], strict=False)
        if (outer := next((k for k, (now, before, _) in enumerate(known) if now != before), -1)) >= 0:
            del common[outer + 1 :]
        if common and (back or outer >= 0):
            loop, entered, iteration = common[-1]
            common[-1] = (loop, entered, iteration + 1)
        for loop in around[len(common) :]:
            self.entered += 1
            common.append((loop, self.entered, 0))
        self.open, self.lasti, self.request, self.rounds = common, location.lasti, request, rounds
        return tuple(common)


class Grouping:
    """All groups of an explanation, made as operations come."""

    def __init__(self) -> None:
        self.whole = Group(0, "all", "", None)
        self.groups: list[Group] = [self.whole]
        self._known: dict[Any, Group] = {}
        self._positions: dict[Any, _LoopPosition] = {}
        self._scopes: tuple[tuple[str, ...], int] = ((), 0)

    def new(self, kind: str, name: str, parent: Group, location: Any = None) -> Group:
        group = Group(len(self.groups), kind, name, parent, location)
        self.groups.append(group)
        parent.parts.append(group)
        return group

    def innermost(self, base: Group, calls: Calls, scopes: tuple[str, ...], location: Location | str | None) -> Group:
        """The innermost group of an operation; groups that are new are made."""
        frames = calls.frames
        around = sum(g.kind == "scope" for g in base.path)  # a loop inside a scope: its operations carry that name too
        opened = _opened(scopes[around:], calls)
        group = base
        for depth, frame in enumerate(frames):
            if depth:  # the outermost call is the whole
                group = self._once(group, (id(frame),), "function", frame.name, frame.caller)
            inner = frames[depth + 1].caller if depth + 1 < len(frames) else location
            request = id(frames[depth + 1]) if depth + 1 < len(frames) else calls.request
            rounds = frames[depth + 1].rounds if depth + 1 < len(frames) else calls.rounds
            group = self._iteration_group(group, frame, inner, request, rounds)
            for name in opened[depth]:
                group = self._once(group, (name,), "scope", name, location, consecutive=True)
        if not frames:
            group = self._iteration_group(group, base, location, calls.request, calls.rounds)
            for name in scopes[around:]:
                group = self._once(group, (name,), "scope", name, location, consecutive=True)
        return group

    def _iteration_group(
        self, group: Group, frame: Any, location: Location | str | None, request: int, rounds: tuple[int, ...]
    ) -> Group:
        """The group of the iterations of Python loops that `location` stands in."""
        if not isinstance(location, Location):
            return group
        position = self._positions.setdefault(id(frame), _LoopPosition())
        for loop, entered, k in position.move(location, request, rounds):
            group = self._once(group, (id(frame), "loop", entered), "loop", loop.text, location)
            group = self._once(group, (id(frame), "iteration", entered, k), "iteration", f"iteration {k}", location)
        return group

    def _once(
        self, parent: Group, key: tuple[Any, ...], kind: str, name: str, location: Any, *, consecutive: bool = False
    ) -> Group:
        """The group with this key inside `parent`; with `consecutive`, a new one when others came between."""
        full = (parent.number, *key)
        known = self._known.get(full)
        if known is not None and not (consecutive and parent.parts[-1] is not known):
            return known
        created = self._known[full] = self.new(kind, name, parent, location)
        return created


def _opened(scopes: tuple[str, ...], calls: Calls) -> list[list[str]]:
    """For each call, the scopes opened in it: those whose name stands in its code."""
    opened: list[list[str]] = [[] for _ in calls.frames]
    depth = 0
    for name in scopes if opened else ():
        depth = next((d for d in range(depth, len(opened)) if name in calls.frames[d].words), depth)
        opened[depth].append(name)
    return opened
