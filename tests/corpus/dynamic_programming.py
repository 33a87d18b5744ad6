"""Dynamic programming and queues: paths, alignments, allocation, and events in order of time."""

import bisect
import functools
import heapq
import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from tests.corpus.programs import Program


def viterbi_score(transition, emission, observations=(0, 2, 1, 1, 0, 2)):
    """Log-probability of the best path of a hidden Markov model; the tables are unnormalized scores."""
    A = np.log(transition / transition.sum(axis=1, keepdims=True))
    B = np.log(emission / emission.sum(axis=1, keepdims=True))
    n_states = A.shape[0]
    delta = np.zeros((len(observations), n_states))
    back = np.zeros((len(observations), n_states), dtype=int)
    delta[0] = -math.log(n_states) + B[:, observations[0]]
    for t in range(1, len(observations)):
        for s in range(n_states):
            scores = delta[t - 1] + A[:, s]
            back[t, s] = np.argmax(scores)
            delta[t, s] = scores[back[t, s]] + B[s, observations[t]]
    path = [int(np.argmax(delta[-1]))]
    for t in range(len(observations) - 1, 0, -1):
        path.insert(0, int(back[t, path[0]]))
    # rescore the path that was found
    total = -math.log(n_states) + B[path[0], observations[0]]
    for (a, b), o in zip(itertools.pairwise(path), observations[1:]):
        total += A[a, b] + B[b, o]
    return total


def weighted_edit_distance(insert_cost, delete_cost, substitute_cost, source="intention", target="execution"):
    """Edit distance between two words, with a cost for each kind of edit."""
    rows, cols = len(source) + 1, len(target) + 1
    dist = [[0.0 for _ in range(cols)] for _ in range(rows)]
    for i in range(1, rows):
        dist[i][0] = i * delete_cost
    for j in range(1, cols):
        dist[0][j] = j * insert_cost
    for i in range(1, rows):
        for j in range(1, cols):
            if source[i - 1] == target[j - 1]:
                cost = 0.0
            else:
                cost = substitute_cost
            dist[i][j] = min(dist[i - 1][j] + delete_cost, dist[i][j - 1] + insert_cost, dist[i - 1][j - 1] + cost)
    return dist[-1][-1]


ROADS = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (4, 0)]


def floyd_warshall(lengths):
    """Distances between all pairs of places on a map of one-way roads."""
    n = 1 + max(max(road) for road in ROADS)
    dist = np.full((n, n), np.inf)
    np.fill_diagonal(dist, 0.0)
    for (i, j), length in zip(ROADS, lengths):
        dist[i, j] = length
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = dist[i, k] + dist[k, j]
                if through < dist[i, j]:
                    dist[i, j] = through
    return dist


def knapsack_value(values, discount, weights=(3, 4, 2, 5, 1), capacity=9):
    """Best value of a knapsack where each further item counts a little less."""

    @functools.cache
    def best(i, room, taken):
        if i == len(weights):
            return 0.0
        skip = best(i + 1, room, taken)
        if weights[i] > room:
            return skip
        take = values[i] * discount**taken + best(i + 1, room - weights[i], taken + 1)
        return max(skip, take)

    return best(0, capacity, 0)


def local_alignment(match, mismatch, gap, first="GATTACAGT", second="GCATGCATA"):
    """Score of Smith and Waterman's best local alignment."""
    m, n = len(first), len(second)
    H = np.zeros((m + 1, n + 1))
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            s = match if first[i - 1] == second[j - 1] else -mismatch
            H[i, j] = max(0.0, H[i - 1, j - 1] + s, H[i - 1, j] - gap, H[i, j - 1] - gap)
    return H.max()


def time_warping(series, template, penalty=0.1):
    """Distance of two series by dynamic time warping, with a penalty on steps aside."""
    n, m = len(series), len(template)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (series[i - 1] - template[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j - 1], D[i - 1, j] + penalty, D[i, j - 1] + penalty)
    return math.sqrt(D[n, m])


