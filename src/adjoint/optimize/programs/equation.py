"""Derivatives of the solution of a program: the equations of its active set, with one factorization at a point.

    | P  Cᵀ | t = r       C: the rows of A, and of G where they are active
    | C  0  |

has the same solution with P + CᵀWC in the place of P, which is positive definite where the solution is unique; its
Cholesky factor, and that of the Schur complement of it, serve all right sides.

A constraint that holds without pressing (multiplier and slack are both zero) is weakly active: the solution then has a
derivative for each direction. Forward mode on plain values gives it, by principal pivoting; else the constraint is
taken for an equation, with a warning.

Active constraints may depend on each other: rows that follow from those before them are left out. The solution moves
the same without them where the data change such that they still follow, and has no derivative for other changes. Prices
are not unique then, so that their own derivatives are NaN, and those in the right sides in reverse mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.implicit.diagnosis import Watch, call_where
from adjoint.implicit.equation import Stacked
from adjoint.ops.implicit_solve import Equation, is_plain_array, is_same
from adjoint.ops.linalg.decompose import Cholesky
from adjoint.optimize.programs.active_set import find_active, find_weak, weigh_rows
from adjoint.optimize.programs.interior_point import Program
from adjoint.program.program import Program as Recorded
from adjoint.program.trace import TRACED, Tracer, bind, primal
from adjoint.program.types import Value
from adjoint.scipy import linalg

__all__ = ["ProgramEquation"]


class _Factors(NamedTuple):
    """Of the equations of an active set: L Lᵀ = P + CᵀWC, U = L⁻¹Cᵀ, and S Sᵀ = UᵀU, one where a row does not hold.

    `holds` is 1 for rows that hold and do not follow from others, `active` for all that hold; C has none of the others.
    """

    C: Value
    holds: Value
    active: Value
    w: Value
    L: Value
    U: Value
    S: Value

    def solve(self, r1: Value, r2: Value) -> tuple[Value, Value]:
        """(x, λ) with P x + Cᵀλ = r₁ and C x = r₂; λ is zero where a row does not hold."""
        down = lambda T, v: linalg.solve_triangular(T, v, lower=True)
        up = lambda T, v: linalg.solve_triangular(T, v, lower=True, trans=1)
        right = self.holds * r2
        v = down(self.L, r1 + self.C.T @ (self.w * right))
        prices = self.holds * up(self.S, down(self.S, self.holds * (self.U.T @ v) - right))
        x = up(self.L, v - self.U @ prices)
        return x * self._agrees(x, r2, up(self.L, primal(v))), prices

    def _agrees(self, x: Value, r2: Value, free: Value) -> Value:
        """1, or NaN where rows that were left out do not follow from the others for this right side."""
        x, r2, C, follows = (primal(v) for v in (x, r2, self.C, self.active - self.holds))
        off = follows * np.abs(C @ x - r2)
        size = np.abs(C) @ (np.abs(x) + np.abs(primal(free))) + np.abs(r2)
        wrong = np.any(off > np.finfo(x.dtype).eps ** 0.5 * size)
        return np.where(wrong, np.nan, 1.0).astype(x.dtype)

    @property
    def follows(self) -> Value:
        """Which rows follow from others."""
        return primal(self.active - self.holds) > 0


def _factor(data: Program, active: Value) -> _Factors:
    """A pivot that is zero but for rounding is NaN: then something is not determined."""
    P, dtype = data.P, data.q.dtype
    holds = np.concatenate([np.ones(data.b.shape[0], dtype), active.astype(dtype)])
    C = holds[:, None] * np.concatenate([data.A, data.G], 0)
    w = primal(weigh_rows(P, C, holds))
    eps = np.finfo(dtype).eps
    K = P + (C.T * w) @ C
    L = bind(Cholesky(checked=False), K)
    lost = np.any(primal(np.diagonal(L)) ** 2 <= 100 * K.shape[0] * eps * primal(np.diagonal(K)))
    L = L + np.where(lost, np.nan, 0.0).astype(dtype)
    U = linalg.solve_triangular(L, C.T, lower=True)
    if not holds.shape[0]:
        return _Factors(C, holds, holds, w, L, U, U.T @ U)
    S = U.T @ U
    kept = holds * _find_independent(primal(S) + np.diag(1.0 - holds))
    S = kept[:, None] * S * kept + np.diag(1.0 - kept)
    return _Factors(C, kept, holds, w, L, U * kept, bind(Cholesky(checked=False), S))


def _find_independent(S: Value) -> Value:
    """1 for rows of a matrix of products that do not follow from those before, else 0."""
    eps, size = np.finfo(S.dtype).eps, np.diagonal(S)
    # what is added to the pivots of dependent rows keeps those after them free of their rounding
    moved = 10 * S.shape[0] * eps * size
    pivots = np.diagonal(bind(Cholesky(checked=False), S + np.diag(moved))) ** 2
    return np.where(pivots <= 300 * moved, 0.0, 1.0).astype(S.dtype)


def _solve_all(data: Program, known: _Factors, b: Sequence[Value], adjoint: bool) -> list[Value]:
    """t with ∂F t = b, where F has rows for y, z and x; a price that does not press is zero, and stays so."""
    m, G = data.b.shape[0], data.G
    by, bz, bx = b
    free = 1.0 - known.active[m:]
    lost = np.where(np.logical_and(np.any(known.follows), primal(known.active) > 0), np.nan, 0.0).astype(bx.dtype)
    if adjoint:
        x, prices = known.solve(bx, np.concatenate([by, bz]))
        prices = prices + lost
        return [prices[:m], prices[m:] + free * (bz - G @ x), x]
    x, prices = known.solve(bx - G.T @ (free * bz), np.concatenate([by, bz]))
    prices = prices + lost
    return [prices[:m], prices[m:] + free * bz, x]


@final
@dataclass(frozen=True)
class ProgramEquation:
    """∂F t = b, where θ begins with the data (A, G, P, b, h, q) and its units, and x is (y, z, x)."""

    watch: Watch
    paired: int = 0  # how many unknowns have both bounds, the last rows of G

    def solve(
        self, residual: Recorded, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        if all(is_plain_array(part) and not np.any(part) for part in b):
            target = residual.output_types if adjoint else residual.input_types[len(theta) :]
            return [np.zeros(t.shape, t.dtype) for t in target]  # nothing is asked, of a singular equation either
        A, G, P, right, h, q, tau, rho = theta[:8]
        data = Program(P, q, A, right, G, h)
        _, z, point = x
        slack = h - G @ point
        z, slack = z / rho, slack / tau
        active = find_active(z, slack, self.paired)
        values = [A, G, P, h, *x]
        memory = memory if all(map(is_plain_array, values)) else {}
        known = memory.get("factors")
        if known is None or not is_same(known[0], values):
            known = (values, _factor(data, active))
            memory["factors"] = known
        weak = self._find_weak(z, slack, h / tau)
        if weak is not None and not isinstance(weak, TRACED) and np.any(weak):
            is_direction = not adjoint and not any(isinstance(v, Tracer) for v in (*theta, *x, *b))
            if is_direction:
                return self._solve_direction(data, active, weak, b)
            self._say_weak(weak)
        t = _solve_all(data, known[1], b, adjoint)
        is_solved = np.all(np.isfinite(primal(point)))
        follows = known[1].follows
        self._look_dependent(np.logical_and(is_solved, np.any(follows)) if follows.shape[0] else False)
        self._look(t, weak, is_solved)
        return [part * np.where(is_solved, 1.0, np.nan).astype(part.dtype) for part in t]

    def _find_weak(self, z: Value, slack: Value, h: Value) -> Any:
        if self.watch.check == "ignore" or not h.shape[0]:
            return None
        z, slack = primal(z), primal(slack)
        return find_weak(z, slack, self.paired, np.finfo(z.dtype).eps ** 0.75, 1.0 + np.max(np.abs(primal(h))))

    def _look(self, t: Sequence[Value], weak: Any, is_solved: Any) -> None:
        if self.watch.check == "ignore":
            return
        # of what has no solution the status tells, and the derivative is NaN like the solution
        finite = np.all(np.isfinite(primal(t[2])))
        lost = np.logical_and(np.logical_not(finite), is_solved)
        if isinstance(lost, TRACED):
            call_where(lost, lambda *_: self._say_singular())
        elif lost:
            self._say_singular()
        if isinstance(weak, TRACED):
            call_where(np.any(weak), self._say_weak, weak)

    def _look_dependent(self, follows: Any) -> None:
        if self.watch.check == "ignore":
            return
        if isinstance(follows, TRACED):
            call_where(follows, lambda *_: self._say_dependent())
        elif follows:
            self._say_dependent()

    def _say_dependent(self) -> None:
        self.watch.say(
            "some of the active constraints follow from others, so that their prices are not unique. The derivative of "
            "the solution in P and q is right; in the constraints it is NaN in reverse mode, and in forward mode where "
            "they would contradict each other. Leave out constraints that others imply."
        )

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

    def _solve_direction(self, data: Program, active: Any, weak: Any, b: Sequence[Any]) -> list[Any]:
        """The one-sided derivative: of each weak constraint its slack or its multiplier moves, and not below zero."""
        holds = np.array(active)
        rows = np.flatnonzero(weak)
        for _ in range(2 ** min(len(rows), 12) + len(rows)):
            right = b[1].copy()
            right[rows[~holds[rows]]] = 0.0  # these keep their multiplier, zero
            t = _solve_all(data, _factor(data, holds), [b[0], right, b[2]], adjoint=False)
            pressure, slack = t[1], b[1] - data.G @ t[2]
            size = 1e-12 * (1.0 + max(float(np.max(np.abs(part), initial=0.0)) for part in t))
            wrong = [i for i in rows if not (pressure[i] if holds[i] else slack[i]) >= -size]
            if not wrong:
                return t
            holds[wrong[0]] = not holds[wrong[0]]
        self.watch.say("no one-sided derivative was found: the second-order conditions fail at the solution.")
        return [np.full_like(part, np.nan) for part in b]

    def batched(self, residual: Recorded, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)

    def with_paths(self, paths: tuple[str, ...]) -> ProgramEquation:
        """The unknowns need no names here."""
        return self
