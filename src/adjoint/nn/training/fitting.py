"""`fit`: epochs of one compiled step, validation, metrics, averages, early stopping and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from adjoint.base.errors import TreeError
from adjoint.base.progress import progress as shown_progress
from adjoint.base.source import user_facing
from adjoint.nn.storage.checkpoints import Checkpoints
from adjoint.nn.training.engine import Engine
from adjoint.nn.training.evaluating import check_metrics, evaluate, predict_batch
from adjoint.nn.training.history import History
from adjoint.nn.training.running import Run, explain_loss
from adjoint.nn.training.stopping import Interruption, Patience
from adjoint.optimize.stochastic.epochs import Epoch
from adjoint.optimize.stochastic.stepping import TrainingState

__all__ = ["fit"]


@user_facing
def fit(
    model: Any,
    loss: Callable[..., Any],
    data: Any,
    rule: Any,
    *,
    epochs: int = 1,
    batch: int,
    rng: Any,
    validation: Any = None,
    metrics: Mapping[str, Any] | None = None,
    predict: Callable[[Any, Any], tuple[Any, Any]] = predict_batch,
    average: Any = None,
    patience: int | None = None,
    stop: Callable[[Epoch], Any] | None = None,
    callback: Callable[[Epoch], object] | None = None,
    weight: Any = None,
    trainable: Any = None,
    accumulate: int = 1,
    folder: Any = None,
    every: int | None = None,
    keep: int = 3,
    resume: bool = False,
    shuffle: bool = True,
    warm: TrainingState | None = None,
    compile: bool | str = "auto",  # noqa: A002
    progress: bool = False,
) -> Run:
    """Train a model: any tree whose floating leaves are parameters, by a loss of (model, batch) or (model, batch, rng).

    The loss gives one number for each example, never a mean; `weight` is a column or an array that weighs them. With
    `validation` data their loss and the `metrics` of `predict(model, batch)` are computed after each epoch, without a
    generator, and the best model is kept; it ends when more than `patience` epochs in a row were no better. `average`
    is the decay of an average of the parameters, which then is what is validated and returned.

    With a `folder` a checkpoint is written after each epoch, or after `every` steps; `resume=True` goes on from the
    last one, to the bit. Ctrl-C and SIGTERM finish the step, save, and return with status "interrupted".
    `warm` goes on from the `state` of an earlier run, with other data or another number of epochs.

    ```python
    from adjoint import nn
    from adjoint.optimize import updates
    rng = ad.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    data = ad.data.arrays(x=x, y=(x[:, 0] * x[:, 1] > 0).astype(int))
    model = nn.MLP.init(rng, [2, 16, 2])
    loss = lambda model, batch: nn.losses.cross_entropy(model(batch["x"]), batch["y"])
    run = nn.fit(model, loss, data, updates.adam(0.02), epochs=40, batch=50, rng=rng, validation=data,
                 metrics={"accuracy": nn.accuracy})
    run.status, bool(run.history["accuracy"][-1] > 0.9)  # → ('done', True)
    ```
    """
    if patience is not None and validation is None:
        raise TypeError(
            "fit: patience counts epochs in which the loss of validation data does not fall; give validation=."
        )
    if metrics and validation is None:
        raise TypeError("fit: metrics are of validation data; give validation=.")
    check_metrics("fit", metrics or {})
    for name, number, least in (("patience", patience, 0), ("every", every, 1), ("keep", keep, 1)):
        if number is not None and (not isinstance(number, int | np.integer) or number < least):
            raise ValueError(f"fit: {name}={number!r}; it is an integer, at least {least}.")
    if compile not in (True, False, "auto"):
        raise ValueError(f'fit: compile={compile!r}; it is True, False, or "auto".')
    if resume and folder is None:
        raise TypeError("fit: resume=True needs the folder of the run.")
    engine = Engine("fit", model, loss, data, rule, batch=batch, epochs=epochs, rng=rng, accumulate=accumulate,
                    weight=weight, trainable=trainable, decay=average, compiled=compile, shuffle=shuffle)  # fmt: skip
    if validation is not None:
        validation = engine.read_validation(validation)
    run = _Fitting(engine, model, validation, metrics or {}, predict, warm)
    checkpoints = None if folder is None else Checkpoints(folder, keep)
    if checkpoints is not None:
        if resume:
            run.resume(checkpoints)
        elif checkpoints.files():
            raise FileExistsError(f"fit: {folder} has checkpoints of an earlier run. Go on with it by resume=True, or "
                                  "take another folder.")  # fmt: skip
    with Interruption() as interruption:
        status = run.go(interruption, checkpoints, every, patience, stop, callback, progress)
    return run.result(status)


class _Fitting:
    """A run as it goes: what a checkpoint holds."""

    def __init__(self, engine: Engine, model: Any, validation: Any, metrics: Mapping[str, Any], predict: Any,
                 warm: TrainingState | None) -> None:  # fmt: skip
        self.engine, self.validation, self.metrics, self.predict = engine, validation, metrics, predict
        start = engine.start(model)
        self.leaves = engine.pack(start if warm is None else warm)
        engine.offset = 0 if warm is None else int(np.asarray(warm.step)) // engine.batches
        self.step = 0 if warm is None else int(np.asarray(warm.step))
        self.best_model: Any = engine.model(self.state) if validation is not None else ()
        self.patience, self.history = Patience.start(), History()
        self.epoch, self.batch = 0, 0
        self.total, self.weight = np.float64(0.0), np.float64(0.0)
        self.status = ""

    @property
    def state(self) -> TrainingState:
        """Parameters, and the memory of the rule."""
        return self.engine.unpack(self.leaves)

    def content(self) -> dict[str, Any]:
        """The arrays of a checkpoint."""
        rng = self.engine.rng
        return {
            "state": self.state,
            "best": {"model": self.best_model, "patience": self.patience},
            "position": {"epoch": np.int64(self.epoch), "batch": np.int64(self.batch)},
            "sums": {"total": np.float64(self.total), "weight": np.float64(self.weight)},
            "rng": {"key": rng.key, "counter": rng.counter},
        }

    def save(self, checkpoints: Checkpoints) -> None:
        """Write a checkpoint."""
        notes = {"rows": self.history.rows, "steps": self.history.steps, "status": self.status,
                 "examples": len(self.engine.source), "size": self.engine.size}  # fmt: skip
        checkpoints.save(self.step, self.content(), notes)

    def resume(self, checkpoints: Checkpoints) -> None:
        """Go on where the last checkpoint was written; from the start where there is none."""
        found = checkpoints.load(self.content())
        if found is None:
            return
        tree, notes = found
        rng = self.engine.rng
        if not np.array_equal(tree["rng"]["key"], rng.key):
            raise TreeError("fit: the checkpoint is of a run with another generator, so that the order of the "
                            "examples would not go on. Give the seed of that run.")  # fmt: skip
        here = {"examples": len(self.engine.source), "size": self.engine.size}
        for name, number in here.items():
            if notes[name] != number:
                raise TreeError(f"fit: the checkpoint is of a run with {name} {notes[name]}; now it is {number}.")
        self.leaves, self.best_model = self.engine.pack(tree["state"]), tree["best"]["model"]
        self.step = int(tree["state"].step)
        self.patience = tree["best"]["patience"]
        self.epoch, self.batch = int(tree["position"]["epoch"]), int(tree["position"]["batch"])
        self.total, self.weight = tree["sums"]["total"], tree["sums"]["weight"]
        self.history = History(notes["rows"], notes["steps"])
        self.status = notes["status"] if notes["status"] == "stopped early" else ""

    def go(
        self, interruption: Interruption, checkpoints: Checkpoints | None, every: int | None, patience: int | None,
        stop: Any, callback: Any, progress: bool,
    ) -> str:  # fmt: skip
        """Epoch by epoch; how it ended."""
        if self.status:
            return self.status
        engine = self.engine
        numbers = range(self.epoch, engine.epochs)
        bar = shown_progress(numbers, "fit") if progress else numbers
        saved = -1
        for epoch in bar:
            while self.batch < engine.batches:
                before = self.leaves
                self.leaves, report = engine.advance(self.leaves, epoch, self.batch)
                if not isfinite(report.total):
                    raise explain_loss(engine, engine.unpack(before), epoch, self.batch, report.value)
                self.total, self.weight = self.total + report.total, self.weight + report.weight
                self.history.steps.append(float(report.value))
                self.batch += 1
                self.step += 1
                if interruption.asked or (checkpoints and every and self.step % every == 0):
                    done = self.batch == engine.batches
                    if checkpoints and not (done and not interruption.asked):
                        self.save(checkpoints)
                        saved = self.step
                    if interruption.asked:
                        return "interrupted"
            now = self.close_epoch(epoch)
            if progress:
                bar.note(**{k: v for k, v in self.history.rows[-1].items() if k not in ("epoch", "step")})  # type: ignore[union-attr]
            if callback is not None:
                callback(now)
            if patience is not None and int(self.patience.waited) > patience:
                self.status = "stopped early"
            elif stop is not None and stop(now):
                self.status = "stopped"
            due = every is None or self.step % every == 0
            if checkpoints and (due or self.status or self.epoch == engine.epochs) and saved != self.step:
                self.save(checkpoints)
            if self.status:
                return self.status
        return "done"

    def close_epoch(self, epoch: int) -> Epoch:
        """Its row in the history, validation, and the position of the next one."""
        mean = float(self.total / self.weight)
        row: dict[str, Any] = {"epoch": epoch + 1, "step": self.step, "loss": mean}
        checked = None
        model = self.engine.model(self.state)
        if self.validation is not None:
            total, weight = self.engine.total(model, self.validation)
            checked = total / weight
            row["validation"] = checked
            if self.metrics:
                found = evaluate(model, self.validation, self.metrics, predict=self.predict)
                row |= {name: value for name, value in found.items() if np.ndim(value) == 0}
            self.patience, better = self.patience.see(checked, self.step)
            if better:
                self.best_model = model
        self.history.add(**row)
        self.epoch, self.batch = epoch + 1, 0
        self.total, self.weight = np.float64(0.0), np.float64(0.0)
        return Epoch(epoch + 1, self.step, model, mean, checked)

    def result(self, status: str) -> Run:
        """What `fit` answers."""
        last = self.engine.model(self.state)
        known = self.validation is not None and int(self.patience.step) >= 0
        best = (int(self.patience.step), float(self.patience.value)) if known else None
        return Run(self.best_model if known else last, last, self.history, best, status, self.state)
