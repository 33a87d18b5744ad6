"""Which operations belong together: calls of the user's functions, named scopes, turns of Python's own loops.

Python does not say when a loop begins its next turn. But an operation that stands earlier in the code than the one
before it, in the same call, can only have been reached by going round the innermost loop that holds both.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from dataclasses import dataclass
from types import CodeType
from typing import Any

from adjoint.base.source import Location, line
from adjoint.show.recording import Calls
from adjoint.show.story import Group

__all__ = ["Grouping"]


@dataclass(frozen=True)
class _Loop:
    """A `for` or `while` in the user's code."""

    first: int
    last: int
    text: str


class _Turns:
    """Where in its loops one call of a function is."""

    def __init__(self) -> None:
        self.open: list[tuple[_Loop, int, int]] = []  # loop, how often it was entered, turn
        self.lasti, self.request = -1, -1
        self.entered = 0

    def move(self, location: Location, request: int) -> tuple[tuple[_Loop, int, int], ...]:
        """The loops around an operation with the turn of each, when the one before it is known."""
        around = _around(location)
        if not around:
            self.open, self.lasti, self.request = [], location.lasti, request
            return ()
        common = [entry for entry in self.open if entry[0] in around]
        back = location.lasti < self.lasti or (location.lasti == self.lasti and request != self.request)
        if back and common:
            loop, entered, turn = common[-1]
            common[-1] = (loop, entered, turn + 1)
        for loop in around[len(common) :]:
            self.entered += 1
            common.append((loop, self.entered, 0))
        self.open, self.lasti, self.request = common, location.lasti, request
        return tuple(common)


class Grouping:
    """All groups of a story, made as operations come."""

    def __init__(self) -> None:
        self.whole = Group(0, "all", "", None)
        self.groups: list[Group] = [self.whole]
        self._known: dict[Any, Group] = {}
        self._turns: dict[Any, _Turns] = {}
        self._scopes: tuple[tuple[str, ...], int] = ((), 0)

    def new(self, kind: str, name: str, parent: Group, location: Any = None) -> Group:
        group = Group(len(self.groups), kind, name, parent, location)
        self.groups.append(group)
        parent.parts.append(group)
        return group

    def place(self, base: Group, calls: Calls, scopes: tuple[str, ...], location: Location | str | None) -> Group:
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
            group = self._turned(group, frame, inner, request)
            for name in opened[depth]:
                group = self._once(group, (name,), "scope", name, location, consecutive=True)
        if not frames:
            group = self._turned(group, base, location, calls.request)
            for name in scopes[around:]:
                group = self._once(group, (name,), "scope", name, location, consecutive=True)
        return group

    def _turned(self, group: Group, frame: Any, location: Location | str | None, request: int) -> Group:
        """The group of the turns of Python's loops that `location` stands in."""
        if not isinstance(location, Location):
            return group
        turns = self._turns.setdefault(id(frame), _Turns())
        for loop, entered, turn in turns.move(location, request):
            group = self._once(group, (id(frame), "loop", entered), "loop", loop.text, location)
            group = self._once(group, (id(frame), "turn", entered, turn), "turn", f"turn {turn}", location)
        return group

    def _once(
        self, parent: Group, key: tuple[Any, ...], kind: str, name: str, location: Any, *, consecutive: bool = False
    ) -> Group:
        """The group with this key inside `parent`; with `consecutive`, a new one when others came between."""
        full = (parent.number, *key)
        known = self._known.get(full)
        if known is not None and not (consecutive and parent.parts[-1] is not known):
            return known
        made = self._known[full] = self.new(kind, name, parent, location)
        return made


def _opened(scopes: tuple[str, ...], calls: Calls) -> list[list[str]]:
    """For each call, the scopes opened in it: those whose name stands in its code."""
    opened: list[list[str]] = [[] for _ in calls.frames]
    depth = 0
    for name in scopes if opened else ():
        depth = next((d for d in range(depth, len(opened)) if name in calls.frames[d].words), depth)
        opened[depth].append(name)
    return opened


# Code objects by identity: their own hashes go over all of their constants. They are held, so that identities stay.
_known: dict[tuple[int, int], tuple[CodeType, list[_Loop]]] = {}


def _around(location: Location) -> list[_Loop]:
    """The loops that a place in the code stands in, outermost first."""
    key = id(location.code), location.lasti
    found = _known.get(key)
    if found is None:
        if len(_known) > 50_000:
            _known.clear()
        number = line(location)
        loops = [loop for loop in _loops(location.code) if loop.first <= number <= loop.last]
        found = _known[key] = location.code, loops
    return found[1]


@functools.lru_cache(maxsize=256)
def _loops(code: CodeType) -> tuple[_Loop, ...]:
    """The loops in the code of a function, outermost first; () when its source is not to be had."""
    try:
        source, start = inspect.getsourcelines(code)
        parsed = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return ()
    first = 1 if code.co_name == "<module>" else max(start, 1)
    found: list[_Loop] = []
    for node in ast.walk(parsed):
        if isinstance(node, ast.For | ast.While):
            text = ast.unparse(node).split(":\n")[0]
            body_end = node.body[-1].end_lineno or node.lineno
            found.append(_Loop(first + node.lineno - 1, first + body_end - 1, text))
    return tuple(sorted(found, key=lambda loop: (loop.first, -loop.last)))
