"""`learning_rates`: the loss over a run in which the rate grows, and a rate to begin with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn.training.engine import Engine
from adjoint.optimize.updates import adam, exponential

__all__ = ["LearningRates", "learning_rates"]

FORGETTING = 0.9  # of the mean loss
BELOW = 10.0  # the mean lags, and what just goes well once does not go well for long
WORSE = 4.0  # times the best mean loss: it diverges


@final
@dataclass(frozen=True)
class LearningRates:
    """The loss at each rate, and a rate to begin with; `learning_rates` makes it.

    ```python
    found = ad.nn.LearningRates(np.array([0.1, 1.0]), np.ones(2), np.ones(2), 0.1)
    found.suggestion  # → 0.1
    ```
    """

    rates: Any
    losses: Any  # of the batches
    smooth: Any  # their running mean
    suggestion: float

    def plot(self, axes: Any = None) -> Any:
        """The curve with the suggestion, drawn with matplotlib; the axes."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots()[1]
        axes.plot(self.rates, self.losses, color="0.8")
        axes.plot(self.rates, self.smooth)
        axes.axvline(self.suggestion, color="C1")
        axes.set(xscale="log", xlabel="learning rate", ylabel="loss")
        return axes


@user_facing
def learning_rates(
    model: Any, loss: Callable[..., Any], data: Any, rule: Callable[[Any], Any] = adam, *, batch: int, rng: Any,
    smallest: float = 1e-6, largest: float = 1.0, steps: int = 100, **options: Any,
) -> LearningRates:  # fmt: skip
    """The loss in a short run whose rate grows from smallest to largest, and a suggestion; the model stays as it is.

    `rule` makes an update rule from a rate, as updates.adam does. The run ends when the loss has grown to four times
    its best; suggested is a tenth of the rate at which its running mean is smallest.

    ```python
    x = np.linspace(-1.0, 1.0, 64)
    loss = lambda w, batch: (w["a"] * batch["x"] + w["b"] - batch["y"]) ** 2
    data = ad.data.arrays(x=x, y=2 * x + 1)
    found = ad.nn.learning_rates({"a": 0.0, "b": 0.0}, loss, data, batch=16, rng=ad.random.default_rng(0))
    1e-3 < found.suggestion < 1.0  # → True
    ```
    """
    if not 0 < smallest < largest or steps < 10:
        raise ValueError(f"learning_rates: rates grow from {smallest} to {largest} in {steps} steps; give 0 < "
                         "smallest < largest, and at least 10 steps.")  # fmt: skip
    rate = exponential(smallest, largest / smallest, steps - 1)
    engine = Engine("learning_rates", model, loss, data, rule(rate), batch=batch, epochs=1, rng=rng, **options)
    leaves = engine.pack(engine.start(model))
    losses: list[float] = []
    smooth: list[float] = []
    mean = 0.0
    for number in range(steps):
        leaves, report = engine.advance(leaves, number // engine.batches, number % engine.batches)
        value = float(report.value)
        if not np.isfinite(value):
            break
        losses.append(value)
        mean = FORGETTING * mean + (1.0 - FORGETTING) * value
        smooth.append(mean / (1.0 - FORGETTING ** (number + 1)))
        if number > 10 and smooth[-1] > WORSE * min(smooth):
            break
    rates = np.array([float(rate(k)) for k in range(len(losses))])
    if len(smooth) < 5:
        raise ValueError(f"learning_rates: the loss is not finite at rates around {smallest}; give a smaller one.")
    suggestion = float(max(rates[int(np.argmin(smooth))] / BELOW, smallest))
    return LearningRates(rates, np.array(losses), np.array(smooth), suggestion)
