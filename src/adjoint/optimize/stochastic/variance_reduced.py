"""Finite sums with less variance: SVRG and SAGA.

    SVRG:  g = ∇ℓ_B(w) - ∇ℓ_B(w̃) + ∇L(w̃)             w̃ a point of an earlier step, whose whole gradient is known
    SAGA:  g = mean_B(∇ℓᵢ(w) - tᵢ) + mean(t),  tᵢ ← ∇ℓᵢ(w)     t a table of the last gradient of each example

Both gradients are unbiased, and their variance goes to zero at a minimum: a constant step converges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond
from adjoint.optimize.stochastic.methods import StochasticMethod, report_of
from adjoint.optimize.stochastic.objectives import FiniteSum
from adjoint.optimize.stochastic.stepping import Report
from adjoint.optimize.updates.rule import apply, like
from adjoint.program.types import Value

__all__ = ["SAGA", "SVRG"]


class _Snapshot(NamedTuple):
    point: Any
    gradient: Any


class _Table(NamedTuple):
    entries: Any  # the last gradient of each example
    mean: Any


def _descend(params: Any, gradient: Any, rate: Any) -> Any:
    return apply(params, tree.map(lambda g: like(rate, g) * g, gradient))


@final
@dataclass(frozen=True)
class SVRG(StochasticMethod):
    """Stochastic variance reduced gradients (Johnson, Zhang), for `train`.

    The whole gradient is computed anew after every `every` steps; by default after as many as make two epochs.

    ```python
    x = np.array([1.0, 2.0, 6.0, 3.0])
    found = ad.optimize.train(lambda w, x: (w - x) ** 2, 0.0, x, ad.optimize.SVRG(0.2), batch=1, epochs=20,
                              rng=ad.random.default_rng(0))
    float(np.round(found.value, 6))  # → 3.0
    ```
    """

    learning_rate: Any
    every: int | None = field(default=None, metadata={"static": True})

    def init(self, mean: FiniteSum, params: Any) -> _Snapshot:
        """The start, and a gradient that the first step replaces."""
        return _Snapshot(params, tree.map(np.zeros_like, params))

    def step(
        self, mean: FiniteSum, params: Any, state: _Snapshot, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, _Snapshot, Report]:
        """Two gradients of the batch, and at times one of all data."""
        every = self.every or max(2 * mean.size // np.shape(indices)[0], 1)
        state = cond(count % every == 0, lambda: _Snapshot(params, mean.gradient(params)), lambda: state)
        here, there = (mean.gradient(at, indices, weight) for at in (params, state.point))
        reduced = tree.map(lambda a, b, c: a - b + c, here, there, state.gradient)
        moved = _descend(params, reduced, self.number("learning_rate", count))
        return moved, state, report_of(mean, params, indices, weight)


@final
@dataclass(frozen=True)
class SAGA(StochasticMethod):
    """Gradients with a table of the last one of each example (Defazio, Bach, Lacoste-Julien), for `train`.

    The table has as many copies of the parameters as there are examples.

    ```python
    x = np.array([1.0, 2.0, 6.0, 3.0])
    found = ad.optimize.train(lambda w, x: (w - x) ** 2, 0.0, x, ad.optimize.SAGA(0.1), batch=1, epochs=60,
                              rng=ad.random.default_rng(0))
    float(np.round(found.value, 6))  # → 3.0
    ```
    """

    learning_rate: Any

    def init(self, mean: FiniteSum, params: Any) -> _Table:
        """The gradients of all examples at the start."""
        if mean.weight is not None:
            raise TypeError("SAGA: examples with weights have no table of gradients here; use SVRG.")
        entries = mean.example_gradients(params)
        return _Table(entries, tree.map(lambda leaf: np.mean(leaf, axis=0), entries))

    def step(
        self, mean: FiniteSum, params: Any, state: _Table, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, _Table, Report]:
        """The gradients of the batch replace those of the table."""
        fresh = mean.example_gradients(params, indices)
        size = np.shape(indices)[0]
        weight = np.ones(size) if weight is None else weight
        number = np.sum(weight)

        def change(new: Any, table: Any) -> Any:  # the sum over the batch, without what fills it up
            wide = np.reshape(weight, (size, *(1,) * (np.ndim(new) - 1)))
            return np.sum(like_array(wide, new) * (new - table[indices]), axis=0)

        changes = tree.map(change, fresh, state.entries)
        reduced = tree.map(lambda c, m: c / like(number, c) + m, changes, state.mean)
        means = tree.map(lambda c, m: m + c / like(float(mean.size), c), changes, state.mean)
        entries = tree.map(lambda table, new: _replaced(table, indices, new), state.entries, fresh)
        moved = _descend(params, reduced, self.number("learning_rate", count))
        return moved, _Table(entries, means), report_of(mean, params, indices, weight)


def like_array(factor: Any, leaf: Any) -> Any:
    """A factor in the precision of a leaf."""
    return factor.astype(np.real(leaf).dtype)


def _replaced(table: Any, indices: Value, rows: Any) -> Any:
    table = np.copy(table)
    table[indices] = rows
    return table
