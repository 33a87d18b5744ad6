"""The dense output of a whole solution: every step with its polynomial, and the value at any time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.api.gradients import stop_gradient, vmap
from adjoint.debug import check
from adjoint.integrate.derivative import detach
from adjoint.integrate.interpolation import evaluate
from adjoint.integrate.system import Layout
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["Interpolation", "Rows", "empty_rows", "with_row"]


class Rows(NamedTuple):
    """One step, or all of them stacked: where it starts, how long it is, y there, and its polynomial."""

    start: Value
    size: Value
    y: Value
    coefficients: Value


def empty_rows(capacity: int, direction: Value, y: Value, degree: int, n: int) -> Rows:
    """Space for so many steps; those that are not taken start at infinity."""
    dtype = y.dtype
    return Rows(
        np.broadcast_to(direction * np.inf, (capacity,)), np.ones(capacity) + 0 * direction,
        np.zeros((capacity, n), dtype) + 0 * y[:n], np.zeros((capacity, degree, n), dtype) + 0 * y[:n],
    )  # fmt: skip


def with_row(rows: Rows, at: Value, row: Rows, accepted: Value) -> Rows:
    """The rows with one more, if the step was accepted."""
    found: list[Value] = []
    for whole, part in zip(rows, row, strict=True):
        whole = whole.copy()
        whole[at] = np.where(accepted, part, whole[at])
        found.append(whole)
    return Rows(*found)


@final
@dataclass(frozen=True, eq=False)
class Interpolation:
    """y at any time of a solution."""

    rows: Rows
    layout: Layout = field(metadata={"static": True})

    def at(self, t: Any) -> Any:
        """y(t), for a time or an array of them."""
        times = t if isinstance(t, Tracer) else np.asarray(t, np.float64)[()]
        self._check(times)
        if times.shape == ():
            return self.layout.tree(self._vector(times))
        return self.layout.rows(vmap(self._vector)(times))

    def _check(self, times: Value) -> None:
        """Polynomials say nothing of times before the first step and after the last one."""
        start, size, t = detach([self.rows.start, self.rows.size, times])
        ends = np.where(np.isfinite(start), start + size, start[0])
        low, high = np.minimum(start[0], np.min(ends)), np.maximum(start[0], np.max(ends))
        slack = 1e-9 * (high - low) + 1e-12 * np.abs(start[0])
        check(
            np.all(np.logical_and(t >= low - slack, t <= high + slack)),
            "integrate.solve: at({}) is a time outside of the path, which goes from t = {} to {}. Solve over a longer "
            "span.",
            t, low, high,
        )  # fmt: skip

    def many(self, times: Any) -> Any:
        """y at many times, stacked."""
        return self.at(np.asarray(times))

    def grid(self) -> Any:
        """Times at which a drawing looks smooth."""
        parts = np.linspace(0.0, 1.0, 9)[:-1]
        taken = np.isfinite(np.asarray(self.rows.start))
        start, size = np.asarray(self.rows.start)[taken], np.asarray(self.rows.size)[taken]
        return np.append((start[:, None] + size[:, None] * parts).ravel(), start[-1] + size[-1])

    def _vector(self, t: Value) -> Value:
        starts = self.rows.start
        sign = np.where(self.rows.size[0] > 0, 1.0, -1.0)
        at = np.searchsorted(sign * stop_gradient(starts), sign * stop_gradient(t), side="right") - 1
        at = np.clip(at, 0, starts.shape[0] - 1)
        start, size, y, polynomial = (np.take(part, at, axis=0) for part in self.rows)
        theta = (t - start) / size
        return evaluate(y, polynomial, theta.astype(y.dtype))
