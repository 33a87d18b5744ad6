"""How far the arguments of each primitive are from where it is not smooth, and what it does beside a jump."""

# pyright: basic
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.kinks import NonSmooth
from adjoint.program.op import Op

__all__ = ["beside", "non_smooth"]

BESIDE = 1e-9


def beside(op: Op, xs: Sequence[Any], zs: Sequence[Any], element: tuple[int, ...]) -> list[Any]:
    """What a primitive that jumps gives on either side of the jump, for one element; empty where that is not known."""
    rule = op.kinks
    if rule is None or not rule.steps:
        return []
    if rule.steps == "tie":
        values = [np.logical_not(zs[0])]
    else:
        moving = rule.moving
        h = BESIDE * (1 + np.abs(xs[moving]))
        points = [[x + s * h if i == moving else x for i, x in enumerate(xs)] for s in (1, -1)]
        values = [op.evaluate(*point) for point in points]
    sides: list[Any] = []
    for value in values:
        changed = np.array(zs[0])
        changed[element] = np.asarray(value)[element]
        sides.append(changed[()])
    return sides


def non_smooth(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[NonSmooth, Any] | None:
    """Where a primitive is not smooth, and the distances of its elements from there; None: smooth everywhere.

    Integers are not differentiable, so that nothing can happen at them.
    """
    rule = op.kinks
    if rule is None or not any(np.asarray(x).dtype.kind in "fc" for x in xs):
        return None
    with np.errstate(all="ignore"):
        return rule, np.asarray(rule.distance(op, xs, zs), float)
