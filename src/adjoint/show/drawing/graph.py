"""The computation graph as data: for each frame what stands where, so that a picture can open and close frames.

The data are plain (they go into JSON), and `scene.placed` turns them into coordinates for any set of open frames:

    mode, title, opened   the mode, the name, the numbers of the frames that are open at first
    variables[n]          name, kind ("input", "constant", "step", "literal"), w, h, and where there is something to
                          tell formula, label, value, tangent, adjoint, second; result (it is one), and still (it does
                          not depend on what is differentiated), when true
    groups[k]             id, kind, title, note, parent; also (groups of the model that have no frame beside this
                          one); w and h when closed; layout; and for this layout
      children            the numbers of what its children are
      carried             of each arrow the number of its variable
      labels, formulas    of arrows: what stands beside them, and what is too long for that (by index, if any)
      still               the indices of arrows along which no derivative flows
    layouts[j]            of frames that look alike:
      layers              how many
      items               [x, w, layer, space]: the middle, width and layer of each item, with the children as they are
                          at first, and the space that it keeps free; the first of them are the children
      kinds               of the children: "v" a variable, "g" a group, "i" and "o" the ports of a variable
      routes              of each arrow, its items, one in each layer
      at                  of each arrow, the item that its label stands on, or -1
      ends                of each arrow, how far from the middles of its boxes it starts and ends, when they are closed

An arrow of variable n to a child of kind "v" and number m is the edge n-m.
"""

# pyright: basic
from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from adjoint.show.drawing import scene
from adjoint.show.drawing.groups import Frame, Link, nested
from adjoint.show.drawing.labels import LINE, lines, measure_width, written
from adjoint.show.drawing.layout import Arrangement, Arrow, arrange_layers, item_widths, spread
from adjoint.show.explanation.model import ExplanationModel, Variable
from adjoint.show.explanation.partials import edges

__all__ = ["LABEL", "graph_data"]

SHOWN = 60  # boxes in the first picture
MANY = 10  # parts of the whole, from which on inputs stand near to where they are read
CABLE = 4  # lines from one frame to another, from which on they run together
LABEL = 11.0  # size of the letters of labels
GRAIN = 12.0  # widths of boxes are multiples of this: fewer different layouts, and room for other numbers


def graph_data(model: ExplanationModel, mode: str) -> dict[str, Any]:
    """Everything that is needed to draw the graph of an explanation."""
    literals = [
        Variable(len(model.variables) + k, f"y{k + 1}", "literal", out.value)
        for k, out in enumerate(model.outputs) if not isinstance(out, Variable)
    ]  # fmt: skip
    results = {v.number for v in (*model.outputs, *literals) if isinstance(v, Variable)}
    frames = nested(model, edges(model, mode))
    frames[0].parts.extend(literals)
    variables = {
        v.number: _box(v, mode, v.number in results)
        for frame in frames for v in frame.parts if isinstance(v, Variable)
    }  # fmt: skip
    return _Drawing(frames, variables).data(model.name, mode)


def _box(v: Variable, mode: str, result: bool) -> dict[str, Any]:
    read: dict[str, Any] = {"kind": v.kind, **written(v, mode)}
    on_it = lines(read)
    wide = max(line.width for line in on_it) + (34 if v.kind == "input" else 24)
    read |= {"w": _grain(wide), "h": LINE * len(on_it) + 12}
    return read | {key: True for key, holds in (("result", result), ("still", not v.is_active)) if holds}


