"""Where a loop keeps its states, so that reverse mode can have all of them with few slots of memory.

Reverse mode needs the states s_{K-1}, …, s₀ of a loop of K iterations, in this order. With S slots some of them are
kept and the others computed again from the nearest one before them. One rule says everything: in a stretch of k
iterations whose first state is in a slot, with s slots left for it (that one among them), the next state to be kept is
l iterations on;

    C(k, s) = C(k-l, s-1) + C(l, s) + l,    C(1, s) = 0,    C(k, 1) = k(k-1)/2

iterations are computed in all. The state that is being worked on is not counted as a slot.

| plan | l | slots | iterations computed |
|---|---|---|---|
| `Recompute` | k-1 | 1 | K(K-1)/2 |
| `Halving` | ⌊k/2⌋ | ⌈log₂ K⌉ | (K/2) log₂ K |
| `Revolve(S)` | the best one, by a formula | S | rK - C(S+r, S+1), the fewest possible |
| `Revolve(S, costs)` | the best one, by a table | S | the cheapest possible |
| `CheckpointsAt(positions)` | k-1 | as many as positions | |
| `Online(S)` | as for `Revolve` | S | close to the fewest, for a loop whose length is not known |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.records import record
from adjoint.ops.checkpointing.disk import Files
from adjoint.ops.checkpointing.unequal_costs import cheapest_advances
from adjoint.program.save import RECORDS

_INTEGER: Any = np.integer
FIRST = 1 << 40  # the level of the first state, which is never given up


def binomial_advance(k: int, s: int) -> int:
    """The best l for k ≥ 2 iterations and s slots, all iterations costing the same.

    With β(s, r) = C(s+r, s), the longest stretch in which no iteration is computed more than r times, and r the
    smallest number with k ≤ β(s, r), every l is best that leaves both parts within the same bounds: β(s, r-2) ≤ l ≤
    β(s, r-1) and β(s-1, r-1) ≤ k-l ≤ β(s-1, r). This is the largest one.
    """
    if s == 1:
        return k - 1
    r, before, reach = 0, 1, 1  # β(s, r-1), β(s, r)
    while reach < k:
        r, before, reach = r + 1, reach, reach * (s + r + 1) // (r + 1)
    return min(before, k - before * s // (s + r - 1))


def _check_count(title: str, count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int | _INTEGER):
        raise ValueError(f"{title}: the number of slots is {count!r}; it must be an integer.")
    if count < 1:
        raise ValueError(f"{title}: needs at least one slot, not {count}: the first state has to be somewhere.")


class Step(NamedTuple):
    """One step of a reversal: from the state in slot `slot`, `advance` iterations on; that state is kept in `kept`."""

    slot: int
    start: int
    advance: int
    kept: int  # the slot that the state goes to; `slot` itself when nothing was advanced
    reversed: int | None  # the iteration that is then taken backwards, if one is


@record
class Plan(ABC):
    """What a loop keeps. `disk` says where, when it is not memory.

    ```python
    isinstance(ad.memory.Revolve(3), ad.memory.Plan)  # → True
    ```
    """

    @abstractmethod
    def capacity(self, length: int) -> int:
        """How many states it keeps at once, at most."""

    @abstractmethod
    def advance(self, k: int, s: int) -> int:
        """How far on the next state is kept, in a stretch of k ≥ 2 iterations with s slots."""

    @property
    def disk(self) -> Files | None:
        return None

    def stored(self, length: int) -> tuple[int, ...]:
        """The states that are kept while the loop runs forwards, s₀ first."""
        positions = [0]
        while length - positions[-1] > 1 and len(positions) < self.capacity(length):
            positions.append(
                positions[-1] + self.advance(length - positions[-1], self.capacity(length) - len(positions) + 1)
            )
        return tuple(positions)

    def table(self, length: int) -> tuple[int, ...] | None:
        """The advances of the whole reversal in order, where no formula gives them."""
        return None

    def reversal(self, length: int, positions: Sequence[int] | None = None, slots: int | None = None) -> Iterator[Step]:
        """The steps after the loop has run forwards, when `positions` are kept and the last state is at hand."""
        size = self.capacity(length) if slots is None else slots
        stack = list(self.stored(length) if positions is None else positions)
        stack += [length - 1] if stack[-1] != length - 1 else []
        table = self.table(length)
        rest = iter((table or ())[len(self.stored(length)) - 1 :])
        end = length
        while end:
            start, slot = stack[-1], len(stack) - 1
            k, s = end - start, size - slot
            far = 0 if k == 1 else k - 1 if s == 1 else next(rest) if table is not None else self.advance(k, s)
            stack += [start + far] if far else []
            is_reversed = stack[-1] == end - 1
            yield Step(slot, start, far, len(stack) - 1, end - 1 if is_reversed else None)
            if is_reversed:
                stack.pop()
                end -= 1


@record
class Recompute(Plan):
    """Keep nothing but the first state: every other one is computed again from it.

    ```python
    ad.memory.schedule(ad.memory.Recompute(), 64).calls  # → 2016
    ```
    """

    def capacity(self, length: int) -> int:
        return 1

    def advance(self, k: int, s: int) -> int:
        return k - 1


@record
class Halving(Plan):
    """Keep the state in the middle, and do the same with both halves.

    ```python
    ad.memory.schedule(ad.memory.Halving(), 64).calls  # → 192
    ```
    """

    def capacity(self, length: int) -> int:
        return max(1, (length - 1).bit_length())

    def advance(self, k: int, s: int) -> int:
        return k // 2 if s > 1 else k - 1


@record
class CheckpointsAt(Plan):
    """Keep the states after these numbers of iterations, and the first state.

    ```python
    ad.memory.schedule(ad.memory.CheckpointsAt((2, 4)), 6).calls  # → 7
    ```
    """

    positions: tuple[int, ...]

    def capacity(self, length: int) -> int:
        return len(self.stored(length))

    def stored(self, length: int) -> tuple[int, ...]:
        return tuple(sorted({0, *[p for p in self.positions if 0 < p < length]}))

    def advance(self, k: int, s: int) -> int:
        return k - 1


@record
class Revolve(Plan):
    """Keep S states at once, and recompute as few iterations as possible: binomial checkpointing, as in revolve.

    `costs` says what each iteration costs, when they differ; then planning takes O(K³S) operations.

    ```python
    f = lambda x: ad.fori_loop(0, 50, lambda i, y: y * x, 1.0, checkpoint=ad.memory.Revolve(4))
    ad.grad(f)(1.0)  # → 50.0
    ```
    """

    count: int
    costs: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _check_count("Revolve", self.count)
        if self.costs is not None:
            object.__setattr__(self, "costs", tuple(float(c) for c in self.costs))

    def capacity(self, length: int) -> int:
        return max(1, min(self.count, length))

    def advance(self, k: int, s: int) -> int:
        return binomial_advance(k, s)

    def stored(self, length: int) -> tuple[int, ...]:
        if self.costs is None:
            return super().stored(length)
        positions, advances = [0], iter(self.table(length) or ())
        while length - positions[-1] > 1 and len(positions) < self.capacity(length):
            positions.append(positions[-1] + next(advances))
        return tuple(positions)

    def table(self, length: int) -> tuple[int, ...] | None:
        if self.costs is None:
            return None
        if len(self.costs) != length:
            raise ValueError(f"Revolve: {len(self.costs)} costs were given for a loop of {length} iterations.")
        return cheapest_advances(self.costs, self.capacity(length))


@record
class Online(Plan):
    """Keep S states at once in a loop whose length is not known; as many iterations again as `Revolve`, or few more.

    While the loop runs, every state is kept when it is reached, with level 0. When all slots are taken, a state goes
    that has a later one of a higher level; if there is none, the latest goes and the new one is a level above it. (The
    state that is being worked on takes part in this, as one more slot.)

    ```python
    f = lambda x: ad.while_loop(lambda y: y < 100.0, lambda y: y * x, x, checkpoint=ad.memory.Online(3))
    ad.grad(f)(2.0)  # → 448.0
    ```
    """

    count: int = 32

    def __post_init__(self) -> None:
        _check_count("Online", self.count)

    def capacity(self, length: int) -> int:
        return self.count

    def advance(self, k: int, s: int) -> int:
        return binomial_advance(k, s)

    def stored(self, length: int) -> tuple[int, ...]:
        checkpoints = OnlineCheckpoints(self.count)
        for t in range(length):
            checkpoints.next(t)
        return tuple(checkpoints.positions)


class OnlineCheckpoints:
    """The checkpoints of a running loop, chosen by `Online`'s rule: in order of time, with levels and rows."""

    def __init__(self, count: int) -> None:
        self.size = count + 1
        self.positions: list[int] = []
        self.levels: list[int] = []
        self.rows: list[int] = []

    def next(self, iteration: int) -> int:
        """The row for the state before an iteration."""
        if len(self.positions) < self.size:
            row, level = len(self.positions), 0 if self.positions else FIRST
        else:
            gone = next((i for i in range(1, self.size) if self.levels[i] < max(self.levels[i:])), self.size - 1)
            level = self.levels[-1] + 1 if gone == self.size - 1 else 0
            row = self.rows.pop(gone)
            del self.positions[gone], self.levels[gone]
        self.positions.append(iteration)
        self.levels.append(level)
        self.rows.append(row)
        return row


