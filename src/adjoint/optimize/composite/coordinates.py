"""Block coordinate descent: proximal gradient steps on one part of x after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no
from adjoint.optimize.composite.objective import Composite, accept_step, first_step, judge_measure
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.proximal.smooth import Zero
from adjoint.optimize.statuses import NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["BlockCoordinateDescent"]

TRIALS = 60


class _State(NamedTuple):
    value: Value
    gradient: Value
    smooth: Value
    steps: Value  # one for each block
    measure: Value
    code: Value


@final
@dataclass(frozen=True)
class BlockCoordinateDescent(Composite):
    """Proximal gradient steps on one block of numbers after another, each with a step of its own.

    `blocks` is how many runs of numbers there are, or a label for each number; without it each leaf of x is one, or
    each number where x is one array. The term must be a sum over the blocks (ℓ1, boxes, groups that are blocks,
    `proximal.separable`). One iteration goes through all blocks.

    ```python
    from adjoint.optimize import proximal
    X, y = np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([3.0, 1.0])
    f = lambda w: 0.5 * np.sum((X @ w - y) ** 2)
    found = ad.optimize.minimize(f, np.zeros(2), method=ad.optimize.BlockCoordinateDescent(proximal.l1(0.5)))
    np.round(found.value, 6), found.status  # → ([1.0, 0.75], 'converged')
    ```
    """

    term: Any = field(default_factory=Zero)
    blocks: Any = None
    needs = ("value", "gradient")

    def _labels(self, problem: Problem) -> tuple[Any, int]:
        n, types = problem.size, problem.unknowns.types
        if self.blocks is None:
            if len(types) == 1:
                return np.arange(n), n
            widths = [t.size * (2 if t.dtype.kind == "c" else 1) for t in types]
            return np.repeat(np.arange(len(types)), widths), len(types)
        if np.ndim(self.blocks) == 0:
            count = int(self.blocks)
            if not 1 <= count <= n:
                raise ValueError(f"BlockCoordinateDescent: there are {count} blocks, and {n} numbers.")
            return np.arange(n) * count // n, count
        labels = np.asarray(self.blocks)
        if labels.shape != (n,):
            raise ValueError(
                f"BlockCoordinateDescent: blocks has shape {labels.shape}; it has a label for each of {n} numbers."
            )
        labels = np.unique(labels, return_inverse=True)[1]
        return labels, int(np.max(labels)) + 1

    def init(self, problem: Problem, x: Value) -> _State:
        """One step for all blocks."""
        f, g = problem.value_and_gradient(x)
        step = first_step(problem, x, g)
        count = self._labels(problem)[1]
        steps = step * np.ones(count, problem.dtype)
        measure = self.residual(problem, x, g, step)
        return _State(f + self.omega(problem, x), g, f, steps, measure, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """Each block in turn."""
        labels, count = self._labels(problem)

        def visit(block: Any, now: Any) -> Any:
            x, f, g, steps = now
            here = labels == block

            def at(step: Value) -> Any:
                p = np.where(here, self.prox(problem, x - step * np.where(here, g, 0.0), step), x)
                return (p, *problem.value_and_gradient(p), step)

            enough = lambda t: accept_step(problem, x, f, g, t[0], t[1], lambda: t[2], t[3])
            goes_on = lambda t: both(no(enough(t)), t[4] < TRIALS)
            trial = (*at(np.take(steps, block)), np.int64(0))
            p, f_new, g_new, step, tries = problem.loop(goes_on, lambda t: (*at(0.5 * t[3]), t[4] + 1), trial)
            good = tries < TRIALS
            steps = np.where(np.arange(count) == block, 1.2 * step, steps)
            return either(good, p, x), either(good, f_new, f), either(good, g_new, g), steps

        # counts of oracles go through this loop too
        start = (np.int64(0), (x, state.smooth, state.gradient, state.steps))
        goes_on = lambda now: now[0] < count
        moved, f, g, steps = problem.loop(goes_on, lambda now: (now[0] + 1, visit(now[0], now[1])), start)[1]
        measure = self.residual(problem, moved, g, np.min(steps))
        code = either(np.all(moved == x), NO_PROGRESS, RUNNING)
        return moved, _State(f + self.omega(problem, moved), g, f, steps, measure, as_code(code))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where x is a fixed point."""
        return judge_measure(
            problem, state.value, state.measure, either(state.measure <= problem.tol, RUNNING, state.code)
        )
