"""The cheapest closed set, against trying all sets."""

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from adjoint.simplify.loops.min_cut import cheapest_closed_set


def best_weight(weights: list[float], needs: list[list[int]], required: list[int]) -> float:
    items = range(len(weights))
    best = float("inf")
    for chosen in chain.from_iterable(combinations(items, k) for k in range(len(weights) + 1)):
        inside = set(chosen)
        if inside >= set(required) and all(n in inside for item in inside for n in needs[item]):
            best = min(best, sum(weights[item] for item in inside))
    return best


@st.composite
def problems(draw):
    n = draw(st.integers(1, 8))
    weights = draw(st.lists(st.integers(-9, 9).map(float), min_size=n, max_size=n))
    needs = draw(st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n))
    return weights, needs, draw(st.lists(st.integers(0, n - 1), max_size=3))


@given(problems())
def test_it_is_the_cheapest(problem) -> None:
    weights, needs, required = problem
    found = cheapest_closed_set(weights, needs, required)
    assert found >= set(required)
    assert all(need in found for item in found for need in needs[item])
    assert sum(weights[item] for item in found) == best_weight(weights, needs, required)
