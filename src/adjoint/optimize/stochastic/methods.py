"""The frame of methods that see more of the data than one batch's gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from adjoint.data.order import noise_of
from adjoint.optimize.stochastic.objectives import FiniteSum
from adjoint.optimize.stochastic.stepping import Report, TrainingState
from adjoint.optimize.updates.rule import read_number
from adjoint.program.types import Value

__all__ = ["StochasticMethod", "report_of"]


class StochasticMethod(ABC):
    """A stochastic method: a state, and a step that is given the sum over all data beside the batch.

    Numbers of it may be schedules, as those of update rules.
    """

    @abstractmethod
    def init(self, mean: FiniteSum, params: Any) -> Any:
        """Its state at the start."""

    @abstractmethod
    def step(
        self, mean: FiniteSum, params: Any, state: Any, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, Any, Report]:
        """Parameters, state and the loss of the batch."""

    def start(self, mean: FiniteSum, params: Any) -> TrainingState:
        """The state of a run."""
        return TrainingState(params, self.init(mean, params), np.int64(0))

    def advance(
        self, mean: FiniteSum, state: TrainingState, indices: Value, weight: Any, rng: Any
    ) -> tuple[TrainingState, Report]:
        """One step of a run."""
        # FiniteSum weighs examples itself; what is left of the weight are the zeros of those that fill up
        filled = weight if weight is None or mean.weight is None else np.where(weight != 0, 1.0, 0.0)
        noise = noise_of(rng, state.step)
        params, inner, report = self.step(mean, state.params, state.rule, indices, filled, noise, state.step)
        return TrainingState(params, inner, state.step + 1), report

    def number(self, name: str, count: Value) -> Any:
        """A number of the method at a step."""
        return read_number(f"{type(self).__name__}: {name}", getattr(self, name), count)


def report_of(mean: FiniteSum, params: Any, indices: Value, weight: Any) -> Report:
    """The loss of a batch."""
    total, count = mean.total(params, indices, weight)
    return Report(total, np.float64(1.0) if count is None else count)
