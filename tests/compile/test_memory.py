"""Buffers in the workspace: nothing overlaps, what was freed is used again."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from adjoint.compile.memory import ALIGNMENT, Arena
from adjoint.compile.symbolic_sizes import Sym, value_of


@given(st.lists(st.one_of(st.integers(1, 1000), st.just(None)), max_size=60), st.randoms(use_true_random=False))
def test_what_is_taken_never_overlaps(wishes, random) -> None:
    arena, taken = Arena(), []
    for nbytes in wishes:
        if nbytes is None:
            if taken:
                arena.free(*taken.pop(random.randrange(len(taken))))
            continue
        offset = arena.allocate(nbytes)
        assert offset % ALIGNMENT == 0
        assert offset + nbytes <= arena.size
        for other, length in taken:
            assert offset + nbytes <= other or other + length <= offset
        taken.append((offset, nbytes))
    for item in taken:
        arena.free(*item)
    before = arena.size
    if before:
        assert arena.allocate(before) == 0  # one gap again
        assert arena.size == before


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=20))
def test_buffers_of_sizes_that_are_known_at_run_time(wishes) -> None:
    """Whatever the size turns out to be, nothing overlaps."""
    arena, taken = Arena(), []
    n = Sym.named("n", 40)
    for factor, gives in wishes:
        if gives and taken:
            arena.free(*taken.pop(0))
        nbytes = n * factor
        taken.append((arena.allocate(nbytes), nbytes))
    for size in (1, 7, 40, 333):
        value = lambda x, size=size: value_of(x.polynomial, {"n": size}) if isinstance(x, Sym) else x
        spans = sorted((value(offset), value(offset) + value(nbytes)) for offset, nbytes in taken)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        assert not spans or spans[-1][1] <= value(arena.size)