@record
class OnDisk(Plan):
    """Another plan, with the states in files."""

    plan: Plan
    files: Files

    @property
    def disk(self) -> Files | None:
        return self.files

    def capacity(self, length: int) -> int:
        return self.plan.capacity(length)

    def advance(self, k: int, s: int) -> int:
        return self.plan.advance(k, s)

    def stored(self, length: int) -> tuple[int, ...]:
        return self.plan.stored(length)

    def table(self, length: int) -> tuple[int, ...] | None:
        return self.plan.table(length)


@record
class Disk:
    """Keep the states in temporary files: S of them at once, or all of them.

    (In a loop whose length is not known, all means 1024.)

    ```python
    f = lambda x: ad.fori_loop(0, 10, lambda i, y: y * x, 1.0, checkpoint=ad.memory.Disk())
    ad.grad(f)(1.0)  # → 10.0
    ```
    """

    directory: str | None = None
    slots: int | None = None

    def __post_init__(self) -> None:
        if self.slots is not None:
            _check_count("Disk", self.slots)

    def plan(self, known: bool) -> Plan:
        """The plan for a loop whose length is known, or not."""
        count = self.slots if self.slots is not None else 1 << 60 if known else 1024
        return OnDisk(Revolve(count) if known else Online(count), Files(self.directory))


