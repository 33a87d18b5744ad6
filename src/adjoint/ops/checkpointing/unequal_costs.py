"""The cheapest reversal of a loop whose iterations cost differently, by dynamic programming in O(K³S) operations."""

from __future__ import annotations

import functools
from collections.abc import Sequence


@functools.lru_cache(maxsize=64)
def cheapest_advances(costs: tuple[float, ...], slots: int) -> tuple[int, ...]:
    """The advances of the cheapest reversal when iterations cost differently, in the order in which they are taken.

    C(i, j, s) = min over i < m < j of  cost(i … m) + C(m, j, s-1) + C(i, m, s)  for the iterations i … j-1.
    """
    best = cheapest(costs, slots)
    length = len(costs)
    advances: list[int] = []
    waiting = [(0, length, slots)]
    while waiting:
        i, j, s = waiting.pop()
        if j - i > 1 and s > 1:
            m = best[s][1][i][j]
            advances.append(m - i)
            waiting += [(i, m, s), (m, j, s - 1)]  # the later part comes first
    return tuple(advances)


def cheapest(costs: Sequence[float], slots: int) -> list[tuple[list[list[float]], list[list[int]]]]:
    """For each s: the tables C(i, j, s) and the best m."""
    length = len(costs)
    until = [0.0]
    for c in costs:
        until.append(until[-1] + c)
    one = [[0.0] * (length + 1) for _ in range(length + 1)]
    for i in range(length):
        for j in range(i + 2, length + 1):
            one[i][j] = one[i][j - 1] + until[j - 1] - until[i]  # s_{j-1} from s_i, and the rest
    tables: list[tuple[list[list[float]], list[list[int]]]] = [([], []), (one, [])]
    for _ in range(2, slots + 1):
        fewer = tables[-1][0]
        least = [[0.0] * (length + 1) for _ in range(length + 1)]
        where = [[0] * (length + 1) for _ in range(length + 1)]
        for size in range(2, length + 1):
            for i in range(length - size + 1):
                j = i + size
                row, begun = least[i], until[i]
                value, m = min((until[m] - begun + fewer[m][j] + row[m], m) for m in range(i + 1, j))
                least[i][j], where[i][j] = value, m
        tables.append((least, where))
    return tables
