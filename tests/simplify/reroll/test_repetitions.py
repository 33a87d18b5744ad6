"""Repetitions of tokens, against a search that tries every period at every position."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adjoint.simplify.reroll.repetitions import find_repetitions


def every_run(tokens, fewest):
    """All maximal (start, stop, period) of a smallest period, by trying."""
    found = set()
    n = len(tokens)
    for period in range(1, n // fewest + 1):
        start = 0
        while start < n - period:
            stop = start
            while stop + period < n and tokens[stop] == tokens[stop + period]:
                stop += 1
            if stop - start + period >= fewest * period:
                word = tuple(tokens[start : start + period])
                smaller = any(period % d == 0 and word == word[:d] * (period // d) for d in range(1, period))
                if not smaller:
                    found.add((start, stop + period, period))
            start = stop + 1
    return found


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 9)), min_size=1, max_size=5)
)
def test_all_runs_are_found(parts):
    tokens = [t for word, times in parts for t in word * times]
    assert set(find_repetitions(np.array(tokens), 5)) == every_run(tokens, 5)


def test_short_periods_come_first():
    tokens = np.array([*[1, 2] * 10, *[3] * 10, *[1, 2] * 10, *[3] * 10] * 5)
    periods = [period for _, _, period in find_repetitions(tokens, 4)]
    assert periods == sorted(periods)
    assert set(periods) == {1, 2, 30}


def test_a_long_program_takes_time_in_proportion():
    tokens = np.tile(np.arange(50), 4000)
    assert find_repetitions(tokens, 8) == [(0, 200_000, 50)]
