"""Jumps of an integrand along the path, whose movement the derivative of its integral does not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.integrate.derivative import detach
from adjoint.integrate.quadrature.jumps import may_jump, mean_size, warn_of_jumps
from adjoint.integrate.quadrature.statuses import Doubts
from adjoint.integrate.stepping import Ending, Plan, Settings, run
from adjoint.integrate.system import System
from adjoint.ops.custom import Attach
from adjoint.program.program import Program
from adjoint.program.types import Value
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.transform.custom import BatchedRule

__all__ = ["watch_integrand"]
DOUBTS = Doubts("integrate.solve", "warn")

PARTS = 64  # of the path: between them it is taken for straight lines
REMEDY = (
    "Integrate a smooth function times a number that is carried in y, and that an integrate.Event(g, terminal=False, "
    "change=…) switches where the integrand jumps."
)


def watch_integrand(plan: Plan, system: System, settings: Settings, y0: Value, ending: Ending) -> Ending:
    """The ending, with a warning where its integrals are differentiated and the integrand jumps on its way."""
    program, n = system.program, len(system.layout.types)
    integrand = drop_dead_code(Program(program.inputs, program.equations, program.outputs[n:], program.constants))
    if not system.extra or not may_jump(integrand, (False, *[True] * (len(program.inputs) - 1))):
        return ending
    times = np.zeros(0) if ending.events is None else np.reshape(ending.events.times, (-1,))
    integrals = ending.y[system.size :]
    beside = detach([*settings, y0, times, ending.t, *system.theta])
    (watched,) = Attach(_Watch(plan.quiet, system), 1)(*detach([integrals]), integrals, *beside)
    return ending._replace(y=np.concatenate([ending.y[: system.size], watched]))


@final
class _Watch:
    """Nothing but a look at the integrand, when integrals are differentiated."""

    title = "integrals"

    def __init__(self, plan: Plan, system: System) -> None:
        self.plan = plan._replace(adjoint="discretize", dense=0, saves=PARTS + 1, keeps_state=False)
        self.system = system.with_theta([])

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        self._look(xs)
        return dxs[:1]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        cond(np.any(cts[0] != 0), lambda: self._look(xs), lambda: np.bool_(False))
        return [cts[0] if wanted[0] else None, *[None] * (len(xs) - 1)]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)

    def _look(self, xs: Sequence[Value]) -> Value:
        """Warn of a jump, except where an event or a stop is."""
        k = len(Settings._fields)
        _, *given = detach(list(xs))
        settings, (y0, times, end, *theta) = Settings(*given[:k]), given[k:]
        begin = settings.t0
        length = np.where(end == begin, 1.0, end - begin)
        system = self.system.with_theta(theta)
        at = begin + (end - begin) * (np.arange(PARTS + 1) / PARTS)
        ys = run(self.plan, system, settings._replace(t1=end, saves=at), y0).saved
        asked = system.with_theta(theta[: len(theta) - self.plan.event_theta])

        def values(t: Value) -> Value:
            s = (t - begin) / length * PARTS
            i = np.clip(np.floor(s), 0, PARTS - 1)
            y, z = (np.take(ys, i.astype(np.int64) + j, axis=0) for j in (0, 1))
            y = y + (s - i).astype(ys.dtype) * (z - y)
            return asked.evaluate(t, np.concatenate([y, np.zeros(system.width - system.size, y.dtype)]))[system.size :]

        first, last = at[:-1], at[1:]
        marks = np.concatenate([times, settings.stops])[:, None]
        is_marked = np.any((marks - first) * (marks - last) <= 0, axis=0)
        segments = first, np.where(is_marked, first, last)
        there = lambda t: t
        mean = mean_size(values, there, at)
        warn_of_jumps(DOUBTS, values, there, segments, mean, REMEDY, words="the integrand jumps near t")
        return np.bool_(True)
