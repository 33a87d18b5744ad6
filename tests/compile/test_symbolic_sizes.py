"""Sizes with formulas: arithmetic as of whole numbers, and the comparisons that code depends on."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.compile.symbolic_sizes import SizeError, Sym, collect, hold, plain, stop, value_of

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "sub", "mul", "rsub", "neg"]), st.one_of(st.integers(-4, 4), st.just("n"))),
    max_size=6,
)


@given(STEPS, st.integers(1, 30), st.integers(1, 30))
def test_arithmetic_is_that_of_whole_numbers(steps, first, second) -> None:
    """A formula made at one size gives the right number at another."""

    def run(n):
        x = n
        for name, y in steps:
            y = n if y == "n" else y
            if name == "neg":
                x = -x
            else:
                x = getattr(operator, name)(x, y) if name != "rsub" else y - x
        return x

    size = run(Sym.named("n", first))
    assert int(size) == run(first)
    polynomial = size.polynomial if isinstance(size, Sym) else ((((), int(size)),) if size else ())
    assert value_of(polynomial, {"n": second}) == run(second)


def test_comparisons_are_noted_and_hold_for_sizes_that_answer_alike() -> None:
    n, m = Sym.named("n", 10), Sym.named("m", 4)
    facts = []
    token = collect(facts)
    try:
        assert n > m
        assert n * m != 3
        assert not operator.eq(n, m + 5)
        assert n > n - 1  # of a plain number: nothing is noted
    finally:
        stop(token)
    assert len(facts) == 3
    assert hold(facts, {"n": 7, "m": 5})
    assert not hold(facts, {"n": 5, "m": 5})
    assert not hold(facts, {"n": 9, "m": 4})
    assert n > m  # noted nowhere: nobody collects
    assert len(facts) == 3


def test_what_needs_a_plain_number_is_refused() -> None:
    n = Sym.named("n", 12)
    assert (n * 12) // 4 == n * 3
    assert (n * 8) % 4 == 0
    for wrong in (
        lambda: str(n),
        lambda: f"{n}",
        lambda: n // 5,
        lambda: n % 5,
        lambda: 24 // n,
        lambda: n / 2,
        lambda: n & 3,
        lambda: n**2,
        lambda: divmod(n, 5),
    ):
        with pytest.raises(SizeError):
            wrong()
    assert type(plain(n)) is int
    assert type(n - n) is int
    assert type(n * 0) is int
