"""The branches of a program at a kink: which of them a direction takes together, and the Jacobians along them.

Towards u = w + t d, t ↓ 0, each primitive at a kink takes one of its branches, by the sign of ⟨a, d⟩ for the
gradient a of what it compares. The branches are enumerated in the order in which the program meets them; a choice is
followed only if some d takes all choices before it as well, {d: ±⟨aₖ, d⟩ > 0}, which a linear program decides. Where
a = 0 both branches of |x|, max, min have the same first derivative.

Gradients are stacked first: (number of inputs, *shape); None is zero.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.api.tracing import trace
from adjoint.audit.distances import non_smooth
from adjoint.ops import kinks
from adjoint.ops.control.base import Control
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.remat import Checkpoint
from adjoint.program.program import Equation, Program, Var
from adjoint.program.rule_table import RuleTable

__all__ = ["Branches", "UnknownBranches", "enumerate_jacobians"]

MOST = 4096  # combinations of branches
NEAR = 1e-12
# How a run goes through the programs inside a primitive: (run, primitive, arguments, gradients) → values, gradients.
INSIDE: RuleTable[Callable[[Any, Any, list[Any], list[Any]], tuple[list[Any], list[Any]]]] = RuleTable(
    "generalized_jacobian"
)


class UnknownBranches(Exception):
    """A kink whose branches are not enumerated."""


def enumerate_jacobians(f: Callable[..., Any], x: np.ndarray) -> list[Any]:
    """The Jacobians of all combinations of branches that some direction takes."""
    if not x.size:
        return [np.zeros((*np.shape(f(x)), *x.shape))]
    program = trace(f, concrete=True)(x[()]).program
    waiting: list[tuple[int, ...]] = [()]
    values: list[Any] = []
    jacobians: list[Any] = []
    while waiting:
        if len(jacobians) + len(waiting) > MOST:
            raise UnknownBranches(f"there are more than {MOST} combinations of branches.")
        branches = Branches(waiting.pop(), x.size)
        (value,), (gradients,) = branches.run(program, [x[()]], [np.eye(x.size).reshape((x.size, *x.shape))])
        gradients = np.zeros((x.size, *np.shape(value))) if gradients is None else gradients
        waiting += branches.others()
        jacobians.append(np.moveaxis(gradients, 0, -1).reshape((*np.shape(value), *x.shape)))
        values.append(value)
    if any(np.any(np.isnan(value)) for value in values):
        raise ValueError("generalized_jacobian: the function is NaN here, so that it has no derivatives.")
    if not all(np.allclose(value, values[0], rtol=1e-12, atol=1e-12) for value in values):
        raise ValueError(
            "generalized_jacobian: the function jumps here, and Clarke's derivatives are for continuous functions."
        )
    return jacobians


class Branches:
    """One run of a program whose first choices are prescribed; behind them it takes the first branch possible."""

    def __init__(self, prescribed: Sequence[int], inputs: int) -> None:
        self.prescribed, self.inputs = tuple(prescribed), inputs
        self.taken: list[int] = []
        self.possible: list[tuple[int, int]] = []  # (position, choice) that were possible as well
        self.decided: list[np.ndarray] = []  # vectors c with ⟨c, d⟩ > 0

    def others(self) -> list[tuple[int, ...]]:
        """The choices of the runs that part from this one behind its prescribed beginning."""
        return [(*self.taken[:position], choice) for position, choice in self.possible]

    def run(self, program: Program, args: Sequence[Any], gradients: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Values and gradients of the outputs."""
        env: dict[Var, tuple[Any, Any]] = dict(zip(program.inputs, zip(args, gradients, strict=True), strict=True))
        env.update((v, (value, None)) for v, value in program.constants.items())
        read = lambda atom: env[atom] if isinstance(atom, Var) else (atom.value, None)
        for eq in program.equations:
            pairs = [read(a) for a in eq.inputs]
            zs, dzs = self._apply(eq, [x for x, _ in pairs], [dx for _, dx in pairs])
            env.update(zip(eq.outputs, zip(zs, dzs, strict=True), strict=True))
        out = [read(a) for a in program.outputs]
        return [z for z, _ in out], [dz for _, dz in out]

    def _apply(self, eq: Equation, xs: list[Any], dxs: list[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        op, moving = eq.op, any(dx is not None for dx in dxs)
        inside = INSIDE.get(op)
        if inside is not None and moving:
            return inside(self, op, xs, dxs)
        with np.errstate(all="ignore"):
            z = op.evaluate(*xs)
            zs = list(z) if op.several else [z] if eq.outputs else []
            dzs = self._push(op, xs, dxs, zs) if moving and not op.flat else [None] * len(zs)
        rule = non_smooth(op, xs, zs) if moving else None
        if rule is None or not np.any(rule[1] <= NEAR):
            return zs, dzs
        z, dz = np.array(zs[0]), None if dzs[0] is None else np.array(dzs[0])
        for element in np.argwhere(rule[1] <= NEAR):
            self._at_kink(op, xs, dxs, z, dz, tuple(element))
        return [z[()]], [dz]

    def _push(self, op: Any, xs: list[Any], dxs: list[Any], zs: list[Any]) -> list[Any]:
        active = [i for i, dx in enumerate(dxs) if dx is not None]

        def of_moving(*values: Any) -> Any:
            full = list(xs)
            for i, value in zip(active, values, strict=True):
                full[i] = value
            return op(*full)

        primals = tuple(xs[i] for i in active)
        columns = [jvp(of_moving, primals, tuple(dxs[i][j][()] for i in active))[1] for j in range(self.inputs)]
        rows = list(zip(*columns, strict=True)) if op.several else [columns]
        return [np.stack(row) if np.asarray(z).dtype.kind == "f" else None for row, z in zip(rows, zs, strict=True)]

    def _at_kink(self, op: Any, xs: list[Any], dxs: list[Any], z: Any, dz: Any, element: tuple[int, ...]) -> None:
        """Decide for one element of the result, and write its value and gradient."""
        everywhere = (slice(None), *element)

        def gradient(i: int) -> np.ndarray:
            if dxs[i] is None:
                return np.zeros(self.inputs)
            grown = np.reshape(dxs[i], (self.inputs, *(1,) * (z.ndim - np.ndim(xs[i])), *np.shape(xs[i])))
            return np.broadcast_to(grown, (self.inputs, *z.shape))[everywhere]

        if op.kinks is kinks.CORNER:
            dz[everywhere] = gradient(0) * self._sign(gradient(0))
        elif op.kinks is kinks.SHARE:
            larger = 1 if op.evaluate(1.0, 0.0) == 1.0 else -1  # of two, the larger or the smaller one
            dz[everywhere] = gradient(0) if self._sign(gradient(0) - gradient(1)) == larger else gradient(1)
        elif op.kinks is kinks.CONDITION:
            difference = gradient(0) - gradient(1)
            if _vanishes(difference):
                raise UnknownBranches(
                    f"the sides of {op.title} are equal to first order, so derivatives do not decide it."
                )
            above, below = op.evaluate(1.0, 0.0), op.evaluate(-1.0, 0.0)
            z[element] = above if above == below or self._sign(difference) == 1 else below
        elif op.kinks is kinks.EXTREMUM:
            dz[everywhere] = self._winner(op, np.asarray(xs[0]), dxs[0], element)
        else:
            raise UnknownBranches(f"the branches of {op.title} are not enumerated.")

    def _winner(self, op: Any, x: np.ndarray, dx: np.ndarray, element: tuple[int, ...]) -> np.ndarray:
        """The gradient of the element that is largest (smallest) beside the point."""
        rest = [a for a in range(x.ndim) if a not in op.axes]
        line = np.ravel(np.transpose(x, [*rest, *op.axes])[element])
        gradients = np.transpose(dx, [0, *[a + 1 for a in (*rest, *op.axes)]])[(slice(None), *element)]
        gradients = np.reshape(gradients, (self.inputs, -1)).T
        sign = 1 if op.kind == "max" else -1
        tied = gradients[np.abs(line - (np.max(line) if sign == 1 else np.min(line))) <= NEAR]
        tied = [a for k, a in enumerate(tied) if not any(_vanishes(a - b) for b in tied[:k])]  # one of each gradient
        if len(tied) == 1:
            return tied[0]
        return tied[self._choose([[sign * (a - b) for b in tied if b is not a] for a in tied])]

    def _sign(self, a: np.ndarray) -> int:
        """The sign of ⟨a, d⟩, which is chosen; both are the same for a = 0."""
        return 1 if _vanishes(a) else (1, -1)[self._choose([[a], [-a]])]

    def _choose(self, options: list[list[np.ndarray]]) -> int:
        """The number of the branch taken, each given by vectors c with ⟨c, d⟩ > 0."""
        position = len(self.taken)
        if position < len(self.prescribed):
            choice = self.prescribed[position]
        else:
            choice, *more = [i for i, option in enumerate(options) if _is_possible([*self.decided, *option])]
            self.possible += [(position, other) for other in more]
        self.taken.append(choice)
        self.decided += options[choice]
        return choice


@INSIDE.rule(Call, Checkpoint)
def _call(run: Branches, op: Any, xs: list[Any], dxs: list[Any]) -> tuple[list[Any], list[Any]]:
    return run.run(op.program, xs, dxs)


@INSIDE.rule(Cond)
def _chosen(run: Branches, op: Cond, xs: list[Any], dxs: list[Any]) -> tuple[list[Any], list[Any]]:
    return run.run(op.branches[op.chosen(xs[0])], xs[1:], dxs[1:])


@INSIDE.rule(Control)
def _refuse(run: Branches, op: Control, xs: list[Any], dxs: list[Any]) -> tuple[list[Any], list[Any]]:
    raise UnknownBranches(f"branches inside {op.title} are not enumerated.")


def _vanishes(a: np.ndarray) -> bool:
    return bool(np.max(np.abs(a), initial=0.0) <= 1e-14)


def _is_possible(vectors: list[np.ndarray]) -> bool:
    """Whether some d has ⟨c, d⟩ > 0 for all: max t with ⟨c, d⟩ >= t over -1 <= d <= 1."""
    from scipy.optimize import linprog

    rows = np.stack([c / np.max(np.abs(c)) for c in vectors])
    count, n = rows.shape
    solution = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([-rows, np.ones((count, 1))]),
        b_ub=np.zeros(count),
        bounds=[(-1, 1)] * n + [(0, 1)],
    )
    return bool(solution.x[-1] > 1e-9)
