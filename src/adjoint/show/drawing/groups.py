"""An explanation as frames within frames, each of a size that one can look at, and the arrows within each frame.

A frame is a group of the explanation, or a number of its neighboring parts: of a loop of a hundred iterations one
sees the first two, the last, and a frame for those between. An edge from u to v runs through several frames: in
each it is an arrow between two of its parts, or to a port, where it leaves or enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from adjoint.show.explanation.model import ExplanationModel, Group, Variable
from adjoint.show.explanation.notation import write_subscript
from adjoint.show.explanation.partials import Edge

__all__ = ["Frame", "Link", "nested"]

MOST_PARTS, FEW_ITERATIONS, CHUNKS = 48, 8, 12


@dataclass(eq=False)
class Link:
    """A piece of edges within one frame: it carries the variable u from a part to another.

    Parts are variables, frames, or ports: ("in", u) and ("out", u).
    """

    source: Variable | Frame | tuple[str, Variable]
    target: Variable | Frame | tuple[str, Variable]
    variable: Variable
    edge: Edge | None = None  # where it arrives at a variable
    is_active: bool = False


@dataclass(eq=False)
class Frame:
    """Variables and frames that are looked at together."""

    number: int
    kind: str  # as of groups, and "more" for neighboring parts
    title: str
    parent: Frame | None
    group: Group | None
    parts: list[Variable | Frame] = field(default_factory=list["Variable | Frame"])
    enters: dict[int, Variable] = field(default_factory=dict[int, Variable])
    leaves: dict[int, Variable] = field(default_factory=dict[int, Variable])
    links: dict[tuple[object, int, object], Link] = field(default_factory=dict[tuple[object, int, object], Link])
    also: list[int] = field(default_factory=list[int])  # groups inside that have no frame of their own

    @property
    def path(self) -> list[Frame]:
        """From the whole to this frame."""
        out: list[Frame] = []
        at: Frame | None = self
        while at is not None:
            out.append(at)
            at = at.parent
        return out[::-1]

    @cached_property
    def count(self) -> int:
        """How many variables stand inside."""
        return sum(p.count if isinstance(p, Frame) else 1 for p in self.parts)


def nested(model: ExplanationModel, edges: Sequence[Edge]) -> list[Frame]:
    """All frames in the order of their numbers; the first is the whole."""
    nest = _Nest(model)
    home = nest.home
    paths: dict[int, list[Frame]] = {}

    def path(frame: Frame) -> list[Frame]:
        if frame.number not in paths:
            paths[frame.number] = frame.path
        return paths[frame.number]

    for edge in edges:
        u, v = edge.source, edge.target
        _route(edge, [*path(home[u.number]), u], [*path(home[v.number]), v])
    return [nest.frames[number] for number in sorted(nest.frames)]


def _route(edge: Edge, out: list[Frame | Variable], into: list[Frame | Variable]) -> None:
    """Write an edge into all frames that it runs through: `out` and `into` lead from the whole to its ends."""
    u = edge.source
    common = 0
    while out[common] is into[common]:
        common += 1
    for depth in range(len(out) - 2, common - 1, -1):
        frame = out[depth]
        assert isinstance(frame, Frame)
        frame.leaves[u.number] = u
        _link(frame, out[depth + 1], ("out", u), edge)
    shared = out[common - 1]
    assert isinstance(shared, Frame)
    _link(shared, out[common], into[common], edge)
    for depth in range(common, len(into) - 1):
        frame = into[depth]
        assert isinstance(frame, Frame)
        frame.enters[u.number] = u
        _link(frame, ("in", u), into[depth + 1], edge)


def _link(
    frame: Frame, source: Variable | Frame | tuple[str, Variable], target: Variable | Frame | tuple[str, Variable],
    edge: Edge,
) -> None:  # fmt: skip
    arrives = target is edge.target
    key = (source[0] if isinstance(source, tuple) else id(source), edge.source.number,
           target[0] if isinstance(target, tuple) else id(target))  # fmt: skip
    known = frame.links.get(key)
    if known is None:
        known = frame.links[key] = Link(source, target, edge.source, edge if arrives else None)
    known.is_active = known.is_active or edge.is_active


class _Nest:
    """Makes frames out of groups."""

    def __init__(self, model: ExplanationModel) -> None:
        self.frames: dict[int, Frame] = {}
        self.home: dict[int, Frame] = {}
        self.count = len(model.groups)
        self.constants: dict[int, list[Variable]] = {}
        for c in model.constants:
            if c.uses:
                around = _around([event.group for event, _ in c.uses])
                self.constants.setdefault(around.number, []).append(c)
        whole = self.framed(model.whole, None)
        assert whole is not None
        whole.title = model.name
        self.split(whole)
        inputs: list[Variable | Frame] = [*model.inputs]
        for v in model.inputs:
            self.home[v.number] = whole
        whole.parts[:0] = inputs if len(inputs) <= MOST_PARTS // 2 else self.chunked(whole, inputs)

    def framed(self, group: Group, parent: Frame | None) -> Frame | None:
        """The frame of a group; None when there is nothing to see in it."""
        frame = Frame(group.number, group.kind, group.name, parent, group)
        frame.parts.extend(self.constants.get(group.number, ()))
        for part in group.parts:
            if isinstance(part, Group):
                inner = self.framed(part, frame)
                if inner is not None:
                    frame.parts.append(inner)
            else:
                frame.parts.extend(v for v in part.outputs if not v.hidden)
        if not frame.parts and parent is not None:
            return None
        if parent is not None and len(frame.parts) == 1:
            self.adopt(frame)
        self.frames[frame.number] = frame
        for part in frame.parts:
            if isinstance(part, Variable):
                self.home[part.number] = frame
        if parent is not None:
            self.split(frame)
        return frame

    def adopt(self, frame: Frame) -> None:
        """Take the place of the only part, when that is a frame: one border is enough for both."""
        (inner,) = frame.parts
        if not isinstance(inner, Frame) or inner.kind == "more":
            return
        del self.frames[inner.number]
        frame.parts, frame.also = inner.parts, [inner.number, *inner.also]
        if inner.title != frame.title:
            frame.title = f"{frame.title} › {inner.title}"
        for part in frame.parts:
            if isinstance(part, Frame):
                part.parent = frame

    def split(self, frame: Frame) -> None:
        """Put neighboring parts into frames of their own where there are many."""
        parts = frame.parts
        iterations = [k for k, p in enumerate(parts) if isinstance(p, Frame) and p.kind == "iteration"]
        if len(iterations) > FEW_ITERATIONS:
            first, last = iterations[2], iterations[-1]
            middle = self.more(frame, parts[first:last])
            frame.parts = parts = [*parts[:first], middle, *parts[last:]]
        if len(parts) > MOST_PARTS:
            frame.parts = self.chunked(frame, parts)

    def more(self, parent: Frame, parts: list[Variable | Frame]) -> Frame:
        """A frame for neighboring parts."""
        frame = Frame(self.count, "more", _extent(parts), parent, None)
        self.count += 1
        self.frames[frame.number] = frame
        frame.parts = self.chunked(frame, parts)
        for part in frame.parts:
            if isinstance(part, Frame):
                part.parent = frame
            else:
                self.home[part.number] = frame
        return frame

    def chunked(self, parent: Frame, parts: list[Variable | Frame]) -> list[Variable | Frame]:
        most = FEW_ITERATIONS if any(isinstance(p, Frame) for p in parts) else MOST_PARTS
        if len(parts) <= max(most, CHUNKS):
            return parts
        size = 10
        while size * CHUNKS < len(parts):
            size *= 10
        chunks = [parts[k : k + size] for k in range(0, len(parts), size)]
        return [self.more(parent, chunk) if len(chunk) > 1 else chunk[0] for chunk in chunks]


def _extent(parts: Sequence[Variable | Frame]) -> str:
    """From the first to the last."""
    first, last = parts[0], parts[-1]
    if isinstance(first, Frame) and isinstance(last, Frame):
        if first.kind == last.kind == "iteration":
            return f"iterations {first.title.removeprefix('iteration ')} … {last.title.removeprefix('iteration ')}"
        return f"{first.title} … {last.title}"
    names = [v for p in (first, last) if (v := _some(p, p is last)) is not None]
    return " … ".join(write_subscript(v.name) for v in names)


def _some(part: Variable | Frame, last: bool) -> Variable | None:
    while isinstance(part, Frame):
        part = part.parts[-1 if last else 0]
    return part


def _around(groups: Sequence[Group]) -> Group:
    """The innermost group that holds all of these."""
    path = _chain(groups[0])
    for group in groups[1:]:
        other = _chain(group)
        keep = 0
        while keep < min(len(path), len(other)) and path[keep] is other[keep]:
            keep += 1
        path = path[:keep]
    return path[-1]


def _chain(group: Group) -> list[Group]:
    out: list[Group] = []
    at: Group | None = group
    while at is not None:
        out.append(at)
        at = at.parent
    return out[::-1]