def dijkstra_route(lengths, toll):
    """Cost of the cheapest route to each place, with a toll for each road that is taken."""
    graph = defaultdict(list)
    for (i, j), length in zip(ROADS, lengths):
        graph[i].append((j, length))
        graph[j].append((i, 1.1 * length))
    cost = {0: 0.0}
    queue = [(0.0, 0)]
    done = set()
    while queue:
        c, place = heapq.heappop(queue)
        if place in done:
            continue
        done.add(place)
        for neighbor, length in graph[place]:
            new = c + length + toll
            if neighbor not in cost or new < cost[neighbor]:
                cost[neighbor] = new
                heapq.heappush(queue, (new, neighbor))
    return np.array([cost[p] for p in sorted(cost)])


@dataclass(order=True)
class Event:
    time: float
    kind: str = field(compare=False)
    customer: int = field(compare=False)


def mean_waiting_time(gaps, services):
    """Mean time that customers wait for one of two clerks, by a queue of events."""
    arrivals = np.cumsum(gaps)
    events = [Event(t, "arrival", k) for k, t in enumerate(arrivals)]
    heapq.heapify(events)
    free_clerks = 2
    line = []
    waited = 0.0
    while events:
        event = heapq.heappop(events)
        if event.kind == "arrival":
            line.append(event.customer)
        else:
            free_clerks += 1
        while line and free_clerks > 0:
            customer = line.pop(0)
            waited += event.time - arrivals[customer]
            free_clerks -= 1
            heapq.heappush(events, Event(event.time + services[customer], "departure", customer))
    return waited / len(arrivals)


def matrix_chain(dimensions):
    """Least cost of a product of matrices, over all ways to set the brackets."""
    memo = {}

    def cost(i, j):
        if j - i == 1:
            return 0.0
        if (i, j) not in memo:
            options = [cost(i, k) + cost(k, j) + dimensions[i] * dimensions[k] * dimensions[j] for k in range(i + 1, j)]
            memo[i, j] = min(options)
        return memo[i, j]

    return cost(0, len(dimensions) - 1)


JOBS = [(0, 3), (2, 5), (4, 7), (1, 8), (6, 9), (8, 10)]


def weighted_schedule(profits, bonus):
    """Greatest profit of jobs that do not overlap; long jobs have a bonus."""
    jobs = sorted(zip(JOBS, profits), key=lambda job: job[0][1])
    ends = [end for (_, end), _ in jobs]
    best = [0.0]
    for i, ((start, end), profit) in enumerate(jobs):
        gain = profit + bonus * (end - start) if end - start > 2 else profit
        k = bisect.bisect_right(ends, start, hi=i)
        best.append(max(best[-1], best[k] + gain))
    return best[-1]


LENGTHS = np.array([4.0, 2.3, 1.9, 5.2, 8.1, 3.7, 2.2, 6.4])

PROGRAMS = [
    Program(viterbi_score, (np.array([[0.7, 0.4], [0.3, 0.9]]), np.array([[0.5, 0.4, 0.1], [0.1, 0.35, 0.6]]))),
    Program(weighted_edit_distance, (1.1, 0.9, 1.3)),
    Program(floyd_warshall, (LENGTHS,)),
    Program(knapsack_value, (np.array([4.1, 5.3, 2.2, 6.7, 1.4]), 0.9)),
    Program(local_alignment, (2.1, 0.8, 1.3)),
    Program(time_warping, (np.array([0.1, 0.9, 1.4, 0.6, -0.3]), np.array([0.0, 1.2, 1.5, 0.2]))),
    Program(dijkstra_route, (LENGTHS, 0.4)),
    Program(
        mean_waiting_time, (np.array([0.3, 0.5, 0.2, 0.9, 0.4, 0.1]), np.array([1.17, 1.74, 0.63, 1.31, 0.82, 0.95]))
    ),
    Program(matrix_chain, (np.array([3.0, 5.5, 2.1, 8.0, 4.2]),)),
    Program(weighted_schedule, (np.array([3.1, 2.4, 4.2, 6.0, 3.3, 1.7]), 0.25)),
]
