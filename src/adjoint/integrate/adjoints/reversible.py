"""Steps that can be undone: the backward pass computes the states again, by inverse steps, and keeps none.

    sₖ₊₁ = step(θ, xₖ, sₖ),   sₖ = inverse(θ, xₖ, sₖ₊₁)

The gradient is that of the steps, exact up to the rounding of the inverse; memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.api.gradients import jvp, vjp, vmap
from adjoint.integrate.algebraic import follow
from adjoint.integrate.derivative import detach
from adjoint.integrate.statuses import FINISHED, NOT_FINITE
from adjoint.integrate.stepping import Counts, Ending, Plan, Settings, run
from adjoint.integrate.system import System
from adjoint.ops.custom import Attach
from adjoint.program.types import Value, type_of
from adjoint.transform.custom import BatchedRule

__all__ = ["scan_reversible", "solve_reversible"]

Step = Callable[[Sequence[Value], Any, Any], Any]


def scan_reversible(
    step: Step, inverse: Step, start: Any, xs: Any, theta: Sequence[Value], read: Callable[[Any], Value] | None = None
) -> tuple[Any, Value]:
    """The state after steps over the rows of xs, and read(state) after each of them (None for none)."""
    leaves, structure = tree.flatten(start)
    given, shape = tree.flatten(xs)
    rule = _Rule(step, inverse, structure, shape, len(leaves), len(given), read)
    last, rows = rule.run(detach(leaves), detach(given), detach(theta))
    out = rule.attach(last, rows, [*leaves, *given, *theta])
    return tree.unflatten(structure, out[: len(leaves)]), out[len(leaves)] if read is not None else None


@final
class _Rule:
    """The derivative of a chain of steps. Its inputs: the last state, which is known; the first; xs; θ."""

    title = "reversible steps"

    def __init__(
        self, step: Step, inverse: Step, structure: Any, shape: Any, count: int, width: int, read: Any
    ) -> None:
        self.step, self.inverse, self.structure, self.shape = step, inverse, structure, shape
        self.count, self.width, self.read = count, width, read

    def attach(self, last: Sequence[Value], rows: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
        """The last state and rows, with their derivatives."""
        return list(Attach(self, len(last) + len(rows))(*last, *rows, *last, *inputs))

    def run(
        self, leaves: Sequence[Value], xs: Sequence[Value], theta: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The last state, and rows."""

        def advance(state: Any, x: Any) -> Any:
            state = self.step(theta, x, state)
            return state, None if self.read is None else self.read(state)

        last, rows = scan(advance, tree.unflatten(self.structure, leaves), tree.unflatten(self.shape, xs))
        return tree.leaves(last), [] if self.read is None else [rows]

    def _split(self, values: Sequence[Value]) -> tuple[list[Value], list[Value], list[Value]]:
        n, w = self.count, self.width
        return list(values[n : 2 * n]), list(values[2 * n : 2 * n + w]), list(values[2 * n + w :])

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        moving = [i for i, dx in enumerate(dxs) if dx is not None and i >= self.count]
        if not moving:
            return [None] * (self.count + (self.read is not None))

        def whole(*part: Value) -> list[Value]:
            values = list(xs)
            for i, v in zip(moving, part, strict=True):
                values[i] = v
            last, rows = self.run(*self._split(values))
            return [*last, *rows]

        return jvp(whole, tuple(xs[i] for i in moving), tuple(dxs[i] for i in moving))[1]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        n = self.count
        _leaves, given, theta = self._split(xs)
        plain = _Rule(self.step, self.inverse, self.structure, self.shape, n, self.width, None)
        last = tree.unflatten(self.structure, plain.attach(detach(list(xs[:n])), [], xs[n:]))
        is_moving = [w and type_of(x).dtype.kind == "f" for w, x in zip(wanted, xs, strict=True)]
        _, moving_x, moving_theta = self._split(is_moving)
        moved_x = [i for i, m in enumerate(moving_x) if m]
        moved = [i for i, m in enumerate(moving_theta) if m]
        rows = cts[n] if self.read is not None else None

        def back(carry: Any, row: Any) -> Any:
            after, ct, sums = carry
            own, ct_row = row
            before = self.inverse(theta, tree.unflatten(self.shape, own), after)

            def one(state: Any, part_x: Any, part: Any) -> Any:
                new = self.step(
                    _replaced(theta, moved, part), tree.unflatten(self.shape, _replaced(own, moved_x, part_x)), state
                )
                return new if ct_row is None else (new, self.read(new))

            _, pull = vjp(one, before, [own[i] for i in moved_x], [theta[i] for i in moved])
            ct, ct_x, parts = pull(ct if ct_row is None else (ct, ct_row))
            return (before, ct, [a + b for a, b in zip(sums, parts, strict=True)]), ct_x

        begin = (last, tree.unflatten(self.structure, list(cts[:n])), [_zero(theta[i]) for i in moved])
        (_, ct, sums), cts_x = scan(back, begin, (given, rows), reverse=True)
        out: list[Value] = [None] * n + tree.leaves(ct)
        out += _replaced([None] * self.width, moved_x, cts_x)
        out += _replaced([None] * len(theta), moved, sums)
        filled = zip(out, xs, wanted, strict=True)
        return [(_zero(x) if v is None else v) if w else None for v, x, w in filled]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def _replaced(values: Sequence[Any], moved: Sequence[int], new: Sequence[Any]) -> list[Any]:
    whole = list(values)
    for i, v in zip(moved, new, strict=True):
        whole[i] = v
    return whole


