"""How long the primitives of a program take, one by one: the least of several runs, also in branches and iterations."""

# pyright: basic
from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.audit.flops import operations
from adjoint.base.source import Location
from adjoint.ops.linalg.linear_solve import LinearSolve
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program, Var, last_uses
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import Value
from adjoint.show.explanation.calls import Stack

__all__ = ["MOST_RUNS", "Site", "Timing", "least", "time_program"]

MOST_RUNS = 20


@dataclass(eq=False)
class Site:
    """An equation where it stands: the body of a loop that is called twice has two of each."""

    equation: Equation
    stack: Stack  # the calls around it; of one in a loop or branch, those around the loop, and its own line
    inside: tuple[str, ...]  # the loops and branches around it, outermost first
    backward: bool
    calls: int = 0
    nbytes: int = 0  # read and written
    flops: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The primitive."""
        return self.equation.op.title

    @property
    def location(self) -> Location | str | None:
        """The line of user code; where the equation has none, that of the loop around it."""
        location = self.equation.location
        return self.stack[-1] if location is None and self.stack else location


@dataclass
class Timing:
    """Sites, and what ran in order: indices into `sites`, and seconds."""

    sites: list[Site]
    order: array[int]
    seconds: array[float]  # the least of each
    runs: int
    whole_run: float  # the least sum of one run: more than the sum of the least where a machine is busy


def time_program(
    program: Program,
    values: Sequence[Value],
    seconds: float,
    stacks: Sequence[Stack] = (),
    backward: Sequence[bool] = (),
) -> Timing:
    """Run a program at least once, and again for about `seconds`; of each primitive the quickest run counts.

    `stacks` and `backward` say of each equation which calls it stands in, and whether it belongs to the backward pass.
    """
    walk = _Walk(stacks, backward)
    began = time.perf_counter()
    best = walk.through(program, values)
    order, runs, whole_run = walk.order, 1, float(best.sum())
    while runs < MOST_RUNS and _has_time(runs, time.perf_counter() - began, seconds):
        walk.counting = False
        again = walk.through(program, values)
        best, whole_run, runs = np.minimum(best, again), min(whole_run, float(again.sum())), runs + 1
    for site, spent in zip(order, best, strict=True):
        walk.sites[site].seconds += float(spent)
    return Timing(walk.sites, order, array("d", best.tobytes()), runs, whole_run)


def _has_time(runs: int, spent: float, seconds: float) -> bool:
    """Whether there is time for another run; the first three may take longer, since one alone is seldom the least."""
    return spent * (runs + 1) / runs < seconds or (runs < 3 and spent < 10 * seconds)


def least(call: Callable[[], Any], seconds: float) -> float:
    """The seconds that a call takes: the least of at least two, and of as many as take about `seconds`."""
    best, began, runs = float("inf"), time.perf_counter(), 0
    while runs < 2 or (runs < 50 * MOST_RUNS and time.perf_counter() - began < seconds):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
        runs += 1
    return best


def _clock_seconds() -> float:
    """What looking at the clock twice takes."""
    clock = time.perf_counter
    return min(-(clock() - clock()) for _ in range(1000))


class _Walk:
    """Evaluates programs with a clock around every primitive."""

    def __init__(self, stacks: Sequence[Stack], backward: Sequence[bool]) -> None:
        self.stacks, self.backward = stacks, backward
        self.sites: list[Site] = []
        self.numbers: dict[tuple[int, int], int] = {}  # (site around it, identity of the equation) -> index of its site
        self.counting = True
        self.bias = _clock_seconds()

    def through(self, program: Program, values: Sequence[Value]) -> np.ndarray:
        """The seconds of everything that ran, in order."""
        self.order, self.seconds = array("q"), array("d")
        with np.errstate(all="ignore"):
            self.run(program, values, -1)
        return np.array(self.seconds)

    def run(self, program: Program, args: Sequence[Value], parent: int) -> list[Value]:
        env: dict[Any, Value] = dict(zip(program.inputs, args, strict=True))
        env.update(program.constants)
        last = last_uses(program)
        for position, eq in enumerate(program.equations):
            xs = [env[a] if isinstance(a, Var) else a.value for a in eq.inputs]
            site = self.number(eq, parent, position)
            zs = self.inside(eq.op, xs, site)
            if zs is None:
                zs = [] if eq.op.effect else self.primitive(eq, xs, site)
            env.update(zip(eq.outputs, zs, strict=True))
            for v in last.get(position, ()):
                del env[v]
        return [env[a] if isinstance(a, Var) else a.value for a in program.outputs]

    def primitive(self, eq: Equation, xs: list[Value], number: int) -> list[Value]:
        op: Any = eq.op
        call = op.function if op.pointwise else op.evaluate
        begin = time.perf_counter()
        z = call(*xs)
        spent = time.perf_counter() - begin
        zs = list(z) if op.several else [z] if eq.outputs else []
        self.order.append(number)
        self.seconds.append(max(spent - self.bias, 0.0))
        if self.counting:
            site = self.sites[number]
            site.calls += 1
            site.nbytes += 0 if op.is_view else sum(np.asarray(v).nbytes for v in (*xs, *zs))
            site.flops += sum(operations(op, xs, zs) or (0, 0))
        return zs

    def number(self, eq: Equation, parent: int, position: int) -> int:
        """The index of the site of an equation; a new one is added."""
        number = self.numbers.get((parent, id(eq)))
        if number is None:
            number = self.numbers[parent, id(eq)] = len(self.sites)
            self.sites.append(self.site(eq, parent, position))
        return number

    def site(self, eq: Equation, parent: int, position: int) -> Site:
        if parent < 0:
            stack = self.stacks[position] if self.stacks else ()
            if not stack and isinstance(eq.location, Location):
                stack = (eq.location,)
            return Site(eq, stack, (), self.backward[position] if self.backward else eq.pulled is not None)
        outer = self.sites[parent]
        own = (eq.location,) if isinstance(eq.location, Location) and eq.location != outer.location else ()
        backward = outer.backward or eq.pulled is not None
        return Site(eq, (*outer.stack, *own), (*outer.inside, outer.name), backward)

    def inside(self, op: Any, xs: list[Value], site: int) -> Sequence[Value] | None:
        """The results of a primitive whose programs are timed one by one; None for all others."""
        return INSIDE[op](self, op, xs, site) if op.unrolls else None


# How the programs inside a primitive are timed: (walk, primitive, arguments, number of its site) -> its results
INSIDE: RuleTable[Callable[[_Walk, Any, list[Value], int], Sequence[Value]]] = RuleTable("profile")


@INSIDE.rule(Op)
def _unroll(walk: _Walk, op: Op, xs: list[Value], site: int) -> Sequence[Value]:
    return op.unroll(xs, lambda program, args: walk.run(program, args, site))


@INSIDE.rule(LinearSolve)
def _solve(walk: _Walk, op: LinearSolve, xs: list[Value], site: int) -> Sequence[Value]:
    """Solvers have Python loops of their own, which are quicker than their programs: the programs give the shares of
    the lines in what the loops take.
    """
    start = len(walk.seconds)
    results = _unroll(walk, op, xs, site)
    quiet = op.again()
    begin = time.perf_counter()
    quiet.evaluate(*xs)
    spent = time.perf_counter() - begin
    parts = sum(walk.seconds[start:])
    for k in range(start, len(walk.seconds)):
        walk.seconds[k] *= spent / parts if parts else 0.0
    return results
