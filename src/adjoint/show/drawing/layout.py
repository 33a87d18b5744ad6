"""Layered pictures of graphs: where boxes and arrows go so that arrows point down and cross little.

Four steps, as usual since Sugiyama: layers by longest paths; long arrows get a point in every layer that they pass;
the order in each layer is chosen against crossings; then come the coordinates, in which long arrows are straight.
Arrows from the same box share their points until they part. Labels stand in layers of their own, as if they were boxes,
so nothing can cover them.

`arrange_layers` knows nothing of sizes; `spread` gives the coordinates for sizes. A picture whose boxes open and close
is arranged once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adjoint.show.drawing.alignment import columns
from adjoint.show.drawing.crossings import order_layers

__all__ = ["Arrangement", "Arrow", "arrange_layers", "spread"]

BETWEEN_BOXES, BETWEEN_LINES = 28.0, 12.0  # least horizontal distances


@dataclass(frozen=True)
class Arrow:
    """From a box to another. Arrows of one source and trunk share their path; a label stands above its target."""

    source: int
    target: int
    labeled: bool = False
    trunk: int = 0


@dataclass
class Arrangement:
    """Boxes 0 … n-1 and, from n on, the points of arrows: which layer each is in, and the order in each layer."""

    boxes: int
    arrows: Sequence[Arrow]
    layer: list[int]
    layers: list[list[int]]
    routes: list[list[int]]  # of each arrow, its items from source to target, one in each layer
    upper: list[list[int]]  # of each item, its neighbors in the layer above
    lower: list[list[int]]
    backwards: frozenset[int] = field(default_factory=frozenset[int])  # arrows against the current, drawn upwards

    def label(self, k: int) -> int | None:
        """The item that the label of arrow k stands on."""
        if not self.arrows[k].labeled:
            return None
        return self.routes[k][1 if k in self.backwards else -2]


def arrange_layers(
    boxes: int, arrows: Sequence[Arrow], *, first: Sequence[int] = (), last: Sequence[int] = (),
    floating: Sequence[int] = (),
) -> Arrangement:  # fmt: skip
    """Layers and orders for boxes 0 … n-1.

    `first` and `last` are boxes that make up the first and the last layer, in the order given; `floating` are those
    without predecessors that may leave the top and stand close to what they point to.
    """
    backwards = _against_the_current(boxes, arrows)
    directed = [(a.target, a.source) if k in backwards else (a.source, a.target) for k, a in enumerate(arrows)]
    step = 2 if any(a.labeled for a in arrows) else 1
    layer = _ranks(boxes, directed, step, set(first), set(last), set(floating))
    upper: list[list[int]] = [[] for _ in range(boxes)]
    lower: list[list[int]] = [[] for _ in range(boxes)]
    routes: list[list[int]] = [[] for _ in arrows]
    trunks: dict[tuple[int, int, int], int] = {}

    def point(rank: int) -> int:
        layer.append(rank)
        upper.append([])
        lower.append([])
        return len(layer) - 1

    def join(above: int, below: int) -> None:
        if above not in upper[below]:
            upper[below].append(above)
            lower[above].append(below)

    for k in sorted(range(len(arrows)), key=lambda k: (directed[k][0], layer[directed[k][1]], k)):
        (source, target), arrow = directed[k], arrows[k]
        route = [source]
        for rank in range(layer[source] + 1, layer[target]):
            own = arrow.labeled and rank == (layer[source] + 1 if k in backwards else layer[target] - 1)
            key = (source, -1 - k if k in backwards else arrow.trunk, rank)
            item = point(rank) if own or key not in trunks else trunks[key]
            if not own:
                trunks[key] = item
            join(route[-1], item)
            route.append(item)
        join(route[-1], target)
        routes[k] = [*route, target][:: -1 if k in backwards else 1]
    layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for item, rank in enumerate(layer):
        layers[rank].append(item)
    fixed = {layer[ports[0]]: list(ports) for ports in (first, last) if ports}
    layers = order_layers(layers, upper, lower, fixed, boxes)
    return Arrangement(boxes, arrows, layer, layers, routes, upper, lower, backwards)


def spread(
    arrangement: Arrangement, widths: Sequence[float], labels: Sequence[float] = (),
    ends: Sequence[tuple[float, float]] = (),
) -> list[float]:  # fmt: skip
    """The horizontal middle of each item, for the widths of the boxes and of the labels of the arrows.

    `ends` tells for each arrow how far right of the middles of its boxes it starts and ends.
    """
    width, apart = item_widths(arrangement, widths, labels)
    shifts: dict[tuple[int, int], float] = {}
    for route, (start, end) in zip(arrangement.routes, ends, strict=False):
        pieces = [(0, start - end)] if len(route) == 2 else [(0, start), (len(route) - 2, -end)]
        for k, offset in pieces:
            a, b = route[k], route[k + 1]
            down = arrangement.layer[a] < arrangement.layer[b]
            shifts[(a, b) if down else (b, a)] = offset if down else -offset
    spacing = [w + s for w, s in zip(width, apart, strict=True)]
    return columns(arrangement.layers, arrangement.upper, arrangement.lower, spacing, arrangement.boxes, shifts)


def item_widths(
    arrangement: Arrangement, widths: Sequence[float], labels: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The width of each item, and the space that it keeps free."""
    items = len(arrangement.layer)
    width = [*widths, *[0.0] * (items - arrangement.boxes)]
    for k, wide in enumerate(labels):
        if (item := arrangement.label(k)) is not None:
            width[item] = wide
    return width, [BETWEEN_BOXES if i < arrangement.boxes and width[i] else BETWEEN_LINES for i in range(items)]


def _against_the_current(boxes: int, arrows: Sequence[Arrow]) -> frozenset[int]:
    """Arrows that close a circle: without them there is none."""
    out: list[list[tuple[int, int]]] = [[] for _ in range(boxes)]
    for k, a in enumerate(arrows):
        out[a.source].append((a.target, k))
    state = [0] * boxes  # 1: being visited, 2: done
    backwards: set[int] = set()
    for start in range(boxes):
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, iter(out[start]))]
        while stack:
            box, targets = stack[-1]
            for target, k in targets:
                if state[target] == 1:
                    backwards.add(k)
                elif state[target] == 0:
                    state[target] = 1
                    stack.append((target, iter(out[target])))
                    break
            else:
                state[box] = 2
                stack.pop()
    return frozenset(backwards)


def _ranks(
    boxes: int, directed: Sequence[tuple[int, int]], step: int, first: set[int], last: set[int], floating: set[int]
) -> list[int]:
    """Longest paths from the top, in steps; boxes without predecessors float down to what they point to."""
    out: list[list[int]] = [[] for _ in range(boxes)]
    into = [0] * boxes
    for source, target in directed:
        out[source].append(target)
        into[target] += 1
    top = step if first else 0
    rank = [0 if b in first else top for b in range(boxes)]
    waiting, ready = list(into), [b for b in range(boxes) if not into[b]]
    order: list[int] = []
    while ready:
        box = ready.pop()
        order.append(box)
        for target in out[box]:
            rank[target] = max(rank[target], rank[box] + step)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for box in reversed(order):
        below = [rank[t] for t in out[box] if t not in last]
        if box in floating and not into[box] and below:
            rank[box] = max(rank[box], min(below) - step)
    if last:
        bottom = max((r for b, r in enumerate(rank) if b not in last), default=-1) + 1
        rank = [bottom if b in last else r for b, r in enumerate(rank)]
    return rank