def _grain(width: float) -> float:
    return GRAIN * -(-width // GRAIN)


def _note(frame: Frame) -> str:
    count = frame.count
    return f"{count} variable{'' if count == 1 else 's'}"


def _opened(frames: list[Frame]) -> set[int]:
    """Frames from the outside in, as long as not too much is to be seen; what was left out stays so."""
    whole = frames[0]
    opened, shown, queue = {0}, len(whole.parts), [whole]
    for frame in queue:
        for part in frame.parts:
            if isinstance(part, Frame) and part.kind != "more" and shown - 1 + len(part.parts) <= SHOWN:
                shown += len(part.parts) - 1
                opened.add(part.number)
                queue.append(part)
    return opened


class _Drawing:
    """Arranges frames from the outside in, then gives coordinates from the inside out."""

    def __init__(self, frames: list[Frame], variables: dict[int, dict[str, Any]]) -> None:
        self.frames, self.variables = frames, variables
        self.opened = _opened(frames)
        self.arrangements: dict[int, tuple[Arrangement, list[Any], list[Link]]] = {}
        self.groups: dict[int, dict[str, Any]] = {}
        self.open: dict[int, dict[str, Any]] = {}  # the insides of frames that are open at first
        self.layouts: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}

    def data(self, title: str, mode: str) -> dict[str, Any]:
        self.arrange(self.frames[0], [], [])
        self.frames[0].title = title
        self.finish(self.frames[0])
        return {
            "mode": mode, "title": title, "opened": sorted(self.opened), "variables": self.variables,
            "groups": {k: self.groups[k] for k in sorted(self.groups)}, "layouts": self.layouts,
        }  # fmt: skip

    def finish(self, frame: Frame) -> None:
        """Coordinates, from the inside out."""
        for part in frame.parts:
            if isinstance(part, Frame):
                self.finish(part)
        group = self.groups[frame.number] = self.group(frame)
        if frame.number in self.opened:
            whole = {"groups": self.groups, "variables": self.variables, "layouts": self.layouts}
            self.open[frame.number] = scene.inside(whole, group["id"], self.opened, self.open)

    def arrange(self, frame: Frame, enters: list[int], leaves: list[int]) -> None:
        """Layers and orders of a frame and of all in it; ports are in the order given."""
        entering, leaving = [frame.enters[n] for n in enters], [frame.leaves[n] for n in leaves]
        children: list[Any] = [*frame.parts, *[("in", v) for v in entering], *[("out", v) for v in leaving]]
        index = {_key(child): k for k, child in enumerate(children)}
        links = list(frame.links.values())
        trunks: dict[Any, int] = {}
        arrows: list[Arrow] = []
        between = Counter((id(link.source), id(link.target)) for link in links if _joins_frames(link))
        for link in links:
            labeled = link.edge is not None and bool(link.edge.label)
            pair = (id(link.source), id(link.target))
            lines = between[pair] if _joins_frames(link) else 1  # many lines from frame to frame run as one
            trunk = trunks.setdefault(link.variable.number if lines < CABLE else pair, len(trunks))
            arrows.append(Arrow(index[_key(link.source)], index[_key(link.target)], labeled, trunk))
        parts = len(frame.parts)
        float_inputs = parts > MANY
        floating = [k for k, p in enumerate(frame.parts)
                    if float_inputs or not (isinstance(p, Variable) and p.kind == "input")]  # fmt: skip
        ports = len(entering)
        arrangement = _arranged(
            len(children), tuple(arrows), tuple(range(parts, parts + ports)),
            tuple(range(parts + ports, len(children))), tuple(floating),
        )  # fmt: skip
        self.arrangements[frame.number] = arrangement, children, links
        position = {item: k for layer in arrangement.layers for k, item in enumerate(layer)}
        into: dict[int, dict[int, float]] = {}
        out: dict[int, dict[int, float]] = {}
        for link, route in zip(links, arrangement.routes, strict=True):
            n = link.variable.number
            if isinstance(link.target, Frame):
                into.setdefault(link.target.number, {})[n] = position[route[-2]]
            if isinstance(link.source, Frame):
                ends = out.setdefault(link.source.number, {})
                ends[n] = min(ends.get(n, float("inf")), position[route[1]])
        for part in frame.parts:
            if isinstance(part, Frame):
                left, right = into.get(part.number, {}), out.get(part.number, {})
                self.arrange(part, sorted(left, key=lambda n: (left[n], n)), sorted(right, key=lambda n: (right[n], n)))

    def width(self, child: Any) -> float:
        """The width of a child as it is at first."""
        if isinstance(child, Variable):
            return self.variables[child.number]["w"]
        if isinstance(child, Frame):
            inner = self.open.get(child.number)
            return self.groups[child.number]["w"] if inner is None else inner["w"]
        return 0.0

    def group(self, frame: Frame) -> dict[str, Any]:
        arrangement, children, links = self.arrangements[frame.number]
        labels = [link.edge.label if link.edge is not None else "" for link in links]
        sizes = tuple(_grain(measure_width(label, LABEL) + 8) if label else 0.0 for label in labels)
        widths = tuple(self.width(child) for child in children)
        ports = tuple(map(self.ports, links))
        kinds = "".join(map(_kind, children))
        key = (id(arrangement), widths, sizes, kinds, ports)
        if key not in self._known:
            self._known[key] = len(self.layouts)
            self.layouts.append(_layout(arrangement, widths, sizes, kinds, ports))
        title, note = frame.title or frame.kind, _note(frame)
        out: dict[str, Any] = {
            "id": frame.number, "kind": frame.kind, "title": title, "note": note,
            "parent": None if frame.parent is None else frame.parent.number,
            "w": _grain(max(measure_width(title) + 14, measure_width(note, LABEL)) + 28), "h": 2 * LINE + 14,
            "layout": self._known[key], "children": [_number(child) for child in children],
            "carried": [link.variable.number for link in links],
        }  # fmt: skip
        long = {k: link.edge.formula for k, link in enumerate(links) if link.edge is not None and not labels[k]}
        sparse = {
            "labels": {k: label for k, label in enumerate(labels) if label},
            "formulas": {k: formula for k, formula in long.items() if formula},
            "still": [k for k, link in enumerate(links) if not link.is_active], "also": frame.also,
        }  # fmt: skip
        return out | {key: value for key, value in sparse.items() if value}

    def ports(self, link: Link) -> tuple[float, float]:
        """How far from the middle of an open frame an arrow leaves it, and enters one; 0 at other ends.

        At the end of a path from frame to frame a line may bend: it is the frames that shall stand below one another.
        """
        start = self.port(link.source, "out", link)
        return start, start if _joins_frames(link) else self.port(link.target, "in", link)

    def port(self, end: Any, side: str, link: Link) -> float:
        inner = self.open.get(end.number) if isinstance(end, Frame) else None
        return 0.0 if inner is None else round(inner["ports"][side][link.variable.number] - inner["w"] / 2, 1)


