"""Horizontal coordinates for ordered layers, after Brandes and Köpf: chains of items stand straight below one another.

Each item is aligned with the median of its neighbors above or below, from the left or from the right. Each of the four
choices gives blocks of aligned items, which are then pushed together as far as their widths allow. The middle of the
four is taken: what holds for the distances in each of them holds for their medians too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["columns"]

Neighbors = Sequence[Sequence[int]]


def columns(
    layers: Sequence[Sequence[int]], upper: Neighbors, lower: Neighbors, spacing: Sequence[float], boxes: int,
    shifts: Mapping[tuple[int, int], float] | None = None,
) -> list[float]:  # fmt: skip
    """The middle of each item, neighbors in a layer being (room + room) / 2 apart at least; the leftmost edge is 0.

    Items from number `boxes` on are points of lines: lines through several layers have the right of way. Where a line
    does not join the middles of two items (above, below), `shifts` tells how far the lower middle should stand to the
    right of the upper one for it to be straight.
    """
    items = len(spacing)
    if not items:
        return []
    conflicts = _conflicts(layers, upper, boxes)
    shifts = shifts or {}
    layouts: list[list[float]] = []
    weights = _weights(layers, upper, boxes), _weights(layers[::-1], lower, boxes)
    through = [a + b for a, b in zip(*weights, strict=True)]
    favorites = _favorites(lower, through), _favorites(upper, through)
    for turned in (False, True):
        rows = [*reversed(layers)] if turned else [*layers]
        near = lower if turned else upper
        weight, favorite = weights[turned], favorites[turned]
        for mirrored in (False, True):
            seen = [[*reversed(row)] for row in rows] if mirrored else rows
            side = -1.0 if mirrored else 1.0
            oriented = {(b, a) if turned else (a, b): side * (-d if turned else d) for (a, b), d in shifts.items()}
            root, shift = _blocks(seen, near, weight, favorite, conflicts, oriented)
            x = _pushed(seen, root, shift, spacing)
            layouts.append([-value for value in x] if mirrored else x)
    return _middle(layouts, spacing)


def _weights(layers: Sequence[Sequence[int]], near: Neighbors, boxes: int) -> list[int]:
    """How many boxes stand on the longest path to each item: the longer a path, the straighter it should be."""
    weight = [0] * sum(map(len, layers))
    for layer in layers:
        for item in layer:
            weight[item] = max([weight[n] for n in near[item]], default=0) + (item < boxes)
    return weight


def _favorites(far: Neighbors, through: Sequence[int]) -> list[int]:
    """Of each item, the neighbor that the longest path goes on to; -1 when there are several."""
    out: list[int] = []
    for neighbors in far:
        heaviest = max([through[n] for n in neighbors], default=0)
        best = [n for n in neighbors if through[n] == heaviest]
        out.append(best[0] if len(best) == 1 else -1)
    return out


def _middle(layouts: Sequence[list[float]], spacing: Sequence[float]) -> list[float]:
    """The mean of the two medians, after all were moved to the narrowest."""
    lows = [min(x - r / 2 for x, r in zip(xs, spacing, strict=True)) for xs in layouts]
    highs = [max(x + r / 2 for x, r in zip(xs, spacing, strict=True)) for xs in layouts]
    best = min(range(4), key=lambda k: highs[k] - lows[k])
    shifts = [highs[best] - highs[k] if k % 2 else lows[best] - lows[k] for k in range(4)]
    middle = [
        sum(sorted((a + shifts[0], b + shifts[1], c + shifts[2], d + shifts[3]))[1:3]) / 2
        for a, b, c, d in zip(*layouts, strict=True)
    ]
    left = min(x - r / 2 for x, r in zip(middle, spacing, strict=True))
    return [x - left for x in middle]


def _conflicts(layers: Sequence[Sequence[int]], upper: Neighbors, boxes: int) -> set[tuple[int, int]]:
    """Pieces of lines (above, below) that cross a piece inside a long line."""
    conflicts: set[tuple[int, int]] = set()
    for above, below in pairwise(layers):
        position = {item: k for k, item in enumerate(above)}
        reached, start = 0, 0
        for at, item in enumerate(below):
            inner = next((u for u in upper[item] if u >= boxes), None) if item >= boxes else None
            if inner is None and at < len(below) - 1:
                continue
            bound = len(above) - 1 if inner is None else position[inner]
            for other in below[start : at + 1]:
                for u in upper[other]:
                    if not reached <= position[u] <= bound and not (u >= boxes and other >= boxes):
                        conflicts.add((u, other))
            start, reached = at + 1, bound
    return conflicts


def _blocks(
    layers: Sequence[Sequence[int]], near: Neighbors, weight: Sequence[int], favorite: Sequence[int],
    conflicts: set[tuple[int, int]], shifts: Mapping[tuple[int, int], float],
) -> tuple[list[int], list[float]]:  # fmt: skip
    """For each item the first one of its block, and how far to the right of that it stands."""
    items = len(weight)
    root = list(range(items))
    shift = [0.0] * items
    aligned = [False] * items  # whether the next layer has taken it
    position = [0] * items
    for layer in layers:
        for k, item in enumerate(layer):
            position[item] = k
    for layer in layers[1:]:
        reached = -1
        for item in layer:
            for other in _candidates(near[item], weight, position):
                if aligned[other] or favorite[other] not in (-1, item) or reached >= position[other]:
                    continue
                if not conflicts or ((other, item) not in conflicts and (item, other) not in conflicts):
                    aligned[other] = True
                    root[item] = root[other]
                    shift[item] = shift[other] + (shifts.get((other, item), 0.0) if shifts else 0.0)
                    reached = position[other]
                    break
    return root, shift


def _candidates(neighbors: Sequence[int], weight: Sequence[int], position: Sequence[int]) -> Sequence[int]:
    """The neighbors to be aligned with, best first: the one on the longest path, else the medians."""
    if len(neighbors) < 2:
        return neighbors
    heaviest = max([weight[n] for n in neighbors])
    ends = sorted((n for n in neighbors if weight[n] == heaviest), key=position.__getitem__)
    middle = len(ends) - 1
    return ends[middle // 2 : (middle + 1) // 2 + 1]


def _pushed(
    layers: Sequence[Sequence[int]], root: Sequence[int], shift: Sequence[float], spacing: Sequence[float]
) -> list[float]:
    """The blocks as far left as they go, then to the right where there is space."""
    distance: dict[int, dict[int, float]] = {r: {} for r in set(root)}
    waiting = dict.fromkeys(distance, 0)
    for layer in layers:
        for a, b in pairwise(layer):
            after, to = distance[root[a]], root[b]
            apart = (spacing[a] + spacing[b]) / 2 + shift[a] - shift[b]
            if to not in after:
                waiting[to] += 1
                after[to] = apart
            elif after[to] < apart:
                after[to] = apart
    ready = sorted(r for r, count in waiting.items() if not count)
    first: dict[int, float] = {r: spacing[r] / 2 for r in distance}  # so that nothing stands left of 0
    for item, r in enumerate(root):
        first[r] = max(first[r], spacing[item] / 2 - shift[item])
    x = first
    order: list[int] = []
    while ready:
        block = ready.pop()
        order.append(block)
        for to, apart in distance[block].items():
            x[to] = max(x[to], x[block] + apart)
            waiting[to] -= 1
            if not waiting[to]:
                ready.append(to)
    for block in reversed(order):
        if distance[block]:
            x[block] = max(x[block], min(x[to] - apart for to, apart in distance[block].items()))
    return [x[r] + s for r, s in zip(root, shift, strict=True)]
