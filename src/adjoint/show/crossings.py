"""The order of items within the layers of a picture, chosen so that few lines cross.

Sweeps go down and up: each item moves to the mean position of its neighbours in the layer that was just ordered. The
best order seen is kept; at last neighbours are exchanged while that helps.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["crossings", "ordered"]

EXCHANGED = 400  # items, up to which neighbours are exchanged one by one
WORK = 60_000  # items times sweeps

Neighbours = Sequence[Sequence[int]]


def ordered(
    layers: Sequence[Sequence[int]], upper: Neighbours, lower: Neighbours, fixed: Mapping[int, Sequence[int]]
) -> list[list[int]]:
    """The same layers, each in a good order; `fixed` layers have the order given."""
    current = _as_met(layers, upper, lower)
    for k, order in fixed.items():
        current[k] = list(order)
    items = sum(map(len, layers))
    if len(layers) < 2 or max(map(len, layers)) < 2:
        return current
    best, fewest = current, crossings(current, lower)
    position = [0] * items
    for sweep in range(max(1, min(12, WORK // items))):
        if fewest == 0:
            break
        current = [list(layer) for layer in current]
        _sweep(current, upper, lower, fixed, position, down=sweep % 2 == 0)
        count = crossings(current, lower)
        if count < fewest:
            best, fewest = current, count
    if fewest and items <= EXCHANGED:
        best = [list(layer) for layer in best]
        _exchange(best, upper, lower, fixed)
    return best


def crossings(layers: Sequence[Sequence[int]], lower: Neighbours) -> int:
    """How many pairs of lines cross."""
    total = 0
    for above, below in pairwise(layers):
        if len(above) < 2 or len(below) < 2:
            continue
        place = {item: k for k, item in enumerate(below)}
        seen: list[int] = []
        for item in above:
            ends = [place[t] for t in lower[item]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _as_met(layers: Sequence[Sequence[int]], upper: Neighbours, lower: Neighbours) -> list[list[int]]:
    """Each layer in the order in which a walk along the lines comes by: trees have no crossings then."""
    seen = [False] * sum(map(len, layers))
    out: list[list[int]] = [[] for _ in layers]
    layer_of = {item: k for k, layer in enumerate(layers) for item in layer}
    for start in (item for layer in layers for item in layer):
        if seen[start] or upper[start]:
            continue
        stack = [start]
        while stack:
            item = stack.pop()
            if seen[item]:
                continue
            seen[item] = True
            out[layer_of[item]].append(item)
            stack.extend(reversed(lower[item]))
    return out


def _sweep(
    layers: list[list[int]], upper: Neighbours, lower: Neighbours, fixed: Mapping[int, Sequence[int]],
    position: list[int], *, down: bool,
) -> None:  # fmt: skip
    neighbours = upper if down else lower
    for k in range(len(layers)) if down else range(len(layers) - 1, -1, -1):
        layer = layers[k]
        if k not in fixed and len(layer) > 1:
            mean: dict[int, float] = {}
            for at, item in enumerate(layer):
                near = neighbours[item]
                mean[item] = sum([position[n] for n in near]) / len(near) if near else at
            layer.sort(key=mean.__getitem__)
        for at, item in enumerate(layer):
            position[item] = at


def _exchange(
    layers: list[list[int]], upper: Neighbours, lower: Neighbours, fixed: Mapping[int, Sequence[int]]
) -> None:
    """Exchange neighbours while fewer lines cross."""
    position = [0] * sum(map(len, layers))
    for layer in layers:
        for at, item in enumerate(layer):
            position[item] = at
    better, rounds = True, 0
    while better and rounds < 8:
        better, rounds = False, rounds + 1
        for k, layer in enumerate(layers):
            for at in range(len(layer) - 1) if k not in fixed else ():
                a, b = layer[at], layer[at + 1]
                gain = sum(
                    _between(near[a], near[b], position) - _between(near[b], near[a], position)
                    for near in (upper, lower)
                )
                if gain > 0:
                    layer[at], layer[at + 1] = b, a
                    position[a], position[b] = at + 1, at
                    better = True


def _between(left: Sequence[int], right: Sequence[int], position: Sequence[int]) -> int:
    """Crossings of the lines of two neighbours, when `left` are the ends of the left one's."""
    return sum(position[a] > position[b] for a in left for b in right)
