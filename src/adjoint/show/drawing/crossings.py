"""The order of items within the layers of a picture, chosen so that few lines cross.

Sweeps go down and up: each item moves to the mean position of its neighbors in the layer that was just ordered. The
best order seen is kept. Then neighbors are exchanged, and whole lines are moved to the left or right of everything,
while that helps.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random

__all__ = ["crossings", "order_layers"]

EXCHANGED = 400  # items, up to which neighbors are exchanged one by one
SWEEPS = 10
WORK = 30_000  # items times sweeps, in all

Neighbors = Sequence[Sequence[int]]


def order_layers(
    layers: Sequence[Sequence[int]], upper: Neighbors, lower: Neighbors, fixed: Mapping[int, Sequence[int]],
    boxes: int,
) -> list[list[int]]:  # fmt: skip
    """The same layers, each in a good order; `fixed` layers have the order given. Items from `boxes` on are points."""
    items = sum(map(len, layers))
    best = _as_met(layers, upper, lower, fixed)
    if len(layers) < 2 or max(map(len, layers)) < 2:
        return best
    least = _faults(best, lower)
    lines = _lines(upper, lower, boxes) if items <= EXCHANGED else []
    for start in _starts(best, fixed, WORK // items // SWEEPS):
        current, candidate, fewest = start, start, _faults(start, lower)
        position = [0] * items
        for sweep in range(max(1, min(SWEEPS, WORK // items))):
            current = [list(layer) for layer in current]
            _sweep(current, upper, lower, fixed, position, down=sweep % 2 == 0)
            faults = _faults(current, lower)
            if faults < fewest:
                candidate, fewest = current, faults
        if fewest[0] and items <= EXCHANGED:
            candidate = [list(layer) for layer in candidate]
            _exchange(candidate, upper, lower, fixed)
            candidate = _aside(candidate, lower, fixed, lines)
            _exchange(candidate, upper, lower, fixed)
            fewest = _faults(candidate, lower)
        if fewest < least:
            best, least = candidate, fewest
        if least[0] == 0:
            break
    return best


def _starts(met: list[list[int]], fixed: Mapping[int, Sequence[int]], count: int) -> Iterator[list[list[int]]]:
    """Orders to begin with: as met, its mirror image, and some shuffled ones, the same each time."""
    yield met
    if count > 1:
        yield [list(fixed.get(k, layer[::-1])) for k, layer in enumerate(met)]
    shuffle = Random(len(met)).shuffle
    for _ in range(2, min(count, 10)):
        mixed = [list(layer) for layer in met]
        for k, layer in enumerate(mixed):
            if k not in fixed:
                shuffle(layer)
        yield mixed


def _faults(layers: Sequence[Sequence[int]], lower: Neighbors) -> tuple[int, float]:
    """Crossings; and, among orders with as many, how far lines go aside."""
    position = {item: k - len(layer) / 2 for layer in layers for k, item in enumerate(layer)}
    aside = sum([abs(position[item] - position[t]) for layer in layers for item in layer for t in lower[item]])
    return crossings(layers, lower), aside


def crossings(layers: Sequence[Sequence[int]], lower: Neighbors) -> int:
    """How many pairs of lines cross."""
    total = 0
    for above, below in pairwise(layers):
        if len(above) < 2 or len(below) < 2:
            continue
        position = {item: k for k, item in enumerate(below)}
        seen: list[int] = []
        for item in above:
            ends = [position[t] for t in lower[item]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _as_met(
    layers: Sequence[Sequence[int]], upper: Neighbors, lower: Neighbors, fixed: Mapping[int, Sequence[int]]
) -> list[list[int]]:
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
    return [list(fixed.get(k, layer)) for k, layer in enumerate(out)]


def _sweep(
    layers: list[list[int]], upper: Neighbors, lower: Neighbors, fixed: Mapping[int, Sequence[int]],
    position: list[int], *, down: bool,
) -> None:  # fmt: skip
    neighbors = upper if down else lower
    for k in range(len(layers)) if down else range(len(layers) - 1, -1, -1):
        layer = layers[k]
        if k not in fixed and len(layer) > 1:
            mean: dict[int, float] = {}
            for at, item in enumerate(layer):
                near = neighbors[item]
                mean[item] = sum([position[n] for n in near]) / len(near) if near else at
            layer.sort(key=mean.__getitem__)
        for at, item in enumerate(layer):
            position[item] = at


def _exchange(layers: list[list[int]], upper: Neighbors, lower: Neighbors, fixed: Mapping[int, Sequence[int]]) -> None:
    """Exchange neighbors while fewer lines cross."""
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


def _lines(upper: Neighbors, lower: Neighbors, boxes: int) -> list[set[int]]:
    """What hangs together without a branching box between: points, and boxes with one line in and one out."""
    thin = [k >= boxes or len(upper[k]) == len(lower[k]) == 1 for k in range(len(upper))]
    out: list[set[int]] = []
    seen: set[int] = set()
    for start in range(len(upper)):
        if start in seen or not thin[start]:
            continue
        line, stack = {start}, [start]
        while stack:
            item = stack.pop()
            for other in (*upper[item], *lower[item]):
                if thin[other] and other not in line:
                    line.add(other)
                    stack.append(other)
        seen |= line
        if len(line) > 1:
            out.append(line)
    return out


def _aside(
    layers: list[list[int]], lower: Neighbors, fixed: Mapping[int, Sequence[int]], lines: Sequence[set[int]]
) -> list[list[int]]:
    """Move lines out of the way, one after the other, where fewer lines cross then."""
    least = _faults(layers, lower)
    for line in lines:
        for left in (True, False):
            moved: list[list[int]] = []
            for k, layer in enumerate(layers):
                own = [item for item in layer if item in line] if k not in fixed else []
                rest = [item for item in layer if item not in line] if own else layer
                moved.append([*own, *rest] if left else [*rest, *own])
            faults = _faults(moved, lower)
            if faults < least:
                layers, least = moved, faults
    return [list(layer) for layer in layers]


def _between(left: Sequence[int], right: Sequence[int], position: Sequence[int]) -> int:
    """Crossings of the lines of two neighbors, when `left` are the ends of the left one's."""
    return sum(position[a] > position[b] for a in left for b in right)
