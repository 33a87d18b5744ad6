"""Derivatives of the solution of a program: the equations of its active set, with one factorization at a point.

A constraint that holds without pressing (multiplier and slack are both zero) is weakly active: the solution then has a
derivative for each direction. Forward mode on plain values gives it, by principal pivoting; else the constraint is
taken for an equation, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.implicit.diagnosis import Watch, call_where
from adjoint.implicit.equation import Stacked, factor_or_nan
from adjoint.ops.implicit_solve import Equation, is_plain_array, is_same
from adjoint.optimize.programs.interior_point import Program, conditions_matrix, find_active
from adjoint.program.program import Program as Recorded
from adjoint.program.trace import TRACED, Tracer, primal
from adjoint.program.types import Value
from adjoint.scipy import linalg

__all__ = ["ProgramEquation"]


@final
@dataclass(frozen=True)
class ProgramEquation:
    """∂F t = b, where θ begins with the data (A, G, P, b, h, q) and x is (y, z, x)."""

    watch: Watch

    def solve(
        self, residual: Recorded, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        if all(is_plain_array(part) and not np.any(part) for part in b):
            target = residual.output_types if adjoint else residual.input_types[len(theta) :]
            return [np.zeros(t.shape, t.dtype) for t in target]  # nothing is asked, of a singular equation either
        A, G, P, right, h, q = theta[:6]
        data = Program(P, q, A, right, G, h)
        _, z, point = x
        slack = h - G @ point
        active = find_active(z, slack)
        values = [A, G, P, h, *x]
        memory = memory if all(map(is_plain_array, values)) else {}
        known = memory.get("factors")
        if known is None or not is_same(known[0], values):
            known = (values, factor_or_nan(conditions_matrix(data, active)))
            memory["factors"] = known
        vector = np.concatenate([np.ravel(part) for part in b])
        weak = self._find_weak(z, slack, h)
        if weak is not None and not isinstance(weak, TRACED) and np.any(weak):
            is_direction = not adjoint and not any(isinstance(v, Tracer) for v in (*theta, *x, *b))
            if is_direction:
                return self._split(self._solve_direction(data, active, weak, vector), x)
            self._say_weak(weak)
        t = linalg.lu_solve(known[1], vector, trans=1 if adjoint else 0)
        is_solved = np.all(np.isfinite(primal(point)))
        t = t * np.where(is_solved, 1.0, np.nan).astype(t.dtype)
        return self._split(self._look(t, weak, is_solved), x)

    def _find_weak(self, z: Value, slack: Value, h: Value) -> Any:
        if self.watch.check == "ignore" or not h.shape[0]:
            return None
        z, slack = primal(z), primal(slack)
        eps = np.finfo(z.dtype).eps ** 0.75
        return (np.abs(z) <= eps * (1.0 + np.max(np.abs(z)))) & (
            np.abs(slack) <= eps * (1.0 + np.max(np.abs(primal(h))))
        )

    def _look(self, t: Value, weak: Any, is_solved: Any) -> Value:
        if self.watch.check == "ignore":
            return t
        # of what has no solution the status tells, and the derivative is NaN like the solution
        lost = np.logical_and(np.logical_not(np.all(np.isfinite(primal(t)))), is_solved)
        if isinstance(lost, TRACED):
            call_where(lost, lambda *_: self._say_singular())
        elif lost:
            self._say_singular()
        if isinstance(weak, TRACED):
            call_where(np.any(weak), self._say_weak, weak)
        return t

    def _say_singular(self) -> None:
        self.watch.say(
            "the equations of the active constraints are singular, so that the derivative is not defined: their "
            "gradients are linearly dependent, or nothing determines some of the unknowns. Leave out constraints that "
            "others imply, or add a small multiple of the identity to P."
        )

    def _say_weak(self, weak: Any) -> None:
        numbers = ", ".join(str(int(i)) for i in np.flatnonzero(weak)[:5])
        self.watch.say(
            f"inequality {numbers} is weakly active: it holds without pressing, so that the solution has two one-sided "
            "derivatives. This one takes it for an equation. Forward mode on plain values gives the derivative for a "
            "direction."
        )

    def _solve_direction(self, data: Program, active: Any, weak: Any, b: Any) -> Any:
        """The one-sided derivative: of each weak constraint its slack or its multiplier moves, and not below zero."""
        m, holds = data.b.shape[0], np.array(active)
        rows = np.flatnonzero(weak)
        t = np.full(len(b), np.nan)
        for _ in range(2 ** min(len(rows), 12) + len(rows)):
            right = b.copy()
            right[m + rows[~holds[rows]]] = 0.0  # these keep their multiplier, zero
            t = np.linalg.solve(conditions_matrix(data, holds), right)
            pressure, slack = t[m : m + len(weak)], b[m : m + len(weak)] - data.G @ t[m + len(weak) :]
            size = 1e-12 * (1.0 + np.max(np.abs(t)))
            wrong = [i for i in rows if (pressure[i] if holds[i] else slack[i]) < -size]
            if not wrong:
                return t
            holds[wrong[0]] = not holds[wrong[0]]
        self.watch.say("no one-sided derivative was found: the second-order conditions fail at the solution.")
        return np.full_like(t, np.nan)

    def _split(self, t: Value, x: Sequence[Value]) -> list[Value]:
        m, p = x[0].shape[0], x[1].shape[0]
        return [t[:m], t[m : m + p], t[m + p :]]

    def batched(self, residual: Recorded, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)

    def with_paths(self, paths: tuple[str, ...]) -> ProgramEquation:
        """The unknowns need no names here."""
        return self