NAMES: dict[str, Plan] = {"full": Recompute(), "halving": Halving(), "online": Online()}


def plan_of(checkpoint: object, known: bool, title: str) -> Plan | None:
    """The plan that a user has asked for, for a loop whose length is known, or not."""
    if checkpoint is None or isinstance(checkpoint, Plan):
        plan = checkpoint
    elif isinstance(checkpoint, str) and checkpoint in NAMES:
        plan = NAMES[checkpoint]
    elif isinstance(checkpoint, Disk):
        return checkpoint.plan(known)
    elif isinstance(checkpoint, int) and not isinstance(checkpoint, bool):
        plan = Revolve(checkpoint)
    elif isinstance(checkpoint, _INTEGER):
        plan = Revolve(int(str(checkpoint)))
    else:
        raise ValueError(
            f"{title}: checkpoint={checkpoint!r} is no plan. Give None (keep everything that the backward pass "
            'reads), a number of slots, "full", "halving", "online", or a plan of ad.memory (Revolve, CheckpointsAt, '
            "Online, Disk)."
        )
    if known:
        return Revolve(plan.count) if isinstance(plan, Online) else plan
    if isinstance(plan, Revolve) and plan.costs is None:
        return Online(plan.count)
    if plan is None or isinstance(plan, Online | Recompute):
        return plan
    raise ValueError(
        f"{title}: {plan} needs a loop whose length is known beforehand. Give a number of slots: the states to keep "
        "are then chosen while the loop runs."
    )


for _plan in (Recompute, Halving, CheckpointsAt, Revolve, Online, OnDisk, Files):
    RECORDS[_plan.__name__] = _plan