def _layout(
    arrangement: Arrangement, widths: tuple[float, ...], labels: tuple[float, ...], kinds: str,
    ports: tuple[tuple[float, float], ...],
) -> dict[str, Any]:  # fmt: skip
    closed = _ends(arrangement, kinds, widths)
    x = spread(arrangement, widths, labels, ports)
    width, space = item_widths(arrangement, widths, labels)
    label_items = [arrangement.label(k) for k in range(len(arrangement.arrows))]
    return {
        "layers": len(arrangement.layers), "kinds": kinds, "routes": arrangement.routes,
        "items": [[round(a, 1), w, layer, s]
                  for a, w, layer, s in zip(x, width, arrangement.layer, space, strict=True)],
        "at": [-1 if item is None else item for item in label_items], "ends": closed,
    }  # fmt: skip


_arranged = functools.lru_cache(maxsize=256)(
    lambda boxes, arrows, first, last, floating: arrange_layers(
        boxes, arrows, first=first, last=last, floating=floating
    )
)


def _joins_frames(link: Link) -> bool:
    return isinstance(link.source, Frame) and isinstance(link.target, Frame)


def _key(child: Any) -> Any:
    return (child[0], child[1].number) if isinstance(child, tuple) else id(child)


def _kind(child: Any) -> str:
    return child[0][0] if isinstance(child, tuple) else "v" if isinstance(child, Variable) else "g"


def _number(child: Any) -> int:
    return child[1].number if isinstance(child, tuple) else child.number


def _ends(arrangement: Arrangement, kinds: str, widths: tuple[float, ...]) -> list[tuple[float, float]]:
    """Where arrows touch their boxes, from the middle: those that arrive stand apart, in the order of their origins."""
    position = {item: k for layer in arrangement.layers for k, item in enumerate(layer)}
    starts, ends = [0.0] * len(arrangement.arrows), [0.0] * len(arrangement.arrows)
    arriving: dict[int, dict[Any, list[int]]] = {}
    leaving: dict[int, dict[Any, list[int]]] = {}
    for k, (arrow, route) in enumerate(zip(arrangement.arrows, arrangement.routes, strict=True)):
        if kinds[route[-1]] in "vg":
            arriving.setdefault(route[-1], {}).setdefault((route[-2], arrow.trunk), []).append(k)
        if kinds[route[0]] == "g":
            leaving.setdefault(route[0], {}).setdefault(arrow.trunk, []).append(k)
    for ends_of_boxes, near, offsets in ((arriving, -2, ends), (leaving, 1, starts)):
        for box, together in ends_of_boxes.items():
            bundles = sorted(together.values(), key=lambda ks: min(position[arrangement.routes[k][near]] for k in ks))
            for bundle, offset in zip(bundles, _offsets(len(bundles), widths[box]), strict=True):
                for k in bundle:
                    offsets[k] = offset
    return list(zip(starts, ends, strict=True))


def _offsets(count: int, width: float) -> list[float]:
    step = min(24.0, (width - 30) / (count - 1)) if count > 1 else 0.0
    return [round((k - (count - 1) / 2) * step, 1) for k in range(count)]
