"""Total variation of a sequence, λ Σ |xᵢ₊₁ - xᵢ|: its proximal operator is exact, in O(n) as a rule.

The nearest sequence is constant on segments. Its running sum is a string pulled taut within a tube of width 2γλ around
the running sum of x; where the string bends, a segment ends. On a segment p is the mean of x, moved by γλ at each end
towards the neighbor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.api.control_flow import while_loop
from adjoint.jit import jit
from adjoint.numpy.indexing import take
from adjoint.optimize.proximal.term import Term, check_positive
from adjoint.optimize.sets.pooling import sum_by
from adjoint.optimize.sets.set import face
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["total_variation"]


@final
@dataclass(frozen=True, eq=False)
class TotalVariation(Term):
    """λ Σ |xᵢ₊₁ - xᵢ|."""

    factor: Any = 1.0
    name: ClassVar[str] = "total_variation"
    axes: ClassVar[int | None] = 1

    def _value(self, x: Value) -> Value:
        rise = x[1:] - x[:-1]
        return self.factor * np.sum(np.where(face(rise) < 0, -rise, np.where(face(rise) > 0, rise, 0.0)))

    def _prox(self, x: Value, step: Any) -> Value:
        t = step * self.factor + np.zeros((), x.dtype)
        if x.size < 2:
            return x
        bends = _bends(face(x), face(t))
        n = x.size
        segment = np.cumsum(np.abs(bends))
        # p rises at a bend of +1: the segment before is moved up, the one behind down
        moved = bends.astype(x.dtype)
        pull = sum_by(segment[:-1], moved[1:], n) - sum_by(segment, moved, n)
        sums = sum_by(segment, x, n)
        count = np.maximum(sum_by(segment, np.ones(n, x.dtype), n), 1)
        return ((sums + t * pull) / count)[segment]


def _bends(x: Value, t: Value) -> Value:
    traced = isinstance(x, TRACED) or isinstance(t, TRACED)
    return _find_bends(x, t) if traced else _find_compiled(x, t)


def _find_bends(x: Value, t: Value) -> Value:
    """+1 where a segment begins that lies above the one before, -1 below, 0 elsewhere.

    The numbers low and high are how steep the lines are from the last bend that still fit into the tube; its corners
    that determine them are remembered. Where the tube leaves no line, the string bends at such a corner.
    """
    n = len(x)
    # a loop is one of the program where all that it begins with and reads is traced
    follow = lambda v, other: np.where(other == other, v, v)
    x, t = follow(x, t), follow(t, x[0])
    sums = np.concatenate([np.zeros(1, x.dtype), np.cumsum(x)])
    top = sums + np.where((np.arange(n + 1) > 0) & (np.arange(n + 1) < n), t, 0.0)
    bottom = sums - np.where((np.arange(n + 1) > 0) & (np.arange(n + 1) < n), t, 0.0)

    def step(state: Any) -> Any:
        start, height, i, low, low_at, high, high_at, bends = state
        length = (i - start).astype(x.dtype)
        up, down = (take(top, i) - height) / length, (take(bottom, i) - height) / length
        # the string must go over the bottom and under the top: a bend where that is no longer possible
        rises, falls = down > high, up < low
        bent = np.logical_or(rises, falls)
        at = np.where(rises, high_at, low_at)
        tighter_low, tighter_high = down >= low, up <= high
        new_low, new_low_at = np.where(tighter_low, down, low), np.where(tighter_low, i, low_at)
        new_high, new_high_at = np.where(tighter_high, up, high), np.where(tighter_high, i, high_at)
        bends = bends.copy()
        mark = np.where(bent, at, n)
        bends[mark] = np.where(bent, np.where(rises, 1, -1), 0)
        new_height = np.where(rises, take(top, at), np.where(falls, take(bottom, at), height))
        inf = np.inf * np.ones_like(low)
        pick = lambda yes, no: np.where(bent, yes, no)
        lows, highs = (pick(-inf, new_low), pick(at, new_low_at)), (pick(inf, new_high), pick(at, new_high_at))
        return (pick(at, start), new_height, pick(at + 1, i + 1), *lows, *highs, bends)

    one = follow(np.int64(1), t)
    inf = np.inf + 0.0 * t
    first = (0 * one, 0.0 * t, one, -inf, 0 * one, inf, 0 * one, follow(np.zeros(n + 1, np.int64), t))
    return while_loop(lambda state: state[2] <= n, step, first)[-1][:n]


_find_compiled: Any = jit(_find_bends)


def total_variation(factor: Any = 1.0) -> TotalVariation:
    """λ Σ |xᵢ₊₁ - xᵢ| of a vector; the proximal operator is exact.

    ```python
    x = np.array([1.0, 1.2, 0.8, 5.0, 5.2])
    ad.optimize.proximal.total_variation(0.6).prox(x)  # → [1.2, 1.2, 1.2, 4.8, 4.8]
    ```
    """
    check_positive("total_variation", "factor", factor, single=True)
    return TotalVariation(factor)
