"""Steps that are searched on the batch: Armijo's condition for the loss of the same examples (Vaswani et al.)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.linear.solvers.iteration import both, loop, no
from adjoint.optimize.stochastic.methods import StochasticMethod
from adjoint.optimize.stochastic.objectives import FiniteSum
from adjoint.optimize.stochastic.stepping import Report
from adjoint.optimize.updates.rule import apply, like
from adjoint.optimize.updates.scaling import global_norm
from adjoint.program.types import Value

__all__ = ["StochasticArmijo"]


@final
@dataclass(frozen=True)
class StochasticArmijo(StochasticMethod):
    """w⁺ = w - γ g with the largest γ of γ₀ρᵏ that has L_B(w - γ g) ≤ L_B(w) - c γ ‖g‖², for `train`.

    γ₀ is the step before, times growth^(m/n) for a batch of m among n examples, and at most `largest`: within an epoch
    it may grow by `growth`. Where a model can fit all examples, the rate is linear, without a number to tune.

    ```python
    x, y = np.linspace(0.0, 1.0, 8), 2 * np.linspace(0.0, 1.0, 8)
    found = ad.optimize.train(lambda w, x, y: (w * x - y) ** 2, 0.0, (x, y), ad.optimize.StochasticArmijo(), batch=2,
                              epochs=20, rng=ad.random.default_rng(0))
    float(np.round(found.value, 6))  # → 2.0
    ```
    """

    first: Any = 1.0
    sufficient: float = field(default=0.1, metadata={"static": True})
    shrink: float = field(default=0.7, metadata={"static": True})
    growth: float = field(default=2.0, metadata={"static": True})
    largest: float = field(default=1e6, metadata={"static": True})
    trials: int = field(default=60, metadata={"static": True})

    def init(self, mean: FiniteSum, params: Any) -> Any:
        """The first step to try."""
        return {"step": np.float64(self.first) if isinstance(self.first, int | float) else self.first}

    def step(
        self, mean: FiniteSum, params: Any, state: Any, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, Any, Report]:
        """Backtracking on the batch."""
        value, gradient = mean.value_and_gradient(params, indices, weight, rng)
        square = global_norm(gradient) ** 2
        part = np.shape(indices)[0] / mean.size
        start = np.minimum(np.where(count == 0, state["step"], state["step"] * self.growth**part), self.largest)
        at = lambda step: apply(params, tree.map(lambda g: like(step, g) * g, gradient))
        enough = lambda step, found: found <= value - self.sufficient * step * square
        look = lambda step: mean.value(at(step), indices, weight, rng)
        goes_on = lambda s: both(no(enough(s[0], s[1])), s[2] < self.trials)
        shorten = lambda s: (s[0] * self.shrink, look(s[0] * self.shrink), s[2] + 1)
        step, found, _ = loop(goes_on, shorten, (start, look(start), np.int64(0)))
        success = enough(step, found)
        moved = at(np.where(success, step, 0.0))
        total, number = mean.total(params, indices, weight, rng)
        return moved, {"step": step}, Report(total, np.float64(1.0) if number is None else number)
