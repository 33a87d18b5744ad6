"""Games and graphs: ranks, flows, trees, paths."""

import heapq
import math
from collections import deque

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from tests.corpus.programs import Program


def page_rank(links, damping, tol=1e-13):
    """Ranks of pages by weighted links, by the power method."""
    n = links.shape[0]
    out = links.sum(axis=1)
    transition = np.array([[links[i, j] / out[i] if out[i] > 0 else 1 / n for i in range(n)] for j in range(n)])
    rank = np.ones(n) / n
    while True:
        new = damping * transition @ rank + (1 - damping) / n
        if np.linalg.norm(new - rank, 1) < tol:
            return new
        rank = new


def maximum_flow(capacities):
    """Greatest flow from the first node to the last, by shortest augmenting paths."""
    n = len(capacities)
    residual = capacities.copy()
    total = 0.0
    while True:
        parent = {0: None}
        queue = deque([0])
        while queue and n - 1 not in parent:
            u = queue.popleft()
            for v in range(n):
                if v not in parent and residual[u, v] > 1e-12:
                    parent[v] = u
                    queue.append(v)
        if n - 1 not in parent:
            return total
        bottleneck, v = math.inf, n - 1
        while parent[v] is not None:
            bottleneck = min(bottleneck, residual[parent[v], v])
            v = parent[v]
        v = n - 1
        while (u := parent[v]) is not None:
            residual[u, v] -= bottleneck
            residual[v, u] += bottleneck
            v = u
        total += bottleneck


class DisjointSets:
    """Sets that are merged, with paths made shorter on the way."""

    def __init__(self, n):
        self.parent = list(range(n))

    def __getitem__(self, i):
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def merge(self, i, j):
        i, j = self[i], self[j]
        if i == j:
            return False
        self.parent[i] = j
        return True


def spanning_tree_weight(points):
    """Length of the shortest tree that joins points of the plane (Kruskal)."""
    n = len(points)
    edges = [(math.dist(points[i], points[j]), i, j) for i in range(n) for j in range(i)]
    sets = DisjointSets(n)
    return sum(length for length, i, j in sorted(edges, key=lambda e: e[0]) if sets.merge(i, j))


def minimax_value(leaves, discount):
    """Value of a game on a tree of three moves each, by alpha-beta search; waiting costs the winner."""
    visited = 0

    def search(low, high, depth, alpha, beta, maximizing):
        nonlocal visited
        if high - low == 1:
            visited += 1
            return discount**depth * leaves[low]
        third = (high - low) // 3
        best = -math.inf if maximizing else math.inf
        for start in range(low, high, third):
            value = search(start, start + third, depth + 1, alpha, beta, not maximizing)
            if maximizing:
                best = max(best, value)
                alpha = max(alpha, best)
            else:
                best = min(best, value)
                beta = min(beta, best)
            if beta <= alpha:
                break
        return best

    result = search(0, len(leaves), 0, -math.inf, math.inf, True)
    assert visited <= len(leaves)
    return result


def hiking_cost(heights, steepness):
    """Cost of the cheapest walk across a terrain, corner to corner, by A*."""
    rows, columns = heights.shape
    goal = rows - 1, columns - 1

    def neighbors(cell):
        i, j = cell
        for di, dj in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            if 0 <= i + di < rows and 0 <= j + dj < columns:
                yield i + di, j + dj

    def remaining(cell):
        return abs(goal[0] - cell[0]) + abs(goal[1] - cell[1])

    cost = {(0, 0): 0.0}
    closed = set()
    frontier = [(remaining((0, 0)), (0, 0))]
    while frontier:
        _, cell = heapq.heappop(frontier)
        if cell == goal:
            return cost[cell]
        if cell in closed:
            continue
        closed.add(cell)
        for other in neighbors(cell):
            climb = heights[other] - heights[cell]
            new = cost[cell] + math.sqrt(1 + (steepness * climb) ** 2)
            if other not in cost or new < cost[other]:
                cost[other] = new
                heapq.heappush(frontier, (new + remaining(other), other))
    raise ValueError("no way")


def wanderer_hitting_time(weights):
    """Expected steps of a random walk on a weighted graph from the first node to the last, by a sparse system."""
    edges = np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 4], [3, 5], [4, 5]])
    n = edges.max() + 1
    i, j = edges.T
    adjacency = coo_array((np.r_[weights, weights], (np.r_[i, j], np.r_[j, i])), shape=(n, n)).toarray()
    degree = adjacency.sum(axis=1)
    rows, columns = np.nonzero(adjacency[:-1, :-1])
    values = -adjacency[rows, columns] / degree[rows]
    inner = np.arange(n - 1)
    system = coo_array(
        (np.r_[values, np.ones(n - 1)], (np.r_[rows, inner], np.r_[columns, inner])), shape=(n - 1, n - 1)
    )
    return spsolve(system.tocsc(), np.ones(n - 1))[0]


LINKS = np.array([[0.0, 1.2, 0.7, 0.0], [0.4, 0.0, 1.1, 0.3], [0.0, 0.9, 0.0, 1.5], [2.0, 0.0, 0.6, 0.0]])
PIPES = np.array(
    [
        [0, 3.3, 2.7, 0, 0, 0],
        [0, 0, 1.1, 1.9, 0.8, 0],
        [0, 0, 0, 1.3, 1.6, 0],
        [0, 0, 0, 0, 0.9, 2.4],
        [0, 0, 0, 0, 0, 3.1],
        [0, 0, 0, 0, 0, 0],
    ]
)
TOWNS = np.array([[0.0, 0.1], [1.2, 0.3], [2.1, 1.4], [0.4, 1.7], [1.5, 2.6], [3.0, 0.2]])
LEAVES = np.round(5 * np.sin(2.7 * np.arange(27) ** 1.3), 2) + 0.013 * np.arange(27)
TERRAIN = 1.5 * np.sin(1.1 * np.arange(5)[:, None]) * np.cos(0.8 * np.arange(5)) + 0.07 * np.arange(5)

PROGRAMS = [
    Program(page_rank, (LINKS + 0.05, 0.85)),
    Program(spanning_tree_weight, (TOWNS,)),
    Program(maximum_flow, (PIPES + 0.01 * np.sin(np.arange(36)).reshape(6, 6) ** 2 + 0.02,)),
    Program(minimax_value, (LEAVES, 0.93)),
    Program(hiking_cost, (TERRAIN, 1.3)),
    Program(wanderer_hitting_time, (np.array([1.0, 0.7, 1.3, 0.9, 1.1, 0.6, 0.8, 1.4]),)),
]
