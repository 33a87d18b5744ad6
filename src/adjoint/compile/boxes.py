"""A nest cut into boxes, in each of which it is known where the elements come from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile.graph import Box, Graph
from adjoint.compile.results import Root

FEW = 9  # boxes that are drawn without a thought
MOST = 160  # boxes of one nest, if they are cheap together
GROWTH = 2  # times as many nodes as that of the whole may the graphs of many boxes have


def cut_graph(graph: Graph, roots: Sequence[Root], draw: Callable[[Box], Graph]) -> list[Graph]:
    """The graphs of the boxes of a nest, cut along its edges so that windows are open or closed throughout.

    Where that makes more than nine boxes, each must have little to do, as those of a join of many parts have: one part.
    Otherwise the box is cut only where results end, since nothing is written beyond them.
    """
    boxes = _boxes(graph, roots, MOST)
    if len(boxes) > FEW:
        drawn = [draw(box) for box in boxes]
        if sum(len(one.nodes) + 1 for one in drawn) <= GROWTH * (len(graph.nodes) + len(boxes)):
            return drawn
        boxes = _boxes(graph, roots, FEW)
    return [graph] if len(boxes) == 1 else [draw(box) for box in boxes]


def _boxes(graph: Graph, roots: Sequence[Root], most: int) -> list[Box]:
    by_axis: dict[int, set[Any]] = {}
    for axis, at in graph.edges:
        by_axis.setdefault(axis, set()).add(at)
    boxes: list[Box] = [graph.box]
    for axis, edges in sorted(by_axis.items(), key=lambda item: len(item[1])):
        ends = edges & {root.shape[axis] for root in roots}
        cuts = edges if len(boxes) * (len(edges) + 1) <= most else ends
        points = [graph.box[axis][0], *sorted(cuts), graph.box[axis][1]]
        boxes = [
            (*box[:axis], (low, high), *box[axis + 1 :]) for box in boxes for low, high in itertools.pairwise(points)
        ]
    return boxes
