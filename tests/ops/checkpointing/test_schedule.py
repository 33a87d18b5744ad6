"""Plans for the states of a loop: how many turns they compute, how many states they keep, against brute force."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.ops.checkpointing.schedule import (
    CheckpointsAt,
    Disk,
    Halving,
    Online,
    Plan,
    Recompute,
    Revolve,
    binomial_advance,
    plan_of,
)
from adjoint.ops.checkpointing.unequal_costs import cheapest_advances


@functools.cache
def fewest(k: int, s: int) -> int:
    """The fewest turns, by trying every place for the next state."""
    if k == 1:
        return 0
    if s == 1:
        return k * (k - 1) // 2
    return min(fewest(k - far, s - 1) + fewest(far, s) + far for far in range(1, k))


def replayed(plan: Plan, length: int) -> tuple[int, int]:
    """(turns computed, states kept at once) of a reversal; every state is where the next step looks for it."""
    states = dict(enumerate(plan.stored(length)))
    states.setdefault(len(states), length - 1) if length - 1 not in states.values() else None
    calls, peak, left = length - 1, len(plan.stored(length)), list(range(length))
    for step in plan.reversal(length):
        assert states[step.slot] == step.start
        calls += step.advance
        states[step.kept] = step.start + step.advance
        if step.reversed is not None:
            assert left.pop() == step.reversed == states.pop(step.kept)
        peak = max(peak, sum(slot < plan.capacity(length) for slot in states))
    assert not left
    return calls, peak


PLANS = [
    Recompute(),
    Halving(),
    Revolve(1),
    Revolve(2),
    Revolve(3),
    Revolve(7),
    Revolve(40),
    CheckpointsAt((3, 5)),
    Online(1),
    Online(4),
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 31])
def test_every_turn_is_taken_back_once_from_its_own_state(plan: Plan, length: int) -> None:
    calls, peak = replayed(plan, length)
    assert calls >= length - 1
    assert peak <= plan.capacity(length) + isinstance(plan, Online)  # the running state has a row of its own


@given(st.integers(1, 60), st.integers(1, 8))
def test_the_formula_is_as_good_as_every_choice(length: int, slots: int) -> None:
    assert replayed(Revolve(slots), length)[0] == fewest(length, slots)


def test_the_formula_for_long_loops() -> None:
    """A million turns in 40 slots: no turn is computed more than four times."""
    length, slots = 1_000_000, 40
    repeats = next(r for r in range(50) if math.comb(slots + r, slots) >= length)
    far = binomial_advance(length, slots)
    assert repeats == 5 or math.comb(slots + repeats, slots) >= length
    assert math.comb(slots + repeats - 2, slots) <= far <= math.comb(slots + repeats - 1, slots)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=7), st.integers(2, 4))
def test_unequal_costs_against_all_choices(costs: list[float], slots: int) -> None:
    until = [0.0, *itertools.accumulate(costs)]

    def best(i: int, j: int, s: int) -> float:
        if j - i == 1:
            return 0.0
        if s == 1:
            return sum(until[m] - until[i] for m in range(i + 1, j))
        return min(until[m] - until[i] + best(m, j, s - 1) + best(i, m, s) for m in range(i + 1, j))

    plan = Revolve(slots, tuple(costs))
    spent = until[-2]  # on the way forwards
    for step in plan.reversal(len(costs)):
        spent += until[step.start + step.advance] - until[step.start]
    np.testing.assert_allclose(spent, best(0, len(costs), plan.capacity(len(costs))), rtol=1e-12)


def test_equal_costs_are_no_costs() -> None:
    for length, slots in itertools.product([5, 12, 20], [2, 3, 5]):
        assert replayed(Revolve(slots, (1.0,) * length), length)[0] == fewest(length, slots)
    assert cheapest_advances((1.0,), 3) == ()


def test_what_users_write() -> None:
    assert plan_of(None, True, "scan") is None
    assert plan_of(6, True, "scan") == Revolve(6)
    assert plan_of("online", True, "scan") == Revolve(32)
    assert plan_of(6, False, "while_loop") == Online(6)
    assert plan_of("full", False, "while_loop") == Recompute()
    disk = plan_of(Disk(slots=3), True, "scan")
    assert disk is not None
    assert disk.disk is not None
    assert disk.capacity(10) == 3
    everything = plan_of(Disk(), True, "scan")
    assert everything is not None
    assert everything.capacity(10) == 10


@pytest.mark.parametrize(
    "checkpoint, known, text",
    [
        ("binomial", True, "is no plan"),
        (True, True, "is no plan"),
        ("halving", False, "known beforehand"),
        (CheckpointsAt((2,)), False, "known beforehand"),
    ],
)
def test_what_users_should_not_write(checkpoint: object, known: bool, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        plan_of(checkpoint, known, "scan")
    with pytest.raises(ValueError, match="at least one slot"):
        Revolve(0)
    with pytest.raises(ValueError, match="3 costs were given for a loop of 4 iterations"):
        Revolve(2, (1.0, 2.0, 3.0)).stored(4)
