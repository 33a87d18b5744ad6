"""Multi-indices α = (α₁ … αₙ), |α| = Σ αᵢ, and how derivatives along directions give all mixed ones.

Along the directions s ∈ ℕⁿ with |s| = d, of which there are C(n + d - 1, d), the Taylor coefficients F_s,k of
t ↦ f(x + t s) determine every partial derivative up to order d (Griewank, Utke, Walther 2000):

    ∂^α f = Σ_s γ(α, s) F_s,|α|,    γ(α, s) = Σ_{0 < k ≤ α} (-1)^|α-k| C(α, k) C(d k/|k|, s) (|k|/d)^|α|.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np
from numpy.typing import NDArray

__all__ = ["count_of", "factorials", "interpolation", "multi_indices", "of_degree"]

Index = tuple[int, ...]


@functools.lru_cache(maxsize=256)
def of_degree(n: int, degree: int) -> tuple[Index, ...]:
    """All α ∈ ℕⁿ with |α| = degree: those of the first variables first."""
    if n == 0:
        return ((),) if degree == 0 else ()
    if n == 1:
        return ((degree,),)
    return tuple((k, *rest) for k in range(degree, -1, -1) for rest in of_degree(n - 1, degree - k))


@functools.lru_cache(maxsize=256)
def multi_indices(n: int, order: int) -> tuple[Index, ...]:
    """All α ∈ ℕⁿ with |α| ≤ order, by degree: C(n + order, order) of them.

    ```python
    ad.series.multi_indices(2, 1)  # → ((0, 0), (1, 0), (0, 1))
    ```
    """
    return tuple(itertools.chain.from_iterable(of_degree(n, degree) for degree in range(order + 1)))


def count_of(n: int, order: int) -> int:
    """How many partial derivatives there are up to an order, each counted once."""
    return math.comb(n + order, order)


def factorials(indices: tuple[Index, ...]) -> NDArray[np.float64]:
    """α! of each."""
    return np.array([math.prod(map(math.factorial, index)) for index in indices], float)


@functools.lru_cache(maxsize=64)
def interpolation(n: int, degree: int, order: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For the α of one degree: positions and weights, arrays (number of α, terms), with ∂^α f = Σ weights F[positions].

    Weights are padded with zeros, and exact until they are rounded. Only directions within the variables of α
    take part.
    """
    position = {s: i for i, s in enumerate(of_degree(n, order))}
    rows: list[dict[int, float]] = []
    for index in of_degree(n, degree):
        variables = sorted((v for v in range(n) if index[v]), key=index.__getitem__)
        pattern = tuple(index[v] for v in variables)
        row: dict[int, float] = {}
        for short, weight in _weights(pattern, order):
            full = [0] * n
            for v, s in zip(variables, short, strict=True):
                full[v] = s
            row[position[tuple(full)]] = weight
        rows.append(row)
    terms = max(map(len, rows), default=0)
    positions, weights = np.zeros((len(rows), terms), np.int64), np.zeros((len(rows), terms))
    for i, row in enumerate(rows):
        positions[i, : len(row)], weights[i, : len(row)] = list(row), list(row.values())
    return positions, weights


@functools.lru_cache(maxsize=1024)
def _weights(pattern: Index, order: int) -> list[tuple[Index, float]]:
    """γ(α, s) ≠ 0 for an α without zeros, in integers over one denominator, with m = lcm(1 … |α|), g = d - |α|:

    γ(α, s) d^|α| m^g s! = Σₖ (-1)^|α-k| C(α, k) (m/|k|)^g Πᵢ dkᵢ (dkᵢ - |k|) … (dkᵢ - (sᵢ - 1)|k|).
    """
    size = sum(pattern)
    gap, multiple = order - size, math.lcm(*range(1, size + 1))
    sums = dict.fromkeys(of_degree(len(pattern), order), 0)
    for k in itertools.product(*[range(a + 1) for a in pattern]):
        total = sum(k)
        if total == 0:
            continue
        outer = (-1) ** (size - total) * math.prod(map(math.comb, pattern, k)) * (multiple // total) ** gap
        falling = [
            list(itertools.accumulate((order * part - i * total for i in range(order)), operator.mul, initial=1))
            for part in k
        ]
        for s in sums:
            value = outer
            for table, power in zip(falling, s, strict=True):
                value *= table[power]
                if not value:
                    break
            sums[s] += value
    whole = order**size * multiple**gap
    return [(s, value / (whole * math.prod(map(math.factorial, s)))) for s, value in sums.items() if value]
