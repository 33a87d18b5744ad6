"""Schedules: every action finds what it needs, and the counts are those of the theory."""

import math

import pytest

import adjoint as ad
from adjoint.memory import CheckpointsAt, Disk, Halving, Online, Recompute, Revolve, fewest_calls, longest, schedule

PLANS = [
    Recompute(),
    Halving(),
    Revolve(1),
    Revolve(3),
    Revolve(6),
    Revolve(3, tuple(range(1, 21))),
    CheckpointsAt((5, 11)),
    Online(4),
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_actions_find_what_they_need(plan) -> None:
    found = schedule(plan, 20)
    at, slots, left = 0, {}, list(range(20))
    for action in found.actions:
        if action.kind == "store":
            assert action.start == at
            slots[action.slot] = at
        elif action.kind == "load":
            at = slots[action.slot]
            assert at == action.start
        elif action.kind == "advance":
            assert at == action.start < action.stop
            at = action.stop
        else:
            assert at == action.start == left.pop()
    assert not left
    assert found.peak <= plan.capacity(20)
    assert sum(found.repeats) == found.calls


def test_no_step_is_repeated_more_often_than_the_theory_says() -> None:
    for slots in (2, 3, 5):
        for repeats in (1, 2, 3):
            length = longest(slots, repeats)
            found = schedule(slots, length)
            assert max(found.repeats) <= repeats
            assert max(schedule(slots, length + 1).repeats) == repeats + 1
            assert (
                found.calls == fewest_calls(length, slots) == repeats * length - math.comb(slots + repeats, slots + 1)
            )


def test_costs() -> None:
    costs = (5.0, 1.0, 1.0, 1.0, 9.0, 1.0)
    cheapest = schedule(Revolve(2, costs), 6)
    assert cheapest.cost(costs) < schedule(Revolve(2), 6).cost(costs)


def test_text_and_picture() -> None:
    found = schedule(2, 4)
    assert str(found).splitlines()[0] == "Revolve(count=2, costs=None) for 4 steps: 4 calls, 2 slots"
    axes = found.draw()
    assert "4 calls" in axes.get_title()
    red = [line for line in axes.lines if line.get_color() == "tab:red"]
    assert len(red) == 4
    with pytest.raises(ValueError, match="at least one step"):
        schedule(2, 0)
    with pytest.raises(ValueError, match="is no plan"):
        ad.memory.schedule("best", 4)  # type: ignore[arg-type]


def test_numbers_that_make_no_schedule() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        fewest_calls(10, 0)
    with pytest.raises(ValueError, match="at least one step, not 2 and 4"):
        schedule(2, 4.5)  # type: ignore[arg-type]
    for make in (Revolve, Online, lambda n: Disk(slots=n)):
        with pytest.raises(ValueError, match="must be an integer"):
            make(2.5)
        with pytest.raises(ValueError, match="at least one slot, not 0"):
            make(0)
