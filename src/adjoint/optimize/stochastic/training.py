"""`train`: the plain loop over mini-batches, one compiled program for an epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.base.errors import ShapeError
from adjoint.base.progress import progress as shown_progress
from adjoint.base.source import user_facing
from adjoint.data.arrays import Arrays, gather
from adjoint.data.order import (
    check_size,
    count_batches,
    epoch_order,
    noise_of,
    pad_batches,
    read_generator,
    whole_batches,
)
from adjoint.data.sources import Source
from adjoint.debug import callback as call_back
from adjoint.implicit.approximate import Unrolled
from adjoint.jit import jit
from adjoint.jit.lifetimes import kept_with
from adjoint.optimize.limits import read_count
from adjoint.optimize.stochastic.epochs import Epoch
from adjoint.optimize.stochastic.methods import StochasticMethod
from adjoint.optimize.stochastic.objectives import Call, FiniteSum, read_loss, sum_losses
from adjoint.optimize.stochastic.stepping import EAGER, TrainingState, TrainingStep, training_step
from adjoint.optimize.stochastic.trained import DONE, INTERRUPTED, NOT_FINITE, STOPPED, STOPPED_EARLY, Trained
from adjoint.program.trace import Tracer, live_trace

__all__ = ["train"]


class Plan(NamedTuple):
    """Sizes of a run."""

    n: int
    size: int
    padded: bool  # the last batch is filled up, with weights; else it is shorter
    epochs: int

    @property
    def steps(self) -> int:
        """Updates in an epoch."""
        return count_batches(self.n, self.size)


@user_facing
def train(
    loss: Callable[..., Any],
    params: Any,
    data: Any,
    rule: Any,
    *,
    batch: int | None = None,
    epochs: int = 1,
    rng: Any = None,
    weight: Any = None,
    validation: Any = None,
    patience: int | None = None,
    stop: Callable[[Epoch], Any] | None = None,
    callback: Callable[[Epoch], object] | None = None,
    accumulate: int = 1,
    trainable: Any = None,
    compile: bool | str = "auto",  # noqa: A002
    warm: TrainingState | None = None,
    differentiate: Any = None,
    progress: bool = False,
) -> Trained:
    """Parameters that make the mean of a loss over data small, by steps on mini-batches.

    `loss(params, batch)` gives one number for each example of a batch, or a single number; where data is a tuple, its
    parts may be arguments of their own, `loss(params, x, y)`. A loss with an argument `rng` is given a generator of its
    step. `data` is a tree of arrays with one row for each example, or a source of `adjoint.data`; `rule` is one of
    `updates`, or a stochastic method. Each epoch takes all examples in an order that depends on `rng` and on its number
    alone; the last batch is filled up with weight 0. Without `batch`, every step takes all of them.

    With `validation` data their loss is computed after each epoch and the best parameters are kept; after `patience`
    epochs without a better one it ends. `stop` is called with an `Epoch` and says whether to end. `warm` goes on from
    the `state` of an earlier answer. Steps are differentiable like any other function, also in the numbers of the rule;
    `differentiate=ad.implicit.Unrolled(checkpoint=…)` chooses what reverse mode keeps.

    ```python
    from adjoint.optimize import updates
    x = np.linspace(-1.0, 1.0, 64)
    loss = lambda w, x, y: (w["a"] * x + w["b"] - y) ** 2
    rule = updates.adam(updates.cosine(0.1, 400))
    found = ad.optimize.train(loss, {"a": 0.0, "b": 0.0}, (x, 2 * x + 1), rule, batch=16, epochs=100,
                              rng=ad.random.default_rng(0))
    found.status, np.round([found.value["a"], found.value["b"]], 3)  # → ('done', [2.0, 1.0])
    ```
    """
    columns = _columns(data)
    n = len(columns)
    rng = read_generator("train", rng)
    size = n if batch is None else read_count("train", "batch", batch)
    check_size(size, n)
    if batch is not None and size < n and rng is None:
        raise TypeError("train: mini-batches are taken in random order: give rng=ad.random.default_rng(0).")
    if patience is not None and validation is None:
        raise TypeError(
            "train: patience counts epochs in which the loss of validation data does not fall; give validation=."
        )
    if differentiate is not None and not isinstance(differentiate, Unrolled):
        raise TypeError(
            f"train: differentiate={differentiate!r}; its steps are differentiated, ad.implicit.Unrolled()."
        )
    call = read_loss("train", loss, columns.columns)
    checkpoint = None if differentiate is None else differentiate.checkpoint
    mean = FiniteSum(call, columns, weight)
    if isinstance(rule, StochasticMethod):
        step: Any = rule
        state = rule.start(mean, tree.map(_as_array, params)) if warm is None else warm
    else:
        step = training_step(call, rule, accumulate=accumulate, trainable=trainable)
        state = step.init(params) if warm is None else warm
    by_example = _is_by_example(call, mean, state.params, size, rng, weight, accumulate)
    plan = Plan(n, size, by_example, read_count("train", "epochs", epochs))
    held = None if validation is None else _columns(validation)
    run = _Run(plan, call, patience, stop, callback, checkpoint)
    parts = (step, mean.data, mean.weight, rng, None if held is None else held.columns)
    if any(isinstance(leaf, Tracer) for leaf in tree.leaves((state, parts))) or run.closes_over_traced(state, parts):
        return run.traced(state, parts)
    compiled = plan.epochs * plan.steps > EAGER if compile == "auto" else bool(compile)
    return run.plain(state, parts, compiled, progress)


def _columns(data: Any) -> Arrays:
    if isinstance(data, Arrays):
        return data
    if isinstance(data, Source):  # read once: what does not fit into memory is for nn.fit, which reads batches
        return Arrays(data[np.arange(len(data))])
    return Arrays(data)


def _as_array(leaf: Any) -> Any:
    return np.asarray(leaf)[()] if isinstance(leaf, bool | int | float | complex) else leaf


def _is_by_example(call: Any, mean: FiniteSum, params: Any, size: int, rng: Any, weight: Any, accumulate: int) -> bool:
    """Whether the loss gives one number for each example; refuses what needs it where it does not."""
    if call.generator is not None and rng is None:
        raise TypeError("train: the loss takes a generator, and there is none. Give rng=ad.random.default_rng(0).")
    params = tree.map(lambda leaf: leaf, params)  # running statistics of the model stay as they are
    rows = gather(mean.data, np.arange(size))
    found = sum_losses("train", call(params, rows, noise_of(rng, 0)), None, size)
    if found.weight is not None:
        return True
    wanted = "weight=" if weight is not None else "accumulate=" if accumulate > 1 else ""
    if wanted:
        raise ShapeError(f"train: {wanted} needs a loss that gives one number for each example; this one gives one "
                         "number for a batch.")  # fmt: skip
    return False


class _Run:
    """A run: what an epoch does, in plain and in traced form."""

    def __init__(self, plan: Plan, call: Any, patience: int | None, stop: Any, callback: Any, checkpoint: Any) -> None:
        self.plan, self.call, self.patience, self.stop, self.callback = plan, call, patience, stop, callback
        self.checkpoint = checkpoint

    def epoch(self, state: TrainingState, parts: Any, number: Any, loop: Any) -> tuple[TrainingState, Any, Any]:
        """One epoch: the state after it, and total and weight of each step."""
        step, data, weight, rng, _ = parts
        plan = self.plan
        order = epoch_order(rng if plan.size < plan.n else None, number, plan.n)
        if plan.padded:
            indices, filled = pad_batches(order, plan.size)
            rest = None
        else:
            (indices, rest), filled = whole_batches(order, plan.size), None
            rest = rest if np.shape(rest)[0] else None

        def advance(state: Any, now: Any) -> Any:
            chosen, own = now if plan.padded else (now, None)
            return self.one(step, state, data, weight, chosen, own, rng)

        state, (totals, weights) = loop(advance, state, (indices, filled) if plan.padded else indices)
        if rest is not None:
            state, last = self.one(step, state, data, weight, rest, None, rng)
            totals, weights = np.append(totals, last[0]), np.append(weights, last[1])
        return state, totals, weights

    def one(self, step: Any, state: Any, data: Any, weight: Any, chosen: Any, own: Any, rng: Any) -> Any:
        """One step on the examples of these numbers."""
        if weight is not None:
            own = weight[chosen] if own is None else own * weight[chosen]
        if isinstance(step, TrainingStep):
            state, report = step(state, gather(data, chosen), own, rng)
        else:
            state, report = step.advance(FiniteSum(self.call, data, weight), state, chosen, own, rng)
        if self.plan.padded:
            return state, (report.total, report.weight)
        count = np.float64(np.shape(chosen)[0])  # one number for the batch: its mean
        return state, (report.value * count, count)

    def closes_over_traced(self, state: Any, parts: Any) -> bool:
        """Whether the loss, or a schedule, reads traced values from elsewhere: a step tells."""
        if live_trace() is None or not self.plan.epochs:
            return False
        step, data, weight, rng, _ = parts
        copied = tree.map(lambda leaf: leaf, state)  # running statistics stay as they are
        own = np.ones(self.plan.size) if self.plan.padded else None
        return any(isinstance(leaf, Tracer) for leaf in tree.leaves(
            self.one(step, copied, data, weight, np.arange(self.plan.size), own, rng)))  # fmt: skip

    def validate(self, params: Any, held: Any) -> Any:
        """The loss of the validation data, without a generator."""
        total, count = FiniteSum(self.call, held).total(params)
        return total if count is None else total / count

    def plain(self, state: TrainingState, parts: Any, compiled: bool, progress: bool) -> Trained:
        """Epoch by epoch, in Python."""
        held = parts[4]
        plain = (lambda s, p, e: self.epoch(s, p, e, _plain_loop)), self.validate
        run, validate = _compile(self.plan._replace(epochs=0), self.call) if compiled else plain
        if compiled and isinstance(parts[0], TrainingStep):  # the programs have the loss, and look at what it reads
            parts = (replace(parts[0], loss=_compile), *parts[1:])
        best, at_best, waited, code, note = np.inf, state.params, 0, DONE, ""
        losses, checks, done = [], [], 0
        fun: Any = np.float64(np.nan)
        numbers = range(self.plan.epochs)
        bar = shown_progress(numbers, "train") if progress else numbers
        first = int(np.asarray(state.step)) // self.plan.steps
        try:
            for number in bar:
                after, totals, weights = run(state, parts, np.int64(first + number))
                values = np.asarray(totals) / np.asarray(weights)
                losses.append(values)
                if not np.all(np.isfinite(np.asarray(totals))):
                    code, note = NOT_FINITE, _where(self.plan, parts[3], first + number, values)
                    break
                state, done = after, done + 1
                fun = np.sum(totals) / np.sum(weights)
                checked = None
                if held is not None:
                    checked = validate(state.params, held)
                    checks.append(checked)
                    waited = 0 if checked < best else waited + 1
                    if checked < best:
                        best, at_best = checked, state.params
                now = Epoch(done, int(np.asarray(state.step)), state.params, fun, checked)
                if progress:
                    bar.note(loss=float(fun), **({} if checked is None else {"validation": float(checked)}))  # type: ignore[union-attr]
                if self.callback is not None:
                    self.callback(now)
                if self.stop is not None and self.stop(now):
                    code = STOPPED
                    break
                if self.patience is not None and waited > self.patience:
                    code = STOPPED_EARLY
                    break
        except KeyboardInterrupt:
            code = INTERRUPTED
        history = {"fun": np.concatenate(losses) if losses else np.zeros(0), "validation": np.array(checks)}
        value = state.params if held is None or not np.isfinite(best) else at_best
        return Trained(value, fun, state.params, np.int64(code), state.step, np.int64(done), history,
                       None if held is None else best, state, note)  # fmt: skip

    def traced(self, state: TrainingState, parts: Any) -> Trained:
        """All epochs as one loop of the program; one that has ended goes on without effect."""
        held = parts[4]
        ends = self.stop is not None or self.patience is not None
        loop = lambda f, s, xs: scan(f, s, xs, checkpoint=self.checkpoint)
        first = state.step // self.plan.steps

        def advance(carry: Any, number: Any) -> Any:
            state, best, at_best, waited, code, done, fun = carry
            running = code == DONE
            after, totals, weights = self.epoch(state, parts, first + number, loop)
            mean = np.sum(totals) / np.sum(weights)
            finite = np.all(np.isfinite(totals))
            goes = np.logical_and(running, finite)
            state = _choose(goes, after, state)
            done, fun = done + np.where(goes, 1, 0), np.where(goes, mean, fun)
            code = np.where(np.logical_and(running, np.logical_not(finite)), NOT_FINITE, code)
            checked: Any = None
            if held is not None:
                checked = self.validate(state.params, held)
                better = np.logical_and(goes, checked < best)
                best, at_best = np.where(better, checked, best), _choose(better, state.params, at_best)
                waited = np.where(better, 0, waited + 1)
            now = Epoch(done, state.step, state.params, fun, checked)
            if self.callback is not None:
                call_back(_Called(self.callback), *now)
            if ends:
                if self.stop is not None:
                    code = np.where(np.logical_and(goes, self.stop(now)), STOPPED, code)
                if self.patience is not None:
                    out = np.logical_and(code == DONE, waited > self.patience)
                    code = np.where(out, STOPPED_EARLY, code)
            blank = lambda values: np.where(running, values, np.nan)
            kept = (blank(totals / weights), np.float64(np.nan) if checked is None else blank(checked))
            return (state, best, at_best, waited, code, done, fun), kept

        zero = np.int64(0)
        start = (state, np.float64(np.inf), state.params, zero, np.int64(DONE), zero, np.float64(np.nan))
        carry, (values, checks) = scan(advance, start, np.arange(self.plan.epochs), checkpoint=self.checkpoint)
        state, best, at_best, _, code, done, fun = carry
        history = {"fun": np.reshape(values, (-1,)), "validation": checks if held is not None else np.zeros(0)}
        value = state.params if held is None else _choose(np.isfinite(best), at_best, state.params)
        return Trained(value, fun, state.params, code, state.step, done, history, None if held is None else best, state)


@kept_with(lambda plan, call: call.loss)
def _compile(plan: Plan, call: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An epoch and the loss of validation data as programs, shared by runs: rule, data and numbers are arguments."""
    loss, spread, generator = call.loss, call.spread, call.generator  # named by the programs themselves
    make = lambda own: _Run(plan, own, None, None, None, None)

    def epoch(state: Any, parts: Any, number: Any) -> Any:
        own = Call(loss, spread, generator)
        step = replace(parts[0], loss=own) if isinstance(parts[0], TrainingStep) else parts[0]
        return make(own).epoch(state, (step, *parts[1:]), number, scan)

    def validate(params: Any, held: Any) -> Any:
        return make(Call(loss, spread, generator)).validate(params, held)

    return jit(epoch), jit(validate)


