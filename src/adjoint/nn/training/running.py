"""The result of a run, and its steps as an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.errors import NonFiniteError
from adjoint.base.source import user_facing
from adjoint.data import noise_of
from adjoint.debug import nans
from adjoint.nn.training.engine import Engine, convert_batch
from adjoint.nn.training.history import History
from adjoint.optimize.stochastic.stepping import TrainingState

__all__ = ["Run", "Step", "explain_loss", "steps"]


@final
@dataclass(frozen=True)
class Run:
    """What `fit` answers: the model (the best one on validation data, else the last), the history, how it ended.

    ```python
    loss = lambda model, batch: (model(batch["x"]) - batch["y"]) ** 2
    data = ad.data.arrays(x=np.arange(4.0)[:, None], y=np.arange(4.0)[:, None])
    model = ad.nn.Linear.init(ad.random.default_rng(0), 1, 1)
    run = ad.nn.fit(model, loss, data, ad.optimize.updates.sgd(0.1), epochs=50, batch=2, rng=ad.random.default_rng(1))
    run.status, len(run.history), bool(run.history["loss"][-1] < 1e-3)  # → ('done', 50, True)
    ```
    """

    model: Any
    last: Any  # the model after the last step (its average, where one is kept)
    history: History
    best: tuple[int, float] | None  # (step, value) of the validation loss; None without
    status: str  # "done", "stopped early", "stopped" or "interrupted"
    state: TrainingState

    def __repr__(self) -> str:
        best = "" if self.best is None else f", best validation {self.best[1]:.5g} at step {self.best[0]}"
        steps = f"{len(self.history)} epochs, {len(self.history.steps)} steps"
        last = f", loss {self.history['loss'][-1]:.5g}" if len(self.history) else ""
        return f"<Run {self.status}: {steps}{last}{best}>"


class Step(NamedTuple):
    """One step of `steps`: its number, its epoch, the mean loss of its batch before the update, and the state after it.

    ```python
    data = ad.data.arrays(x=np.arange(4.0))
    loss = lambda w, batch: (w - batch["x"]) ** 2
    for now in ad.nn.steps(0.0, loss, data, ad.optimize.updates.sgd(0.5), epochs=2, batch=4,
                           rng=ad.random.default_rng(0)):
        pass
    int(now.step), now.epoch, float(now.model)  # → (2, 1, 1.5)
    ```
    """

    step: Any
    epoch: int
    batch: int
    loss: Any
    leaves: Any
    engine: Any

    @property
    def state(self) -> TrainingState:
        """The state after the step: the parameters and the memory of the rule."""
        return self.engine.unpack(self.leaves)

    @property
    def model(self) -> Any:
        """The model after the step; its average, where one is kept."""
        return self.engine.model(self.state)


@user_facing
def steps(
    model: Any, loss: Callable[..., Any], data: Any, rule: Any, *, epochs: int = 1, batch: int, rng: Any,
    accumulate: int = 1, weight: Any = None, trainable: Any = None, average: Any = None, compile: bool | str = "auto",  # noqa: A002
) -> Iterator[Step]:  # fmt: skip
    """The steps of `fit` one by one, for a loop of your own; arguments as there.

    ```python
    data = ad.data.arrays(x=np.ones(6))
    loss = lambda w, batch: (w - batch["x"]) ** 2
    rule = ad.optimize.updates.sgd(0.5)
    losses = [now.loss for now in ad.nn.steps(0.0, loss, data, rule, batch=3, rng=ad.random.default_rng(0))]
    [float(value) for value in losses]  # → [1.0, 0.0]
    ```
    """
    engine = Engine("steps", model, loss, data, rule, batch=batch, epochs=epochs, rng=rng, accumulate=accumulate,
                    weight=weight, trainable=trainable, decay=average, compiled=compile)  # fmt: skip
    return _steps(engine, engine.start(model))


def _steps(engine: Engine, state: TrainingState) -> Iterator[Step]:
    leaves = engine.pack(state)
    for epoch in range(engine.epochs):
        for number in range(engine.batches):
            before = leaves
            leaves, report = engine.advance(leaves, epoch, number)
            loss = report.value
            if not np.isfinite(loss):
                raise explain_loss(engine, engine.unpack(before), epoch, number, loss)
            yield Step(epoch * engine.batches + number + 1, epoch, number, loss, leaves, engine)


def explain_loss(engine: Engine, state: TrainingState, epoch: int, number: int, loss: Any) -> NonFiniteError:
    """The error for a loss that is not finite: the step, its examples, and the operation, from a second look."""
    indices, weight = engine.plan(epoch)
    batch = convert_batch(engine.source[indices[number]], engine.dtype)
    with np.errstate(all="ignore"):
        each = engine.call(state.params, batch, noise_of(engine.rng, state.step))
    size = len(indices[number])
    losses = np.reshape(each[0] if isinstance(each, tuple) else each, (size if engine.by_example else 1, -1))
    bad = np.logical_and(~np.all(np.isfinite(losses), axis=1), weight[number] != 0)
    own = indices[number][bad if np.any(bad) else weight[number] != 0]
    shown = ", ".join(map(str, own[:10].tolist())) + (" …" if len(own) > 10 else "")
    words = (f"the loss is {float(loss)} at step {int(state.step)} (epoch {epoch}, batch {number}; examples {shown}). "
             "Take a smaller rate, clip gradients (updates.clip_by_norm), or look at these examples.")  # fmt: skip
    try:
        with np.errstate(all="ignore"), nans():
            engine.step(state, batch, weight[number], engine.rng)
    except NonFiniteError as error:
        words += f" {error}"
    except Exception:  # what it says about the loss stays true
        pass
    return NonFiniteError(f"{engine.title}: {words}")
