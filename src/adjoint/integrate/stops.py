"""Stops: times at which f jumps. Steps end there, and f is asked from one side."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.integrate.derivative import detach
from adjoint.integrate.system import System
from adjoint.program.types import Value

__all__ = ["between_stops", "next_target", "restarted"]


def next_target(plan: Any, s: Any, now: Any) -> Value:
    """Where the next step may go at most: the next stop, or the end."""
    if not plan.stops:
        return s.t1
    at = np.minimum(now.stop, plan.stops - 1)
    return np.where(now.stop < plan.stops, s.stops[at], s.t1)


def between_stops(plan: Any, s: Any, system: System, theta: Any, stop: Value, direction: Value) -> System:
    """The equation between two stops: f is asked at times inside."""
    if not plan.stops:
        return system
    times = detach([s.stops])[0]
    before = times[np.maximum(stop - 1, 0)]
    after = times[np.minimum(stop, plan.stops - 1)]
    first = np.where(stop > 0, before + direction * np.spacing(np.abs(before)), -direction * np.inf)
    last = np.where(stop < plan.stops, after - direction * np.spacing(np.abs(after)), direction * np.inf)
    return system.with_theta(theta).within(np.minimum(first, last), np.maximum(first, last))


def restarted(system: System, method: Any, t: Value, state: Any, at_stop: Value) -> Any:
    """At a stop f may jump: what the state keeps of f is computed again, from the right."""
    return cond(at_stop, lambda: method.start(system, t, method.value(state)), lambda: state)