class _Called:
    """A callback of the user, which takes an `Epoch`."""

    def __init__(self, function: Callable[[Epoch], object]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "callback")

    def __call__(self, *entries: Any) -> None:
        self.function(Epoch(*entries))


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    return tree.map(lambda a, b: np.where(condition, a, b), yes, no)


def _plain_loop(f: Callable[..., Any], state: Any, xs: Any) -> tuple[Any, Any]:
    """As scan, one step after the other."""
    found = []
    for i in range(np.shape(tree.leaves(xs)[0])[0]):
        state, out = f(state, tree.map(lambda leaf, i=i: leaf[i], xs))
        found.append(out)
    return state, (np.array([total for total, _ in found]), np.array([weight for _, weight in found]))


def _where(plan: Plan, rng: Any, epoch: int, values: Any) -> str:
    """Which step gave a loss that is not finite, and its examples."""
    at = int(np.flatnonzero(~np.isfinite(values))[0])
    order = np.asarray(epoch_order(rng if plan.size < plan.n else None, epoch, plan.n))
    some = order[at * plan.size : (at + 1) * plan.size]
    shown = ", ".join(map(str, some[:8].tolist())) + (" …" if len(some) > 8 else "")
    return f"In epoch {epoch}, step {at} of {plan.steps} (examples {shown}) the loss was {values[at]}."
