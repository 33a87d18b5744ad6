"""Jumps of f in the way of a solution: steps shrink in front of them, and derivatives of the steps do not see them.

Where f jumps at a time or a state that depends on what is differentiated, the derivative of the solution has a term for
the moved jump, which steps do not have. A stop or an event in its place has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.audit.kinks import kinks
from adjoint.base.source import warn_user
from adjoint.implicit.vectors import to_arrays
from adjoint.integrate.reading import known_value
from adjoint.integrate.system import System
from adjoint.program.program import interpret
from adjoint.program.trace import Tracer

__all__ = ["tell_of_jumps"]

PINCHED = 1e-3  # of an average step
NEAR = 20.0  # steps from the jump


def tell_of_jumps(title: str, system: System, ending: Any, span: Any, solve_to: Callable[[Any], Any]) -> str:
    """What to do about a jump in front of which steps shrank; empty without one. Where it is differentiated it warns.

    `solve_to(t)` is the state at a time.
    """
    known = [known_value(v) for v in (*ending.pinch, ending.counts.steps, *span, *system.theta)]
    if not ending.pinch or any(v is None for v in known) or any(v.ndim for v in known[:5]):
        return ""
    least, time, steps, t0, t1 = (float(v) for v in known[:5])
    at_an_end = min(abs(time - t0), abs(time - t1)) <= NEAR * least + 1e-12 * (1.0 + abs(time))
    if at_an_end or not least * steps < PINCHED * abs(t1 - t0):  # what comes at an end is not in the way
        return ""
    y = known_value(solve_to(np.float64(time)))
    if y is None or y.ndim != 1 or not np.all(np.isfinite(y)):
        return ""
    leaves = to_arrays(y[: system.size], system.layout.types)
    rate = system.with_theta(known[5:]).evaluate(np.float64(time), y)
    reach = NEAR * least * (1.0 + float(np.max(np.abs(rate)))) + 1e-12 * (1.0 + float(np.max(np.abs(y))) + abs(time))
    right = lambda t, *leaves: interpret(system.program, [t, *leaves, *known[5:]])
    found = [kink for kink in kinks(right, tolerance=reach)(np.float64(time), *leaves) if kink.kind == "jump"]
    if not found:
        return ""
    words = (f"f jumps at t = {time:.6g} ({found[0].line}). Where that is a known time, name it, stops=(…,); where it "
             "depends on y, make it an integrate.Event(g, terminal=False, then=…).")  # fmt: skip
    if any(isinstance(v, Tracer) for v in (ending.y, ending.saved)):
        warn_user(f"{title}: {words} The derivative of the steps does not see that a jump moves.")
    return words