def _zero(x: Value) -> Value:
    kind = type_of(x)
    return np.zeros(kind.shape, kind.dtype)


def solve_reversible(plan: Plan, system: System, settings: Settings, y0: Value) -> Ending:
    """The solution by steps that are undone in the backward pass; their times are kept, and end at the saved ones.

    Steps are those of the method, or of its error control, found first and without derivative.
    """
    method, capacity = plan.method, plan.dense
    t0, t1, saves = detach([settings.t0, settings.t1, settings.saves])
    plain = Settings(*detach(list(settings)))
    sign = np.where(t1 >= t0, 1.0, -1.0)
    index = np.arange(capacity + 1)
    if method.adaptive:
        first = run(plan._replace(saves=0), system.with_theta(detach(system.theta)), plain, detach([y0])[0])
        count, code = first.counts.steps, first.code
        starts = np.concatenate([first.dense.start, np.reshape(t1, (1,))])
        grid = np.where(index < count, starts, first.t)
        rejections, evaluations = first.counts.rejections, first.counts.evaluations
        reach = first.t
    else:
        h = np.minimum(np.abs(plain.first_step), np.abs(t1 - t0))
        count = np.ceil(np.abs(t1 - t0) / h * (1 - 1e-12)).astype(np.int64)
        grid = np.where(index < count, t0 + sign * h * index, t1)
        code, rejections = np.int64(FINISHED), np.int64(0)
        evaluations = count * method.evaluations
        reach = t1
    met = sign * np.minimum(sign * saves, sign * reach)  # no step goes on behind the time that it got to
    if plan.saves:
        grid = sign * np.sort(sign * np.concatenate([grid, met]))
    ends = np.where(grid == t0, settings.t0, np.where(grid == t1, settings.t1, grid))
    xs = (ends[:-1], ends[1:] - ends[:-1])

    def step(theta: Sequence[Value], x: Any, state: Any) -> Any:
        t, h = x
        new = method.step(system.with_theta(theta), t, h, state).state
        return tree.map(lambda a, b: np.where(h == 0, a, b), state, new)

    def undo(theta: Sequence[Value], x: Any, state: Any) -> Any:
        t, h = x
        old = method.inverse_step(system.with_theta(theta), t, h, state)
        return tree.map(lambda a, b: np.where(h == 0, a, b), state, old)

    n = system.size
    read = lambda state: method.value(state)[:n]
    start = method.start(system, settings.t0, y0)
    last, rows = scan_reversible(step, undo, start, xs, system.theta, read if plan.saves else None)
    y = method.value(last)
    saved = np.zeros((0, n), y.dtype)
    if plan.saves:
        rows = np.concatenate([read(start)[None], rows])
        at = np.sum(sign * grid[None, :] < sign * met[:, None], axis=1)
        rest = np.zeros(system.width - n, y.dtype)
        there = lambda t, y, x: follow(system, None, t, np.concatenate([y, rest]), x)[:n]
        saved = vmap(there)(met, rows[at], settings.saves - saves)
        saved = np.where((met == saves)[:, None], saved, np.nan)
    total = np.sum(np.abs(detach([y])[0])) * np.float64(1.0)
    code = np.where(np.logical_and(code == FINISHED, np.logical_not(np.isfinite(total))), NOT_FINITE, code)
    zero = np.int64(0)
    counts = Counts(count, rejections, evaluations, zero, zero, zero)
    end = np.where(code == FINISHED, settings.t1, detach([ends])[0][-1])
    return Ending(end, y, code.astype(np.int64), counts, saved, np.float64(0.0), np.float64(0.0))
