"""The cheapest set that is closed under needs: a minimum cut, found by Dinic's maximum flow.

Items have a weight (a cost; a gain when negative) and needs: an item in the set brings the items that it needs. Some
items must be in. The cheapest such set is one side of a minimum cut of the network

    source → item, capacity = gain;    item → sink, capacity = cost;    item → its need, capacity = ∞

since cutting the first forgoes the gain and cutting the second pays the cost.
"""

from __future__ import annotations

from collections.abc import Sequence

INFINITE = float("inf")
SLACK = 1e-9  # capacities are sums of a few numbers of ordinary size


def cheapest_closed_set(weights: Sequence[float], needs: Sequence[Sequence[int]], required: Sequence[int]) -> set[int]:
    """The items of the closed set that holds `required` and whose weights have the smallest sum."""
    n = len(weights)
    source, sink = n, n + 1
    network = _Network(n + 2)
    wanted = set(required)
    for item, weight in enumerate(weights):
        gain = INFINITE if item in wanted else max(-weight, 0.0)
        if gain > 0:
            network.connect(source, item, gain)
        if weight > 0:
            network.connect(item, sink, weight)
        for need in needs[item]:
            network.connect(item, need, INFINITE)
    network.saturate(source, sink)
    return {item for item in network.reached(source) if item < n}


class _Network:
    """Arcs in pairs: arc k and its reverse k ^ 1."""

    def __init__(self, nodes: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(nodes)]
        self.head: list[int] = []
        self.capacity: list[float] = []

    def connect(self, tail: int, head: int, capacity: float) -> None:
        self.arcs[tail].append(len(self.head))
        self.arcs[head].append(len(self.head) + 1)
        self.head += (head, tail)
        self.capacity += (capacity, 0.0)

    def levels(self, source: int) -> list[int]:
        """How many arcs with capacity left lead from the source to each node; -1 where none do."""
        level = [-1] * len(self.arcs)
        level[source] = 0
        queue = [source]
        for node in queue:
            for arc in self.arcs[node]:
                head = self.head[arc]
                if level[head] < 0 and self.capacity[arc] > SLACK:
                    level[head] = level[node] + 1
                    queue.append(head)
        return level

    def reached(self, source: int) -> set[int]:
        return {node for node, level in enumerate(self.levels(source)) if level >= 0}

    def saturate(self, source: int, sink: int) -> None:
        """Send flow along shortest paths until none is left."""
        while True:
            level = self.levels(source)
            if level[sink] < 0:
                return
            following = [0] * len(self.arcs)
            while self._augment(source, sink, level, following):
                pass

    def _augment(self, source: int, sink: int, level: list[int], following: list[int]) -> bool:
        """One path by depth-first search; arcs that led nowhere are not tried again in this phase."""
        path: list[int] = []
        node = source
        while node != sink:
            arcs = self.arcs[node]
            while following[node] < len(arcs):
                arc = arcs[following[node]]
                head = self.head[arc]
                if self.capacity[arc] > SLACK and level[head] == level[node] + 1:
                    path.append(arc)
                    node = head
                    break
                following[node] += 1
            else:
                if not path:
                    return False
                arc = path.pop()
                node = self.head[arc ^ 1]
                following[node] += 1
        flow = min(self.capacity[arc] for arc in path)
        for arc in path:
            self.capacity[arc] -= flow
            self.capacity[arc ^ 1] += flow
        return True
