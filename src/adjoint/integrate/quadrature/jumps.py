"""Jumps inside an integrand, whose movement the derivative of the integrand does not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.api.gradients import vmap
from adjoint.base.source import warn_user
from adjoint.debug import callback
from adjoint.integrate.quadrature.adaptive import Computed
from adjoint.program.program import Program
from adjoint.program.subprograms import all_equations
from adjoint.program.types import Value

__all__ = ["may_jump", "warn_of_jumps"]

NARROW = 1e-8  # of the whole interval: what is left around a jump
FEW = 8  # intervals that are looked at: that with a jump is the narrowest, or one next to it
HIGH = 1e-4  # of the values beside it


def may_jump(program: Program) -> bool:
    """Whether a program compares numbers, rounds them or asks for signs."""
    equations = list(all_equations(program))
    return any(v.type.dtype.kind in "bi" for eq in equations for v in eq.outputs) or any(
        eq.op.flat or (eq.op.kinks is not None and eq.op.kinks.kind == "jump") for eq in equations
    )


def warn_of_jumps(
    title: str, values: Callable[[Value], Value], there: Callable[[Value], Value], found: Computed, ends: Any
) -> None:
    """Warn, whenever the program runs, where the narrowest intervals of an integral have a jump inside.

    `values(x)` are those of f, and `there(s)` is x in the variable of the intervals.
    """
    widths = np.abs(found.right - found.left)
    least = np.argsort(np.where(widths == 0, np.inf, widths))[:FEW]
    left, right, width = found.left[least], found.right[least], widths[least]
    narrow = np.logical_and(width <= NARROW * np.abs(ends[1] - ends[0]), width != 0)

    def height(left: Value, right: Value) -> tuple[Value, Value]:
        x = there(left)
        before, after = values(x), values(there(right))
        size = np.maximum(np.max(np.abs(before)), np.max(np.abs(after)))
        return np.max(np.abs(after - before)) > HIGH * size, x

    def look() -> Value:
        is_high, x = vmap(height)(left, right)
        jumps = np.logical_and(narrow, is_high)
        return cond(np.any(jumps), lambda: tell(x[np.argmax(jumps)]), lambda: np.bool_(False))

    def tell(x: Value) -> Value:
        callback(lambda x: _warn(title, x), x)
        return np.bool_(True)

    cond(np.any(narrow), look, lambda: np.bool_(False))


def _warn(title: str, x: Any) -> None:
    warn_user(
        f"{title}: f jumps near x = {float(x):.6g}, and its derivative does not know that the jump moves. Name it: "
        "points=(…,), an expression of what it depends on."
    )
