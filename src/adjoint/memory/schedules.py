"""Schedules: what a plan does with the states of a chain of K steps, action by action.

    store    the state s_p goes to a slot
    load     a state comes back from a slot
    advance  s_p → s_q by q-p calls
    reverse  the step p is taken backwards (its own evaluation is not counted as a call)

With r the smallest number such that K ≤ β(S, r) = C(S+r, S), the fewest calls possible with S slots are

    C*(K, S) = r K - C(S+r, S+1),

and no step is called more than r times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from adjoint.ops.checkpointing.schedule import Plan, plan_of


class Action(NamedTuple):
    """One thing that is done; `slot` for store and load, `start` ≤ `stop` for advance, `start` the state or step."""

    kind: Literal["store", "load", "advance", "reverse"]
    start: int
    stop: int
    slot: int | None = None

    def __str__(self) -> str:
        if self.kind == "advance":
            return f"advance {self.start} → {self.stop}"
        return f"reverse {self.start}" if self.slot is None else f"{self.kind} s{self.start} in slot {self.slot}"


def longest(slots: int, repeats: int) -> int:
    """β(S, r) = C(S+r, S): the longest chain that S slots reverse with no step called more than r times.

    ```python
    ad.memory.longest(3, 3)  # → 20
    ```
    """
    return math.comb(slots + repeats, slots)


def fewest_calls(length: int, slots: int) -> int:
    """C*(K, S), by the formula.

    ```python
    ad.memory.fewest_calls(64, 6)  # → 156
    ```
    """
    if slots < 1 or length < 0:
        raise ValueError(f"fewest_calls: needs a chain and at least one slot for it; got {length} steps and {slots}.")
    repeats = 0
    while longest(slots, repeats) < length:
        repeats += 1
    return repeats * length - math.comb(slots + repeats, slots + 1)


@dataclass(frozen=True)
class Schedule:
    """The reversal of a chain: its actions, and what they cost.

    ```python
    plan = ad.memory.schedule(2, 4)
    plan.calls, plan.peak  # → (4, 2)
    ```
    """

    plan: Plan
    length: int
    actions: tuple[Action, ...]

    @property
    def calls(self) -> int:
        """How many steps are computed forwards."""
        return sum(a.stop - a.start for a in self.actions if a.kind == "advance")

    @property
    def repeats(self) -> list[int]:
        """How often each step is computed forwards."""
        counts = [0] * self.length
        for a in self.actions:
            if a.kind == "advance":
                for step in range(a.start, a.stop):
                    counts[step] += 1
        return counts

    def cost(self, costs: Sequence[float]) -> float:
        """The cost of all calls, when steps cost differently."""
        return math.fsum(c * n for c, n in zip(costs, self.repeats, strict=True))

    @property
    def peak(self) -> int:
        """How many slots are in use at once."""
        return max(len(held) for _, held in self.held())

    def held(self) -> Iterator[tuple[Action, dict[int, int]]]:
        """Each action, with the states (by slot) that are kept after it."""
        slots: dict[int, int] = {}
        reversed_from = self.length
        for action in self.actions:
            if action.kind == "store" and action.slot is not None:
                slots[action.slot] = action.start
            if action.kind == "reverse":
                reversed_from = action.start
            slots = {slot: state for slot, state in slots.items() if state < reversed_from or state == 0}
            yield action, dict(slots)

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.plan} for {self.length} steps: {self.calls} calls, {self.peak} slots", *map(str, self.actions)]
        )

    def draw(self, axes: Any = None) -> Any:
        """The memory triangle: time runs down, the chain to the right; returns the Matplotlib axes.

        Lines are steps computed forwards, triangles steps taken backwards, and the gray bars the states in slots.
        """
        from matplotlib import pyplot

        if axes is None:
            axes = pyplot.subplots(figsize=(6, 5), layout="constrained")[1]
        time, held_since = 0, dict[tuple[int, int], int]()
        before: dict[int, int] = {}
        for action, held in self.held():
            if action.kind == "advance":
                axes.plot(
                    [action.start, action.stop], [time, time + action.stop - action.start], color="tab:blue", lw=1.2
                )
                time += action.stop - action.start
            elif action.kind == "reverse":
                axes.plot([action.start + 1, action.start], [time, time + 1], color="tab:red", lw=1.2)
                time += 1
            for slot, state in held.items():
                if before.get(slot) != state:
                    held_since[slot, state] = time
            for slot, state in before.items():
                if held.get(slot) != state:
                    self._bar(axes, state, held_since.pop((slot, state)), time)
            before = held
        for (_, state), since in held_since.items():
            self._bar(axes, state, since, time)
        axes.set(xlabel="state", ylabel="time", title=f"{self.plan}: {self.calls} calls, {self.peak} slots")
        axes.invert_yaxis()
        return axes

    @staticmethod
    def _bar(axes: Any, state: int, since: int, until: int) -> None:
        axes.plot([state, state], [since, until], color="0.75", lw=3, zorder=0, solid_capstyle="butt")


def schedule(checkpoint: Plan | int | str, length: int) -> Schedule:
    """What a plan (or what `scan(checkpoint=…)` takes) does with a chain of K steps.

    ```python
    ad.memory.schedule(ad.memory.Revolve(6), 64).calls  # → 156
    ```
    """
    known = checkpoint if isinstance(checkpoint, Plan) else plan_of(checkpoint, True, "schedule")
    if known is None or not isinstance(length, int | np.integer) or length < 1:
        raise ValueError(f"schedule: needs a plan and at least one step, not {checkpoint!r} and {length}.")
    return Schedule(known, int(length), tuple(_actions(known, int(length))))


def _actions(plan: Plan, length: int) -> Iterator[Action]:
    at = 0
    capacity = plan.capacity(length)
    for slot, position in enumerate(plan.stored(length)):
        if position > at:
            yield Action("advance", at, position)
        if slot < capacity:
            yield Action("store", position, position, slot)
        at = position
    if length - 1 > at:
        yield Action("advance", at, length - 1)
    at = length - 1
    for step in plan.reversal(length):
        if step.start != at or step.advance:
            yield Action("load", step.start, step.start, step.slot)
            at = step.start
        if step.advance:
            yield Action("advance", at, at + step.advance)
            at += step.advance
            if step.kept < capacity and at != step.reversed:
                yield Action("store", at, at, step.kept)
        if step.reversed is not None:
            yield Action("reverse", step.reversed, step.reversed)
            at = -1
