"""One step of training: the loss and its gradient on a batch, an update rule, and the parameters after it.

A batch may be taken in parts: totals and weights of the parts are added before they are divided, so that the gradient
is that of the whole batch, whatever the parts weigh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.api.gradients import value_and_grad
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.data.arrays import common_length
from adjoint.data.order import noise_of
from adjoint.optimize.stochastic.objectives import Call, Total, read_loss, sum_losses
from adjoint.optimize.updates.groups import Choices
from adjoint.optimize.updates.rule import Rule, apply, is_parameter
from adjoint.program.types import Value
from adjoint.tree.state import states

__all__ = ["EAGER", "Report", "TrainingState", "TrainingStep", "training_step"]

EAGER = 200  # steps: a program that runs for fewer is not worth being compiled


class TrainingState(NamedTuple):
    """What goes from step to step: the parameters, the state of the rule, and the number of steps so far.

    ```python
    state = ad.optimize.training_step(lambda w, x: (w - x) ** 2, ad.optimize.updates.sgd(0.1)).init(1.0)
    state.params, int(state.step)  # → (1.0, 0)
    ```
    """

    params: Any
    rule: Any
    step: Value


class Report(NamedTuple):
    """The loss of a step, before its update: `value` is its mean, total / weight."""

    total: Value
    weight: Value

    @property
    def value(self) -> Value:
        """The mean loss."""
        return self.total / self.weight


@final
@dataclass(frozen=True)
class TrainingStep:
    """A step of training, made by `training_step`. A tree: its leaves are the numbers of its rule."""

    loss: Callable[..., Any] = field(metadata={"static": True})
    rule: Rule
    accumulate: int = field(default=1, metadata={"static": True})
    trainable: Choices | None = field(default=None, metadata={"static": True})

    def init(self, params: Any) -> TrainingState:
        """The state before the first step."""
        params = tree.map(_as_array, params)
        return TrainingState(params, self.rule.init(self.part(params)), np.int64(0))

    def flags(self, params: Any) -> tuple[bool, ...] | None:
        """Which leaves are trained; None where all are."""
        leaves = tree.leaves(params)
        chosen = [is_parameter(leaf) for leaf in leaves]
        if self.trainable is not None:
            wanted = self.trainable.members(params)[0]
            chosen = [a and b for a, b in zip(chosen, wanted, strict=True)]
        for position in states("training", params):
            chosen[position.first : position.first + position.width] = [False] * position.width
        if not any(chosen):
            raise ShapeError("training: no leaf of the parameters is trained. Floating arrays are, where `trainable` "
                             "says so.")  # fmt: skip
        return None if all(chosen) else tuple(chosen)

    def part(self, whole: Any) -> Any:
        """The leaves that are trained: the tree itself where all are, else by their paths."""
        flags = self.flags(whole)
        if flags is None:
            return whole
        leaves, structure = tree.flatten(whole)
        return {path: leaf for path, leaf, flag in zip(structure.paths(), leaves, flags, strict=True) if flag}

    def merge(self, part: Any, whole: Any) -> Any:
        """The whole tree, with the trained leaves as they are now."""
        flags = self.flags(whole)
        if flags is None:
            return part
        leaves, structure = tree.flatten(whole)
        moved = iter(part.values())
        return structure.unflatten([next(moved) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)])

    def totals(self, params: Any, batch: Any, weight: Any, rng: Any) -> Total:
        """The total loss of a batch."""
        size = common_length("batch", batch)
        call = self.loss if isinstance(self.loss, Call) else read_loss("training_step", self.loss, batch)
        if call.generator is not None and rng is None:
            raise TypeError(
                "training: the loss takes a generator, and there is none. Give rng=ad.random.default_rng(0)."
            )
        found = sum_losses("training", call(params, batch, rng), weight, size)
        if found.weight is None:
            if self.accumulate > 1:
                raise ShapeError("training: the loss gives one number for a batch, so that parts of a batch cannot be "
                                 "added. Return one number for each example, or take accumulate=1.")  # fmt: skip
            if weight is not None:
                raise ShapeError("training: the loss gives one number for a batch, and the examples have weights. "
                                 "Return one number for each example.")  # fmt: skip
        return found

    @user_facing
    def gradient(self, params: Any, batch: Any, weight: Any = None, rng: Any = None) -> tuple[Report, Any]:
        """The loss of a batch and the gradient of its mean, a tree like params."""
        if self.accumulate > 1:
            return self._in_parts(params, batch, weight, rng)

        def mean(params: Any) -> Any:
            total, count = self.totals(params, batch, weight, rng)
            return (total, (total, np.float64(1.0))) if count is None else (total / _positive(count), (total, count))

        (_, (total, count)), found = value_and_grad(mean, has_aux=True)(params)
        return Report(total, count), found

    def _in_parts(self, params: Any, batch: Any, weight: Any, rng: Any) -> tuple[Report, Any]:
        size, parts = common_length("batch", batch), self.accumulate
        if size % parts:
            raise ShapeError(f"training: a batch of {size} examples cannot be taken in {parts} equal parts.")
        weight = np.ones(size) if weight is None else weight
        cut = lambda leaf: np.reshape(leaf, (parts, size // parts, *np.shape(leaf)[1:]))

        def add(carry: Any, part: Any) -> Any:
            (total, count, summed, held), (number, rows, own) = carry, part
            params = fixed if held is None else held  # running statistics go from part to part
            noise = None if rng is None else rng.at(number)
            has_aux = lambda params: (lambda found: (found.total, found.weight))(self.totals(params, rows, own, noise))
            (value, its), found = value_and_grad(has_aux, has_aux=True)(params)
            return (total + value, count + its, tree.map(lambda s, g: s + g, summed, found), held), None

        fixed, changing = params, states("training", params)
        zero = np.float64(0.0)
        start = (zero, zero, tree.map(np.zeros_like, params), params if changing else None)
        pieces = (np.arange(parts), tree.map(cut, batch), cut(weight))
        (total, count, summed, held), _ = scan(add, start, pieces)
        for position, after in zip(changing, states("training", held), strict=True):
            position.state.become(tree.leaves(after.state))
        safe = _positive(count)
        divide = lambda g: (g / safe.astype(g.dtype)) if is_parameter(g) else g
        return Report(total, count), tree.map(divide, summed)

    @user_facing
    def __call__(
        self, state: TrainingState, batch: Any, weight: Any = None, rng: Any = None
    ) -> tuple[TrainingState, Report]:
        """The state after a step on a batch, and its loss. `rng` is that of the run: the step takes its own from it."""
        params = state.params
        report, found = self.gradient(params, batch, weight, noise_of(rng, state.step))
        step, inner = self.rule.update(self.part(found), state.rule, self.part(params), value=report.value)
        moved = self.merge(apply(self.part(params), step), params)
        return TrainingState(moved, inner, state.step + 1), report


@user_facing
def training_step(loss: Callable[..., Any], rule: Rule, *, accumulate: int = 1, trainable: Any = None) -> TrainingStep:
    """A step of training: `step.init(params)` gives a state, `step(state, batch, weight, rng)` the next and the loss.

    `loss(params, batch)`, or `loss(params, batch, rng)`, gives one number for each example of the batch (numbers along
    its first axis; a pair (numbers, weights) where they weigh differently), or a single number. `weight` has one number
    for each example, 0 for those that only fill up. With `accumulate=k` the batch is taken in k equal parts: less
    memory, the same gradient. `trainable` chooses leaves by paths, a tree of truth values, or a function of
    (path, leaf).

    ```python
    step = ad.optimize.training_step(lambda w, x: (w - x) ** 2, ad.optimize.updates.sgd(0.25))
    state, report = ad.jit(step)(step.init(0.0), np.array([1.0, 3.0]))
    float(state.params), float(report.value)  # → (1.0, 5.0)
    ```
    """
    if not hasattr(rule, "init") or not hasattr(rule, "update"):
        raise TypeError(
            f"training_step: the rule is {rule!r}; it is one of adjoint.optimize.updates: updates.adam(1e-3)."
        )
    if accumulate < 1:
        raise ValueError(f"training_step: accumulate={accumulate}; it counts parts of a batch, at least 1.")
    choices = None if trainable is None else Choices((trainable,), False)
    return TrainingStep(loss, rule, int(accumulate), choices)


def _as_array(leaf: Any) -> Any:
    return np.asarray(leaf)[()] if isinstance(leaf, bool | int | float | complex) else leaf


def _positive(weight: Any) -> Any:
    """A divisor: weights that add up to nothing give a gradient of zero."""
    return np.where(weight > 0, weight, 1.0)
